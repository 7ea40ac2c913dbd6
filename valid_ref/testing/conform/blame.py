"""Which clause a difference breaks, as far as the answer itself tells."""

from collections.abc import Mapping

import attrs
import numpy as np

from valid_ref.alarms import Alarm
from valid_ref.lattice import IntVector
from valid_ref.machine import Message
from valid_ref.oracle.log import AlarmLine
from valid_ref.oracle.messages import Codec, about_text
from valid_ref.protocols.agreement import PHASE as AGREEMENT
from valid_ref.protocols.broadcast import Tag, ValidatedBroadcast
from valid_ref.protocols.global_validate import estimate
from valid_ref.protocols.learn import PHASE as LEARNING
from valid_ref.protocols.learn import LearningMessage, LearnState
from valid_ref.protocols.local_validate import Transcript
from valid_ref.protocols.parameters import CheckedKeys, ValidParameters
from valid_ref.protocols.valid import ESTIMATES, HASHES, KEYS
from valid_ref.testing.conform.script import Script, Turn

OWN_FORMS = {KEYS: "LV-4", HASHES: "LV-6", ESTIMATES: "GV-3"}
"""The clauses of the form of an agent's own values, and of its key."""

HASH_ALARMS = ("INCONSISTENT_HASHES", "BROKEN_RELATION", "SELF_MISMATCH")


def mixing_clause(script: Script, turn: Turn) -> str:
    """AR-4; LM-4 where zero vectors had to stand for what a neighbour said."""
    inner = turn.state.inner
    heard = inner.heard if isinstance(inner, LearnState) else None
    neighbours = script.parameters.graph.neighbours(script.agent)
    usable = heard is None or all(u in heard.received for u in neighbours)
    return "AR-4" if usable else "LM-4"


def message_clause(
    script: Script, turn: Turn, usual: str, expected: Message, found: Message, said: list[object]
) -> str:
    """The clause of a wrong message; `usual` is what the oracle says, `said` what came before.

    Implements: CF-11.
    """
    if found is None and expected is not None:
        return _silence(script, turn, usual)
    if turn.phase == AGREEMENT:
        if not isinstance(found, bool):
            return "VA-1"
        return "SA-3" if expected is True and True in said else "SA-2"
    if turn.phase == LEARNING:
        return usual if isinstance(found, LearningMessage) or expected is None else _form(found)
    if not isinstance(found, Mapping) or not isinstance(expected, Mapping):
        return "VA-1"
    return _broadcast(script, turn, expected, found)


def _form(found: Message) -> str:
    """Words of another phase, or a learning message of another form."""
    return "VA-1" if isinstance(found, bool | Mapping) else "LM-2"


def _silence(script: Script, turn: Turn, usual: str) -> str:
    """Nothing is said where something must be."""
    if turn.phase == AGREEMENT and turn.round == script.parameters.graph.agents - 1:
        return "SA-1"
    alarmed = turn.state.memory.alarms or turn.state.inner.alarms
    return "MO-8" if alarmed else usual


def _broadcast(  # noqa: PLR0911 - one return for each clause
    script: Script,
    turn: Turn,
    expected: Mapping[Tag, object],
    found: Mapping[Tag, object],
) -> str:
    machine = Codec(script.parameters).broadcasts[turn.phase]
    if any(tag not in machine.order for tag in found):
        return "VA-1"
    if set(found) != set(expected):
        return _tags(turn, machine.rounds, found)
    wrong = next(tag for tag in expected if found[tag] != expected[tag])
    if wrong[0] != script.agent:
        return "VB-5"
    wanted, seen = expected[wrong], found[wrong]
    if not isinstance(wanted, tuple) or not isinstance(seen, tuple):
        return OWN_FORMS[turn.phase]
    if not machine.well_formed(wrong, seen):
        return OWN_FORMS[turn.phase]
    if turn.phase == HASHES:
        return _report(turn, wanted, seen)
    received = turn.state.memory.fixed_transcripts.received
    return _estimate(script.parameters, received[int(wrong[1])], seen)


def _tags(turn: Turn, rounds: int, found: Mapping[Tag, object]) -> str:
    """The clause of a message with other tags than it must have."""
    if turn.round == rounds:
        return "VB-7"
    early = turn.round == rounds - 1 > 2 and dict(found) == dict(turn.state.inner.held)
    return "VB-2" if early else "VB-4"  # compares a round early, after flooding as it must


def _report(turn: Turn, wanted: tuple[int, ...], seen: tuple[int, ...]) -> str:
    """The clause of a wrong report of hashes; four entries belong to each key owner."""
    if sorted(wanted) == sorted(seen):
        return "LV-6"
    pairs = enumerate(zip(wanted, seen, strict=True))
    owners = {position // 4 for position, (one, other) in pairs if one != other}
    memory = turn.state.memory
    nulls = {r.about for r in memory.alarms if r.alarm is Alarm.NO_VALUE and r.phase == KEYS}
    if all((owner, "key") in nulls for owner in owners):
        return "LV-4"
    return "HA-3" if all(memory.keys[owner] == 0 for owner in owners) else "LV-5"


def _estimate(parameters: ValidParameters, transcript: Transcript, seen: tuple[int, ...]) -> str:
    """AR-8 where division towards zero explains a wrong estimate, else GV-2."""
    steps = parameters.lattice.schedule.gradient
    truncated = [
        LearningMessage(message.model, _towards_zero(message.scaled_gradient, step))
        for message, step in zip(transcript, steps, strict=True)
    ]
    return "AR-8" if estimate(parameters, truncated) == seen else "GV-2"


def _towards_zero(gamma: IntVector, step: int) -> IntVector:
    """A Gamma whose floor is the quotient of the given one towards zero."""
    quotient: IntVector = np.sign(gamma) * (np.abs(gamma) // step)
    return quotient * step


def alarm_clause(
    script: Script, turn: Turn, usual: str, missing: AlarmLine | None, found: set[AlarmLine]
) -> str:
    """The clause of a wrong list of alarms; `missing` is the first that was to be raised.

    Implements: CF-11.
    """
    others = found - set(turn.alarms)
    if missing is None:
        own_only = script.parameters.checked_keys is CheckedKeys.OWN
        return "LV-10" if own_only and all(_of_other_key(script, a) for a in others) else usual
    if missing.reason == Alarm.NO_VALUE.name and _arrives(script, turn, missing):
        return "VB-7"
    if missing.reason == Alarm.DIFFERENT_VALUE.name and missing in _other_senders(missing, others):
        return "VB-5"
    if _of_other_key(script, missing) and _under_own_key(script, missing) in found:
        return "LV-10"
    return usual


def _arrives(script: Script, turn: Turn, missing: AlarmLine) -> bool:
    """Whether a value for the tag comes in the compare round, where nobody may adopt it."""
    machine = Codec(script.parameters).broadcasts[turn.phase]
    messages = [m for m in turn.inbox.values() if isinstance(m, Mapping)]
    return any(_holds(machine, message, missing.about) for message in messages)


def _holds(machine: ValidatedBroadcast, message: Mapping[Tag, object], about: str | None) -> bool:
    return any(
        tag in machine.order and about_text(tag) == about and machine.well_formed(tag, value)
        for tag, value in message.items()
    )


def _other_senders(missing: AlarmLine, others: set[AlarmLine]) -> set[AlarmLine]:
    """The other alarms as if they named the sender of this one."""
    return {attrs.evolve(other, sender=missing.sender) for other in others}


def _of_other_key(script: Script, alarm: AlarmLine) -> bool:
    """Whether this is a check of hashes under somebody else's key."""
    named = alarm.reason in HASH_ALARMS and alarm.about is not None
    return named and str(alarm.about).partition("/")[2] != str(script.agent)


def _under_own_key(script: Script, alarm: AlarmLine) -> AlarmLine:
    """The same check of hashes under the key of the agent itself."""
    checked = str(alarm.about).partition("/")[0]
    return attrs.evolve(alarm, about=f"{checked}/{script.agent}")
