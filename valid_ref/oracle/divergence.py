"""Where an agent first leaves the specification, in words and with the clause."""

import json
from collections.abc import Mapping

import attrs
import numpy as np

from valid_ref.alarms import Alarm
from valid_ref.kernels import WideIntegers
from valid_ref.lattice import within
from valid_ref.machine import Message
from valid_ref.oracle.log import AlarmLine
from valid_ref.oracle.messages import Malformed
from valid_ref.printable import printable
from valid_ref.protocols.agreement import PHASE as AGREEMENT
from valid_ref.protocols.learn import PHASE as LEARNING
from valid_ref.protocols.learn import LearningMessage
from valid_ref.protocols.parameters import ValidParameters
from valid_ref.protocols.valid import ESTIMATES, KEYS

VALUES = (tuple, WideIntegers)

SAME_TO_ALL = {LEARNING: "LM-2", AGREEMENT: "SA-2"}
"""The clause by which an agent says one thing to all its neighbours; VB-4 in broadcasts."""

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
    if phase == AGREEMENT:
        if type(found) is bool and found == expected:
            return None
        return Difference("SA-2", "alarm state", shown(expected), shown(found))
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
    if not isinstance(found, Mapping) or not isinstance(expected, Mapping):
        return Difference("VB-4", "broadcast message", shown(expected), shown(found))
    for tag in [*expected, *(tag for tag in found if tag not in expected)]:
        wanted, seen = expected.get(tag), found.get(tag)
        if wanted is seen or (type(wanted) is type(seen) and wanted == seen):
            continue
        own = isinstance(tag, tuple) and tag[0] == agent and None not in (wanted, seen)
        clause = {KEYS: "LV-4", ESTIMATES: "GV-2"}.get(phase, "LV-5") if own else "VB-4"
        index = None
        if isinstance(wanted, VALUES) and isinstance(seen, VALUES) and len(wanted) == len(seen):
            index = next(i for i, (w, s) in enumerate(zip(wanted, seen, strict=True)) if w != s)
            wanted, seen = wanted[index], seen[index]
        name = "/".join(map(str, tag)) if isinstance(tag, tuple) else "an unknown tag"
        what = f"value of {name}"
        return Difference(clause, what, shown(wanted), shown(seen), index)
    if len(found) != len(expected):
        return Difference("VB-4", "tags", f"{len(expected)} entries", f"{len(found)} entries")
    return None


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


def shown(value: object) -> str:
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
    text = json.dumps(value, default=str) if isinstance(value, bool) else str(value)
    return text if len(text) <= 100 else text[:97] + "..."
