"""Exact sums of squares of 64-bit integers, in tensors of any device."""

from collections.abc import Sequence

import torch
from torch import Tensor

LIMB, COLUMNS = 21, 1 << 18
"""Bits of a limb, and columns whose products of two limbs add up in a word."""

TERMS = ((0, 0, 0), (0, 1, 22), (1, 1, 42), (0, 2, 43), (1, 2, 64), (2, 2, 84))
"""Which limbs are multiplied, and by which power of two the product counts."""


def sums_of_squares(rows: Tensor) -> tuple[Tensor, Sequence[int]]:
    """Words [rows, parts] and a shift for every part: a sum of squares is that of word << shift.

    Implements: AR-12.
    """
    parts = []
    for begin in range(0, rows.shape[1], COLUMNS):
        magnitude = rows[:, begin : begin + COLUMNS].abs()
        limbs = [magnitude >> LIMB * i & (1 << LIMB) - 1 for i in range(3)]
        parts += [(limbs[i] * limbs[j]).sum(dim=1) for i, j, _shift in TERMS]
    if not parts:
        return rows.new_zeros((rows.shape[0], 0)), ()
    shifts = [shift for _i, _j, shift in TERMS] * (len(parts) // len(TERMS))
    return torch.stack(parts, dim=1), shifts


def squared_norms(rows: Tensor) -> list[int]:
    """The exact sum of squares of every row.

    Implements: AR-12.
    """
    table, shifts = sums_of_squares(rows)
    return [sum(v << s for v, s in zip(row, shifts, strict=True)) for row in table.tolist()]
