"""Which clause a difference breaks, as far as the answer itself tells."""

import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

import attrs
import numpy as np

from valid_ref.alarms import Alarm
from valid_ref.document import whole_number
from valid_ref.lattice import IntVector
from valid_ref.machine import Message
from valid_ref.protocols.agreement import PHASE as AGREEMENT
from valid_ref.protocols.broadcast import BroadcastState, Tag
from valid_ref.protocols.global_validate import estimate, statistics
from valid_ref.protocols.learn import PHASE as LEARNING
from valid_ref.protocols.learn import LearningMessage, LearnState
from valid_ref.protocols.local_validate import Transcript
from valid_ref.protocols.parameters import CheckedKeys, ValidParameters
from valid_ref.protocols.valid import ESTIMATES, HASHES, KEYS
from valid_ref.testing.conform import lean_blame
from valid_ref.testing.conform.case import ExpectedRun, Turn
from valid_ref.testing.conform.peer import AgentFault, FindingKind
from valid_ref.wide import WideIntegers
from valid_ref.wire import AlarmLine, Codec, Tagged, about_text
from valid_ref.words import Listed

OWN_FORMS = {KEYS: "LV-4", HASHES: "LV-6", ESTIMATES: "GV-3"}
"""The clauses of the form of keys, reports and estimates."""

INTEGERS = {KEYS: "LV-4", HASHES: "LV-6", ESTIMATES: "GV-2"}
"""The clauses that make integers of an agent's own values."""

LEARNT = {"Y": "AR-4", "gradient": "AR-3", "message": "AR-5"}
"""The clauses that make integers of what an agent computes in learning."""

HASH_ALARMS = ("INCONSISTENT_HASHES", "BROKEN_RELATION", "SELF_MISMATCH")
NORM_ALARMS = ("MODEL_NORM", "GRADIENT_NORM")
STATISTIC_ALARMS = ("NOT_OPTIMAL", "TOO_OPTIMAL", "TOO_HETEROGENEOUS", "TOO_HOMOGENEOUS")
SELF_ALARMS = ("SELF_MISMATCH", "SELF_ESTIMATE_MISMATCH")
REFUSALS = (Alarm.MISSING_MESSAGE, Alarm.MALFORMED_MESSAGE, Alarm.OUT_OF_RANGE)
WORD = 2**64


def form_clause(phase: str, fault: AgentFault, agent: int | None) -> str:
    """The clause of a reply of a wrong form: where a number has a fraction, who forbids it.

    Implements: CF-11.
    """
    if fault.kind is not FindingKind.WRONG_FORM or not isinstance(fault.value, float):
        return fault.clause
    if phase == LEARNING:
        return fault.clause if fault.value.is_integer() else LEARNT.get(fault.what, fault.clause)
    if fault.source is None:
        return fault.clause
    if phase in lean_blame.PHASES:
        return lean_blame.INTEGERS[phase] if fault.source == agent else "LE-6"
    return INTEGERS.get(phase, fault.clause) if fault.source == agent else "VB-5"


def mixing_clause(run: ExpectedRun, turn: Turn) -> str:
    """AR-4; LM-4 where zero vectors had to stand for what a neighbour said."""
    inner = turn.state.inner
    heard = inner.heard if isinstance(inner, LearnState) else None
    neighbours = run.parameters.graph.neighbours(run.agent)
    usable = heard is None or all(u in heard.received for u in neighbours)
    return "AR-4" if usable else "LM-4"


def message_clause(  # noqa: PLR0911 - one return for each phase
    run: ExpectedRun,
    turn: Turn,
    *,
    usual: str,
    expected: Message,
    found: Message,
    said: list[object],
) -> str:
    """The clause of a wrong message; `usual` is what the oracle says, `said` what came before.

    Implements: CF-11.
    """
    if found is None and expected is not None:
        return _silence(run, turn, usual)
    if turn.phase == AGREEMENT:
        if not isinstance(found, bool):
            return "VA-1"
        return "SA-3" if expected is True and True in said else "SA-2"
    if turn.phase == LEARNING:
        return usual if isinstance(found, LearningMessage) or expected is None else _form(found)
    if turn.phase in lean_blame.PHASES:
        return lean_blame.message_clause(run, turn, usual=usual, expected=expected, found=found)
    if not isinstance(found, Mapping) or not isinstance(expected, Mapping):
        return "VA-1"
    return _broadcast(run, turn, expected, found)


def _form(found: Message) -> str:
    """Words of another phase, or a learning message of another form."""
    return "VA-1" if isinstance(found, bool | Mapping) else "LM-2"


def _silence(run: ExpectedRun, turn: Turn, usual: str) -> str:
    """Nothing is said where something must be."""
    if turn.phase == AGREEMENT and turn.round == run.parameters.graph.agents - 1:
        return "SA-1"
    if turn.state.memory.alarms or turn.state.inner.alarms:
        return "MO-8"
    return "AR-14" if turn.phase == LEARNING else usual


def _broadcast(  # noqa: PLR0911 - one return for each clause
    run: ExpectedRun, turn: Turn, expected: Mapping[Tag, object], found: Mapping[Tag, object]
) -> str:
    machine = Codec(run.parameters).broadcasts[turn.phase]
    if any(tag not in machine.order for tag in found):
        return "VA-1"
    lost = set(expected) - set(found)
    if lost and all(_tuple(expected[tag]) == () for tag in lost):
        return "GV-12"
    if set(found) != set(expected):
        return _tags(run, turn, machine.rounds, lost, found)
    wrong = [tag for tag in expected if found[tag] != expected[tag]]
    first = wrong[0]
    if first[0] != run.agent:
        return "VB-5"
    wanted, seen = (_tuple(values[first]) for values in (expected, found))
    if not isinstance(wanted, tuple) or not isinstance(seen, tuple):
        return OWN_FORMS[turn.phase]
    if _of_refused(run, turn, wrong):
        return "LM-4"
    if turn.phase == ESTIMATES:
        transcript = turn.state.memory.fixed_transcripts.received[int(first[1])]
        return _estimate(run.parameters, transcript, seen)
    return _report(turn, wanted, seen) if machine.well_formed(first, seen) else "LV-6"


def _tuple(value: object) -> object:
    """An estimate of the reference as the tuple that an agent under test sends."""
    return tuple(value) if isinstance(value, WideIntegers) else value


def _of_refused(run: ExpectedRun, turn: Turn, wrong: list[Tag]) -> bool:
    """Whether only what rests on refused learning messages is wrong: zeros had to stand there."""
    memory = turn.state.memory
    refused = {r.sender for r in memory.alarms if r.phase == LEARNING and r.alarm in REFUSALS}
    others = set(run.parameters.graph.neighbours(run.agent)) - refused
    about = {tag[1] for tag in wrong}
    return bool(others) and about <= refused


def _tags(
    run: ExpectedRun, turn: Turn, rounds: int, lost: set[Tag], found: Mapping[Tag, object]
) -> str:
    """The clause of a message with other tags than it must have."""
    if lost and all(_null_came(run, turn, about_text(tag)) for tag in lost):
        return "VB-5"
    if turn.round == rounds:
        return "VB-7"
    early = turn.round == rounds - 1 > 2 and dict(found) == dict(turn.state.inner.held)
    return "VB-2" if early else "VB-4"  # compares a round early, after flooding as it must


def _null_came(run: ExpectedRun, turn: Turn, about: str | None) -> bool:
    """Whether somebody has sent null for this tag in this broadcast, up to this round."""
    turns = [t for t in run.turns if t.phase == turn.phase and t.round <= turn.round]
    messages = [m for t in turns for m in t.inbox.values() if isinstance(m, Mapping)]
    entries = (entry for message in messages for entry in message.items())
    return any(value is None and about_text(tag) == about for tag, value in entries)


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
    """The clause of a wrong estimate: the mistake that explains it, else GV-2."""
    true = tuple(estimate(parameters, transcript))
    size = parameters.lattice.dimension
    if seen in (tuple(map(_word, true)), tuple(entry % WORD for entry in true)):
        return "GV-9"
    parts, found = _parts(true, size), _parts(seen, size)
    if sorted(parts) == sorted(found) and parts != found:
        return "GV-12"
    for divide in (_towards_zero, _in_floats):
        steps = parameters.lattice.schedule.gradient
        divided = [
            LearningMessage(message.model, divide(message.scaled_gradient, step) * step)
            for message, step in zip(transcript, steps, strict=True)
        ]
        if estimate(parameters, divided) == seen:
            return "AR-8"
    return "GV-2" if len(seen) == len(true) else "GV-3"


def _parts(entries: tuple[int, ...], size: int) -> list[tuple[int, ...]]:
    """The estimates of the weightings."""
    return [entries[begin : begin + size] for begin in range(0, len(entries), size)]


def _in_floats(gamma: IntVector, step: int) -> IntVector:
    """The quotients as floats give them, rounded down."""
    return np.array([math.floor(entry / step) for entry in gamma.tolist()], dtype=np.int64)


def _towards_zero(gamma: IntVector, step: int) -> IntVector:
    """The quotients towards zero."""
    quotient: IntVector = np.sign(gamma) * (np.abs(gamma) // step)
    return quotient


def alarm_clause(
    run: ExpectedRun,
    turn: Turn,
    usual: str,
    missing: tuple[AlarmLine, ...],
    others: tuple[AlarmLine, ...],
) -> str:
    """The clause of a wrong list of alarms: of the first that is missing, or else superfluous.

    Implements: CF-11.
    """
    if turn.phase in lean_blame.PHASES:
        return lean_blame.alarm_clause(run, turn, usual, missing, others)
    decisive = (missing or others)[0]
    clause = _missing(run, turn, missing, others) if missing else _superfluous(run, turn, others)
    if clause is not None:
        return clause
    if decisive.reason == Alarm.MALFORMED_MESSAGE.name and _has_entries(turn, decisive.sender):
        return "VB-9"
    if decisive.reason == Alarm.MALFORMED_VALUE.name and _shaped(run, turn, decisive):
        return OWN_FORMS[turn.phase]
    if decisive.reason in STATISTIC_ALARMS:
        found = (set(turn.alarms) - set(missing)) | set(others)
        return _statistics(run, turn, found) or usual
    return usual


def _has_entries(turn: Turn, sender: int | None) -> bool:
    """Whether a message of a broadcast has entries: then its tags decide if it is a mapping."""
    message = None if sender is None else turn.inbox.get(sender)
    return turn.phase in OWN_FORMS and isinstance(message, Mapping | Listed)


def _missing(
    run: ExpectedRun, turn: Turn, missing: tuple[AlarmLine, ...], others: tuple[AlarmLine, ...]
) -> str | None:
    """What explains that an alarm was not raised."""
    first, found = missing[0], set(others) | (set(turn.alarms) - set(missing))
    if first.reason == Alarm.NO_VALUE.name and _arrives(run, turn, first):
        return "VB-7"
    earlier = turn.state.memory.alarms + turn.state.inner.alarms
    if turn.phase == AGREEMENT and any(raised.sender == first.sender for raised in earlier):
        return "SA-3"
    other_edges = {attrs.evolve(other, sender=first.sender) for other in others}
    if first.reason == Alarm.DIFFERENT_VALUE.name and first in other_edges:
        return "VB-5"
    if _of_other_key(run, first) and _under_own_key(run, first) in found:
        return "LV-10"
    return None


def _superfluous(run: ExpectedRun, turn: Turn, others: tuple[AlarmLine, ...]) -> str | None:
    """What explains that an alarm was raised."""
    first, memory = others[0], turn.state.memory
    own_only = run.parameters.checked_keys is CheckedKeys.OWN
    if own_only and all(_of_other_key(run, other) for other in others):
        return "LV-10"
    if first.reason == Alarm.BROKEN_RELATION.name and not _can_be_tested(run, turn, first):
        return "LV-11"
    if first.reason == Alarm.NO_VALUE.name and _null_came(run, turn, first.about):
        return "VB-5"
    if first.reason in NORM_ALARMS and _is_refused(run, first):
        return "LM-4"
    silent = any(r.alarm is Alarm.OWN_UPDATE_OUT_OF_RANGE for r in memory.alarms)
    return "LM-4" if first.reason in SELF_ALARMS and silent else None


def _can_be_tested(run: ExpectedRun, turn: Turn, broken: AlarmLine) -> bool:
    """Whether there is a report about the agent of a relation and about all its neighbours."""
    graph, about = run.parameters.graph, str(broken.about).partition("/")[0]
    agent = whole_number(about)
    if agent is None or not 0 <= agent < graph.agents:
        return True
    reported = {tag[1] for tag in turn.state.inner.held}
    return {agent, *graph.neighbours(agent)} <= reported


def _is_refused(run: ExpectedRun, norm: AlarmLine) -> bool:
    """Whether the message that is said to be too long was refused when it came."""
    earlier = [a for t in run.turns if t.phase == LEARNING for a in t.alarms]
    names = {alarm.name for alarm in REFUSALS}
    place = (norm.sender, norm.round)
    return any((a.sender, a.round) == place and a.reason in names for a in earlier)


def _shaped(run: ExpectedRun, turn: Turn, malformed: AlarmLine) -> bool:
    """Whether a value is of the right shape, so that only its size is wrong."""
    if malformed.sender is None:
        return False
    message = turn.inbox.get(malformed.sender)
    entries = message.items() if isinstance(message, Mapping) else ()
    value = next((v for tag, v in entries if about_text(tag) == malformed.about), None)
    if turn.phase == KEYS:
        return type(value) is int
    parameters = run.parameters
    size = len(parameters.weightings) * parameters.lattice.dimension
    wanted = 4 * parameters.graph.agents if turn.phase == HASHES else size
    value = _tuple(value)
    return type(value) is tuple and len(value) == wanted and set(map(type, value)) == {int}


def _statistics(run: ExpectedRun, turn: Turn, found: set[AlarmLine]) -> str | None:
    """What explains other answers of the tests of GlobalValidate.

    Every mistake that is thought of gives a set of alarms; one that gives those found explains
    them.
    """
    parameters, inner = run.parameters, turn.state.inner
    if not isinstance(inner, BroadcastState):
        return None
    reports = _reports(parameters, inner.held)
    if not all(reports):
        return "GV-8"
    seen = {(a.about, a.reason) for a in found if a.reason in STATISTIC_ALARMS}
    lowest = [found[0][1] for found in reports]
    values = _values(parameters, lowest)
    if any(seen == _answers(parameters, values, *way) for way in INEXACT):
        return None
    for position in (0, -1):
        others = [dict(one).get(run.agent, one[position][1]) for one in reports]
        for chosen in (others, [one[position][1] for one in reports]):
            if seen == _answers(parameters, _values(parameters, chosen)):
                return "GV-4"
    for reasons in GROUPS:
        for wrapped in WRAPPED:
            if seen == _answers(parameters, values, wrapped, reasons):
                return "GV-9"
    return None


Compared = Callable[[int, int], tuple[float, float]]
"""What is compared in place of a statistic and its limit, Theta_opt^2 or Theta_het."""

OPTIMALITY, HETEROGENEITY = STATISTIC_ALARMS[:2], STATISTIC_ALARMS[2:]
GROUPS: tuple[tuple[str, ...], ...] = (
    STATISTIC_ALARMS,
    OPTIMALITY,
    HETEROGENEITY,
    STATISTIC_ALARMS[::2],
    STATISTIC_ALARMS[1::2],
    *((reason,) for reason in STATISTIC_ALARMS),
)
"""Tests in which one and the same mistake may be made: all, one statistic, one side, one test."""


def _word(value: int) -> int:
    """The value of a signed 64-bit word."""
    return (value + WORD // 2) % WORD - WORD // 2


def _real(value: int) -> float:
    """The nearest float."""
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _exact(value: int, limit: int) -> tuple[int, int]:
    """What must be compared."""
    return value, limit


INEXACT: tuple[tuple[Compared, tuple[str, ...]], ...] = (
    *(
        (lambda value, limit: (value, math.isqrt(limit)), reasons)
        for reasons in (OPTIMALITY, OPTIMALITY[:1], OPTIMALITY[1:])
    ),
    *((lambda value, limit: (_real(value), _real(limit)), reasons) for reasons in GROUPS),
)
"""Comparisons in some tests that break the clause of the test itself."""

WRAPPED: tuple[Compared, ...] = (
    lambda value, limit: (_word(value), limit),
    lambda value, limit: (value % WORD, limit),
    lambda value, limit: (_word(value), _word(limit)),
    lambda value, limit: (value % WORD, limit % WORD),
    lambda value, limit: (value, _word(limit)),
    lambda value, limit: (value, limit % WORD),
)
"""Comparisons in 64 bits: of the statistic alone, of its limit alone or of both, signed or not."""


def _values(parameters: ValidParameters, chosen: list[tuple[int, ...]]) -> list[tuple[int, int]]:
    """Both statistics of every weighting."""
    return [statistics(parameters, index, chosen) for index in range(len(parameters.weightings))]


def _answers(
    parameters: ValidParameters,
    values: list[tuple[int, int]],
    compared: Compared = _exact,
    reasons: tuple[str, ...] = STATISTIC_ALARMS,
) -> set[tuple[str | None, str]]:
    """The alarms of GV-5, GV-6 and GV-13 with another comparison in the tests of these reasons."""
    alarms: set[tuple[str | None, str]] = set()
    for weighting, (drift, spread) in zip(parameters.weightings, values, strict=True):
        tests = (
            (drift, weighting.optimality**2, operator.gt),
            (drift, weighting.optimality_low**2, operator.lt),
            (spread, weighting.heterogeneity, operator.gt),
            (spread, weighting.heterogeneity_low, operator.lt),
        )
        for reason, (value, limit, fails) in zip(STATISTIC_ALARMS, tests, strict=True):
            if fails(*(compared if reason in reasons else _exact)(value, limit)):
                alarms.add((weighting.name, reason))
    return alarms


def _reports(
    parameters: ValidParameters, held: Mapping[Tag, Any]
) -> list[list[tuple[int, tuple[int, ...]]]]:
    """For each agent its reporters in increasing order, each with its estimate."""
    graph = parameters.graph
    return [
        [(v, held[v, u]) for v in graph.neighbours(u) if (v, u) in held]
        for u in range(graph.agents)
    ]


def _arrives(run: ExpectedRun, turn: Turn, missing: AlarmLine) -> bool:
    """Whether a value for the tag comes in the compare round, where nobody may adopt it."""
    machine = Codec(run.parameters).broadcasts[turn.phase]
    messages = [m for m in turn.inbox.values() if isinstance(m, Mapping)]
    return any(_holds(machine, message, missing.about) for message in messages)


def _holds(machine: Tagged, message: Mapping[Tag, object], about: str | None) -> bool:
    return any(
        tag in machine.order and about_text(tag) == about and machine.well_formed(tag, value)
        for tag, value in message.items()
    )


def _of_other_key(run: ExpectedRun, alarm: AlarmLine) -> bool:
    """Whether this is a check of hashes under somebody else's key."""
    named = alarm.reason in HASH_ALARMS and alarm.about is not None
    return named and str(alarm.about).partition("/")[2] != str(run.agent)


def _under_own_key(run: ExpectedRun, alarm: AlarmLine) -> AlarmLine:
    """The same check of hashes under the key of the agent itself."""
    checked = str(alarm.about).partition("/")[0]
    return attrs.evolve(alarm, about=f"{checked}/{run.agent}")
