"""The matrix, the problems and one explanation as values that `json.dumps` takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from valid_ref.trace.explanation import look_up
from valid_ref.trace.matrix import Row, gaps
from valid_ref.trace.model import Erratum, Marker, PaperLabel
from valid_ref.trace.summary import accepted_gaps, summarise

if TYPE_CHECKING:
    from collections.abc import Iterable

    from valid_ref.trace.load import Trace
    from valid_ref.trace.problems import Problem

Json = dict[str, object]


def matrix_as_json(trace: Trace) -> Json:
    """All rows, all labels of the paper, and the totals."""
    return {
        "clauses": [_row(trace, row) for row in trace.rows.values()],
        "labels": [_label(label) for label in trace.specification.labels.values()],
        "summary": attrs.asdict(summarise(trace)),
    }


def problems_as_json(problems: Iterable[Problem]) -> list[Json]:
    """All problems."""
    return [{**attrs.asdict(problem), "kind": problem.kind.value} for problem in problems]


def explain_as_json(trace: Trace, identifier: str) -> Json:
    """A clause, erratum or paper label, and the clauses that restate or repair it."""
    found = look_up(trace, identifier)
    subject = found.subject
    described = _label(subject) if isinstance(subject, PaperLabel) else _row(trace, subject)
    return {"subject": described, "clauses": [_row(trace, row) for row in found.clauses]}


def _label(label: PaperLabel) -> Json:
    """One label of the paper."""
    return {**attrs.asdict(label), "clauses": list(label.clauses)}


def _row(trace: Trace, row: Row) -> Json:
    """One clause or erratum and everything tied to it."""
    clause = row.clause
    described: Json = {
        "identifier": clause.identifier,
        "kind": clause.kind.value,
        "text": clause.text,
        "file": clause.file,
        "line": clause.line,
        "labels": list(clause.labels),
        "errata": list(clause.errata),
    }
    if isinstance(clause, Erratum):
        described |= {
            "title": clause.title,
            "severity": clause.severity,
            "content": clause.content.value,
            "clauses": list(clause.clauses),
        }
    return described | {
        "implemented": [_marker(marker) for marker in row.implemented],
        "tested": [_marker(marker) for marker in row.tested],
        "explored": [_marker(marker) for marker in row.explored],
        "proved": [_marker(marker) for marker in row.proved],
        "witnessed": [_marker(marker) for marker in row.witnessed],
        "gaps": [gap.value for gap in gaps(row)],
        "not_yet": [gap.value for gap in accepted_gaps(trace, clause.identifier)],
    }


def _marker(marker: Marker) -> Json:
    """One tie; the role tells the two forms of proof apart."""
    return {
        "role": marker.role.value,
        "file": marker.file,
        "line": marker.line,
        "symbol": marker.symbol,
    }
