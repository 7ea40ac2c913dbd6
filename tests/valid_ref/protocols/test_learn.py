"""LearnModel: the relation and the conserved sum on whole runs, refusals, garbage, silence."""

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import learned
from valid_ref.alarms import Alarm
from valid_ref.graph import AgentGraph
from valid_ref.graph_families import complete, path
from valid_ref.lattice import LatticeError, LatticeParameters, default_limits, residual
from valid_ref.machine import CausalView, count_scalars, run_machine
from valid_ref.protocols.learn import Heard, LearningMessage, LearnModel, LearnState
from valid_ref.schedule import Precision, Schedule


def heard_rounds(state: LearnState) -> list[Heard]:
    rounds, node = [], state.heard
    while node is not None:
        rounds.append(node)
        node = node.earlier
    return rounds[::-1]


@st.composite
def graphs(draw: st.DrawFn) -> AgentGraph:
    n = draw(st.integers(2, 6))
    tree = {(draw(st.integers(0, v - 1)), v) for v in range(1, n)}
    pairs = [(u, v) for u in range(n) for v in range(u + 1, n)]
    return AgentGraph.from_edges(n, tree | set(draw(st.lists(st.sampled_from(pairs)))))


@st.composite
def machines(draw: st.DrawFn) -> LearnModel:
    graph = draw(graphs())
    T, d, k = draw(st.integers(1, 6)), draw(st.integers(1, 3)), draw(st.integers(0, 20))
    steps = st.lists(st.integers(1, max(1, 2**k // 2)), min_size=T, max_size=T).map(tuple)
    schedule = Schedule(Precision(draw(st.integers(0, 28)), k), draw(steps), draw(steps))
    parameters = default_limits(d, schedule, graph.max_degree)
    entries = st.lists(st.integers(-1000, 1000), min_size=d, max_size=d)
    return LearnModel(graph, parameters, np.array(draw(entries), dtype=np.int64))


def table_of_gradients(seed: int, agent: int, d: int):
    def gradient(t: int, point: np.ndarray) -> np.ndarray:
        noise = np.random.default_rng([seed, agent, t]).normal(size=d)
        return noise + 0.1 * np.tanh(point)

    return gradient


@pytest.mark.checks("LM-2", "LM-3", "LM-5", "LM-6", "LM-7", "LM-8", "AR-6", "AR-7", "MO-4")
@given(machines(), st.integers(0, 2**32))
def test_relation_and_conserved_sum_hold_exactly(machine: LearnModel, seed: int) -> None:
    graph, parameters = machine.graph, machine.parameters
    d, T, k = parameters.dimension, machine.rounds, parameters.precision.step_bits
    private = {v: table_of_gradients(seed, v, d) for v in range(graph.agents)}
    result = run_machine(graph, machine, private)
    assert all(state.alarms == () for state in result.states.values())
    previous = dict.fromkeys(range(graph.agents), machine.start_model)
    for t, spoken in enumerate(result.rounds, start=1):
        for v in range(graph.agents):
            neighbours = [previous[u] for u in graph.neighbours(v)]
            message = learned(spoken, v)
            left = residual(
                parameters, t, previous[v], neighbours, message.model, message.scaled_gradient
            )
            assert not left.any()
        said = {v: learned(spoken, v) for v in range(graph.agents)}
        change = sum(message.model - previous[v] for v, message in said.items())
        assert np.all((change << k) == -sum(m.scaled_gradient for m in said.values()))
        previous = {v: message.model for v, message in said.items()}
    for v in range(graph.agents):
        heard = heard_rounds(result.states[v])
        assert len(heard) == T
        for spoken, round_heard in zip(result.rounds, heard, strict=True):
            assert round_heard.own is spoken.said[v]  # shared, never copied
            for u in graph.neighbours(v):
                assert round_heard.received[u] is spoken.said[u]
        sent = sum(count_scalars(spoken.said[v]) for spoken in result.rounds) * graph.degree(v)
        assert sent == 2 * d * T * graph.degree(v)
        with pytest.raises(ValueError, match="read-only"):
            heard[-1].own.model[0] = 1


def small_machine(graph: AgentGraph, T: int = 3) -> LearnModel:
    schedule = Schedule(Precision(4, 4), mixing=(4,) * T, gradient=(8,) * T)
    parameters = default_limits(2, schedule, graph.max_degree)
    return LearnModel(graph, parameters, np.zeros(2, dtype=np.int64))


def garbage(parameters: LatticeParameters) -> Iterator[tuple[object, Alarm]]:
    good = np.zeros(2, dtype=np.int64)
    huge_model = np.array([0, parameters.model_limit], dtype=np.int64)
    huge_gradient = np.array([-parameters.gradient_limit, 0], dtype=np.int64)
    lowest = np.array([np.iinfo(np.int64).min, 0], dtype=np.int64)
    yield None, Alarm.MISSING_MESSAGE
    yield 7, Alarm.MALFORMED_MESSAGE
    yield "x", Alarm.MALFORMED_MESSAGE
    yield (good, good), Alarm.MALFORMED_MESSAGE
    yield {"model": good}, Alarm.MALFORMED_MESSAGE
    yield LearningMessage(good.astype(float), good), Alarm.MALFORMED_MESSAGE
    yield LearningMessage(good, good.astype(np.int32)), Alarm.MALFORMED_MESSAGE
    yield LearningMessage(np.zeros(3, dtype=np.int64), good), Alarm.MALFORMED_MESSAGE
    yield LearningMessage(good, np.zeros((1, 2), dtype=np.int64)), Alarm.MALFORMED_MESSAGE
    yield LearningMessage([0, 0], good), Alarm.MALFORMED_MESSAGE
    yield LearningMessage(np.array([0, None], dtype=object), good), Alarm.MALFORMED_MESSAGE
    yield LearningMessage(huge_model, good), Alarm.OUT_OF_RANGE
    yield LearningMessage(good, huge_gradient), Alarm.OUT_OF_RANGE
    yield LearningMessage(lowest, good), Alarm.OUT_OF_RANGE
    yield LearningMessage(good, lowest), Alarm.OUT_OF_RANGE


@pytest.mark.checks("MO-8", "LM-4", "AR-11", "MO-7")
@pytest.mark.parametrize("index", range(15))
def test_garbage_is_an_alarm_of_its_receiver_and_zero_stands_in(index: int) -> None:
    machine = small_machine(path(3))
    message, expected = list(garbage(machine.parameters))[index]

    def adversary(view: CausalView) -> dict[tuple[int, int], object]:
        return {(2, 1): message} if view.round == 2 else {}

    zero_gradient = {v: lambda _t, point: point - 1.0 for v in range(3)}
    result = run_machine(
        machine.graph, machine, zero_gradient, byzantine=frozenset({2}), adversary=adversary
    )
    [raised] = result.states[1].alarms
    assert (raised.alarm, raised.phase, raised.round, raised.sender) == (
        expected,
        "LearnModel",
        2,
        2,
    )
    assert result.states[0].alarms == ()
    parameters, rounds = machine.parameters, result.rounds
    own, left = learned(rounds[1], 1), learned(rounds[1], 0)
    zero = np.zeros(2, dtype=np.int64)
    after = learned(rounds[2], 1)
    assert not residual(
        parameters, 3, own.model, [left.model, zero], after.model, after.scaled_gradient
    ).any()


@pytest.mark.checks("AR-14", "MO-8")
@pytest.mark.parametrize(
    "bad", [np.array([np.nan, 0.0]), np.array([np.inf, 0.0]), np.array([1e300, 0]), np.zeros(3)]
)
def test_an_update_that_leaves_the_lattice_is_an_alarm_then_silence(bad: np.ndarray) -> None:
    machine = small_machine(complete(3))
    private = {v: (lambda _t, point: point) for v in range(3)}
    private[0] = lambda t, point: bad if t == 2 else point
    result = run_machine(machine.graph, machine, private)
    [own] = result.states[0].alarms
    assert (own.alarm, own.round) == (Alarm.OWN_UPDATE_OUT_OF_RANGE, 2)
    assert [spoken.said[0] is None for spoken in result.rounds] == [False, True, True]
    for v in (1, 2):
        assert [(r.alarm, r.round, r.sender) for r in result.states[v].alarms] == [
            (Alarm.MISSING_MESSAGE, 2, 0),
            (Alarm.MISSING_MESSAGE, 3, 0),
        ]


@pytest.mark.checks("LM-1", "AR-10")
def test_bad_starts_are_refused() -> None:
    graph = path(3)
    parameters = small_machine(graph).parameters
    with pytest.raises(LatticeError, match=r"x_0 has dtype float64.*LM-1"):
        LearnModel(graph, parameters, np.zeros(2))
    with pytest.raises(LatticeError, match=r"shape \(3,\)"):
        LearnModel(graph, parameters, np.zeros(3, dtype=np.int64))
    with pytest.raises(LatticeError, match="x_0 has an entry out of range"):
        LearnModel(graph, parameters, np.full(2, parameters.model_limit))
    with pytest.raises(LatticeError, match=r"degree 3.*made for 2"):
        LearnModel(complete(4), parameters, np.zeros(2, dtype=np.int64))


@pytest.mark.checks("LM-5")
def test_a_message_does_not_follow_the_array_it_was_made_from() -> None:
    base = np.zeros(4, dtype=np.int64)
    message = LearningMessage(base[:2], base[2:])
    base[:] = 7
    assert message.model.tolist() == message.scaled_gradient.tolist() == [0, 0]
