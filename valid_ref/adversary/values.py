"""What an edit can put into a message, as documents: plain data of every shape that is sent."""

from typing import ClassVar

import attrs
import numpy as np
import numpy.typing as npt

from valid_ref.protocols.broadcast import Tag
from valid_ref.protocols.learn import LearningMessage

WORD = 2**63
"""Entries of an int64 vector lie in -2^63..2^63-1."""


@attrs.frozen
class Nothing:
    """No value: silence as a message, null as an entry."""

    kind: ClassVar[str] = "nothing"

    def plain(self) -> object:
        """None."""
        return None


@attrs.frozen
class Flag:
    """True or false: what the agreement exchanges."""

    kind: ClassVar[str] = "flag"
    value: bool

    def plain(self) -> object:
        """The bool."""
        return self.value


@attrs.frozen
class Integer:
    """One integer: a key."""

    kind: ClassVar[str] = "integer"
    value: int

    def plain(self) -> object:
        """The int."""
        return self.value


@attrs.frozen
class Real:
    """A floating-point number, which no message may hold."""

    kind: ClassVar[str] = "real"
    value: float

    def plain(self) -> object:
        """The float."""
        return self.value


@attrs.frozen
class Text:
    """A text, which no message may hold."""

    kind: ClassVar[str] = "text"
    value: str

    def plain(self) -> object:
        """The string."""
        return self.value


@attrs.frozen
class Integers:
    """Several integers: a report, an estimate, or the model or gradient of a learning message."""

    kind: ClassVar[str] = "integers"
    value: tuple[int, ...]

    def plain(self) -> object:
        """The tuple."""
        return self.value


@attrs.frozen
class Learning:
    """A learning message: a model and a scaled gradient, in lattice units."""

    kind: ClassVar[str] = "learning"
    model: tuple[int, ...]
    scaled_gradient: tuple[int, ...]

    def plain(self) -> object:
        """The learning message; entries beyond 64 bits make it a malformed one."""
        return LearningMessage(vector(self.model), vector(self.scaled_gradient))


EntryValue = Nothing | Flag | Integer | Real | Text | Integers
"""What a broadcast entry may be set to."""


@attrs.frozen
class Entry:
    """One entry of a broadcast message; the slot is a neighbour, or null for the key."""

    source: int
    slot: int | None
    value: EntryValue

    @property
    def tag(self) -> Tag:
        """(source, slot) as broadcasts have it."""
        return self.source, "key" if self.slot is None else self.slot


@attrs.frozen
class Entries:
    """A broadcast message; of two entries with one tag the later counts."""

    kind: ClassVar[str] = "entries"
    entries: tuple[Entry, ...] = ()

    def plain(self) -> object:
        """The mapping."""
        return {entry.tag: entry.value.plain() for entry in self.entries}


Value = Nothing | Flag | Integer | Real | Text | Integers | Learning | Entries
"""What a message, or a field of one, may be set to."""


def vector(entries: tuple[int, ...]) -> npt.NDArray[np.int64]:
    """An int64 vector; of Python integers, which no agent accepts, where they need more bits."""
    fits = all(-WORD <= entry < WORD for entry in entries)
    kind = np.int64 if fits else object
    return np.array(entries, dtype=kind)
