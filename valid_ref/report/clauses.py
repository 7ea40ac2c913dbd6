"""Clauses of the specification for a page."""

from collections.abc import Iterable

from valid_ref.markdown import html_of
from valid_ref.report.view import ClauseView
from valid_ref.trace import Specification


def clause_views(specification: Specification, wanted: Iterable[str]) -> tuple[ClauseView, ...]:
    """The clauses with these ids that exist, each once, by id."""
    found = (specification.clauses.get(identifier) for identifier in sorted(set(wanted)))
    return tuple(
        ClauseView(clause.identifier, str(clause.kind), clause.file, html_of(clause.text))
        for clause in found
        if clause is not None
    )
