"""Find references in the specification that lead nowhere, or to the wrong place."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING

from valid_ref.trace.errors import MisdirectedLinkError, UnknownReferenceError
from valid_ref.trace.identifiers import is_identifier
from valid_ref.trace.markdown import Page, without_code

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from valid_ref.trace.model import Specification

_ANCHOR = re.compile(r'<a id="([^"]+)"></a>')
_LINK = re.compile(r"\[([^\[\]]+)\]\(([^()\s]+)\)")
_MENTION = re.compile(r"(?<!\w)([A-Z]{2}-\d+|VS\d|[PA]\d{2})(?!\w)")
_QUOTED = re.compile(r"\[`([^`\[\]]+)`\]")


def reference_faults(
    pages: Iterable[Page], specification: Specification
) -> tuple[UnknownReferenceError | MisdirectedLinkError, ...]:
    """One error for each reference to an unknown id and each link past the home of a clause.

    A bare id counts when its series (`LV-`, `P`) exists; `V2`, `L2` and `S2` only as a link.
    """
    pages = tuple(pages)
    anchors = {
        (page.file, anchor) for page in pages for line in page.visible for anchor in _anchors(line)
    }
    series = {_series(identifier) for identifier in specification.clauses}
    return tuple(
        fault
        for page in pages
        for number, line in page.numbered()
        for fault in (
            *_link_faults(page.file, number, line, specification, anchors),
            *_mention_faults(page.file, number, line, specification, series),
        )
    )


def _anchors(line: str) -> list[str]:
    """The anchors that a line sets."""
    return _ANCHOR.findall(without_code(line))


def _series(identifier: str) -> str:
    """The letters of an id, with the hyphen if it has one."""
    return identifier.rstrip("0123456789")


def _link_faults(
    file: str,
    number: int,
    line: str,
    specification: Specification,
    anchors: set[tuple[str, str]],
) -> Iterator[UnknownReferenceError | MisdirectedLinkError]:
    """The faults of the links in a line."""
    for text, target in _LINK.findall(_prose(line)):
        path, _, anchor = target.partition("#")
        named = text.strip("* ")
        identifier = named if is_identifier(named) else anchor.upper()
        if "://" in target or not is_identifier(identifier):
            continue
        clause = specification.clauses.get(identifier)
        if clause is None:
            yield _unknown(file, number, identifier)
            continue
        reached = posixpath.normpath(posixpath.join(posixpath.dirname(file), path))
        home = (clause.file, identifier.lower())
        if (reached if path else file, anchor) != home:
            message = f"the link to {identifier} leads to {target}, its home is {'#'.join(home)}"
            yield MisdirectedLinkError(file, number, identifier, message)
        elif home not in anchors:
            message = (
                f"the link to {identifier} needs the anchor {'#'.join(home)}, which is not set"
            )
            yield MisdirectedLinkError(file, number, identifier, message)


def _mention_faults(
    file: str, number: int, line: str, specification: Specification, series: set[str]
) -> Iterator[UnknownReferenceError]:
    """The faults of the bare ids in a line."""
    for identifier in _MENTION.findall(_LINK.sub(_unlinked, _prose(line))):
        if identifier not in specification.clauses and _series(identifier) in series:
            yield _unknown(file, number, identifier)


def _unknown(file: str, number: int, identifier: str) -> UnknownReferenceError:
    """The error that an id is referred to but not defined."""
    message = f"{identifier} is referred to, but no clause or erratum is called so"
    return UnknownReferenceError(file, number, identifier, message)


def _prose(line: str) -> str:
    """The line with blank code spans, except where an id in backticks is the text of a link."""
    return without_code(_QUOTED.sub(r"[\1]", line))


def _unlinked(link: re.Match[str]) -> str:
    """The text of a link that may mention ids; nothing where the whole text is one."""
    text = link.group(1)
    return "" if is_identifier(text.strip("* ")) else text
