"""Join clauses and markers: what is tied to each clause, and what each clause lacks."""

from __future__ import annotations

from collections import defaultdict
from types import MappingProxyType
from typing import TYPE_CHECKING

import attrs

from valid_ref.trace.model import Clause, Content, Erratum, Kind, Marker, Role, Specification
from valid_ref.trace.not_yet import Gap

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


@attrs.frozen
class Row:
    """One clause and the markers that name it; `proved` holds proofs of both forms."""

    clause: Clause
    implemented: tuple[Marker, ...] = ()
    tested: tuple[Marker, ...] = ()
    explored: tuple[Marker, ...] = ()
    proved: tuple[Marker, ...] = ()
    witnessed: tuple[Marker, ...] = ()

    @property
    def checked(self) -> bool:
        """Whether a test, an exploration or a proof names the clause."""
        return bool(self.tested or self.explored or self.proved)

    @property
    def proved_coq(self) -> tuple[Marker, ...]:
        """The theorems of the proof assistant that name the clause."""
        return tuple(marker for marker in self.proved if marker.role is Role.PROVED_COQ)

    @property
    def markers(self) -> tuple[Marker, ...]:
        """All that is tied to the clause, by column."""
        return self.implemented + self.tested + self.explored + self.proved + self.witnessed


def rows_of(specification: Specification, markers: Iterable[Marker]) -> Mapping[str, Row]:
    """One row for each clause and erratum, in reading order."""
    by_role: defaultdict[tuple[str, Role], list[Marker]] = defaultdict(list)
    for marker in markers:
        role = Role.PROVED if marker.role is Role.PROVED_COQ else marker.role
        by_role[marker.identifier, role].append(marker)
    rows = {
        identifier: Row(
            clause,
            implemented=tuple(by_role[identifier, Role.IMPLEMENTED]),
            tested=tuple(by_role[identifier, Role.TESTED]),
            explored=tuple(by_role[identifier, Role.EXPLORED]),
            proved=tuple(by_role[identifier, Role.PROVED]),
            witnessed=tuple(by_role[identifier, Role.WITNESSED]),
        )
        for identifier, clause in specification.clauses.items()
    }
    return MappingProxyType(rows)


def gaps(row: Row) -> tuple[Gap, ...]:
    """What a clause lacks.

    A rule needs code and a check, a term code, a claim a check, an executable erratum a witness.
    """
    clause = row.clause
    if isinstance(clause, Erratum):
        lacks = clause.content is Content.EXECUTABLE and not row.witnessed
        return (Gap.WITNESS,) if lacks else ()
    lacking: list[Gap] = []
    if clause.kind in (Kind.RULE, Kind.TERM) and not row.implemented:
        lacking.append(Gap.CODE)
    if clause.kind in (Kind.RULE, Kind.CLAIM) and not row.checked:
        lacking.append(Gap.CHECK)
    return tuple(lacking)
