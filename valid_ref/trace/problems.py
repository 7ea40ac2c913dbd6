"""Everything that is wrong between the specification, the sources and the list of known gaps."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

import attrs

from valid_ref.trace.errors import MisdirectedLinkError, UnknownReferenceError
from valid_ref.trace.identifiers import is_erratum_identifier
from valid_ref.trace.matrix import gaps, rows_of
from valid_ref.trace.model import Erratum, Marker, PaperLabel, Role, Specification
from valid_ref.trace.not_yet import Gap, NotYet

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class ProblemKind(StrEnum):
    """The ways in which the specification and the code can disagree."""

    UNKNOWN_REFERENCE = "unknown-reference"
    MISDIRECTED_LINK = "misdirected-link"
    UNKNOWN_CLAUSE = "unknown-clause"
    UNKNOWN_ERRATUM = "unknown-erratum"
    UNKNOWN_MARKER = "unknown-marker"
    WITNESS_OF_CLAUSE = "witness-of-clause"
    GAP = "gap"
    STALE_ENTRY = "stale-entry"
    UNKNOWN_ENTRY = "unknown-entry"
    DUPLICATE_ENTRY = "duplicate-entry"


@attrs.frozen
class Problem:
    """One disagreement, at the line where it is to be mended."""

    kind: ProblemKind
    identifier: str
    file: str
    line: int
    message: str


_GAP_MESSAGES = {
    Gap.CODE: "has no code: no docstring says Implements: {0}",
    Gap.CHECK: 'has no check: no test is marked checks("{0}"), nothing explores or proves it',
    Gap.WITNESS: 'has no witness: no test is marked witness("{0}")',
}


def check(
    specification: Specification,
    markers: Iterable[Marker],
    not_yet: Iterable[NotYet] = (),
    references: Iterable[UnknownReferenceError | MisdirectedLinkError] = (),
) -> tuple[Problem, ...]:
    """All problems, ordered by file and line; `references` are the faults of links and mentions."""
    markers, not_yet = tuple(markers), tuple(not_yet)
    linked = [_reference_problem(fault) for fault in references]
    reported = {(problem.identifier, problem.file) for problem in linked}
    named = (
        problem
        for problem in _name_problems(specification)
        if (problem.identifier, problem.file) not in reported
    )
    problems = (
        *linked,
        *named,
        *_marker_problems(specification, markers),
        *_gap_problems(specification, markers, not_yet),
    )
    return tuple(sorted(problems, key=lambda item: (item.file, item.line, item.message)))


def _reference_problem(fault: UnknownReferenceError | MisdirectedLinkError) -> Problem:
    """A faulty reference as a problem."""
    unknown = isinstance(fault, UnknownReferenceError)
    kind = ProblemKind.UNKNOWN_REFERENCE if unknown else ProblemKind.MISDIRECTED_LINK
    return Problem(kind, fault.identifier, fault.file, fault.line, fault.message)


def _name_problems(specification: Specification) -> Iterator[Problem]:
    """Clauses, errata and labels that name something which does not exist."""
    known = specification.clauses
    for clause in known.values():
        for identifier in clause.errata:
            if not isinstance(known.get(identifier), Erratum):
                message = f"{clause.identifier} repairs {identifier}, which is no erratum"
                kind = ProblemKind.UNKNOWN_ERRATUM
                yield Problem(kind, identifier, clause.file, clause.line, message)
    listing: list[Erratum | PaperLabel] = [*specification.labels.values()]
    listing += [clause for clause in known.values() if isinstance(clause, Erratum)]
    for item in listing:
        for identifier in item.clauses:
            if identifier not in known:
                name = item.identifier if isinstance(item, Erratum) else item.label
                message = f"{name} names {identifier}, which is no clause"
                kind = ProblemKind.UNKNOWN_CLAUSE
                yield Problem(kind, identifier, item.file, item.line, message)


def _marker_problems(specification: Specification, markers: Iterable[Marker]) -> Iterator[Problem]:
    """Markers that name an unknown id, and witnesses of something that is no erratum."""
    for marker in markers:
        known = marker.identifier in specification.clauses
        misused = marker.role is Role.WITNESSED and not is_erratum_identifier(marker.identifier)
        if not known:
            kind = ProblemKind.UNKNOWN_MARKER
            message = f"{marker.symbol} names {marker.identifier}, which the spec does not define"
            yield Problem(kind, marker.identifier, marker.file, marker.line, message)
        elif misused:
            kind = ProblemKind.WITNESS_OF_CLAUSE
            message = f"{marker.symbol} is a witness of {marker.identifier}, which is no erratum"
            yield Problem(kind, marker.identifier, marker.file, marker.line, message)


def _gap_problems(
    specification: Specification, markers: Iterable[Marker], not_yet: Iterable[NotYet]
) -> Iterator[Problem]:
    """Gaps that are not listed, and listed gaps that are unknown, repeated or closed."""
    rows = rows_of(specification, markers)
    open_gaps = {(name, gap) for name, row in rows.items() for gap in gaps(row)}
    listed: set[tuple[str, Gap]] = set()
    for entry in not_yet:
        key = (entry.identifier, entry.gap)
        kind, reason = None, ""
        if entry.identifier not in rows:
            kind, reason = ProblemKind.UNKNOWN_ENTRY, "which the spec does not define"
        elif key in listed:
            kind, reason = ProblemKind.DUPLICATE_ENTRY, "which is already listed"
        elif key not in open_gaps:
            kind, reason = ProblemKind.STALE_ENTRY, "which is not a gap (any more): delete the line"
        listed.add(key)
        if kind is not None:
            message = f"the list of gaps has {entry.identifier} {entry.gap}, {reason}"
            yield Problem(kind, entry.identifier, entry.file, entry.line, message)
    for name, row in rows.items():
        for gap in gaps(row):
            if (name, gap) not in listed:
                message = f"{name} ({row.clause.kind}) {_GAP_MESSAGES[gap].format(name)}"
                yield Problem(ProblemKind.GAP, name, row.clause.file, row.clause.line, message)
