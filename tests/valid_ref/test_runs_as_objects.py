"""A Run among the tools of Python: compared, copied, pickled, written to places that are none."""

import copy
import pickle

import pytest

from valid_ref import Run, Scenario, run
from valid_ref.errors import ValidRefError


@pytest.fixture(scope="module")
def finished() -> Run:
    return run(Scenario(graph="path:3", rounds=2, seed=0))


def test_a_run_is_equal_to_itself_alone_and_can_be_a_key(finished) -> None:
    other = run(finished.scenario)
    assert {finished: 1, other: 2} == {other: 2, finished: 1}
    assert finished == finished
    assert finished != other


def test_a_copy_is_the_run_itself_and_pickle_is_refused_with_what_to_do(finished) -> None:
    assert copy.copy(finished) is copy.deepcopy([finished])[0] is finished
    with pytest.raises(TypeError, match=r"a Run is not pickled: keep its scenario .*run.record"):
        pickle.dumps(finished)


@pytest.mark.parametrize("method", ["report", "record", "plot"])
@pytest.mark.parametrize(
    "place", ["full", "no/such/run.svg", "file/run.svg", 3, "a\0b.svg", "\ud800"]
)
def test_a_place_that_cannot_be_written_to_is_refused(
    finished, method, place, tmp_path, monkeypatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "something").touch()
    (tmp_path / "file").touch()
    if (method, place) == ("record", "no/such/run.svg"):
        pytest.skip("the directory of a recording is made")
    with pytest.raises(ValidRefError, match=r"cannot write|is no path|not empty|must end in"):
        getattr(finished, method)(place)
