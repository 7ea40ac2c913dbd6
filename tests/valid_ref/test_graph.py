"""The graph of the agents against networkx, the two assumptions, and every refusal."""

from __future__ import annotations

import json
import pickle
from collections import Counter
from itertools import combinations

import attrs
import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from valid_ref.document import DocumentError, structure, unstructure
from valid_ref.graph import (
    AgentGraph,
    DisconnectedError,
    GraphError,
    assumption_1,
    assumption_1_plus,
    honest_agents,
)
from valid_ref.graph_families import complete, connected_graphs, cycle, star

PATH_P06 = AgentGraph(6, [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)])  # w1-v1-h1-h2-v2-w2


@st.composite
def agent_graphs(draw: st.DrawFn) -> AgentGraph:
    """A random spanning tree and some more edges, in any order and direction."""
    agents = draw(st.integers(2, 9))
    tree = {(draw(st.integers(0, v - 1)), v) for v in range(1, agents)}
    more = draw(st.sets(st.sampled_from(list(combinations(range(agents), 2)))))
    edges = draw(st.permutations(sorted(tree | more)))
    return AgentGraph(agents, [edge[::-1] if draw(st.booleans()) else edge for edge in edges])


@st.composite
def graphs_and_agents(draw: st.DrawFn) -> tuple[AgentGraph, frozenset[int]]:
    graph = draw(agent_graphs())
    return graph, draw(st.frozensets(st.integers(0, graph.agents - 1)))


def every_pair(agents: int):
    """Every connected graph with every nonempty proper subset of its agents as B."""
    for graph in connected_graphs(agents):
        for size in range(1, agents):
            for byzantine in combinations(range(agents), size):
                yield graph, byzantine


def honest_part(graph: AgentGraph, byzantine):
    return graph.to_networkx().subgraph(set(range(graph.agents)) - set(byzantine))


def has_hidden(graph: AgentGraph, byzantine) -> bool:
    return any(set(graph.to_networkx()[v]) <= set(byzantine) for v in byzantine)


@pytest.mark.checks("MO-1")
@given(agent_graphs())
def test_neighbours_degrees_and_edges_are_those_of_networkx(graph):
    oracle = graph.to_networkx()
    assert sorted(oracle) == list(range(graph.agents))
    assert all(u < v for u, v in graph.edges)
    assert list(graph.edges) == sorted(graph.edges)
    assert graph.edge_count == oracle.number_of_edges()
    assert set(graph.directed_edges) == set(oracle.to_directed().edges)
    assert list(graph.directed_edges) == sorted(set(graph.directed_edges))
    assert graph.max_degree == max(dict(oracle.degree).values())
    for agent in range(graph.agents):
        assert graph.neighbours(agent) == tuple(sorted(oracle[agent]))
        assert graph.degree(agent) == oracle.degree[agent]


@pytest.mark.checks("MO-1")
@given(agent_graphs())
def test_distances_are_those_of_networkx(graph):
    oracle = dict(nx.all_pairs_shortest_path_length(graph.to_networkx()))
    for u in range(graph.agents):
        assert graph.distances_from(u) == tuple(oracle[u][v] for v in range(graph.agents))
        assert all(graph.distance(u, v) == oracle[u][v] for v in range(graph.agents))
    assert graph.diameter == nx.diameter(graph.to_networkx())


@pytest.mark.checks("MO-1")
@given(agent_graphs())
def test_laplacian_is_degrees_minus_adjacency(graph):
    laplacian = graph.laplacian()
    adjacency = nx.to_numpy_array(graph.to_networkx(), nodelist=range(graph.agents), dtype=np.int64)
    assert laplacian.dtype == np.int64
    assert np.array_equal(laplacian, np.diag(adjacency.sum(axis=0)) - adjacency)
    eigenvalues = graph.laplacian_eigenvalues()
    assert eigenvalues.dtype == np.float64
    assert np.all(np.diff(eigenvalues) >= 0)
    assert abs(eigenvalues[0]) < 1e-9 < eigenvalues[1]  # connected: zero is a simple eigenvalue
    assert np.isclose(eigenvalues.sum(), 2 * graph.edge_count)


@given(graphs_and_agents())
def test_components_are_those_of_networkx_the_largest_first(case):
    graph, agents = case
    parts = graph.induced_components(agents)
    oracle = nx.connected_components(graph.to_networkx().subgraph(agents))
    assert set(map(frozenset, parts)) == set(map(frozenset, oracle))
    assert list(parts) == sorted(parts, key=lambda part: (-len(part), part[0]))
    assert all(list(part) == sorted(part) for part in parts)
    assert graph.is_connected(agents) == (len(parts) == 1)


@pytest.mark.checks("AD-1", "AD-5", "AD-6", "AD-8")
@given(graphs_and_agents())
def test_reports_name_exactly_the_offending_agents(case):
    graph, byzantine = case
    honest = set(range(graph.agents)) - byzantine
    first, plus = assumption_1(graph, byzantine), assumption_1_plus(graph, iter(byzantine))
    assert honest_agents(graph, byzantine) == tuple(sorted(honest))
    assert first.components == plus.components == graph.induced_components(honest)[1:]
    assert first.hidden == ()
    assert set(plus.hidden) == {v for v in byzantine if not honest & set(graph.neighbours(v))}
    assert first.holds == bool(first) == (bool(honest) and not first.components)
    assert plus.holds == bool(plus) == (first.holds and not plus.hidden)
    assert all(str(agent) in plus.reason for agent in (*sum(plus.components, ()), *plus.hidden))


@given(agent_graphs())
def test_graphs_round_trip_and_compare_by_value(graph):
    assert AgentGraph.from_networkx(graph.to_networkx()) == graph
    assert structure(AgentGraph, json.loads(json.dumps(unstructure(graph)))) == graph
    assert AgentGraph.from_edges(graph.agents, graph.edges[::-1]) == graph
    assert pickle.loads(pickle.dumps(graph)).neighbours(0) == graph.neighbours(0)
    assert len({graph, AgentGraph(np.int64(graph.agents), np.array(graph.edges))}) == 1
    assert repr(graph) == f"AgentGraph(agents={graph.agents}, edges={graph.edges})"


def test_agents_are_plain_integers_and_the_graph_is_frozen():
    graph = AgentGraph(np.int32(2), [np.array([1, 0])])
    assert [type(value) for value in (graph.agents, *graph.edges[0])] == [int, int, int]
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        graph.agents = 3


@pytest.mark.checks("MO-2")
@pytest.mark.parametrize(
    ("agents", "edges", "named"),
    [
        (1, [], "at least 2, not 1"),
        (-3, [], "at least 2, not -3"),
        (True, [], "must be an integer, not True"),
        (2.0, [(0, 1)], "must be an integer, not 2.0"),
        (2, [(1, 1)], "(1, 1) is a self loop"),
        (2, [(0, 1), (1, 2)], "unknown agent 2 of edge (1, 2), not in 0..1"),
        (2, [(0, 1), (-1, 0)], "edge (-1, 0) must be at least 0, not -1"),
        (3, [(0, 1), (1, 2), (1, 0)], "(0, 1) is given more than once"),
        (2, [(0, True)], "(0, True) must be an integer, not True"),
        (2, [(0, 1.0)], "(0, 1.0) must be an integer, not 1.0"),
        (2, ["ab"], "must be an integer, not 'a'"),
        (2, [(0, 1, 1)], "(0, 1, 1) is not a pair"),
        (2, [7], "edge 7 is not a pair"),
        (10**5, [(0, 1)], "1 edges cannot join 100000 agents"),
        (4, [(0, 1), (1, 2), (0, 2)], "no path from agent 0 to agent 3"),
    ],
)
def test_bad_graphs_are_refused_by_name(agents, edges, named):
    for make in (AgentGraph, AgentGraph.from_edges):
        with pytest.raises(GraphError) as refused:
            make(agents, edges)
        assert named in refused.value.message
        assert refused.value.clause == "MO-2"
        assert isinstance(refused.value, DisconnectedError) == (
            "disconnected" in str(refused.value)
        )


@pytest.mark.checks("MO-2")
@pytest.mark.parametrize(
    ("graph", "named"),
    [
        (nx.DiGraph([(0, 1)]), "DiGraph with 2 nodes and 1 edges is refused"),
        (nx.MultiGraph([(0, 1), (0, 1)]), "use networkx.Graph(graph)"),
        (nx.Graph([("a", "b")]), "node 'a' is not one of 0..1: use networkx.convert_node_labels"),
        (nx.Graph([(1, 2)]), "node 2 is not one of 0..1"),
        (nx.Graph([(0, 1), (1, 1)]), "self loop"),
        (nx.Graph([(0, 1.0)]), "must be an integer, not 1.0"),
        (nx.empty_graph(2), "disconnected"),
        (nx.empty_graph(0), "at least 2, not 0"),
    ],
)
def test_unfit_networkx_graphs_are_refused(graph, named):
    with pytest.raises(GraphError) as refused:
        AgentGraph.from_networkx(graph)
    assert named in str(refused.value)


@pytest.mark.checks("MO-2")
@pytest.mark.parametrize(
    "value",
    [
        None,
        [2, [[0, 1]]],
        {"agents": 2},
        {"agents": 2, "edges": [[0, 1]], "weights": []},
        {"agents": 2, "edges": {"0": 1}},
        {"agents": "2", "edges": [[0, 1]]},
        {"agents": 2, "edges": [[0, 1.0]]},
    ],
)
def test_bad_json_is_refused(value):
    with pytest.raises(DocumentError):
        structure(AgentGraph, value)


@pytest.mark.checks("MO-2", "AD-1")
@pytest.mark.parametrize("agent", [-1, 6, True, 1.0, "1", None])
def test_unknown_agents_are_refused_in_every_question(agent):
    for ask in (
        PATH_P06.neighbours,
        PATH_P06.degree,
        PATH_P06.distances_from,
        lambda v: PATH_P06.distance(0, v),
        lambda v: PATH_P06.distance(v, 0),
        lambda v: PATH_P06.induced_components([0, v]),
        lambda v: PATH_P06.is_connected([v]),
    ):
        with pytest.raises(GraphError, match=r"\[MO-2\]"):
            ask(agent)
    for predicate in (honest_agents, assumption_1, assumption_1_plus):
        with pytest.raises(GraphError, match=r"of the Byzantine set.*\[AD-1\]"):
            predicate(PATH_P06, [0, agent])


@pytest.mark.checks("AD-1", "AD-5", "AD-6", "AD-8")
def test_no_honest_agent_breaks_both_assumptions():
    first, plus = (
        predicate(complete(3), range(3)) for predicate in (assumption_1, assumption_1_plus)
    )
    assert (first.holds, first.components, first.hidden) == (False, (), ())
    assert (plus.holds, plus.components, plus.hidden) == (False, (), (0, 1, 2))
    assert first.reason == "no agent is honest"
    assert "no agent is honest" in plus.reason


@pytest.mark.checks("AD-6", "AD-8")
def test_the_hidden_agents_of_erratum_p06_are_named():
    assert assumption_1(PATH_P06, [0, 1, 4, 5])
    report = assumption_1_plus(PATH_P06, [0, 1, 4, 5])
    assert not report
    assert report.hidden == (0, 5)
    assert "[0, 5]" in report.reason


@pytest.mark.checks("AD-5", "AD-8")
def test_the_cut_off_part_is_named():
    assert assumption_1(PATH_P06, [1]).components == ((0,),)
    assert assumption_1(cycle(6), [0, 3]).components == ((4, 5),)
    assert assumption_1(star(4), [0]).components == ((2,), (3,))
    assert assumption_1(star(4), [1, 2, 3]).reason == "the honest agents are connected"


@pytest.mark.checks("AD-5", "AD-6")
@pytest.mark.parametrize("agents", range(2, 7))
def test_both_assumptions_on_every_small_graph(agents):
    for graph, byzantine in every_pair(agents):
        connected = nx.is_connected(honest_part(graph, byzantine))
        assert assumption_1(graph, byzantine).holds == connected
        plus = connected and not has_hidden(graph, byzantine)
        assert assumption_1_plus(graph, byzantine).holds == plus


@pytest.mark.witness("P21")
def test_assumption_1_admits_majorities_and_hidden_agents():
    count = Counter()
    for graph, byzantine in every_pair(6):
        holds = assumption_1(graph, byzantine).holds
        hidden = bool(assumption_1_plus(graph, byzantine).hidden)
        count.update(pairs=1, holds=holds)
        count.update(majority=holds and 2 * len(byzantine) >= 6, hidden=holds and hidden)
    assert count == {"pairs": 6944, "holds": 4799, "majority": 2987, "hidden": 1415}
