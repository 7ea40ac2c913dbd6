"""Messages for people: a word for an edge and a sentence, one table entry per distinct message."""

import hashlib
from collections.abc import Mapping

import numpy as np

from valid_ref.machine import Message
from valid_ref.protocols.agreement import PHASE as AGREEMENT
from valid_ref.protocols.learn import LearningMessage
from valid_ref.report.view import MessageView
from valid_ref.schedule import Precision
from valid_ref.wire import about_text

ENTRIES = 3
"""How many entries of a vector are shown."""
TAGS = 8
"""How many entries of a broadcast message are named."""
LONGEST = 200
ALARMED, UNALARMED = MessageView("alarm", "I have an alarm"), MessageView("ok", "all is well")


class Table:
    """Collects messages while a view is built; equal messages get the same index."""

    def __init__(self, precision: Precision | None) -> None:
        self.precision = precision
        self.views: list[MessageView] = []
        self.places: dict[bytes, int] = {}
        self.known: dict[tuple[str, int], tuple[object, int]] = {}

    def index(self, phase: str, message: Message) -> int:
        """The place of a message in the table; a message object is looked at once."""
        seen = self.known.get((phase, id(message)))
        if seen is not None and seen[0] is message:
            return seen[1]
        view = describe(phase, message, self.precision)
        key = hashlib.sha256(view.word.encode() + b"\0" + identity(message)).digest()
        place = self.places.setdefault(key, len(self.views))
        if place == len(self.views):
            self.views.append(view)
        self.known[phase, id(message)] = (message, place)
        return place


def identity(message: Message) -> bytes:
    """Bytes that are equal exactly for equal messages."""
    if isinstance(message, LearningMessage):
        parts = (message.model, message.scaled_gradient)
        return b"learning" + b"|".join(identity(part) for part in parts)
    if isinstance(message, np.ndarray):
        head = f"{message.dtype}{message.shape}".encode()
        return head + (repr(message.tolist()).encode() if message.dtype == object
                       else message.tobytes())  # fmt: skip
    if isinstance(message, Mapping):
        entries = sorted(repr(tag).encode() + b":" + identity(v) for tag, v in message.items())
        return b"mapping" + b";".join(entries)
    return _repr(message).encode("utf-8", "replace")


def describe(phase: str, message: Message, precision: Precision | None) -> MessageView:
    """A word and a sentence for a message of this phase."""
    if message is None:
        return MessageView("silent", "nothing")
    if isinstance(message, LearningMessage):
        return _learning(message, precision)
    if phase == AGREEMENT and isinstance(message, bool):
        return ALARMED if message else UNALARMED
    if isinstance(message, Mapping):
        return _broadcast(message)
    return MessageView("odd", f"something malformed: {short(message)}")


def _learning(message: LearningMessage, precision: Precision | None) -> MessageView:
    model, gamma = message.model, message.scaled_gradient
    if precision is None or not all(
        getattr(part, "dtype", None) == np.int64 and part.ndim == 1 and part.size
        for part in (model, gamma)
    ):
        return MessageView("odd", f"a learning message of another form: {short(model)}")
    values = model / 2.0**precision.fraction_bits
    steps = gamma / 2.0 ** (precision.fraction_bits + precision.step_bits)
    word = number(values[0]) if values.size == 1 else ""
    text = f"model {vector(values)}, scaled gradient {vector(steps)}"
    return MessageView(word, text)


def _broadcast(message: Mapping[object, object]) -> MessageView:
    if not message:
        return MessageView("nothing new", "nothing new")
    tags = [str(about_text(tag)) for tag in message]
    named = ", ".join(tags[:TAGS]) + (f", and {len(tags) - TAGS} more" if len(tags) > TAGS else "")
    values = list(message.values())
    if len(values) == 1 and isinstance(values[0], str):
        return MessageView(values[0], f"the value {values[0]!r}")
    many = "1 value" if len(tags) == 1 else f"{len(tags)} values"
    return MessageView("", f"{many}, tagged {named}")


def vector(values: np.ndarray) -> str:
    """The first entries of a vector and its length."""
    shown = ", ".join(number(entry) for entry in values[:ENTRIES])
    more = ", .." if values.size > ENTRIES else ""
    length = f" of length {number(float(np.linalg.norm(values)))}" if values.size > 1 else ""
    return f"({shown}{more}){length}"


def number(value: float) -> str:
    """Four significant digits, with a true minus sign."""
    return f"{value:.4g}".replace("-", "\u2212") if np.isfinite(value) else str(value)


def short(value: object) -> str:
    """A value in a bounded number of characters."""
    text = _repr(value)
    return text if len(text) <= LONGEST else text[: LONGEST - 2] + ".."


def _repr(value: object) -> str:
    try:
        return repr(value)
    except Exception:
        return type(value).__name__
