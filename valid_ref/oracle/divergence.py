"""Where an agent first leaves the specification, and where two recordings differ."""

import itertools
from collections.abc import Mapping
from typing import Any

import attrs
import numpy as np

from valid_ref.alarms import Alarm
from valid_ref.lattice import within
from valid_ref.machine import Message, Round
from valid_ref.oracle.read import Recording
from valid_ref.printable import printable
from valid_ref.protocols import lean
from valid_ref.protocols.agreement import PHASE as AGREEMENT
from valid_ref.protocols.flood import SUM, TOTAL
from valid_ref.protocols.learn import PHASE as LEARNING
from valid_ref.protocols.learn import LearningMessage
from valid_ref.protocols.parameters import ValidParameters
from valid_ref.protocols.valid import ESTIMATES, KEYS
from valid_ref.wide import WideIntegers
from valid_ref.wire import AlarmLine, shown

VALUES = (tuple, WideIntegers)

SAME_TO_ALL = {LEARNING: "LM-2", AGREEMENT: "SA-2", lean.COMPARE: "LE-13"} | dict.fromkeys(
    lean.SLOTS, "LE-6"
)
"""The clause by which an agent says one thing to all its neighbours; VB-4 in broadcasts."""

SINGLE = {AGREEMENT: ("SA-2", "alarm state"), lean.COMPARE: ("LE-13", "digest")}
"""The phases in which a message is one value, with the clause that says which, and its name."""

LONGEST_LINE = 5000
"""Of a divergence; the command that repeats it has the path of the recording."""


@attrs.frozen
class Difference:
    """What was expected and found, at which entry, and the clause that demands it."""

    clause: str
    what: str
    expected: str
    found: str
    index: int | None = None


@attrs.frozen
class Divergence:
    """The first item of an agent that the specification does not allow.

    `agreed` is the last item that is as it must be; `edge` is set where only one edge differs;
    `index` is the entry of the vector, in lattice order; `replay` repeats the finding.

    Implements: RE-9, RE-17.
    """

    agent: int
    phase: str
    round: int
    edge: tuple[int, int] | None
    agreed: str
    difference: Difference
    replay: str

    def __str__(self) -> str:
        where = f"agent {self.agent}, {self.phase} round {self.round}"
        if self.edge is not None:
            where += f", edge {self.edge[0]} -> {self.edge[1]}"
        different = self.difference
        entry = "" if different.index is None else f", entry {different.index}"
        lines = (
            f"{where}: {different.what}{entry} [{different.clause}]",
            f"  last agreed: {self.agreed}",
            f"  expected:    {different.expected}",
            f"  found:       {different.found}",
            f"  replay:      {self.replay}",
        )
        return "\n".join(printable(line, longest=LONGEST_LINE) for line in lines)


def message_difference(
    parameters: ValidParameters, phase: str, agent: int, expected: Message, found: Message
) -> Difference | None:
    """How what was said differs from what must be said; None if it does not.

    Implements: RE-9.
    """
    if expected is found and isinstance(found, LearningMessage):
        return None
    if phase == LEARNING:
        return _learning(parameters, expected, found)
    if phase in SINGLE:
        if type(found) is type(expected) and found == expected:
            return None
        return Difference(*SINGLE[phase], shown(expected), shown(found))
    return _broadcast(phase, agent, expected, found)


def _learning(parameters: ValidParameters, expected: Message, found: Message) -> Difference | None:
    if expected is None and found is None:
        return None
    if expected is None:
        return Difference("AR-14", "words after falling silent", "silence", shown(found))
    if not isinstance(found, LearningMessage) or not isinstance(expected, LearningMessage):
        return Difference("LM-2", "learning message", shown(expected), shown(found))
    lattice = parameters.lattice
    for name, vector, limit in (
        ("model", found.model, lattice.model_limit),
        ("scaled gradient", found.scaled_gradient, lattice.gradient_limit),
    ):
        if not within(vector, limit):
            index = int(np.argmin((vector < limit) & (vector > -limit)))
            bound = f"below {limit} in magnitude"
            return Difference("AR-10", name, bound, str(int(vector[index])), index)
    bits = lattice.precision.step_bits
    sums = [(message.model << bits) + message.scaled_gradient for message in (expected, found)]
    broken = sums[0] != sums[1]
    clause = "AR-6" if parameters.reading.P17 and broken.any() else "AR-5"
    other_model = expected.model != found.model
    other_gamma = expected.scaled_gradient != found.scaled_gradient
    wrong = broken if broken.any() else other_model | other_gamma
    if not wrong.any():
        return None
    index = int(np.argmax(wrong))
    if other_model[index]:
        pair = "model", expected.model, found.model
    else:
        pair = "scaled gradient", expected.scaled_gradient, found.scaled_gradient
    return Difference(clause, pair[0], str(int(pair[1][index])), str(int(pair[2][index])), index)


def _broadcast(phase: str, agent: int, expected: Message, found: Message) -> Difference | None:
    """Of a broadcast, or of a flood and what goes along the tree beside it."""
    whole = SAME_TO_ALL.get(phase, "VB-4")
    if not isinstance(found, Mapping) or not isinstance(expected, Mapping):
        what = "flood message" if phase in lean.SLOTS else "broadcast message"
        return Difference(whole, what, shown(expected), shown(found))
    for tag in [*expected, *(tag for tag in found if tag not in expected)]:
        wanted, seen = expected.get(tag), found.get(tag)
        if wanted is seen:
            continue
        lists = isinstance(wanted, VALUES) and isinstance(seen, VALUES)
        if (lists or type(wanted) is type(seen)) and wanted == seen:
            continue
        own = isinstance(tag, tuple) and tag[0] == agent and None not in (wanted, seen)
        index = None
        if isinstance(wanted, VALUES) and isinstance(seen, VALUES) and len(wanted) == len(seen):
            index = next(i for i, (w, s) in enumerate(zip(wanted, seen, strict=True)) if w != s)
            wanted, seen = wanted[index], seen[index]
        clause = _clause_of_value(phase, tag, index) if own or _on_tree(tag) else whole
        name = "/".join(map(str, tag)) if isinstance(tag, tuple) else "an unknown tag"
        what = f"value of {name}"
        return Difference(clause, what, shown(wanted), shown(seen), index)
    if len(found) != len(expected):
        return Difference(whole, "tags", f"{len(expected)} entries", f"{len(found)} entries")
    return None


def _on_tree(tag: object) -> bool:
    return isinstance(tag, tuple) and tag[-1] in {SUM, TOTAL}


def _clause_of_value(phase: str, tag: object, index: int | None) -> str:
    """The clause that says what the value of one's own tag is, or a sum."""
    if _on_tree(tag):
        return "LE-8"
    if phase == lean.FIX:
        return "LE-9" if index == 0 else "LE-7"
    own = {KEYS: "LV-4", ESTIMATES: "GV-2", lean.OPEN: "LE-10", lean.REPORT: "LE-11"}
    return own.get(phase, "LV-5")


def alarm_difference(
    expected: tuple[AlarmLine, ...], found: tuple[AlarmLine, ...], *, so_far: bool = False
) -> Difference | None:
    """The first alarm that is missing, surplus, repeated, out of order or another; None if none.

    `so_far` says that later alarms are not known yet: found ones beyond the expected are left.

    Implements: RE-9, RE-18.
    """
    length = len(expected) if so_far else max(len(expected), len(found))
    for position in range(length):
        wanted = expected[position] if position < len(expected) else None
        seen = found[position] if position < len(found) else None
        if wanted != seen:
            what, clause = _fault_of_alarm(wanted, seen, expected[position:], found, position)
            return Difference(clause, what, shown(wanted), shown(seen))
    return None


def _fault_of_alarm(
    wanted: AlarmLine | None,
    seen: AlarmLine | None,
    coming: tuple[AlarmLine, ...],
    found: tuple[AlarmLine, ...],
    position: int,
) -> tuple[str, str]:
    """What is wrong with the first alarm that differs, and the clause of the alarm at fault.

    An alarm that is found more often than expected from here on is repeated if it is there twice,
    else surplus;
    one that is expected and nowhere found is missing, unless one of its reason stands in its
    place; if both come later, the order is wrong.

    Implements: RE-18.
    """
    later = found[position + 1 :]
    if seen is not None and found[position:].count(seen) > coming.count(seen):
        if found.count(seen) > 1:
            return f"repeated alarm {position}", alarm_clause(seen)
        if wanted is None or wanted in later:
            return f"surplus alarm {position}", alarm_clause(seen)
    if wanted is not None and wanted in later:
        return f"order of alarm {position}", "MO-12"
    if wanted is not None and (seen is None or seen in coming or seen.reason != wanted.reason):
        return f"missing alarm {position}", alarm_clause(wanted)
    return f"alarm {position}", alarm_clause(wanted)


def alarm_clause(alarm: AlarmLine | None) -> str:
    """The clause that says when there is an alarm of this reason; MO-7 for a reason of no name."""
    reason = "" if alarm is None else alarm.reason
    return Alarm[reason].clause if reason in Alarm.__members__ else "MO-7"


IGNORED = {"producer", "checksums", "start_model"}
"""Fields of the header that say nothing about the run; x_0 may also stand in a file."""


@attrs.frozen
class FirstDifference:
    """Where two recordings first differ, and the last place where they agree."""

    place: str
    agreed: str
    left: str
    right: str
    index: int | None = None

    def as_json(self) -> dict[str, Any]:
        """For machines."""
        return attrs.asdict(self)


def diff(left: Recording, right: Recording) -> FirstDifference | None:
    """The first difference: header, keys, then round by round, then the end; None if none.

    Implements: RE-13.
    """
    for field in attrs.fields(type(left.header)):
        one, other = getattr(left.header, field.name), getattr(right.header, field.name)
        if field.name not in IGNORED and one != other:
            return FirstDifference(
                f"header.json, {field.name}", "the format", shown(one), shown(other)
            )
    starts = left.parameters.start_model, right.parameters.start_model
    if not np.array_equal(*starts):
        index = int(np.argmax(starts[0] != starts[1]))
        one, other = (str(int(start[index])) for start in starts)
        return FirstDifference("x_0", "the header", one, other, index)
    if left.keys != right.keys:
        one, other = (shown((*opened.arrays["keys"].tolist(),)) for opened in (left, right))
        return FirstDifference("keys.npy", "the header", one, other)
    agreed = "the keys"
    for one_round, other_round in itertools.zip_longest(left.rounds(), right.rounds()):
        place = _place(one_round if one_round is not None else other_round)
        if one_round is None or other_round is None:
            return FirstDifference(place, agreed, _presence(one_round), _presence(other_round))
        gap = _round(left, one_round, other_round, place, agreed)
        if gap is not None:
            return gap
        agreed = place
    return _end(left, right, agreed)


def _presence(spoken: Round | None) -> str:
    return "cut off before" if spoken is None else "recorded"


def _place(spoken: Round) -> str:
    return f"{spoken.phase} round {spoken.number}"


def _round(
    left: Recording, one: Round, other: Round, place: str, agreed: str
) -> FirstDifference | None:
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
) -> FirstDifference | None:
    if isinstance(first, LearningMessage) and isinstance(second, LearningMessage):
        for name in ("model", "scaled_gradient"):
            one, other = getattr(first, name), getattr(second, name)
            if not np.array_equal(one, other):
                index = int(np.argmax(one != other))
                return FirstDifference(
                    name, "", str(int(one[index])), str(int(other[index])), index
                )
        return None
    if type(first) is type(second) and first == second:
        return None
    found = message_difference(recording.parameters, phase, sender, first, second)
    if found is None:
        return None
    return FirstDifference(found.what, "", found.expected, found.found, found.index)


def _end(left: Recording, right: Recording, agreed: str) -> FirstDifference | None:
    if left.end is None or right.end is None:
        if left.finished == right.finished:
            return None
        states = {True: "recorded", False: "cut off before"}
        return FirstDifference("the end", agreed, states[left.finished], states[right.finished])
    for agent, (one, other) in enumerate(zip(left.end.agents, right.end.agents, strict=True)):
        for position, (a, b) in enumerate(itertools.zip_longest(one.alarms, other.alarms)):
            if a != b:
                return FirstDifference(
                    f"agent {agent}, alarm {position}", agreed, shown(a), shown(b)
                )
        if one.valid != other.valid:
            return FirstDifference(
                f"agent {agent}, valid", agreed, shown(one.valid), shown(other.valid)
            )
    unequal = np.argwhere(left.arrays["outputs"] != right.arrays["outputs"])
    if len(unequal):
        agent, entry = (int(number) for number in unequal[0])
        one_value, other_value = (
            str(int(recording.arrays["outputs"][agent, entry])) for recording in (left, right)
        )
        return FirstDifference(f"agent {agent}, final model", agreed, one_value, other_value, entry)
    return None
