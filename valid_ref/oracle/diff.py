"""The first difference between two recordings."""

import itertools
from typing import Any

import attrs
import numpy as np

from valid_ref.machine import Message, Round
from valid_ref.oracle.divergence import message_difference, shown
from valid_ref.oracle.read import Recording
from valid_ref.protocols.learn import LearningMessage

IGNORED = {"producer", "checksums", "start_model"}
"""Fields of the header that say nothing about the run; x_0 may also stand in a file."""


@attrs.frozen
class Gap:
    """Where two recordings first differ, and the last place where they agree."""

    place: str
    agreed: str
    left: str
    right: str
    index: int | None = None

    def as_json(self) -> dict[str, Any]:
        """For machines."""
        return attrs.asdict(self)


def diff(left: Recording, right: Recording) -> Gap | None:
    """The first difference: header, keys, then round by round, then the end; None if none.

    Implements: RE-13.
    """
    for field in attrs.fields(type(left.header)):
        one, other = getattr(left.header, field.name), getattr(right.header, field.name)
        if field.name not in IGNORED and one != other:
            return Gap(f"header.json, {field.name}", "the format", shown(one), shown(other))
    starts = left.parameters.start_model, right.parameters.start_model
    if not np.array_equal(*starts):
        index = int(np.argmax(starts[0] != starts[1]))
        one, other = (str(int(start[index])) for start in starts)
        return Gap("x_0", "the header", one, other, index)
    if left.keys != right.keys:
        return Gap("keys.npy", "the header", shown(left.keys), shown(right.keys))
    agreed = "the keys"
    for one_round, other_round in itertools.zip_longest(left.rounds(), right.rounds()):
        place = _place(one_round if one_round is not None else other_round)
        if one_round is None or other_round is None:
            return Gap(place, agreed, _presence(one_round), _presence(other_round))
        gap = _round(left, one_round, other_round, place, agreed)
        if gap is not None:
            return gap
        agreed = place
    return _end(left, right, agreed)


def _presence(spoken: Round | None) -> str:
    return "cut off before" if spoken is None else "recorded"


def _place(spoken: Round) -> str:
    return f"{spoken.phase} round {spoken.number}"


def _round(left: Recording, one: Round, other: Round, place: str, agreed: str) -> Gap | None:
    for sender in range(left.header.agents):
        heard = [
            (f"agent {sender}", one.said[sender], other.said[sender]),
            *(
                (f"edge {sender} -> {r}", one.on_edge(sender, r), other.on_edge(sender, r))
                for r in left.parameters.graph.neighbours(sender)
                if {(sender, r)} & {*one.deviations, *other.deviations}
            ),
        ]
        for who, first, second in heard:
            gap = _message(left, one.phase, sender, first, second)
            if gap is not None:
                return attrs.evolve(gap, place=f"{place}, {who}: {gap.place}", agreed=agreed)
    return None


def _message(
    recording: Recording, phase: str, sender: int, first: Message, second: Message
) -> Gap | None:
    if isinstance(first, LearningMessage) and isinstance(second, LearningMessage):
        for name in ("model", "scaled_gradient"):
            one, other = getattr(first, name), getattr(second, name)
            if not np.array_equal(one, other):
                index = int(np.argmax(one != other))
                return Gap(name, "", str(int(one[index])), str(int(other[index])), index)
        return None
    if type(first) is type(second) and first == second:
        return None
    found = message_difference(recording.parameters, phase, sender, first, second)
    if found is None:
        return None
    return Gap(found.what, "", found.expected, found.found, found.index)


def _end(left: Recording, right: Recording, agreed: str) -> Gap | None:
    if left.end is None or right.end is None:
        if left.finished == right.finished:
            return None
        states = {True: "recorded", False: "cut off before"}
        return Gap("the end", agreed, states[left.finished], states[right.finished])
    for agent, (one, other) in enumerate(zip(left.end.agents, right.end.agents, strict=True)):
        for position, (a, b) in enumerate(itertools.zip_longest(one.alarms, other.alarms)):
            if a != b:
                return Gap(f"agent {agent}, alarm {position}", agreed, shown(a), shown(b))
        if one.valid != other.valid:
            return Gap(f"agent {agent}, valid", agreed, shown(one.valid), shown(other.valid))
    unequal = np.argwhere(left.arrays["outputs"] != right.arrays["outputs"])
    if len(unequal):
        agent, entry = (int(number) for number in unequal[0])
        one_value, other_value = (
            str(int(recording.arrays["outputs"][agent, entry])) for recording in (left, right)
        )
        return Gap(f"agent {agent}, final model", agreed, one_value, other_value, entry)
    return None
