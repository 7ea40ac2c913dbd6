"""Adding rounds of weighted gradients to their planes: by tensor operations, or in one pass."""

from collections.abc import Sequence
from types import ModuleType

import attrs
import numpy as np
import torch
from torch import Tensor

from torch_backend import lattice
from torch_backend.fast import loops, spread
from torch_backend.planes import limbs_of, squared_norms
from valid_ref.lattice import LatticeParameters

QUOTIENT = 2**50
"""Below this a quotient in float64 is off by less than a half."""

COLUMNS = 1 << 11
"""Columns of all planes that stay in the cache while the rounds pass."""

Squares = list[int]
"""|g|^2 of every row, in integers of any size."""


@attrs.frozen(eq=False)
class Weighted:
    """The scaled gradients of round t, [rows, d], and the digits of its weights."""

    t: int
    gammas: Tensor
    digits: list[tuple[int, ...]]


def add_all(
    parameters: LatticeParameters, rounds: Sequence[Weighted], sums: Tensor, summed: int | None
) -> list[Squares]:
    """Add w_t g(t) of these rounds to the planes, in place; |g(t)|^2 of every round and row.

    If `summed` is a number, the gradients of so many rows are added up first.

    Implements: AR-8, GV-2, GV-9.
    """
    if not rounds:
        return []
    fast = loops(sums, *(one.gammas for one in rounds))
    smallest = min(parameters.schedule.A(one.t) for one in rounds)
    if fast is None or parameters.gradient_limit // smallest >= QUOTIENT:
        return [_add(parameters, one, sums, summed) for one in rounds]
    if summed is None:
        return _add_weighted(fast, parameters, rounds, sums)
    return [_add_summed(fast, parameters, one, sums, summed) for one in rounds]


def _add(parameters: LatticeParameters, one: Weighted, sums: Tensor, summed: int | None) -> Squares:
    gradients = lattice.read_gradients(parameters, one.t, one.gammas)
    squares = squared_norms(gradients)
    if summed is not None:
        gradients = gradients[:summed].sum(dim=0, keepdim=True)
    _add_limbs(one, gradients, sums)
    return squares


def _add_limbs(one: Weighted, gradients: Tensor, sums: Tensor) -> None:
    limbs = limbs_of(gradients, sums.shape[2])
    for index, digits in enumerate(one.digits):
        for i, digit in enumerate(digits):
            for j, limb in enumerate(limbs):
                sums[index, i, j].add_(limb, alpha=digit)


def _add_summed(
    fast: ModuleType, parameters: LatticeParameters, one: Weighted, sums: Tensor, summed: int
) -> Squares:
    rows, d = one.gammas.shape
    total = torch.zeros((1, d), dtype=torch.int64)
    gammas, A = one.gammas.numpy(), parameters.schedule.A(one.t)

    def work(begin: int, end: int) -> "np.ndarray[tuple[int, int], np.dtype[np.int64]]":
        squares = np.zeros((rows, 6), dtype=np.int64)
        fast.add_gradients(gammas, A, summed, total.numpy()[0], squares, begin, end)
        return squares

    parts = spread(d, work)
    _add_limbs(one, total, sums)
    return [_square(row) for row in sum(parts[1:], parts[0]).tolist()]


def _add_weighted(
    fast: ModuleType, parameters: LatticeParameters, rounds: Sequence[Weighted], sums: Tensor
) -> list[Squares]:
    rows, d = rounds[0].gammas.shape
    planes = sums.numpy()
    known = [
        (one.gammas.numpy(), parameters.schedule.A(one.t), np.array(one.digits, dtype=np.int64))
        for one in rounds
    ]

    def work(begin: int, end: int) -> "np.ndarray[tuple[int, int, int], np.dtype[np.int64]]":
        squares = np.zeros((len(rounds), rows, 6), dtype=np.int64)
        for left in range(begin, end, COLUMNS):
            for number, (gammas, A, digits) in enumerate(known):
                right = min(end, left + COLUMNS)
                fast.add_weighted(gammas, A, digits, planes, squares[number], left, right)
        return squares

    parts = spread(d, work)
    return [[_square(row) for row in one] for one in sum(parts[1:], parts[0]).tolist()]


def _square(parts: Sequence[int]) -> int:
    """The integer that the compiled loop cut: limbs of 25 bits, each sum in halves of 32."""
    low, cross, high = (parts[i] + (parts[i + 1] << 32) for i in (0, 2, 4))
    return low + (cross << 26) + (high << 50)
