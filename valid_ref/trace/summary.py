"""Totals over the matrix."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import attrs

from valid_ref.trace.matrix import gaps
from valid_ref.trace.model import Kind

if TYPE_CHECKING:
    from valid_ref.trace.load import Trace
    from valid_ref.trace.not_yet import Gap


@attrs.frozen
class Summary:
    """How many clauses and errata there are, how many have what, and how many gaps are open."""

    rules: int
    terms: int
    claims: int
    errata: int
    implemented: int
    tested: int
    explored: int
    proved: int
    witnessed: int
    gaps: int
    not_yet: int


def summarise(trace: Trace) -> Summary:
    """Count; `not_yet` is the number of open gaps that are on the list of accepted ones."""
    rows = tuple(trace.rows.values())
    kinds = Counter(row.clause.kind for row in rows)
    return Summary(
        rules=kinds[Kind.RULE],
        terms=kinds[Kind.TERM],
        claims=kinds[Kind.CLAIM],
        errata=kinds[Kind.ERRATUM],
        implemented=sum(bool(row.implemented) for row in rows),
        tested=sum(bool(row.tested) for row in rows),
        explored=sum(bool(row.explored) for row in rows),
        proved=sum(bool(row.proved) for row in rows),
        witnessed=sum(bool(row.witnessed) for row in rows),
        gaps=sum(len(gaps(row)) for row in rows),
        not_yet=sum(len(accepted_gaps(trace, name)) for name in trace.rows),
    )


def accepted_gaps(trace: Trace, identifier: str) -> tuple[Gap, ...]:
    """The open gaps of a clause that are on the list of accepted ones."""
    listed = {entry.gap for entry in trace.not_yet if entry.identifier == identifier}
    return tuple(gap for gap in gaps(trace.rows[identifier]) if gap in listed)
