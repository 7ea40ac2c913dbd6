"""The oracle accepts recordings of the backend, and names the agent that deviates and the round."""

from pathlib import Path

import pytest

from tests.torch_backend.runs import keys_of, learn, program
from tests.torch_backend.test_transcripts import write
from tests.torch_backend.test_validation import CASES, a_program
from torch_backend import engine
from torch_backend.recording import record
from torch_backend.transcripts import open_transcripts
from torch_backend.validation import Validated, validate
from valid_ref.graph_families import parse_family
from valid_ref.oracle import Status, check, open_recording


def recorded(path: Path, run: engine.Program, **options: bool) -> Validated:
    states, said = learn(run)
    write(path.parent / "transcripts", run, said)
    stored = open_transcripts(path.parent / "transcripts", run)
    found = validate(run, states[-1], stored, keys_of(run))
    record(path, stored, found, **options)
    return found


@pytest.mark.checks("RE-1", "RE-3", "RE-4", "RE-9")
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("name", ["run", "run.zip"])
def test_the_oracle_accepts_what_honest_agents_say(tmp_path: Path, case: str, name: str) -> None:
    recorded(tmp_path / name, a_program(case))
    verdict = check(open_recording(tmp_path / name))
    assert verdict.status is Status.CONFORMS, verdict.divergences


@pytest.mark.checks("RE-9", "RE-10")
@pytest.mark.parametrize(("case", "t"), [("noisy", 1), ("per edge", 2), ("rude", 1)])
def test_the_oracle_names_who_deviates_and_when(tmp_path: Path, case: str, t: int) -> None:
    recorded(tmp_path / "run", a_program(case), byzantine_known=False)
    verdict = check(open_recording(tmp_path / "run"))
    assert verdict.status is Status.CANNOT_TELL
    (divergence,) = verdict.divergences
    assert divergence.agent == 1
    assert (divergence.phase, divergence.round) == ("LearnModel", t)


def test_a_run_in_which_agents_leave_the_lattice_conforms(tmp_path: Path) -> None:
    run = program(parse_family("path:3"), alpha=900.0, rounds=6)
    found = recorded(tmp_path / "run", run)
    assert not any(found.valid)
    assert check(open_recording(tmp_path / "run")).status is Status.CONFORMS
