"""The strategies give what they promise, and what fails becomes small."""

import attrs
import pytest
from hypothesis import find, given, settings
from hypothesis import strategies as st
from hypothesis.errors import NoSuchExample

from valid_ref.adversary.actions import Drop
from valid_ref.adversary.edits import Edits
from valid_ref.alarms import Alarm
from valid_ref.errors import ValidRefError
from valid_ref.graph import AgentGraph, assumption_1, assumption_1_plus
from valid_ref.graph_families import complete, cycle, path, star
from valid_ref.guarantees.bounds import range_conflicts
from valid_ref.lattice import squared_norm
from valid_ref.runs import run
from valid_ref.scenario import Scenario, parts, prepare, scenario_from_json, scenario_text
from valid_ref.scenario.build import build_graph
from valid_ref.testing import strategies
from valid_ref.testing.attacks import PHASES
from valid_ref.testing.coverage import reached
from valid_ref.testing.problems import Assumption

QUICK = settings(max_examples=400, database=None, derandomize=True, deadline=None)
"""For `find`: the same search every time."""


def tolerated(graph: AgentGraph, assumption: Assumption) -> set[frozenset[int]]:
    """All nonempty sets that an assumption tolerates, by trying every one."""
    sets = (
        frozenset(v for v in range(graph.agents) if number >> v & 1)
        for number in range(1, 2**graph.agents)
    )
    return {chosen for chosen in sets if assumption(graph, chosen)}


@given(strategies.graphs(min_agents=3, max_agents=7))
def test_graphs_are_connected_and_of_the_size_asked_for(graph: AgentGraph) -> None:
    assert 3 <= graph.agents <= 7
    assert graph.is_connected(range(graph.agents))


@pytest.mark.checks("AD-5", "AD-6", "AD-8")
@pytest.mark.parametrize("assumption", [assumption_1, assumption_1_plus])
@given(data=st.data())
def test_byzantine_sets_satisfy_their_assumption(assumption: Assumption, data) -> None:
    graph, byzantine = data.draw(strategies.networks(assumption, max_agents=6))
    assert byzantine
    assert assumption(graph, byzantine)


@pytest.mark.checks("AD-5", "AD-6")
@pytest.mark.parametrize("assumption", [assumption_1, assumption_1_plus])
@pytest.mark.parametrize(
    "graph", [path(4), star(4), cycle(4), complete(4)], ids=lambda g: str(g.edges)
)
def test_every_tolerated_set_is_drawn(graph: AgentGraph, assumption: Assumption) -> None:
    for wanted in tolerated(graph, assumption):
        found = find(
            strategies.byzantine_sets(graph, assumption),
            lambda b, w=wanted: b == w,
            settings=settings(QUICK, max_examples=2000),
        )
        assert found == wanted


def test_hidden_agents_are_drawn_under_assumption_1_only() -> None:
    def hides(network) -> bool:
        return not assumption_1_plus(*network)

    graph, byzantine = find(strategies.networks(assumption_1), hides, settings=QUICK)
    assert (graph.agents, len(byzantine)) == (3, 2)
    with pytest.raises(NoSuchExample):
        find(
            strategies.networks(assumption_1_plus),
            hides,
            settings=settings(QUICK, max_examples=200),
        )


@given(strategies.scenarios() | strategies.adversarial_scenarios())
@settings(max_examples=40)
def test_scenarios_can_be_prepared_and_stored(scenario: Scenario) -> None:
    prepared = prepare(scenario)
    assert scenario_from_json(scenario_text(scenario)) == scenario
    assert not any("no guarantee applies" in note for note in prepared.notes)
    if isinstance(scenario.bounds, parts.DerivedBounds):
        parameters = prepared.parameters
        start = squared_norm(parameters.start_model)
        assert not range_conflicts(parameters.bounds, parameters.lattice, start)


@given(strategies.adversarial_scenarios(assumption_plus=False, max_rounds=2))
@settings(max_examples=20)
def test_scenarios_under_assumption_1_alone_run_too(scenario: Scenario) -> None:
    assert scenario.byzantine
    assert assumption_1(build_graph(scenario), scenario.byzantine)
    run(scenario)


def test_named_attacks_have_every_kind_and_every_choice() -> None:
    named = strategies.named_attacks()
    assert len(set(map(repr, named))) == len(named)
    phases = [attack.phase for attack in named if attack.kind == "silent-source"]
    assert set(phases) == {None, *PHASES}


@pytest.mark.checks("AD-9")
@pytest.mark.deep
def test_a_failing_case_becomes_two_agents_and_one_edit() -> None:
    """Planted: nobody ever says nothing."""

    def fails(scenario: Scenario) -> bool:
        return Alarm.MISSING_MESSAGE in reached(run(scenario))

    few = strategies.adversarial_scenarios(max_rounds=2, max_dimension=1)
    scenario = find(few, fails, settings=QUICK)
    assert isinstance(scenario.attack, Edits)
    [edit] = scenario.attack.edits
    assert isinstance(edit.action, Drop)
    assert isinstance(scenario.graph, parts.Edges)
    assert (scenario.graph.agents, scenario.rounds, scenario.seed) == (2, 1, 0)


@pytest.mark.deep
@pytest.mark.checks("AD-9")
def test_a_broken_relation_becomes_two_agents_and_one_edit() -> None:
    """Planted: nobody ever breaks the relation."""

    def fails(scenario: Scenario) -> bool:
        return Alarm.BROKEN_RELATION in reached(run(scenario))

    scenario = find(strategies.adversarial_scenarios(), fails, settings=QUICK)
    assert isinstance(scenario.attack, Edits)
    assert len(scenario.attack.edits) == 1
    assert isinstance(scenario.graph, parts.Edges)
    assert (scenario.graph.agents, scenario.rounds) == (2, 1)


@given(st.data())
@settings(max_examples=20)
def test_edits_never_ask_for_what_the_network_does_not_have(data) -> None:
    graph, byzantine = data.draw(strategies.networks())
    scenario = attrs.evolve(
        data.draw(strategies.scenarios(graph)), byzantine=tuple(sorted(byzantine))
    )
    edits = data.draw(st.lists(strategies.edits(scenario), max_size=6))
    try:
        prepare(attrs.evolve(scenario, attack=Edits(tuple(edits))))
    except ValidRefError as error:  # pragma: no cover - the failure
        pytest.fail(str(error))
