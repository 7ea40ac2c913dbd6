"""What there is to explore: all pairs, all sources, and which of them are the same in all but name.

Counted as the errata count: graphs up to isomorphism, Byzantine sets labelled.
"""

from __future__ import annotations

import functools
from collections import Counter
from itertools import combinations, permutations
from typing import TYPE_CHECKING

import attrs
import numpy as np

from valid_ref.explore.kernels import BYZANTINE, END, NeighbourRows, canonical_rows
from valid_ref.explore.settings import Explored, Settings
from valid_ref.graph import AgentGraph, assumption_1, honest_agents
from valid_ref.graph_families import ATLAS_LIMIT, connected_graphs

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray


Agents = frozenset[int]


@attrs.frozen
class ExploredCase:
    """A graph, a Byzantine set and, in a broadcast, a source; None is the adversary as source."""

    graph: AgentGraph
    byzantine: Agents
    source: int | None = None

    @property
    def honest(self) -> tuple[int, ...]:
        """H, in order."""
        return honest_agents(self.graph, self.byzantine)

    @property
    def named_source(self) -> int:
        """The source by name; the adversary speaks as its smallest agent."""
        return min(self.byzantine) if self.source is None else self.source


@attrs.frozen
class SymmetryClass:
    """Cases that a renumbering of honest agents turns into one another: the first, and how many.

    `rows` are the neighbour lists of its honest agents, `source` the place of the source among
    them or -1, `rounds` the numbers of rounds of the protocols.
    """

    first: ExploredCase
    members: int
    rows: NeighbourRows
    source: int
    rounds: tuple[int, ...]


@functools.cache
def graphs(agents: int) -> tuple[AgentGraph, ...]:
    """Every connected graph up to isomorphism; reading the atlas takes time, so only once."""
    return connected_graphs(agents)


def pairs(agents: int, *, nobody: bool = False, all_sets: bool = False) -> Iterator[ExploredCase]:
    """Every graph with every labelled Byzantine set that leaves somebody honest.

    With `nobody` the empty set too; with `all_sets` also where Assumption 1 fails.
    """
    for graph in graphs(agents):
        for size in range(0 if nobody else 1, agents):
            for chosen in combinations(range(agents), size):
                if all_sets or assumption_1(graph, chosen):
                    yield ExploredCase(graph, frozenset(chosen))


def neighbour_rows(case: ExploredCase, *, ordered: bool = True) -> NeighbourRows:
    """The neighbours of every honest agent as the compiled core reads them.

    Byzantine agents lose their names. Of those that are heard one after the other two are kept:
    they can say nothing, one value, or two in either order, and more of them no more than that.
    Where the order does not matter one Byzantine neighbour, heard last, stands for all.
    """
    place = {agent: index for index, agent in enumerate(case.honest)}
    rows = np.full((len(place), ATLAS_LIMIT - 1), END, np.int8)
    for agent, index in place.items():
        entries: list[int] = []
        for neighbour in case.graph.neighbours(agent):
            entry = place.get(neighbour, BYZANTINE)
            if entry != BYZANTINE or entries[-2:] != [BYZANTINE] * 2:
                entries.append(entry)
        if not ordered:
            entries = sorted(set(entries))
        rows[index, : len(entries)] = entries
    return rows


def broadcast_classes(settings: Settings) -> tuple[SymmetryClass, ...]:
    """Every pair with every source, in classes, those with few agents first."""
    return _grouped(_broadcast_cases(settings), settings.symmetry)


def agreement_classes(settings: Settings) -> tuple[SymmetryClass, ...]:
    """Every pair, and every graph without Byzantine agents, in classes."""
    return _grouped(_agreement_cases(settings), settings.symmetry)


def _broadcast_cases(settings: Settings) -> Iterator[SymmetryClass]:
    for agents in range(settings.min_agents, settings.max_agents + 1):
        for pair in pairs(agents, all_sets=settings.all_sets):
            rows, honest = neighbour_rows(pair), pair.honest
            rounds = [settings.broadcast.flood_rounds(pair.graph)]
            if settings.explored is Explored.BOTH:
                rounds.append(settings.agreement.count(pair.graph, len(honest)))
            for source in (-1, *range(len(honest))):
                name = None if source < 0 else honest[source]
                case = ExploredCase(pair.graph, pair.byzantine, name)
                yield SymmetryClass(case, 1, rows, source, tuple(rounds))


def _agreement_cases(settings: Settings) -> Iterator[SymmetryClass]:
    for agents in range(settings.min_agents, settings.max_agents + 1):
        for pair in pairs(agents, nobody=True, all_sets=settings.all_sets):
            rows = neighbour_rows(pair, ordered=False)
            rounds = settings.agreement.count(pair.graph, len(rows))
            yield SymmetryClass(pair, 1, rows, -1, (rounds,))


def _grouped(cases: Iterable[SymmetryClass], symmetry: bool) -> tuple[SymmetryClass, ...]:
    if not symmetry:
        return tuple(cases)
    first: dict[object, SymmetryClass] = {}
    members: Counter[object] = Counter()
    for one in cases:
        canonical = canonical_rows(one.rows, one.source, orders(len(one.rows)))
        key = (one.source >= 0, one.rounds, canonical.tobytes())
        members[key] += 1
        first.setdefault(key, one)
    return tuple(attrs.evolve(one, members=members[key]) for key, one in first.items())


@functools.cache
def orders(count: int) -> NDArray[np.int64]:
    """All permutations of 0..count-1, one a row."""
    return np.array(list(permutations(range(count))), np.int64)
