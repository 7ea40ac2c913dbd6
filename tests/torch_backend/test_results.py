"""The files of a run: whole or not at all, cut to the last checkpoint, refused when not theirs."""

import json
from pathlib import Path

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from torch_backend import results
from torch_backend.errors import ConfigError
from torch_backend.results import CurveRow, ResultsError

HEADER = {"format": results.FORMAT, "experiment": {"rounds": 3, "rules": [1, 2]}, "jobs": ["a"]}
SUMMARY = {
    "purpose": "measure",
    "rule": {"label": "valid", "kind": "valid"},
    "attack": {"label": "none", "kind": "none"},
    "outcome": "diverged",
    "rounds": 1,
    "final": None,
    "statistics": [],
    "validation": None,
}
numbers = st.floats(width=64)
rows = st.builds(CurveRow, st.integers(1, 9), numbers, numbers, numbers, numbers, numbers, numbers)


def row(t: int) -> CurveRow:
    return CurveRow(
        round=t, accuracy=0.5, averaged=0.25, lowest=0.125, highest=1.0, loss=2.5, distance=1e-3
    )


@pytest.mark.checks("EX-14")
@given(st.lists(rows, max_size=4))
def test_a_curve_is_read_back_exactly(tmp_path_factory, found: list[CurveRow]) -> None:
    directory = tmp_path_factory.mktemp("curve")
    folder = results.job_directory(directory, "a")
    folder.mkdir(parents=True)
    for one in found:
        results.append_row(folder / results.CURVE, "a", one)
    assert repr(results.read_rows(directory, "a")) == repr(found)  # NaN is not equal to itself


@pytest.mark.checks("EX-14")
@pytest.mark.parametrize("kept", range(6))
@pytest.mark.parametrize("torn", [0, 1, 20])
def test_what_came_after_the_checkpoint_is_cut_off(tmp_path: Path, kept: int, torn: int) -> None:
    """Also when the last line was torn by a kill."""
    path, expected = tmp_path / "curve.csv", [1, 2, 4, 5]
    for t in expected:
        results.append_row(path, "a+b=1", row(t))
    whole = path.read_bytes().splitlines(keepends=True)
    if torn:
        path.write_bytes(path.read_bytes() + whole[-1][:torn])
    assert results.cut_curve(path, kept, expected)
    remaining = [t for t in expected if t <= kept]
    assert path.read_bytes() == (b"".join(whole[: 1 + len(remaining)]) if remaining else b"")


@pytest.mark.checks("EX-14")
def test_a_curve_with_a_hole_before_the_checkpoint_is_not_trusted(tmp_path: Path) -> None:
    path = tmp_path / "curve.csv"
    results.append_row(path, "a", row(1))
    results.append_row(path, "a", row(3))
    assert not results.cut_curve(path, 3, [1, 2, 3])
    assert not results.cut_curve(tmp_path / "missing.csv", 1, [1])
    assert results.cut_curve(tmp_path / "missing.csv", 0, [1])


@pytest.mark.checks("EX-14")
def test_only_the_same_header_goes_on(tmp_path: Path) -> None:
    directory = tmp_path / "run"
    assert not results.open_results(directory, HEADER)
    assert results.open_results(directory, HEADER)
    other = HEADER | {"experiment": {"rounds": 4, "rules": [1, 2]}}
    with pytest.raises(ConfigError, match=r"experiment\.rounds: 3 there, 4 asked for; choose"):
        results.open_results(directory, other)
    with pytest.raises(ConfigError, match=r"experiment\.seeds: null there, 1 .* and 1 more"):
        results.open_results(
            directory, HEADER | {"experiment": {"rounds": 3, "seeds": 1, "rules": [1, 2]}, "x": 1}
        )
    assert json.loads((directory / results.RUN).read_text()) == HEADER


@pytest.mark.checks("EX-14")
def test_foreign_directories_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("mine")
    with pytest.raises(ResultsError, match="is not empty"):
        results.open_results(tmp_path, HEADER)
    with pytest.raises(ResultsError, match="holds no results"):
        results.read_results(tmp_path)
    (tmp_path / "killed").mkdir()
    (tmp_path / "killed" / f"{results.RUN}.tmp").write_text('{"for')
    assert not results.open_results(tmp_path / "killed", HEADER)
    assert [path.name for path in (tmp_path / "killed").iterdir()] == [results.RUN]
    (tmp_path / results.RUN).write_text('{"format": "other"}')
    with pytest.raises(ResultsError, match="not of the format"):
        results.read_results(tmp_path)


@pytest.mark.checks("EX-14")
def test_results_are_gathered_in_the_order_of_the_jobs(tmp_path: Path) -> None:
    """Whichever finished first; a job without a summary is left out."""
    names = ["b", "a", "c"]
    results.open_results(tmp_path / "run", HEADER | {"jobs": names, "agents": 3})
    for name in ("a", "b", "c"):
        folder = results.job_directory(tmp_path / "run", name)
        folder.mkdir(parents=True)
        results.append_row(folder / results.CURVE, name, row(1))
        if name != "c":
            results.replace_file(folder / results.SUMMARY, json.dumps(SUMMARY | {"job": name}))
    results.gather(tmp_path / "run", names)
    lines = (tmp_path / "run" / results.CURVES).read_text().splitlines()
    assert [line.split(",")[0] for line in lines] == ["job", "b", "a"]
    found = results.read_results(tmp_path / "run")
    assert [summary["job"] for summary in found.summaries] == ["b", "a"]
    assert found.rows["a"] == (row(1),)
    assert lines[0] == ",".join(("job", *(field.name for field in attrs.fields(CurveRow))))
