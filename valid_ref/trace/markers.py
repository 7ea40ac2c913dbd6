"""Marker lines in prose: a keyword, a colon, and ids that may wrap after a comma."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from valid_ref.trace.errors import MalformedMarkerError
from valid_ref.trace.identifiers import is_identifier
from valid_ref.trace.model import Role

if TYPE_CHECKING:
    from collections.abc import Iterator

KEYWORDS = {
    "Implements": Role.IMPLEMENTED,
    "Explores": Role.EXPLORED,
    "Proves": Role.PROVED,
}

_MARKER = re.compile(rf"^\s*({'|'.join(KEYWORDS)}):(.*)$")


def marker_lines(text: str, file: str, first_line: int) -> Iterator[tuple[Role, str, int]]:
    """The role, id and line of every marker in a docstring or comment that starts at a line."""
    lines = text.split("\n")
    for index, line in enumerate(lines):
        found = _MARKER.match(line)
        if found is None:
            continue
        keyword, listed = found.group(1), found.group(2).strip()
        for continuation in lines[index + 1 :]:
            if not listed.endswith(","):
                break
            listed = f"{listed} {continuation.strip()}"
        for identifier in _identifiers(keyword, listed, file, first_line + index):
            yield KEYWORDS[keyword], identifier, first_line + index


def _identifiers(keyword: str, listed: str, file: str, line: int) -> tuple[str, ...]:
    """The ids of one list, each once; anything else in the list is an error."""
    items = [item.strip() for item in listed.removesuffix(".").split(",")]
    for item in items:
        if not is_identifier(item):
            message = f"{keyword}: expects ids separated by commas, not {item!r}"
            raise MalformedMarkerError(file, line, item, message)
    return tuple(dict.fromkeys(items))
