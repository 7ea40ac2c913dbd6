"""The exact update of all agents at once, in int64 on a device.

Entry by entry the same numbers as `valid_ref.lattice`: sums of neighbours are exact, in float64
where every partial sum is an integer below 2^53 and in 64-bit integers otherwise, so that neither
the order of a sum nor the device matters.
"""

import functools

import attrs
import torch
from torch import Tensor

from torch_backend.errors import DeviceError
from valid_ref.graph import AgentGraph
from valid_ref.lattice import WORD_LIMIT, LatticeParameters

EXACT_FLOAT = 2**53
"""Integers up to this magnitude, and their sums, are exact in float64."""

DENSE_SHARE = 0.1
"""From this share of nonzero entries on an adjacency matrix is multiplied as a dense one."""

Agents = tuple[int, ...]


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
        return matrix.to(device)
    ones = torch.ones(len(columns), dtype=torch.float64)
    sparse = torch.sparse_coo_tensor(
        torch.tensor([rows, columns]), ones, shape, check_invariants=True
    )
    return sparse.coalesce().to(device)


@functools.lru_cache(maxsize=32)
def degrees(graph: AgentGraph, agents: Agents, device: torch.device) -> Tensor:
    """The degrees of these receivers as a column, int64."""
    return torch.tensor([[graph.degree(v)] for v in agents], dtype=torch.int64, device=device)


def neighbour_sums(
    parameters: LatticeParameters, graph: AgentGraph, agents: Agents, models: Tensor
) -> Tensor:
    """sum over u in N(v) of x_u for each of these receivers v, exactly: int64 [A, d].

    Implements: AR-4.
    """
    if sums_in_float(parameters):
        return (adjacency(graph, agents, models.device) @ models.double()).long()
    return torch.stack([models[list(graph.neighbours(v))].sum(dim=0) for v in agents])


def mix(
    parameters: LatticeParameters,
    t: int,
    graph: AgentGraph,
    agents: Agents,
    own: Tensor,
    said: Tensor,
) -> Tensor:
    """Y = 2^k x_v + a_t sum_u (x_u - x_v) for each of these receivers, exactly.

    `own` [A, d] are their models, `said` [n, d] what everybody said to all.

    Implements: AR-4.
    """
    a = parameters.schedule.a(t)
    factors = (1 << parameters.precision.step_bits) - a * degrees(graph, agents, own.device)
    sums = neighbour_sums(parameters, graph, agents, said)
    return torch.mul(own, factors).add_(sums, alpha=a)


def evaluation_points(
    parameters: LatticeParameters, Y: Tensor, dtype: torch.dtype = torch.float32
) -> Tensor:
    """The real points Y / 2^(f+k): the nearest float64, and from that the nearest `dtype`.

    Implements: AR-4.
    """
    precision = parameters.precision
    scale = 2.0 ** -(precision.fraction_bits + precision.step_bits)
    return Y.double().mul_(scale).to(dtype)


@attrs.frozen(eq=False)
class Step:
    """x_v(t) and Gamma_v(t), int64 [A, d], and which agents fall silent (AR-14), bool [A].

    The rows of an agent that falls silent are zero.
    """

    models: Tensor
    gammas: Tensor
    lost: Tensor


def step(parameters: LatticeParameters, t: int, Y: Tensor, gradients: Tensor) -> Step:
    """The lattice form of the gradients, then x = round((Y - A_t G) / 2^k) and Gamma.

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
    scaled = gradients.mul(2.0**parameters.precision.fraction_bits).round_()
    limit = float(min(beyond, WORD_LIMIT))
    lost = (scaled.abs().amax(dim=1).double() < limit).logical_not_()  # NaN is lost too
    if bool(lost.any()):
        scaled = torch.where(lost[:, None], 0.0, scaled)
    x = shift_half_even(torch.sub(Y, scaled.long(), alpha=A), bits)
    gamma = torch.sub(Y, x, alpha=1 << bits)
    lost |= outside(x, parameters.model_limit) | outside(gamma, parameters.gradient_limit)
    if bool(lost.any()):
        x, gamma = x.masked_fill(lost[:, None], 0), gamma.masked_fill(lost[:, None], 0)
    return Step(x, gamma, lost)


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
