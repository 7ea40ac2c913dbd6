"""Integer means and decisions about distances that do not depend on device or library."""

import itertools
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from torch_backend.errors import ScreeningError
from torch_backend.fast import loops, spread
from torch_backend.rules.order import together
from valid_ref.kernels import squared_norms
from valid_ref.lattice import WORD_LIMIT, LatticeParameters

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


def squared_distances(pairs: Sequence[tuple[Tensor, Tensor]]) -> list[float]:
    """|first - second|^2 of pairs of lattice vectors, in float64; exactly 0 for equal vectors."""
    if not pairs:
        return []
    words, starts = together([row for pair in pairs for row in pair])
    fast = loops(words)
    if fast is None:
        return [squared_distance(first, second) for first, second in pairs]
    places = starts.reshape(-1, 2)

    def work(begin: int, end: int) -> npt.NDArray[np.float64]:
        found = np.zeros(len(pairs))
        fast.squared_distances(words.numpy(), places, found, begin, end)
        return found

    parts = spread(len(pairs[0][0]), work)
    total: list[float] = sum(parts[1:], parts[0]).tolist()
    return total


def squared_distance(first: Tensor, second: Tensor) -> float:
    """|first - second|^2 of two lattice vectors, in float64; exactly 0 for equal vectors."""
    difference = (first - second).double()
    return float(torch.dot(difference, difference))


def exact_squared_distance(first: Tensor, second: Tensor) -> int:
    """|first - second|^2 as an integer.

    Implements: AR-12.
    """
    return squared_norms((first - second).cpu().numpy()[np.newaxis])[0]


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
