"""The network fold: synchronous, recorded, rushing, and closed to words on foreign edges."""

from collections.abc import Mapping
from typing import Any

import attrs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from valid_ref.adversary.scripted import Scripted
from valid_ref.graph import AgentGraph
from valid_ref.graph_families import cycle, path
from valid_ref.machine import CausalView, NetworkError, count_scalars, run_machine
from valid_ref.wide import WideIntegers


@attrs.frozen
class Echo:
    """Sends its number; its next number is the sum of all that it heard and its own."""

    graph: AgentGraph
    rounds: int = 3

    def place(self, round_number: int) -> tuple[str, int]:
        return "Echo", round_number

    def start(self, agent: int, private: int) -> tuple[int, int, int]:
        return agent, private, 0

    def send(self, state: tuple[int, int, int], round_number: int) -> object:
        return None if state[1] < 0 else state[1]

    def receive(self, state, round_number: int, inbox: Mapping[int, object]):
        agent, number, missing = state
        heard = [message for message in inbox.values() if isinstance(message, int)]
        return agent, number + sum(heard), missing + self.graph.degree(agent) - len(inbox)


@pytest.mark.checks("MO-3", "MO-5", "MO-6")
@given(st.lists(st.integers(0, 9), min_size=3, max_size=6))
def test_rounds_are_synchronous_snapshots(numbers: list[int]) -> None:
    graph = cycle(len(numbers))
    result = run_machine(graph, Echo(graph), dict(enumerate(numbers)))
    adjacency = np.diag(np.diag(graph.laplacian())) - graph.laplacian()
    expected = np.linalg.matrix_power(np.eye(len(numbers), dtype=int) + adjacency, 3) @ numbers
    assert [result.states[v][1] for v in range(len(numbers))] == expected.tolist()
    assert [r.number for r in result.rounds] == [1, 2, 3]
    for u, v in graph.directed_edges:
        assert result.rounds[0].on_edge(u, v) == numbers[u]


@pytest.mark.checks("MO-6")
def test_kept_states_are_those_that_the_recorded_rounds_lead_to() -> None:
    graph = path(3)
    machine, private = Echo(graph), {0: 1, 1: -1, 2: 3}
    adversary = Scripted({("Echo", 2, 2, 1): 50, ("Echo", 3, 2, 1): None})
    result = run_machine(
        graph,
        machine,
        private,
        byzantine=frozenset({2}),
        adversary=adversary,
        keep_states=True,
    )
    states = {agent: machine.start(agent, own) for agent, own in private.items()}
    assert result.history[0] == states
    for number, spoken in enumerate(result.rounds, 1):
        states = {v: machine.receive(s, number, spoken.inbox(graph, v)) for v, s in states.items()}
        assert result.history[number] == states
    assert result.history[-1] == result.states
    assert run_machine(graph, machine, private).history == ()


@pytest.mark.checks("AD-4")
def test_a_script_is_played_as_written_and_elsewhere_as_agreed() -> None:
    graph, private = path(3), {0: 1, 1: 2, 2: 3}
    messages = {("Echo", 1, 1, 0): 100, ("Echo", 2, 1, 2): None, ("Other", 1, 1, 2): 9}
    for otherwise in ({}, {"Echo": 7, "Other": 8}):
        script = Scripted(messages, otherwise)
        machine = Echo(graph, rounds=2)
        played = run_machine(
            graph, machine, private, byzantine=frozenset({1}), adversary=script
        ).rounds
        usual = otherwise.get("Echo", 2)
        assert (played[0].on_edge(1, 0), played[0].on_edge(1, 2)) == (100, usual)
        assert (played[1].on_edge(1, 0) == 7, played[1].on_edge(1, 2)) == (bool(otherwise), None)
        again = Scripted.of(played)
        assert (
            run_machine(graph, machine, private, byzantine=frozenset({1}), adversary=again).rounds
            == played
        )


@pytest.mark.checks("MO-6", "AD-4")
def test_deviations_reach_one_edge_only_and_silence_is_missing() -> None:
    graph = path(3)

    def adversary(view: CausalView) -> dict[tuple[int, int], object]:
        return {(1, 0): 100, (1, 2): None} if view.round == 1 else {}

    result = run_machine(
        graph,
        Echo(graph, rounds=1),
        {0: 1, 1: 2, 2: 3},
        byzantine=frozenset({1}),
        adversary=adversary,
    )
    assert [result.states[v] for v in range(3)] == [(0, 101, 0), (1, 6, 0), (2, 3, 1)]
    assert result.rounds[0].on_edge(1, 0) == 100
    assert result.rounds[0].on_edge(1, 2) is None
    assert result.rounds[0].said[1] == 2


@pytest.mark.checks("MO-8", "MO-4")
def test_an_honest_silence_is_missing_everywhere() -> None:
    graph = path(3)
    result = run_machine(graph, Echo(graph, rounds=1), {0: 1, 1: -2, 2: 3})
    assert result.states[0] == (0, 1, 1)
    assert result.states[2] == (2, 3, 1)


@pytest.mark.checks("AD-2", "AD-3")
def test_the_adversary_sees_this_round_and_the_past_but_no_honest_state() -> None:
    graph, seen = path(3), []

    def adversary(view: CausalView) -> dict[tuple[int, int], object]:
        seen.append(view)
        return {}

    result = run_machine(
        graph, Echo(graph), {0: 1, 1: 2, 2: 3}, byzantine=frozenset({2}), adversary=adversary
    )
    for view in seen:
        assert view.said == result.rounds[view.round - 1].said  # before it speaks: rushing
        assert tuple(view.history) == result.rounds[: view.round - 1]
        assert len(view.history) == view.round - 1
        assert set(view.byzantine_states) == {2}
    assert seen[2].history[-1].number == 2
    assert [r.number for r in seen[2].history[0:2]] == [1, 2]
    with pytest.raises(IndexError):
        seen[0].history[0]


@pytest.mark.checks("AD-4", "AD-1")
@pytest.mark.parametrize("edge", [(0, 1), (2, 0), (2, 2)])
def test_words_on_an_edge_that_is_not_its_own_are_refused(edge: tuple[int, int]) -> None:
    graph = path(3)
    with pytest.raises(NetworkError, match=r"which does not leave a Byzantine agent.*AD-4"):
        run_machine(
            graph,
            Echo(graph),
            {0: 1, 1: 2, 2: 3},
            byzantine=frozenset({2}),
            adversary=lambda _view: {edge: 1},
        )


@pytest.mark.checks("AD-1")
@pytest.mark.parametrize(("byzantine", "words"), [({3}, r"\[3\]"), ({0, 1, 2}, "no honest")])
def test_impossible_byzantine_sets_are_refused(byzantine: set[int], words: str) -> None:
    graph = path(3)
    with pytest.raises(NetworkError, match=words):
        run_machine(graph, Echo(graph), {0: 1, 1: 2, 2: 3}, byzantine=frozenset(byzantine))


def test_scalars_are_counted_whatever_holds_them() -> None:
    message = {(0, 1): (1, 2, (3,)), (0, 2): np.zeros(4), (1, 1): None, (2, 2): [True]}
    assert count_scalars(message) == 3 + 4 + 0 + 1
    wide = WideIntegers(np.zeros((5, 2), np.uint64))
    assert count_scalars({(0, 1): wide}) == 5
    assert count_scalars(None) == 0


def test_scalars_of_a_list_that_contains_itself_are_counted_in_the_end() -> None:
    endless: list[object] = [1]
    endless.append(endless)
    assert 16 <= count_scalars(endless) <= 40


@pytest.mark.checks("LM-5", "MO-6")
def test_what_was_said_cannot_be_changed_afterwards() -> None:
    graph, word = path(3), {"said": 1}

    def adversary(view: CausalView) -> dict[tuple[int, int], object]:
        if view.round == 2:
            word["said"] = 2
        return {(2, 1): word} if view.round == 1 else {}

    result = run_machine(
        graph, Echo(graph), {0: 1, 1: 2, 2: 3}, byzantine=frozenset({2}), adversary=adversary
    )
    heard: Any = result.rounds[0].on_edge(2, 1)
    assert dict(heard) == {"said": 1}
