"""Sums of weighted gradients, exact beyond 64 bits, on a device.

Weights are cut into digits of 31 bits, gradients into limbs of 24 bits of which the last has the
sign; a plane is the sum of the products of one digit with one limb, and carries are moved up
before a plane could wrap.
"""

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from torch_backend import lattice
from torch_backend.kernels import compiled_loops, in_threads
from valid_ref.lattice import WORD_LIMIT, LatticeParameters
from valid_ref.protocols.parameters import ValidParameters

DIGIT, LIMB = 31, 24
SQUARED_COLUMNS = 1 << 14
"""So many products of two limbs add up in a word."""


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


def planes_for(parameters: ValidParameters) -> Planes:
    """The fewest limbs with which the last one cannot wrap in T rounds, carries included.

    Implements: GV-9.
    """
    lattice = parameters.lattice
    steps = lattice.schedule.gradient
    weights = [w.weights for w in parameters.weightings] or [(1,) * len(steps)]
    heaviest = max(max(w) for w in weights)
    digits = max(1, -(-heaviest.bit_length() // DIGIT))
    if digits > 1:
        weights = [(1 << DIGIT,) * len(steps)]
    limits = [lattice.gradient_limit // A + 1 for A in steps]

    def reach(limbs: int) -> int:
        tops = [(limit >> (LIMB * (limbs - 1))) + 2 for limit in limits]
        return max(sum(w * top for w, top in zip(row, tops, strict=True)) for row in weights)

    limbs = 1
    while reach(limbs) >= WORD_LIMIT >> 1:
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


def totals(planes: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
    """The integers of one weighting, [rows, d], from its planes [digits, limbs, rows, d].

    In 64 bits where the planes themselves show that nothing can reach 2^62, else Python's integers.

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
    return total


def statistics_of(planes: Tensor) -> tuple[int, int]:
    """|sum_u ghat_u|^2 and sum_u |ghat_u|^2 of one weighting, from planes [digits, limbs, rows, d].

    Implements: GV-5, GV-6, GV-9.
    """
    if len(planes) > 1:
        rows = totals(planes.cpu().numpy()).tolist()
        sums = [sum(column) for column in zip(*rows, strict=True)]
        return sum(entry**2 for entry in sums), sum(entry**2 for row in rows for entry in row)
    optimality = heterogeneity = 0
    for begin in range(0, planes.shape[3], SQUARED_COLUMNS):
        limbs = _spread(list(planes[0, :, :, begin : begin + SQUARED_COLUMNS]))
        heterogeneity += _squared(limbs)
        optimality += _squared(_spread([limb.sum(dim=0, keepdim=True) for limb in limbs]))
    return optimality, heterogeneity


def _spread(limbs: Sequence[Tensor]) -> list[Tensor]:
    """The same numbers in two limbs more, lowest first: all have 24 bits, the last has the sign."""
    mask, carry, found = (1 << LIMB) - 1, torch.zeros_like(limbs[0]), []
    for limb in limbs:
        carry = carry + limb
        found.append(carry & mask)
        carry = carry >> LIMB
    return [*found, carry & mask, carry >> LIMB]


def _squared(limbs: Sequence[Tensor]) -> int:
    """The sum of the squares of all entries, [rows, columns], of which limbs were made."""
    places = [(i, j) for i in range(len(limbs)) for j in range(i + 1)]
    sums = torch.stack([(limbs[i] * limbs[j]).sum(dim=1) for i, j in places]).tolist()
    return sum(
        sum(row) << (LIMB * (i + j) + (i != j)) for row, (i, j) in zip(sums, places, strict=True)
    )


QUOTIENT = 2**50
"""Below this a quotient in float64 is off by less than a half."""

COLUMNS = 1 << 11
"""Columns of all planes that stay in the cache while the rounds pass."""


@attrs.frozen(eq=False)
class Weighted:
    """The scaled gradients of round t, [rows, d], and the digits of its weights."""

    t: int
    gammas: Tensor
    digits: list[tuple[int, ...]]


def add_all(parameters: LatticeParameters, rounds: Sequence[Weighted], sums: Tensor) -> None:
    """Add w_t g(t) of these rounds to the planes, in place.

    Implements: AR-8, GV-2, GV-9.
    """
    if not rounds:
        return
    loops = compiled_loops(sums, *(one.gammas for one in rounds))
    smallest = min(parameters.schedule.A(one.t) for one in rounds)
    if loops is None or parameters.gradient_limit // smallest >= QUOTIENT:
        for one in rounds:
            _add(parameters, one, sums)
    else:
        _add_compiled(loops, parameters, rounds, sums)


def _add(parameters: LatticeParameters, one: Weighted, sums: Tensor) -> None:
    limbs = limbs_of(lattice.read_gradients(parameters, one.t, one.gammas), sums.shape[2])
    for index, digits in enumerate(one.digits):
        for i, digit in enumerate(digits):
            for j, limb in enumerate(limbs):
                sums[index, i, j].add_(limb, alpha=digit)


def _add_compiled(
    loops: ModuleType, parameters: LatticeParameters, rounds: Sequence[Weighted], sums: Tensor
) -> None:
    if sums.shape[1] == sums.shape[2] == 1:
        _add_words(loops, parameters, rounds, sums)
        return
    planes = sums.numpy()
    known = [
        (one.gammas.numpy(), parameters.schedule.A(one.t), np.array(one.digits, dtype=np.int64))
        for one in rounds
    ]

    def work(begin: int, end: int) -> None:
        for left in range(begin, end, COLUMNS):
            right = min(end, left + COLUMNS)
            for gammas, A, digits in known:
                loops.add_weighted(
                    gammas=gammas, A=A, digits=digits, sums=planes, begin=left, end=right
                )

    in_threads(sums.shape[4], work)


AT_ONCE = 8
"""So many rounds are added up before their sum goes to memory."""


def _add_words(
    loops: ModuleType, parameters: LatticeParameters, rounds: Sequence[Weighted], sums: Tensor
) -> None:
    """Weights of one digit and gradients of one limb; the weight 0 fills up the last rounds."""
    words = sums[:, 0, 0].numpy()
    for first in range(0, len(rounds), AT_ONCE):
        some = list(rounds[first : first + AT_ONCE])
        divisors = np.ones(AT_ONCE, np.int64)
        weights = np.zeros((AT_ONCE, len(words)), np.int64)
        for place, one in enumerate(some):
            divisors[place] = parameters.schedule.A(one.t)
            weights[place] = [digits[0] for digits in one.digits]
        some += [some[0]] * (AT_ONCE - len(some))
        gammas = tuple(one.gammas.numpy() for one in some)
        _in_blocks(loops.add_words, gammas, (divisors, weights), words)


def _in_blocks(
    add: Callable[..., None],
    gammas: tuple[npt.NDArray[np.int64], ...],
    numbers: tuple[npt.NDArray[np.int64], ...],
    words: npt.NDArray[np.int64],
) -> None:
    in_threads(words.shape[2], lambda begin, end: add(gammas, numbers, words, begin, end))
