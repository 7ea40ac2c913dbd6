"""Everything that is wrong between the specification, the sources and the list of known gaps."""

import posixpath
import re
from collections.abc import Iterable, Iterator
from enum import StrEnum

import attrs

from valid_ref.markdown import read_prose
from valid_ref.trace.matrix import Gap, NotYet, gaps, rows_of
from valid_ref.trace.sources import Marker, SourceRole
from valid_ref.trace.spec_text import (
    Clause,
    Erratum,
    Page,
    PaperLabel,
    Specification,
    is_erratum_identifier,
    is_identifier,
)

_MENTION = re.compile(r"(?<!\w)([A-Z]{2}-\d+|VS\d|[PA]\d{2})(?!\w)")


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
class TraceProblem:
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
    pages: Iterable[Page] = (),
) -> tuple[TraceProblem, ...]:
    """All problems, ordered by file and line; `pages` are those whose references are followed."""
    markers = tuple(markers)
    references = reference_problems(pages, specification)
    reported = {(problem.identifier, problem.file) for problem in references}
    named = (
        problem
        for problem in _name_problems(specification)
        if (problem.identifier, problem.file) not in reported
    )
    problems = (
        *references,
        *named,
        *_marker_problems(specification, markers),
        *_gap_problems(specification, markers, not_yet),
    )
    return tuple(sorted(problems, key=lambda item: (item.file, item.line, item.message)))


def reference_problems(pages: Iterable[Page], specification: Specification) -> list[TraceProblem]:
    """References to an unknown id, and links that do not lead to where the clause is.

    A bare id counts when its series (`LV-`, `P`) exists; `V2`, `L2` and `S2` only as a link.
    """
    lines = [
        (page.file, number, read_prose(line)) for page in pages for number, line in page.numbered()
    ]
    anchors = {(file, anchor) for file, _number, prose in lines for anchor in prose.anchors}
    series = {_series(identifier) for identifier in specification.clauses}
    problems: list[TraceProblem] = []
    for file, number, prose in lines:
        texts = [prose.text]
        for text, target in prose.links:
            named, anchor = text.strip(), target.partition("#")[2]
            identifier = named if is_identifier(named) else anchor.upper()
            if not is_identifier(named):
                texts.append(text)
            if "://" in target or not is_identifier(identifier):
                continue
            if identifier not in specification.clauses:
                problems.append(_unknown(file, number, identifier))
            elif fault := _link_fault(file, target, specification.clauses[identifier], anchors):
                message = f"the link to {identifier} {fault}"
                kind = ProblemKind.MISDIRECTED_LINK
                problems.append(TraceProblem(kind, identifier, file, number, message))
        for identifier in _MENTION.findall("\n".join(texts)):
            if identifier not in specification.clauses and _series(identifier) in series:
                problems.append(_unknown(file, number, identifier))
    return problems


def _series(identifier: str) -> str:
    """The letters of an id, with the hyphen if it has one."""
    return identifier.rstrip("0123456789")


def _unknown(file: str, number: int, identifier: str) -> TraceProblem:
    message = f"{identifier} is referred to, but no clause or erratum is called so"
    return TraceProblem(ProblemKind.UNKNOWN_REFERENCE, identifier, file, number, message)


def _link_fault(file: str, target: str, clause: Clause, anchors: set[tuple[str, str]]) -> str:
    """Why a link in a file does not lead to a clause; empty if it does."""
    path, _, anchor = target.partition("#")
    reached = posixpath.normpath(posixpath.join(posixpath.dirname(file), path)) if path else file
    home = (clause.file, clause.identifier.lower())
    if (reached, anchor) != home:
        return f"leads to {target}, its home is {'#'.join(home)}"
    return "" if home in anchors else f"needs the anchor {'#'.join(home)}, which is not set"


def _name_problems(specification: Specification) -> Iterator[TraceProblem]:
    """Clauses, errata and labels that name something which does not exist."""
    known = specification.clauses
    for clause in known.values():
        for identifier in clause.errata:
            if not isinstance(known.get(identifier), Erratum):
                message = f"{clause.identifier} repairs {identifier}, which is no erratum"
                kind = ProblemKind.UNKNOWN_ERRATUM
                yield TraceProblem(kind, identifier, clause.file, clause.line, message)
    listing: list[Erratum | PaperLabel] = [*specification.labels.values()]
    listing += [clause for clause in known.values() if isinstance(clause, Erratum)]
    for item in listing:
        for identifier in item.clauses:
            if identifier not in known:
                name = item.identifier if isinstance(item, Erratum) else item.label
                message = f"{name} names {identifier}, which is no clause"
                kind = ProblemKind.UNKNOWN_CLAUSE
                yield TraceProblem(kind, identifier, item.file, item.line, message)


def _marker_problems(
    specification: Specification, markers: Iterable[Marker]
) -> Iterator[TraceProblem]:
    """Markers that name an unknown id, and witnesses of something that is no erratum."""
    for marker in markers:
        known = marker.identifier in specification.clauses
        misused = marker.role is SourceRole.WITNESSED and not is_erratum_identifier(
            marker.identifier
        )
        if not known:
            kind = ProblemKind.UNKNOWN_MARKER
            message = f"{marker.symbol} names {marker.identifier}, which the spec does not define"
            yield TraceProblem(kind, marker.identifier, marker.file, marker.line, message)
        elif misused:
            kind = ProblemKind.WITNESS_OF_CLAUSE
            message = f"{marker.symbol} is a witness of {marker.identifier}, which is no erratum"
            yield TraceProblem(kind, marker.identifier, marker.file, marker.line, message)


def _gap_problems(
    specification: Specification, markers: Iterable[Marker], not_yet: Iterable[NotYet]
) -> Iterator[TraceProblem]:
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
            yield TraceProblem(kind, entry.identifier, entry.file, entry.line, message)
    for name, row in rows.items():
        for gap in gaps(row):
            if (name, gap) not in listed:
                message = f"{name} ({row.clause.kind}) {_GAP_MESSAGES[gap].format(name)}"
                yield TraceProblem(ProblemKind.GAP, name, row.clause.file, row.clause.line, message)
