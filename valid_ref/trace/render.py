"""The matrix, the problems and one explanation as plain text."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from valid_ref.trace.explanation import look_up
from valid_ref.trace.matrix import Row, gaps
from valid_ref.trace.model import Erratum, Marker, PaperLabel
from valid_ref.trace.summary import accepted_gaps, summarise

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from valid_ref.trace.load import Trace
    from valid_ref.trace.problems import Problem

WIDTH = 100
HEADINGS = (
    "clause",
    "kind",
    "implemented",
    "tested",
    "explored",
    "proved",
    "in Coq",
    "witnessed",
    "open",
    "paper",
)


def render_matrix(trace: Trace) -> str:
    """One line for each clause and erratum, a line of totals at the end."""
    table = [HEADINGS, *(_cells(trace, row) for row in trace.rows.values())]
    widths = [max(len(cells[column]) for cells in table) for column in range(len(HEADINGS))]
    lines = [_aligned(cells, widths) for cells in table]
    return "\n".join([*lines, "", render_summary(trace)])


def render_summary(trace: Trace) -> str:
    """The totals in one line."""
    total = summarise(trace)
    return (
        f"{total.rules} rules, {total.terms} terms, {total.claims} claims, {total.errata} errata: "
        f"{total.implemented} implemented, {total.tested} tested, {total.explored} explored, "
        f"{total.proved} proved, {total.witnessed} witnessed; "
        f"{total.gaps} gaps, {total.not_yet} of them not yet"
    )


def render_problems(problems: Iterable[Problem]) -> str:
    """One line for each problem, as compilers write them."""
    return "\n".join(
        f"{problem.file}:{problem.line}: {problem.kind}: {problem.message}" for problem in problems
    )


def explain(trace: Trace, identifier: str) -> str:
    """A clause, erratum or paper label with its text and everything tied to it."""
    found = look_up(trace, identifier)
    if isinstance(found.subject, PaperLabel):
        head = _label_lines(found.subject)
        below = "Clauses:" if found.clauses else "No clause restates it."
    else:
        head = _row_lines(trace, found.subject)
        below = "Repaired by:" if found.clauses else ""
    lines = [*head, "", below] if below else head
    for row in found.clauses:
        lines += ["", *_row_lines(trace, row)]
    return "\n".join(lines)


def _cells(trace: Trace, row: Row) -> tuple[str, ...]:
    """The cells of one clause."""
    proofs = (row.proved, row.proved_coq)
    columns = (row.implemented, row.tested, row.explored, *proofs, row.witnessed)
    counts = (str(len(markers)) if markers else "-" for markers in columns)
    clause = row.clause
    return (clause.identifier, clause.kind, *counts, _open(trace, row), ", ".join(clause.labels))


def _open(trace: Trace, row: Row) -> str:
    """The gaps of a clause, an accepted one in brackets."""
    accepted = accepted_gaps(trace, row.clause.identifier)
    return " ".join(f"({gap})" if gap in accepted else gap for gap in gaps(row)) or "-"


def _aligned(cells: Sequence[str], widths: Sequence[int]) -> str:
    """One line: words to the left, counts to the right."""
    counts = range(2, 8)
    padded = (
        cell.rjust(width) if column in counts else cell.ljust(width)
        for column, (cell, width) in enumerate(zip(cells, widths, strict=True))
    )
    return "  ".join(padded).rstrip()


def _label_lines(label: PaperLabel) -> list[str]:
    """What a label of the paper is."""
    return [f"{label.label}  paper label  {label.file}:{label.line}", *_wrapped(label.what)]


def _row_lines(trace: Trace, row: Row) -> list[str]:
    """A clause or erratum and everything tied to it."""
    clause = row.clause
    lines = [f"{clause.identifier}  {clause.kind}  {clause.file}:{clause.line}"]
    if isinstance(clause, Erratum):
        lines += _wrapped(clause.title)
        lines += [f"  {line}".rstrip() for line in clause.text.split("\n")]
    else:
        lines += _wrapped(clause.text)
        lines += [f"  Paper: {', '.join(clause.labels)}"] if clause.labels else []
        lines += [f"  Repairs: {', '.join(clause.errata)}"] if clause.errata else []
    lines += [f"  Open: {_open(trace, row)}"] if gaps(row) else []
    return lines + [f"    {_tie(marker)}" for marker in row.markers]


def _tie(marker: Marker) -> str:
    """One tie as file:line, role and symbol."""
    return f"{marker.file}:{marker.line}  {marker.role}  {marker.symbol}"


def _wrapped(text: str) -> list[str]:
    """A text in indented lines, broken only at spaces."""
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent="  ",
        subsequent_indent="  ",
        break_long_words=False,
        break_on_hyphens=False,
    )
