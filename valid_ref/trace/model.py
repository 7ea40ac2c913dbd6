"""The things that are tied together: clauses, errata and labels of the spec, markers of sources."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from collections.abc import Mapping


class Kind(StrEnum):
    """What a clause is; it decides what the clause needs."""

    RULE = "rule"
    TERM = "term"
    CLAIM = "claim"
    ERRATUM = "erratum"


class Content(StrEnum):
    """Whether an erratum can be shown by running something."""

    EXECUTABLE = "executable"
    TEXTUAL = "textual"


class Role(StrEnum):
    """How a source is tied to a clause."""

    IMPLEMENTED = "implemented"
    TESTED = "tested"
    EXPLORED = "explored"
    PROVED = "proved"
    PROVED_COQ = "proved_coq"
    WITNESSED = "witnessed"


@attrs.frozen(kw_only=True)
class Clause:
    """One normative paragraph; `text` is without its id, kind and list of labels and errata."""

    identifier: str
    kind: Kind
    text: str
    file: str
    line: int
    labels: tuple[str, ...] = ()
    errata: tuple[str, ...] = ()


@attrs.frozen(kw_only=True)
class Erratum(Clause):
    """One section of the errata; `text` is the section below its title."""

    title: str
    severity: str
    content: Content
    clauses: tuple[str, ...] = ()


@attrs.frozen(kw_only=True)
class PaperLabel:
    """One label of the paper, and the clauses that restate what it labels."""

    label: str
    what: str
    clauses: tuple[str, ...]
    file: str
    line: int


@attrs.frozen
class Specification:
    """All clauses and errata by id, and the paper's labels by label, in reading order."""

    clauses: Mapping[str, Clause]
    labels: Mapping[str, PaperLabel]


@attrs.frozen
class Marker:
    """One id that a source names, and where a reader should look."""

    identifier: str
    role: Role
    file: str
    line: int
    symbol: str
