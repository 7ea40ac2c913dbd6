"""The update on the device is that of the reference, entry by entry, at the ends and at ties."""

from fractions import Fraction
from unittest import mock

import attrs
import numpy as np
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

from torch_backend import kernels, lattice
from torch_backend.errors import DeviceError
from valid_ref import lattice as plain
from valid_ref.graph import AgentGraph
from valid_ref.graph_families import parse_family
from valid_ref.lattice import LatticeError, LatticeParameters, default_limits
from valid_ref.schedule import Precision, Schedule

GRAPHS = [parse_family(name) for name in ("path:2", "cycle:5", "complete:4", "star:6")]
SPARSE = parse_family("cycle:40")


def parameters_for(graph: AgentGraph, f: int, k: int, a: int, A: int, d: int) -> LatticeParameters:
    return default_limits(d, Schedule(Precision(f, k), (a,), (A,)), graph.max_degree)


@st.composite
def settings(draw: st.DrawFn) -> tuple[AgentGraph, LatticeParameters]:
    graph = draw(st.sampled_from([*GRAPHS, SPARSE]))
    k = draw(st.sampled_from([0, 1, 20, 24]) | st.integers(0, 30))
    steps = st.integers(1, 2**k) | st.just(2**k)
    f = draw(st.sampled_from([0, 28]) | st.integers(0, 40))
    parameters = parameters_for(
        graph=graph, f=f, k=k, a=draw(steps), A=draw(steps), d=draw(st.integers(1, 3))
    )
    if draw(st.booleans()):  # then Gamma can leave its range while x stays in its own
        parameters = attrs.evolve(parameters, gradient_limit=2 ** (k + draw(st.integers(0, 4))))
    return graph, parameters


def entries(limit: int) -> st.SearchStrategy[int]:
    ends = st.sampled_from([0, 1, -1, limit - 1, 1 - limit])
    return ends | st.integers(1 - limit, limit - 1)


def matrix(draw: st.DrawFn, rows: int, d: int, limit: int) -> np.ndarray:
    values = draw(st.lists(entries(limit), min_size=rows * d, max_size=rows * d))
    return np.array(values, dtype=np.int64).reshape(rows, d)


FORMS = pytest.mark.parametrize("pays_from", [0, 2**62], ids=["compiled", "tensors"])


@FORMS
@pytest.mark.checks("AR-4")
@given(st.data())
def test_mixing_is_exact_in_every_form(pays_from: int, data: st.DataObject) -> None:
    graph, parameters = data.draw(settings())
    models = matrix(data.draw, graph.agents, parameters.dimension, parameters.model_limit)
    agents = tuple(range(graph.agents))[data.draw(st.integers(0, 1)) :]
    own = torch.from_numpy(models[list(agents)])
    with mock.patch.object(kernels, "PAYS_FROM", pays_from):
        mixed = lattice.mix(
            parameters=parameters,
            t=1,
            graph=graph,
            agents=agents,
            own=own,
            said=torch.from_numpy(models),
        )
        points = lattice.evaluation_points(parameters, mixed, torch.float64)
        singles = lattice.evaluation_points(parameters, mixed)
    assert torch.equal(singles, points.float())
    for row, agent in enumerate(agents):
        neighbours = [models[u] for u in graph.neighbours(agent)]
        Y = plain.mix(parameters, 1, models[agent], neighbours)
        assert mixed[row].tolist() == Y.tolist()
        assert points[row].tolist() == plain.evaluation_point(parameters, Y).tolist()


def test_the_three_ways_to_sum_are_all_taken() -> None:
    device = torch.device("cpu")
    assert lattice.adjacency(GRAPHS[2], (0, 1), device).layout is torch.strided
    assert lattice.adjacency(SPARSE, (0, 1), device).layout is torch.sparse_coo
    assert lattice.sums_in_float(parameters_for(graph=SPARSE, f=28, k=20, a=1, A=1, d=1))
    assert not lattice.sums_in_float(parameters_for(graph=SPARSE, f=28, k=1, a=1, A=1, d=1))


def awkward(parameters: LatticeParameters) -> st.SearchStrategy[float]:
    """Gradients around ties and around the limits, and what is no number."""
    f, k = parameters.precision.fraction_bits, parameters.precision.step_bits
    A = parameters.schedule.A(1)
    beyond = -(-(parameters.gradient_limit + (1 << k)) // A)
    near = st.builds(
        lambda base, off: float(Fraction(2 * base + off, 2) / 2**f),
        st.sampled_from([0, beyond, -beyond, 3, 2**k // (2 * A), parameters.gradient_limit // A]),
        st.integers(-3, 3),
    )
    wild = st.sampled_from([float("nan"), float("inf"), -float("inf"), 3e38, -0.0, 1e-45])
    return near | st.floats(-10, 10) | st.floats(allow_nan=False, width=32) | wild


@FORMS
@pytest.mark.checks("AR-3", "AR-5", "AR-10", "AR-14")
@given(st.data())
def test_the_step_is_that_of_the_reference_and_silence_too(
    pays_from: int, data: st.DataObject
) -> None:
    _graph, parameters = data.draw(settings())
    d, k = parameters.dimension, parameters.precision.step_bits
    a, degree = parameters.schedule.a(1), parameters.max_degree
    reach = parameters.model_limit * ((1 << k) + 2 * a * degree)
    base = matrix(data.draw, 3, d, reach)
    dtype = data.draw(st.sampled_from([torch.float32, torch.float64]))
    numbers = data.draw(st.lists(awkward(parameters), min_size=3 * d, max_size=3 * d))
    gradients = torch.tensor(numbers, dtype=torch.float64).to(dtype).reshape(3, d)
    with mock.patch.object(kernels, "PAYS_FROM", pays_from):
        taken = lattice.step(parameters, 1, torch.from_numpy(base), gradients)
    for row in range(3):
        with np.errstate(over="ignore", invalid="ignore"):
            try:
                x, gamma = plain.step(parameters, 1, base[row], gradients[row].double().numpy())
            except LatticeError:
                assert taken.lost[row]
                assert not taken.models[row].any()
                assert not taken.gammas[row].any()
                continue
        assert not taken.lost[row]
        assert taken.models[row].tolist() == x.tolist()
        assert taken.gammas[row].tolist() == gamma.tolist()
        read = lattice.read_gradients(parameters, 1, taken.gammas)[row]
        assert read.tolist() == plain.read_gradient(parameters, 1, gamma).tolist()


@FORMS
@pytest.mark.checks("AR-10", "AR-14")
def test_a_scaled_gradient_out_of_range_silences_although_the_model_is_in_range(
    pays_from: int,
) -> None:
    parameters = attrs.evolve(
        parameters_for(graph=GRAPHS[0], f=0, k=2, a=1, A=1, d=1), gradient_limit=100
    )
    base, gradients = torch.zeros((2, 1), dtype=torch.int64), torch.tensor([[98.0], [99.0]])
    with mock.patch.object(kernels, "PAYS_FROM", pays_from):
        taken = lattice.step(parameters, 1, base, gradients)
    assert taken.lost.tolist() == [False, True]
    assert taken.gammas.tolist() == [[96], [0]]


@pytest.mark.checks("AR-5")
@given(st.lists(st.integers(-(2**62), 2**62), min_size=1, max_size=9), st.integers(0, 30))
@example([2, 6, -2, -6, 1, 3, -1, -3], 2)
@example([0, 1, -1, 2**62, -(2**62)], 1)
def test_rounding_goes_to_even(numbers: list[int], bits: int) -> None:
    rounded = lattice.shift_half_even(torch.tensor(numbers), bits)
    assert rounded.tolist() == [round(Fraction(number, 2**bits)) for number in numbers]


@pytest.mark.checks("AR-11")
def test_the_limit_itself_is_outside() -> None:
    rows = torch.tensor([[9, -9], [10, 0], [0, -10], [0, -(2**63)]])
    assert lattice.outside(rows, 10).tolist() == [False, True, True, True]


def test_gradients_of_another_shape_are_refused() -> None:
    parameters = parameters_for(graph=GRAPHS[0], f=28, k=20, a=1, A=1, d=2)
    with pytest.raises(DeviceError, match="shape"):
        lattice.step(parameters, 1, torch.zeros(2, 2, dtype=torch.int64), torch.zeros(2, 3))
