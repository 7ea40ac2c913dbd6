"""A Run among the tools of Python: compared, copied, pickled, written to places that are none."""

import copy
import pickle
from pathlib import Path

import pytest

from valid_ref import Run, Scenario, run
from valid_ref.errors import OutputError, ValidRefError


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
    words = r"^path: (cannot write|.* is no path|.* is not an empty|expected a path)"
    with pytest.raises(ValidRefError, match=words):
        getattr(finished, method)(place)


@pytest.mark.parametrize(
    ("method", "name"), [("report", "run.html"), ("record", "run.zip"), ("plot", "run.svg")]
)
def test_all_that_a_run_writes_takes_the_same_places(
    finished, method, name, tmp_path, monkeypatch
) -> None:
    """A text or a path; what is there is replaced; a directory must be there already."""
    monkeypatch.chdir(tmp_path)
    write = getattr(finished, method)
    write(name)
    place = tmp_path / name
    assert place.stat().st_size > 100
    place.write_bytes(b"before")
    write(place)
    assert place.read_bytes() != b"before"
    assert sorted(tmp_path.iterdir()) == [place]
    message = rf"^path: cannot write no/{name}: there is no directory no$"
    with pytest.raises(OutputError, match=message):
        write(f"no/{name}")
    with pytest.raises(OutputError, match=message):
        write(Path("no") / name)
    (tmp_path / f"folder{place.suffix}").mkdir()
    with pytest.raises(OutputError, match=f"^path: cannot write folder{place.suffix}: it is a dir"):
        write(f"folder{place.suffix}")
    assert not (tmp_path / "no").exists()
