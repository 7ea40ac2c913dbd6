"""The last lines of every erratum: where its witness is, and what checks its repair.

The text is generated from the markers and kept in `spec/errata.md`, so that a reader of the file
sees it; a test compares the two.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from valid_ref.trace.model import Content, Erratum, Kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from valid_ref.trace.load import Trace
    from valid_ref.trace.matrix import Row
    from valid_ref.trace.model import Marker

SHOWN = 3
"""How many places are named; `valid-ref trace P04` prints all."""

_HEADING = re.compile(r"^### ([PA]\d\d) ")
_PLACES = re.compile(r"^\*Witness:\* .*$")
_CHECK = re.compile(r"^\*Check:\* .*$")


def errata_with_places(text: str, trace: Trace) -> str:
    """The text of spec/errata.md with the places of witnesses and checks as the markers say."""
    lines: list[str] = []
    current: str | None = None
    for line in text.splitlines():
        heading = _HEADING.match(line)
        current = heading.group(1) if heading else current
        if _PLACES.match(line) and current is not None:
            lines += _places(trace.rows, current)
        elif not _CHECK.match(line):
            lines.append(line)
    return "\n".join(lines) + "\n"


def _places(rows: Mapping[str, Row], identifier: str) -> list[str]:
    row = rows[identifier]
    erratum = row.clause
    if not isinstance(erratum, Erratum):
        return []
    witness = _named(row.witnessed)
    if erratum.content is Content.TEXTUAL and not row.witnessed:
        witness = "none needed; the text speaks for itself."
    carriers = [rows[name] for name in erratum.clauses]
    checks = [marker for one in (row, *carriers) for marker in (*one.tested, *one.explored)]
    checks += [marker for one in (row, *carriers) for marker in one.proved]
    check = _named(checks)
    if not checks and all(one.clause.kind is Kind.TERM for one in carriers):
        check = "the repair is a definition."
    return [f"*Witness:* {witness}", f"*Check:* {check}"]


def _named(markers: Iterable[Marker]) -> str:
    """The first few places as file::symbol."""
    names = list(dict.fromkeys(f"`{marker.file}::{marker.symbol}`" for marker in markers))
    if not names:
        return "not yet."
    more = f", and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more + "."
