"""Small networks: connected graphs, and Byzantine sets under an assumption.

The simplest graph is an edge; the simplest Byzantine set is one agent.
"""

import functools
import itertools
from collections.abc import Callable, Iterable
from typing import TypeVar

from hypothesis import strategies as st

from valid_ref.graph import AgentGraph, AssumptionReport, assumption_1_plus

Assumption = Callable[[AgentGraph, Iterable[int]], AssumptionReport]
"""`assumption_1` or `assumption_1_plus`."""

T = TypeVar("T")

Network = tuple[AgentGraph, frozenset[int]]
"""A graph and its Byzantine agents."""


def repeated(size: int, one: st.SearchStrategy[T]) -> st.SearchStrategy[tuple[T, ...]]:
    """Tuples of a length, made of at most so many choices over and over.

    A tuple that has shrunk to one choice no longer stands in the way when the length shrinks.
    """
    return st.lists(one, min_size=1, max_size=size).map(
        lambda found: tuple(itertools.islice(itertools.cycle(found), size))
    )


@st.composite
def graphs(draw: st.DrawFn, *, min_agents: int = 2, max_agents: int = 5) -> AgentGraph:
    """Connected graphs: a tree and some more edges; shrinks to a star of few agents."""
    parents = draw(st.lists(st.integers(0, 9), min_size=min_agents - 1, max_size=max_agents - 1))
    n, tree = len(parents) + 1, {(u % v, v) for v, u in enumerate(parents, start=1)}
    others = [(u, v) for v in range(n) for u in range(v) if (u, v) not in tree]
    more = st.lists(st.sampled_from(others), unique=True) if others else st.just([])
    return AgentGraph.from_edges(n, tree.union(draw(more)))


@functools.lru_cache(maxsize=4096)
def byzantine_sets(
    graph: AgentGraph, assumption: Assumption = assumption_1_plus, *, min_size: int = 1
) -> st.SearchStrategy[frozenset[int]]:
    """Sets of Byzantine agents that an assumption tolerates; 0 as `min_size` adds the empty set.

    Agents join one by one, in any order, as long as the assumption holds: every tolerated set
    has such an order. A single agent that is no cut vertex is always tolerated.
    """
    agents = range(graph.agents)
    firsts = [v for v in agents if assumption(graph, {v})]
    nobody: st.SearchStrategy[frozenset[int]] = st.just(frozenset())
    several = st.builds(
        lambda first, more: _joined(graph, assumption, [first, *more]),
        st.sampled_from(firsts),
        st.lists(st.sampled_from(agents), unique=True, max_size=graph.agents),
    )
    return several if min_size else nobody | several


def _joined(graph: AgentGraph, assumption: Assumption, order: list[int]) -> frozenset[int]:
    chosen: frozenset[int] = frozenset()
    for agent in order:
        if assumption(graph, chosen | {agent}):
            chosen |= {agent}
    return chosen


@st.composite
def networks(
    draw: st.DrawFn,
    assumption: Assumption = assumption_1_plus,
    *,
    min_byzantine: int = 1,
    max_agents: int = 5,
) -> Network:
    """Graphs with a Byzantine set that the assumption tolerates."""
    graph = draw(graphs(max_agents=max_agents))
    return graph, draw(byzantine_sets(graph, assumption, min_size=min_byzantine))
