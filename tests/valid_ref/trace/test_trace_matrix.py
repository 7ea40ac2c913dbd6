"""Markers are joined to clauses; each kind of clause needs what it needs."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import pytest

from valid_ref.trace import Erratum, Specification, TraceError
from valid_ref.trace.matrix import ClauseRow, Gap, NotYet, gaps, read_not_yet, rows_of
from valid_ref.trace.sources import Marker, SourceRole
from valid_ref.trace.spec_text import Clause, ClauseKind, Content

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    Build = Callable[[Mapping[str, str]], Path]


def clause(kind: ClauseKind) -> Clause:
    return Clause(identifier="LV-1", kind=kind, text="Text.", file="spec/a.md", line=1)


def erratum(content: Content) -> Erratum:
    return Erratum(
        identifier="P04",
        kind=ClauseKind.ERRATUM,
        text="Text.",
        file="spec/errata.md",
        line=1,
        title="title",
        severity="bug",
        content=content,
    )


def marker(role: SourceRole, identifier: str = "LV-1") -> Marker:
    return Marker(identifier, role, "a.py", 1, "symbol")


def row(of: Clause, roles: tuple[SourceRole, ...]) -> ClauseRow:
    markers = [marker(role, of.identifier) for role in roles]
    return rows_of(Specification({of.identifier: of}, {}), markers)[of.identifier]


ROLE_SETS = [
    tuple(role for role, present in zip(SourceRole, bits, strict=True) if present)
    for bits in product((False, True), repeat=len(SourceRole))
]
CHECKS = {SourceRole.TESTED, SourceRole.EXPLORED, SourceRole.PROVED, SourceRole.PROVED_COQ}


@pytest.mark.parametrize("roles", ROLE_SETS)
def test_what_each_kind_lacks(roles: tuple[SourceRole, ...]) -> None:
    code = [] if SourceRole.IMPLEMENTED in roles else [Gap.CODE]
    check = [] if CHECKS & set(roles) else [Gap.CHECK]
    witness = [] if SourceRole.WITNESSED in roles else [Gap.WITNESS]
    assert list(gaps(row(clause(ClauseKind.RULE), roles))) == code + check
    assert list(gaps(row(clause(ClauseKind.TERM), roles))) == code
    assert list(gaps(row(clause(ClauseKind.CLAIM), roles))) == check
    assert list(gaps(row(erratum(Content.EXECUTABLE), roles))) == witness
    assert list(gaps(row(erratum(Content.TEXTUAL), roles))) == []


@pytest.mark.parametrize("role", SourceRole)
def test_a_marker_lands_in_its_column(role: SourceRole) -> None:
    joined = row(clause(ClauseKind.RULE), (role,))
    column = "proved" if role is SourceRole.PROVED_COQ else role.value
    columns = ("implemented", "tested", "explored", "proved", "witnessed")
    for name in columns:
        assert getattr(joined, name) == ((marker(role),) if name == column else ())
    assert joined.markers == (marker(role),)


def test_markers_of_other_clauses_do_not_count() -> None:
    specification = Specification({"LV-1": clause(ClauseKind.RULE)}, {})
    joined = rows_of(specification, [marker(SourceRole.TESTED, "LV-2")])
    assert list(joined) == ["LV-1"]
    assert joined["LV-1"].markers == ()


def test_the_list_of_known_gaps_is_read(project: Build) -> None:
    text = "# known\n\nLV-1 code\n  LV-1   check  # soon\nP04 witness\n"
    file = "spec/not-yet.txt"
    assert read_not_yet(project({file: text})) == (
        NotYet("LV-1", Gap.CODE, file, 3),
        NotYet("LV-1", Gap.CHECK, file, 4),
        NotYet("P04", Gap.WITNESS, file, 5),
    )


def test_no_list_is_an_empty_list(project: Build) -> None:
    assert read_not_yet(project({})) == ()


@pytest.mark.parametrize("line", ["LV-1", "LV-1 test", "LV-1 code check", "lv-1 code", "code LV-1"])
def test_a_malformed_line_of_the_list_is_refused(project: Build, line: str) -> None:
    with pytest.raises(TraceError, match=r"^spec/not-yet\.txt:2: expected an id"):
        read_not_yet(project({"spec/not-yet.txt": f"# known\n{line}\n"}))
