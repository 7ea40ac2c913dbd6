"""Routes, and the flood with a sum beside it: all small graphs, and every kind of bad message."""

from collections.abc import Mapping
from itertools import combinations, product
from types import MappingProxyType
from typing import Any

import attrs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import support
from valid_ref.adversary.scripted import Scripted
from valid_ref.alarms import Alarm, Raised
from valid_ref.graph import AgentGraph, assumption_1
from valid_ref.graph_families import complete, connected_graphs, cycle, path, star
from valid_ref.machine import Addressed, honest, run_machine
from valid_ref.protocols.flood import SUM, TOTAL, Flood, Flooded, FloodState
from valid_ref.protocols.lean import added
from valid_ref.protocols.routes import Routes
from valid_ref.words import Malformed

SMALL = [graph for n in range(2, 6) for graph in connected_graphs(n)]
PHASE, SLOT = "Flood", "value"


def is_word(tag: Any, value: object) -> bool:
    if tag[1] == SLOT:
        return type(value) is str
    return isinstance(value, tuple) or hasattr(value, "words")


def machine(graph: AgentGraph, *, tree: bool = False, less: int = 0) -> Flood:
    routes = Routes(graph)
    last = routes.diameter - less
    return Flood(routes, PHASE, SLOT, is_word, last, added if tree else None)


def inputs(graph: AgentGraph) -> dict[int, Flooded]:
    return {v: Flooded(f"value {v}", (v + 1, -(v**2))) for v in range(graph.agents)}


def played(made: Flood, adversary: Any = honest, byzantine: Any = ()):
    graph = made.routes.graph
    return run_machine(
        graph,
        made,
        inputs(graph),
        byzantine=frozenset(byzantine),
        adversary=adversary,
        keep_states=True,
    )


def reasons(state: FloodState) -> list[tuple[Alarm, int, int | None, object]]:
    return [(r.alarm, r.round, r.sender, r.about) for r in state.alarms]


# Routes.


@pytest.mark.checks("LE-2")
@given(support.graphs(8))
def test_root_tree_and_rounds(graph: AgentGraph) -> None:
    routes, agents = Routes(graph), range(graph.agents)
    ends = [max(graph.distances_from(v)) for v in agents]
    assert routes.diameter == graph.diameter == max(ends) <= 2 * routes.height
    assert (routes.height, routes.root) == (min(ends), ends.index(min(ends)))
    assert routes.parents[routes.root] is None
    for v in agents:
        parent = routes.parents[v]
        nearer = [u for u in graph.neighbours(v) if routes.depths[u] == routes.depths[v] - 1]
        assert parent == (nearer[0] if nearer else None)
        assert routes.children[v] == tuple(u for u in agents if routes.parents[u] == v)
        assert routes.sizes[v] == 1 + sum(routes.sizes[u] for u in routes.children[v])
        if parent is not None:
            assert 1 <= routes.up(v) <= routes.height < routes.down(v) <= 2 * routes.height
            if parent != routes.root:
                assert routes.up(parent) == routes.up(v) + 1
                assert routes.down(parent) == routes.down(v) - 1


@pytest.mark.checks("LE-2")
def test_the_roots_of_some_graphs() -> None:
    found = {
        g: (Routes(g).root, Routes(g).height) for g in (path(5), star(5), complete(4), cycle(6))
    }
    assert found == {path(5): (2, 2), star(5): (0, 1), complete(4): (0, 1), cycle(6): (0, 3)}


# Honest floods.


@pytest.mark.checks("LE-5", "LE-6", "LE-8", "LE-17")
@pytest.mark.parametrize("tree", [False, True])
def test_everybody_has_everything_in_the_round_of_its_distance(tree: bool) -> None:
    """All connected graphs of 2 to 5 agents; also who sends what when."""
    for graph in SMALL:
        made, routes = machine(graph, tree=tree), Routes(graph)
        result = played(made)
        assert made.rounds == len(result.rounds) == (2 * routes.height if tree else routes.diameter)
        total = (sum(range(1, graph.agents + 1)), -sum(v**2 for v in range(graph.agents)))
        for v, state in result.states.items():
            assert state.alarms == ()
            assert all(state.held[s, SLOT] == f"value {s}" for s in range(graph.agents))
            for s, hops in enumerate(routes.distances[v]):
                known = [(s, SLOT) in states[v].held for states in result.history]
                assert known == [r >= hops for r in range(made.rounds + 1)]
                said = [(s, SLOT) in spoken.said[v] for spoken in result.rounds]
                assert said == [r == hops + 1 <= routes.diameter for r in range(1, made.rounds + 1)]
            if tree:
                assert tuple(state.held[routes.root, TOTAL]) == total
        assert tree or not any(spoken.addressed for spoken in result.rounds)


@pytest.mark.checks("LE-8", "MO-4")
def test_sums_go_to_one_parent_and_the_total_to_the_children_alone() -> None:
    for graph in SMALL:
        routes = Routes(graph)
        seen: list[tuple[int, int, int, str]] = []
        for spoken in played(machine(graph, tree=True)).rounds:
            for (u, v), message in spoken.addressed.items():
                assert isinstance(message, Mapping)
                [(source, slot)] = set(message) - set(spoken.said[u])
                seen.append((spoken.number, u, v, slot))
                assert source == (u if slot == SUM else routes.root)
        up = [(routes.up(v), v, u, SUM) for v, u in enumerate(routes.parents) if u is not None]
        down = [
            (routes.down(v), u, v, TOTAL) for v, u in enumerate(routes.parents) if u is not None
        ]
        assert sorted(seen) == sorted(up + down)


@pytest.mark.checks("LE-17", "LE-18", "LE-19")
def test_a_flood_of_one_round_less_leaves_somebody_without_a_value() -> None:
    for graph in SMALL:
        routes = Routes(graph)
        alarms = {v: reasons(s) for v, s in played(machine(graph, less=1)).states.items()}
        far = {
            v: [
                (Alarm.NO_VALUE, routes.diameter, None, (s, SLOT))
                for s, hops in enumerate(routes.distances[v])
                if hops == routes.diameter
            ]
            for v in range(graph.agents)
        }
        assert alarms == far
        assert any(alarms.values())


# What Byzantine agents say. The path 0-1-2-3 has root 1, r = 2, D = 3, and 4 rounds with a sum.

LINE = path(4)


def after(messages: Mapping[tuple[int, int, int], object], *, byzantine=(1,), tree: bool = True):
    """The end of a flood on the path; (round, sender, receiver) to what is said instead."""
    script = {(PHASE, *moment): message for moment, message in messages.items()}
    return played(machine(LINE, tree=tree), Scripted(script), byzantine).states


@pytest.mark.checks("LE-6", "MO-8", "VB-9")
@pytest.mark.parametrize(
    ("message", "alarm"),
    [
        (None, (Alarm.MISSING_MESSAGE, 1, 1, None)),
        ((1, 2), (Alarm.MALFORMED_MESSAGE, 1, 1, None)),
        (7, (Alarm.MALFORMED_MESSAGE, 1, 1, None)),
        ({"x": 1}, (Alarm.UNKNOWN_TAG, 1, 1, None)),
        ({(4, SLOT): "y"}, (Alarm.UNKNOWN_TAG, 1, 1, None)),
        ({(-1, SLOT): "y"}, (Alarm.UNKNOWN_TAG, 1, 1, None)),
        ({(1, "opening"): "y"}, (Alarm.UNKNOWN_TAG, 1, 1, None)),
        ({(1, SLOT): 5}, (Alarm.MALFORMED_VALUE, 1, 1, (1, SLOT))),
        ({(1, SLOT): Malformed()}, (Alarm.MALFORMED_VALUE, 1, 1, (1, SLOT))),
        ({(2, SLOT): "value 2"}, (Alarm.EARLY_VALUE, 1, 1, (2, SLOT))),
        ({(0, SLOT): "value 0"}, (Alarm.EARLY_VALUE, 1, 1, (0, SLOT))),
        ({(0, SUM): (1, 2)}, (Alarm.UNKNOWN_TAG, 1, 1, None)),
        ({(1, SUM): (1, 2)}, (Alarm.UNKNOWN_TAG, 1, 1, None)),
        ({(1, TOTAL): (1, 2)}, (Alarm.EARLY_VALUE, 1, 1, (1, TOTAL))),
        ({(0, TOTAL): (1, 2)}, (Alarm.UNKNOWN_TAG, 1, 1, None)),
    ],
)
def test_a_bad_message_is_one_alarm_with_its_place(message: object, alarm: Any) -> None:
    """Agent 1, the root, says it to agent 0 in the first round, and is honest afterwards."""
    states = after({(1, 1, 0): message})
    first, *others = reasons(states[0])
    assert first == alarm
    gone = isinstance(message, dict) and any(v == f"value {t[0]}" for t, v in message.items())
    assert others == [(Alarm.NO_VALUE, 4, None, (1, SLOT))]
    assert not gone or alarm[0] is Alarm.EARLY_VALUE
    assert states[2].alarms == states[3].alarms == ()


@pytest.mark.checks("LE-8")
@pytest.mark.parametrize(
    ("sender", "receiver", "tag"),
    [(2, 1, (3, SUM)), (2, 3, (2, SUM)), (3, 2, (1, TOTAL)), (2, 1, (1, TOTAL))],
)
@pytest.mark.parametrize("sent", [1, 2, 3, 4])
def test_sums_go_from_children_and_the_total_from_parents_alone(
    sender: int, receiver: int, tag: Any, sent: int
) -> None:
    """The sum of another agent, a sum to no parent, a total to no child: never known."""
    usual = played(machine(LINE, tree=True)).rounds[sent - 1].on_edge(sender, receiver)
    states = after({(sent, sender, receiver): {**usual, tag: (7, 7)}}, byzantine=(sender,))
    assert reasons(states[receiver]) == [(Alarm.UNKNOWN_TAG, sent, sender, None)]


@pytest.mark.checks("LE-6")
def test_an_early_value_that_is_held_already_is_early_all_the_same() -> None:
    """Agent 1 gives agent 0 its own value back, the very object, in the first round."""
    brought = inputs(LINE)
    words = {(PHASE, 1, 1, 0): {(1, SLOT): "value 1", (0, SLOT): brought[0].value}}
    states = run_machine(
        LINE,
        machine(LINE, tree=True),
        brought,
        byzantine=frozenset({1}),
        adversary=Scripted(words),
    ).states
    assert reasons(states[0]) == [(Alarm.EARLY_VALUE, 1, 1, (0, SLOT))]


@pytest.mark.checks("LE-6")
@pytest.mark.parametrize("same_object", [True, False])
def test_an_early_value_of_another_that_is_held_already_is_early(same_object: bool) -> None:
    """In round 2 agent 2 cannot have the value of agent 0; that agent 1 has it changes nothing."""
    brought = inputs(LINE)
    value: Any = brought[0].value
    given = value if same_object else "".join(list(value))
    assert (given is value) == same_object
    states = run_machine(
        LINE,
        machine(LINE),
        brought,
        byzantine=frozenset({2}),
        adversary=Scripted({(PHASE, 2, 2, 1): {(3, SLOT): "value 3", (0, SLOT): given}}),
    ).states
    assert reasons(states[1]) == [(Alarm.EARLY_VALUE, 2, 2, (0, SLOT))]


@pytest.mark.checks("LE-6")
def test_nulls_are_nothing_and_an_early_value_is_not_adopted() -> None:
    said = {(1, SLOT): "value 1", (0, SLOT): None, (2, SLOT): "early"}
    states = after({(1, 1, 0): said, (2, 1, 0): {(0, SLOT): "value 0", (2, SLOT): "value 2"}})
    assert reasons(states[0]) == [(Alarm.EARLY_VALUE, 1, 1, (2, SLOT))]
    assert states[0].held[2, SLOT] == "value 2"


@pytest.mark.checks("LE-6")
def test_a_late_value_is_adopted_within_the_flood_and_not_after_it() -> None:
    held_back = {(1, 1, 0): {}, (2, 1, 0): {}}
    total: dict[Any, object] = {(1, TOTAL): (10, -14)}
    values = {(s, SLOT): f"value {s}" for s in (0, 1, 2, 3)}
    within = after({**held_back, (3, 1, 0): {**total, **values}})
    assert reasons(within[0]) == []
    late = {(s, SLOT): f"value {s}" for s in (1, 2, 3)}
    beyond = after({**held_back, (3, 1, 0): total, (4, 1, 0): late})
    assert reasons(beyond[0]) == [
        *((Alarm.LATE_VALUE, 4, 1, (s, SLOT)) for s in (1, 2, 3)),
        *((Alarm.NO_VALUE, 4, None, (s, SLOT)) for s in (1, 2, 3)),
    ]


@pytest.mark.checks("LE-6")
def test_a_value_that_differs_is_an_alarm_every_time_and_changes_nothing() -> None:
    other = {(0, SLOT): "other", (2, SLOT): "two"}
    states = after({(2, 1, 0): other, (3, 1, 0): {**other, (3, SLOT): "value 3"}})
    found = reasons(states[0])
    assert (Alarm.DIFFERENT_VALUE, 2, 1, (0, SLOT)) in found
    assert (Alarm.DIFFERENT_VALUE, 3, 1, (0, SLOT)) in found
    assert states[0].held[0, SLOT] == "value 0"
    assert states[0].held[2, SLOT] == "two"  # nobody but agent 1 could tell it otherwise


@pytest.mark.checks("LE-6")
def test_the_smallest_numbered_sender_is_adopted_first() -> None:
    """Agents 1 and 3 of a cycle tell agent 0 two values of agent 2 in one round."""
    words = {(PHASE, 2, 1, 0): {(2, SLOT): "from 1"}, (PHASE, 2, 3, 0): {(2, SLOT): "from 3"}}
    states = played(machine(cycle(4)), Scripted(words), (1, 3)).states
    assert states[0].held[2, SLOT] == "from 1"
    assert (Alarm.DIFFERENT_VALUE, 2, 3, (2, SLOT)) in reasons(states[0])


# The sum.


@pytest.mark.checks("LE-8")
def test_a_child_that_sends_no_sum_counts_as_zero_and_is_named() -> None:
    """Agent 3 is a child of 2, which is one of the root."""
    states = after({(1, 3, 2): {(3, SLOT): "value 3"}}, byzantine=(3,))
    assert reasons(states[2]) == [(Alarm.NO_VALUE, 4, None, (3, SUM))]
    assert all(tuple(states[v].held[1, TOTAL]) == (1 + 2 + 3, -5) for v in range(4))


@pytest.mark.checks("LE-8")
@pytest.mark.parametrize(
    ("sent", "alarm"),
    [
        (1, Alarm.EARLY_VALUE),
        (3, Alarm.LATE_VALUE),
    ],
)
def test_a_sum_in_another_round_is_an_alarm_and_does_not_count(sent: int, alarm: Alarm) -> None:
    """Agent 2 owes agent 1 the sum in round 2."""
    plain = {1: {(2, SLOT): "value 2"}, 2: {(3, SLOT): "value 3", (1, SLOT): "value 1"}, 3: {}}
    plain[3] = {(0, SLOT): "value 0"}
    words: dict[Any, Any] = {(r, 2, 1): dict(word) for r, word in plain.items()}
    words[sent, 2, 1][2, SUM] = (7, 7)
    states = after(words, byzantine=(2,))
    assert reasons(states[1]) == [(alarm, sent, 2, (2, SUM)), (Alarm.NO_VALUE, 4, None, (2, SUM))]
    assert tuple(states[1].held[1, TOTAL]) == (1 + 2, -1)


@pytest.mark.checks("LE-8")
def test_an_agent_without_the_total_tells_nobody_and_everybody_below_alarms() -> None:
    words = {(3, 1, 2): {(s, SLOT): f"value {s}" for s in (0,)}}
    states = after({**words, (3, 1, 2): {(3, SLOT): "value 3"}})
    assert (Alarm.NO_VALUE, 4, None, (1, TOTAL)) in reasons(states[2])
    assert (Alarm.NO_VALUE, 4, None, (1, TOTAL)) in reasons(states[3])
    assert states[0].alarms == ()


@pytest.mark.checks("LE-8")
@given(support.graphs(7), st.data())
def test_the_total_is_the_sum_of_all(graph: AgentGraph, data: st.DataObject) -> None:
    vectors = data.draw(
        st.lists(
            st.tuples(*[st.integers(-(2**70), 2**70)] * 2),
            min_size=graph.agents,
            max_size=graph.agents,
        )
    )
    made = machine(graph, tree=True)
    states = run_machine(
        graph, made, {v: Flooded("x", vector) for v, vector in enumerate(vectors)}
    ).states
    total = tuple(map(sum, zip(*vectors, strict=True)))
    assert all(tuple(s.held[made.routes.root, TOTAL]) == total for s in states.values())


# Every strategy on one value.


def reachable_ends(graph: AgentGraph, byzantine: frozenset[int], source: int) -> set[Any]:
    """What the honest agents can hold in the end if nobody honest alarms over this value."""
    made, tag = machine(graph), (source, SLOT)
    agents = [v for v in range(graph.agents) if v not in byzantine]
    empty: Mapping[Any, object] = MappingProxyType({})

    def start(v: int) -> FloodState:
        own = MappingProxyType({tag: "a"}) if v == source else empty
        return FloodState(v, own, own)

    def key(states: tuple[FloodState, ...]) -> Any:
        return tuple((s.held.get(tag), tag in s.fresh) for s in states)

    def follow(states: tuple[FloodState, ...], number: int) -> list[tuple[FloodState, ...]]:
        said = {s.agent: made.send(s, number) for s in states}
        options = []
        for state in states:
            liars = [u for u in graph.neighbours(state.agent) if u in byzantine]
            words = product(({}, {tag: "a"}, {tag: "b"}), repeat=len(liars))
            heard = ({**said, **dict(zip(liars, word, strict=True))} for word in words)
            ends = [made.receive(state, number, inbox) for inbox in heard]
            wanted = [end for end in ends if not any(_about(r, tag) for r in end.alarms)]
            options.append([attrs.evolve(end, alarms=()) for end in wanted])
        return list(product(*options))

    level = {key(states): states for states in [tuple(start(v) for v in agents)]}
    for number in range(1, made.rounds + 1):
        following = (end for states in level.values() for end in follow(states, number))
        level = {key(states): states for states in following}
    return {tuple(held for held, _fresh in one) for one in level}


def _about(raised: Raised, tag: object) -> bool:
    return raised.about == tag or raised.about is None


@pytest.mark.checks("LE-17")
@pytest.mark.parametrize("agents", [2, 3, 4])
def test_without_an_alarm_and_with_equal_digests_all_hold_one_value(agents: int) -> None:
    """Every graph, every Byzantine set under Assumption 1, every source, every strategy."""
    divided = 0
    for graph in connected_graphs(agents):
        for size in range(1, agents):
            for chosen in combinations(range(agents), size):
                if not assumption_1(graph, chosen):
                    continue
                honest_agents = [v for v in range(agents) if v not in chosen]
                for source in range(agents):
                    ends = reachable_ends(graph, frozenset(chosen), source)
                    assert ends
                    for end in ends:
                        held = dict(zip(honest_agents, end, strict=True))
                        assert None not in end
                        pairs = [(u, v) for u, v in graph.edges if {u, v} <= set(honest_agents)]
                        quiet = all(held[u] == held[v] for u, v in pairs)
                        divided += not quiet
                        if quiet:
                            assert len(set(end)) == 1
                            assert source in chosen or end[0] == "a"
    assert (divided > 0) == (agents > 2)


# The form of what is sent.


def test_an_addressed_message_leaves_the_usual_one_alone() -> None:
    made = machine(LINE, tree=True)
    state = made.start(3, Flooded("value 3", (4, -9)))
    message = made.send(state, 1)
    assert isinstance(message, Addressed)
    assert isinstance(message.usual, Mapping)
    assert dict(message.usual) == {(3, SLOT): "value 3"}
    parent = message.to[2]
    assert isinstance(parent, Mapping)
    assert np.array_equal(tuple(parent[3, SUM]), (4, -9))
