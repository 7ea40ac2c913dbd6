"""Which command runs which agents: `0-4,7` and a command."""

import re
import shlex
import sys
from collections.abc import Iterable

from valid_ref.testing.conform.errors import ConformError
from valid_ref.testing.conform.faults import AGENT

REFERENCE, EXAMPLE = "reference", "example"
"""Commands that name what comes with this: the machine in this process, the example agent."""

_RANGE = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9}))?")


def assigned(
    pairs: Iterable[tuple[str, str]], agents: int, byzantine: frozenset[int]
) -> dict[int, tuple[str, ...]]:
    """The words of the command of every agent that is a process.

    Implements: CF-20.
    """
    found: dict[int, tuple[str, ...]] = {}
    seen: set[int] = set()
    for names, command in pairs:
        words = _words(command)
        for agent in _agents(names, agents):
            if agent in seen:
                raise ConformError(f"agent {agent} is named twice", clause="CF-20")
            if agent in byzantine:
                raise ConformError(
                    f"agent {agent} is Byzantine: its words come from the attack", clause="CF-20"
                )
            seen.add(agent)
            if words is not None:
                found[agent] = words
    return found


def _agents(names: str, agents: int) -> list[int]:
    """The agents of ranges and single numbers between commas; all must exist."""
    found: list[int] = []
    for part in names.split(","):
        match = _RANGE.fullmatch(part.strip())
        if match is None:
            raise ConformError(f"{names[:60]!r} does not name agents; 0-4,7 would", clause="CF-20")
        first, last = int(match[1]), int(match[2] or match[1])
        if not first <= last < agents:
            raise ConformError(
                f"{part.strip()} is not a range of the agents 0..{agents - 1}", clause="CF-20"
            )
        found += range(first, last + 1)
    return found


def _words(command: str) -> tuple[str, ...] | None:
    """The words of a command; None for the machine of the reference."""
    if command == REFERENCE:
        return None
    if command == EXAMPLE:
        return sys.executable, str(AGENT)
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise ConformError(f"{command[:60]!r} is no command: {error}", clause="CF-20") from None
    if not words:
        raise ConformError("an agent has an empty command", clause="CF-20")
    return tuple(words)
