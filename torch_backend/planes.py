"""Integers beyond 64 bits on a device: sums of weighted gradients in planes that never wrap.

Weights are cut into digits of 31 bits, gradients into limbs of 24 bits of which the last has the
sign; a plane is the sum of the products of one digit with one limb, and carries are moved up
before a plane could wrap.
"""

from typing import Any

import attrs
import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from torch_backend.errors import ConfigError
from valid_ref.lattice import WORD_LIMIT
from valid_ref.protocols.parameters import ValidParameters

DIGIT, LIMB = 31, 24
WORDS = 10
"""Integers that are sent between processes have at most 310 bits."""


@attrs.frozen
class Planes:
    """How many digits the weights and limbs the gradients have, from the parameters alone.

    Implements: GV-9.
    """

    digits: int
    limbs: int

    def digits_of(self, weight: int) -> tuple[int, ...]:
        """A weight in digits, lowest first."""
        return tuple((weight >> (DIGIT * i)) & ((1 << DIGIT) - 1) for i in range(self.digits))


def limbs_of(gradients: Tensor, limbs: int) -> list[Tensor]:
    """Gradients in so many limbs, lowest first; all but the last are in 0..2^24-1."""
    mask = (1 << LIMB) - 1
    low = [(gradients >> (LIMB * j)).bitwise_and_(mask) for j in range(limbs - 1)]
    return [*low, gradients >> (LIMB * (limbs - 1))]


def planes_for(parameters: ValidParameters, summed: int = 1) -> Planes:
    """The fewest limbs with which the last one cannot wrap in T rounds, carries included.

    `summed` is how many gradients are added up before they are weighted.

    Implements: GV-9.
    """
    weights = [w.weights for w in parameters.weightings] or [(1,)]
    heaviest = max(max(w) for w in weights)
    digits = max(1, -(-heaviest.bit_length() // DIGIT))
    total = max(sum(w) for w in weights) if digits == 1 else len(weights[0]) << DIGIT
    steps = parameters.lattice.schedule.gradient
    largest = summed * (parameters.lattice.gradient_limit // min(steps) + 1)
    if largest >= WORD_LIMIT:
        raise ConfigError(
            f"a sum of {summed} gradients can reach {largest}, beyond 2^62: raise the gradient "
            'steps A_t or use estimate = "agents"',
            clause="GV-9",
        )
    limbs = 1
    while total * ((largest >> (LIMB * (limbs - 1))) + 2) >= WORD_LIMIT >> 1:
        limbs += 1
    return Planes(digits, limbs)


def room_is_short(used: int, digit: int) -> bool:
    """Whether a lower limb could wrap if one more digit were added after these.

    Implements: GV-9.
    """
    return (used + digit + 1) << LIMB >= WORD_LIMIT >> 1


def carry_up(sums: Tensor) -> None:
    """Move what exceeds 24 bits of a limb to the next one; the number stays the same.

    `sums` is [weightings, digits, limbs, rows, d].
    """
    for j in range(sums.shape[2] - 1):
        sums[:, :, j + 1] += sums[:, :, j] >> LIMB
        sums[:, :, j] &= (1 << LIMB) - 1


def totals(planes: npt.NDArray[np.int64]) -> list[list[int]]:
    """The integers of one weighting, [rows][d], from its planes [digits, limbs, rows, d].

    In 64 bits where the planes themselves show that nothing can reach 2^62, else in integers.

    Implements: GV-9.
    """
    digits, limbs = planes.shape[:2]
    shifts = [[DIGIT * i + LIMB * j for j in range(limbs)] for i in range(digits)]
    reach = sum(
        max(abs(int(planes[i, j].min())), abs(int(planes[i, j].max()))) << shifts[i][j]
        for i in range(digits)
        for j in range(limbs)
    )
    words = planes if reach < WORD_LIMIT else planes.astype(object)
    total: npt.NDArray[Any] = np.zeros(planes.shape[2:], dtype=words.dtype)
    for i in range(digits):
        for j in range(limbs):
            total = total + (words[i, j] << shifts[i][j])
    rows: list[list[int]] = total.tolist()
    return rows


def squared_norms(rows: Tensor) -> list[int]:
    """The exact sum of squares of every row: limbs of 21 bits, 2^18 columns at a time.

    Implements: AR-12.
    """
    found = [0] * rows.shape[0]
    for begin in range(0, rows.shape[1], 1 << 18):
        magnitude = rows[:, begin : begin + (1 << 18)].abs()
        low, mid, high = (magnitude >> s & (1 << 21) - 1 for s in (0, 21, 42))
        terms = ((low, low, 0), (low, mid, 22), (mid, mid, 42), (low, high, 43),
                 (mid, high, 64), (high, high, 84))  # fmt: skip
        for left, right, shift in terms:
            for row, value in enumerate((left * right).sum(dim=1).tolist()):
                found[row] += value << shift
    return found


def to_words(values: list[list[int]], device: torch.device) -> Tensor:
    """Integers from 0 to 2^310 - 1 as words of 31 bits, [rows, columns, words], for sending."""
    mask = (1 << DIGIT) - 1
    words = [
        [[value >> (DIGIT * i) & mask for i in range(WORDS)] for value in row] for row in values
    ]
    shape = (len(values), len(values[0]) if values else 0, WORDS)
    return torch.tensor(words, dtype=torch.int64, device=device).reshape(shape)


def from_words(words: Tensor) -> list[list[int]]:
    """The integers that `to_words` wrote."""
    return [
        [sum(word << (DIGIT * i) for i, word in enumerate(value)) for value in row]
        for row in words.tolist()
    ]
