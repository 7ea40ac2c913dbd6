"""Messages and alarms as a recording has them, and back.

A message that is not of the form that its phase demands is only kept as such: every receiver
treats all of them alike.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Protocol

import attrs
import numpy as np

from valid_ref.alarms import Raised
from valid_ref.machine import Message
from valid_ref.oracle.errors import RecordingError
from valid_ref.oracle.log import (
    KEY,
    AlarmLine,
    AlarmState,
    BroadcastEntries,
    InArrays,
    LearningRow,
    Other,
    Spoken,
)
from valid_ref.protocols.agreement import PHASE as AGREEMENT
from valid_ref.protocols.broadcast import Tag, ValidatedBroadcast
from valid_ref.protocols.global_validate import SomeEstimate
from valid_ref.protocols.learn import PHASE as LEARNING
from valid_ref.protocols.learn import LearningMessage
from valid_ref.protocols.parameters import ValidParameters
from valid_ref.protocols.valid import ESTIMATES, KEYS, Valid

TEXT_LENGTH = 80

Value = tuple[int, ...]


class Store(Protocol):
    """The growing arrays as they are written."""

    def known(self, table: str, value: object) -> int | None:
        """The row of this very object, if it was put before."""

    def put(self, table: str, value: Value | LearningMessage) -> int:
        """Put a value into a growing array; in which row it stands."""


class Rows(Protocol):
    """The rows of the growing arrays, checked, and keys."""

    def key(self, key: int) -> int:
        """One object for equal keys."""

    def value(self, table: str, row: int) -> SomeEstimate:
        """A row of `reports` or `estimates`."""

    def pair(self, row: int) -> LearningMessage:
        """A row of `deviations`."""


@attrs.frozen
class Malformed:
    """What stands for a message or a value of no admitted form when a recording is read."""

    text: str = ""


@attrs.frozen
class Codec:
    """Translates messages for one set of parameters."""

    parameters: ValidParameters
    broadcasts: Mapping[str, ValidatedBroadcast] = attrs.field(init=False, eq=False, repr=False)

    @broadcasts.default
    def _broadcasts(self) -> Mapping[str, ValidatedBroadcast]:
        machines = [stage.machine for stage in Valid(self.parameters).stages]
        return {m.phase: m for m in machines if isinstance(m, ValidatedBroadcast)}

    def table(self, phase: str) -> str:
        """The growing array that holds the values of a broadcast."""
        return "estimates" if phase == ESTIMATES else "reports"

    def encode(self, phase: str, message: Message, store: Store) -> Spoken:
        """A message on a single edge as the log has it.

        Implements: RE-4.
        """
        if message is None:
            return None
        if phase == LEARNING and self.is_learning(message):
            return LearningRow(store.put("deviations", message))  # type: ignore[arg-type]
        if phase == AGREEMENT and isinstance(message, bool):
            return AlarmState(message)
        plain = type(message) in {dict, MappingProxyType} and isinstance(message, Mapping)
        if phase in self.broadcasts and plain:
            return self._entries(phase, message, store)  # type: ignore[arg-type]
        return Other(_text(message))

    def is_learning(self, message: Message) -> bool:
        """Whether a message is a pair of int64 vectors of length d, in range or not."""
        shape = (self.parameters.lattice.dimension,)
        return isinstance(message, LearningMessage) and all(
            isinstance(vector, np.ndarray) and vector.dtype == np.int64 and vector.shape == shape
            for vector in (message.model, message.scaled_gradient)
        )

    def _entries(self, phase: str, message: Mapping[Tag, object], store: Store) -> BroadcastEntries:
        machine = self.broadcasts[phase]
        known = {
            machine.order[tag]: value for tag, value in message.items() if tag in machine.order
        }
        table = self.table(phase)
        keys, rows, nulls, malformed = [], [], [], []
        for position in sorted(known):
            (source, slot), value = machine.tags[position], known[position]
            tag = (source, KEY if isinstance(slot, str) else slot)
            row = store.known(table, value)
            if row is not None:
                rows.append((*tag, row))
            elif value is None:
                nulls.append(tag)
            elif not machine.well_formed((source, slot), value):
                malformed.append(tag)
            elif isinstance(value, int):
                keys.append((source, value))
            elif isinstance(value, tuple):
                rows.append((*tag, store.put(table, value)))
        return BroadcastEntries(
            tuple(keys), tuple(rows), tuple(nulls), tuple(malformed), len(known) < len(message)
        )

    def decode(self, phase: str, spoken: Spoken, rows: Rows, place: str) -> Message:
        """The message that a log line stands for; `InArrays` is decoded by the reader.

        Implements: RE-4, RE-7.
        """
        if spoken is None:
            return None
        if isinstance(spoken, Other):
            return Malformed(spoken.text)
        if isinstance(spoken, LearningRow) and phase == LEARNING:
            return rows.pair(spoken.row)
        if isinstance(spoken, AlarmState) and phase == AGREEMENT:
            return spoken.value
        if isinstance(spoken, BroadcastEntries) and phase in self.broadcasts:
            return self._mapping(phase, spoken, rows, place)
        raise RecordingError(f"{place}: {type(spoken).kind!r} in phase {phase}", clause="RE-4")

    def _mapping(
        self, phase: str, spoken: BroadcastEntries, rows: Rows, place: str
    ) -> Mapping[object, object]:
        machine = self.broadcasts[phase]
        if spoken.keys if phase != KEYS else spoken.rows:
            raise RecordingError(f"{place}: values of another phase than {phase}", clause="RE-4")
        table = self.table(phase)
        values: list[tuple[int, int, object]] = [
            *((source, KEY, rows.key(key)) for source, key in spoken.keys),
            *((source, slot, rows.value(table, row)) for source, slot, row in spoken.rows),
            *((source, slot, None) for source, slot in spoken.nulls),
            *((source, slot, Malformed()) for source, slot in spoken.malformed),
        ]
        message: dict[object, object] = {}
        for source, slot, value in values:
            tag: Tag = (source, "key" if slot == KEY else slot)
            if tag not in machine.order or tag in message:
                raise RecordingError(
                    f"{place}: tag ({source}, {slot}) does not exist or stands twice", clause="RE-4"
                )
            if type(value) is int and not machine.well_formed(tag, value):
                raise RecordingError(f"{place}: the key of {source} is out of range", clause="RE-4")
            message[tag] = value
        return message | ({"unknown": None} if spoken.unknown_tags else {})


def alarm_line(raised: Raised) -> AlarmLine:
    """An alarm as the log has it.

    Implements: RE-5.
    """
    return AlarmLine(
        raised.alarm.name, raised.phase, raised.round, raised.sender, about_text(raised.about)
    )


def about_text(about: object) -> str | None:
    """An agent as "2", a tag or a pair as "2/0" or "2/key", a weighting by its name."""
    if isinstance(about, tuple):
        return "/".join(map(str, about))
    return None if about is None else str(about)


def _text(message: Message) -> str:
    if isinstance(message, LearningMessage):
        return "learning message of another form"
    if isinstance(message, bool | int | float | str | tuple | list):
        try:
            return repr(message)[:TEXT_LENGTH].encode("ascii", "replace").decode()
        except ValueError:  # an integer with too many digits
            pass
    return type(message).__name__[:TEXT_LENGTH]


__all__ = ["Codec", "InArrays", "Malformed", "about_text", "alarm_line"]
