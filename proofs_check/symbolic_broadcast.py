"""V2 and S2 for all labelled connected graphs of one size at once, with unbounded messages (z3).

The graph, the Byzantine set, the source and every Byzantine message are unknowns; a message is
null or any integer. The question is whether some choice of them breaks the property: no choice is
a proof for that size, a choice is a counterexample that the real machines replay, and no answer
within the time limit is reported as such.

Axioms: none beyond the meaning of integers and booleans.

Proves: V2, S2.
"""

from __future__ import annotations

import enum
from itertools import combinations
from typing import TYPE_CHECKING, Any

import attrs

from valid_ref.explore.counterexample import Script
from valid_ref.explore.plain import Word
from valid_ref.explore.settings import (
    BROADCAST_PHASE,
    AgreementVariant,
    BroadcastVariant,
    Flood,
)
from valid_ref.graph import AgentGraph
from valid_ref.protocols.agreement import PHASE as AGREEMENT_PHASE

if TYPE_CHECKING:
    from collections.abc import Callable

SECONDS = 300
"""How long the solver may think before its answer counts as none."""


class Answer(enum.Enum):
    """What the solver says; a search that was cut off has shown nothing."""

    PROVED = "proved"
    REFUTED = "refuted"
    UNKNOWN = "unknown"


@attrs.frozen
class Symbolic:
    """An answer, and where it refutes the script that does."""

    answer: Answer
    script: Script | None = None


@attrs.frozen
class World:
    """The unknowns that both protocols share, and what is assumed about them."""

    agents: int
    edge: dict[tuple[int, int], Any]
    byzantine: list[Any]
    assumed: list[Any]

    def graph(self, model: Any) -> AgentGraph:
        """The graph of a counterexample."""
        chosen = [pair for pair, there in self.edge.items() if pair[0] < pair[1] and model[there]]
        return AgentGraph(self.agents, chosen)

    def liars(self, model: Any) -> frozenset[int]:
        """The Byzantine set of a counterexample."""
        return frozenset(v for v in range(self.agents) if model[self.byzantine[v]])


def prove_broadcast(
    agents: int, variant: BroadcastVariant | None = None, seconds: float = SECONDS
) -> Symbolic:
    """V2 for all labelled connected graphs, Byzantine sets, sources and integer messages.

    Proves: V2.
    """
    import z3  # type: ignore[import-untyped, unused-ignore]

    how = BroadcastVariant() if variant is None else variant
    world, everyone = _world(z3, agents), range(agents)
    source = z3.Int("source")
    value = z3.Int("value")
    has = [source == v for v in everyone]
    held, fresh, alarmed = [value] * agents, list(has), [z3.BoolVal(False)] * agents
    words: dict[tuple[int, int, int], tuple[Any, Any]] = {}
    # min(V,E) is V unless the graph is a tree; both lengths are unrolled, the longer masked.
    tree = z3.Sum([z3.If(world.edge[p], 1, 0) for p in combinations(everyone, 2)]) == agents - 1
    flood, shorter = _flood_rounds(how, agents)
    for number in range(1, flood + how.compare + 1):
        comparing = number == flood + 1
        runs = z3.Not(tree) if number > shorter and not comparing else z3.BoolVal(True)
        said = []
        for u in everyone:
            speaks = has[u] if comparing or how.resend else fresh[u]
            said.append((speaks, held[u]))
        new_has, new_held = list(has), list(held)
        for v in everyone:
            heard = []
            for u in everyone:
                if u == v:
                    continue
                null, word = z3.Bool(f"null_{number}_{u}_{v}"), z3.Int(f"word_{number}_{u}_{v}")
                words[number, u, v] = (null, word)
                lies = world.byzantine[u]
                speaks = z3.And(runs, world.edge[u, v], z3.If(lies, z3.Not(null), said[u][0]))
                heard.append((speaks, z3.If(lies, word, said[u][1])))
            if not comparing:
                first = held[v]
                for speaks, word in reversed(heard):
                    first = z3.If(speaks, word, first)
                new_held[v] = z3.If(has[v], held[v], first)
                new_has[v] = z3.Or(has[v], *(speaks for speaks, _ in heard))
            objects = [z3.And(speaks, new_has[v], word != new_held[v]) for speaks, word in heard]
            alarmed[v] = z3.Or(alarmed[v], *objects)
        fresh = [z3.And(new_has[v], z3.Not(has[v])) for v in everyone]
        has, held = new_has, new_held
    if how.null_alarm:
        alarmed = [z3.Or(alarmed[v], z3.Not(has[v])) for v in everyone]
    honest = [z3.Not(b) for b in world.byzantine]
    quiet = z3.And(*(z3.Implies(honest[v], z3.Not(alarmed[v])) for v in everyone))
    common = z3.Int("common")
    holding = [z3.Implies(honest[v], z3.And(has[v], held[v] == common)) for v in everyone]
    # `common` is what the smallest honest agent holds, so "no common value" needs no quantifier.
    smallest = [
        z3.Implies(z3.And(honest[v], *world.byzantine[:v]), common == held[v]) for v in everyone
    ]
    sourced = [z3.Implies(z3.And(honest[v], source == v), common == value) for v in everyone]
    broken = [quiet, *smallest, z3.Not(z3.And(*holding, *sourced))]
    return _solve(
        z3,
        [*world.assumed, source >= 0, source < agents, *broken],
        seconds,
        lambda model: _broadcast_script(world, model, how, words, source=source, value=value),
    )


def prove_agreement(
    agents: int,
    variant: AgreementVariant | None = None,
    rounds: int | None = None,
    seconds: float = SECONDS,
) -> Symbolic:
    """S2 likewise: a message is an integer, 0 is "no alarm" and anything else an objection.

    Proves: S2.
    """
    import z3  # type: ignore[import-untyped, unused-ignore]

    how = AgreementVariant() if variant is None else variant
    length = agents - 1 if rounds is None else rounds
    world, everyone = _world(z3, agents), range(agents)
    start = [z3.Bool(f"start_{v}") for v in everyone]
    alarmed = list(start)
    words: dict[tuple[int, int, int], Any] = {}
    for number in range(1, length + 1):
        following = []
        for v in everyone:
            heard = [alarmed[v]] if how.persist else []
            for u in everyone:
                if u != v:
                    words[number, u, v] = z3.Int(f"says_{number}_{u}_{v}")
                    lie = words[number, u, v] != 0
                    says = z3.If(world.byzantine[u], lie, alarmed[u])
                    heard.append(z3.And(world.edge[u, v], says))
            following.append(z3.Or(*heard))
        alarmed = following
    honest = [z3.Not(b) for b in world.byzantine]
    some = z3.Or(*(z3.And(honest[v], start[v]) for v in everyone))
    missed = z3.Or(*(z3.And(honest[v], z3.Not(alarmed[v])) for v in everyone))
    return _solve(
        z3,
        [*world.assumed, some, missed],
        seconds,
        lambda model: _agreement_script(world, model, how, words, start),
    )


def _world(z3: Any, agents: int) -> World:
    """The unknown graph and Byzantine set: both G and G[H] are connected, somebody is honest."""
    everyone = range(agents)
    one_way = {(u, v): z3.Bool(f"edge_{u}_{v}") for u, v in combinations(everyone, 2)}
    edge = one_way | {(v, u): there for (u, v), there in one_way.items()}
    byzantine = [z3.Bool(f"byzantine_{v}") for v in everyone]
    honest = [z3.Not(b) for b in byzantine]
    assumed = [z3.Or(*honest), *_connected(z3, agents, edge, [z3.BoolVal(True)] * agents)]
    return World(agents, edge, byzantine, [*assumed, *_connected(z3, agents, edge, honest)])


def _connected(
    z3: Any, agents: int, edge: dict[tuple[int, int], Any], inside: list[Any]
) -> list[Any]:
    """Any two inside agents are joined by a path inside: reachability by doubling."""
    everyone = range(agents)
    reach = {
        (u, v): z3.And(inside[u], inside[v], z3.BoolVal(True) if u == v else edge[u, v])
        for u in everyone
        for v in everyone
    }
    length = 1
    while length < agents - 1:
        reach = {
            (u, v): z3.Or(*(z3.And(reach[u, w], reach[w, v]) for w in everyone)) for u, v in reach
        }
        length *= 2
    return [z3.Implies(z3.And(inside[u], inside[v]), reach[u, v]) for u, v in edge if u < v]


def _flood_rounds(variant: BroadcastVariant, agents: int) -> tuple[int, int]:
    """How many rounds adopt, on graphs with a cycle and on trees."""
    if variant.flood is Flood.AGENTS_LESS_ONE:
        return agents - 1, agents - 1
    more = int(variant.flood is Flood.PRINTED_AND_ONE)
    return agents + more, agents - 1 + more


def _solve(
    z3: Any, constraints: list[Any], seconds: float, script: Callable[[Any], Script]
) -> Symbolic:
    solver = z3.Solver()
    solver.set("timeout", max(1, int(1000 * seconds)))
    solver.add(*constraints)
    result = solver.check()
    if result == z3.unsat:
        return Symbolic(Answer.PROVED)
    if result == z3.unknown:
        return Symbolic(Answer.UNKNOWN)
    return Symbolic(Answer.REFUTED, script(solver.model()))


def _broadcast_script(
    world: World,
    model: Any,
    how: BroadcastVariant,
    words: dict[tuple[int, int, int], tuple[Any, Any]],
    source: Any,
    value: Any,
) -> Script:
    graph, liars = world.graph(model), world.liars(model)
    spoken = tuple(
        Word(BROADCAST_PHASE, number, u, v, str(model.eval(word, model_completion=True)))
        for (number, u, v), (null, word) in sorted(words.items())
        if u in liars and v in graph.neighbours(u) and not model.eval(null, model_completion=True)
    )
    named = model.eval(source, model_completion=True).as_long()
    own = str(model.eval(value, model_completion=True))
    return Script("V2", graph, liars, spoken, broadcast=how, source=named, value=own)


def _agreement_script(
    world: World,
    model: Any,
    how: AgreementVariant,
    words: dict[tuple[int, int, int], Any],
    start: list[Any],
) -> Script:
    graph, liars = world.graph(model), world.liars(model)
    spoken = tuple(
        Word(AGREEMENT_PHASE, number, u, v, True)
        for (number, u, v), word in sorted(words.items())
        if u in liars
        and v in graph.neighbours(u)
        and model.eval(word, model_completion=True).as_long() != 0
    )
    alarmed = frozenset(v for v in range(world.agents) if v not in liars and model[start[v]])
    return Script("S2", graph, liars, spoken, agreement=how, alarmed=alarmed)
