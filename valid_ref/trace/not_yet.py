"""Read `spec/not-yet.txt`, the list of gaps that are known and accepted for now."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

import attrs

from valid_ref.trace.errors import LocatedError, MalformedNotYetError, raise_all
from valid_ref.trace.identifiers import is_identifier
from valid_ref.trace.root import spec_directory

if TYPE_CHECKING:
    from pathlib import Path

NAME = "not-yet.txt"
FILE = f"spec/{NAME}"


class Gap(StrEnum):
    """What a clause lacks."""

    CODE = "code"
    CHECK = "check"
    WITNESS = "witness"


@attrs.frozen
class NotYet:
    """One accepted gap."""

    identifier: str
    gap: Gap
    file: str
    line: int


def read_not_yet(root: Path) -> tuple[NotYet, ...]:
    """The entries of the list in order; a missing file is an empty list."""
    path = spec_directory(root) / NAME
    return parse_not_yet(path.read_text(encoding="utf-8")) if path.is_file() else ()


def parse_not_yet(text: str) -> tuple[NotYet, ...]:
    """The entries of a text whose lines are `LV-3 code`, with comments after a hash."""
    entries: list[NotYet] = []
    errors: list[LocatedError] = []
    for number, line in enumerate(text.split("\n"), start=1):
        words = line.partition("#")[0].split()
        if len(words) == 2 and is_identifier(words[0]) and words[1] in tuple(Gap):
            entries.append(NotYet(words[0], Gap(words[1]), FILE, number))
        elif words:
            message = f"expected an id and one of {', '.join(Gap)}, not {' '.join(words)!r}"
            errors.append(MalformedNotYetError(FILE, number, words[0], message))
    raise_all(errors)
    return tuple(entries)
