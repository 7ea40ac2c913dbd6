"""Where an agent first leaves the specification, in words and with the clause."""

import json
from collections.abc import Mapping

import attrs
import numpy as np

from valid_ref.alarms import Alarm
from valid_ref.lattice import within
from valid_ref.machine import Message
from valid_ref.oracle.log import AlarmLine
from valid_ref.oracle.messages import Malformed
from valid_ref.protocols.agreement import PHASE as AGREEMENT
from valid_ref.protocols.learn import PHASE as LEARNING
from valid_ref.protocols.learn import LearningMessage
from valid_ref.protocols.parameters import ValidParameters
from valid_ref.protocols.valid import ESTIMATES, KEYS

SAME_TO_ALL = {LEARNING: "LM-2", AGREEMENT: "SA-2"}
"""The clause by which an agent says one thing to all its neighbours; VB-4 in broadcasts."""


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

    Implements: RE-9.
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
        return (
            f"{where}: {different.what}{entry} [{different.clause}]\n"
            f"  last agreed: {self.agreed}\n"
            f"  expected:    {different.expected}\n"
            f"  found:       {different.found}\n"
            f"  replay:      {self.replay}"
        )


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
        own = isinstance(tag, tuple) and tag[0] == agent
        clause = {KEYS: "LV-4", ESTIMATES: "GV-2"}.get(phase, "LV-5") if own else "VB-4"
        index = None
        if isinstance(wanted, tuple) and isinstance(seen, tuple) and len(wanted) == len(seen):
            index = next(i for i, (w, s) in enumerate(zip(wanted, seen, strict=True)) if w != s)
            wanted, seen = wanted[index], seen[index]
        name = "/".join(map(str, tag)) if isinstance(tag, tuple) else "an unknown tag"
        what = f"value of {name}"
        return Difference(clause, what, shown(wanted), shown(seen), index)
    if len(found) != len(expected):
        return Difference("VB-4", "tags", f"{len(expected)} entries", f"{len(found)} entries")
    return None


def alarm_difference(
    expected: tuple[AlarmLine, ...], found: tuple[AlarmLine, ...]
) -> Difference | None:
    """The first alarm that is missing, superfluous or another; None if all are the same.

    Implements: RE-9.
    """
    for position in range(max(len(expected), len(found))):
        wanted = expected[position] if position < len(expected) else None
        seen = found[position] if position < len(found) else None
        if wanted != seen:
            decisive = wanted if wanted is not None else seen
            reason = "" if decisive is None else decisive.reason
            clause = Alarm[reason].clause if reason in Alarm.__members__ else "MO-7"
            return Difference(clause, f"alarm {position}", shown(wanted), shown(seen))
    return None


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
