"""S1 to S4: on random runs, over every Byzantine behaviour on small graphs, and the errata."""

from collections.abc import Iterator, Mapping, Set
from functools import cache
from itertools import combinations, product

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from valid_ref.adversary.scripted import Scripted
from valid_ref.graph import AgentGraph, assumption_1, honest_agents
from valid_ref.graph_families import connected_graphs, path
from valid_ref.guarantees.agreement import (
    alarm_reaches_all,
    alarmed_among,
    alarms_stay,
    ball,
    is_reachable_split,
    lies_spread_as_balls,
    quiet_stays_quiet,
    reachable_splits,
)
from valid_ref.machine import run_machine
from valid_ref.protocols.agreement import PHASE, AgreementState, ValidationStateAgreement
from valid_ref.reading import Reading

Agents = frozenset[int]
CONNECTED = cache(connected_graphs)
NOBODY: Agents = frozenset()


@attrs.frozen
class Lasting(ValidationStateAgreement):
    """The agreement with another number of rounds."""

    lasts: int = 0

    @property
    def rounds(self) -> int:
        return self.lasts


def run(
    machine: ValidationStateAgreement,
    byzantine: Agents,
    starts: Agents,
    script: Mapping[tuple[int, tuple[int, int]], object] | None = None,
):
    """The recorded rounds and the history; Byzantine agents say "no alarm" where no script is."""
    graph = machine.graph
    private = {agent: agent in starts for agent in range(graph.agents)}
    messages = {(PHASE, number, *edge): said for (number, edge), said in (script or {}).items()}
    result = run_machine(
        graph,
        machine,
        private,
        byzantine=byzantine,
        adversary=Scripted(messages, otherwise={PHASE: False}),
        keep_states=True,
    )
    return result.rounds, result.history


@st.composite
def worlds(draw: st.DrawFn, *, source_component: bool = True) -> tuple[AgentGraph, Agents]:
    """A graph and a Byzantine set; if asked for, the honest agents are connected (Assumption 1)."""
    names = draw(st.integers(2, 6).flatmap(lambda n: st.permutations(range(n))))
    honest = draw(st.integers(1, len(names)))
    tree = {
        (names[draw(st.integers(0, place - 1))], names[place]) for place in range(1, len(names))
    }
    more = draw(st.lists(st.sampled_from(list(combinations(sorted(names), 2)))))
    edges = {tuple(sorted(edge)) for edge in tree} | set(more)
    byzantine = frozenset(names[honest:] if source_component else names[:-honest])
    return AgentGraph.from_edges(len(names), edges), byzantine


@st.composite
def attacks(draw: st.DrawFn, *, source_component: bool = True):
    graph, byzantine = draw(worlds(source_component=source_component))
    starts = draw(st.one_of(st.just(NOBODY), st.frozensets(st.integers(0, graph.agents - 1))))
    own = [edge for edge in graph.directed_edges if edge[0] in byzantine]
    places = list(product(range(1, graph.agents), own))
    words = st.sampled_from([False, False, False, True, None, "garbage"])
    said = draw(st.lists(words, min_size=len(places), max_size=len(places)))
    return graph, byzantine, starts, dict(zip(places, said, strict=True))


@pytest.mark.checks("S1", "S2", "S3", "S4")
@given(st.one_of(attacks(), attacks(source_component=False)))
def test_the_guarantees_hold_in_random_runs(attack) -> None:
    graph, byzantine, starts, script = attack
    rounds, history = run(ValidationStateAgreement(graph), byzantine, starts, script)
    assert alarms_stay(history)
    assert alarm_reaches_all(graph, byzantine, history)
    assert quiet_stays_quiet(graph, byzantine, history)
    assert lies_spread_as_balls(graph, byzantine, rounds, history)
    honest = honest_agents(graph, byzantine)
    if not starts & set(honest):
        assert is_reachable_split(graph, byzantine, alarmed_among(honest, history[-1]))


def subsets(agents: Set[int] | range) -> Iterator[Agents]:
    return (frozenset(c) for k in range(len(agents) + 1) for c in combinations(sorted(agents), k))


def pairs(most: int, *, with_empty: bool = False) -> Iterator[tuple[AgentGraph, Agents]]:
    """All pairs of the errata: connected graphs up to isomorphism, labelled B, Assumption 1."""
    for graph in (graph for n in range(2, most + 1) for graph in CONNECTED(n)):
        for byzantine in subsets(range(graph.agents)):
            if (byzantine or with_empty) and assumption_1(graph, byzantine):
                yield graph, byzantine


def endings(
    machine: ValidationStateAgreement, byzantine: Agents, starts: Agents, words: tuple[object, ...]
) -> set[Agents]:
    """The sets of honest agents alarmed at the end, over all strategies that use these words.

    What one honest agent hears does not bind what another hears, so their next states combine
    freely; with the set of reachable states of each round no strategy is left out.
    """
    graph, honest = machine.graph, honest_agents(machine.graph, byzantine)

    @cache
    def options(agent: int, alarmed: Agents) -> frozenset[bool]:
        liars = sorted(byzantine.intersection(graph.neighbours(agent)))
        heard = {u: u in alarmed for u in graph.neighbours(agent) if u not in byzantine}
        inboxes = (
            heard | {u: word for u, word in zip(liars, lies, strict=True) if word is not None}
            for lies in product(words, repeat=len(liars))
        )
        state = AgreementState(agent, agent in alarmed)
        return frozenset(machine.receive(state, 1, inbox).alarmed for inbox in inboxes)

    reached = {starts}
    for _ in range(machine.rounds):
        reached = {
            frozenset(agent for agent, alarm in zip(honest, following, strict=True) if alarm)
            for alarmed in reached
            for following in product(*(options(agent, alarmed) for agent in honest))
        }
    return reached


@pytest.mark.checks("S4")
@pytest.mark.witness("P26")
def test_the_reachable_splits_are_exactly_the_unions_of_balls() -> None:
    count = split = 0
    for graph, byzantine in pairs(5):
        machine = ValidationStateAgreement(graph)
        ends = endings(machine, byzantine, NOBODY, (False, True, None, 0))
        splits = reachable_splits(graph, byzantine)
        assert ends == splits
        honest = set(range(graph.agents)) - byzantine
        assert splits == {A for A in subsets(honest) if is_reachable_split(graph, byzantine, A)}
        divides = any(0 < len(end) < len(honest) for end in ends)
        assert divides == (len(honest) > 1)
        count, split = count + 1, split + divides
    assert (split, count) == (415, 552)


def starts_of(most: int) -> Iterator[tuple[AgentGraph, Agents, Agents]]:
    """All starts of the errata: a graph, B that may be empty, and some honest alarms."""
    for graph, byzantine in pairs(most, with_empty=True):
        for starts in subsets(set(range(graph.agents)) - byzantine):
            if starts:
                yield graph, byzantine, starts


def missed(machine: ValidationStateAgreement, byzantine: Agents, starts: Agents) -> bool:
    """Whether some strategy keeps an honest agent from the alarm."""
    ends = endings(machine, byzantine, starts, (False, True))
    return ends != {frozenset(honest_agents(machine.graph, byzantine))}


@pytest.mark.checks("S2")
@pytest.mark.witness("P04")
def test_every_honest_alarm_becomes_unanimous_and_as_printed_a_third_does_not() -> None:
    cases = list(starts_of(5))
    printed = Reading.without("P04", "P05")
    assert not any(missed(ValidationStateAgreement(graph), *start) for graph, *start in cases)
    lost = sum(missed(ValidationStateAgreement(graph, printed), *start) for graph, *start in cases)
    assert (lost, len(cases)) == (1250, 3872)


@pytest.mark.checks("S1")
@pytest.mark.witness("P04")
def test_as_printed_a_single_alarm_swaps_sides_for_ever() -> None:
    graph, starts = path(2), frozenset({0})
    _rounds, printed = run(Lasting(graph, Reading.without("P04"), lasts=5), NOBODY, starts)
    _rounds, repaired = run(Lasting(graph, lasts=5), NOBODY, starts)
    assert [alarmed_among((0, 1), states) for states in printed] == [{0}, {1}] * 3
    assert [alarmed_among((0, 1), states) for states in repaired] == [{0}] + [{0, 1}] * 5
    assert alarms_stay(printed).offenders == alarm_reaches_all(graph, NOBODY, printed).offenders
    assert alarms_stay(printed).offenders == (0,)
    assert alarms_stay(repaired)
    assert alarm_reaches_all(graph, NOBODY, repaired)


@pytest.mark.checks("S2", "SA-1")
@pytest.mark.witness("P05")
def test_the_diameter_is_too_few_rounds_where_the_honest_path_is_longer() -> None:
    """The path 0-1-2-3 beside a Byzantine hub 4: diameter 2, but three hops through H."""
    graph = AgentGraph.from_edges(5, [(0, 1), (1, 2), (2, 3), *((v, 4) for v in range(4))])
    byzantine, starts = frozenset({4}), frozenset({0})
    machines = {
        machine.rounds: machine
        for machine in (
            Lasting(graph, lasts=graph.diameter),
            ValidationStateAgreement(graph),
            ValidationStateAgreement(graph, Reading.without("P05")),
            Lasting(graph, lasts=min(graph.agents, graph.edge_count)),
        )
    }
    runs = {rounds: run(machine, byzantine, starts) for rounds, machine in machines.items()}
    verdicts = {r: alarm_reaches_all(graph, byzantine, history) for r, (_, history) in runs.items()}
    assert {rounds: bool(verdict) for rounds, verdict in verdicts.items()} == {
        2: False,
        4: True,
        5: True,
        7: True,
    }
    assert verdicts[2].offenders == (3,)


def too_slow(most: int) -> tuple[int, int, int]:
    """Over single honest alarms: how often diam(G) rounds miss, |E| and |V|-1 miss; all cases."""
    cases = [(g, byzantine, s) for g, byzantine, s in starts_of(most) if len(s) == 1]
    diameter = sum(missed(Lasting(graph, lasts=graph.diameter), *s) for graph, *s in cases)
    others = sum(
        missed(ValidationStateAgreement(graph, reading), *start)
        for graph, *start in cases
        for reading in (Reading(), Reading.without("P05"))
    )
    return diameter, others, len(cases)


@pytest.mark.checks("S2", "SA-1")
@pytest.mark.witness("P05")
def test_no_graph_of_four_agents_needs_more_than_the_diameter_but_some_of_five_do() -> None:
    assert too_slow(4) == (0, 0, 184)
    assert too_slow(5) == (16, 0, 1448)


@pytest.mark.deep
@pytest.mark.checks("S2")
@pytest.mark.witness("P05")
def test_the_diameter_fails_in_340_cases_of_six_agents() -> None:
    assert too_slow(6) == (340, 0, 16620)


@pytest.mark.checks("S4")
@pytest.mark.witness("P26")
@pytest.mark.parametrize("word", [True, None, "garbage"])
def test_the_later_the_lie_the_fewer_it_reaches(word: object) -> None:
    """The worked example: path 0-1-2-3-4, agent 4 Byzantine, first lie in round r of 4."""
    graph, byzantine = path(5), frozenset({4})
    machine, reached = ValidationStateAgreement(graph), []
    for number in range(1, 6):
        rounds, history = run(machine, byzantine, NOBODY, {(number, (4, 3)): word})
        reached.append(alarmed_among(range(4), history[-1]))
        assert lies_spread_as_balls(graph, byzantine, rounds, history)
    assert reached == [{0, 1, 2, 3}, {1, 2, 3}, {2, 3}, {3}, set()]
    assert set(reached) == reachable_splits(graph, byzantine)


def test_balls_stay_among_the_honest_agents() -> None:
    graph = AgentGraph.from_edges(4, [(0, 1), (1, 2), (0, 3), (2, 3)])
    assert ball(graph, frozenset({0, 1, 2}), 0, 1) == {0, 1}
    assert ball(graph, frozenset({0, 2}), 0, 3) == {0}
    assert reachable_splits(graph, frozenset({1, 3}), rounds=3) == set(subsets({0, 2}))
    assert reachable_splits(graph, NOBODY) == {NOBODY}
    assert reachable_splits(path(5), frozenset({4}), rounds=2) == set(
        map(frozenset, [(), (3,), (2, 3)])
    )
    assert not is_reachable_split(graph, frozenset({3}), frozenset({1}))


@pytest.mark.checks("S1", "S2", "S3", "S4")
def test_a_run_that_breaks_a_guarantee_is_named() -> None:
    """Every predicate can fail, and says who broke it."""
    graph, byzantine = path(3), frozenset({2})
    rounds, history = run(ValidationStateAgreement(graph), byzantine, NOBODY, {(1, (2, 1)): True})
    quiet = {agent: AgreementState(agent, alarmed=False) for agent in range(3)}
    alone = quiet | {0: AgreementState(0, alarmed=True)}
    assert alarms_stay((alone, quiet)).offenders == (0,)
    forgotten = {0: attrs.evolve(history[2][0], alarms=())}
    assert alarms_stay((history[2], history[2] | forgotten)).offenders == (0,)
    assert alarm_reaches_all(graph, byzantine, (alone, alone, alone)).offenders == (1,)
    assert alarm_reaches_all(graph, byzantine, (alone, alone, history[2])).offenders == (1,)
    assert alarm_reaches_all(graph, byzantine, (alone, history[2], alone)).offenders == (1,)
    assert quiet_stays_quiet(graph, NOBODY, (quiet, alone)).offenders == (0,)
    wrong = lies_spread_as_balls(graph, byzantine, rounds, (quiet, alone))
    assert wrong.offenders == (1,)
    assert wrong.reason == "[0, 1] ought to be alarmed"
    for verdict in (
        alarm_reaches_all(path(3), frozenset({1}), (alone, alone)),
        alarm_reaches_all(graph, byzantine, (quiet, alone)),
        quiet_stays_quiet(graph, byzantine, (quiet, alone)),
        lies_spread_as_balls(graph, byzantine, rounds, (alone, quiet)),
    ):
        assert verdict
        assert verdict.reason.startswith("nothing is promised: ")
