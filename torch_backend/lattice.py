"""The exact update of all agents at once, in int64 on a device.

Entry by entry the same numbers as `valid_ref.lattice`: sums of neighbours are exact, in float64
where every partial sum is an integer below 2^53 and in 64-bit integers otherwise, so that neither
the order of a sum nor the device matters.
"""

import functools
import itertools
from collections.abc import Iterable
from types import ModuleType

import attrs
import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from torch_backend.errors import DeviceError
from torch_backend.kernels import (
    compiled_loops,
    empty_tensor,
    in_threads,
    places,
    rows_of,
    sent,
    surely_none,
)
from valid_ref.graph import AgentGraph
from valid_ref.lattice import WORD_LIMIT, LatticeParameters

EXACT_FLOAT = 2**53
"""Integers up to this magnitude, and their sums, are exact in float64."""

DENSE_SHARE = 0.1
"""From this share of nonzero entries on an adjacency matrix is multiplied as a dense one."""

NEAREST = 64
"""Among so many receivers before it a base is looked for."""

Agents = tuple[int, ...]
Integers = npt.NDArray[np.int64]


def sums_in_float(parameters: LatticeParameters) -> bool:
    """Whether sums over neighbours are exact in float64: maxdeg X_max <= 2^53.

    Implements: AR-13.
    """
    return parameters.max_degree * parameters.model_limit <= EXACT_FLOAT


@functools.lru_cache(maxsize=32)
def adjacency(graph: AgentGraph, agents: Agents, device: torch.device) -> Tensor:
    """Rows of the adjacency matrix for these receivers, float64, dense or sparse."""
    rows = [i for i, v in enumerate(agents) for _u in graph.neighbours(v)]
    columns = [u for v in agents for u in graph.neighbours(v)]
    shape = (len(agents), graph.agents)
    if len(rows) >= DENSE_SHARE * shape[0] * shape[1]:
        matrix = torch.zeros(shape, dtype=torch.float64)
        matrix[rows, columns] = 1.0
        return sent(matrix, device)
    ones = torch.ones(len(columns), dtype=torch.float64)
    sparse = torch.sparse_coo_tensor(
        torch.tensor([rows, columns]), ones, shape, check_invariants=True
    )
    return sparse.coalesce().to(device)


@functools.lru_cache(maxsize=32)
def degrees(graph: AgentGraph, agents: Agents, device: torch.device) -> Tensor:
    """The degrees of these receivers as a column, int64."""
    return places(tuple(map(graph.degree, agents)), device)[:, None]


@functools.lru_cache(maxsize=32)
def sum_plan(graph: AgentGraph, agents: Agents) -> tuple[Integers, ...]:
    """How to sum over the neighbours of each receiver from the sum of an earlier one.

    For every receiver a base among the `NEAREST` receivers before it (-1: none), the senders to
    add and those to take away (where they begin, and all of them in a row), and its degree. In a
    clique two sums differ by two senders, whatever its size.
    """
    bases: list[int] = []
    changes: list[tuple[list[int], list[int]]] = []
    sets = [frozenset(graph.neighbours(v)) for v in agents]
    for row, wanted in enumerate(sets):
        best = min(
            range(max(0, row - NEAREST), row), default=-1, key=lambda q: len(wanted ^ sets[q])
        )
        if best < 0 or len(wanted ^ sets[best]) >= len(wanted):
            best = -1
        base = sets[best] if best >= 0 else frozenset()
        bases.append(best)
        changes.append((sorted(wanted - base), sorted(base - wanted)))

    def array(numbers: Iterable[int]) -> Integers:
        return np.array(list(numbers), dtype=np.int64)

    lists = [[change[side] for change in changes] for side in (0, 1)]
    ends = [array(itertools.accumulate(map(len, side), initial=0)) for side in lists]
    flat = [array(itertools.chain.from_iterable(side)) for side in lists]
    return array(bases), ends[0], flat[0], ends[1], flat[1], array(map(len, sets))


def neighbour_sums(
    parameters: LatticeParameters, graph: AgentGraph, agents: Agents, models: Tensor
) -> Tensor:
    """sum over u in N(v) of x_u for each of these receivers v, exactly: int64 [A, d].

    Implements: AR-4.
    """
    if sums_in_float(parameters):
        return (adjacency(graph, agents, models.device) @ models.double()).long()
    return torch.stack([rows_of(models, graph.neighbours(v)).sum(dim=0) for v in agents])


def mix(
    parameters: LatticeParameters,
    t: int,
    graph: AgentGraph,
    agents: Agents,
    own: Tensor,
    said: Tensor,
    points: Tensor | None = None,
) -> Tensor:
    """Y = 2^k x_v + a_t sum_u (x_u - x_v) for each of these receivers, exactly.

    `own` [A, d] are their models, `said` [n, d] what everybody said to all. Room for the points of
    evaluation, [A, d], is filled on the way.

    Implements: AR-4.
    """
    a = parameters.schedule.a(t)
    loops = compiled_loops(own, said)
    if loops is not None:
        Y = empty_tensor(own.shape, own.dtype, own.device)
        plan = sum_plan(graph, agents)
        factors = (1 << parameters.precision.step_bits) - a * plan[-1]
        filled = np.empty((0, 0), dtype=np.float32)
        if points is not None and points.dtype is torch.float32:
            filled = points.numpy()
        arrays, lists = (own.numpy(), said.numpy(), Y.numpy(), filled), (*plan[:-1], factors)
        numbers = a, point_scale(parameters)
        in_threads(own.shape[1], lambda begin, end: loops.mix(arrays, lists, numbers, begin, end))
        if points is not None and not len(filled):
            points.copy_(evaluation_points(parameters, Y, points.dtype))
        return Y
    column = (1 << parameters.precision.step_bits) - a * degrees(graph, agents, own.device)
    sums = neighbour_sums(parameters, graph, agents, said)
    Y = torch.mul(own, column).add_(sums, alpha=a)
    if points is not None:
        points.copy_(evaluation_points(parameters, Y, points.dtype))
    return Y


def point_scale(parameters: LatticeParameters) -> float:
    """2^-(f+k), the unit of Y."""
    return 2.0 ** -(parameters.precision.fraction_bits + parameters.precision.step_bits)


def evaluation_points(
    parameters: LatticeParameters, Y: Tensor, dtype: torch.dtype = torch.float32
) -> Tensor:
    """The real points Y / 2^(f+k): the nearest float64, and from that the nearest `dtype`.

    Implements: AR-4.
    """
    return reals(Y, point_scale(parameters), dtype)


def reals(rows: Tensor, scale: float, dtype: torch.dtype = torch.float32) -> Tensor:
    """Rows of integers times a power of two: the nearest float64, and from that the `dtype`."""
    loops = compiled_loops(rows)
    if loops is not None and dtype is torch.float32:
        found = empty_tensor(rows.shape, dtype, rows.device)
        both = rows.numpy(), scale, found.numpy()
        in_threads(rows.shape[1], lambda begin, end: loops.evaluation_points(*both, begin, end))
        return found
    return rows.double().mul_(scale).to(dtype)


@attrs.frozen(eq=False)
class SteppedModels:
    """x_v(t) and Gamma_v(t), int64 [A, d], and which agents fall silent (AR-14), bool [A].

    The rows of an agent that falls silent are zero.
    """

    models: Tensor
    gammas: Tensor
    lost: Tensor


def step(
    parameters: LatticeParameters, t: int, Y: Tensor, gradients: Tensor, *, consume: bool = False
) -> SteppedModels:
    """The lattice form of the gradients, then x = round((Y - A_t G) / 2^k) and Gamma.

    With `consume` the caller has no more use for Y, and its memory may become that of Gamma.
    Multiplying by 2^f is exact in float32 and float64 unless it overflows, which is out of range.

    Implements: AR-3, AR-5, AR-14.
    """
    if gradients.shape != Y.shape:
        raise DeviceError(
            f"the model gave gradients of shape {tuple(gradients.shape)} for points of shape "
            f"{tuple(Y.shape)}",
            clause="AR-5",
        )
    A, bits = parameters.schedule.A(t), parameters.precision.step_bits
    beyond = -(-(parameters.gradient_limit + (1 << bits)) // A)  # AR-14: before the product
    scale, limit = 2.0**parameters.precision.fraction_bits, float(min(beyond, WORD_LIMIT))
    loops = compiled_loops(Y, gradients)
    if loops is not None and gradients.dtype is torch.float32:
        limits = limit, parameters.model_limit, parameters.gradient_limit
        base = Y if consume else Y.clone()
        return _compiled_step(loops, base, gradients, (A, bits, scale), limits)
    scaled = gradients.mul(scale).round_()
    lost = (scaled.abs().amax(dim=1).double() < limit).logical_not_()  # NaN is lost too
    if not surely_none(lost):
        scaled = torch.where(lost[:, None], 0.0, scaled)
    x = shift_half_even(torch.sub(Y, scaled.long(), alpha=A), bits)
    gamma = torch.sub(Y, x, alpha=1 << bits)
    lost |= outside(x, parameters.model_limit) | outside(gamma, parameters.gradient_limit)
    return _silenced(x, gamma, lost)


def _silenced(x: Tensor, gamma: Tensor, lost: Tensor) -> SteppedModels:
    if not surely_none(lost):
        x, gamma = x.masked_fill(lost[:, None], 0), gamma.masked_fill(lost[:, None], 0)
    return SteppedModels(x, gamma, lost)


def _compiled_step(
    loops: ModuleType,
    Y: Tensor,
    gradients: Tensor,
    numbers: tuple[int, int, float],
    limits: tuple[float, int, int],
) -> SteppedModels:
    """The same in one pass over memory; Y becomes Gamma."""
    x = empty_tensor(Y.shape, Y.dtype, Y.device)
    arrays = Y.numpy(), gradients.numpy(), x.numpy()

    def work(begin: int, end: int) -> Integers:
        lost = np.zeros(len(Y), dtype=np.int64)
        loops.step((*arrays, lost), numbers, limits, begin, end)
        return lost

    parts = in_threads(Y.shape[1], work)
    return _silenced(x, Y, torch.from_numpy(np.any(np.stack(parts), axis=0)))


def shift_half_even(numerator: Tensor, bits: int) -> Tensor:
    """numerator / 2^bits to the nearest integer, ties to even, without a float.

    Adding half less one, and one more where the quotient is odd, carries exactly when the
    remainder is above a half, or is a half and the quotient is odd.

    Implements: AR-5.
    """
    if bits == 0:
        return numerator.clone()
    odd = (numerator >> bits).bitwise_and_(1)
    return odd.add_(numerator).add_((1 << (bits - 1)) - 1).__irshift__(bits)


def outside(rows: Tensor, limit: int) -> Tensor:
    """For each row whether an entry lies on or beyond the limit.

    Implements: AR-10, AR-11.
    """
    low, high = torch.aminmax(rows, dim=1)
    return (low <= -limit) | (high >= limit)


def read_gradients(parameters: LatticeParameters, t: int, gammas: Tensor) -> Tensor:
    """The gradients that a receiver reads off: floor(Gamma(t) / A_t), int64.

    Implements: AR-8.
    """
    return torch.div(gammas, parameters.schedule.A(t), rounding_mode="floor")
