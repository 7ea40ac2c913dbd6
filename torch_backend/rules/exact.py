"""Integer means and decisions about distances that do not depend on device or library."""

import itertools
from collections.abc import Callable, Sequence
from fractions import Fraction

import torch
from torch import Tensor

from torch_backend.errors import ScreeningError
from valid_ref.lattice import WORD_LIMIT, LatticeParameters, squared_norm

DOUBTFUL = 1e-9
"""Floats whose relative difference is below this decide nothing: sums of up to 10^6 squares in
float64 err by less."""


def check_scale(parameters: LatticeParameters, count: int) -> None:
    """Refuse step bits with which 2^k times a count of models does not fit a word."""
    bits = parameters.precision.step_bits
    if count << bits >= WORD_LIMIT or count * parameters.model_limit >= WORD_LIMIT:
        raise ScreeningError(
            f"the sum of {count} models below {parameters.model_limit}, or {count} times 2^{bits}, "
            "does not fit 62 bits",
            clause="AR-10",
        )


def scaled_mean(total: Tensor, count: int, weight: int) -> Tensor:
    """weight * total / count, exactly, rounded to the nearest integer, ties to even.

    The quotient is taken first, so that nothing is larger than weight times the mean or weight
    times the count.
    """
    if weight % count == 0:
        return total * (weight // count)
    quotient = torch.div(total, count, rounding_mode="floor")
    scaled_rest = (total - quotient * count) * weight
    whole = torch.div(scaled_rest, count, rounding_mode="floor")
    twice = 2 * (scaled_rest - whole * count)
    below = quotient * weight + whole
    return below + ((twice > count) | ((twice == count) & (below & 1 == 1)))


def squared_distance(first: Tensor, second: Tensor) -> float:
    """|first - second|^2 of two lattice vectors, in float64; exactly 0 for equal vectors."""
    difference = (first - second).double()
    return float(torch.dot(difference, difference))


def exact_squared_distance(first: Tensor, second: Tensor) -> int:
    """|first - second|^2 as an integer.

    Implements: AR-12.
    """
    return squared_norm((first - second).cpu().numpy())


def ascending(values: Sequence[float], exactly: Callable[[int], int]) -> list[int]:
    """The positions in the order of their values, of equals the earlier first.

    The values are float64 approximations; where two neighbours in the order are too close for
    them to decide, the exact integers do. Zero is exact.
    """
    order = sorted(range(len(values)), key=lambda i: (values[i], i))
    for first, second in itertools.pairwise(order):
        if values[second] > 0 and values[second] - values[first] <= DOUBTFUL * values[second]:
            exact = [exactly(i) for i in range(len(values))]
            return sorted(range(len(values)), key=lambda i: (exact[i], i))
    return order


def share_of(share: float, count: int) -> Fraction:
    """share * count with the share as it is written in decimals: .29 of 100 is 29."""
    return Fraction(str(share)) * count
