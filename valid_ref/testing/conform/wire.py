"""Messages, numbers and parameters as they go over the pipe, and back.

What a Byzantine agent says is written so that it stays what it is: nothing malformed becomes
well-formed on the way.
"""

import math
import re
import sys
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from valid_ref.document import unstructure
from valid_ref.machine import Message
from valid_ref.oracle.divergence import shown
from valid_ref.oracle.header import header_of
from valid_ref.oracle.log import KEY, AlarmLine
from valid_ref.oracle.messages import Malformed
from valid_ref.protocols.learn import LearningMessage
from valid_ref.protocols.parameters import ValidParameters
from valid_ref.testing.conform.peer import AgentFault, Kind

PROTOCOL = "valid-ref/conformance/1"

EXACT = 2**53
"""From here on an integer need not survive a JSON library that has only floats."""

LARGEST_REAL = sys.float_info.max
"""The largest float64."""

UNKNOWN = -1
"""Source and slot of a tag that is no pair of agents."""

NOT_SENT = ("format", "producer", "without", "byzantine", "losses", "checksums", "flood_held")
"""Fields of the header of a recording that an agent is not told."""

_DIGITS = re.compile(r"-?(0|[1-9][0-9]{0,3999})")


def parameters_as_json(parameters: ValidParameters) -> dict[str, Any]:
    """The public parameters, as in the header of a recording.

    Implements: CF-4.
    """
    document: dict[str, Any] = unstructure(header_of(parameters, "", None))
    return {name: value for name, value in document.items() if name not in NOT_SENT}


def with_strings(value: Any) -> Any:
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


def message_as_json(message: Message) -> Any:
    """A message of anybody: learning, flag, entries, or other.

    Implements: CF-7.
    """
    if isinstance(message, LearningMessage):
        parts = _vector(message.model), _vector(message.scaled_gradient)
        return {"kind": "learning", "model": parts[0], "scaled_gradient": parts[1]}
    if isinstance(message, bool):
        return {"kind": "flag", "value": message}
    if type(message) in {dict, MappingProxyType} and isinstance(message, Mapping):
        entries = [[*_tag(tag), _value(value)] for tag, value in message.items()]
        return {"kind": "entries", "entries": entries}
    return {"kind": "other", "text": _text(message)}


def _vector(vector: object) -> Any:
    """A vector of integers, of any length and size; anything else is named only."""
    if not isinstance(vector, np.ndarray) or vector.ndim != 1:
        return {"other": _text(vector)}
    if vector.dtype == np.int64:
        return vector.tolist()
    too_large = vector.dtype == object and all(type(entry) is int for entry in vector)
    fits = too_large and all(-(2**63) <= entry < 2**63 for entry in vector)
    return {"other": _text(vector)} if fits or not too_large else vector.tolist()


def _tag(tag: object) -> tuple[int, int]:
    if isinstance(tag, tuple) and len(tag) == 2 and type(tag[0]) is int:
        source, slot = tag
        if slot == "key":
            return source, KEY
        if type(slot) is int and slot >= 0:
            return source, slot
    return UNKNOWN, UNKNOWN


def _value(value: object) -> Any:
    if value is None or isinstance(value, bool) or type(value) is int:
        return value
    if type(value) is tuple:
        plain = {*map(type, value)} <= {int}
        return list(value) if plain else [_value(entry) for entry in value]
    return {"other": _text(value)}


def _text(value: object) -> str:
    return shown(value).encode("ascii", "replace").decode()


def integer(value: Any, place: str, clause: str) -> int:
    """An exact integer: a JSON number without fraction and exponent, or a decimal string.

    Implements: CF-3.
    """
    if type(value) is int:
        return value
    if isinstance(value, str) and _DIGITS.fullmatch(value):
        return int(value)
    raise wrong_form(clause, place, "an integer", value)


def integers(value: Any, place: str, clause: str) -> tuple[int, ...]:
    """A list of integers."""
    return tuple(integer(entry, place, clause) for entry in listed(value, place, clause))


def reals(value: Any, place: str, clause: str) -> tuple[float, ...]:
    """A list of finite numbers."""
    found = []
    for entry in listed(value, place, clause):
        if type(entry) not in {int, float} or abs(entry) > LARGEST_REAL:
            raise wrong_form(clause, place, "a number", entry)
        found.append(float(entry))
    return tuple(found)


def listed(value: Any, place: str, clause: str) -> list[Any]:
    """A list."""
    if not isinstance(value, list):
        raise wrong_form(clause, place, "a list", value)
    return value


def wrong_form(clause: str, place: str, expected: str, found: object) -> AgentFault:
    """A reply that is JSON but not of the form demanded."""
    return AgentFault(Kind.WRONG_FORM, clause, place, expected, _text(found), value=found)


def message_from_json(value: Any, dimension: int) -> Message:
    """What an agent under test says.

    Implements: CF-7.
    """
    if value is None:
        return None
    readers: dict[str, Callable[[], Message]] = {
        "learning": lambda: _learning(value, dimension),
        "flag": lambda: _flag(value),
        "entries": lambda: _entries(value),
    }
    kind = value.get("kind") if isinstance(value, dict) else None
    if not isinstance(kind, str) or kind not in readers:
        raise wrong_form("CF-7", "message", "null, or kind learning, flag or entries", value)
    return readers[kind]()


def fields(value: dict[str, Any], names: tuple[str, ...], place: str, clause: str) -> list[Any]:
    """The fields of an object that has exactly these."""
    if set(value) != set(names):
        raise wrong_form(clause, place, f"the fields {', '.join(names)}", ", ".join(value))
    return [value[name] for name in names]


def _learning(value: dict[str, Any], dimension: int) -> Message:
    _kind, model, gamma = fields(value, ("kind", "model", "scaled_gradient"), "message", "CF-7")
    vectors = [integers(part, "message", "CF-7") for part in (model, gamma)]
    if any(len(vector) != dimension for vector in vectors):
        return Malformed(f"vectors of {len(vectors[0])} and {len(vectors[1])} entries")
    if any(not -(2**63) <= entry < 2**63 for vector in vectors for entry in vector):
        return Malformed("entries beyond 64 bits")
    return LearningMessage(*(np.array(vector, dtype=np.int64) for vector in vectors))


def _flag(value: dict[str, Any]) -> Message:
    _kind, flag = fields(value, ("kind", "value"), "message", "CF-7")
    if not isinstance(flag, bool):
        raise wrong_form("CF-7", "message", "true or false", flag)
    return flag


def _entries(value: dict[str, Any]) -> Message:
    _kind, entries = fields(value, ("kind", "entries"), "message", "CF-7")
    found: dict[tuple[int, int | str], object] = {}
    for entry in listed(entries, "message", "CF-7"):
        if not isinstance(entry, list) or len(entry) != 3:
            raise wrong_form("CF-7", "message", "entries [source, slot, value]", entry)
        source, slot = (integer(part, "message", "CF-7") for part in entry[:2])
        tag = (source, "key" if slot == KEY else slot)
        if tag in found:
            raise wrong_form("CF-7", "message", "each tag once", entry)
        several = isinstance(entry[2], list)
        try:
            found[tag] = (integers if several else integer)(entry[2], "message", "CF-7")
        except AgentFault as fault:
            fault.source = source
            raise
    return found


def alarms_from_json(value: Any) -> tuple[AlarmLine, ...]:
    """The alarms of an agent under test.

    Implements: CF-9.
    """
    return tuple(_alarm(item) for item in listed(value, "alarms", "CF-9"))


def _alarm(value: Any) -> AlarmLine:
    if not isinstance(value, dict):
        raise wrong_form("CF-9", "alarm", "an object", value)
    names = ("reason", "phase", "round", "sender", "about")
    reason, phase, number, sender, about = fields(value, names, "alarm", "CF-9")
    if not isinstance(reason, str) or not isinstance(phase, str):
        raise wrong_form("CF-9", "alarm", "texts as reason and phase", value)
    if about is not None and not isinstance(about, str):
        raise wrong_form("CF-9", "alarm", "a text or null as about", about)
    neighbour = None if sender is None else integer(sender, "alarm", "CF-9")
    return AlarmLine(reason, phase, integer(number, "alarm", "CF-9"), neighbour, about)
