"""ValidatedBroadcast: each rule by itself, on single rounds and on whole runs."""

from collections.abc import Mapping
from itertools import product
from types import MappingProxyType
from typing import Any

import attrs
import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from valid_ref import graph_families as families
from valid_ref.adversary.scripted import Moment, Scripted
from valid_ref.alarms import Alarm, Raised
from valid_ref.graph import AgentGraph, honest_agents
from valid_ref.machine import count_scalars, run_machine
from valid_ref.protocols.broadcast import BroadcastState, Tag, ValidatedBroadcast
from valid_ref.protocols.parameters import ParameterError
from valid_ref.reading import Reading

PHASE = "Test"
RESENDING = Reading.without("P22")
GRAPHS = [graph for n in range(2, 6) for graph in families.labelled_connected_graphs(n)]


def has_form(tag: Tag, value: object) -> bool:
    """An integer for slot x, three of them for any other slot."""
    triple = isinstance(value, tuple) and len(value) == 3 and all(type(e) is int for e in value)
    return type(value) is int if tag[1] == "x" else triple


def broadcast(graph: AgentGraph, *tags: Tag, reading: Reading | None = None) -> ValidatedBroadcast:
    slots = {source: tuple(s for v, s in tags if v == source) for source, _slot in tags}
    return ValidatedBroadcast(graph, PHASE, slots, has_form, reading or Reading())


def inputs(machine: ValidatedBroadcast, values: Mapping[Tag, object]) -> dict[int, dict]:
    slots = {agent: machine.slots.get(agent, ()) for agent in range(machine.graph.agents)}
    return {agent: {slot: values[agent, slot] for slot in slots[agent]} for agent in slots}


def state(agent: int, held: Mapping[Tag, object], *alarms: Raised) -> BroadcastState:
    return BroadcastState(agent, held, {}, alarms)


def reasons(after: BroadcastState) -> list[tuple[Alarm, int | None, object]]:
    return [(raised.alarm, raised.sender, raised.about) for raised in after.alarms]


@attrs.frozen
class Attack:
    """A graph, some Byzantine agents, two tags, and every word the Byzantine agents ever say."""

    graph: AgentGraph
    byzantine: frozenset[int]
    tags: tuple[Tag, ...]
    script: Mapping[Moment, Any]

    def run(self, *tags: Tag, reading: Reading | None = None):
        """The recorded rounds, and the states in which the honest agents end."""
        machine = broadcast(self.graph, *(tags or self.tags), reading=reading)
        result = run_machine(
            self.graph,
            machine,
            inputs(machine, dict.fromkeys(self.tags, 1)),
            byzantine=self.byzantine,
            adversary=Scripted(self.script),
        )
        honest = honest_agents(self.graph, self.byzantine)
        return result.rounds, {agent: result.states[agent] for agent in honest}


@st.composite
def attacks(draw: st.DrawFn, *, whole: bool = True) -> Attack:
    """Words are mappings over null, 1 and 2; with `whole` also silence and garbage."""
    graph = draw(st.sampled_from(GRAPHS))
    agents = st.integers(0, graph.agents - 1)
    byzantine = draw(st.frozensets(agents, max_size=graph.agents - 1))
    tags = ((draw(agents), "x"), (draw(agents), "x"))
    mappings = [dict(zip(tags, ends, strict=True)) for ends in product((None, 1, 2), repeat=2)]
    other = [None, "nothing", {tags[0]: "1"}, {"tag": 1}] if whole else []
    words = st.sampled_from([{}, *mappings, *other])
    edges = [(u, v) for u, v in graph.directed_edges if u in byzantine]
    places = [(PHASE, number, *edge) for number in range(1, graph.agents + 1) for edge in edges]
    said = draw(st.lists(words, min_size=len(places), max_size=len(places)))
    return Attack(
        graph, byzantine, tuple(dict.fromkeys(tags)), dict(zip(places, said, strict=True))
    )


NOT_A_VALUE = st.one_of(
    st.booleans(),
    st.floats(),
    st.text(),
    st.binary(),
    st.builds(object),
    st.sets(st.integers()),
    st.lists(st.integers()),
    st.tuples(st.integers()),
    st.just((1, 2, True)),
    st.dictionaries(st.text(), st.none()),
    st.just(np.arange(3)),
    st.just(np.int64(1)),
    st.recursive(st.lists(st.none()), lambda inner: st.tuples(inner, inner)),
)
NOT_A_TAG = st.one_of(
    st.none(),
    st.integers(),
    st.text(),
    st.just((1, "y")),
    st.just((9, "x")),
    st.just((1, "x", 0)),
    st.builds(object),
    st.frozensets(st.integers()),
)


@pytest.mark.checks("VB-11", "VB-4")
@given(attacks())
def test_sending_once_and_sending_again_end_the_same(attack: Attack) -> None:
    once, again = attack.run()[1], attack.run(reading=RESENDING)[1]
    for agent in once:
        assert once[agent].held == again[agent].held
        assert bool(once[agent].alarms) == bool(again[agent].alarms)
        assert attack.byzantine or not once[agent].alarms


@pytest.mark.checks("VB-1")
@given(attacks(whole=False))
def test_tags_do_not_influence_each_other(attack: Attack) -> None:
    _rounds, together = attack.run()
    for tag in attack.tags:
        script = {
            place: {t: v for t, v in word.items() if t == tag}
            for place, word in attack.script.items()
        }
        _rounds, alone = attrs.evolve(attack, script=script).run(tag)
        for agent, single in alone.items():
            assert together[agent].held.get(tag) == single.held.get(tag)
            assert [r for r in together[agent].alarms if r.about == tag] == list(single.alarms)


@pytest.mark.checks("VB-10", "VB-4", "VB-7")
@given(attacks())
def test_against_any_adversary_a_tag_is_sent_once_and_once_to_compare(attack: Attack) -> None:
    rounds, states = attack.run()
    for agent, after in states.items():
        *flood, compare = [spoken.said[agent] for spoken in rounds]
        assert compare == after.held  # everything, and nothing is adopted any more
        said = [tag for message in flood for tag in message]
        assert len(said) == len(set(said))
        assert set(said) <= set(compare)


@pytest.mark.checks("VB-9", "MO-8")
@given(st.one_of(st.none(), st.integers(), st.just([((1, "x"), 1)]), NOT_A_VALUE))
def test_whatever_is_no_mapping_counts_as_an_empty_one_and_alarms(message: object) -> None:
    assume(not isinstance(message, dict))
    machine = broadcast(families.path(3), (1, "x"))
    inbox = {1: message} if message is not None else {}
    for number in (1, 3):
        after = machine.receive(state(0, {}), number, inbox)
        reason = Alarm.MISSING_MESSAGE if message is None else Alarm.MALFORMED_MESSAGE
        assert after.alarms[0] == Raised(reason, PHASE, number, 1)
        assert after.alarms[1:] == machine.receive(state(0, {}), number, {1: {}}).alarms
        assert after.held == {}


@pytest.mark.checks("VB-9", "VB-1", "MO-8")
@given(
    st.one_of(st.none(), st.integers(), NOT_A_VALUE),
    NOT_A_VALUE,
    st.dictionaries(NOT_A_TAG, st.one_of(st.none(), st.integers(), NOT_A_VALUE), max_size=3),
    st.sampled_from([dict, MappingProxyType]),
)
@example(True, (1, 2, 3.0), {}, dict)
def test_entries_are_judged_one_by_one(value: object, bad: object, strange: dict, kind) -> None:
    machine = broadcast(families.path(3), (1, "x"), (2, "z"), (0, "z"))
    message = kind({(2, "z"): bad, **strange, (1, "x"): value, (0, "z"): (1, 2, 3)})
    after = machine.receive(state(0, {(0, "z"): (1, 2, 3)}), 1, {1: message})
    fine = type(value) is int
    expected = [(Alarm.UNKNOWN_TAG, 1, None)] if strange else []
    if value is not None and not fine:
        expected.append((Alarm.MALFORMED_VALUE, 1, (1, "x")))
    expected.append((Alarm.MALFORMED_VALUE, 1, (2, "z")))
    assert reasons(after) == expected
    assert after.held == {(0, "z"): (1, 2, 3)} | ({(1, "x"): value} if fine else {})


@pytest.mark.checks("MO-8", "VB-9")
@given(st.lists(st.one_of(st.none(), NOT_A_VALUE), min_size=3, max_size=3))
def test_garbage_stops_no_round_and_an_alarmed_agent_goes_on(garbage: list[object]) -> None:
    machine = broadcast(families.path(4), (3, "x"))
    result = run_machine(
        machine.graph,
        machine,
        inputs(machine, {(3, "x"): 5}),
        byzantine=frozenset({0}),
        adversary=lambda view: {(0, 1): [*garbage, {(3, "x"): "5"}][view.round - 1]},
    )
    assert len(result.rounds) == 4
    assert all(result.states[agent].held == {(3, "x"): 5} for agent in (1, 2, 3))
    assert {raised.round for raised in result.states[1].alarms} >= {4}
    assert not result.states[2].alarms


@pytest.mark.checks("VB-5", "VB-6")
@given(st.lists(st.sampled_from([None, 1, 2, 3]), min_size=1, max_size=5), st.randoms())
def test_the_first_sender_is_adopted_and_the_others_compared(values: list, random) -> None:
    tag = (len(values) + 1, "x")
    machine = broadcast(families.star(len(values) + 2), tag)
    inbox = {leaf: {tag: value} for leaf, value in enumerate(values, 1)}
    leaves = [*inbox, tag[0]]
    random.shuffle(leaves)  # the order of arrival means nothing
    after = machine.receive(state(0, {}), 1, {leaf: inbox.get(leaf, {}) for leaf in leaves})
    arrived = [value for value in values if value is not None]
    assert after.held == after.fresh == ({tag: arrived[0]} if arrived else {})
    assert reasons(after) == [
        (Alarm.DIFFERENT_VALUE, leaf, tag)
        for leaf, value in enumerate(values, 1)
        if value not in (None, *arrived[:1])
    ]


@pytest.mark.checks("VB-6", "VB-7", "VB-3")
@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_held_value_is_compared_in_every_round_and_never_changes(number: int) -> None:
    machine, tag = broadcast(families.path(3), (0, "x"), (2, "x")), (0, "x")
    earlier = Raised(Alarm.MISSING_MESSAGE, PHASE, 1, 2)
    before = state(1, {tag: 7, (2, "x"): 0}, earlier)
    after = machine.receive(before, number, {0: {tag: 8}, 2: {tag: 7}})
    assert after.held == before.held
    assert after.alarms == (earlier, Raised(Alarm.DIFFERENT_VALUE, PHASE, number, 0, tag))


@pytest.mark.checks("VB-7", "VB-8")
def test_the_compare_round_adopts_nothing_and_objects_to_null() -> None:
    machine, tag, other = broadcast(families.path(3), (0, "x"), (2, "x")), (0, "x"), (2, "x")
    inbox = {0: {tag: 1, other: 2}, 2: {tag: 2, other: 2}}
    after = machine.receive(state(1, {other: 2}), 3, inbox)
    assert after.held == {other: 2}
    assert after.alarms == (Raised(Alarm.NO_VALUE, PHASE, 3, None, tag),)
    assert machine.receive(state(1, {}), 2, {0: {}, 2: {}}).alarms == ()
    nothing = machine.receive(state(1, {}), 3, {0: {}, 2: {}})
    assert reasons(nothing) == [(Alarm.NO_VALUE, None, tag), (Alarm.NO_VALUE, None, other)]


@pytest.mark.checks("VB-2", "VB-3", "VB-4", "VB-5")
@given(st.sampled_from(GRAPHS), st.data())
def test_an_agent_at_distance_q_adopts_in_round_q_and_forwards_in_the_next(graph, data) -> None:
    tag = (data.draw(st.integers(0, graph.agents - 1)), "x")
    machine, private = broadcast(graph, tag), {v: {"x": 5} if v == tag[0] else {} for v in range(5)}
    result = run_machine(graph, machine, private, keep_states=True)
    history = result.history
    assert history[-1] == result.states
    assert len(result.rounds) == machine.rounds == graph.agents
    assert machine.place(2) == (PHASE, 2)
    for agent, distance in enumerate(graph.distances_from(tag[0])):
        for number in range(graph.agents + 1):
            assert history[number][agent].held == ({tag: 5} if number >= distance else {})
        for number, spoken in enumerate(result.rounds, 1):
            sends = number in (distance + 1, graph.agents)
            assert spoken.said[agent] == ({tag: 5} if sends else {})


@pytest.mark.checks("VB-10", "VB-2")
def test_an_honest_broadcast_costs_what_the_formula_says_on_all_small_graphs() -> None:
    exceptions = set()
    for graph in (graph for n in range(2, 6) for graph in families.connected_graphs(n)):
        for source in range(graph.agents):
            machine = broadcast(graph, (source, "three"))
            result = run_machine(graph, machine, inputs(machine, {(source, "three"): (1, 2, 3)}))
            for agent, distance in enumerate(graph.distances_from(source)):
                sent = sum(count_scalars(spoken.said[agent]) for spoken in result.rounds)
                floods = distance < graph.agents - 1
                assert graph.degree(agent) * sent == 3 * graph.degree(agent) * (1 + floods)
                if not floods:
                    exceptions.add(graph)
                    assert graph.degree(source) == graph.degree(agent) == 1
    sizes = sorted((graph.agents, graph.edge_count) for graph in exceptions)
    assert sizes == [(2, 1), (3, 2), (4, 3), (5, 4)]  # the paths


@pytest.mark.checks("VB-10")
@pytest.mark.witness("P22")
@pytest.mark.parametrize(("reading", "times"), [(Reading(), 32), (RESENDING, 146)])
def test_ten_agents_send_far_more_hashes_than_the_square_of_the_edges(reading, times) -> None:
    graph = families.complete(10)  # each agent broadcasts 4|V| scalars about each of its neighbours
    slots = {v: graph.neighbours(v) for v in range(10)}
    machine = ValidatedBroadcast(graph, PHASE, slots, lambda _tag, _value: True, reading)
    private = inputs(machine, dict.fromkeys(machine.order, (0,) * 40))
    said = [spoken.said[0] for spoken in run_machine(graph, machine, private).rounds]
    scalars = graph.degree(0) * sum(map(count_scalars, said))
    assert round(scalars / graph.edge_count**2) == times


@pytest.mark.checks("VB-1", "VB-3")
def test_inputs_that_do_not_fit_the_public_slots_are_refused() -> None:
    machine = broadcast(families.path(3), (0, "x"), (0, "three"))
    start = machine.start(0, {"x": 1, "three": (1, 2, 3)})
    assert start.held == start.fresh == {(0, "x"): 1, (0, "three"): (1, 2, 3)}
    assert machine.start(1, {}) == BroadcastState(1, {}, {}, ())
    for agent, private in [(0, {"x": 1}), (0, {"x": 1, "three": 1, "y": 1}), (1, {"x": 1})]:
        with pytest.raises(ParameterError, match=rf"agent {agent} brings .*VB-1"):
            machine.start(agent, private)


@pytest.mark.checks("MO-3", "VB-1")
@pytest.mark.witness("P03")
def test_read_in_place_a_value_crosses_the_whole_network_in_one_round() -> None:
    machine = broadcast(families.path(4), (0, "x"), reading=RESENDING)
    start = {v: machine.start(v, {"x": 1} if v == 0 else {}) for v in range(4)}
    in_place, together = dict(start), {}
    for v in range(4):
        for read, write in ((in_place, in_place), (start, together)):
            inbox = {u: machine.send(read[u], 1) for u in machine.graph.neighbours(v)}
            write[v] = machine.receive(read[v], 1, inbox)
    assert [bool(in_place[v].held) for v in range(4)] == [True, True, True, True]
    assert [bool(together[v].held) for v in range(4)] == [True, True, False, False]
