"""What can be wrong with an agent's answers, and with what a caller asks of the kit."""

import enum
import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from valid_ref.errors import ValidRefError
from valid_ref.wire import FormError

P = ParamSpec("P")
R = TypeVar("R")


class ConformError(ValidRefError):
    """A command or a case that the kit cannot use; it says nothing about an agent."""


class Kind(enum.Enum):
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
        kind: Kind,
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
        Kind.WRONG_FORM,
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
