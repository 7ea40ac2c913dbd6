"""A sound project has no problems; each way to spoil it is found where it is to be mended."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from valid_ref.trace import ProblemKind, check, load

if TYPE_CHECKING:
    from pathlib import Path


def problems(root: Path) -> list[tuple[ProblemKind, str, str, int]]:
    found = load(root).problems
    assert all(problem.message for problem in found)
    return [(item.kind, item.identifier, item.file, item.line) for item in found]


def replace(root: Path, file: str, old: str, new: str) -> None:
    text = (root / file).read_text(encoding="utf-8")
    assert old in text
    (root / file).write_text(text.replace(old, new), encoding="utf-8")


def test_a_sound_project_has_no_problems(sound: Path) -> None:
    assert problems(sound) == []


@pytest.mark.parametrize(
    ("file", "old", "new", "identifier", "line"),
    [
        ("valid_ref/local.py", "LV-1, LV-2", "LV-1, LV-2, LV-9", "LV-9", 4),
        ("tests/test_local.py", '"LV-1", "V2"', '"LV-1", "V2", "V9"', "V9", 6),
        ("tests/test_local.py", 'witness("P04")', 'witness("P04", "P05")', "P05", 6),
    ],
)
def test_a_marker_with_an_unknown_id(
    sound: Path, file: str, old: str, new: str, identifier: str, line: int
) -> None:
    replace(sound, file, old, new)
    assert problems(sound) == [(ProblemKind.UNKNOWN_MARKER, identifier, file, line)]


def test_a_witness_of_a_clause(sound: Path) -> None:
    replace(sound, "tests/test_local.py", '"P04"', '"P04", "LV-2"')
    expected = (ProblemKind.WITNESS_OF_CLAUSE, "LV-2", "tests/test_local.py", 6)
    assert problems(sound) == [expected]


@pytest.mark.parametrize(
    ("file", "old", "new", "identifier", "place"),
    [
        ("valid_ref/local.py", "LV-1, LV-2", "LV-2", "LV-1", ("spec/local.md", 3)),
        ("valid_ref/local.py", "LV-1, LV-2", "LV-1", "LV-2", ("spec/local.md", 7)),
        ("tests/test_local.py", '"LV-1", "V2"', '"V2"', "LV-1", ("spec/local.md", 3)),
        ("tests/test_local.py", '"LV-1", "V2"', '"LV-1"', "V2", ("spec/local.md", 9)),
        ("tests/test_local.py", '"P04"', '"A01"', "P04", ("spec/errata.md", 4)),
    ],
)
def test_a_gap_that_is_not_listed(
    sound: Path, file: str, old: str, new: str, identifier: str, place: tuple[str, int]
) -> None:
    replace(sound, file, old, new)
    assert problems(sound) == [(ProblemKind.GAP, identifier, *place)]


def test_a_listed_gap_is_accepted(sound: Path) -> None:
    replace(sound, "valid_ref/local.py", "LV-1, LV-2", "LV-2")
    (sound / "spec/not-yet.txt").write_text("LV-1 code\n")
    assert problems(sound) == []


def test_only_the_listed_gap_is_accepted(sound: Path) -> None:
    replace(sound, "valid_ref/local.py", "LV-1, LV-2", "LV-2")
    replace(sound, "tests/test_local.py", '"LV-1", "V2"', '"V2"')
    (sound / "spec/not-yet.txt").write_text("LV-1 code\n")
    assert problems(sound) == [(ProblemKind.GAP, "LV-1", "spec/local.md", 3)]


@pytest.mark.parametrize(
    ("entries", "kind", "identifier", "line"),
    [
        ("LV-2 code\nLV-1 code", ProblemKind.STALE_ENTRY, "LV-1", 2),
        ("LV-2 code\nLV-2 check", ProblemKind.STALE_ENTRY, "LV-2", 2),
        ("LV-2 code\nA01 witness", ProblemKind.STALE_ENTRY, "A01", 2),
        ("LV-2 code\nLV-9 code", ProblemKind.UNKNOWN_ENTRY, "LV-9", 2),
        ("LV-2 code\n\nLV-2 code", ProblemKind.DUPLICATE_ENTRY, "LV-2", 3),
    ],
)
def test_a_wrong_entry_of_the_list(
    sound: Path, entries: str, kind: ProblemKind, identifier: str, line: int
) -> None:
    replace(sound, "valid_ref/local.py", "LV-1, LV-2", "LV-1")
    (sound / "spec/not-yet.txt").write_text(entries)
    assert problems(sound) == [(kind, identifier, "spec/not-yet.txt", line)]


def test_a_label_that_names_an_unknown_clause(sound: Path) -> None:
    replace(sound, "spec/README.md", "[V2](local.md#v2)", "V9")
    assert problems(sound) == [(ProblemKind.UNKNOWN_CLAUSE, "V9", "spec/README.md", 5)]


def test_a_label_that_links_an_unknown_clause_is_reported_once(sound: Path) -> None:
    replace(sound, "spec/README.md", "[V2](local.md#v2)", "[V9](local.md#v9)")
    assert problems(sound) == [(ProblemKind.UNKNOWN_REFERENCE, "V9", "spec/README.md", 5)]


def test_an_erratum_that_names_an_unknown_clause(sound: Path) -> None:
    replace(sound, "spec/errata.md", "[V2](local.md#v2)", "V9")
    assert problems(sound) == [(ProblemKind.UNKNOWN_CLAUSE, "V9", "spec/errata.md", 4)]


def test_a_clause_that_names_an_unknown_erratum(sound: Path) -> None:
    replace(sound, "spec/local.md", "[P04](errata.md#p04)", "P09")
    assert problems(sound) == [(ProblemKind.UNKNOWN_REFERENCE, "P09", "spec/local.md", 5)]
    trace = load(sound)
    unlinked = check(trace.specification, trace.markers)
    found = [(item.kind, item.identifier, item.line) for item in unlinked]
    assert found == [(ProblemKind.UNKNOWN_ERRATUM, "P09", 3)]


def test_a_link_to_the_wrong_place(sound: Path) -> None:
    replace(sound, "spec/errata.md", "local.md#v2", "README.md#v2")
    assert problems(sound) == [(ProblemKind.MISDIRECTED_LINK, "V2", "spec/errata.md", 6)]


def test_problems_are_ordered_by_place(sound: Path) -> None:
    (sound / "valid_ref/local.py").unlink()
    (sound / "tests/test_local.py").unlink()
    found = [(file, line) for _, _, file, line in problems(sound)]
    assert len(found) == 5
    assert found == sorted(found)
