"""Lies in the validation phase are seen as in a whole run of the reference."""

from pathlib import Path

import pytest

from tests.torch_backend.runs import Scripted, keys_of, learn, program, quiet, reference
from tests.torch_backend.test_transcripts import write
from torch_backend.errors import AttackError
from torch_backend.transcripts import open_transcripts
from torch_backend.validation import LIARS, liar, validate
from valid_ref.graph_families import parse_family


@pytest.mark.checks("AD-9")
@pytest.mark.parametrize("kind", LIARS)
def test_lies_end_as_in_the_reference(tmp_path: Path, kind: str) -> None:
    run = program(parse_family("complete:4"), attack=Scripted(quiet), byzantine=(1,))
    states, said = learn(run)
    write(tmp_path, run, said)
    adversary = liar(run, LIARS[kind]())
    execution = reference(run, said, adversary)
    stored = open_transcripts(tmp_path, run)
    found = validate(run, states[-1], stored, keys_of(run), adversary=adversary)
    for agent in run.honest:
        assert found.alarms[agent] == execution.states[agent].memory.alarms
    assert not all(found.valid[agent] for agent in run.honest)


def test_a_liar_needs_somebody_byzantine() -> None:
    with pytest.raises(AttackError, match="nobody"):
        liar(program(parse_family("cycle:5")), LIARS["hash-liar"]())
