"""The codec: messages, alarms and parameters as JSON data, and back.

Three documents hold them: recordings (RE-4), test vectors (VE-7) and the pipe to an agent (CF-7).
They have the same kinds of messages, the same alarms and the same names of parameters, and differ
in two choices only: where vectors and values stand (in rows of arrays, or in place), and how
integers are written (as numbers, or as strings).
"""

import json
import math
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import chain
from types import MappingProxyType
from typing import Any, ClassVar, Protocol, TypeGuard

import attrs
import numpy as np

from valid_ref.alarms import Alarm, Raised
from valid_ref.document import Json, structure, unstructure
from valid_ref.errors import ValidRefError
from valid_ref.graph import AgentGraph
from valid_ref.hashing import PrimeField
from valid_ref.lattice import IntVector, LatticeParameters
from valid_ref.machine import Message
from valid_ref.protocols import lean
from valid_ref.protocols.agreement import PHASE as AGREEMENT
from valid_ref.protocols.broadcast import Tag, ValidatedBroadcast
from valid_ref.protocols.flood import SUM, TOTAL, Flood
from valid_ref.protocols.learn import PHASE as LEARNING
from valid_ref.protocols.learn import LearningMessage
from valid_ref.protocols.parameters import (
    Bounds,
    CheckedKeys,
    LeanParameters,
    ValidParameters,
    Weighting,
)
from valid_ref.protocols.valid import ESTIMATES, KEYS, Valid
from valid_ref.reading import Reading
from valid_ref.schedule import Precision, Schedule
from valid_ref.wide import WideIntegers
from valid_ref.words import TEXT_LENGTH, Again, Listed, Malformed

KEY = -1
"""In a tag (source, slot), the slot of the source's key."""
SLOTS: Mapping[str, int] = {
    "key": KEY,
    lean.FIXED: -2,
    lean.OPENING: -3,
    lean.REPORTED: -4,
    SUM: -5,
    TOTAL: -6,
}
"""The numbers of the slots that have names."""
NAMES_OF_SLOTS = {number: name for name, number in SLOTS.items()}
UNKNOWN = -1
"""Source and slot of a tag that is no pair of agents."""
EXACT = 2**53
"""From here on an integer need not survive a JSON library that has only floats."""

_DIGITS = re.compile(r"-?(0|[1-9][0-9]{0,3999})")


class WireError(ValidRefError):
    """Data that stand for no message of this phase."""

    default_clause: ClassVar[str] = "RE-4"


class FormError(ValidRefError):
    """A value of another form than its place demands.

    `source` is the agent whose value it is said to be, where there is one.
    """

    def __init__(self, clause: str, place: str, expected: str, value: object) -> None:
        self.found = ascii_text(value)
        super().__init__(f"{place}: expected {expected}, found {self.found}", clause=clause)
        self.place, self.expected, self.value = place, expected, value
        self.source: int | None = None


# Integers and reals.


def decimal(value: int) -> str:
    """An integer of any size, in decimal digits.

    Implements: VE-3.
    """
    return str(int(value))


def with_strings(value: Json) -> Json:
    """The same data with integers that a float cannot hold as decimal strings.

    Implements: CF-3.
    """
    if type(value) is int:
        return value if -EXACT < value < EXACT else str(value)
    if isinstance(value, list):
        return [with_strings(item) for item in value]
    if isinstance(value, dict):
        return {key: with_strings(item) for key, item in value.items()}
    return value


def real_as_json(value: float) -> float | str:
    """A number of a gradient; what is not finite is a string.

    Implements: CF-3.
    """
    return value if math.isfinite(value) else str(value)


def integer(value: Json, place: str, clause: str) -> int:
    """An exact integer: a JSON number without fraction and exponent, or a decimal string.

    Implements: CF-3.
    """
    if type(value) is int:
        return value
    if isinstance(value, str) and _DIGITS.fullmatch(value):
        return int(value)
    raise FormError(clause, place, "an integer", value)


def integers(value: Json, place: str, clause: str) -> tuple[int, ...]:
    """A list of integers."""
    return tuple(integer(entry, place, clause) for entry in listed(value, place, clause))


def reals(value: Json, place: str, clause: str) -> tuple[float, ...]:
    """A list of finite numbers."""
    found = []
    for entry in listed(value, place, clause):
        if type(entry) not in {int, float} or abs(entry) > sys.float_info.max:
            raise FormError(clause, place, "a number", entry)
        found.append(float(entry))
    return tuple(found)


def listed(value: Json, place: str, clause: str) -> list[Json]:
    """A list."""
    if not isinstance(value, list):
        raise FormError(clause, place, "a list", value)
    return value


def fields(value: dict[str, Json], names: tuple[str, ...], place: str, clause: str) -> list[Json]:
    """The fields of an object that has exactly these."""
    if set(value) != set(names):
        raise FormError(clause, place, f"the fields {', '.join(names)}", ", ".join(value))
    return [value[name] for name in names]


# Alarms.


@attrs.frozen
class AlarmLine:
    """One alarm: reason, phase, round, sender, and what it is about as text.

    Implements: RE-5, CF-9.
    """

    reason: str
    phase: str
    round: int
    sender: int | None = None
    about: str | None = None


def alarm_line(raised: Raised) -> AlarmLine:
    """An alarm in the form that all documents have.

    Implements: RE-5.
    """
    return AlarmLine(
        reason=raised.alarm.name,
        phase=raised.phase,
        round=raised.round,
        sender=raised.sender,
        about=about_text(raised.about),
    )


def alarm_as_json(raised: Raised) -> dict[str, Json]:
    """The same with its clause beside the reason, for readers who do not look it up."""
    reason, *rest = unstructure(alarm_line(raised)).items()
    return dict([reason, ("clause", raised.alarm.clause), *rest])


def alarms_as_json(raised: Iterable[Raised]) -> list[Json]:
    """Alarms in the order in which they were raised."""
    return [alarm_as_json(one) for one in raised]


def alarms_from_json(value: Json) -> tuple[AlarmLine, ...]:
    """The alarms of an agent.

    Implements: CF-9.
    """
    return tuple(_alarm_from_json(item) for item in listed(value, "alarms", "CF-9"))


def _alarm_from_json(value: Json) -> AlarmLine:
    if not isinstance(value, dict):
        raise FormError("CF-9", "alarm", "an object", value)
    names = tuple(field.name for field in attrs.fields(AlarmLine))
    reason, phase, number, sender, about = fields(value, names, "alarm", "CF-9")
    if not isinstance(reason, str) or not isinstance(phase, str):
        raise FormError("CF-9", "alarm", "texts as reason and phase", value)
    if about is not None and not isinstance(about, str):
        raise FormError("CF-9", "alarm", "a text or null as about", about)
    return AlarmLine(
        reason=reason,
        phase=phase,
        round=integer(number, "alarm", "CF-9"),
        sender=None if sender is None else integer(sender, "alarm", "CF-9"),
        about=about,
    )


def learning_alarm(line: AlarmLine) -> Raised:
    """The alarm of a learning round that a line stands for; what it is about is an agent."""
    about = None if line.about is None else integer(line.about, "alarm", "MO-7")
    if line.reason not in Alarm.__members__:
        raise FormError("MO-7", "alarm", "a reason of the table", line.reason)
    return Raised(Alarm[line.reason], line.phase, line.round, line.sender, about)


def about_text(about: object) -> str | None:
    """An agent as "2", a tag or a pair as "2/0" or "2/key", a weighting by its name."""
    if isinstance(about, tuple):
        return "/".join(map(str, about))
    return None if about is None else str(about)


# Messages: the kinds that all documents have.


def is_mapping(message: Message) -> bool:
    """Whether a message is a mapping as agents send it; other classes may do anything."""
    return type(message) in {dict, MappingProxyType}


def is_learning(message: Message, dimension: int) -> TypeGuard[LearningMessage]:
    """Whether a message is a pair of int64 vectors of length d, in range or not."""
    return isinstance(message, LearningMessage) and all(
        _is_vector(vector) and len(vector) == dimension
        for vector in (message.model, message.scaled_gradient)
    )


def _is_vector(value: object) -> bool:
    """Whether a value is a vector of integers of 64 bits, of any length."""
    return isinstance(value, np.ndarray) and value.dtype == np.int64 and value.ndim == 1


def identity(message: object) -> bytes:
    """Bytes that are equal exactly for equal messages, of any form."""
    if isinstance(message, LearningMessage):
        return b"learning" + identity(message.model) + b"|" + identity(message.scaled_gradient)
    if isinstance(message, np.ndarray):
        entries = repr(message.tolist()).encode() if message.dtype.hasobject else message.tobytes()
        return f"{message.dtype}{message.shape}".encode() + entries
    if isinstance(message, Mapping):
        items = sorted(repr(tag).encode() + b":" + identity(v) for tag, v in message.items())
        return b"mapping" + b";".join(items)
    return safe_repr(message).encode("utf-8", "replace")


def safe_repr(value: object) -> str:
    """What `repr` says; the name of the class where it fails."""
    try:
        return repr(value)
    except Exception:
        return type(value).__name__


# Messages in a log: values stand in rows of arrays or tables (recordings and vectors).


@attrs.frozen
class InArrays:
    """A learning message that stands in `models.npy` and `gradients.npy`."""

    kind: ClassVar[str] = "array"


@attrs.frozen
class LearningRow:
    """A learning message on a single edge: a row of `deviations.npy`."""

    kind: ClassVar[str] = "learning"
    row: int


@attrs.frozen
class AlarmState:
    """What the agreement exchanges."""

    kind: ClassVar[str] = "flag"
    value: bool


@attrs.frozen
class Digest:
    """What neighbours compare in lean validation."""

    kind: ClassVar[str] = "digest"
    value: int


@attrs.frozen
class BroadcastEntries:
    """A message of a broadcast or of a flood.

    `keys` has (source, key), `rows` (source, slot, row of reports.npy or estimates.npy), `nulls`
    and `malformed` the tags (source, slot) whose value is null or of no admitted form;
    `unknown_tags` says whether there were entries with tags that do not exist.
    """

    kind: ClassVar[str] = "entries"
    keys: tuple[tuple[int, int], ...] = ()
    rows: tuple[tuple[int, int, int], ...] = ()
    nulls: tuple[tuple[int, int], ...] = ()
    malformed: tuple[tuple[int, int], ...] = ()
    unknown_tags: bool = False


@attrs.frozen
class Other:
    """Anything else: no phase accepts it. The text is for people."""

    kind: ClassVar[str] = "other"
    text: str = ""


Spoken = InArrays | LearningRow | AlarmState | Digest | BroadcastEntries | Other | None


Tagged = ValidatedBroadcast | Flood
"""A machine whose messages are mappings of tags."""

TableValue = tuple[int, ...] | WideIntegers
"""A report, or an estimate; in lean validation a flooded value, or a sum."""

TABLES: Mapping[str, str] = {
    "reports": "reports",
    "estimates": "estimates",
    lean.FIXED: "reports",
    lean.OPENING: "reports",
    lean.REPORTED: "reports",
    SUM: "estimates",
}
"""The table that values of a form stand in: one has rows of few integers, the other vectors."""


class RowWriter(Protocol):
    """The tables of values as they are written."""

    def known(self, form: str, value: object) -> int | None:
        """The row of this very object, if it was put before as a value of this form."""

    def put(self, form: str, value: TableValue | LearningMessage) -> int:
        """Put a value into the table of its form; in which row it stands."""


class RowSource(Protocol):
    """The tables of values as they are read, and keys; all checked."""

    def key(self, key: int) -> int:
        """One object for equal keys."""

    def value(self, form: str, row: int) -> TableValue:
        """The value of this form in a row of its table."""

    def pair(self, row: int) -> LearningMessage:
        """A row of `deviations`."""


@attrs.frozen
class Codec:
    """Encodes and decodes the messages of a log, for one set of parameters.

    A message that is not of the form that its phase demands is only kept as such: every receiver
    treats all of them alike.
    """

    parameters: ValidParameters
    broadcasts: Mapping[str, Tagged] = attrs.field(init=False, eq=False, repr=False)

    @broadcasts.default
    def _broadcasts(self) -> Mapping[str, Tagged]:
        machines = [stage.machine for stage in Valid(self.parameters).stages]
        return {m.phase: m for m in machines if isinstance(m, Tagged)}

    def form(self, phase: str, tag: Tag) -> str:
        """The form of the values of a tag."""
        if self.parameters.lean is not None:
            return SUM if tag[1] == TOTAL else str(tag[1])
        return "estimates" if phase == ESTIMATES else "reports"

    def encode(self, phase: str, message: Message, rows: RowWriter) -> Spoken:
        """A message on a single edge as the log has it.

        Implements: RE-4.
        """
        if message is None:
            return None
        if phase == LEARNING and is_learning(message, self.parameters.lattice.dimension):
            return LearningRow(rows.put("deviations", message))
        if phase == AGREEMENT and isinstance(message, bool):
            return AlarmState(message)
        if phase == lean.COMPARE and lean.is_digest(message):
            return Digest(message)
        if phase in self.broadcasts and is_mapping(message):
            return self._entries(phase, message, rows)  # type: ignore[arg-type]
        return Other(_kept_text(message))

    def encode_in_digits(self, phase: str, message: Message, rows: RowWriter) -> Json:
        """A message as test vectors have it: as in a log, but for three things.

        Learning vectors stand in place, of a wrong length too; a list of entries keeps them all;
        and integers are decimal digits.

        Implements: VE-7.
        """
        if (
            phase == LEARNING
            and isinstance(message, LearningMessage)
            and all(map(_is_vector, (message.model, message.scaled_gradient)))
        ):
            return {"kind": LearningRow.kind} | pair_in_digits(message)
        if phase in self.broadcasts and isinstance(message, Listed):
            parts = [self._entries(phase, part, rows) for part in message.parts]
            spoken: Spoken = _joined(parts)
        else:
            spoken = self.encode(phase, message, rows)
        document = unstructure(spoken)
        if isinstance(spoken, BroadcastEntries):
            document["keys"] = [[source, decimal(key)] for source, key in spoken.keys]
        if isinstance(spoken, Digest):
            document["value"] = decimal(spoken.value)
        return document

    def _entries(
        self, phase: str, message: Mapping[Tag, object], writer: RowWriter
    ) -> BroadcastEntries:
        machine = self.broadcasts[phase]
        known = {
            machine.order[tag]: value for tag, value in message.items() if tag in machine.order
        }
        keys, rows, nulls, malformed = [], [], [], []
        for position in sorted(known):
            (source, slot), value = machine.tags[position], known[position]
            tag = (source, SLOTS[slot] if isinstance(slot, str) else slot)
            form = self.form(phase, (source, slot))
            # Whether a vector is a sum depends on the tag.
            row = None if form == SUM else writer.known(form, value)
            if row is not None:
                rows.append((*tag, row))
            elif value is None:
                nulls.append(tag)
            elif not machine.well_formed((source, slot), value):
                malformed.append(tag)
            elif isinstance(value, int):
                keys.append((source, value))
            elif isinstance(value, tuple | WideIntegers):
                rows.append((*tag, writer.put(form, value)))
        return BroadcastEntries(
            keys=tuple(keys),
            rows=tuple(rows),
            nulls=tuple(nulls),
            malformed=tuple(malformed),
            unknown_tags=len(known) < len(message),
        )

    def decode(self, phase: str, spoken: Spoken, rows: RowSource) -> Message:
        """The message that an entry of the log stands for; `InArrays` is decoded by the reader.

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
        if isinstance(spoken, Digest) and phase == lean.COMPARE:
            if not lean.is_digest(spoken.value):
                raise WireError("a digest is not below 2^256")
            return spoken.value
        if isinstance(spoken, BroadcastEntries) and phase in self.broadcasts:
            return self._mapping(phase, spoken, rows)
        raise WireError(f"{type(spoken).kind!r} in phase {phase}")

    def _mapping(
        self, phase: str, spoken: BroadcastEntries, rows: RowSource
    ) -> Mapping[object, object]:
        machine = self.broadcasts[phase]
        if spoken.keys if phase != KEYS else spoken.rows:
            raise WireError(f"values of another phase than {phase}")
        places = [
            *((source, KEY) for source, _key in spoken.keys),
            *((source, slot) for source, slot, _row in spoken.rows),
            *spoken.nulls,
            *spoken.malformed,
        ]
        tags: list[Tag] = [(source, NAMES_OF_SLOTS.get(slot, slot)) for source, slot in places]
        for tag, place in zip(tags, places, strict=True):
            if tag not in machine.order:
                raise WireError(f"tag {place} does not exist")
        pairs = zip(tags[len(spoken.keys) :], spoken.rows, strict=False)
        values: list[object] = [
            *(rows.key(key) for _source, key in spoken.keys),
            *(rows.value(self.form(phase, tag), row[2]) for tag, row in pairs),
            *(None for _tag in spoken.nulls),
            *(Malformed() for _tag in spoken.malformed),
        ]
        message: dict[object, object] = dict(zip(tags, values, strict=True))
        if len(message) < len(tags):
            raise WireError("a tag stands twice")
        for tag, value in zip(tags, values, strict=True):
            # The reader of rows has looked at all others, whose form depends on no tag.
            unread = type(value) is int or (tag[1] in {SUM, TOTAL} and isinstance(value, Sequence))
            if unread and not machine.well_formed(tag, value):
                raise WireError(f"the value of {tag[0]}/{tag[1]} is out of range")
        return message | ({"unknown": None} if spoken.unknown_tags else {})


def _joined(parts: Iterable[BroadcastEntries]) -> BroadcastEntries:
    """All entries of several messages."""
    several = [unstructure(part) for part in parts]
    lists = ("keys", "rows", "nulls", "malformed")
    return BroadcastEntries(
        **{name: tuple(chain.from_iterable(part[name] for part in several)) for name in lists},
        unknown_tags=any(part["unknown_tags"] for part in several),
    )


def _kept_text(message: Message) -> str:
    if isinstance(message, Malformed):
        return message.text[:TEXT_LENGTH]
    if isinstance(message, LearningMessage):
        return "learning message of another form"
    if isinstance(message, bool | int | float | str | tuple | list):
        try:
            return repr(message)[:TEXT_LENGTH].encode("ascii", "replace").decode()
        except ValueError:  # an integer with too many digits
            pass
    return type(message).__name__[:TEXT_LENGTH]


def pair_in_digits(message: LearningMessage) -> dict[str, Json]:
    """The two vectors of a learning message.

    Implements: VE-7.
    """
    return {
        "model": [decimal(entry) for entry in message.model.tolist()],
        "scaled_gradient": [decimal(entry) for entry in message.scaled_gradient.tolist()],
    }


# Messages in place: what a Byzantine agent says stays what it is; nothing malformed becomes
# well-formed on the way (the pipe to an agent).


def message_as_json(message: Message, *, digests: bool = False) -> Json:
    """A message of anybody, with all its values in place.

    An integer is a digest to agents that know these.

    Implements: CF-7.
    """
    if isinstance(message, LearningMessage):
        parts = _vector(message.model), _vector(message.scaled_gradient)
        return {"kind": LearningRow.kind, "model": parts[0], "scaled_gradient": parts[1]}
    if isinstance(message, bool):
        return {"kind": AlarmState.kind, "value": message}
    if isinstance(message, Listed) or (is_mapping(message) and isinstance(message, Mapping)):
        mappings = message.parts if isinstance(message, Listed) else (message,)
        items = [item for mapping in mappings for item in mapping.items()]
        entries = [[*_tag(tag), _value(value)] for tag, value in items]
        return {"kind": BroadcastEntries.kind, "entries": entries}
    if digests and type(message) is int:
        return {"kind": Digest.kind, "value": message}
    return {"kind": Other.kind, "text": ascii_text(message)}


def _vector(vector: object) -> Json:
    """A vector of integers, of any length and size; anything else is named only."""
    if isinstance(vector, np.ndarray) and _is_vector(vector):
        return vector.tolist()
    entries = vector.tolist() if isinstance(vector, np.ndarray) else vector
    if not isinstance(entries, tuple | list) or any(type(entry) is not int for entry in entries):
        return {"other": ascii_text(vector)}
    fits = all(-(2**63) <= entry < 2**63 for entry in entries)
    return {"other": ascii_text(vector)} if fits else [*entries]


def _tag(tag: object) -> tuple[int, int]:
    if isinstance(tag, Again):
        return _tag(tag.tag)
    if isinstance(tag, tuple) and len(tag) == 2 and type(tag[0]) is int:
        source, slot = tag
        if type(slot) is str and slot in SLOTS:
            return source, SLOTS[slot]
        if type(slot) is int and slot >= 0:
            return source, slot
    return UNKNOWN, UNKNOWN


def _value(value: object) -> Json:
    if value is None or isinstance(value, bool) or type(value) is int:
        return value
    if type(value) is tuple or isinstance(value, WideIntegers):
        plain = {*map(type, value)} <= {int}
        return list(value) if plain else [_value(entry) for entry in value]
    return {"other": ascii_text(value)}


def message_from_json(value: Json, dimension: int) -> Message:
    """What an agent says.

    Implements: CF-7.
    """
    if value is None:
        return None
    readers: dict[str, Callable[[], Message]] = {
        LearningRow.kind: lambda: _learning_from_json(value, dimension),
        AlarmState.kind: lambda: _flag_from_json(value),
        BroadcastEntries.kind: lambda: _entries_from_json(value),
        Digest.kind: lambda: _digest_from_json(value),
    }
    kind = value.get("kind") if isinstance(value, dict) else None
    if not isinstance(kind, str) or kind not in readers:
        expected = "null, or kind learning, flag, entries or digest"
        raise FormError("CF-7", "message", expected, value)
    return readers[kind]()


def _learning_from_json(value: dict[str, Json], dimension: int) -> Message:
    _kind, model, gamma = fields(value, ("kind", "model", "scaled_gradient"), "message", "CF-7")
    vectors = [integers(part, "message", "CF-7") for part in (model, gamma)]
    if any(len(vector) != dimension for vector in vectors):
        return Malformed(f"vectors of {len(vectors[0])} and {len(vectors[1])} entries")
    if any(not -(2**63) <= entry < 2**63 for vector in vectors for entry in vector):
        return Malformed("entries beyond 64 bits")
    return LearningMessage(*(np.array(vector, dtype=np.int64) for vector in vectors))


def _flag_from_json(value: dict[str, Any]) -> Message:
    _kind, flag = fields(value, ("kind", "value"), "message", "CF-7")
    if not isinstance(flag, bool):
        raise FormError("CF-7", "message", "true or false", flag)
    return flag


def _digest_from_json(value: dict[str, Any]) -> Message:
    _kind, digest = fields(value, ("kind", "value"), "message", "CF-7")
    return integer(digest, "message", "CF-7")


def addressed_from_json(value: Json, dimension: int) -> dict[int, Message]:
    """What an agent says to single neighbours instead.

    Implements: CF-6.
    """
    found: dict[int, Message] = {}
    for item in listed(value, "addressed", "CF-6"):
        if not isinstance(item, dict):
            raise FormError("CF-6", "addressed", "objects of receiver and message", item)
        receiver, message = fields(item, ("receiver", "message"), "addressed", "CF-6")
        to = integer(receiver, "addressed", "CF-6")
        if to in found:
            raise FormError("CF-6", "addressed", "each receiver once", to)
        found[to] = message_from_json(message, dimension)
    return found


def _entries_from_json(value: dict[str, Any]) -> Message:
    _kind, entries = fields(value, ("kind", "entries"), "message", "CF-7")
    found: dict[tuple[int, int | str], object] = {}
    for entry in listed(entries, "message", "CF-7"):
        if not isinstance(entry, list) or len(entry) != 3:
            raise FormError("CF-7", "message", "entries [source, slot, value]", entry)
        source, slot = (integer(part, "message", "CF-7") for part in entry[:2])
        tag = (source, NAMES_OF_SLOTS.get(slot, slot))
        if tag in found:
            raise FormError("CF-7", "message", "each tag once", entry)
        several = isinstance(entry[2], list)
        try:
            found[tag] = (integers if several else integer)(entry[2], "message", "CF-7")
        except FormError as error:
            error.source = source
            raise
    return found


# Parameters.


@attrs.frozen
class BoundsLine:
    """The squares of B_t and C_t, in lattice units, for t = 1..T."""

    kind: ClassVar[str] = "bounds"
    model_squared: tuple[int, ...]
    gradient_squared: tuple[int, ...]


@attrs.frozen
class WeightingLine:
    """The weights w_1..w_T, the W = total[0]/total[1] they are divided by, the thresholds."""

    name: str
    weights: tuple[int, ...]
    total: tuple[int, int]
    optimality: int
    heterogeneity: int
    optimality_low: int
    heterogeneity_low: int
    origin: str = "configured"


@attrs.frozen
class PublicParameters:
    """The public parameters under the names that all documents have.

    Implements: VA-9.
    """

    agents: int
    edges: tuple[tuple[int, int], ...]
    dimension: int
    fraction_bits: int
    step_bits: int
    mixing: tuple[int, ...]
    gradient: tuple[int, ...]
    max_degree: int
    prime: int
    model_limit: int
    gradient_limit: int
    start_model: tuple[int, ...]
    bounds: BoundsLine | None
    weightings: tuple[WeightingLine, ...]
    keys_checked: CheckedKeys
    without: tuple[str, ...]
    lean: LeanParameters | None = None


def public_parameters(parameters: ValidParameters) -> PublicParameters:
    """The parameters of a run as documents name them.

    Implements: VA-9.
    """
    lattice, bounds = parameters.lattice, parameters.bounds
    return PublicParameters(
        agents=parameters.graph.agents,
        edges=parameters.graph.edges,
        dimension=lattice.dimension,
        fraction_bits=lattice.precision.fraction_bits,
        step_bits=lattice.precision.step_bits,
        mixing=lattice.schedule.mixing,
        gradient=lattice.schedule.gradient,
        max_degree=lattice.max_degree,
        prime=parameters.field.prime,
        model_limit=lattice.model_limit,
        gradient_limit=lattice.gradient_limit,
        start_model=tuple(parameters.start_model.tolist()),
        bounds=None
        if bounds is None
        else BoundsLine(
            model_squared=bounds.model_squared, gradient_squared=bounds.gradient_squared
        ),
        weightings=tuple(
            WeightingLine(
                name=weighting.name,
                weights=weighting.weights,
                total=weighting.total.as_integer_ratio(),
                optimality=weighting.optimality,
                heterogeneity=weighting.heterogeneity,
                optimality_low=weighting.optimality_low,
                heterogeneity_low=weighting.heterogeneity_low,
                origin=weighting.origin,
            )
            for weighting in parameters.weightings
        ),
        keys_checked=parameters.checked_keys,
        without=parameters.reading.turned_off,
        lean=parameters.lean,
    )


def valid_parameters(public: PublicParameters, start_model: IntVector) -> ValidParameters:
    """The parameters of a run from a document, with x_0; what does not fit together is refused.

    Implements: VA-9.
    """
    reading = Reading.without(*public.without)
    precision = Precision(public.fraction_bits, public.step_bits)
    bounds = public.bounds
    return ValidParameters(
        graph=AgentGraph.from_edges(public.agents, public.edges),
        lattice=LatticeParameters(
            public.dimension,
            Schedule(precision, public.mixing, public.gradient),
            public.max_degree,
            public.prime,
            model_limit=public.model_limit,
            gradient_limit=public.gradient_limit,
            enforce_field_range=reading.P20,
        ),
        start_model=start_model,
        field=PrimeField(public.prime),
        bounds=None if bounds is None else Bounds(bounds.model_squared, bounds.gradient_squared),
        weightings=tuple(
            Weighting(
                name=line.name,
                weights=line.weights,
                total=Fraction(*line.total),
                optimality=line.optimality,
                heterogeneity=line.heterogeneity,
                origin=line.origin,
                optimality_low=line.optimality_low,
                heterogeneity_low=line.heterogeneity_low,
            )
            for line in public.weightings
        ),
        checked_keys=public.keys_checked,
        reading=reading,
        lean=public.lean,
    )


COUNTS = ("agents", "edges", "dimension", "fraction_bits", "step_bits", "max_degree", "lean")
"""Parameters whose numbers are JSON numbers in every document; others may be of any size."""
RECORDED_ONLY = ("kind", "total", "origin")
"""Fields of bounds and weightings on which no message and no alarm depends."""


def parameters_for_agent(parameters: ValidParameters) -> dict[str, Json]:
    """What an agent is told; the errata that are turned off are not.

    Implements: CF-4.
    """
    document = _named(parameters)
    del document["without"]
    if parameters.lean is not None:
        del document["lean"]["without"]
    return document


def _named(parameters: ValidParameters) -> dict[str, Json]:
    """The parameters by name; those of lean validation where there is one.

    Implements: VA-9, LE-1.
    """
    document: dict[str, Json] = unstructure(public_parameters(parameters))
    if parameters.lean is None:
        del document["lean"]
    return document


def parameters_in_digits(parameters: ValidParameters) -> dict[str, Json]:
    """The parameters as test vectors have them: integers of the protocol are decimal strings.

    Implements: VA-9, VE-3.
    """
    document = _named(parameters)
    return {name: v if name in COUNTS else _in_digits(v) for name, v in document.items()}


def parameters_from_digits(document: Mapping[str, Json]) -> ValidParameters:
    """The parameters that such a document names; a weighting is divided by the sum of its weights.

    Implements: VA-9, VE-3.
    """
    names = {name: v if name in COUNTS else _from_digits(v) for name, v in document.items()}
    if names["bounds"] is not None:
        names["bounds"]["kind"] = BoundsLine.kind
    for line in names["weightings"]:
        line["total"] = [sum(line["weights"]), 1]
    public: PublicParameters = structure(PublicParameters, names)
    return valid_parameters(public, np.array(public.start_model, dtype=np.int64))


def _from_digits(value: Json) -> Json:
    if isinstance(value, str) and _DIGITS.fullmatch(value):
        return int(value)
    if isinstance(value, list):
        return [_from_digits(item) for item in value]
    if isinstance(value, dict):
        return {name: _from_digits(item) for name, item in value.items()}
    return value


def _in_digits(value: Json) -> Json:
    if type(value) is int:
        return decimal(value)
    if isinstance(value, list):
        return [_in_digits(item) for item in value]
    if isinstance(value, dict):
        return {k: _in_digits(item) for k, item in value.items() if k not in RECORDED_ONLY}
    return value


# Text for people.


def shown(value: object) -> str:  # noqa: PLR0911 - one return per kind of value
    """A value in at most a hundred characters."""
    if value is None:
        return "nothing"
    if isinstance(value, LearningMessage):
        first = value.model[:4].tolist()
        return f"model {first}{'...' if value.model.size > 4 else ''}"
    if isinstance(value, Malformed):
        return f"something malformed: {value.text}"[:100]
    if isinstance(value, AlarmLine):
        text = f"{value.reason} in {value.phase} round {value.round}"
        text += "" if value.sender is None else f" from {value.sender}"
        return (text + ("" if value.about is None else f" about {value.about}"))[:160]
    if isinstance(value, Mapping):
        return f"{len(value)} entries"
    try:
        text = json.dumps(value, default=str) if isinstance(value, bool) else str(value)
    except ValueError:  # Python refuses to write integers of more than some thousand digits
        return "an integer of very many digits"
    return text if len(text) <= 100 else text[:97] + "..."


def ascii_text(value: object) -> str:
    """The same in ASCII."""
    return shown(value).encode("ascii", "replace").decode()
