"""The shapes of clause ids (`LV-3`, `V2`, `VS1`), erratum ids (`P04`, `A12`) and paper labels."""

from __future__ import annotations

import re

CLAUSE = r"[A-Z]{2}-\d+|VS\d|[VLS]\d"
ERRATUM = r"[PA]\d{2}"
LABEL = r"[a-z]+:[\w:.+-]+"

_ANY = re.compile(rf"(?<!\w)(?:{CLAUSE}|{ERRATUM})(?!\w)")
_ERRATUM = re.compile(rf"(?<!\w){ERRATUM}(?!\w)")
_WHOLE = re.compile(rf"{CLAUSE}|{ERRATUM}")
_QUOTED_LABEL = re.compile(rf"`({LABEL})`")
_LINK_TARGET = re.compile(r"\]\([^)]*\)")


def is_identifier(text: str) -> bool:
    """Whether the text has the shape of a clause id or an erratum id."""
    return _WHOLE.fullmatch(text) is not None


def is_erratum_identifier(text: str) -> bool:
    """Whether the text has the shape of an erratum id."""
    return re.fullmatch(ERRATUM, text) is not None


def identifiers_in(text: str) -> tuple[str, ...]:
    """The ids in a list of links or bare ids, each once, in order; link targets are not read."""
    return tuple(dict.fromkeys(_ANY.findall(_LINK_TARGET.sub("]", text))))


def errata_in(text: str) -> tuple[str, ...]:
    """The erratum ids in a list of links or bare ids, each once, in order."""
    return tuple(dict.fromkeys(_ERRATUM.findall(_LINK_TARGET.sub("]", text))))


def labels_in(text: str) -> tuple[str, ...]:
    """The paper labels in backticks, each once, in order."""
    return tuple(dict.fromkeys(_QUOTED_LABEL.findall(text)))
