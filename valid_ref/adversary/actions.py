"""What an edit does to a message, and the values it can put there; an action never raises."""

import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import Any, ClassVar

import attrs
import numpy as np
import numpy.typing as npt

from valid_ref.machine import Message
from valid_ref.protocols.broadcast import Tag
from valid_ref.protocols.flood import SUM, TOTAL
from valid_ref.protocols.lean import FIXED, OPENING, REPORTED
from valid_ref.protocols.learn import LearningMessage
from valid_ref.wide import WideIntegers
from valid_ref.words import Listed

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
    """One entry of a broadcast message, or of a flood.

    The slot is a neighbour, null for the key, or one of the names of lean validation.
    """

    source: int
    slot: int | str | None
    value: EntryValue

    @property
    def tag(self) -> Tag:
        """(source, slot) as broadcasts have it."""
        return self.source, "key" if self.slot is None else self.slot


@attrs.frozen
class Entries:
    """A broadcast message; one in which a public tag stands twice is no mapping (VB-9)."""

    kind: ClassVar[str] = "entries"
    entries: tuple[Entry, ...] = ()

    def plain(self) -> object:
        """The mapping; the list, if a tag stands in it twice."""
        pairs = [(entry.tag, entry.value.plain()) for entry in self.entries]
        found = dict(pairs)
        return found if len(found) == len(pairs) else Listed(tuple({t: v} for t, v in pairs))


Value = Nothing | Flag | Integer | Real | Text | Integers | Learning | Entries
"""What a message, or a field of one, may be set to."""


def vector(entries: tuple[int, ...]) -> npt.NDArray[np.int64]:
    """An int64 vector; of Python integers, which no agent accepts, where they need more bits."""
    fits = all(-WORD <= entry < WORD for entry in entries)
    kind = np.int64 if fits else object
    return np.array(entries, dtype=kind)


GARBAGE = "garbage"
"""What is sent when an edit does not fit the message: a text, which no phase accepts."""

NUMBER = re.compile("[0-9]{1,20}")
"""An agent in a field; one of more digits names no tag."""

NAMED_SLOTS = ("key", FIXED, OPENING, REPORTED, SUM, TOTAL)
"""The slots that are no neighbours."""

WHOLE = ""
"""The field that is the whole message."""


@attrs.frozen
class Scene:
    """What an action works on: this round's messages of one sender, and what it sent before."""

    receiver: int
    said: Mapping[int, Message]
    sent: Mapping[int, Message]

    @property
    def message(self) -> Message:
        """The message on the edited edge, as far as it has been edited."""
        return self.said[self.receiver]


@attrs.frozen
class Drop:
    """Send nothing."""

    kind: ClassVar[str] = "drop"

    def apply(self, _scene: Scene) -> Message:
        """Silence."""
        return None


@attrs.frozen
class Replay:
    """Send what went over this edge in an earlier round of the phase; before that, no change."""

    kind: ClassVar[str] = "replay"
    round: int

    def apply(self, scene: Scene) -> Message:
        """The earlier message."""
        return scene.sent.get(self.round, scene.message)


@attrs.frozen
class Add:
    """Add integers to the message, or to one field of it.

    Fields are "model" and "scaled_gradient" of a learning message, "2/0" for the entry of source
    2 and slot 0 of a broadcast, "2/key" for a key, and in lean validation "2/fixed", "2/opening",
    "2/report", "2/sum" and "2/total". Without a field the vector is added to model
    and then scaled gradient of a learning message, and to every entry of a broadcast. A vector
    that is too short is continued by zeros, one that is too long does not fit.
    """

    kind: ClassVar[str] = "add"
    vector: tuple[int, ...]
    field: str = WHOLE

    def apply(self, scene: Scene) -> Message:
        """The sum."""

        def add(numbers: tuple[int, ...]) -> tuple[int, ...] | None:
            if len(self.vector) > len(numbers):
                return None
            padded = self.vector + (0,) * (len(numbers) - len(self.vector))
            return tuple(one + other for one, other in zip(numbers, padded, strict=True))

        return _changed(scene.message, self.field, add)


@attrs.frozen
class Scale:
    """Multiply the numbers of the message, or of one field of it, rounding to even; see Add."""

    kind: ClassVar[str] = "scale"
    c: float
    field: str = WHOLE

    def apply(self, scene: Scene) -> Message:
        """The product."""
        factor = Fraction(self.c)
        return _changed(
            scene.message, self.field, lambda numbers: tuple(round(factor * n) for n in numbers)
        )


@attrs.frozen
class Set:
    """Send this value instead."""

    kind: ClassVar[str] = "set"
    value: Value

    def apply(self, _scene: Scene) -> Message:
        """The value."""
        return self.value.plain()


@attrs.frozen
class Swap:
    """Send what was meant for another receiver, as far as that has been edited."""

    kind: ClassVar[str] = "swap"
    receiver: int

    def apply(self, scene: Scene) -> Message:
        """The other message."""
        return scene.said[self.receiver]


@attrs.frozen
class Forge:
    """Replace one field of the message; fields are named as in Add.

    In a broadcast a field that is no tag becomes an entry all the same, one of an unknown tag.
    """

    kind: ClassVar[str] = "forge"
    field: str
    value: Value

    def apply(self, scene: Scene) -> Message:
        """The message with the field replaced."""
        message, value = scene.message, self.value.plain()
        if message is None:
            return None
        if isinstance(message, LearningMessage) and self.field in {"model", "scaled_gradient"}:
            part: Any = vector(self.value.value) if isinstance(self.value, Integers) else value
            return attrs.evolve(message, **{self.field: part})
        if isinstance(message, dict | MappingProxyType):
            return {**message, _tag(self.field) or self.field: value}
        return GARBAGE


Action = Drop | Replay | Add | Set | Scale | Swap | Forge
"""Any edit of AD-9; told apart by its kind."""

Change = Callable[[tuple[int, ...]], tuple[int, ...] | None]


def _changed(message: Message, field: str, change: Change) -> Message:
    """The message with its numbers changed; garbage where it has none, or the change fails."""
    if message is None:
        return None
    if isinstance(message, LearningMessage):
        return _changed_learning(message, field, change)
    if type(message) is int and field == WHOLE:
        found = _changed_entry(message, change)
        return GARBAGE if found is None else found
    if isinstance(message, dict | MappingProxyType):
        tags = list(message) if field == WHOLE else [_tag(field)]
        entries = {tag: _changed_entry(message.get(tag), change) for tag in tags}
        return {**message, **entries} if None not in entries.values() else GARBAGE
    return GARBAGE


def _changed_learning(message: LearningMessage, field: str, change: Change) -> Message:
    names = {WHOLE: ("model", "scaled_gradient")}.get(field, (field,))
    parts = [getattr(message, name, None) for name in names]
    vectors = [part for part in parts if isinstance(part, np.ndarray) and part.ndim == 1]
    numbers = tuple(int(entry) for part in vectors for entry in part.tolist())
    found = change(numbers) if len(vectors) == len(names) else None
    if found is None:
        return GARBAGE
    changed, begin = {}, 0
    for name, part in zip(names, vectors, strict=True):
        changed[name] = vector(found[begin : begin + len(part)])
        begin += len(part)
    return attrs.evolve(message, **changed)


def _changed_entry(value: object, change: Change) -> object:
    """The changed value; None if it has no numbers to change."""
    if type(value) is int:
        found = change((value,))
        return None if found is None else found[0]
    if type(value) is WideIntegers:
        return change(tuple(value))
    if type(value) is tuple and all(type(entry) is int for entry in value):
        return change(value)
    return None


def _tag(field: str) -> Tag | None:
    """The tag that a field names; None if it names none."""
    source, slash, slot = field.partition("/")
    digits = [source] if slot in NAMED_SLOTS else [source, slot]
    if not slash or not all(NUMBER.fullmatch(piece) for piece in digits):
        return None
    return int(source), slot if slot in NAMED_SLOTS else int(slot)
