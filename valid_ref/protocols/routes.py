"""Distances and a tree of shortest paths, as everybody who knows the graph computes them."""

import functools

import attrs

from valid_ref.graph import AgentGraph


@attrs.frozen
class Routes:
    """Who is how far from whom, and the tree along which sums go up and the total comes down.

    The root is the smallest-numbered agent whose largest distance to another is least; the parent
    of any other agent is its smallest-numbered neighbour that is nearer to the root.

    Implements: LE-2.
    """

    graph: AgentGraph

    @functools.cached_property
    def distances(self) -> tuple[tuple[int, ...], ...]:
        """The number of hops between any two agents."""
        return tuple(self.graph.distances_from(v) for v in range(self.graph.agents))

    @functools.cached_property
    def diameter(self) -> int:
        """D."""
        return max(map(max, self.distances))

    @functools.cached_property
    def root(self) -> int:
        """The centre."""
        return min(range(self.graph.agents), key=lambda v: (max(self.distances[v]), v))

    @property
    def depths(self) -> tuple[int, ...]:
        """How far each agent is from the root."""
        return self.distances[self.root]

    @functools.cached_property
    def height(self) -> int:
        """r, the largest depth; D is at most 2r."""
        return max(self.depths)

    @functools.cached_property
    def parents(self) -> tuple[int | None, ...]:
        """The parent of every agent; None for the root."""
        return tuple(self._parent(v) for v in range(self.graph.agents))

    def _parent(self, agent: int) -> int | None:
        nearer = (u for u in self.graph.neighbours(agent) if self.depths[u] < self.depths[agent])
        return next(nearer, None)

    @functools.cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """The children of every agent, in increasing order."""
        found: list[list[int]] = [[] for _agent in range(self.graph.agents)]
        for agent, parent in enumerate(self.parents):
            if parent is not None:
                found[parent].append(agent)
        return tuple(map(tuple, found))

    @functools.cached_property
    def sizes(self) -> tuple[int, ...]:
        """How many agents are in the subtree of every agent, itself included."""
        sizes = [1] * self.graph.agents
        for agent in sorted(range(self.graph.agents), key=lambda v: -self.depths[v]):
            parent = self.parents[agent]
            if parent is not None:
                sizes[parent] += sizes[agent]
        return tuple(sizes)

    def up(self, agent: int) -> int:
        """The round in which an agent, not the root, sends the sum of its subtree to its parent."""
        return self.height - self.depths[agent] + 1

    def down(self, agent: int) -> int:
        """The round in which an agent, not the root, receives the total from its parent."""
        return self.height + self.depths[agent]
