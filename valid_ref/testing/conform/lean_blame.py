"""Which clause a difference in lean validation breaks, as far as the answer itself tells."""

from collections.abc import Iterator, Mapping

from valid_ref.alarms import Alarm
from valid_ref.machine import Message
from valid_ref.protocols import global_validate, lean
from valid_ref.protocols.flood import SUM, TOTAL, Flood
from valid_ref.protocols.local_validate import Transcript, transcript_report
from valid_ref.protocols.parameters import ValidParameters
from valid_ref.testing.conform.case import ExpectedRun, Turn
from valid_ref.wide import WideIntegers
from valid_ref.wire import AlarmLine, Codec, about_text

PHASES = (*lean.SLOTS, lean.COMPARE)

FORMS = {
    lean.FIXED: "LE-7",
    lean.OPENING: "LE-10",
    lean.REPORTED: "LE-11",
    SUM: "LE-8",
    TOTAL: "LE-8",
}
"""The clauses of the form of values, by slot."""

INTEGERS = {phase: FORMS[slot] for phase, slot in lean.SLOTS.items()}
"""The clauses that make integers of an agent's own values."""

CHECKED = (
    "BROKEN_RELATION",
    "WRONG_TOTAL",
    "NOT_OPTIMAL",
    "TOO_OPTIMAL",
    "TOO_HETEROGENEOUS",
    "TOO_HOMOGENEOUS",
)
"""Alarms of checks that are skipped where a value is missing."""

OF_A_VALUE = ("MALFORMED_VALUE", "EARLY_VALUE", "LATE_VALUE", "DIFFERENT_VALUE")
"""Alarms over one value of a message, of which there is at most one."""


def message_clause(
    run: ExpectedRun, turn: Turn, *, usual: str, expected: Message, found: Message
) -> str:
    """The clause of a wrong message that is no silence; `usual` is what the oracle says.

    Implements: CF-11.
    """
    if turn.phase == lean.COMPARE:
        return usual if type(found) is int else "LE-5"
    machine = _flood(run, turn)
    if not isinstance(found, Mapping) or not isinstance(expected, Mapping):
        return "LE-5"
    unknown = [tag for tag in found if tag not in machine.order]
    if unknown:
        return "LE-8" if _on_tree(unknown[0]) else "LE-5"
    own = run.agent, lean.REPORTED
    value = found.get(own)
    if usual == "LE-11" and isinstance(value, tuple) and value in _other_reports(run, turn):
        return "LE-10"
    return usual


def _on_tree(tag: object) -> bool:
    return isinstance(tag, tuple) and tag[-1] in {SUM, TOTAL}


def _flood(run: ExpectedRun, turn: Turn) -> Flood:
    machine = Codec(run.parameters).broadcasts[turn.phase]
    assert isinstance(machine, Flood)  # noqa: S101 - of a phase in lean.SLOTS
    return machine


def _other_reports(run: ExpectedRun, turn: Turn) -> Iterator[tuple[int, ...]]:
    """The reports under keys that a mistake gives: of fitting openings only, or of some."""
    parameters, memory = run.parameters, turn.state.memory
    held, own = memory.held, memory.fixed_transcripts.own
    opened = [v for v in range(parameters.graph.agents) if (v, lean.OPENING) in held]
    wrong = {raised.about for raised in memory.alarms if raised.alarm is Alarm.OPENING_MISMATCH}
    near = {run.agent, *parameters.graph.neighbours(run.agent)}
    kinds: tuple[list[int], ...] = (
        [v for v in opened if v not in wrong],
        [v for v in opened if v not in wrong and (v, lean.FIXED) in held],
        [v for v in opened if v != run.agent],
        [v for v in opened if v in near],
        [run.agent],
        [],
    )
    for some in kinds:
        keys = lean.common_keys(
            parameters, {(v, lean.OPENING): held[v, lean.OPENING] for v in some}
        )
        yield _report(parameters, keys, own)
        yield _report(parameters, keys[::-1], own)


def _report(parameters: ValidParameters, keys: tuple[int, ...], own: Transcript) -> tuple[int, ...]:
    estimate = global_validate.estimate(parameters, own)
    vectors = lean.vector_hashes(parameters, keys, estimate)
    return lean.report_of(parameters, transcript_report(parameters, keys, own), vectors)


def alarm_clause(  # noqa: PLR0911 - one return for each clause
    run: ExpectedRun,
    turn: Turn,
    usual: str,
    missing: tuple[AlarmLine, ...],
    others: tuple[AlarmLine, ...],
) -> str:
    """The clause of a wrong list of alarms in lean validation.

    Implements: CF-11.
    """
    decisive = (missing or others)[0]
    slot = str(decisive.about).partition("/")[2]
    if decisive.reason == Alarm.NO_VALUE.name and not missing and not _ends(run, turn):
        return "LE-5"
    if slot in {SUM, TOTAL} or _sum_elsewhere(run, turn, decisive):
        return "LE-8"
    if decisive.reason == Alarm.OPENING_MISMATCH.name and not missing:
        return "LE-9"
    places = {(one.sender, one.about) for one in others if one.reason in OF_A_VALUE}
    if missing and decisive.reason in OF_A_VALUE and (decisive.sender, decisive.about) in places:
        return "LE-6"
    if decisive.reason == Alarm.MALFORMED_MESSAGE.name and turn.phase in lean.SLOTS:
        return "VB-9"
    if decisive.reason == Alarm.MALFORMED_VALUE.name:
        return FORMS[slot] if slot in FORMS and _shaped(run, turn, decisive) else "VB-9"
    if decisive.reason in CHECKED and not missing and _something_is_missing(run, turn):
        return "LE-12"
    edges = {(one.reason, one.about) for one in others if one.sender != decisive.sender}
    if missing and (decisive.reason, decisive.about) in edges:
        return "LE-6"
    return usual


def _ends(run: ExpectedRun, turn: Turn) -> bool:
    """Whether a flood ends with this round."""
    return turn.phase in lean.SLOTS and turn.round == _flood(run, turn).rounds


def _sum_elsewhere(run: ExpectedRun, turn: Turn, alarm: AlarmLine) -> bool:
    """Whether an unknown tag is one of the tree that is not public on this edge."""
    if alarm.reason != Alarm.UNKNOWN_TAG.name or alarm.sender is None or turn.phase != lean.FIX:
        return False
    message, order = turn.inbox.get(alarm.sender), _flood(run, turn).order
    tags = message if isinstance(message, Mapping) else ()
    strange = [tag for tag in tags if tag not in order]
    return not strange and any(_on_tree(tag) for tag in tags)


def _shaped(run: ExpectedRun, turn: Turn, malformed: AlarmLine) -> bool:
    """Whether a value has as many integers as it must, so that only their size is wrong."""
    message = None if malformed.sender is None else turn.inbox.get(malformed.sender)
    entries = message.items() if isinstance(message, Mapping) else ()
    value = next((v for tag, v in entries if about_text(tag) == malformed.about), None)
    value = tuple(value) if isinstance(value, WideIntegers) else value
    size = len(lean.limits_of(run.parameters)[lean.SLOTS[turn.phase]])
    return type(value) is tuple and len(value) == size and set(map(type, value)) == {int}


def _something_is_missing(run: ExpectedRun, turn: Turn) -> bool:
    """Whether a flooded value, or the total, never came."""
    turns = [one for one in run.turns if one.number <= turn.number and one.phase in lean.SLOTS]
    return any(a.reason == Alarm.NO_VALUE.name for one in turns for a in one.alarms)
