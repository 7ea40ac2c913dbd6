"""V1 to V5 and VS1: on random runs, over every Byzantine strategy on small graphs, the errata."""

from collections.abc import Iterator, Mapping
from functools import cache
from itertools import combinations, permutations, product
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

import valid_ref.guarantees.broadcast as promise
from valid_ref.alarms import Alarm, Raised
from valid_ref.graph import AgentGraph, assumption_1, honest_agents
from valid_ref.graph_families import complete, connected_graphs, path, star
from valid_ref.guarantees.broadcast import BroadcastOutcome
from valid_ref.machine import Adversary, CausalView, honest, run_machine
from valid_ref.protocols.agreement import AgreementState, ValidationStateAgreement
from valid_ref.protocols.broadcast import BroadcastState, ValidatedBroadcast
from valid_ref.reading import Reading

CONNECTED = cache(connected_graphs)
PRINTED = Reading.without("P01")
A, B, RAISED = 1, 2, Raised(Alarm.NO_VALUE, "Test", 1)


def machine_for(graph: AgentGraph, *sources: int, reading: Reading | None = None):
    slots, form = dict.fromkeys(sources, ("x",)), lambda _tag, value: type(value) is int
    return ValidatedBroadcast(graph, "Test", slots, form, reading or Reading())


def run(machine: ValidatedBroadcast, byzantine: frozenset[int], adversary: Adversary):
    """The outcome and the history of a broadcast in which every source has the value A."""
    graph = machine.graph
    private = {v: dict.fromkeys(machine.slots.get(v, ()), A) for v in range(graph.agents)}
    result = run_machine(
        graph, machine, private, byzantine=byzantine, adversary=adversary, keep_states=True
    )
    outcome = BroadcastOutcome(graph, byzantine, promise.values_of(private), result.states)
    return outcome, result.history


def deny(view: CausalView) -> dict[tuple[int, int], object]:
    """In the agreement: no Byzantine agent ever tells of an alarm."""
    return {edge: False for edge in view.graph.directed_edges if edge[0] in view.byzantine}


def agree(outcome: BroadcastOutcome, adversary: Adversary = deny, reading: Reading | None = None):
    """The states after the agreement that follows a broadcast."""
    graph, byzantine = outcome.graph, outcome.byzantine
    machine = ValidationStateAgreement(graph, reading or Reading())
    starts = {v: v in outcome.alarmed for v in range(graph.agents)}
    return run_machine(graph, machine, starts, byzantine=byzantine, adversary=adversary).states


@attrs.frozen
class Attack:
    """Two sources, a Byzantine set, and a move for every round, Byzantine edge and source.

    A move is a value, null, what honest code says, or what the receiver itself just said.
    """

    graph: AgentGraph
    byzantine: frozenset[int]
    sources: tuple[int, ...]
    moves: Mapping[tuple[int, tuple[int, int]], tuple[Any, ...]]

    def _now(self, view: CausalView) -> dict[tuple[int, int], tuple[Any, ...]]:
        return {edge: moves for (number, edge), moves in self.moves.items() if number == view.round}

    def speak(self, view: CausalView) -> Mapping[tuple[int, int], object]:
        words: dict[tuple[int, int], dict] = {edge: {} for edge in self._now(view)}
        said: Mapping[int, Any] = view.said
        for edge, moves in self._now(view).items():
            for tag, move in zip(product(self.sources, ["x"]), moves, strict=True):
                sayer = {"honest code": edge[0], "echo": edge[1]}.get(move)
                words[edge][tag] = move if sayer is None else said[sayer].get(tag)
        return words

    def tell(self, view: CausalView) -> dict[tuple[int, int], object]:
        """In the agreement A is an alarm, B silence, and all other moves are "no alarm"."""
        words = {A: True, B: None}
        return {edge: words.get(moves[0], False) for edge, moves in self._now(view).items()}


@st.composite
def attacks(draw: st.DrawFn, *, source_component: bool = True) -> Attack:
    """With `source_component` the honest agents are connected (Assumption 1)."""
    names = draw(st.integers(2, 6).flatmap(lambda n: st.permutations(range(n))))
    size = draw(st.integers(1, len(names)))
    tree = [(names[draw(st.integers(0, v - 1))], names[v]) for v in range(1, len(names))]
    more = draw(st.lists(st.sampled_from(list(combinations(sorted(names), 2)))))
    graph = AgentGraph.from_edges(len(names), {tuple(sorted(edge)) for edge in (*tree, *more)})
    byzantine = frozenset(names[size:] if source_component else names[:-size])
    own = [edge for edge in graph.directed_edges if edge[0] in byzantine]
    places = list(product(range(1, len(names) + 1), own))
    move = st.sampled_from(["honest code", "echo", None, A, B])
    moves = draw(st.lists(st.tuples(move, move), min_size=len(places), max_size=len(places)))
    script = dict(zip(places, moves, strict=True))
    return Attack(graph, byzantine, (names[0], names[-1]), script)


@pytest.mark.checks("V1", "V2", "V3", "V4", "VS1")
@given(st.one_of(attacks(), attacks(source_component=False)))
def test_the_guarantees_hold_in_random_runs(attack: Attack) -> None:
    machine = machine_for(attack.graph, *attack.sources)
    outcome, history = run(machine, attack.byzantine, attack.speak)
    assert history[-1] == outcome.states
    assert promise.delivered_to_all(outcome)
    assert promise.common_values_unless_alarm(outcome)
    assert promise.written_once(history)
    assert promise.quiet_neighbours_agree(outcome)
    assert promise.common_values_or_all_alarmed(outcome, agree(outcome, attack.tell))


def endings(machine: ValidatedBroadcast, byzantine: frozenset[int]) -> Iterator[BroadcastOutcome]:
    """Every outcome over all strategies that say null, A or B on each edge in each round.

    Honest agents hear on different edges, so their next states combine freely; with all reachable
    states of each round no strategy is left out.
    """
    graph, (source,) = machine.graph, machine.slots
    tag, loyal = (source, "x"), honest_agents(machine.graph, byzantine)

    def entry(value: object) -> dict:
        return {} if value is None else {tag: value}

    def unpacked(agent: int, held: object, fresh: object, alarmed: bool) -> BroadcastState:
        return BroadcastState(agent, entry(held), entry(fresh), (RAISED,) * alarmed)

    def packed(state: BroadcastState) -> tuple:
        return state.held.get(tag), state.fresh.get(tag), bool(state.alarms)

    @cache
    def options(agent: int, number: int, before: tuple, heard: tuple) -> frozenset[tuple]:
        liars = sorted(byzantine.intersection(graph.neighbours(agent)))
        state, found = unpacked(agent, *before), set()
        for lies in product((None, A, B), repeat=len(liars)):
            words = dict((*heard, *zip(liars, lies, strict=True)))
            after = machine.receive(state, number, {u: entry(word) for u, word in words.items()})
            assert promise.written_once([{agent: state}, {agent: after}])
            found.add(packed(after))
        return frozenset(found)

    reached = {tuple(packed(machine.start(v, {"x": A} if v == source else {})) for v in loyal)}
    for number in range(1, machine.rounds + 1):
        following = set()
        for world in reached:
            now = dict(zip(loyal, world, strict=True))
            words: dict[int, Any] = {v: machine.send(unpacked(v, *now[v]), number) for v in loyal}
            said = {v: dict(word).get(tag) for v, word in words.items()}
            heard = {v: tuple((u, said[u]) for u in graph.neighbours(v) if u in said) for v in now}
            following |= set(product(*(options(v, number, now[v], heard[v]) for v in loyal)))
        reached = following
    others = {b: BroadcastState(b, {}, {}) for b in byzantine}
    for world in reached:
        states = {v: unpacked(v, *end) for v, end in zip(loyal, world, strict=True)}
        yield BroadcastOutcome(graph, byzantine, {tag: A}, states | others)


def instances(most: int) -> Iterator[tuple[AgentGraph, frozenset[int], int]]:
    """Graphs, every B, and as source each honest agent in turn and one Byzantine one for all."""
    for graph in (graph for n in range(2, most + 1) for graph in CONNECTED(n)):
        for size in range(1, graph.agents):
            for byzantine in map(frozenset, combinations(range(graph.agents), size)):
                for source in (*honest_agents(graph, byzantine), min(byzantine)):
                    yield graph, byzantine, source


@pytest.mark.checks("V2", "V3", "V4", "VS1")
def test_no_strategy_breaks_a_guarantee_on_four_agents() -> None:
    for graph, byzantine, source in instances(4):
        for outcome in endings(machine_for(graph, source), byzantine):
            assert promise.common_values_unless_alarm(outcome)
            assert promise.quiet_neighbours_agree(outcome)
            assert promise.common_values_or_all_alarmed(outcome, agree(outcome))


def census(most: int, reading: Reading) -> dict[str, tuple[int, int]]:
    """In how many instances under Assumption 1 some strategy breaks V2 or V5, and of how many."""
    broken: dict[str, list[bool]] = {"honest V2": [], "honest V5": [], "Byzantine V2": []}
    for graph, byzantine, source in instances(most):
        if assumption_1(graph, byzantine):
            ends = list(endings(machine_for(graph, source, reading=reading), byzantine))
            kind = "Byzantine" if source in byzantine else "honest"
            broken[f"{kind} V2"].append(not all(map(promise.common_values_unless_alarm, ends)))
            if kind == "honest":
                broken["honest V5"].append(not all(map(promise.source_value_or_own_alarm, ends)))
    return {kind: (sum(found), len(found)) for kind, found in broken.items()}


@pytest.mark.checks("V2", "V5")
@pytest.mark.witness("P01", "P02")
@pytest.mark.parametrize(
    ("most", "honest_sources", "wrong", "byzantine_sources"),
    [(3, 18, 0, 13), (4, 152, 7, 82), pytest.param(5, 1311, 160, 552, marks=pytest.mark.deep)],
)
def test_how_often_the_text_as_printed_fails(most, honest_sources, wrong, byzantine_sources):
    printed, repaired = census(most, PRINTED), census(most, Reading())
    assert printed["Byzantine V2"] == (byzantine_sources, byzantine_sources)
    assert repaired["Byzantine V2"][0] == repaired["honest V2"][0] == 0
    assert printed["honest V5"] == repaired["honest V5"] == (wrong, honest_sources)


def saying(words: Mapping[int, Mapping[tuple[int, int], object]], tag: tuple[int, str]):
    """The adversary with these words on these edges in these rounds, and null on all others."""

    def adversary(view: CausalView) -> dict[tuple[int, int], object]:
        own = [edge for edge in view.graph.directed_edges if edge[0] in view.byzantine]
        return {e: {tag: words.get(view.round, {}).get(e)} for e in own}

    return adversary


TRIANGLE, SOURCE_0 = complete(3), frozenset({0})
SILENT = saying({}, (0, "x"))
LATE, EARLIER = (saying({r: {(0, 1): A, (0, 2): B}}, (0, "x")) for r in (3, 2))


@pytest.mark.checks("V2", "V4", "VS1", "VB-7", "VB-8")
@pytest.mark.witness("P01")
@pytest.mark.parametrize(("adversary", "held"), [(SILENT, [None, None]), (LATE, [A, B])])
def test_a_silent_or_late_source_is_noticed_only_by_the_repaired_text(adversary, held) -> None:
    printed, _history = run(machine_for(TRIANGLE, 0, reading=PRINTED), SOURCE_0, adversary)
    assert [printed.holds(agent, (0, "x")) for agent in (1, 2)] == held
    assert printed.alarmed == ()
    assert not promise.common_values_unless_alarm(printed)
    assert not promise.quiet_neighbours_agree(printed)
    agreed = agree(printed, reading=PRINTED)
    assert not any(agreed[agent].alarmed for agent in (1, 2))
    assert not promise.common_values_or_all_alarmed(printed, agreed)
    repaired, _history = run(machine_for(TRIANGLE, 0), SOURCE_0, adversary)
    assert {raised.alarm for v in (1, 2) for raised in repaired.states[v].alarms} == {
        Alarm.NO_VALUE
    }
    assert all(agree(repaired)[agent].alarmed for agent in (1, 2))


@pytest.mark.checks("V2", "VB-7")
def test_a_source_that_divides_in_the_last_flood_round_is_noticed_in_the_compare_round() -> None:
    outcome, _history = run(machine_for(TRIANGLE, 0), SOURCE_0, EARLIER)
    for agent, other in ((1, 2), (2, 1)):
        expected = Raised(Alarm.DIFFERENT_VALUE, "Test", 3, other, (0, "x"))
        assert outcome.states[agent].alarms == (expected,)


@pytest.mark.checks("VB-7", "VB-8")
@pytest.mark.witness("P01")
@pytest.mark.parametrize(("half", "by"), [("_object_to_nulls", SILENT), ("_compares", LATE)])
def test_each_half_of_the_repair_alone_is_too_little(monkeypatch, half, by) -> None:
    monkeypatch.setattr(ValidatedBroadcast, half, lambda *_arguments: False)
    outcome, _history = run(machine_for(TRIANGLE, 0), SOURCE_0, by)
    assert outcome.alarmed == ()
    assert not promise.common_values_unless_alarm(outcome)


@pytest.mark.checks("V5", "VB-5", "VB-6")
@pytest.mark.witness("P02")
@pytest.mark.parametrize("reading", [Reading(), PRINTED])
def test_a_leaf_behind_a_forged_hub_holds_another_value_and_has_not_alarmed(reading) -> None:
    """Hub 0, Byzantine leaf 1, source 2 and agent 3; the hub goes through 1 before 2."""
    machine = machine_for(star(4), 2, reading=reading)
    outcome, history = run(machine, frozenset({1}), saying({1: {(1, 0): B}}, (2, "x")))
    held = [[states[v].held.get((2, "x")) for v in (0, 2, 3)] for states in history]
    assert held == ([[None, A, None], [B, A, None]] + [[B, A, B]] * 3)[: machine.rounds + 1]
    assert outcome.alarmed == (0, 2)
    assert promise.source_value_or_own_alarm(outcome).offenders == (3,)
    assert promise.common_values_unless_alarm(outcome)
    for liar, source in permutations((1, 2, 3), 2):
        ends = endings(machine_for(star(4), source, reading=reading), frozenset({liar}))
        assert all(map(promise.source_value_or_own_alarm, ends)) == (liar > source)


@pytest.mark.checks("V1", "V2", "V3", "V4", "V5", "VS1")
def test_an_outcome_that_breaks_a_guarantee_is_named() -> None:
    good, history = run(machine_for(path(3), 0), frozenset(), honest)
    divided = {v: AgreementState(v, alarmed=v == 0) for v in range(3)}
    raised, cut = (RAISED,), frozenset({1})

    def ending(held: Mapping, alarms: tuple = (), byzantine: frozenset = frozenset()):
        states = good.states | {2: BroadcastState(2, held, {}, alarms)}
        return attrs.evolve(good, states=states, byzantine=byzantine)

    for bad in (ending({}), ending({(0, "x"): B})):
        assert promise.delivered_to_all(bad).offenders == (2,)
        assert promise.common_values_unless_alarm(bad).offenders == (2,)
        assert promise.source_value_or_own_alarm(bad).offenders == (2,)
        assert promise.quiet_neighbours_agree(bad).offenders == (1, 2)
        assert promise.common_values_or_all_alarmed(bad, divided).offenders == (2,)
    forged = attrs.evolve(good, values={(0, "x"): B})
    assert promise.common_values_unless_alarm(forged).offenders == (0, 1, 2)
    assert promise.common_values_unless_alarm(attrs.evolve(forged, byzantine=frozenset({0})))
    assert promise.delivered_to_all(ending(good.states[2].held, raised)).offenders == (2,)
    for verdict in (
        promise.common_values_unless_alarm(ending({}, raised)),
        promise.common_values_unless_alarm(ending({}, (), cut)),
        promise.common_values_or_all_alarmed(ending({}, (), cut), divided),
        promise.delivered_to_all(ending({}, (), cut)),
    ):
        assert verdict
        assert verdict.reason.startswith("nothing is promised: ")
    assert promise.written_once((history[1], history[0])).offenders == (1,)
    assert promise.written_once((ending({}, raised).states, ending({}).states)).offenders == (2,)
