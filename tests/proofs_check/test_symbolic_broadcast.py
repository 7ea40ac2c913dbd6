"""The symbolic twin proves what holds, and refutes what does not by a run of the real machines."""

import pytest

pytest.importorskip("z3")

from proofs_check.symbolic_broadcast import Answer, prove_agreement, prove_broadcast
from valid_ref.explore import (
    AgreementVariant,
    BroadcastVariant,
    Flood,
    replay_script,
    script_adversary,
)
from valid_ref.explore.settings import VariantAgreement
from valid_ref.graph import honest_agents
from valid_ref.machine import run_machine

FIVE = pytest.param(5, marks=pytest.mark.deep)


@pytest.mark.checks("V2")
@pytest.mark.parametrize("agents", [2, 3, 4, FIVE])
def test_v2_is_proved_for_all_labelled_graphs_and_unbounded_messages(agents: int) -> None:
    assert prove_broadcast(agents).answer is Answer.PROVED


@pytest.mark.witness("P01")
@pytest.mark.parametrize("agents", [3, 4, FIVE])
@pytest.mark.parametrize(
    "variant",
    [
        BroadcastVariant(compare=False),
        BroadcastVariant(null_alarm=False),
        BroadcastVariant(Flood.PRINTED, False, False, resend=True),
        BroadcastVariant(Flood.PRINTED_AND_ONE, False, True, resend=True),
    ],
    ids=str,
)
def test_without_a_part_of_the_repair_v2_is_refuted(agents: int, variant: BroadcastVariant) -> None:
    found = prove_broadcast(agents, variant)
    assert found.answer is Answer.REFUTED
    assert found.script is not None
    assert found.script.graph.agents == agents
    assert not replay_script(found.script).verdict


@pytest.mark.checks("S2")
@pytest.mark.parametrize("agents", [2, 3, 4, FIVE])
def test_s2_is_proved_for_all_labelled_graphs(agents: int) -> None:
    assert prove_agreement(agents).answer is Answer.PROVED


@pytest.mark.witness("P04")
@pytest.mark.parametrize("agents", [2, 3, 4, FIVE])
def test_where_alarms_are_lost_s2_is_refuted(agents: int) -> None:
    found = prove_agreement(agents, AgreementVariant(persist=False))
    assert found.answer is Answer.REFUTED
    assert not replay_script(found.script).verdict


@pytest.mark.parametrize("agents", [3, 4, FIVE])
def test_one_round_less_is_too_few(agents: int) -> None:
    script = prove_agreement(agents, rounds=agents - 2).script
    assert script is not None
    machine = VariantAgreement(script.graph, length=agents - 2)
    private = {v: v in script.alarmed for v in range(agents)}
    adversary = script_adversary(script)
    states = run_machine(
        script.graph, machine, private, byzantine=script.byzantine, adversary=adversary
    ).states
    honest = honest_agents(script.graph, script.byzantine)
    assert any(not states[v].alarmed for v in honest)


def test_no_answer_in_time_is_not_a_proof() -> None:
    assert prove_broadcast(5, seconds=0.001).answer is Answer.UNKNOWN
