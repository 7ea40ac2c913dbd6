"""ValidationStateAgreement: each rule by itself, on single rounds and on whole runs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from valid_ref.alarms import Alarm, Raised
from valid_ref.graph import AgentGraph
from valid_ref.graph_families import complete, connected_graphs, path, star
from valid_ref.machine import count_scalars, run_machine
from valid_ref.protocols.agreement import PHASE, AgreementState, ValidationStateAgreement
from valid_ref.reading import Reading

NOT_A_STATE = st.one_of(
    st.integers(),
    st.floats(),
    st.text(),
    st.binary(),
    st.builds(object),
    st.lists(st.booleans()),
    st.tuples(st.booleans()),
    st.dictionaries(st.text(), st.booleans()),
    st.sets(st.booleans()),
    st.sampled_from([np.True_, np.False_, 0, 1, "false"]),
    st.just(np.array([False])),
)
HEARD = st.one_of(st.none(), st.booleans(), NOT_A_STATE)


@st.composite
def graphs(draw: st.DrawFn) -> AgentGraph:
    n = draw(st.integers(2, 6))
    tree = {(draw(st.integers(0, v - 1)), v) for v in range(1, n)}
    pairs = [(u, v) for u in range(n) for v in range(u + 1, n)]
    return AgentGraph.from_edges(n, tree | set(draw(st.lists(st.sampled_from(pairs)))))


def objection(heard: object) -> Alarm | None:
    if heard is None:
        return Alarm.MISSING_MESSAGE
    if not isinstance(heard, bool):
        return Alarm.MALFORMED_MESSAGE
    return Alarm.NEIGHBOUR_ALARM if heard else None


@pytest.mark.checks("SA-3", "SA-4", "MO-8")
@given(st.lists(HEARD, min_size=1, max_size=4), st.booleans(), st.integers(1, 4))
def test_anything_but_false_is_an_alarm_and_an_own_alarm_stays(
    heard: list[object], alarmed: bool, number: int
) -> None:
    machine = ValidationStateAgreement(star(len(heard) + 1))
    inbox = {leaf: word for leaf, word in enumerate(heard, 1) if word is not None}
    after = machine.receive(AgreementState(0, alarmed), number, inbox)
    found = [(objection(word), leaf) for leaf, word in enumerate(heard, 1)]
    expected = tuple(Raised(why, PHASE, number, leaf) for why, leaf in found if why is not None)
    assert after == AgreementState(0, alarmed or bool(expected), expected)


@pytest.mark.checks("SA-3")
@given(st.lists(st.lists(HEARD, min_size=2, max_size=2), max_size=5))
def test_one_alarm_per_neighbour_and_reason_is_kept_and_none_is_lost(heard: list) -> None:
    machine, state = ValidationStateAgreement(star(3)), AgreementState(0, alarmed=False)
    for number, words in enumerate(heard, 1):
        inbox = {leaf: word for leaf, word in enumerate(words, 1) if word is not None}
        after = machine.receive(state, number, inbox)
        assert after.alarms[: len(state.alarms)] == state.alarms
        state = after
    told = [(objection(word), leaf) for words in heard for leaf, word in enumerate(words, 1)]
    kept = [(raised.alarm, raised.sender) for raised in state.alarms]
    assert kept == list(dict.fromkeys(pair for pair in told if pair[0] is not None))
    assert state.alarmed == bool(kept)


@pytest.mark.checks("SA-2", "SA-1", "SA-5", "S3")
@given(graphs(), st.data())
def test_an_alarm_travels_one_edge_a_round(graph: AgentGraph, data: st.DataObject) -> None:
    machine = ValidationStateAgreement(graph)
    starts = data.draw(st.frozensets(st.integers(0, graph.agents - 1)))
    private = {agent: agent in starts for agent in range(graph.agents)}
    result = run_machine(graph, machine, private, keep_states=True)
    history = result.history
    for agent in range(graph.agents):
        away = min((graph.distance(agent, start) for start in starts), default=graph.agents)
        for number, spoken in enumerate(result.rounds, 1):
            assert spoken.said[agent] is (away <= number - 1)  # the state before the round
            assert history[number][agent].alarmed == (away <= number)
        assert result.states[agent].alarmed == bool(starts)


@pytest.mark.checks("SA-1", "SA-5")
def test_rounds_and_scalars_on_all_small_graphs() -> None:
    for graph in (graph for n in range(2, 6) for graph in connected_graphs(n)):
        machine = ValidationStateAgreement(graph)
        rounds = run_machine(graph, machine, dict.fromkeys(range(graph.agents), True)).rounds
        assert len(rounds) == graph.agents - 1
        for agent in range(graph.agents):
            words = [
                spoken.on_edge(agent, other)
                for spoken in rounds
                for other in graph.neighbours(agent)
            ]
            assert sum(map(count_scalars, words)) == (graph.agents - 1) * graph.degree(agent)
            assert set(words) == {True}
        assert [(spoken.phase, spoken.number) for spoken in rounds] == [
            (PHASE, number) for number in range(1, graph.agents)
        ]


@pytest.mark.checks("SA-1", "SA-3")
def test_the_printed_readings_differ_where_the_errata_say() -> None:
    graph = complete(4)
    assert ValidationStateAgreement(graph, Reading.without("P05")).rounds == graph.edge_count == 6
    forgetful = ValidationStateAgreement(path(2), Reading.without("P04"))
    assert not forgetful.receive(AgreementState(0, alarmed=True), 1, {1: False}).alarmed
    assert forgetful.receive(AgreementState(0, alarmed=False), 1, {1: True}).alarmed


@pytest.mark.checks("SA-4", "MO-8")
@given(st.lists(HEARD, min_size=3, max_size=3))
def test_garbage_stops_no_round_and_alarmed_agents_go_on(garbage: list[object]) -> None:
    graph = path(4)
    result = run_machine(
        graph,
        ValidationStateAgreement(graph),
        dict.fromkeys(range(4), False),
        byzantine=frozenset({0}),
        adversary=lambda view: {(0, 1): garbage[view.round - 1]},
    )
    assert [set(map(type, spoken.said.values())) for spoken in result.rounds] == [{bool}] * 3
    first = next((number for number, word in enumerate(garbage, 1) if objection(word)), None)
    for agent in (1, 2, 3):
        assert result.states[agent].alarmed == (first is not None and agent - 1 <= 3 - first)
