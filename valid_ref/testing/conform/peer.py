"""Agents that answer requests, what can be wrong with an answer, and agents as Python objects.

An agent that is a process is in `process`.
"""

import enum
import functools
import json
from collections.abc import Callable, Mapping
from typing import Any, ParamSpec, Protocol, TypeVar

import attrs

from valid_ref.document import DocumentError, read_json
from valid_ref.errors import ValidRefError
from valid_ref.oracle.divergence import Difference
from valid_ref.wire import FormError

P = ParamSpec("P")
R = TypeVar("R")


class ConformError(ValidRefError):
    """A command or a case that the kit cannot use; it says nothing about an agent."""


class FindingKind(enum.Enum):
    """What sort of divergence was found.

    Implements: CF-11, CF-12, CF-13.
    """

    BEHAVIOUR = "behaviour"
    """A well-formed answer that is not the one that the specification demands."""
    CRASH = "crash"
    """The process ended, or said that it could not answer."""
    TIMEOUT = "time-out"
    """No answer in time."""
    INVALID_LINE = "invalid line"
    """A line that is not one JSON object in UTF-8."""
    LONG_LINE = "too long a line"
    """A line that is longer than the limit."""
    WRONG_FORM = "wrong form"
    """A JSON object that is not the reply to the request."""
    NOT_REPEATED = "not repeated"
    """A fresh process gives another answer to the same case."""


class AgentFault(Exception):  # noqa: N818 - a finding about the agent, not an error of the kit
    """The agent did not answer as the protocol demands; no ValidRefError, since no bad input.

    `value` is what has the wrong form, `source` the agent whose value it is said to be.

    Implements: CF-12, CF-13.
    """

    def __init__(
        self,
        kind: FindingKind,
        clause: str,
        what: str,
        expected: str,
        found: str,
        value: object = None,
        source: int | None = None,
    ) -> None:
        super().__init__(f"{kind.value}: {what}: expected {expected}, found {found} [{clause}]")
        self.kind, self.clause = kind, clause
        self.what, self.expected, self.found = what, expected, found
        self.value, self.source = value, source

    @property
    def difference(self) -> Difference:
        """The fault as a finding names it."""
        return Difference(self.clause, self.what, self.expected, self.found)


def wrong_form(clause: str, place: str, expected: str, found: object) -> AgentFault:
    """A reply that is JSON but not of the form demanded."""
    return _as_fault(FormError(clause, place, expected, found))


def found_as_fault(read: Callable[P, R]) -> Callable[P, R]:
    """Whatever is of a wrong form in a reply is a fault of the agent."""

    @functools.wraps(read)
    def reading(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return read(*args, **kwargs)
        except FormError as error:
            raise _as_fault(error) from None

    return reading


def _as_fault(error: FormError) -> AgentFault:
    return AgentFault(
        FindingKind.WRONG_FORM,
        error.clause,
        what=error.place,
        expected=error.expected,
        found=error.found,
        value=error.value,
        source=error.source,
    )


class OtherProtocolError(ConformError):
    """The agent speaks another version of the protocol: nothing can be told.

    Implements: CF-2.
    """


LONGEST_LINE = 1 << 22
"""Bytes of the longest line that an agent may send."""

Reply = dict[str, Any]


class Peer(Protocol):
    """Answers one request after the other."""

    def ask(self, request: Mapping[str, Any]) -> Reply:
        """The reply to a request; an AgentFault if there is none."""

    def renew(self) -> None:
        """Begin again with a fresh agent."""

    def close(self) -> None:
        """No more requests."""

    def last_words(self) -> str:
        """What the agent has written last to its standard error."""


class PythonAgent(Protocol):
    """An agent as a class: a method for each request, fields as arguments, JSON data throughout.

    Implements: CF-16.
    """

    def hello(self, protocol: str) -> Reply:
        """Protocol, name, flood, integers."""

    def start(self, parameters: dict[str, Any], agent: int, key: int) -> Reply:
        """Begin a run; the reply is empty. With lean validation `opening` stands for `key`."""

    def mix(self, round: int) -> Reply:  # noqa: A002 - the name of the field
        """Y and the point."""

    def send(self, round: int, gradient: Any = None) -> Reply:  # noqa: A002
        """The message, and in learning the lattice gradient."""

    def receive(self, round: int, inbox: list[Any]) -> Reply:  # noqa: A002
        """The new alarms."""

    def end(self) -> Reply:
        """Verdict, model, alarms."""


class AgentFactory(Protocol):
    """Makes agents; a class does."""

    def __call__(self) -> PythonAgent:
        """A fresh agent."""


@attrs.define
class ObjectPeer:
    """An agent in this process; what it raises is a crash of the agent.

    Requests and replies become text and back, so that nothing is said that a pipe cannot carry.

    Implements: CF-16.
    """

    make: AgentFactory
    _agent: PythonAgent | None = None

    def ask(self, request: Mapping[str, Any]) -> Reply:
        """Call the method that the request names."""
        fields = json.loads(json.dumps(request))
        try:
            if self._agent is None:
                self._agent = self.make()
            reply = getattr(self._agent, fields.pop("op"))(**fields)
            line = json.dumps(reply)
        except Exception as error:
            found = f"{type(error).__name__}: {error}"
            raise AgentFault(FindingKind.CRASH, "CF-12", "reply", "an answer", found) from None
        return parse_reply(line.encode())

    def renew(self) -> None:
        """A new object."""
        self._agent = None

    def close(self) -> None:
        """Forget the object."""
        self._agent = None

    def last_words(self) -> str:
        """Nothing: the standard error of an object is that of the caller."""
        return ""


def parse_reply(line: bytes) -> Reply:
    """The JSON object in a line.

    Implements: CF-1.
    """
    if len(line) > LONGEST_LINE:
        expected = f"at most {LONGEST_LINE} bytes"
        raise AgentFault(FindingKind.LONG_LINE, "CF-1", "line", expected, f"{len(line)} bytes")
    try:
        found = read_json(line.decode("utf-8"))
    except (DocumentError, ValueError) as error:  # also no UTF-8, a number of too many digits
        shown = line[:80].decode("ascii", "backslashreplace").strip()
        reason = error.message if isinstance(error, DocumentError) else str(error)
        raise AgentFault(
            FindingKind.INVALID_LINE,
            "CF-1",
            "line",
            "one JSON object",
            f"{shown!r} ({reason[:120]})",
        ) from None
    if not isinstance(found, dict):
        shown = line[:80].decode("ascii", "backslashreplace").strip()
        raise AgentFault(FindingKind.INVALID_LINE, "CF-1", "line", "one JSON object", repr(shown))
    return found
