"""The usual graphs by name, the graph of the paper, and every small connected graph.

Random families draw from numpy's PCG64 with an explicit seed, and from nothing else.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import combinations, compress
from typing import TypeVar

import attrs
import numpy as np

from valid_ref.graph import AgentGraph, DisconnectedError, GraphError, require_integer

__all__ = [
    "complete",
    "connected_graphs",
    "cycle",
    "erdos_renyi",
    "labelled_connected_graphs",
    "paper_graph",
    "parse_family",
    "path",
    "random_regular",
    "random_two_cliques",
    "star",
    "torus",
    "two_cliques",
]

Edges = Iterable[tuple[int, int]]

MAX_TRIES = 1000
"""How often a random family draws again before it gives up on a connected graph."""

ATLAS_LIMIT = 7
"""The largest number of agents for which all connected graphs up to isomorphism are listed."""

LABELLED_LIMIT = 5
"""The largest number of agents for which all labelled connected graphs are listed."""


def complete(agents: int) -> AgentGraph:
    """Every two agents share an edge."""
    return AgentGraph(agents, combinations(range(_size(agents, 2)), 2))


def path(agents: int) -> AgentGraph:
    """The agents in a row, 0-1-2-..."""
    return AgentGraph(agents, ((v - 1, v) for v in range(1, _size(agents, 2))))


def cycle(agents: int) -> AgentGraph:
    """The agents in a ring; at least three."""
    return AgentGraph(agents, ((v, (v + 1) % agents) for v in range(_size(agents, 3))))


def star(agents: int) -> AgentGraph:
    """Agent 0 shares an edge with every other agent, and there is no other edge."""
    return AgentGraph(agents, ((0, v) for v in range(1, _size(agents, 2))))


def torus(rows: int, columns: int) -> AgentGraph:
    """A grid that wraps around, agent row * columns + column; at least three each way."""
    count, height, width = _size_of_torus(rows, columns), int(rows), int(columns)
    edges = []
    for row in range(height):
        for column in range(width):
            agent = row * width + column
            edges.append((agent, row * width + (column + 1) % width))
            edges.append((agent, (row + 1) % height * width + column))
    return AgentGraph(count, edges)


def random_regular(agents: int, degree: int, seed: int) -> AgentGraph:
    """A random connected graph in which every agent has `degree` neighbours."""
    import networkx as nx

    count, wanted = _size_of_regular(agents, degree), int(degree)
    # The few edges that are missing are drawn where that is quicker than drawing the many.
    dense = 2 * wanted >= count
    drawn = count - 1 - wanted if dense else wanted

    def draw(generator: np.random.Generator) -> Edges:
        drawn_seed = int(generator.integers(2**32))
        graph = nx.random_regular_graph(drawn, count, seed=drawn_seed)
        edges: Edges = (nx.complement(graph) if dense else graph).edges()
        return edges

    return _first_connected(count, seed, draw, f"{wanted}-regular")


def erdos_renyi(agents: int, probability: float, seed: int) -> AgentGraph:
    """Every edge is there with the same probability, given that the graph is connected."""
    count = _size_of_random(agents, probability)
    pairs = list(combinations(range(count), 2))

    def draw(generator: np.random.Generator) -> Edges:
        return compress(pairs, generator.random(len(pairs)) < probability)

    return _first_connected(count, seed, draw, f"Erdos-Renyi (probability {probability})")


def two_cliques(size: int, cross_edges: Edges | None = None) -> AgentGraph:
    """Complete graphs on 0..size-1 and size..2*size-1, joined by these edges.

    Without cross edges given, the first agents and the last agents of the two are joined.

    Implements: EX-1.
    """
    half = _size_of_cliques(size) // 2
    crossing = ((0, half), (half - 1, 2 * half - 1)) if cross_edges is None else cross_edges
    left, right = (combinations(range(start, start + half), 2) for start in (0, half))
    return AgentGraph(2 * half, [*left, *right, *crossing])


def random_two_cliques(size: int, crossing: int, seed: int, disjoint: bool = True) -> AgentGraph:
    """Two cliques joined by `crossing` random edges, no two of which share an agent.

    With `disjoint=False` they may share agents, as the paper's text allows; one adversary can
    then cut the graph in two.

    Implements: EX-1.
    """
    half = _size_of_cliques(size, crossing, disjoint=disjoint) // 2
    count = int(crossing)
    generator = _generator(seed)
    if disjoint:
        left, right = (generator.permutation(half)[:count] for _ in range(2))
    else:
        left, right = np.divmod(generator.permutation(half * half)[:count], half)
    return two_cliques(half, zip(left.tolist(), (right + half).tolist(), strict=True))


def paper_graph() -> AgentGraph:
    """The network of the paper's experiment as drawn: two K10 joined by 1-12 and 9-15.

    Implements: EX-1.
    """
    return two_cliques(10, ((1, 12), (9, 15)))


def connected_graphs(agents: int) -> tuple[AgentGraph, ...]:
    """Every connected graph up to isomorphism, two to seven agents, in the order of the atlas."""
    import networkx as nx

    count = _size(agents, 2, ATLAS_LIMIT)
    atlas = (graph for graph in nx.graph_atlas_g() if len(graph) == count)
    return tuple(AgentGraph.from_networkx(graph) for graph in atlas if nx.is_connected(graph))


def labelled_connected_graphs(agents: int) -> Iterator[AgentGraph]:
    """Every connected graph on the agents as they are numbered, two to five of them."""
    count = _size(agents, 2, LABELLED_LIMIT)
    pairs = list(combinations(range(count), 2))
    masks = range(2 ** len(pairs))
    chosen = ([pair for place, pair in enumerate(pairs) if mask >> place & 1] for mask in masks)
    return _connected_only(count, chosen)


def parse_family(text: str) -> AgentGraph:
    """The graph a command line names, such as `paper`, `torus:3x4` or `regular:10,3,seed=1`."""
    family, words = _family_of(text)
    return family.build(*words)


def family_size(text: str) -> int:
    """How many agents the graph of such a text has; refused if there is none. No graph is made."""
    family, words = _family_of(text)
    return family.size(*words)


def _family_of(text: str) -> tuple[_Family, tuple[str, ...]]:
    if not isinstance(text, str):
        raise GraphError(f"a graph is called by a text such as complete:5, not {text!r}")
    for family in _FAMILIES:
        match = re.fullmatch(family.pattern, text)
        if match:
            return family, match.groups()
    name = text.partition(":")[0]
    near = difflib.get_close_matches(name, {family.name for family in _FAMILIES}, 1, 0.5)
    forms = [family.form for family in _FAMILIES if not near or family.name in near]
    raise GraphError(
        f"no graph is called {text!r}; write {' or '.join(forms)}, with numbers up to 9999"
    )


def _size(agents: int, minimum: int, maximum: int | None = None) -> int:
    count = require_integer(agents, "the number of agents", minimum)
    if maximum is not None and count > maximum:
        raise GraphError(f"the number of agents must be at most {maximum} here, not {count}")
    return count


def _size_of_torus(rows: int, columns: int) -> int:
    height = require_integer(rows, "the rows of a torus", 3)
    return height * require_integer(columns, "the columns of a torus", 3)


def _size_of_regular(agents: int, degree: int) -> int:
    count = _size(agents, 2)
    wanted = require_integer(degree, "the degree", 1)
    if wanted >= count or count * wanted % 2:
        raise GraphError(
            f"no graph of {count} agents has degree {wanted} everywhere: "
            "the degree must be below the number of agents and their product even"
        )
    return count


def _size_of_random(agents: int, probability: float) -> int:
    count = _size(agents, 2)
    if isinstance(probability, bool) or not 0 < probability <= 1:
        raise GraphError(f"the probability of an edge must be in (0, 1], not {probability!r}")
    return count


def _size_of_cliques(size: int, crossing: int = 1, *, disjoint: bool = True) -> int:
    half = require_integer(size, "the size of a clique", 2)
    count = require_integer(crossing, "the number of cross edges", 1)
    limit = half if disjoint else half * half
    if count > limit:
        kind = "disjoint " if disjoint else ""
        raise GraphError(f"two cliques of {half} have at most {limit} {kind}cross edges: {count}")
    return 2 * half


MadeT = TypeVar("MadeT")


@attrs.frozen
class _Family:
    """One graph by name: how it is written and read, how many agents it has, what makes it.

    `size` refuses what `build` refuses, but for a random graph that is never connected.
    """

    form: str
    pattern: str
    size: Callable[..., int]
    build: Callable[..., AgentGraph]

    @property
    def name(self) -> str:
        return self.form.partition(":")[0]


def _of_integers(make: Callable[..., MadeT]) -> Callable[..., MadeT]:
    return lambda *numbers: make(*map(int, numbers))


def _at_least(minimum: int) -> Callable[..., int]:
    return lambda agents: _size(int(agents), minimum)


_N = "([0-9]{1,4})"
_SEED = ",seed=([0-9]{1,18})"
_FAMILIES = (
    _Family("paper", "paper", lambda: 20, paper_graph),
    _Family("complete:N", f"complete:{_N}", _at_least(2), _of_integers(complete)),
    _Family("path:N", f"path:{_N}", _at_least(2), _of_integers(path)),
    _Family("cycle:N", f"cycle:{_N}", _at_least(3), _of_integers(cycle)),
    _Family("star:N", f"star:{_N}", _at_least(2), _of_integers(star)),
    _Family(
        "torus:ROWSxCOLUMNS", f"torus:{_N}x{_N}", _of_integers(_size_of_torus), _of_integers(torus)
    ),
    _Family(
        "regular:N,DEGREE,seed=SEED",
        f"regular:{_N},{_N}{_SEED}",
        lambda n, degree, _seed: _size_of_regular(int(n), int(degree)),
        _of_integers(random_regular),
    ),
    _Family(
        "erdos-renyi:N,PROBABILITY,seed=SEED",
        rf"erdos-renyi:{_N},([0-9]{{0,9}}\.?[0-9]{{1,18}}){_SEED}",
        lambda n, probability, _seed: _size_of_random(int(n), float(probability)),
        lambda n, probability, seed: erdos_renyi(int(n), float(probability), int(seed)),
    ),
    _Family(
        "two-cliques:SIZE",
        f"two-cliques:{_N}",
        _of_integers(_size_of_cliques),
        _of_integers(two_cliques),
    ),
    _Family(
        "two-cliques:SIZE,CROSSING,seed=SEED",
        f"two-cliques:{_N},{_N}{_SEED}",
        lambda size, crossing, _seed: _size_of_cliques(int(size), int(crossing)),
        _of_integers(random_two_cliques),
    ),
)
FAMILY_NAMES = frozenset(family.name for family in _FAMILIES)
"""What the text of a graph begins with."""
FAMILY_FORMS = tuple(family.form for family in _FAMILIES)
"""How `parse_family` wants each family written, for help texts."""


def _generator(seed: int) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(require_integer(seed, "the seed", 0)))


def _connected_only(agents: int, candidates: Iterable[Edges]) -> Iterator[AgentGraph]:
    """The connected ones among the graphs with these lists of edges, in their order."""
    for edges in candidates:
        try:
            graph = AgentGraph(agents, edges)
        except DisconnectedError:
            continue
        yield graph


def _first_connected(
    agents: int, seed: int, draw: Callable[[np.random.Generator], Edges], kind: str
) -> AgentGraph:
    """The first connected graph among those drawn one after the other from the seed."""
    generator = _generator(seed)
    draws = (draw(generator) for _ in range(MAX_TRIES))
    graph = next(_connected_only(agents, draws), None)
    if graph is None:
        raise DisconnectedError(
            f"no connected {kind} graph of {agents} agents in {MAX_TRIES} draws from seed {seed}"
        )
    return graph
