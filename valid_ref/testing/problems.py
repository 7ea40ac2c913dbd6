"""Small problems: networks, and what a run on them learns, all simplest first.

The simplest graph is an edge; the simplest Byzantine set is one agent.
"""

import functools
import itertools
from collections.abc import Callable, Iterable
from typing import TypeVar

from hypothesis import strategies as st

from valid_ref.graph import AgentGraph, AssumptionReport, assumption_1_plus
from valid_ref.scenario import parts
from valid_ref.schedule import Precision

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


PRECISIONS = (Precision(4, 4), Precision(12, 8), Precision())
"""A few bits, where rounding is coarse, up to the default."""

OVERSHOOT = 8.0
"""A gradient step far beyond 2/beta: deviations grow up to 15-fold in every round."""

LOOSE = parts.ConfiguredThresholds(1e6, 1e12)
"""Thresholds that no honest run of four rounds reaches, even with steps that overshoot."""

FAIR = parts.ConfiguredThresholds(16.0, 256.0)
"""What honest runs on `quadratics` pass for d <= 3 if steps do not overshoot: |g_i| <= 2 * 4."""

CALIBRATED = parts.CalibratedThresholds()
"""Thresholds with a level, from rehearsals."""


def precisions() -> st.SearchStrategy[Precision]:
    """Fraction bits and step bits."""
    return st.sampled_from(PRECISIONS)


@st.composite
def explicit_steps(
    draw: st.DrawFn, rounds: int, precision: Precision, max_degree: int
) -> parts.ExplicitSteps:
    """Steps that change from round to round: eta at most 1/maxdeg, alpha at most 1/2."""
    one = 1 << precision.step_bits
    a, A = (
        draw(repeated(rounds, st.integers(1, largest))) for largest in (one // max_degree, one // 2)
    )
    return parts.ExplicitSteps(a, A)


@functools.lru_cache(maxsize=4096)
def schedules(
    rounds: int, precision: Precision, max_degree: int, *, overshoot: bool = False
) -> st.SearchStrategy[parts.SchedulePart]:
    """Step sizes that the derived norm bounds admit; with `overshoot` also ones that diverge."""
    one = 1 << precision.step_bits
    etas = st.sampled_from([max(1, one // part) / one for part in (max_degree, 2 * max_degree)])
    constant = st.builds(parts.ConstantSteps, st.sampled_from([0.5, 0.25]), etas)
    found: list[st.SearchStrategy[parts.SchedulePart]] = [
        constant,
        st.just(parts.Diminishing()),
        explicit_steps(rounds, precision, max_degree),
    ]
    if overshoot:
        found.append(st.builds(parts.ConstantSteps, st.just(OVERSHOOT), etas))
    return st.one_of(found)


@functools.lru_cache(maxsize=4096)
def quadratics(agents: int, dimension: int) -> st.SearchStrategy[parts.Quadratics]:
    """Centres in -2..2 and diagonal Hessians of ones and twos; shrinks to |x|^2/2 for all."""
    numbers = st.integers(-2, 2).map(float)
    curvatures = repeated(dimension, st.sampled_from([1.0, 2.0])).map(_diagonal)
    one = st.builds(parts.QuadraticAgent, curvatures, repeated(dimension, numbers))
    return st.builds(parts.Quadratics, repeated(agents, one))


def _diagonal(entries: tuple[float, ...]) -> tuple[tuple[float, ...], ...]:
    return tuple(
        tuple(entry if column == row else 0.0 for column in range(len(entries)))
        for row, entry in enumerate(entries)
    )


@functools.lru_cache(maxsize=4096)
def random_losses(dimension: int) -> st.SearchStrategy[parts.LossPart]:
    """Losses drawn by the scenario's seed: quadratic without noise, ridge and logistic."""
    d = st.just(dimension)
    return st.one_of(
        st.builds(parts.RandomQuadratics, d, st.sampled_from([1.0, 2.0])),
        st.builds(parts.RandomRidge, d, st.integers(1, 3), st.sampled_from([0.5, 1.0])),
        st.builds(parts.RandomLogistic, d, st.integers(1, 3), st.sampled_from([0.5, 1.0])),
    )


@functools.lru_cache(maxsize=4096)
def losses(agents: int, dimension: int) -> st.SearchStrategy[parts.LossPart]:
    """Everything that a scenario can learn in this dimension."""
    return quadratics(agents, dimension) | random_losses(dimension)


@functools.lru_cache(maxsize=4096)
def checks(
    thresholds: tuple[parts.ThresholdsPart, ...] = (FAIR, CALIBRATED, LOOSE),
) -> st.SearchStrategy[tuple[parts.Check, ...]]:
    """One or two weightings of GlobalValidate with thresholds out of these."""
    chosen = st.sampled_from(thresholds)
    polynomial = st.builds(parts.Check, st.just("t^c"), _polynomials(), chosen)
    exponential = st.builds(parts.Check, st.just("gamma"), _exponentials(), chosen)
    return st.one_of(st.tuples(polynomial), st.tuples(polynomial, exponential))


def _polynomials() -> st.SearchStrategy[parts.WeightsPart]:
    return st.builds(parts.Polynomial, st.integers(0, 2))


def _exponentials() -> st.SearchStrategy[parts.WeightsPart]:
    return st.builds(parts.Exponential, st.sampled_from([0.5, 1.0]), st.just(10))
