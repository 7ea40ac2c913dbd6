"""Join clauses and markers: what is tied to each clause, what it lacks, which gaps are accepted."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType

import attrs

from valid_ref.trace.sources import Marker, SourceRole
from valid_ref.trace.spec_text import (
    Clause,
    ClauseKind,
    Content,
    Erratum,
    Specification,
    TraceError,
    is_identifier,
    located,
    raise_all,
    spec_directory,
)

NOT_YET = "not-yet.txt"


class Gap(StrEnum):
    """What a clause lacks."""

    CODE = "code"
    CHECK = "check"
    WITNESS = "witness"


@attrs.frozen
class NotYet:
    """One accepted gap."""

    identifier: str
    gap: Gap
    file: str
    line: int


@attrs.frozen
class ClauseRow:
    """One clause and the markers that name it; `proved` holds proofs of both forms."""

    clause: Clause
    implemented: tuple[Marker, ...] = ()
    tested: tuple[Marker, ...] = ()
    explored: tuple[Marker, ...] = ()
    proved: tuple[Marker, ...] = ()
    witnessed: tuple[Marker, ...] = ()

    @property
    def proved_coq(self) -> tuple[Marker, ...]:
        """The theorems of the proof assistant that name the clause."""
        return tuple(marker for marker in self.proved if marker.role is SourceRole.PROVED_COQ)

    @property
    def markers(self) -> tuple[Marker, ...]:
        """All that is tied to the clause, by column."""
        return self.implemented + self.tested + self.explored + self.proved + self.witnessed


def rows_of(specification: Specification, markers: Iterable[Marker]) -> Mapping[str, ClauseRow]:
    """One row for each clause and erratum, in reading order."""
    found: defaultdict[str, defaultdict[str, tuple[Marker, ...]]]
    found = defaultdict(lambda: defaultdict(tuple))
    for marker in markers:
        column = SourceRole.PROVED if marker.role is SourceRole.PROVED_COQ else marker.role
        found[marker.identifier][column.value] += (marker,)
    rows = {
        name: ClauseRow(clause, **found[name]) for name, clause in specification.clauses.items()
    }
    return MappingProxyType(rows)


def gaps(row: ClauseRow) -> tuple[Gap, ...]:
    """What a clause lacks.

    A rule needs code and a check, a term code, a claim a check, an executable erratum a witness.
    """
    clause = row.clause
    if isinstance(clause, Erratum):
        lacks = clause.content is Content.EXECUTABLE and not row.witnessed
        return (Gap.WITNESS,) if lacks else ()
    lacking: list[Gap] = []
    if clause.kind in (ClauseKind.RULE, ClauseKind.TERM) and not row.implemented:
        lacking.append(Gap.CODE)
    checked = row.tested or row.explored or row.proved
    if clause.kind in (ClauseKind.RULE, ClauseKind.CLAIM) and not checked:
        lacking.append(Gap.CHECK)
    return tuple(lacking)


def read_not_yet(root: Path) -> tuple[NotYet, ...]:
    """The accepted gaps: lines `LV-3 code` with comments after a hash; no file, no gaps."""
    path, file = spec_directory(root) / NOT_YET, f"spec/{NOT_YET}"
    if not path.is_file():
        return ()
    entries: list[NotYet] = []
    errors: list[TraceError] = []
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), start=1):
        words = line.partition("#")[0].split()
        if len(words) == 2 and is_identifier(words[0]) and words[1] in tuple(Gap):
            entries.append(NotYet(words[0], Gap(words[1]), file, number))
        elif words:
            message = f"expected an id and one of {', '.join(Gap)}, not {' '.join(words)!r}"
            errors.append(located(file, number, message))
    raise_all(errors)
    return tuple(entries)
