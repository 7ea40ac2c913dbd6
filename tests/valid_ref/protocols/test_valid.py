"""Valid as one machine: order of phases, honest runs, who can know what when, the verdict."""

from itertools import groupby
from typing import Any

import attrs
import numpy as np
import pytest
from hypothesis import assume, given, reject
from hypothesis import strategies as st

from tests.support import (
    LOOSE,
    alarms,
    edited,
    graphs,
    network,
    privates,
    random_gradients,
    run,
    same_message,
    shifted,
    weighting,
)
from valid_ref.alarms import Alarm, Raised
from valid_ref.execution import Execution
from valid_ref.graph_families import complete, connected_graphs, cycle, path
from valid_ref.guarantees.local import quiet_if_all_honest
from valid_ref.hashing import FieldError
from valid_ref.lattice import LatticeError
from valid_ref.protocols.parameters import Bounds, CheckedKeys
from valid_ref.protocols.valid import (
    COMMITMENTS,
    ESTIMATES,
    HASHES,
    KEYS,
    Private,
    Valid,
)
from valid_ref.reading import Reading
from valid_ref.schedule import Precision

LEARN, AGREEMENT = "LearnModel", "ValidationStateAgreement"


@st.composite
def options(draw: st.DrawFn) -> dict[str, Any]:
    """Graphs, dimensions, schedules, precisions, starts, primes, key policies."""
    d, T = draw(st.integers(1, 3)), draw(st.integers(1, 4))
    k = draw(st.integers(0, 20))
    steps = st.lists(st.integers(1, max(1, 2**k // 2)), min_size=T, max_size=T).map(tuple)
    loose = (LOOSE,) * T
    return {
        "graph": draw(graphs(5)),
        "d": d,
        "T": T,
        "precision": Precision(draw(st.integers(0, 28)), k),
        "mixing": draw(steps),
        "gradient": draw(steps),
        "prime": draw(st.sampled_from((2**61 - 1, 2**31 - 1, 2**32 + 15))),
        "start": tuple(draw(st.lists(st.integers(-3, 3), min_size=d, max_size=d))),
        "bounds": draw(st.sampled_from((None, Bounds(loose, loose)))),
        "weightings": (weighting((1,) * T), weighting(tuple(range(1, T + 1)))),
        "checked_keys": draw(st.sampled_from(CheckedKeys)),
    }


@pytest.mark.checks("L1", "HA-11", "LV-8", "VA-2", "S3", "V1", "LM-6", "GV-3")
@given(options(), st.data())
def test_honest_runs_never_alarm(given_options: dict[str, Any], data: st.DataObject) -> None:
    """Whatever the gradients, and whatever the keys: 0 and equal ones among them."""
    try:
        parameters = network(**given_options)
    except LatticeError:  # the range rule leaves no room for such a start
        reject()
    n, p = parameters.graph.agents, parameters.field.prime
    some = st.sampled_from((0, 1, p - 1)) | st.integers(0, p - 1)
    keys = data.draw(st.lists(some, min_size=n, max_size=n))
    size = data.draw(st.sampled_from((1e-3, 1.0, 50.0)))
    private = privates(parameters, seed=data.draw(st.integers(0, 999)), keys=keys, size=size)
    execution = run(parameters, private=private)
    raised = {r.alarm for v in range(n) for r in alarms(execution, v)}
    assert quiet_if_all_honest(execution)
    assume(Alarm.OWN_UPDATE_OUT_OF_RANGE not in raised)
    assert raised == set()
    assert execution.honest_valid == tuple(range(n))
    for v in range(n):
        memory = execution.states[v].memory
        assert memory.keys == tuple(keys)
        assert execution.output(v) is memory.fixed_transcripts.own[-1].model


def phases(execution: Execution) -> list[tuple[str, int]]:
    grouped = groupby(execution.rounds, key=lambda spoken: spoken.phase)
    counted = [(phase, [spoken.number for spoken in rounds]) for phase, rounds in grouped]
    assert all(numbers == list(range(1, len(numbers) + 1)) for _phase, numbers in counted)
    return [(phase, len(numbers)) for phase, numbers in counted]


@pytest.mark.checks("VA-1", "VA-3", "LV-1", "LV-6")
@pytest.mark.witness("P23")
@pytest.mark.parametrize("graph", [*connected_graphs(4), path(2), complete(6)])
@pytest.mark.parametrize("T", [1, 5])
def test_the_phases_come_in_order_and_take_their_rounds(graph, T: int) -> None:
    """The printed text counts T rounds and no other; a run takes T + 4|V| - 1."""
    parameters, n = network(graph, T=T), graph.agents
    expected = [(LEARN, T), (KEYS, n), (HASHES, n), (ESTIMATES, n), (AGREEMENT, n - 1)]
    execution = run(parameters)
    assert phases(execution) == expected
    assert len(execution.rounds) == Valid(parameters).rounds == T + 4 * n - 1 > T


@pytest.mark.checks("VA-7", "VA-1")
def test_the_printed_orders() -> None:
    """Keys before the transcripts are fixed, hashes before the keys, or both."""
    n, T = 3, 2
    orders = {
        ("P09",): [LEARN, COMMITMENTS, KEYS],
        ("P11",): [KEYS, LEARN],
        ("P09", "P11"): [KEYS, LEARN, COMMITMENTS],
    }
    for errata, first in orders.items():
        execution = run(network(cycle(n), T=T, reading=Reading.without(*errata)))
        assert [phase for phase, _ in phases(execution)] == [*first, HASHES, ESTIMATES, AGREEMENT]
        assert execution.honest_valid == (0, 1, 2)


@pytest.mark.checks("VA-1", "MO-7", "S2")
def test_an_alarm_carries_over_and_shortens_nothing() -> None:
    """Byzantine 3 at the end of a path says nothing once, in round 1."""
    parameters = network(path(4))
    attack = edited(LEARN, lambda _message: None, rounds=[1])
    execution = run(parameters, attack, byzantine=[3])
    assert len(execution.rounds) == Valid(parameters).rounds
    first = Raised(Alarm.MISSING_MESSAGE, LEARN, 1, 3)
    assert execution.states[2].memory.alarms[0] == first
    agreement = [spoken.said for spoken in execution.rounds if spoken.phase == AGREEMENT]
    assert [said[2] for said in agreement] == [True] * 3
    assert execution.honest_valid == ()


def first_difference(left: Execution, right: Execution, agent: int) -> int | None:
    """The first round, counted through all phases, in which an agent says something else."""
    pairs = zip(left.rounds, right.rounds, strict=True)
    for number, (one, other) in enumerate(pairs, start=1):
        if not same_message(one.said[agent], other.said[agent]):
            return number
    return None


@pytest.mark.checks("VA-1", "LV-4", "LV-6", "GV-3", "MO-8")
@pytest.mark.parametrize("phase", [KEYS, HASHES, ESTIMATES])
def test_an_alarm_of_any_broadcast_is_one_of_the_agent(phase: str) -> None:
    """Silence in one round of one broadcast: the values come anyhow, the alarm stays."""
    graph = cycle(4)
    mute = edited(phase, lambda _message: None, rounds=[3], edges=[(0, 1)])
    execution = run(network(graph), mute, byzantine=[0])
    assert alarms(execution, 1) == [Raised(Alarm.MISSING_MESSAGE, phase, 3, 0)]
    assert execution.honest_valid == ()


@pytest.mark.checks("MO-5", "MO-3", "LM-2", "VA-1", "LV-3")
@given(graphs(5), st.integers(1, 4), st.data())
def test_a_private_gradient_is_felt_no_sooner_than_a_message_can_travel(graph, t0, data) -> None:
    """Agent w has another gradient from round t0 on; at distance q that is round t0 + q."""
    w = data.draw(st.integers(0, graph.agents - 1))
    fine = {"precision": Precision(28, 10), "mixing": (100,) * 4, "gradient": (500,) * 4}
    parameters = network(graph, T=4, **fine)
    private = privates(parameters)
    usual, other = private[w].gradient, random_gradients(99, w, 2, size=9.0)

    def changed(t: int, point: np.ndarray) -> np.ndarray:
        return other(t, point) if t >= t0 else usual(t, point)

    left = run(parameters, private=private)
    right = run(parameters, private={**private, w: Private(changed, private[w].key)})
    for v, distance in enumerate(graph.distances_from(w)):
        first = first_difference(left, right, v)
        assert first is None or first >= t0 + distance
        if t0 + distance <= 4:
            assert first == t0 + distance


@pytest.mark.checks("LV-1", "LV-3", "LV-4", "AD-3", "LM-5")
@given(st.sampled_from(((), ("P11",), ("P09",))), graphs(5), st.data())
def test_a_key_is_felt_only_after_the_transcripts_are_fixed(errata, graph, data) -> None:
    """A key is first said in round T+1; with keys first in round 1, as a hash by commitment too."""
    w, T = data.draw(st.integers(0, graph.agents - 1)), 3
    parameters = network(graph, T=T, reading=Reading.without(*errata))
    private = privates(parameters)
    moved = attrs.evolve(private[w], key=private[w].key ^ 1)
    left = run(parameters, private=private)
    right = run(parameters, private={**private, w: moved})
    begin = 1 if errata == ("P11",) else T + 1
    for v, distance in enumerate(graph.distances_from(w)):
        assert first_difference(left, right, v) == begin + distance
    for v in range(graph.agents):
        one, other = (run_.states[v].memory.fixed_transcripts for run_ in (left, right))
        assert all(same_message(a, b) for a, b in zip(one.own, other.own, strict=True))


@pytest.mark.checks("LV-3")
@pytest.mark.parametrize("key", [-1, 2**61 - 1, True, 1.0, np.int64(5), None, "7"], ids=repr)
def test_a_key_outside_the_field_is_refused(key: object) -> None:
    parameters = network(path(2))
    private = privates(parameters)
    with pytest.raises(FieldError, match=r"key .* is not in 0\.\.\d+.*LV-3"):
        run(parameters, private={**private, 1: attrs.evolve(private[1], key=key)})


@pytest.mark.checks("VA-2", "LM-6", "S4")
def test_a_late_byzantine_alarm_leaves_some_valid_with_their_own_model() -> None:
    """Path 0-1-2-3: 3 says "alarm" in the last round only; 2 alone ends invalid."""
    attack = edited(AGREEMENT, lambda _message: True, rounds=[3])
    execution = run(network(path(4)), attack, byzantine=[3])
    assert execution.honest_valid == (0, 1)
    assert execution.output(2) is None
    assert execution.states[2].memory.alarms == (Raised(Alarm.NEIGHBOUR_ALARM, AGREEMENT, 3, 3),)
    for v in (0, 1):
        assert execution.output(v) is execution.states[v].memory.fixed_transcripts.own[-1].model


def worked_example(adversary=None) -> Execution:
    parameters = network(
        path(3), d=1, T=2, precision=Precision(4, 2), mixing=(1, 1), gradient=(2, 2), prime=10007
    )
    private = {
        v: Private(lambda _t, point, c=float(v): point - c, key)
        for v, key in enumerate((5, 17, 42))
    }
    if adversary is None:
        return run(parameters, private=private)
    return run(parameters, adversary, byzantine=[0], private=private)


@pytest.mark.checks("VA-2", "VA-3", "VA-4", "LM-7", "LV-12", "GV-10", "SA-5", "VB-10")
def test_the_worked_example_number_by_number() -> None:
    execution = worked_example()
    assert [execution.output(v).tolist() for v in range(3)] == [[1], [12], [23]]
    assert len(execution.rounds) == 13
    costs = execution.costs()
    table = [
        [
            costs[LEARN][v].scalars,
            costs[KEYS][v].scalars + costs[HASHES][v].scalars,
            costs[ESTIMATES][v].scalars,
            costs[AGREEMENT][v].scalars,
        ]
        for v in range(3)
    ]
    assert table == [[4, 89, 7, 2], [8, 204, 16, 4], [4, 89, 7, 2]]
    assert [sum(row) for row in table] == [102, 232, 102]


@pytest.mark.checks("LV-8", "VA-2", "HA-7")
def test_the_worked_example_with_a_liar() -> None:
    """Agent 0 says Gamma(2) = 5: a residual (0, -1), which every key but 0 sees."""
    execution = worked_example(edited(LEARN, shifted(gamma=1), rounds=[2]))
    about = [Raised(Alarm.BROKEN_RELATION, "LocalValidate", 3, None, (0, w)) for w in range(3)]
    assert alarms(execution, 1) == alarms(execution, 2) == about
    assert execution.honest_valid == ()
    said = next(spoken.said for spoken in execution.rounds if spoken.phase == HASHES)
    assert said[1][1, 0][:4] == (5, 0, 0, 25)
