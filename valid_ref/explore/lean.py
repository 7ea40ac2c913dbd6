"""Lean validation over tiny fields: every lie on every small graph, under all honest shares."""

import functools
import itertools
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import attrs

from valid_ref.document import read_json, unstructure
from valid_ref.explore.lean_plays import KINDS, SHAPES, Play, plays, tiny_parameters
from valid_ref.explore.settings import ExploreError
from valid_ref.graph import AgentGraph, assumption_1_plus
from valid_ref.graph_families import connected_graphs
from valid_ref.inputs import read_text

# Counting.


@attrs.frozen
class LeanTally:
    """Of one kind of lie: how many there are, and under which shares nobody saw them.

    `runs` were played and stand for `tuples` of honest shares; `unseen` counts those tuples under
    which no honest agent alarms; then the lies that attain the bound, and that go beyond it.
    """

    lies: int = 0
    runs: int = 0
    tuples: int = 0
    unseen: int = 0
    at_the_bound: int = 0
    beyond: int = 0

    @classmethod
    def of(cls, one: Play, *, by_key: bool) -> "LeanTally":
        """The tally of one lie."""
        runs, unseen = one.count_by_key() if by_key else one.count()
        each = one.others if by_key else 1
        unseen *= each
        at, beyond = unseen == one.bound, unseen > one.bound
        return cls(
            lies=1,
            runs=runs,
            tuples=runs * each,
            unseen=unseen,
            at_the_bound=int(at),
            beyond=int(beyond),
        )

    def __add__(self, other: "LeanTally") -> "LeanTally":
        return LeanTally(*map(sum, zip(attrs.astuple(self), attrs.astuple(other), strict=True)))


@attrs.frozen
class LeanSettings:
    """Which graphs, how many keys, and whether one tuple of shares stands for all with its keys."""

    max_agents: int = 4
    min_agents: int = 2
    kappa: int = 1
    by_key: bool = False

    def __attrs_post_init__(self) -> None:
        if not 2 <= self.min_agents <= self.max_agents <= LARGEST:
            raise ExploreError(
                f"lean validation is explored with 2 to {LARGEST} agents", clause="LE-15"
            )


LARGEST = 5
"""More agents would take days."""


@attrs.frozen
class Instance:
    """A graph and a Byzantine set; `first` of those that a symmetry of the graph makes one.

    Lies in the learning are tried for the first only. For those on the tree the numbers matter.
    """

    graph: AgentGraph
    byzantine: frozenset[int]
    first: bool


def instances(settings: LeanSettings) -> list[Instance]:
    """Every connected graph up to isomorphism, every Byzantine set under Assumption 1+."""
    found = []
    for agents in range(settings.min_agents, settings.max_agents + 1):
        for graph in connected_graphs(agents):
            same = symmetries(graph)
            for size in range(1, agents):
                for chosen in itertools.combinations(range(agents), size):
                    if assumption_1_plus(graph, chosen):
                        first = min(tuple(sorted(one[b] for b in chosen)) for one in same)
                        found.append(Instance(graph, frozenset(chosen), first == chosen))
    return found


def symmetries(graph: AgentGraph) -> list[tuple[int, ...]]:
    """The permutations of the agents that leave the graph as it is."""
    edges = set(graph.directed_edges)
    every = itertools.permutations(range(graph.agents))
    return [one for one in every if all((one[u], one[v]) in edges for u, v in graph.edges)]


def explore_instance(settings: LeanSettings, instance: Instance) -> dict[str, LeanTally]:
    """All lies of one graph and one Byzantine set, under all honest shares.

    Explores: LE-15.
    """
    found: dict[str, LeanTally] = {}
    kinds = KINDS if instance.first else KINDS[2:]
    for shape in SHAPES:
        parameters = tiny_parameters(instance.graph, shape, kappa=settings.kappa)
        for kind, one in plays(parameters, instance.byzantine, kinds):
            tally = LeanTally.of(one, by_key=settings.by_key)
            found[kind] = found.get(kind, LeanTally()) + tally
    return found


@attrs.frozen
class LeanExploration:
    """The counts of one exploration, by kind of lie."""

    settings: LeanSettings
    instances: int
    tallies: Mapping[str, LeanTally]

    @property
    def beyond(self) -> int:
        """How many lies go unseen under more shares than LE-15 allows."""
        return sum(tally.beyond for tally in self.tallies.values())

    def counts(self) -> dict[str, Any]:
        """What must come out again."""
        total = sum(self.tallies.values(), LeanTally())
        kinds = {kind: unstructure(tally) for kind, tally in self.tallies.items()}
        return {"instances": self.instances, "kinds": kinds, "all": unstructure(total)}


def explore_lean(
    settings: LeanSettings,
    *,
    jobs: int = 1,
    state_file: Path | None = None,
    watch: Callable[[int, int], None] | None = None,
) -> LeanExploration:
    """Everything that the settings name; a state file continues what was stopped."""
    from valid_ref.explore.run import run_chunks  # slow to import

    every = instances(settings)
    header = {"lean": unstructure(settings)}
    work = functools.partial(_numbers, settings)
    rows = run_chunks(header, every, work, jobs=jobs, state_file=state_file, watch=watch)
    tallies = dict.fromkeys(KINDS, LeanTally())
    for place, *numbers_of_kind in itertools.chain(*rows):
        tallies[KINDS[place]] += LeanTally(*numbers_of_kind)
    return LeanExploration(settings, len(every), tallies)


def _numbers(settings: LeanSettings, instance: Instance) -> tuple[tuple[int, ...], ...]:
    """The tallies of an instance as rows of integers, the place of the kind first."""
    found = explore_instance(settings, instance)
    return tuple((KINDS.index(kind), *attrs.astuple(tally)) for kind, tally in found.items())


FORMAT = "valid-ref explored lean 1"


def record_lean(path: Path, found: LeanExploration, measured: Mapping[str, Any]) -> None:
    """Write the counts into a manifest, in the place of earlier ones of equal settings."""
    entries = read_json(read_text(path, ExploreError))["explorations"] if path.exists() else []
    settings = unstructure(found.settings)
    new = {"settings": settings, "counts": found.counts(), "measured": dict(measured)}
    kept = [entry for entry in entries if entry["settings"] != settings]
    ordered = sorted([*kept, new], key=lambda entry: [*entry["settings"].values()])
    document = {"format": FORMAT, "explorations": ordered}
    path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
