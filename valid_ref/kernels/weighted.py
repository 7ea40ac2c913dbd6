"""Exact weighted sums of rows: in words while nothing can wrap, in carried limbs beyond."""

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from valid_ref.kernels.choice import Backend, KernelError, compiled

Words = npt.NDArray[np.int64]

BITS = 21
MASK = (1 << BITS) - 1

WORD_LIMIT = 1 << 62

ROWS_BEFORE_CARRY = 256
"""After so many rows the limbs are carried."""

TOP_BITS = 40
"""At most so many bits has the highest word after a carry."""


def weighted_sums(
    weightings: Sequence[Sequence[int]],
    groups: Iterable[Words],
    width: int,
    backend: Backend = Backend.NUMPY,
) -> list[list[int]]:
    """sum_t w_t x(t) for every weighting, exactly, entry by entry.

    `groups` has the rows x(1), x(2), ... of so many entries, at most 256 at a time; weights are
    integers >= 0 of any size, one for each row.

    Implements: GV-9.
    """
    totals = [_Total(width) for _weights in weightings]
    begin = 0
    for rows in groups:
        end = begin + len(rows)
        if len(rows) > ROWS_BEFORE_CARRY or any(end > len(weights) for weights in weightings):
            raise KernelError(f"{len(rows)} rows after {begin}: too many", clause="GV-9")
        for total, weights in zip(totals, weightings, strict=True):
            total.add(weights[begin:end], rows, backend)
        begin = end
    return [total.integers() for total in totals]


class _Total:
    """One weighted sum while it grows.

    One word an entry while `bound` = sum_t w_t max|x(t)| stays below 2^62. Then limbs: `words[i]`
    stands for words[i] 2^(21 i). An entry has three limbs, the highest of 22 bits with its sign,
    and a weight of b limbs makes b + 2 places; at most three products, each of magnitude at most
    2^42, fall on a place from one row. After a carry a word is below 2^21, the highest at most
    2^40 in magnitude: 256 rows later all are below 2^53.

    Implements: GV-9.
    """

    def __init__(self, width: int) -> None:
        self.words = np.zeros((1, width), np.int64)
        self.bound = 0
        self.uncarried = 0

    def add(self, weights: Sequence[int], rows: Words, backend: Backend) -> None:
        """Add these rows with these weights."""
        if not rows.size or not any(weights):
            return
        self.bound += sum(weights) * max(1, int(rows.max()), -int(rows.min()))
        if len(self.words) == 1 and self.bound < WORD_LIMIT:
            self.words[0] += np.einsum("t,td->d", np.array(weights, dtype=np.int64), rows)
            return
        if len(self.words) == 1:
            self._carry(3)
        if self.uncarried + len(rows) > ROWS_BEFORE_CARRY:
            self._carry(self._places())
        self.uncarried += len(rows)
        self._add_limbs(weights, rows, backend)

    def _add_limbs(self, weights: Sequence[int], rows: Words, backend: Backend) -> None:
        count = -(-max(weights).bit_length() // BITS)
        self._extend(count + 2)
        parts = [[(weight >> BITS * limb) & MASK for weight in weights] for limb in range(count)]
        factors = np.array(parts, dtype=np.int64)
        loops = compiled("sums", backend)
        if loops is not None:
            loops.add_weighted(np.ascontiguousarray(rows), factors, self.words)
            return
        for place, limb in enumerate((rows & MASK, (rows >> BITS) & MASK, rows >> 2 * BITS)):
            for b in range(count):
                self.words[place + b] += np.einsum("t,td->d", factors[b], limb)

    def _places(self) -> int:
        """With so many places the highest word has at most 40 bits after a carry."""
        return 1 + -(-max(0, self.bound.bit_length() - TOP_BITS) // BITS)

    def _extend(self, places: int) -> None:
        missing = places - len(self.words)
        if missing > 0:
            empty = np.zeros((missing, self.words.shape[1]), np.int64)
            self.words = np.concatenate([self.words, empty])

    def _carry(self, places: int) -> None:
        """Leave 21 bits in every word but the highest."""
        self._extend(places)
        for place in range(len(self.words) - 1):
            self.words[place + 1] += self.words[place] >> BITS
            self.words[place] &= MASK
        self.uncarried = 0

    def integers(self) -> list[int]:
        """The entries as integers of any size; two places fit into 61 bits after a carry."""
        if len(self.words) == 1:
            return [*self.words[0].tolist()]
        places = max(len(self.words), self._places())
        self._carry(places + places % 2)
        pairs = (self.words[1::2] << BITS) + self.words[::2]
        total = pairs[-1].astype(object)
        for pair in pairs[-2::-1]:
            total = (total << 2 * BITS) + pair
        return [*total.tolist()]
