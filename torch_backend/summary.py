"""The form of a summary, as far as tables and figures read it; a file of any other is refused."""

from collections.abc import Mapping
from typing import Any

import attrs

from valid_ref.document import DocumentError, structure


@attrs.frozen
class Part:
    """A rule or an attack; its options may be anything."""

    label: str
    kind: str


@attrs.frozen
class Final:
    """What the last evaluated round says."""

    accuracy: float
    averaged: float
    distance: float


@attrs.frozen
class Statistic:
    """The exact integers of one check."""

    check: str
    optimality: int
    heterogeneity: int


@attrs.frozen
class Count:
    """How many honest agents alarm for one reason."""

    reason: str
    agents: int


@attrs.frozen
class Verdict:
    """How the validation phase ended."""

    valid: int
    alarms: tuple[Count, ...]


@attrs.frozen
class Summary:
    """The end of a job.

    Implements: EX-14.
    """

    job: str
    purpose: str
    rule: Part
    attack: Part
    outcome: str
    rounds: int
    final: Final | None
    statistics: tuple[Statistic, ...]
    validation: Verdict | None


def wrong_form(document: Any) -> str | None:
    """What keeps a document from being a summary; None if nothing does.

    Implements: EX-14.
    """
    try:
        found: Summary = structure(Summary, _known(Summary, document))
    except DocumentError as error:
        return error.message
    if found.outcome == "finished" and found.final is None:
        return "it is finished, and final is missing"
    return None


INSIDE: Mapping[str, type] = {
    "rule": Part,
    "attack": Part,
    "final": Final,
    "statistics": Statistic,
    "validation": Verdict,
    "alarms": Count,
}


def _known(kind: type, document: Any) -> Any:
    """The document without fields that are not read here."""
    if isinstance(document, list):
        return [_known(kind, entry) for entry in document]
    if not isinstance(document, dict):
        return document
    names = [field.name for field in attrs.fields(kind) if field.name in document]
    return {n: _known(INSIDE[n], document[n]) if n in INSIDE else document[n] for n in names}
