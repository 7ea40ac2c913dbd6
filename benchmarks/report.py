"""Sections of the report: tables, claims with their evidence, and how they are written."""

from collections.abc import Sequence
from typing import Any

import attrs


@attrs.frozen
class Claim:
    """Something that must hold of the measurements; `holds=None` where it does not apply here."""

    text: str
    found: str
    holds: bool | None

    @property
    def verdict(self) -> str:
        """yes, NO, or not applicable."""
        return {True: "yes", False: "**NO**", None: "does not apply"}[self.holds]


@attrs.frozen
class Section:
    """One table with its claims and remarks."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]
    claims: tuple[Claim, ...] = ()
    remarks: tuple[str, ...] = ()

    def as_markdown(self) -> str:
        """The section in Markdown."""
        lines = [f"## {self.title}", "", *_table(self.columns, self.rows)]
        if self.claims:
            rows = [(claim.text, claim.found, claim.verdict) for claim in self.claims]
            lines += ["", *_table(("must hold", "found", "holds"), rows)]
        lines += [line for remark in self.remarks for line in ("", remark)]
        return "\n".join(lines)

    def as_json(self) -> dict[str, Any]:
        """The section as a JSON value."""
        return {
            "title": self.title,
            "rows": [dict(zip(self.columns, map(_cell, row), strict=True)) for row in self.rows],
            "claims": [attrs.asdict(claim) for claim in self.claims],
            "remarks": list(self.remarks),
        }


def _table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> list[str]:
    body = ["| " + " | ".join(_cell(cell) for cell in row) + " |" for row in rows]
    return ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns), *body]


def _cell(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
