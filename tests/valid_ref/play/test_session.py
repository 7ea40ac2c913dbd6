"""Sessions: what is played is what `run` runs, whatever is tried, undone or branched."""

import functools
import json
from collections.abc import Mapping
from typing import Any

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from valid_ref import Scenario, run
from valid_ref.adversary.actions import Add, Drop, Flag, Nothing, Set, Swap, Text
from valid_ref.adversary.edits import Edit, Edits
from valid_ref.errors import ValidRefError
from valid_ref.explore import Explored, Settings, explore, replay_script, smallest_counterexample
from valid_ref.explore.counterexample import Script
from valid_ref.explore.plain import Word
from valid_ref.explore.settings import BROADCAST_PHASE, BroadcastVariant
from valid_ref.graph import AgentGraph
from valid_ref.oracle import recording_digest
from valid_ref.play import Move, PlayError, Session
from valid_ref.play.game import MOST_AGENTS, MOST_LEARNING_ROUNDS, digest_of
from valid_ref.play.session import FORMAT, MOST_NODES, Step, read_scenario
from valid_ref.protocols.learn import PHASE as LEARNING
from valid_ref.reading import Reading
from valid_ref.scenario import scenario_from_json
from valid_ref.scenario.parts import Lean, RandomQuadratics
from valid_ref.testing.attacks import edit_lists, edits

SMALL = Scenario(
    graph="complete:4", rounds=2, loss=RandomQuadratics(dimension=1), byzantine=3, seed=0
)
LEAN = attrs.evolve(SMALL, validation=Lean(kappa=1))
EITHER = st.sampled_from([SMALL, LEAN])


def saved(session: Session) -> Scenario:
    return scenario_from_json(session.saved())


RELAYED = Script(
    "V5",
    AgentGraph.from_edges(4, [(0, 1), (0, 2), (0, 3)]),
    frozenset({1}),
    (Word(BROADCAST_PHASE, 1, 1, 0, "b"),),
    broadcast=BroadcastVariant(),
    source=2,
)
"""The witness of P02: a forged value overtakes the true one, and agent 3 never hears another."""


@functools.cache
def scripts() -> Mapping[str, Script]:
    """One counterexample of every protocol that is explored."""
    found = {"V5": RELAYED}
    for explored in (Explored.AGREEMENT, Explored.BOTH):
        exploration = explore(Settings.for_reading(explored, Reading.as_printed(), 2, 3))
        for name in exploration.tallies:
            script = smallest_counterexample(exploration, name)
            if script is not None:
                found[name] = script
    return found


@st.composite
def moves(draw: st.DrawFn, scenario: Scenario, phase: str) -> Move:
    edit = draw(edits(scenario).filter(lambda one: one.phase == phase))
    receiver = draw(st.integers(0, 2)) if edit.receiver is None else edit.receiver
    return Move(edit.sender, receiver, edit.action)


@pytest.mark.checks("AD-9", "VA-6", "VA-8")
@settings(max_examples=8)
@given(data=st.data(), scenario=EITHER)
def test_what_is_saved_runs_to_the_same_digest(data, scenario) -> None:
    session = Session.of_scenario(scenario)
    places = session.game.places
    for index in sorted(data.draw(st.sets(st.integers(0, len(places) - 1), max_size=3))):
        session = session.follow(index - session.played)
        move = data.draw(moves(scenario, places[index][0]))
        try:
            session = session.step([move])
        except ValidRefError:  # a replay of a round that is not earlier
            continue
    session = session.follow(len(places))
    assert session.finished
    course, again = session.course(), run(saved(session))
    assert again.outcome == course.run.outcome
    assert recording_digest(again) == digest_of(course.run)
    assert Session.from_json(json.loads(json.dumps(session.as_json()))) == session


@pytest.mark.checks("AD-9", "LV-3")
@settings(max_examples=8)
@given(data=st.data(), scenario=EITHER)
def test_a_scenario_with_edits_opens_as_moves_that_give_its_run(data, scenario) -> None:
    attacked = attrs.evolve(scenario, attack=data.draw(edit_lists(scenario)))
    session = Session.of_scenario(attacked)
    assert session.here == 0
    session = session.follow(99)
    assert digest_of(session.course().run) == recording_digest(run(attacked))


@pytest.mark.checks("AD-2", "AD-4")
@settings(max_examples=12)
@given(data=st.data(), scenario=EITHER)
def test_moves_change_neither_the_past_nor_what_honest_agents_say_nor_a_key(data, scenario) -> None:
    session = Session.of_scenario(scenario)
    places = session.game.places
    at = data.draw(st.integers(0, len(places) - 1))
    session = session.follow(at)
    before = session.course()
    try:
        after = session.tried([data.draw(moves(scenario, places[at][0]))])
    except ValidRefError:
        return
    for index in range(at + 1):
        for sender, receiver in session.game.graph.directed_edges:
            if index < at or sender not in session.game.byzantine:
                said = [
                    course.rounds[index].on_edge(sender, receiver) for course in (before, after)
                ]
                assert repr(said[0]) == repr(said[1])
    private = [course.run.prepared.private for course in (before, after)]
    assert [one.key for one in private[0].values()] == [one.key for one in private[1].values()]


def test_a_move_reaches_the_edge_it_is_made_on_and_no_other() -> None:
    session = Session.of_scenario(SMALL)
    usual, said = session.course().rounds[0], session.tried([Move(3, 1, Add((5,), "model"))])
    for receiver, added in ((0, 0), (1, 5), (2, 0)):
        before: Any = usual.on_edge(3, receiver)
        after: Any = said.rounds[0].on_edge(3, receiver)
        assert after.model[0] == before.model[0] + added


def test_undo_branch_and_return() -> None:
    start = Session.of_scenario(SMALL)
    one = start.step([Move(3, 0, Drop())]).step()
    assert (one.here, one.played, len(one.line()[0])) == (2, 2, 1)
    back = one.undo().undo()
    assert back.here == 0
    assert back.steps == one.steps
    assert back.ready == (Move(3, 0, Drop()),)
    assert back.step(back.ready).here == 1
    other = back.step([Move(3, 1, Drop())])
    assert other.here == 3
    assert other.children(0) == (1, 3)
    assert other.line() == ((Move(3, 1, Drop()),),)
    assert other.go(2).line() == one.line()
    with pytest.raises(PlayError, match="nothing to undo"):
        start.undo()


def test_alarms_come_when_the_message_is_heard() -> None:
    session = Session.of_scenario(SMALL).step([Move(3, 0, Drop())])
    states: Any = session.course().states[1]
    assert [raised.alarm.name for raised in states[0].inner.alarms] == ["MISSING_MESSAGE"]
    assert states[1].inner.alarms == ()


@pytest.mark.parametrize(
    ("move", "said"),
    [
        (Move(0, 3, Drop()), "not one of the Byzantine"),
        (Move(3, 3, Drop()), "not an edge"),
        (Move(3, 0, Swap(9)), "not an edge"),
    ],
)
@pytest.mark.checks("AD-4")
def test_a_move_that_there_is_not_is_refused(move, said) -> None:
    with pytest.raises(ValidRefError, match=said):
        Session.of_scenario(SMALL).step([move])


def test_a_run_that_is_over_goes_on_no_further() -> None:
    over = Session.of_scenario(SMALL).follow(99)
    with pytest.raises(PlayError, match="over"):
        over.step()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"byzantine": ()}, "nobody is Byzantine"),
        ({"rounds": MOST_LEARNING_ROUNDS + 1}, "learning rounds"),
        ({"graph": f"complete:{MOST_AGENTS + 1}"}, "agents, at most"),
        ({"loss": "random-quadratic:dimension=11"}, "entries of a model, at most"),
        ({"attack": "gaussian:sigma=0.3"}, "no list of edits"),
        ({"attack": Edits((Edit("Sleeping", 1, 3, 0, Drop()),))}, "no such phase"),
    ],
)
def test_what_is_not_played_is_refused_by_name(changes, said) -> None:
    with pytest.raises(ValidRefError, match=said):
        Session.of_scenario(attrs.evolve(SMALL, **changes))


def test_a_document_that_is_no_session_is_refused() -> None:
    written = Session.of_scenario(SMALL).step().as_json()
    for changes, said in (
        ({"here": 2}, "no node 2"),
        ({"here": -1}, "no node -1"),
        ({"steps": [{"parent": 1, "moves": []}]}, "not before it"),
        ({"steps": [{"parent": 0, "moves": [{"sender": 3}]}]}, "missing"),
        ({"scenario": None}, "a scenario or a script"),
        ({"script": {}}, "a scenario or a script"),
        ({"format": "other"}, "format"),
        ({"more": 1}, "unknown field"),
    ):
        with pytest.raises(ValidRefError, match=said):
            Session.from_json(written | changes)
    with pytest.raises(ValidRefError):
        Session.from_json([])
    full = attrs.evolve(Session.of_scenario(SMALL), steps=(Step(0),) * (MOST_NODES - 1))
    with pytest.raises(PlayError, match="at most"):
        attrs.evolve(full, steps=(*full.steps, Step(0)))


@pytest.mark.parametrize("field", ["graph", "loss", "attack"])
@pytest.mark.parametrize("name", ["json:Missing", "complete:Missing", "installed", 3])
def test_a_document_imports_nothing(field, name, monkeypatch) -> None:
    written = Session.of_scenario(SMALL).as_json()
    monkeypatch.setattr("importlib.import_module", lambda _name: pytest.fail("imported"))
    for value in (name, {"kind": name}):
        changed = written["scenario"] | {field: value}
        with pytest.raises(ValidRefError, match=r"part|expected|object|graph|is called 3"):
            Session.from_json(written | {"scenario": changed})


@pytest.mark.checks("AD-4")
def test_counterexamples_play_to_their_verdict_and_are_saved_as_they_were() -> None:
    assert {"S1", "S4", "V5", "VS1"} <= set(scripts())
    for name, script in scripts().items():
        session = Session.of_script(script)
        assert session.played == 0
        ended = session.follow(99)
        assert ended.course().replay.verdict == replay_script(script).verdict, name
        assert not ended.course().replay.verdict
        again = Script.from_json(json.loads(ended.saved()))
        assert sorted(map(repr, again.words)) == sorted(map(repr, script.words))
        assert attrs.evolve(again, words=()) == attrs.evolve(script, words=())
        assert Session.from_json(json.loads(json.dumps(ended.as_json()))) == ended


def test_a_counterexample_takes_words_only() -> None:
    session = Session.of_script(RELAYED)
    sender, receiver = 1, 0
    stepped = session.step([Move(sender, receiver, Set(Text("c")))])
    assert '"c"' in stepped.saved()
    assert session.step([Move(sender, receiver, Set(Nothing()))]).saved() == session.saved()
    for wrong in (Drop(), Set(Flag(value=True)), Add((1,))):
        with pytest.raises(PlayError, match="values, alarms and silence"):
            session.step([Move(sender, receiver, wrong)])
    with pytest.raises(PlayError, match="does not leave"):
        session.step([Move(receiver, sender, Set(Text("b")))])


def test_the_moves_of_a_round_are_edits_of_that_round() -> None:
    session = Session.of_scenario(SMALL).step().step([Move(3, 0, Drop())])
    assert saved(session).attack == Edits((Edit(LEARNING, 2, 3, 0, Drop()),))
    assert saved(session.undo()).attack is None


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"graph": "complete:1500"}, "1500 agents"),
        ({"loss": {"kind": "random-quadratic", "dimension": 3_000_000}}, "3000000 entries"),
        ({"loss": {"kind": "random-ridge", "samples": 10**9}}, "data of an agent"),
        ({"rounds": MOST_LEARNING_ROUNDS + 1}, "learning rounds"),
        ({"batch": 10**9}, "data of a mini-batch"),
        ({"checks": [{"thresholds": {"kind": "calibrated", "runs": 10**6}}]}, "rehearsals"),
        ({"prime": 10**1200 + 1}, "digits"),
    ],
)
def test_sizes_are_checked_before_anything_is_built(changes, said, monkeypatch) -> None:
    written = Session.of_scenario(SMALL).as_json()["scenario"]
    monkeypatch.setattr("valid_ref.play.game.prepare", lambda _one: pytest.fail("prepared"))
    changed = written | {"keys": None} | changes
    with pytest.raises(PlayError, match=said):
        Session.of_scenario(read_scenario(changed))
    with pytest.raises(PlayError, match=said):
        Session.from_json({"format": FORMAT, "steps": [], "here": 0, "scenario": changed})
