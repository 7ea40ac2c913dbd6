"""The comments of Coq sources that say which clauses the statement below them proves."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from valid_ref.trace.errors import MalformedMarkerError, SourceSyntaxError
from valid_ref.trace.markers import marker_lines
from valid_ref.trace.model import Role

if TYPE_CHECKING:
    from collections.abc import Iterator

_TOKEN = re.compile(r'\(\*|\*\)|"')
_STATEMENT = re.compile(
    r"^\s*(?:(?:Local|Global|Program|#\[[^\]]*\])\s+)*"
    r"(Theorem|Lemma|Corollary|Proposition|Fact|Remark|Property|Example|Instance|Axiom|Conjecture)"
    r"\s+([\w']+)",
    re.MULTILINE,
)
_UNPROVED = re.compile(r"\b(?:Admitted|Abort|admit|give_up)\b")


def coq_markers(text: str, file: str) -> Iterator[tuple[str, int, str]]:
    """The id, line and name of the first statement after each comment with a marker."""
    comments, code = _split(text, file)
    for start, comment in comments:
        first_line = _line(text, start)
        for role, identifier, line in marker_lines(comment, file, first_line):
            if role is not Role.PROVED:
                message = "a comment in Coq says Proves:, nothing else"
                raise MalformedMarkerError(file, line, identifier, message)
            yield (identifier, *_statement(code, start, file, identifier, line))


def _statement(code: str, start: int, file: str, identifier: str, line: int) -> tuple[int, str]:
    """The line and name of the first statement after a place; it must have a finished proof."""
    found = _STATEMENT.search(code, start)
    if found is None:
        message = f"no statement follows that could prove {identifier}"
        raise MalformedMarkerError(file, line, identifier, message)
    following = _STATEMENT.search(code, found.end())
    proof = code[found.end() : following.start() if following is not None else len(code)]
    keyword, name = found.groups()
    if keyword in ("Axiom", "Conjecture") or _UNPROVED.search(proof):
        message = f"{name} is said to prove {identifier}, but it has no finished proof"
        raise MalformedMarkerError(file, line, identifier, message)
    return _line(code, found.start(1)), name


def _split(text: str, file: str) -> tuple[list[tuple[int, str]], str]:
    """The outermost comments with their places, and the text with comments and strings blank."""
    comments: list[tuple[int, str]] = []
    code = list(text)
    depth, start, place = 0, 0, 0
    while (token := _TOKEN.search(text, place)) is not None:
        place = token.end()
        if token.group() == '"':
            if depth > 0:
                continue
            place = text.find('"', place) + 1
            if place == 0:
                raise SourceSyntaxError(file, _line(text, token.start()), "", "open string in Coq")
            _blank(code, token.start(), place)
        elif token.group() == "(*":
            start = token.start() if depth == 0 else start
            depth += 1
        elif depth > 0:
            depth -= 1
            if depth == 0:
                comments.append((start, _body(text[start:place])))
                _blank(code, start, place)
    if depth > 0:
        raise SourceSyntaxError(file, _line(text, start), "", "open comment in Coq")
    return comments, "".join(code)


def _body(comment: str) -> str:
    """A comment without its brackets, its lines kept."""
    return comment[2:-2].strip(" *")


def _blank(code: list[str], start: int, end: int) -> None:
    """Replace a stretch by spaces, its line breaks kept."""
    code[start:end] = [" " if letter != "\n" else letter for letter in code[start:end]]


def _line(text: str, place: int) -> int:
    """The line number of a place in a text."""
    return text.count("\n", 0, place) + 1
