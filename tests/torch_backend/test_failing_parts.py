"""What somebody's own parts of an experiment raise is a typed refusal, and one line."""

import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.pages import called
from tests.torch_backend.theirs import ERRORS, HOOKS
from torch_backend.config.load import load
from torch_backend.errors import BackendError
from torch_backend.experiments import run_experiment
from torch_backend.process import Options

PLACES = [(place, name, hook) for place, (name, *hooks) in HOOKS.items() for hook in hooks]
TEXT = """
about = "Parts that fail."
data = "theirs_torch:Data"
partition = "theirs_torch:Partition"
model = "theirs_torch:Model"
graph = { kind = "family", name = "complete:4" }
rules = ["theirs_torch:Average"]
attacks = ["theirs_torch:Attack"]
byzantine = [1]
batch = 5
rounds = 1
seeds = [1]
detection = { gammas = [] }
figures = []
"""


@pytest.fixture(scope="module", autouse=True)
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("theirs")
    shutil.copy(Path(__file__).parent / "theirs.py", folder / "theirs_torch.py")
    (folder / "theirs.toml").write_text(TEXT)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.syspath_prepend(folder)
        yield folder
    sys.modules.pop("theirs_torch", None)


def changed(place: str, part: str) -> str:
    key = {"rule": "rules", "attack": "attacks"}.get(place, place)
    return f'{key}=["{part}"]' if key != place else f'{key}="{part}"'


def refused(place: str, part: str) -> str:
    """The line that an experiment with this part is refused with, in Python and by the command."""
    change = changed(place, part)
    with tempfile.TemporaryDirectory() as name:
        with pytest.raises(BackendError) as caught:
            run_experiment(load("theirs.toml", changes=[change]), Path(name, "python"), Options())
        words = ("run", "theirs.toml", "-o", str(Path(name, "out")), "--quiet", "--no-cache")
        status, output, error = called(("valid-torch", *words, "--set", change))
    assert status == 2, (output, error)
    assert "Traceback" not in output + error
    assert error.count("\n") == 1
    assert part.partition(":fails")[0] in error
    return str(caught.value)


@pytest.mark.checks("EX-20")
@given(place=st.sampled_from(PLACES), error=st.sampled_from(sorted(ERRORS)))
@settings(max_examples=20)
def test_what_a_part_raises_is_refused_by_name(place: tuple[str, str, str], error: str) -> None:
    where, name, hook = place
    said = refused(where, f"theirs_torch:{name}:fails={hook},error={error}")
    assert f"theirs_torch:{name}" in said
    assert error in said


@pytest.mark.checks("EX-20")
@pytest.mark.parametrize(
    ("place", "part", "words"),
    [
        ("rule", "Average:fails=form", "mix gives no pair of tensors"),
        ("attack", "Attack:fails=form", "deviate gives a NoneType, not a LearningDeviation"),
        ("attack", "Attack:fails=said", "deviate gives what is no deviation"),
        ("attack", "Attack:fails=other", "labels gives one that is not in 0..2"),
        ("attack", "Attack:fails=text", "labels gives a str; needed are torch.int64"),
        ("attack", "Attack:fails=short", "labels gives torch.float32 of shape"),
    ],
)
def test_what_a_part_gives_in_another_form_is_refused_by_name(
    place: str, part: str, words: str
) -> None:
    assert words in refused(place, f"theirs_torch:{part}")


def test_the_parts_run_where_they_do_not_fail() -> None:
    run_experiment(load("theirs.toml"), Path("whole"), Options())
