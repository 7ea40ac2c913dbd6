"""Sums of weighted gradients, exact beyond 64 bits, on a device.

Weights are cut into digits of 31 bits, gradients into limbs of 24 bits of which the last has the
sign; a plane is the sum of the products of one digit with one limb, and carries are moved up
before a plane could wrap.
"""

from collections.abc import Sequence
from types import ModuleType
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from torch_backend import lattice
from torch_backend.errors import ConfigError
from torch_backend.kernels import compiled_loops, in_threads
from valid_ref.lattice import WORD_LIMIT, LatticeParameters
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
        terms = (
            (low, low, 0),
            (low, mid, 22),
            (mid, mid, 42),
            (low, high, 43),
            (mid, high, 64),
            (high, high, 84),
        )
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
    loops = compiled_loops(sums, *(one.gammas for one in rounds))
    smallest = min(parameters.schedule.A(one.t) for one in rounds)
    if loops is None or parameters.gradient_limit // smallest >= QUOTIENT:
        return [_add(parameters, one, sums, summed) for one in rounds]
    if summed is None:
        return _add_weighted(loops, parameters, rounds, sums)
    return [_add_summed(loops, parameters, one, sums, summed) for one in rounds]


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
    loops: ModuleType, parameters: LatticeParameters, one: Weighted, sums: Tensor, summed: int
) -> Squares:
    rows, d = one.gammas.shape
    total = torch.zeros((1, d), dtype=torch.int64)
    gammas, A = one.gammas.numpy(), parameters.schedule.A(one.t)

    def work(begin: int, end: int) -> "np.ndarray[tuple[int, int], np.dtype[np.int64]]":
        squares = np.zeros((rows, 6), dtype=np.int64)
        loops.add_gradients(
            gammas=gammas,
            A=A,
            rows=summed,
            total=total.numpy()[0],
            squares=squares,
            begin=begin,
            end=end,
        )
        return squares

    parts = in_threads(d, work)
    _add_limbs(one, total, sums)
    return [_square(row) for row in sum(parts[1:], parts[0]).tolist()]


def _add_weighted(
    loops: ModuleType, parameters: LatticeParameters, rounds: Sequence[Weighted], sums: Tensor
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
                loops.add_weighted(
                    gammas=gammas,
                    A=A,
                    digits=digits,
                    sums=planes,
                    squares=squares[number],
                    begin=left,
                    end=right,
                )
        return squares

    parts = in_threads(d, work)
    return [[_square(row) for row in one] for one in sum(parts[1:], parts[0]).tolist()]


def _square(parts: Sequence[int]) -> int:
    """The integer that the compiled loop cut: limbs of 25 bits, each sum in halves of 32."""
    low, cross, high = (parts[i] + (parts[i + 1] << 32) for i in (0, 2, 4))
    return low + (cross << 26) + (high << 50)
