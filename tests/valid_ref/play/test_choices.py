"""Forms of moves: every form makes an action, every action is shown by a form that makes it."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from valid_ref.adversary.actions import Action as Change
from valid_ref.adversary.actions import (
    Add,
    Drop,
    Flag,
    Forge,
    Integer,
    Integers,
    Learning,
    Scale,
    Set,
    Swap,
    Text,
)
from valid_ref.document import structure
from valid_ref.errors import ValidRefError
from valid_ref.play import Session
from valid_ref.play.choices import LONGEST, WAYS, Choice, Spot, actions_of, choice_of, ways_of
from valid_ref.play.seen import Filled, moves_of
from valid_ref.protocols.agreement import PHASE as AGREEMENT
from valid_ref.protocols.learn import PHASE as LEARNING
from valid_ref.protocols.valid import KEYS
from valid_ref.scenario import Scenario
from valid_ref.scenario.parts import RandomQuadratics
from valid_ref.testing.attacks import edits

SCENARIO = Scenario(
    graph="complete:4", rounds=3, loss=RandomQuadratics(dimension=2), byzantine=3, seed=0
)
GAME = Session.of_scenario(SCENARIO).game


def spot(phase: str, number: int = 1) -> Spot:
    """The edge from 3 to 0 in a round of an honest run."""
    return Spot(GAME, GAME.course(()), GAME.places.index((phase, number)), 3, 0)


def told(added: tuple[float, float], number: int = 1) -> Set:
    """What keeps the relation after an honest past: Gamma = Y - 2^k x."""
    usual: Any = spot(LEARNING, number).usual
    model = [int(e) + round(more * 2**28) for e, more in zip(usual.model, added, strict=True)]
    gradient = [
        int(e) - (round(more * 2**28) << 20)
        for e, more in zip(usual.scaled_gradient, added, strict=True)
    ]
    return Set(Learning(tuple(model), tuple(gradient)))


@pytest.mark.parametrize(
    ("phase", "choice", "actions"),
    [
        (LEARNING, Choice("honest", "7"), ()),
        (LEARNING, Choice("drop"), (Drop(),)),
        (LEARNING, Choice("model", "0.5"), (Add((1 << 27, 0), "model"),)),
        (LEARNING, Choice("gradient", "0, -1"), (Add((0, -(1 << 48)), "scaled_gradient"),)),
        (LEARNING, Choice("lie", "1"), (told((1, 0)),)),
        (LEARNING, Choice("swap", "1"), (Swap(1),)),
        (KEYS, Choice("entry", "5", "3/key"), (Forge("3/key", Integer(5)),)),
        (KEYS, Choice("entry", "5,", "3/0"), (Forge("3/0", Integers((5,))),)),
        (KEYS, Choice("entry", "5, -6", "3/0"), (Forge("3/0", Integers((5, -6))),)),
        (KEYS, Choice("more", "1", "3/key"), (Add((1,), "3/key"),)),
        (AGREEMENT, Choice("alarm"), (Set(Flag(value=True)),)),
        (AGREEMENT, Choice("quiet"), (Set(Flag(value=False)),)),
        (
            AGREEMENT,
            Choice("other", text='{"kind": "scale", "c": 2, "field": ""}'),
            (Scale(2.0),),
        ),
        (
            AGREEMENT,
            Choice("other", text='[{"kind": "drop"}, {"kind": "swap", "receiver": 1}]'),
            (Drop(), Swap(1)),
        ),
    ],
)
@pytest.mark.checks("AD-9")
def test_forms_make_edits(phase, choice, actions) -> None:
    here = spot(phase)
    assert actions_of(here, choice) == actions
    assert choice_of(here, actions).way == choice.way
    assert actions_of(here, choice_of(here, actions)) == actions


@pytest.mark.checks("AD-9")
@settings(max_examples=40)
@given(
    place=st.sampled_from(GAME.places),
    found=st.lists(edits(SCENARIO).map(lambda edit: edit.action), max_size=2).map(tuple),
)
def test_every_action_has_a_form_that_makes_it(place, found) -> None:
    here = spot(*place)
    assert actions_of(here, choice_of(here, found)) == found


@pytest.mark.parametrize(
    ("phase", "choice", "said"),
    [
        (LEARNING, Choice("alarm"), "no way"),
        (LEARNING, Choice("model"), "0 numbers"),
        (LEARNING, Choice("model", "1, 2, 3"), "3 numbers"),
        (LEARNING, Choice("model", "one"), "no real number"),
        (LEARNING, Choice("model", "nan"), "no real number"),
        (LEARNING, Choice("lie", "1e999"), "no real number"),
        (LEARNING, Choice("lie", "1e30"), "out of range"),
        (LEARNING, Choice("swap"), "no number"),
        (LEARNING, Choice("swap", "1, 2"), "2 numbers"),
        (LEARNING, Choice("replay", "0.5"), "no integer"),
        (LEARNING, Choice("replay", "9" * 5000), "no integer"),
        (LEARNING, Choice("model", " " * (LONGEST + 1)), "characters"),
        (KEYS, Choice("entry", "5"), "no entry"),
        (LEARNING, Choice("other", text="{"), "not JSON"),
        (LEARNING, Choice("other", text='{"kind": "dropp"}'), "did you mean 'drop'"),
        (LEARNING, Choice("other", text="5"), "expected an object"),
    ],
)
def test_what_is_filled_in_wrongly_is_refused(phase, choice, said) -> None:
    with pytest.raises(ValidRefError, match=said):
        actions_of(spot(phase), choice)


def alarms_after(*numbers: str, way: str = "lie") -> set[str]:
    """The alarms of a run in which agent 3 lies to everybody alike, from round 1 on."""
    session = Session.of_scenario(SCENARIO)
    for added in numbers:
        forms = [Filled(3, receiver, Choice(way, added)) for receiver in range(3)]
        session = session.step(moves_of(session, forms))
    alarms = session.follow(99).course().run.alarms
    return {one.alarm.name for agent in range(3) for one in alarms[agent]}


@pytest.mark.checks("AR-6")
def test_lies_whose_gradients_fit_keep_the_relation_as_long_as_they_go_on() -> None:
    assert "BROKEN_RELATION" not in alarms_after("0.25, -0.5", "0", "0.125")
    assert "BROKEN_RELATION" not in alarms_after("0.25, -0.5", "0")
    assert "BROKEN_RELATION" in alarms_after("0.25, -0.5")
    assert "BROKEN_RELATION" in alarms_after("0.25", "0.25", "0.25", way="model")
    assert "BROKEN_RELATION" in alarms_after("0.25", "0.25", "0.25", way="gradient")


def test_every_phase_has_ways_that_can_be_filled_in() -> None:
    for phase in {place for place, _number in GAME.places}:
        ways = ways_of(GAME, phase)
        assert ways[0].name == "honest"
        assert len({way.name for way in ways}) == len(ways)
        for way in ways:
            filled = Choice(way.name, "1", "3/key", json.dumps({"kind": "drop"}))
            assert all(isinstance(one, Change) for one in actions_of(spot(phase), filled))
    assert set(WAYS) >= {LEARNING, AGREEMENT}


def test_a_text_that_no_form_makes_is_shown_as_it_is_written() -> None:
    found = choice_of(spot(LEARNING), (Set(Text("?")), Drop()))
    assert found.way == "other"
    assert structure(tuple[Change, ...], json.loads(found.text)) == (Set(Text("?")), Drop())
