"""Who talks to whom: the graph of the agents, and the Assumptions 1 and 1+ about it."""

from __future__ import annotations

from collections import defaultdict, deque
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar, TypeVar

import attrs
import numpy as np

from valid_ref.arguments import kind_of
from valid_ref.errors import ValidRefError
from valid_ref.foreign import refusing

if TYPE_CHECKING:
    from collections.abc import Container, Iterable

    import networkx
    from numpy.typing import NDArray

Item = TypeVar("Item")
Edges = tuple[tuple[int, int], ...]
Neighbours = tuple[tuple[int, ...], ...]


class GraphError(ValidRefError):
    """A graph, a family of graphs, or a set of agents that the model does not admit."""

    default_clause: ClassVar[str] = "MO-2"


class DisconnectedError(GraphError):
    """The edges do not join all agents."""


def require_integer(value: object, what: str, minimum: int, clause: str = "MO-2") -> int:
    """`value` as an int; a bool, a float, or a value below the minimum is refused."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise GraphError(f"{what} must be an integer, not {kind_of(value)}", clause=clause)
    if value < minimum:
        raise GraphError(f"{what} must be at least {minimum}, not {kind_of(value)}", clause=clause)
    return int(value)


def require_agent(agents: int, value: object, where: str = "", clause: str = "MO-2") -> int:
    """`value` as one of the agents 0..n-1; whatever else is refused."""
    agent = require_integer(value, f"an agent{where}", 0, clause)
    if agent >= agents:
        raise GraphError(f"unknown agent {agent}{where}, not in 0..{agents - 1}", clause=clause)
    return agent


def _agent_count(agents: int) -> int:
    return require_integer(agents, "the number of agents", 2)


def _normalised_edge(edge: Iterable[int]) -> tuple[int, int]:
    try:
        first, second = edge
    except (TypeError, ValueError):
        raise GraphError(f"edge {edge!r} is not a pair of agents") from None
    u, v = (require_integer(end, f"an agent of edge {edge!r}", 0) for end in (first, second))
    if u == v:
        raise GraphError(f"edge {edge!r} is a self loop")
    return (u, v) if u < v else (v, u)


def _normalised_edges(edges: Iterable[Iterable[int]]) -> Edges:
    """The edges sorted, the smaller agent first; bad, looping and duplicate ones are refused."""
    ordered = tuple(sorted(map(_normalised_edge, _items(edges, "edges", "pairs of agents"))))
    for edge, following in pairwise(ordered):
        if edge == following:
            raise GraphError(f"edge {edge} is given more than once")
    return ordered


def _items(value: Iterable[Item], name: str, what: str) -> tuple[Item, ...]:
    """What can be gone through, gone through; whatever else is refused by its name."""
    with refusing(GraphError, f"{name}: expected {what}, found {kind_of(value)}:", clause="MO-2"):
        return tuple(value)


def _adjacency(agents: int, edges: Edges) -> Neighbours:
    """The sorted neighbours of every agent; unknown agents and too few edges are refused."""
    neighbours: defaultdict[int, list[int]] = defaultdict(list)
    for u, v in edges:
        neighbours[u].append(v)
        neighbours[require_agent(agents, v, f" of edge {(u, v)}")].append(u)
    # Before anything of the size of `agents` is made: it may come from a file.
    if len(edges) < agents - 1:
        raise DisconnectedError(f"disconnected: {len(edges)} edges cannot join {agents} agents")
    return tuple(tuple(sorted(neighbours[agent])) for agent in range(agents))


def _distances(neighbours: Neighbours, start: int, allowed: Container[int]) -> dict[int, int]:
    """Distance from `start` of every agent reached through allowed agents only."""
    distance = {start: 0}
    waiting = deque([start])
    while waiting:
        agent = waiting.popleft()
        for neighbour in neighbours[agent]:
            if neighbour in allowed and neighbour not in distance:
                distance[neighbour] = distance[agent] + 1
                waiting.append(neighbour)
    return distance


@attrs.frozen
class AgentGraph:
    """Agents 0..n-1 on an undirected, simple, connected graph; equal graphs compare equal.

    Edges come in any order and direction and are kept sorted, the smaller agent first. Whatever
    is not such a graph is refused with a GraphError that names the value.

    Implements: MO-1, MO-2.
    """

    agents: int = attrs.field(converter=_agent_count)
    edges: Edges = attrs.field(converter=_normalised_edges)
    _neighbours: Neighbours = attrs.field(init=False, eq=False, repr=False)

    @_neighbours.default
    def _checked_neighbours(self) -> Neighbours:
        neighbours = _adjacency(self.agents, self.edges)
        reached = _distances(neighbours, 0, range(self.agents))
        for agent in range(self.agents):
            if agent not in reached:
                raise DisconnectedError(f"disconnected: no path from agent 0 to agent {agent}")
        return neighbours

    @classmethod
    def from_edges(cls, agents: int, edges: Iterable[Iterable[int]]) -> AgentGraph:
        """The graph of `agents` agents with these edges, in any order and direction."""
        return cls(agents, edges)

    @classmethod
    def from_networkx(cls, graph: networkx.Graph) -> AgentGraph:
        """The same graph; its nodes must already be 0..n-1. Attributes are not kept."""
        with refusing(GraphError, "graph: expected a graph of networkx;", clause="MO-2"):
            several = graph.is_directed() or graph.is_multigraph()
        if several:
            remedy = "an edge is single and carries both ways, use networkx.Graph(graph)"
            raise GraphError(f"{graph} is refused: {remedy}")
        for node in graph:
            if node not in range(len(graph)):
                remedy = "use networkx.convert_node_labels_to_integers(graph)"
                raise GraphError(f"node {node!r} is not one of 0..{len(graph) - 1}: {remedy}")
        return cls(len(graph), graph.edges())

    def to_networkx(self) -> networkx.Graph:
        """The same graph for networkx, nodes and edges in sorted order."""
        import networkx as nx

        graph = nx.empty_graph(self.agents)
        graph.add_edges_from(self.edges)
        return graph

    def neighbours(self, agent: int) -> tuple[int, ...]:
        """N(v): the agents that share an edge with this one, sorted."""
        return self._neighbours[require_agent(self.agents, agent)]

    def degree(self, agent: int) -> int:
        """The number of neighbours of an agent."""
        return len(self.neighbours(agent))

    @property
    def max_degree(self) -> int:
        """The largest degree of an agent."""
        return max(map(len, self._neighbours))

    @property
    def edge_count(self) -> int:
        """|E|, the number of undirected edges."""
        return len(self.edges)

    @property
    def directed_edges(self) -> Edges:
        """Every edge in both directions, sorted: in (u, v), u sends and v receives."""
        return tuple((u, v) for u, adjacent in enumerate(self._neighbours) for v in adjacent)

    def distances_from(self, agent: int) -> tuple[int, ...]:
        """The number of hops from an agent to every agent, in the order of the agents."""
        everyone = range(self.agents)
        reached = _distances(self._neighbours, require_agent(self.agents, agent), everyone)
        return tuple(reached[other] for other in everyone)

    def distance(self, u: int, v: int) -> int:
        """The number of hops between two agents."""
        return self.distances_from(u)[require_agent(self.agents, v)]

    @property
    def diameter(self) -> int:
        """The largest distance between two agents."""
        return max(max(self.distances_from(agent)) for agent in range(self.agents))

    def laplacian(self) -> NDArray[np.int64]:
        """Degrees on the diagonal, -1 for every edge, as exact integers."""
        matrix = np.diag(np.array([len(adjacent) for adjacent in self._neighbours], np.int64))
        for u, v in self.directed_edges:
            matrix[u, v] = -1
        return matrix

    def laplacian_eigenvalues(self) -> NDArray[np.float64]:
        """The eigenvalues of the Laplacian, ascending; the first is zero up to rounding."""
        return np.linalg.eigvalsh(self.laplacian().astype(np.float64))

    def induced_components(self, agents: Iterable[int]) -> tuple[tuple[int, ...], ...]:
        """The connected parts of the graph on these agents alone, the largest first."""
        chosen = _items(agents, "agents", "agents")
        allowed = {require_agent(self.agents, agent) for agent in chosen}
        parts: list[tuple[int, ...]] = []
        left = set(allowed)
        while left:
            part = _distances(self._neighbours, min(left), allowed).keys()
            left -= part
            parts.append(tuple(sorted(part)))
        return tuple(sorted(parts, key=lambda part: (-len(part), part)))

    def is_connected(self, agents: Iterable[int]) -> bool:
        """Whether these agents, at least one, are connected without the others."""
        return len(self.induced_components(agents)) == 1


@attrs.frozen
class AssumptionReport:
    """Whether an assumption holds, and the agents that break it; true exactly if it holds.

    `components` are the parts of G[H] beside the first, the largest (of equals, the one with the
    smallest agent); `hidden` are the Byzantine agents without an honest neighbour.

    Implements: AD-8.
    """

    holds: bool
    components: tuple[tuple[int, ...], ...]
    hidden: tuple[int, ...]
    reason: str

    def __bool__(self) -> bool:
        return self.holds


def honest_agents(graph: AgentGraph, byzantine: Iterable[int]) -> tuple[int, ...]:
    """H = V without B, sorted; may be empty. A member of B that is no agent is refused.

    Implements: AD-1.
    """
    return honest_among(graph.agents, byzantine)


def honest_among(agents: int, byzantine: Iterable[int]) -> tuple[int, ...]:
    """The same for the agents 0..n-1, whatever their graph.

    Implements: AD-1.
    """
    chosen = {require_agent(agents, v, " of the Byzantine set", "AD-1") for v in byzantine}
    return tuple(agent for agent in range(agents) if agent not in chosen)


def assumption_1(graph: AgentGraph, byzantine: Iterable[int]) -> AssumptionReport:
    """Assumption 1: the honest agents are at least one, and connected without the others.

    Implements: AD-5, AD-8.
    """
    honest = honest_agents(graph, byzantine)
    if not honest:
        return AssumptionReport(False, (), (), "no agent is honest")
    apart = graph.induced_components(honest)[1:]
    if apart:
        reason = f"honest agents are cut off from the others: {[list(part) for part in apart]}"
        return AssumptionReport(False, apart, (), reason)
    return AssumptionReport(True, (), (), "the honest agents are connected")


def assumption_1_plus(graph: AgentGraph, byzantine: Iterable[int]) -> AssumptionReport:
    """Assumption 1+: Assumption 1, and every Byzantine agent has an honest neighbour.

    Implements: AD-6, AD-8.
    """
    chosen = tuple(byzantine)
    first = assumption_1(graph, chosen)
    honest = set(honest_agents(graph, chosen))
    hidden = tuple(v for v in range(graph.agents) if honest.isdisjoint((v, *graph.neighbours(v))))
    reason = f"; Byzantine agents without an honest neighbour: {list(hidden)}" if hidden else ""
    holds = first.holds and not hidden
    return AssumptionReport(holds, first.components, hidden, first.reason + reason)


def vertex_connectivity(graph: AgentGraph) -> int:
    """The fewest agents whose removal disconnects the graph; n-1 for the complete graph."""
    import networkx as nx

    return int(nx.node_connectivity(graph.to_networkx()))


def tolerates_any(graph: AgentGraph, byzantine_count: int) -> bool:
    """Whether Assumption 1+ holds for every Byzantine set of this size by a sufficient condition.

    Vertex connectivity above the size, or a complete graph with an honest agent left.

    Implements: AD-7.
    """
    count = require_integer(byzantine_count, "the number of Byzantine agents", 0, "AD-1")
    complete = 2 * graph.edge_count == graph.agents * (graph.agents - 1)
    return count < graph.agents if complete else vertex_connectivity(graph) > count
