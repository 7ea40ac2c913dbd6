"""The place and the order of alarms, told from each alarm alone (MO-12, LE-12)."""

import pytest
from hypothesis import given

from valid_ref.alarms import Alarm, Raised
from valid_ref.protocols import agreement, global_validate, lean, learn, local_validate, valid
from valid_ref.protocols.flood import SUM, TOTAL
from valid_ref.protocols.parameters import ValidParameters
from valid_ref.runs import run
from valid_ref.scenario import Scenario
from valid_ref.testing.coverage import named_scenarios
from valid_ref.testing.strategies import LEAN, adversarial_scenarios

NORMS = (Alarm.MODEL_NORM, Alarm.GRADIENT_NORM)
HASH_CHECKS = (Alarm.INCONSISTENT_HASHES, Alarm.BROKEN_RELATION, Alarm.SELF_MISMATCH)
ESTIMATE_CHECKS = (Alarm.INCONSISTENT_ESTIMATES, Alarm.SELF_ESTIMATE_MISMATCH)
STATISTICS = (
    Alarm.NOT_OPTIMAL,
    Alarm.TOO_OPTIMAL,
    Alarm.TOO_HETEROGENEOUS,
    Alarm.TOO_HOMOGENEOUS,
)
WHOLE = (Alarm.MISSING_MESSAGE, Alarm.MALFORMED_MESSAGE, Alarm.UNKNOWN_TAG)
VALUES = (*WHOLE, Alarm.MALFORMED_VALUE, Alarm.DIFFERENT_VALUE)
FLOODED = (*VALUES, Alarm.EARLY_VALUE, Alarm.LATE_VALUE)
FLOODS = (lean.FIX, lean.OPEN, lean.REPORT)

Key = tuple[object, ...]


def _tag(raised: Raised) -> tuple[int, int]:
    """Where a tag stands in the public order; a key has the only slot of its source."""
    if not isinstance(raised.about, tuple):
        return -1, -1
    source, slot = raised.about
    return source, -1 if slot == "key" else slot


def _broadcast(raised: Raised) -> Key:
    last = raised.alarm is Alarm.NO_VALUE
    sender = -1 if raised.sender is None else raised.sender
    return (raised.round, last, sender, 0 if last else VALUES.index(raised.alarm), _tag(raised))


def position(parameters: ValidParameters, raised: Raised) -> Key:
    """The place of an alarm in the order of MO-12, as a key to sort by."""
    names = [weighting.name for weighting in parameters.weightings]
    sender = -1 if raised.sender is None else raised.sender
    if raised.phase == learn.PHASE:
        return 1, raised.round, raised.alarm is not Alarm.OWN_UPDATE_OUT_OF_RANGE, sender
    if raised.alarm in NORMS:
        assert raised.phase == local_validate.PHASE
        return 2, sender, raised.round, NORMS.index(raised.alarm)
    if raised.phase in (valid.KEYS, valid.HASHES):
        return 3, raised.phase == valid.HASHES, *_broadcast(raised)
    if raised.alarm in HASH_CHECKS:
        assert (raised.phase, raised.round) == (local_validate.PHASE, parameters.graph.agents)
        assert isinstance(raised.about, tuple)
        return 4, raised.about[1], HASH_CHECKS.index(raised.alarm), raised.about[0], sender
    if raised.alarm in ESTIMATE_CHECKS:
        return 5, 1, ESTIMATE_CHECKS.index(raised.alarm), raised.about, sender
    if raised.alarm in STATISTICS:
        assert (raised.phase, raised.round) == (global_validate.PHASE, parameters.graph.agents)
        return 5, 2, names.index(str(raised.about)), STATISTICS.index(raised.alarm)
    if raised.phase == valid.ESTIMATES:
        return 5, 0, *_broadcast(raised)
    assert raised.phase == agreement.PHASE
    return 6, raised.round, sender


def _flooded(raised: Raised) -> Key:
    """Within a message the whole of it first, then a place for each tag: values, sums, the total.

    At the end of a phase the tags that have no value, in the same order.
    """
    sender = -1 if raised.sender is None else raised.sender
    if raised.alarm in WHOLE:
        return (raised.round, False, sender, WHOLE.index(raised.alarm))
    assert raised.alarm is Alarm.NO_VALUE or raised.alarm in FLOODED
    assert isinstance(raised.about, tuple)
    source, slot = raised.about
    kind = {SUM: 1, TOTAL: 2}.get(slot, 0)
    return (raised.round, raised.alarm is Alarm.NO_VALUE, sender, len(WHOLE), kind, source)


def lean_position(parameters: ValidParameters, raised: Raised) -> Key:
    """The place of an alarm of a run with lean validation: LE-12 and the paragraph after it."""
    names = [weighting.name for weighting in parameters.weightings]
    if raised.phase not in (*FLOODS, lean.COMPARE):
        return position(parameters, raised)
    phase = (*FLOODS, lean.COMPARE).index(raised.phase)
    match raised.alarm, raised.about:
        case Alarm.OPENING_MISMATCH, about:
            return 3, phase, 1, about
        case Alarm.RECORD_MISMATCH, (agent, slot):
            return 3, phase, 1, agent, (lean.FIXED, lean.REPORTED).index(slot)
        case Alarm.BROKEN_RELATION, (agent, key):
            return 3, phase, 2, key, agent
        case Alarm.WRONG_TOTAL, name:
            return 3, phase, 3, names.index(str(name))
        case alarm, name if alarm in STATISTICS:
            return 3, phase, 4, names.index(str(name)), STATISTICS.index(alarm)
        case Alarm.DIGEST_MISMATCH, _:
            return 3, phase, 0, raised.sender
        case _ if raised.phase == lean.COMPARE:
            return 3, phase, 0, raised.sender
    return 3, phase, 0, *_flooded(raised)


def _check(scenario: Scenario) -> None:
    execution = run(scenario).execution
    position_of = position if execution.parameters.lean is None else lean_position
    for agent in execution.honest:
        alarms = execution.states[agent].memory.alarms
        places = [position_of(execution.parameters, raised) for raised in alarms]
        assert places == sorted(places)


@pytest.mark.checks("MO-12", "LE-12")
def test_named_attacks_cause_alarms_in_the_order_of_the_specification() -> None:
    for scenario in named_scenarios():
        _check(scenario)


@pytest.mark.checks("MO-12")
@given(adversarial_scenarios())
def test_alarms_stand_in_the_order_of_the_specification(scenario: Scenario) -> None:
    _check(scenario)


@pytest.mark.checks("MO-12", "LE-12")
@given(adversarial_scenarios(validations=LEAN))
def test_alarms_of_lean_validation_stand_in_the_order_of_its_chapter(scenario: Scenario) -> None:
    _check(scenario)
