"""Read the sections of `spec/errata.md`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from valid_ref.trace.errors import LocatedError, MalformedErratumError
from valid_ref.trace.identifiers import ERRATUM, identifiers_in, labels_in
from valid_ref.trace.model import Content, Erratum, Kind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from valid_ref.trace.markdown import Page

_HEADING = re.compile(r"^#{1,3} ")
_LOOKS_LIKE_TITLE = re.compile(rf"^#{{1,6}}\s+({ERRATUM})(?!\w)")
_TITLE = re.compile(rf"^### ({ERRATUM}) [—–:-] (\S.*)$")
_ANCHOR = re.compile(r'^<a id="[^"]*"></a>$')
_FIELD = re.compile(
    r"\*(Severity|Content|Clauses|Paper):\*(.*?)(?=\*(?:Severity|Content|Clauses|Paper):\*|\n\s*\n|\Z)",
    re.DOTALL,
)


def errata_of(page: Page) -> Iterator[Erratum | LocatedError]:
    """The errata of a page in order, with an error for each section that is not a legal one."""
    for number, line in page.numbered():
        found = _LOOKS_LIKE_TITLE.match(line)
        if found is None:
            continue
        title = _TITLE.match(line)
        if title is None:
            message = (
                f"the title of {found.group(1)} is not written as ### {found.group(1)} — title"
            )
            yield MalformedErratumError(page.file, number, found.group(1), message)
        else:
            yield _erratum(page, number, title.group(1), title.group(2).strip())


def _erratum(page: Page, number: int, identifier: str, title: str) -> Erratum | LocatedError:
    """The erratum whose title is at a line."""
    text = _section(page, number)
    fields: dict[str, str] = {}
    for name, value in _FIELD.findall(text):
        fields.setdefault(name, " ".join(value.split()))
    severity = fields.get("Severity", "").removesuffix(".")
    content = re.split(r"\W", fields.get("Content", ""), maxsplit=1)[0]
    if not severity or content not in tuple(Content):
        message = f"{identifier} needs *Severity:* and *Content:* executable or textual"
        return MalformedErratumError(page.file, number, identifier, message)
    return Erratum(
        identifier=identifier,
        kind=Kind.ERRATUM,
        text=text,
        file=page.file,
        line=number,
        labels=labels_in(fields.get("Paper", "")),
        title=title,
        severity=severity,
        content=Content(content),
        clauses=identifiers_in(fields.get("Clauses", "")),
    )


def _section(page: Page, number: int) -> str:
    """The text from a title to the next, without the anchor that belongs to the next."""
    end = number
    while end < len(page.visible) and not _HEADING.match(page.visible[end]):
        end += 1
    lines = list(page.raw[number:end])
    while lines and (not lines[-1].strip() or _ANCHOR.match(lines[-1].strip())):
        lines.pop()
    return "\n".join(lines).strip()
