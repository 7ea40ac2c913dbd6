"""The files suffice: a second implementation, without the reference and without numpy, passes.

It lies in `plain/` and was written from the specification; it runs isolated from all packages.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.valid_ref.vectors.reading import VECTORS, Json, files, load, printed

PLAIN = Path(__file__).resolve().parent / "plain"


def replay(directory: Path) -> Json:
    command = [sys.executable, "-I", "-S", str(PLAIN), str(directory)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


@pytest.mark.checks("VE-9")
def test_a_program_without_the_reference_passes() -> None:
    cases = [case for family in files() for case in load(family)["cases"]]
    skipped = {c["id"] for c in cases if printed(c)}
    found = replay(VECTORS)
    assert found["failed"] == []
    assert set(found["skipped"]) == skipped
    assert found["passed"] == len(cases) - len(skipped) > 400


def places(value: Json, path: tuple = ()) -> list[tuple]:
    """The paths of all leaves but the names of kinds."""
    if isinstance(value, dict):
        return [p for k, v in value.items() if k != "kind" for p in places(v, (*path, k))]
    if isinstance(value, list):
        return [p for i, v in enumerate(value) for p in places(v, (*path, i))]
    return [path]


def altered(leaf: Json) -> Json:
    if leaf == []:
        return ["7"]
    if isinstance(leaf, bool):
        return not leaf
    if isinstance(leaf, int):
        return leaf - 1 if leaf else 1  # so that rows of tables stay rows
    return "7" if leaf is None else f"{leaf}1"


@pytest.mark.checks("VE-9")
@pytest.mark.parametrize("which", [0, 1, 2])
def test_it_notices_any_changed_result(which: int, tmp_path: Path) -> None:
    """In every case one number of what is expected is changed; none may pass."""
    for family in files():
        document = load(family)
        for index, case in enumerate(document["cases"]):
            result = {key: case[key] for key in ("expected", "refused") if key in case}
            leaves = places(result) or [("expected", *case["expected"])]  # an empty list
            *outer, last = leaves[(which * 7919 + index * 104729) % len(leaves)]
            inside = case
            for step in outer:
                inside = inside[step]
            inside[last] = altered(inside[last])
        (tmp_path / f"{family}.json").write_text(json.dumps(document), encoding="utf-8")
    found = replay(tmp_path)
    assert found["passed"] == 0, found["passed"]
    assert len(found["failed"]) > 400
