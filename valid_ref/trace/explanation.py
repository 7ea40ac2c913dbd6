"""Look up a clause, an erratum or a paper label, with all that is tied to it."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

import attrs

from valid_ref.trace.errors import UnknownIdentifierError
from valid_ref.trace.model import Erratum, PaperLabel

if TYPE_CHECKING:
    from collections.abc import Iterable

    from valid_ref.trace.load import Trace
    from valid_ref.trace.matrix import Row


@attrs.frozen
class Explanation:
    """What was asked for: a row or a label; `clauses` restate the label or repair the erratum."""

    subject: Row | PaperLabel
    clauses: tuple[Row, ...] = ()


def look_up(trace: Trace, identifier: str) -> Explanation:
    """The explanation of an id or label in any case; close matches are offered for another one."""
    names = {name.lower(): name for name in (*_label_names(trace), *trace.rows)}
    name = names.get(identifier.strip().lower())
    if name is None:
        close = difflib.get_close_matches(identifier.strip().lower(), names, n=3, cutoff=0.5)
        raise UnknownIdentifierError(identifier, [names[match] for match in close])
    row = trace.rows.get(name)
    if row is None:
        return _label(trace, name)
    if isinstance(row.clause, Erratum):
        carriers = [
            other.clause.identifier for other in trace.rows.values() if name in other.clause.errata
        ]
        return Explanation(row, _rows(trace, (*row.clause.clauses, *carriers)))
    return Explanation(row)


def _label_names(trace: Trace) -> tuple[str, ...]:
    """Every label that the table or a clause names."""
    of_clauses = (label for row in trace.rows.values() for label in row.clause.labels)
    return tuple(dict.fromkeys((*trace.specification.labels, *of_clauses)))


def _label(trace: Trace, name: str) -> Explanation:
    """A label with the clauses that the table gives, then the others that name the label."""
    naming = [row.clause for row in trace.rows.values() if name in row.clause.labels]
    label = trace.specification.labels.get(name)
    if label is None:
        first = naming[0]
        label = PaperLabel(label=name, what="", clauses=(), file=first.file, line=first.line)
    identifiers = (*label.clauses, *(clause.identifier for clause in naming))
    return Explanation(label, _rows(trace, identifiers))


def _rows(trace: Trace, identifiers: Iterable[str]) -> tuple[Row, ...]:
    """The rows of the ids that exist, each once, in order."""
    return tuple(trace.rows[name] for name in dict.fromkeys(identifiers) if name in trace.rows)
