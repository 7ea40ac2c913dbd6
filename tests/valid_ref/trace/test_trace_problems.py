"""A sound project has no problems; each way to spoil it is found where it is to be mended."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from valid_ref.trace import load
from valid_ref.trace.problems import ProblemKind, check, reference_problems
from valid_ref.trace.spec_text import parse_page, specification_of

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


LOCAL = '<a id="lv-1"></a>**LV-1** *rule.* One.\n\n<a id="v2"></a>**V2** *claim.* Two.'
ERRATA = '<a id="p04"></a>\n### P04 — title\n\n*Severity:* bug. *Content:* textual.'


def faults(
    line: str, file: str = "spec/other.md", local: str = LOCAL
) -> list[tuple[ProblemKind, str, str, int]]:
    pages = [
        parse_page("spec/local.md", local),
        parse_page("spec/errata.md", ERRATA),
        parse_page(file, f"\n{line}\n"),
    ]
    found = reference_problems(pages, specification_of(pages))
    return [(fault.kind, fault.identifier, fault.file, fault.line) for fault in found]


@pytest.mark.parametrize(
    "line",
    [
        "[LV-1](local.md#lv-1) and [V2](local.md#v2), [P04](errata.md#p04)",
        "[`LV-1`](local.md#lv-1), [**LV-1**](local.md#lv-1), [the rule](local.md#lv-1)",
        "LV-1 and P04 in prose, ranges LV-1..LV-1, a table | P04 |",
        "an unknown series: AB-12, SHA-256, UTF-8, K10, A4, a_1, HTTP-2",
        "norms L2, S2, V9 that are no links",
        "`LV-99` and `[LV-99](x.md)` in code, ``P99 ` P98``",
        "[elsewhere](https://example.org/a.md#lv-99), [section](other.md#why), [file](local.md)",
        "LV-1a, xLV-99, LV-99_x",
    ],
)
def test_good_references_and_other_text_are_no_faults(line: str) -> None:
    assert faults(line) == []


@pytest.mark.parametrize(
    ("line", "identifier"),
    [
        ("[LV-99](local.md#lv-99)", "LV-99"),
        ("[`LV-99`](local.md#lv-99)", "LV-99"),
        ("[V9](local.md#v9)", "V9"),
        ("[P99](errata.md#p99)", "P99"),
        ("[the rule](local.md#lv-99)", "LV-99"),
        ("by LV-99.", "LV-99"),
        ("LV-1..LV-99", "LV-99"),
        ("[see LV-99](local.md)", "LV-99"),
        ("P04-P99", "P99"),
    ],
)
def test_an_unknown_id_is_a_fault_at_its_line(line: str, identifier: str) -> None:
    assert faults(line) == [(ProblemKind.UNKNOWN_REFERENCE, identifier, "spec/other.md", 2)]


@pytest.mark.parametrize(
    ("line", "identifier"),
    [
        ("[LV-1](other.md#lv-1)", "LV-1"),
        ("[LV-1](#lv-1)", "LV-1"),
        ("[LV-1](local.md#v2)", "LV-1"),
        ("[LV-1](local.md)", "LV-1"),
        ("[LV-1](local.md#LV-1)", "LV-1"),
        ("[P04](local.md#p04)", "P04"),
        ("[the rule](other.md#lv-1)", "LV-1"),
    ],
)
def test_a_link_past_the_home_of_a_clause_is_a_fault(line: str, identifier: str) -> None:
    assert faults(line) == [(ProblemKind.MISDIRECTED_LINK, identifier, "spec/other.md", 2)]


def test_a_link_within_a_page_needs_no_file() -> None:
    assert faults("", local=f"{LOCAL}\n\nSee [V2](#v2).") == []


def test_a_link_from_a_directory_below_is_resolved() -> None:
    assert faults("[LV-1](../local.md#lv-1)", file="spec/vectors/notes.md") == []
    wrong = faults("[LV-1](local.md#lv-1)", file="spec/vectors/notes.md")
    assert wrong == [(ProblemKind.MISDIRECTED_LINK, "LV-1", "spec/vectors/notes.md", 2)]


def test_a_link_to_a_clause_without_an_anchor_is_a_fault() -> None:
    found = faults("[LV-1](local.md#lv-1)", local="**LV-1** *rule.* One.")
    assert found == [(ProblemKind.MISDIRECTED_LINK, "LV-1", "spec/other.md", 2)]
