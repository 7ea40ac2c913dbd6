"""The edit language: what each edit sends, in which order, and what is refused."""

import attrs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support import same_message
from valid_ref.adversary import edits as language
from valid_ref.adversary.actions import (
    GARBAGE,
    Entries,
    Entry,
    Flag,
    Integer,
    Integers,
    Learning,
    Nothing,
    Real,
    Scene,
    Text,
)
from valid_ref.adversary.edits import (
    Add,
    Drop,
    Edit,
    EditError,
    Edits,
    Forge,
    Replay,
    Scale,
    Set,
    Swap,
    without_alarm,
)
from valid_ref.alarms import Alarm
from valid_ref.document import DocumentError, structure, unstructure
from valid_ref.guarantees.local import undetected
from valid_ref.oracle import recording_digest
from valid_ref.protocols.learn import LearningMessage
from valid_ref.runs import run
from valid_ref.scenario import Scenario, parts, scenario_from_json, scenario_text
from valid_ref.schedule import Precision
from valid_ref.wire import is_mapping

LEARN, KEYS, HASHES = "LearnModel", "LocalValidate.keys", "LocalValidate.hashes"
ESTIMATES, AGREEMENT = "GlobalValidate", "ValidationStateAgreement"
PHASES = {LEARN: 4, KEYS: 4, HASHES: 4, ESTIMATES: 4, AGREEMENT: 3}

BASE = Scenario(
    graph=parts.Family("complete:4"),
    loss=parts.RandomQuadratics(2),
    rounds=4,
    precision=Precision(10, 8),
    schedule=parts.ConstantSteps(0.125, 0.25),
    bounds=parts.NoBounds(),
    checks=(parts.Check("t", parts.Polynomial(), parts.ConfiguredThresholds(1e6, 1e9)),),
    byzantine=(3,),
    seed=0,
    keys=(1234567, 7654321, 5555555, 987654321),
)
"""With named keys, since others are made of the whole scenario, attack and all."""


def played(*edits: Edit, **changes):
    return run(attrs.evolve(BASE, attack=Edits(edits), **changes))


def on_edge(finished, phase: str, number: int, edge: tuple[int, int]):
    [spoken] = [s for s in finished.execution.rounds if (s.phase, s.number) == (phase, number)]
    return spoken.on_edge(*edge)


def reasons(finished, agent: int) -> set[str]:
    alarms = finished.execution.states[agent].memory.alarms
    return {raised.alarm.name for raised in alarms if raised.phase != AGREEMENT}


@pytest.mark.checks("AD-9")
def test_the_empty_list_is_an_honest_run() -> None:
    honest = run(attrs.evolve(BASE, byzantine=()))
    listed = played()
    for one, other in zip(honest.execution.rounds, listed.execution.rounds, strict=True):
        assert not other.deviations
        assert all(same_message(one.said[v], other.said[v]) for v in range(4))
    assert listed.execution.honest_valid == (0, 1, 2)


@pytest.mark.checks("AD-9")
def test_every_edit_on_a_learning_message() -> None:
    usual = on_edge(played(), LEARN, 2, (3, 0))
    x, gamma, one = usual.model, usual.scaled_gradient, np.array([1, 0])

    def sent(*actions):
        return on_edge(played(*(Edit(LEARN, 2, 3, 0, a) for a in actions)), LEARN, 2, (3, 0))

    first = on_edge(played(), LEARN, 1, (3, 0))
    expected = {
        Drop(): None,
        Replay(1): first,
        Add((1, 2, 3)): LearningMessage(x + np.array([1, 2]), gamma + 3 * one),
        Add((5,), "scaled_gradient"): LearningMessage(x, gamma + 5 * one),
        Scale(-2.0): LearningMessage(-2 * x, -2 * gamma),
        Scale(0.5, "model"): LearningMessage(np.array([round(e / 2) for e in x.tolist()]), gamma),
        Set(Integer(7)): 7,
        Set(Learning((1, 2), (3, 4))): LearningMessage(np.array([1, 2]), np.array([3, 4])),
        Forge("model", Integers((9, 9))): LearningMessage(np.array([9, 9]), gamma),
        Forge("model", Text("x")): LearningMessage("x", gamma),
    }
    for action, message in expected.items():
        assert same_message(sent(action), message), action
    assert same_message(sent(Add((1,)), Scale(3.0)), LearningMessage(3 * (x + one), 3 * gamma))
    assert same_message(sent(Scale(3.0), Add((1,))), LearningMessage(3 * x + one, 3 * gamma))
    assert sent(Drop(), Add((1,)), Scale(2.0), Forge("model", Integer(1))) is None
    for unfit in (Add((1,) * 5), Add((1,), "norm"), Scale(2.0, "0/1"), Forge("norm", Flag(True))):
        assert sent(unfit) == GARBAGE


@pytest.mark.checks("AD-9")
def test_every_edit_on_a_broadcast_message() -> None:
    usual = on_edge(played(), HASHES, 1, (3, 0))
    report = usual[3, 1]

    def sent(*actions):
        return on_edge(played(*(Edit(HASHES, 1, 3, 0, a) for a in actions)), HASHES, 1, (3, 0))

    bumped = (report[0] + 1, *report[1:])
    assert sent(Add((1,), "3/1")) == {**usual, (3, 1): bumped}
    assert sent(Add((1,)))[3, 1] == bumped
    assert sent(Scale(0.0, "3/1"))[3, 1] == (0,) * 16
    assert sent(Forge("3/1", Nothing()))[3, 1] is None
    assert sent(Forge("3/1", Integers((1, 2))))[3, 1] == (1, 2)
    assert sent(Forge("0/key", Integer(4)))[0, "key"] == 4
    assert sent(Forge("nonsense", Real(0.5)))["nonsense"] == 0.5
    entries = (Entry(3, 0, Integers((1,))), Entry(3, None, Integer(2)))
    assert sent(Set(Entries(entries))) == {(3, 0): (1,), (3, "key"): 2}
    for unfit in (Add((1,), "model"), Add((1,) * 17, "3/1"), Scale(2.0, "0/1"), Add((1,), "1/")):
        assert sent(unfit) == GARBAGE
    for number, message in ((1, False), (2, GARBAGE), (3, GARBAGE)):
        words = (Scale(2.0), Add((1,)), Forge("x", Flag(True)))[number - 1]
        finished = played(Edit(AGREEMENT, number, 3, 0, words))
        assert on_edge(finished, AGREEMENT, number, (3, 0)) == (message or GARBAGE)


@pytest.mark.checks("AD-9", "VB-9")
def test_a_message_with_a_public_tag_twice_is_no_mapping() -> None:
    """With an unknown tag twice it is one, and keeps both entries."""

    def finished(*entries: Entry):
        return played(Edit(KEYS, 1, 3, 0, Set(Entries(entries))))

    key, unknown = Entry(3, None, Integer(2)), Entry(9, 0, Integer(1))
    twice = finished(key, unknown, key)
    assert not is_mapping(on_edge(twice, KEYS, 1, (3, 0)))
    assert reasons(twice, 0) == {Alarm.MALFORMED_MESSAGE.name}
    fine = finished(key, unknown, unknown)
    assert len(on_edge(fine, KEYS, 1, (3, 0))) == 3
    assert Alarm.UNKNOWN_TAG.name in reasons(fine, 0)
    assert Alarm.MALFORMED_MESSAGE.name not in reasons(fine, 0)
    learning = played(Edit(LEARN, 1, 3, 0, Set(Entries((key, key)))))
    assert Alarm.MALFORMED_MESSAGE.name in reasons(learning, 0)


@pytest.mark.checks("AD-9")
def test_replay_and_swap_see_what_was_edited_before() -> None:
    """A replayed message is the one that went out, not the one that honest code had made."""
    lie, other = Set(Learning((1, 1), (2, 2))), Set(Learning((5, 5), (6, 6)))
    finished = played(
        Edit(LEARN, 1, 3, 0, lie),
        Edit(LEARN, 3, 3, 0, Replay(1)),
        Edit(LEARN, 3, 3, 1, Replay(1)),
        Edit(LEARN, 2, 3, 1, other),
        Edit(LEARN, 2, 3, 2, Swap(1)),
        Edit(LEARN, 2, 3, 1, Swap(0)),
    )
    assert on_edge(finished, LEARN, 3, (3, 0)).model.tolist() == [1, 1]
    assert same_message(on_edge(finished, LEARN, 3, (3, 1)), on_edge(played(), LEARN, 1, (3, 1)))
    assert on_edge(finished, LEARN, 2, (3, 2)).model.tolist() == [5, 5]
    assert on_edge(finished, LEARN, 2, (3, 1)) is finished.execution.rounds[1].said[3]
    every = played(Edit(AGREEMENT, None, 3, None, Replay(2)))
    assert on_edge(every, AGREEMENT, 1, (3, 0)) is False


@pytest.mark.checks("AD-9")
def test_a_round_or_a_receiver_left_out_means_all() -> None:
    finished = played(Edit(LEARN, None, 3, None, Drop()))
    silent = [(s.number, e) for s in finished.execution.rounds for e in s.deviations]
    assert silent == [(t, (3, v)) for t in (1, 2, 3, 4) for v in (0, 1, 2)]
    for agent in (0, 1, 2):
        assert "MISSING_MESSAGE" in reasons(finished, agent)


@pytest.mark.checks("AD-9", "AD-4")
@pytest.mark.parametrize(
    ("edit", "word"),
    [
        (Edit(LEARN, 1, 2, 0, Drop()), "2 is not one of the Byzantine agents"),
        (Edit(LEARN, 1, 3, 3, Drop()), r"\(3, 3\) is not an edge"),
        (Edit(LEARN, 1, 3, 7, Drop()), r"\(3, 7\) is not an edge"),
        (Edit(LEARN, 1, 3, 0, Swap(9)), r"\(3, 9\) is not an edge"),
        (Edit("Learning", 1, 3, 0, Drop()), "no such phase"),
        (Edit("LocalValidate.commitments", 1, 3, 0, Drop()), "no such phase"),
        (Edit(LEARN, 5, 3, 0, Drop()), "rounds 1..4"),
        (Edit(LEARN, 0, 3, 0, Drop()), "rounds 1..4"),
        (Edit(LEARN, 2, 3, 0, Replay(2)), "no earlier round"),
        (Edit(LEARN, None, 3, 0, Replay(4)), "no earlier round"),
    ],
)
def test_an_edit_that_has_no_place_is_named_and_refused(edit: Edit, word: str) -> None:
    with pytest.raises(EditError, match=word) as caught:
        played(Edit(LEARN, 1, 3, 0, Drop()), edit)
    assert str(edit) in caught.value.message


@pytest.mark.checks("AD-9")
def test_an_edit_may_speak_in_the_commitments_of_the_printed_text() -> None:
    edit = Edit("LocalValidate.commitments", 1, 3, None, Set(Entries()))
    assert "NO_VALUE" in reasons(played(edit, without=("P09",)), 0)


@pytest.mark.checks("AD-9")
def test_a_liar_may_betray_itself_unless_it_is_told_to_keep_quiet() -> None:
    lie = Edit(HASHES, None, 3, None, Add((1,), "3/1"))
    for more, heard in (((), {Alarm.NEIGHBOUR_ALARM}), (without_alarm(3), set())):
        finished = played(lie, *more)
        alarms = finished.execution.states[0].memory.alarms
        found = {r.alarm for r in alarms if r.phase == AGREEMENT and r.sender == 3}
        assert found == heard
        assert finished.execution.honest_valid == ()


numbers = st.integers(-(2**70), 2**70)
vectors = st.lists(numbers, max_size=6).map(tuple)
plain = st.one_of(
    st.just(Nothing()),
    st.builds(Flag, st.booleans()),
    st.builds(Integer, numbers),
    st.builds(Real, st.floats(allow_nan=False, allow_infinity=False)),
    st.builds(Text, st.text()),
    st.builds(Integers, vectors),
)
entries = st.builds(Entry, st.integers(-1, 4), st.none() | st.integers(-1, 4), plain)
values = st.one_of(
    plain,
    st.builds(Learning, vectors, vectors),
    st.builds(Entries, st.lists(entries, max_size=4).map(tuple)),
)
fields = st.sampled_from(["", "model", "scaled_gradient", "3/key", "0/key", "3/0", "0/1"])
fields |= st.text(max_size=6)
factors = st.floats(allow_nan=False, allow_infinity=False)
fitting = st.one_of(
    st.just(Drop()),
    st.builds(Add, vectors, fields),
    st.builds(Scale, factors, fields),
    st.builds(Set, values),
    st.builds(Forge, fields, values),
    st.builds(Swap, st.integers(0, 2)),
)
phases = st.sampled_from(sorted(PHASES))


@st.composite
def allowed_edits(draw: st.DrawFn) -> Edit:
    phase = draw(phases)
    number = draw(st.none() | st.integers(1, PHASES[phase]))
    earlier = (PHASES[phase] if number is None else number) - 1
    actions = fitting if earlier < 1 else fitting | st.builds(Replay, st.integers(1, earlier))
    return Edit(phase, number, 3, draw(st.none() | st.integers(0, 2)), draw(actions))


lists = st.lists(allowed_edits(), max_size=5).map(tuple)


@pytest.mark.checks("AD-9", "VA-6")
@given(lists)
def test_a_list_can_be_stored_and_read_back_without_loss(edits: tuple[Edit, ...]) -> None:
    scenario = attrs.evolve(BASE, attack=Edits(edits))
    assert scenario_from_json(scenario_text(scenario)) == scenario


@pytest.mark.checks("AD-9", "AD-4", "L2", "MO-8")
@given(lists, st.integers(0, 2**20))
@settings(max_examples=40)
def test_no_list_raises_or_breaks_a_relation_unseen(edits: tuple[Edit, ...], seed: int) -> None:
    finished = played(*edits, *without_alarm(3), seed=seed, keys=None)
    assert undetected(finished.execution) == ()
    again = played(*edits, *without_alarm(3), seed=seed, keys=None)
    assert recording_digest(again) == recording_digest(finished)


@given(fitting, st.one_of(st.none(), numbers, st.text(), st.dictionaries(st.text(), numbers)))
def test_no_action_raises_on_any_message(action, message) -> None:
    action.apply(Scene(0, dict.fromkeys(range(3), message), {}))


@pytest.mark.checks("VA-6")
def test_unknown_actions_and_values_are_refused_with_a_path() -> None:
    document = unstructure(Edit(LEARN, 1, 3, 0, Set(Integer(1))))
    assert structure(Edit, document) == Edit(LEARN, 1, 3, 0, Set(Integer(1)))
    document["action"]["value"]["kind"] = "intger"
    with pytest.raises(DocumentError, match=r"\$\.action\.value\.kind.*did you mean 'integer'"):
        structure(Edit, document)
    assert set(language.__all__) >= {"Add", "Drop", "Forge", "Replay", "Scale", "Set", "Swap"}
