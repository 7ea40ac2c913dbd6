"""Clauses of the specification as HTML for a page: code and emphasis, no links, no raw HTML."""

import re
from collections.abc import Iterable

from markdown_it import MarkdownIt

from valid_ref.report.view import ClauseView
from valid_ref.trace.model import Specification

_LINK = re.compile(r"\[([^\]]*)\]\([^)\s]*\)")
_MATHS = re.compile(r"\$`([^`]*)`\$")
_PART = re.compile(r"\*\*(Printed|Wrong because|Evidence|Repair)\.\*\*")


def html_of(markdown: str) -> str:
    """A text of the specification as HTML; links become their text."""
    plain = _MATHS.sub(r"`\1`", _LINK.sub(r"\1", markdown))
    rendered: str = MarkdownIt("commonmark", {"html": False}).enable("table").render(plain)
    return rendered.strip()


def clause_views(specification: Specification, wanted: Iterable[str]) -> tuple[ClauseView, ...]:
    """The clauses with these ids that exist, each once, by id."""
    found = (specification.clauses.get(identifier) for identifier in sorted(set(wanted)))
    return tuple(
        ClauseView(clause.identifier, str(clause.kind), clause.file, html_of(clause.text))
        for clause in found
        if clause is not None
    )


def erratum_parts(text: str) -> dict[str, str]:
    """The parts of an erratum by heading: "Printed", "Wrong because", "Evidence", "Repair"."""
    parts: dict[str, str] = {}
    for paragraph in text.split("\n\n"):
        found = _PART.match(paragraph.strip())
        if found is not None:
            parts[found.group(1)] = paragraph.strip()[found.end() :].strip()
    return parts
