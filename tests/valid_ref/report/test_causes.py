"""Cause and effect on a page: alarms are traced to what was said, and lies to their alarms."""

import attrs
import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from valid_ref.adversary.actions import Action, Drop, Learning, Set
from valid_ref.adversary.edits import Edit, Edits
from valid_ref.alarms import Alarm
from valid_ref.oracle import check, open_recording, record_run
from valid_ref.protocols.learn import PHASE as LEARNING
from valid_ref.protocols.learn import LearningMessage
from valid_ref.report import run_view, watch_recording, watch_run
from valid_ref.report.causes import NORMS, SIZES, differs, fits
from valid_ref.runs import run
from valid_ref.scenario import Scenario, parts
from valid_ref.testing.strategies import adversarial_scenarios, scenarios

SLOW = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
FROM_DATA = {*NORMS, *SIZES, Alarm.OWN_UPDATE_OUT_OF_RANGE.name}
"""Alarms that the data of agents can cause, whatever they say."""
SILENCE = Edits((Edit(LEARNING, 1, 0, 1, Drop()),))
WIDE = (parts.Check("w", parts.Polynomial(), parts.ConfiguredThresholds(1e6, 1e12)),)
CLIQUES = Scenario(
    graph="two-cliques:4",
    loss=parts.RandomQuadratics(1),
    rounds=6,
    checks=WIDE,
    bounds=parts.NoBounds(),
    byzantine=(2,),
    seed=0,
)


def view_with(attack: object, **changes: object):
    return run_view(watch_run(run(attrs.evolve(CLIQUES, attack=attack, **changes)), "x"))


@SLOW
@given(scenario=adversarial_scenarios())
def test_alarms_and_deviations_name_one_another(scenario: Scenario) -> None:
    finished = run(scenario)
    view = run_view(watch_run(finished, "x"))
    graph = finished.execution.parameters.graph
    shown = {one.index: one for one in view.rounds}
    for place, alarm in enumerate(view.alarms):
        for number in alarm.deviations:
            assert place in view.deviations[number].alarms
            assert view.deviations[number].first <= alarm.index
        assert bool(alarm.why) != bool(alarm.deviations)
        if alarm.cause is not None:
            assert alarm.cause.sender in graph.neighbours(alarm.cause.receiver)
            assert alarm.cause.index <= alarm.index
            assert alarm.cause.index in shown
    for number, one in enumerate(view.deviations):
        assert one.sender in finished.execution.byzantine
        assert all(number in view.alarms[place].deviations for place in one.alarms)
        said = shown[one.message.index]
        assert (one.message.sender, one.message.receiver) in {
            (edge.sender, edge.receiver) for edge in said.edges
        }


def silenced(*edges: tuple[int, int], byzantine: tuple[int, ...]) -> Scenario:
    graph = parts.Edges(1 + max(map(max, edges)), edges)
    return attrs.evolve(CLIQUES, graph=graph, rounds=2, byzantine=byzantine, attack=SILENCE)


@SLOW
@given(scenario=adversarial_scenarios())
@example(silenced((0, 1), byzantine=(0,)))
@example(silenced((0, 1), (1, 2), byzantine=(0, 2)))
def test_an_alarm_that_no_data_can_cause_has_a_lie_behind_it(scenario: Scenario) -> None:
    """Without a lie honest agents raise three kinds of alarms.

    Those that data can cause; NEIGHBOUR_ALARM, where such an alarm is passed on, also that of a
    Byzantine agent that runs honest code; and any alarm after the update of somebody, Byzantine or
    not, has left the lattice, since honest code then falls silent.
    """
    finished = run(scenario)
    if finished.prepared.parameters.reading.turned_off:
        return
    execution = finished.execution
    raised = {
        agent: {one.alarm.name for one in state.memory.alarms}
        for agent, state in execution.states.items()
    }
    if any(Alarm.OWN_UPDATE_OUT_OF_RANGE.name in names for names in raised.values()):
        return
    view = run_view(watch_run(finished, "x"))
    from_data = any(alarm.reason in FROM_DATA and not alarm.deviations for alarm in view.alarms)
    from_data |= any(raised[agent] & FROM_DATA for agent in execution.byzantine)
    for alarm in view.alarms:
        passed_on = alarm.reason == Alarm.NEIGHBOUR_ALARM.name and from_data
        if alarm.reason not in FROM_DATA and not passed_on:
            assert alarm.deviations, alarm


@pytest.mark.parametrize("action", [Drop(), Set(Learning((0,), (0,)))])
def test_a_step_that_does_not_fit_what_is_recorded_names_the_lie(action: Action) -> None:
    """Silence is recorded as zero; zero follows from the start, but not what comes after it."""
    view = view_with(Edits((Edit(LEARNING, 1, 2, None, action),)))
    broken = [alarm for alarm in view.alarms if alarm.reason == Alarm.BROKEN_RELATION.name]
    assert {alarm.about.split(",")[0] for alarm in broken} == {"about agent 2"}
    for alarm in broken:
        assert [view.deviations[place].sender for place in alarm.deviations] == [2]


@pytest.mark.parametrize(
    ("attack", "reason", "phase", "kind"),
    [
        ("equivocation", "INCONSISTENT_HASHES", "Learning", "each with a step that fits"),
        ("equivocation", "BROKEN_RELATION", "Learning", "each with a step that fits"),
        ("equivocation", "INCONSISTENT_ESTIMATES", "Learning", "each with a step that fits"),
        ("inconsistent-gradient", "BROKEN_RELATION", "Learning", "one model to all, with a step"),
        ("hash-liar", "SELF_MISMATCH", "Hashes", "to all alike"),
        ("estimate-liar", "SELF_ESTIMATE_MISMATCH", "Estimates", "to all alike"),
        ("silent-source", "NO_VALUE", "Keys", "to all alike"),
        ("silent-source", "INCONSISTENT_HASHES", "Keys", "to all alike"),
        ("last-round-equivocator", "DIFFERENT_VALUE", "Keys", "different things"),
        ("relay-tamperer", "DIFFERENT_VALUE", "Hashes", "to all alike"),
        ("late-false-alarm", "NEIGHBOUR_ALARM", "Agreement", "denied or invented"),
    ],
)
def test_an_attack_is_found_behind_its_alarms(attack, reason, phase, kind) -> None:
    view = view_with(attack)
    alarms = [alarm for alarm in view.alarms if alarm.reason == reason]
    assert alarms
    for alarm in alarms:
        found = {
            (view.deviations[place].sender, view.phases[view.deviations[place].phase].title)
            for place in alarm.deviations
        }
        assert (2, phase) in found
    told = next(one for one in view.deviations if view.phases[one.phase].title == phase)
    assert kind in told.kind


def test_a_relation_that_breaks_at_an_honest_agent_names_the_liar() -> None:
    checks = view_with("equivocation").checks
    lies = {(cell.agent, cell.failed): cell.lies for cell in checks.failures}
    assert lies == {(1, ("R",)): (2,), (2, ("H",)): (2,)}


def test_an_alarm_that_is_passed_on_is_traced_to_the_first_lie() -> None:
    view = view_with("inconsistent-gradient")
    spread = [alarm for alarm in view.alarms if alarm.reason == "NEIGHBOUR_ALARM"]
    assert spread
    for alarm in spread:
        assert {view.phases[view.deviations[d].phase].title for d in alarm.deviations} == {
            "Learning"
        }
        assert alarm.cause.sender == alarm.sender


def test_lies_that_fit_and_those_that_do_not() -> None:
    for attack, expected in (("sign-flip", True), ("inconsistent-gradient", False)):
        view = view_with(attack)
        lies = [e.fits for one in view.rounds for e in one.edges if one.phase == 0]
        assert lies
        assert set(lies) == {expected}
        others = [e.fits for one in view.rounds for e in one.edges if one.phase > 0]
        assert set(others) <= {None}
    view = view_with("sign-flip")
    assert "cannot see it" in view.deviations[0].about


def test_without_a_lie_the_rule_itself_is_named() -> None:
    honest = attrs.evolve(CLIQUES, byzantine=(), without=("P14",))
    view = run_view(watch_run(run(honest), "x"))
    local = [alarm for alarm in view.alarms if alarm.reason == "BROKEN_RELATION"]
    assert local
    assert all("the rule itself fails" in alarm.why for alarm in local)
    assert {cell.lies for cell in view.checks.failures} == {()}


@SLOW
@given(scenario=scenarios(), data=st.data())
def test_honest_messages_fit_and_changed_ones_do_not(scenario: Scenario, data) -> None:
    execution = run(scenario).execution
    parameters, rounds = execution.parameters, execution.rounds
    learning = [spoken for spoken in rounds if spoken.phase == LEARNING]
    edges = parameters.graph.directed_edges
    place = data.draw(st.integers(0, len(learning) - 1))
    before, now = (learning[place - 1] if place else None), learning[place]
    sender, receiver = data.draw(st.sampled_from(sorted(edges)))
    message = now.said[sender]
    if message is None or (before is not None and None in before.said.values()):
        return
    if parameters.reading.P17:
        assert fits(parameters, before, now, (sender, receiver)) is True
    entry = data.draw(st.integers(0, parameters.lattice.dimension - 1))
    changed = message.scaled_gradient.copy()
    changed[entry] += 1 if fits(parameters, before, now, (sender, receiver)) else 0
    lie = LearningMessage(message.model, changed)
    false = attrs.evolve(now, deviations={(sender, receiver): lie})
    assert fits(parameters, before, false, (sender, receiver)) is False
    odd = attrs.evolve(now, deviations={(sender, receiver): "?"})
    assert fits(parameters, before, odd, (sender, receiver)) is None


def test_a_model_or_a_gradient_beyond_64_bits_is_shown_too() -> None:
    for word in (Learning((2**70,), (0,)), Learning((0,), (2**70,))):
        view = view_with(Edits((Edit(LEARNING, 2, 2, None, Set(word)),)))
        odd = [alarm for alarm in view.alarms if alarm.reason == Alarm.MALFORMED_MESSAGE.name]
        assert {view.deviations[one.deviations[0]].sender for one in odd} == {2}


def test_messages_differ_by_their_content() -> None:
    left, right = (LearningMessage(np.array([1, 2]), np.array([3, 4])) for _copy in range(2))
    assert not differs(left, right)
    assert differs(left, LearningMessage(np.array([1, 2]), np.array([3, 5])))
    assert differs({}, None)


def test_a_divergence_is_in_its_round(tmp_path) -> None:
    finished = run(attrs.evolve(CLIQUES, byzantine=(), rounds=4))
    record_run(finished, tmp_path / "run", checksums=False)
    models = tmp_path / "run" / "models.npy"
    data = np.load(models)
    data[1, 2, 0] += 1
    np.save(models, data)
    opened = open_recording(tmp_path / "run")
    view = run_view(watch_recording(opened, check(opened), "x"))
    found = next(one for one in view.divergences if one.agent == 2)
    assert (found.index, found.receiver) == (1, None)
    assert found.index in {one.index for one in view.rounds}
    deviation = next(one for one in view.deviations if one.sender == 2)
    assert view.divergences[deviation.divergence] is found
    assert (deviation.first, deviation.last) == (1, 1)
