"""Where the agents of a graph are drawn, and which rounds of a long run are kept."""

import math
from collections.abc import Collection

import networkx

from valid_ref.graph import AgentGraph

Point = tuple[float, float]


def positions(graph: AgentGraph) -> tuple[Point, ...]:
    """A point in the unit square for every agent; the same for the same graph.

    A path is a line, a star has its centre in the middle; dense parts of a graph are laid out on
    circles of their own, everything else by springs.
    """
    n = graph.agents
    whole = graph.to_networkx()
    if (graph.edge_count == n * (n - 1) // 2 and n > 2) or all(
        graph.degree(v) == 2 for v in range(n)
    ):
        order = _around(graph)
        return tuple(_on_circle(order.index(v), n, (0.5, 0.5), 0.5) for v in range(n))
    if graph.edge_count == n - 1 and graph.max_degree <= 2:
        order = _along(graph)
        return tuple((order.index(v) / max(1, n - 1), 0.5) for v in range(n))
    if graph.edge_count == n - 1 and graph.max_degree == n - 1:
        centre = next(v for v in range(n) if graph.degree(v) == n - 1)
        rest = [v for v in range(n) if v != centre]
        around = {v: _on_circle(place, n - 1, (0.5, 0.5), 0.5) for place, v in enumerate(rest)}
        return tuple(around.get(v, (0.5, 0.5)) for v in range(n))
    cliques = _disjoint_cliques(graph)
    if cliques:
        return _side_by_side(graph, cliques)
    placed = networkx.spring_layout(whole, seed=1, iterations=300)
    return _fitted([(float(placed[v][0]), float(placed[v][1])) for v in range(n)])


def _around(graph: AgentGraph) -> list[int]:
    """The agents in the order of a cycle, or by number."""
    if graph.max_degree != 2:
        return list(range(graph.agents))
    order, before = [0], -1
    while len(order) < graph.agents:
        following = next(v for v in graph.neighbours(order[-1]) if v != before)
        before = order[-1]
        order.append(following)
    return order


def _along(graph: AgentGraph) -> list[int]:
    """The agents of a path from one end to the other."""
    order = [next((v for v in range(graph.agents) if graph.degree(v) == 1), 0)]
    while len(order) < graph.agents:
        order.append(next(v for v in graph.neighbours(order[-1]) if v not in order))
    return order


def _disjoint_cliques(graph: AgentGraph) -> list[list[int]]:
    """Maximal cliques of four or more that share no agent and cover all; else none."""
    found = [sorted(c) for c in networkx.find_cliques(graph.to_networkx()) if len(c) >= 4]
    covered = sorted(agent for clique in found for agent in clique)
    return sorted(found) if covered == list(range(graph.agents)) and len(found) > 1 else []


def _side_by_side(graph: AgentGraph, cliques: list[list[int]]) -> tuple[Point, ...]:
    """Cliques on circles beside each other; agents with edges across face the others."""
    points: dict[int, Point] = {}
    for place, clique in enumerate(cliques):
        across = [v for v in clique if any(u not in clique for u in graph.neighbours(v))]
        rest = [v for v in clique if v not in across]
        half = len(rest) // 2
        order = [*across, *rest] if place else [*rest[:half], *across, *rest[half:]]
        turn = math.pi * (place > 0)
        shift = (order.index(across[0]) + (len(across) - 1) / 2) if across else 0.0
        for index, agent in enumerate(order):
            angle = turn + 2 * math.pi * (index - shift) / len(order) * (-1 if place else 1)
            points[agent] = (place * 1.3 + 0.5 * math.cos(angle), 0.5 * math.sin(angle))
    return _fitted([points[v] for v in range(graph.agents)])


def _on_circle(index: int, count: int, centre: Point, radius: float) -> Point:
    angle = 2 * math.pi * index / count - math.pi / 2
    return centre[0] + radius * math.cos(angle), centre[1] + radius * math.sin(angle)


def _fitted(points: list[Point]) -> tuple[Point, ...]:
    """The points moved and scaled into the unit square, its middle in the middle."""
    lows = [min(p[axis] for p in points) for axis in (0, 1)]
    spans = [max(p[axis] for p in points) - lows[axis] for axis in (0, 1)]
    largest = max(*spans, 1e-9)
    margins = [(1 - span / largest) / 2 for span in spans]
    return tuple(
        ((p[0] - lows[0]) / largest + margins[0], (p[1] - lows[1]) / largest + margins[1])
        for p in points
    )


def kept_rounds(total: int, budget: int, important: Collection[int]) -> tuple[int, ...]:
    """Which of `total` rounds to keep: all if the budget allows, else the important and some more.

    Those are evenly spaced. The first and the last round are always kept; the result is in order.
    """
    if total <= budget:
        return tuple(range(total))
    wanted = sorted({0, total - 1, *(i for i in important if 0 <= i < total)})
    if len(wanted) > budget:
        wanted = [wanted[i] for i in kept_rounds(len(wanted), budget, ())]
    left = max(0, budget - len(wanted))
    others = {round(i * (total - 1) / max(1, left - 1)) for i in range(left)}
    return tuple(sorted({*wanted, *others}))
