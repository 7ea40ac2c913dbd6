"""Whatever a Byzantine agent says, or does not say, in whatever phase: alarms, never exceptions."""

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import alarms, edited, network, revalued, run, silence
from valid_ref.alarms import Alarm, Raised
from valid_ref.graph_families import complete, path
from valid_ref.machine import CausalView, Edge, Message
from valid_ref.protocols.learn import LearningMessage
from valid_ref.protocols.valid import COMMITMENTS, ESTIMATES, HASHES, KEYS, Valid
from valid_ref.reading import Reading

LEARN, AGREEMENT = "LearnModel", "ValidationStateAgreement"
BROADCASTS = (KEYS, HASHES, ESTIMATES, COMMITMENTS)
PHASES = (LEARN, *BROADCASTS, AGREEMENT)
ROUNDS = {LEARN: 3, AGREEMENT: 2}
TAGS = {KEYS: (2, "key"), HASHES: (2, 1), ESTIMATES: (2, 1), COMMITMENTS: (2, 1)}


def parameters_for(phase: str):
    """Path 0-1-2; the commitments exist only in the printed order."""
    reading = Reading.without("P09") if phase == COMMITMENTS else Reading()
    return network(path(3), reading=reading)


def attacked(phase: str, change, rounds=None):
    parameters = parameters_for(phase)
    attack = edited(phase, change, rounds=rounds)
    execution = run(parameters, attack, byzantine=[2])
    assert len(execution.rounds) == Valid(parameters).rounds
    return execution


@pytest.mark.checks("VA-1", "MO-8", "MO-7", "LV-11", "GV-8", "LM-4", "VB-9", "SA-4")
@pytest.mark.parametrize("phase", PHASES)
def test_silence_in_one_phase_is_an_alarm_a_round_and_the_schedule_goes_on(phase: str) -> None:
    execution = attacked(phase, silence)
    missing = [r for r in alarms(execution, 1) if r.alarm is Alarm.MISSING_MESSAGE]
    rounds = range(1, ROUNDS.get(phase, 3) + 1)
    if phase == AGREEMENT:
        final = execution.states[1].memory.alarms
        assert final == (Raised(Alarm.MISSING_MESSAGE, phase, 1, 2),)
    else:
        assert missing == [Raised(Alarm.MISSING_MESSAGE, phase, r, 2) for r in rounds]
    if phase in TAGS:
        assert Raised(Alarm.NO_VALUE, phase, 3, None, TAGS[phase]) in alarms(execution, 0)
    assert execution.honest_valid == ()
    assert execution.output(0) is execution.output(1) is None


@pytest.mark.checks("VA-1", "MO-8")
def test_silence_for_ever_does_not_stop_the_others() -> None:
    def mute(view: CausalView) -> dict[Edge, Message]:
        return {(2, 0): None, (2, 1): None}

    parameters = network(complete(3))
    execution = run(parameters, mute, byzantine=[2])
    assert len(execution.rounds) == 3 + 4 * 3 - 1
    assert execution.honest_valid == ()


def no_messages(phase: str) -> Iterator[object]:
    yield from (7, 1.5, "x", b"x", (), [], [True], {1}, object(), np.zeros(2), range(3), Alarm)
    yield from (np.bool_(0), lambda: None, LearningMessage(None, "x"), ((2, "key"), 5), {}.items())
    if phase != AGREEMENT:
        yield from (True, False)
    if phase not in BROADCASTS:
        yield from ({}, {"model": 0}, 1, 0)


CASES = [(phase, i) for phase in PHASES for i, _ in enumerate(no_messages(phase))]


@pytest.mark.checks("MO-8", "VB-9", "SA-4", "LM-4", "VA-1")
@pytest.mark.parametrize(("phase", "index"), CASES)
def test_what_is_no_message_of_the_phase_is_malformed(phase: str, index: int) -> None:
    message = list(no_messages(phase))[index]
    execution = attacked(phase, lambda _said: message, rounds=[1])
    raised = execution.states[1].memory.alarms
    assert raised[0] == Raised(Alarm.MALFORMED_MESSAGE, phase, 1, 2)
    assert 1 not in execution.honest_valid


def no_integers() -> Iterator[object]:
    """Things in the place of an integer."""
    yield from (True, 0.0, float("nan"), "0", None, np.int64(0), np.uint64(1), np.array(0))
    yield from ((0,), [0], object(), 2**63, -(2**200), 2**200)


def no_values(phase: str) -> Iterator[object]:
    """Things in the place of a key, of 4n hashes, or of d numbers; None is silence."""
    yield from (True, 1.0, -1, "x", [0] * 12, object(), {}, (), np.zeros(12, dtype=np.int64))
    yield from (((0,) * 12,), (0,) * 3, (0,) * 4, (0,) * 11, (0,) * 13, np.int64(1), {0: 0}.keys())
    length = {ESTIMATES: 2}.get(phase, 12)
    for bad in no_integers():
        if phase == KEYS:
            yield (bad,) if bad is None else bad
        else:
            yield (*(0,) * (length - 1), bad)
            yield (bad, *(0,) * (length - 1))
    if phase in (HASHES, COMMITMENTS):
        yield (-1,) * 12
        yield (*(0,) * 11, 2**61 - 1)
    if phase == ESTIMATES:
        yield (0, 2**80)
    if phase == KEYS:
        yield 2**61 - 1


VALUES = [(phase, i) for phase in BROADCASTS for i, _ in enumerate(no_values(phase))]


@pytest.mark.checks("LV-4", "LV-6", "GV-3", "VB-9", "VB-8", "MO-7")
@pytest.mark.parametrize(("phase", "index"), VALUES)
def test_what_is_no_value_of_its_tag_is_malformed_and_counts_as_null(phase, index) -> None:
    bad, tag = list(no_values(phase))[index], TAGS[phase]
    execution = attacked(phase, revalued(tag, lambda _value: bad))
    assert [r for r in alarms(execution, 1) if r.phase == phase] == [
        Raised(Alarm.MALFORMED_VALUE, phase, 1, 2, tag),
        Raised(Alarm.MALFORMED_VALUE, phase, 3, 2, tag),
        Raised(Alarm.NO_VALUE, phase, 3, None, tag),
    ]
    assert [r for r in alarms(execution, 0) if r.phase == phase] == [
        Raised(Alarm.NO_VALUE, phase, 3, None, tag)
    ]


@pytest.mark.checks("VB-9")
@pytest.mark.parametrize("phase", BROADCASTS)
@pytest.mark.parametrize("tag", [(3, "key"), (2, 0), (1, 1), "key", None, 7, (2,), (2, "keys")])
def test_a_tag_that_is_not_public_is_an_alarm(phase: str, tag: object) -> None:
    execution = attacked(phase, lambda said: {**said, tag: 5}, rounds=[1])
    assert alarms(execution, 1)[0] == Raised(Alarm.UNKNOWN_TAG, phase, 1, 2)


scraps = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=2),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=12).map(tuple)
        | st.dictionaries(st.tuples(st.integers(0, 3), st.integers(0, 3) | st.just("key")), inner)
        | st.builds(LearningMessage, inner, inner)
    ),
    max_leaves=6,
)


@pytest.mark.checks("MO-8", "VB-9", "SA-4", "LV-11", "GV-8", "LM-4")
@given(st.lists(scraps, min_size=14, max_size=14), st.integers(1, 14))
def test_nonsense_in_every_round_never_raises(words: list[object], first: int) -> None:
    """From a round on the Byzantine agent says one piece of nonsense after the other."""

    def babble(view: CausalView) -> dict[Edge, Message]:
        number = len(view.history)
        return {(2, 1): words[number]} if number + 1 >= first else {}

    execution = run(network(path(3)), babble, byzantine=[2])
    assert len(execution.rounds) == 14
    for spoken in execution.rounds:
        assert spoken.said[0] is not None
        assert spoken.said[1] is not None
