"""The families against networkx, the paper's graph, the two-cliques erratum, AD-7 by listing."""

from __future__ import annotations

from itertools import combinations, product

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from valid_ref.graph import (
    AgentGraph,
    DisconnectedError,
    GraphError,
    assumption_1,
    assumption_1_plus,
    tolerates_any,
    vertex_connectivity,
)
from valid_ref.graph_families import (
    FAMILY_FORMS,
    complete,
    connected_graphs,
    cycle,
    erdos_renyi,
    labelled_connected_graphs,
    paper_graph,
    parse_family,
    path,
    random_regular,
    random_two_cliques,
    star,
    torus,
    two_cliques,
)

SEEDS = st.integers(0, 2**64)


@given(st.integers(2, 12))
def test_plain_families_are_those_of_networkx(agents):
    assert complete(agents) == AgentGraph.from_networkx(nx.complete_graph(agents))
    assert path(agents) == AgentGraph.from_networkx(nx.path_graph(agents))
    assert star(agents) == AgentGraph.from_networkx(nx.star_graph(agents - 1))
    if agents >= 3:
        assert cycle(agents) == AgentGraph.from_networkx(nx.cycle_graph(agents))


@given(st.integers(3, 6), st.integers(3, 6))
def test_the_torus_is_that_of_networkx(rows, columns):
    grid = nx.grid_2d_graph(rows, columns, periodic=True)
    numbers = {(row, column): row * columns + column for row, column in grid}
    assert torus(rows, columns) == AgentGraph.from_networkx(nx.relabel_nodes(grid, numbers))


@given(st.integers(3, 14), st.data(), SEEDS)
def test_regular_graphs_are_regular_and_repeat(agents, data, seed):
    degrees = [degree for degree in range(2, agents) if agents * degree % 2 == 0]
    degree = data.draw(st.sampled_from(degrees))
    graph = random_regular(agents, degree, seed)
    assert {graph.degree(agent) for agent in range(agents)} == {degree}
    assert random_regular(agents, degree, seed) == graph


@given(st.integers(2, 12), st.floats(0.4, 1), SEEDS)
def test_erdos_renyi_graphs_repeat(agents, probability, seed):
    graph = erdos_renyi(agents, probability, seed)
    assert graph.agents == agents
    assert erdos_renyi(agents, probability, seed) == graph


@given(st.integers(2, 8), st.data(), SEEDS, st.booleans())
def test_random_two_cliques_repeat_and_cross_as_asked(size, data, seed, disjoint):
    crossing = data.draw(st.integers(1, size if disjoint else size * size))
    graph = random_two_cliques(size, crossing, seed, disjoint)
    across = [(u, v) for u, v in graph.edges if u < size <= v]
    assert len(across) == crossing
    assert two_cliques(size, across) == graph == random_two_cliques(size, crossing, seed, disjoint)
    if disjoint:
        assert len({agent for edge in across for agent in edge}) == 2 * crossing


@pytest.mark.parametrize(
    ("text", "edges"),
    [
        ("regular:6,3,seed=1", "01 02 03 12 14 25 34 35 45"),
        ("erdos-renyi:5,0.5,seed=3", "01 02 12 13 14 23 34"),
        ("two-cliques:3,2,seed=5", "01 02 12 13 25 34 35 45"),
    ],
)
def test_draws_stay_what_they_were(text, edges):
    assert " ".join(f"{u}{v}" for u, v in parse_family(text).edges) == edges


def test_draws_depend_on_the_seed():
    assert len({erdos_renyi(8, 0.5, seed) for seed in range(20)}) == 20
    assert len({random_regular(10, 3, seed) for seed in range(20)}) == 20
    assert len({random_two_cliques(10, 2, seed) for seed in range(20)}) == 20


@pytest.mark.parametrize("seed", range(50))
def test_a_disconnected_draw_is_drawn_again(seed):
    assert erdos_renyi(6, 0.2, seed).edge_count >= 5  # connected by construction
    assert random_regular(9, 2, seed).diameter == 4  # one ring, never three


@pytest.mark.checks("EX-1")
def test_the_graph_of_the_paper():
    graph = paper_graph()
    assert (graph.agents, graph.edge_count, graph.max_degree, graph.diameter) == (20, 92, 10, 3)
    assert [(u, v) for u, v in graph.edges if u < 10 <= v] == [(1, 12), (9, 15)]
    for clique in (range(10), range(10, 20)):
        assert set(combinations(clique, 2)) <= set(graph.edges)


@pytest.mark.checks("EX-1", "AD-5", "AD-6")
def test_the_graph_of_the_paper_stands_every_single_adversary():
    assert all(assumption_1_plus(paper_graph(), [agent]) for agent in range(20))
    assert not assumption_1(paper_graph(), [1, 9])


@pytest.mark.witness("A26")
@pytest.mark.checks("EX-1")
def test_two_random_cross_edges_may_share_an_agent_and_break_assumption_1():
    draws = list(combinations(product(range(10), range(10, 20)), 2))
    sharing = [(first, second) for first, second in draws if set(first) & set(second)]
    assert (len(sharing), len(draws)) == (900, 4950)
    for first, second in sharing:
        shared = set(first) & set(second)
        assert not assumption_1(two_cliques(10, (first, second)), shared)


@pytest.mark.checks("EX-1", "AD-6")
def test_disjoint_cross_edges_stand_every_single_adversary():
    for first, second in combinations(product(range(10), range(10, 20)), 2):
        if not set(first) & set(second):
            graph = two_cliques(10, (first, second))
            # An agent that is no end of a cross edge leaves both cliques joined as they were.
            assert all(assumption_1_plus(graph, [agent]) for agent in (*first, *second))


@pytest.mark.parametrize(("agents", "count"), [(2, 1), (3, 2), (4, 6), (5, 21), (6, 112), (7, 853)])
def test_every_small_connected_graph_is_listed_once(agents, count):
    graphs = connected_graphs(agents)
    assert len(graphs) == len(set(graphs)) == count
    assert graphs == connected_graphs(agents)
    if agents <= 5:
        pairs = combinations([graph.to_networkx() for graph in graphs], 2)
        assert not any(nx.is_isomorphic(first, second) for first, second in pairs)


@pytest.mark.parametrize(("agents", "count"), [(2, 1), (3, 4), (4, 38), (5, 728)])
def test_every_labelled_connected_graph_is_listed_once(agents, count):
    graphs = list(labelled_connected_graphs(agents))
    assert len(graphs) == len(set(graphs)) == count
    assert set(connected_graphs(agents)) <= set(graphs)


@pytest.mark.checks("MO-2")
@pytest.mark.parametrize(
    ("make", "arguments", "named"),
    [
        (complete, (1,), "at least 2, not 1"),
        (path, (0,), "at least 2, not 0"),
        (star, (1,), "at least 2, not 1"),
        (cycle, (2,), "at least 3, not 2"),
        (cycle, (4.0,), "must be an integer, not 4.0"),
        (torus, (2, 5), "rows of a torus must be at least 3, not 2"),
        (torus, (5, 2), "columns of a torus must be at least 3, not 2"),
        (random_regular, (5, 3, 0), "no graph of 5 agents has degree 3"),
        (random_regular, (4, 4, 0), "no graph of 4 agents has degree 4"),
        (random_regular, (4, 0, 0), "the degree must be at least 1, not 0"),
        (random_regular, (4, 1, 0), "no connected 1-regular graph of 4 agents in 1000 draws"),
        (random_regular, (4, 3, -1), "the seed must be at least 0, not -1"),
        (erdos_renyi, (1, 0.5, 0), "at least 2, not 1"),
        (erdos_renyi, (4, 0.0, 0), "must be in (0, 1], not 0.0"),
        (erdos_renyi, (4, 1.5, 0), "must be in (0, 1], not 1.5"),
        (erdos_renyi, (4, float("nan"), 0), "must be in (0, 1], not nan"),
        (erdos_renyi, (4, True, 0), "must be in (0, 1], not True"),
        (erdos_renyi, (4, 0.5, True), "the seed must be an integer, not True"),
        (erdos_renyi, (9, 1e-9, 7), "no connected Erdos-Renyi (probability 1e-09) graph of 9"),
        (two_cliques, (1,), "the size of a clique must be at least 2, not 1"),
        (two_cliques, (3, ((0, 1),)), "(0, 1) is given more than once"),
        (two_cliques, (3, ()), "disconnected"),
        (random_two_cliques, (3, 0, 1), "the number of cross edges must be at least 1, not 0"),
        (random_two_cliques, (3, 4, 1), "at most 3 disjoint cross edges: 4"),
        (random_two_cliques, (3, 10, 1, False), "at most 9 cross edges: 10"),
        (connected_graphs, (1,), "at least 2, not 1"),
        (connected_graphs, (8,), "at most 7 here, not 8"),
        (labelled_connected_graphs, (6,), "at most 5 here, not 6"),
    ],
)
def test_bad_parameters_are_refused_by_name(make, arguments, named):
    with pytest.raises(GraphError) as refused:
        make(*arguments)
    assert named in refused.value.message
    assert isinstance(refused.value, DisconnectedError) == ("connected" in named)


@pytest.mark.parametrize(
    ("text", "graph"),
    [
        ("paper", paper_graph()),
        ("complete:5", complete(5)),
        ("path:4", path(4)),
        ("cycle:6", cycle(6)),
        ("star:5", star(5)),
        ("torus:3x4", torus(3, 4)),
        ("regular:10,3,seed=1", random_regular(10, 3, 1)),
        ("erdos-renyi:12,0.4,seed=3", erdos_renyi(12, 0.4, 3)),
        ("erdos-renyi:4,1,seed=3", complete(4)),
        ("two-cliques:10", two_cliques(10, ((0, 10), (9, 19)))),
        ("two-cliques:10,2,seed=4", random_two_cliques(10, 2, 4)),
    ],
)
def test_command_line_names(text, graph):
    assert parse_family(text) == graph


@pytest.mark.parametrize(
    ("text", "suggested"),
    [
        ("", "paper or complete:N"),
        ("nonsense!", "paper or complete:N"),
        ("compleet:4", "write complete:N, "),
        ("complete", "write complete:N, "),
        ("complete:-4", "write complete:N, "),
        ("complete:5 ", "write complete:N, "),
        ("complete:٣", "write complete:N, "),
        ("torus:3", "write torus:ROWSxCOLUMNS, "),
        ("regular:10,3", "write regular:N,DEGREE,seed=SEED, "),
        ("erdos-renyi:5,nan,seed=1", "write erdos-renyi:N,PROBABILITY,seed=SEED, "),
        ("two-cliques:x", "write two-cliques:SIZE or two-cliques:SIZE,CROSSING,seed=SEED, "),
        ("complete:1", "at least 2, not 1"),
    ],
)
def test_other_names_are_refused_with_a_suggestion(text, suggested):
    with pytest.raises(GraphError) as refused:
        parse_family(text)
    assert suggested in str(refused.value)


def test_the_help_lists_every_form():
    assert len(FAMILY_FORMS) == 10
    assert FAMILY_FORMS[0] == "paper"


def smallest_cut(graph: AgentGraph) -> int:
    """By definition: n-1, or the size of the smallest set that leaves others disconnected."""
    for size in range(graph.agents - 1):
        for removed in combinations(range(graph.agents), size):
            if not nx.is_connected(
                graph.to_networkx().subgraph(set(range(graph.agents)) - set(removed))
            ):
                return size
    return graph.agents - 1


@pytest.mark.checks("AD-7")
@pytest.mark.parametrize("agents", range(2, 7))
def test_the_sufficient_condition_suffices_on_every_small_graph(agents):
    granted = 0
    for graph in connected_graphs(agents):
        assert vertex_connectivity(graph) == smallest_cut(graph)
        for size in range(agents + 1):
            expected = vertex_connectivity(graph) >= size + 1
            expected |= graph == complete(agents) and size < agents
            assert tolerates_any(graph, size) == expected
            if expected:
                sets = list(combinations(range(agents), size))
                assert all(assumption_1_plus(graph, byzantine) for byzantine in sets)
                granted += len(sets)
    assert granted > 0


@pytest.mark.checks("AD-7")
def test_the_sufficient_condition_is_not_necessary_and_is_tight():
    assert assumption_1_plus(path(4), [0])
    assert not tolerates_any(path(4), 1)
    assert tolerates_any(cycle(5), 1)
    assert not assumption_1(cycle(5), [0, 2])
    assert tolerates_any(complete(5), 4)
    assert not tolerates_any(complete(5), 5)


@pytest.mark.checks("AD-7")
@pytest.mark.parametrize("count", [-1, True, 1.5])
def test_a_bad_number_of_adversaries_is_refused(count):
    with pytest.raises(GraphError, match="number of Byzantine agents"):
        tolerates_any(complete(3), count)
