"""Read the clauses of the specification, and with them its errata and its table of labels."""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING

from valid_ref.trace.errata import errata_of
from valid_ref.trace.errors import (
    DuplicateIdentifierError,
    LocatedError,
    MalformedClauseError,
    raise_all,
)
from valid_ref.trace.identifiers import CLAUSE, errata_in, labels_in
from valid_ref.trace.labels import labels_of
from valid_ref.trace.markdown import Page, read_pages, without_code
from valid_ref.trace.model import Clause, Kind, PaperLabel, Specification

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

_START = re.compile(
    rf'^(?:<a id="([a-z0-9-]+)"></a>)?\*\*({CLAUSE})\*\* \*(rule|term|claim)\.\*(?:\s+|$)(.*)$'
)
_LOOKS_LIKE_START = re.compile(rf'^\s{{0,3}}(?:<a id="[^"]*"></a>)?\s*\*\*({CLAUSE})\*\*')
_START_ELSEWHERE = re.compile(r"^(?! {4}).*?\*\*([^*\s]+)\*\* \*(?:rule|term|claim)\b")
_SOURCES = re.compile(r"\s*\*\(((?:Paper|Repairs):.*?)\)\*")
_PAPER = re.compile(r"Paper:(.*?)(?=Repairs:|$)")
_REPAIRS = re.compile(r"Repairs:(.*?)(?=Paper:|$)")


def read_specification(root: Path) -> Specification:
    """Read `spec/` below the project root; every malformed or duplicate item is an error."""
    return specification_of(read_pages(root))


def specification_of(pages: Iterable[Page]) -> Specification:
    """The specification that the pages make up."""
    clauses: dict[str, Clause] = {}
    labels: dict[str, PaperLabel] = {}
    errors: list[LocatedError] = []
    for item in (item for page in pages for item in _items(page)):
        if isinstance(item, LocatedError):
            errors.append(item)
        elif isinstance(item, Clause):
            errors.extend(_duplicate(item.identifier, item, clauses.get(item.identifier)))
            clauses.setdefault(item.identifier, item)
        else:
            errors.extend(_duplicate(item.label, item, labels.get(item.label)))
            labels.setdefault(item.label, item)
    raise_all(errors)
    return Specification(MappingProxyType(clauses), MappingProxyType(labels))


def clauses_of(page: Page) -> Iterator[Clause | LocatedError]:
    """The clauses of a page in order, with an error for each line that only looks like one."""
    for number, line in page.numbered():
        start = _START.match(line)
        if start is not None:
            yield _clause(page, number, start)
        else:
            yield from _malformed(page, number, line)


def _items(page: Page) -> Iterator[Clause | PaperLabel | LocatedError]:
    """Everything a page defines."""
    yield from clauses_of(page)
    name = page.file.removeprefix("spec/")
    if name == "errata.md":
        yield from errata_of(page)
    if name == "README.md":
        yield from labels_of(page)


def _duplicate(
    identifier: str, item: Clause | PaperLabel, first: Clause | PaperLabel | None
) -> Iterator[LocatedError]:
    """The error that an item is defined a second time, if it is."""
    if first is not None:
        message = f"{identifier} is already defined at {first.file}:{first.line}"
        yield DuplicateIdentifierError(item.file, item.line, identifier, message)


def _malformed(page: Page, number: int, line: str) -> Iterator[LocatedError]:
    """The error that a line looks like the start of a clause but is not one, if it does."""
    shown = without_code(line)
    found = _LOOKS_LIKE_START.match(shown) or _START_ELSEWHERE.match(shown)
    if found is not None:
        message = (
            f"{found.group(1)} does not start a clause: expected the line to begin with "
            '<a id="xx-1"></a>**XX-1** and then *rule.*, *term.* or *claim.*'
        )
        yield MalformedClauseError(page.file, number, found.group(1), message)


def _clause(page: Page, number: int, start: re.Match[str]) -> Clause | LocatedError:
    """The clause that starts at a line and ends with its paragraph."""
    anchor, identifier, kind, first = start.groups()
    if anchor is not None and anchor != identifier.lower():
        message = f"the anchor of {identifier} is {anchor!r}, not {identifier.lower()!r}"
        return MalformedClauseError(page.file, number, identifier, message)
    paragraph = " ".join([first.strip(), *_continuation(page, number)]).strip()
    sources = " ".join(_SOURCES.findall(paragraph))
    text = _SOURCES.sub("", paragraph)
    if "Repairs:" in text or "Paper:" in text:
        message = f"the sources of {identifier} are not written as *(Paper: ... Repairs: ...)*"
        return MalformedClauseError(page.file, number, identifier, message)
    return Clause(
        identifier=identifier,
        kind=Kind(kind),
        text=text,
        file=page.file,
        line=number,
        labels=labels_in(" ".join(_PAPER.findall(sources))),
        errata=errata_in(" ".join(_REPAIRS.findall(sources))),
    )


def _continuation(page: Page, number: int) -> Iterator[str]:
    """The lines of a paragraph after its first line."""
    for line in page.visible[number:]:
        if not line.strip() or _START.match(line):
            return
        yield line.strip()
