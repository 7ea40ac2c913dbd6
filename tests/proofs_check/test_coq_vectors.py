"""What Coq computed from the definitions of its theorems, replayed by the machines, without Coq."""

import pytest

from proofs_check.coq.answers import KINDS, answer
from proofs_check.coq.oracle import read_vectors, vector_cases

VECTORS = read_vectors()


def test_the_vectors_are_the_cases_that_the_generator_writes() -> None:
    assert [case for case, _ in VECTORS] == vector_cases()


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: KINDS[kind])
@pytest.mark.checks("V3", "S1", "VB-5", "VB-6", "VB-7", "VB-8", "VB-9", "SA-3", "SA-4")
@pytest.mark.checks("HA-3", "HA-4", "HA-10", "AR-4", "AR-5", "AR-6", "AR-8", "AR-12", "AR-14")
@pytest.mark.checks("LV-2", "LV-5", "LV-7", "LV-8", "LV-9", "LV-10", "LV-11")
@pytest.mark.checks("LM-2", "LM-3", "LM-4", "LM-5", "LM-7", "AR-11", "VA-1", "VA-2", "MO-8")
@pytest.mark.checks("GV-2", "GV-3", "GV-4", "GV-5", "GV-6", "GV-8", "GV-9", "GV-13")
def test_the_machines_answer_as_coq_did(kind: int) -> None:
    chosen = [(case, reply) for case, reply in VECTORS if case[0] == kind]
    assert len(chosen) >= 25
    different = [case for case, reply in chosen if answer(case) != reply]
    assert different == []
