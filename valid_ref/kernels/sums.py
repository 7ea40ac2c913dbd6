"""Exact norms and weighted sums of many vectors: in words while nothing can wrap, else in limbs."""

import itertools
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from valid_ref.kernels.choice import Backend, KernelError, compiled, settle

Integers = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]
Vectors = Sequence[Integers]

ROUNDS_AT_ONCE = 256
"""At most so many vectors are stacked at a time."""

BYTES_AT_ONCE = 1 << 17
"""At most so many bytes are stacked at a time; a longer vector is taken as it is, uncopied."""


def rounds_at_once(dimension: int) -> int:
    """How many vectors of so many words are taken at a time."""
    return max(1, min(ROUNDS_AT_ONCE, BYTES_AT_ONCE // (8 * max(1, dimension))))


def groups(vectors: Vectors) -> Iterator[Vectors]:
    """All vectors in their order, as many at a time as may be stacked."""
    at_once = rounds_at_once(len(vectors[0])) if len(vectors) else 1
    for begin in range(0, len(vectors), at_once):
        yield vectors[begin : begin + at_once]


def stack(group: Vectors) -> Integers:
    """Vectors as rows of a matrix; one vector is not copied."""
    return group[0][np.newaxis, :] if len(group) == 1 else np.stack(group)


WIDEST = 1 << 18
"""So many products of two limbs add up within 64 bits."""

CACHED = 1 << 15
"""How many entries numpy takes at a time, so that their limbs stay in the cache."""

PAYS_FROM = 1 << 20
"""So many entries make the compiled form worth loading: where there are some there are more."""

_SHIFT, _LIMB = np.uint64(21), np.uint64(2**21 - 1)


def for_sums(entries: int) -> Backend:
    """The form that pays for norms and weighted sums of so many entries together."""
    return settle("loops", Backend.AUTO, entries, pays_from=PAYS_FROM)


def squared_norms(rows: Integers, backend: Backend = Backend.AUTO) -> list[int]:
    """The exact sum of squares of every row.

    Magnitudes of any 64-bit integers are cut into limbs of 21, 21 and 22 bits; a product of two
    has at most 44 bits, so that 2^18 of them add up within 64.

    Implements: AR-12.
    """
    loops = compiled("loops", settle("loops", backend, rows.size, pays_from=PAYS_FROM))
    totals = [0] * len(rows)
    width = WIDEST if loops is not None else max(1, CACHED // max(1, len(rows)))
    pieces = range(0, rows.shape[1], width)
    for begin, end in itertools.pairwise((*pieces, rows.shape[1])):
        part = np.ascontiguousarray(rows[:, begin:end])
        if loops is None:
            sums = _square_sums(part)
        else:
            sums = np.empty((len(rows), 6), np.uint64)
            loops.square_sums(part, sums)
        for row, six in enumerate(sums.tolist()):
            totals[row] += _join(*six)
    return totals


def _square_sums(rows: Integers) -> Words:
    """The sums of products of limbs in numpy, [rows, 6]."""
    magnitude = np.abs(rows).astype(np.uint64)
    low, mid, high = magnitude & _LIMB, (magnitude >> _SHIFT) & _LIMB, magnitude >> 2 * _SHIFT
    pairs = (low, low), (low, mid), (mid, mid), (low, high), (mid, high), (high, high)
    return np.stack([np.einsum("ij,ij->i", one, other) for one, other in pairs], axis=1)


def _join(ll: int, lm: int, mm: int, lh: int, mh: int, hh: int) -> int:
    return ll + (lm << 22) + ((mm + 2 * lh) << 42) + (mh << 64) + (hh << 84)


BITS = 21
MASK = (1 << BITS) - 1

WORD_LIMIT = 1 << 62

ROWS_BEFORE_CARRY = 256
"""After so many rows the limbs are carried."""

TOP_BITS = 40
"""At most so many bits has the highest word after a carry."""


def weighted_sums(
    weightings: Sequence[Sequence[int]],
    groups: Iterable[Integers],
    width: int,
    backend: Backend = Backend.NUMPY,
) -> list[list[int]]:
    """sum_t w_t x(t) for every weighting, exactly, entry by entry.

    `groups` has the rows x(1), x(2), ... of so many entries, at most 256 at a time; weights are
    integers >= 0 of any size, one for each row.

    Implements: GV-9.
    """
    totals = WeightedTotals(weightings, width, backend)
    for rows in groups:
        totals.add(rows)
    return totals.integers()


class WeightedTotals:
    """sum_t w_t x(t) for every weighting while the rows come in.

    Implements: GV-9.
    """

    def __init__(
        self, weightings: Sequence[Sequence[int]], width: int, backend: Backend = Backend.NUMPY
    ) -> None:
        self._weightings, self._backend, self._begin = weightings, backend, 0
        self._totals = [_Total(width) for _weights in weightings]

    def add(self, rows: Integers) -> None:
        """The next rows, at most 256."""
        begin, end = self._begin, self._begin + len(rows)
        few = all(end <= len(weights) for weights in self._weightings)
        if len(rows) > ROWS_BEFORE_CARRY or not few:
            raise KernelError(f"{len(rows)} rows after {begin}: too many", clause="GV-9")
        for total, weights in zip(self._totals, self._weightings, strict=True):
            total.add(weights[begin:end], rows, self._backend)
        self._begin = end

    def integers(self) -> list[list[int]]:
        """The entries of every sum."""
        return [total.integers() for total in self._totals]

    def limbs(self, count: int) -> list[Words]:
        """The same as arrays [width, count] in two's complement, lowest limb first.

        Every sum must fit into so many limbs.
        """
        return [total.limbs(count) for total in self._totals]


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

    def add(self, weights: Sequence[int], rows: Integers, backend: Backend) -> None:
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

    def _add_limbs(self, weights: Sequence[int], rows: Integers, backend: Backend) -> None:
        count = -(-max(weights).bit_length() // BITS)
        self._extend(count + 2)
        parts = [[(weight >> BITS * limb) & MASK for weight in weights] for limb in range(count)]
        factors = np.array(parts, dtype=np.int64)
        loops = compiled("loops", backend)
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

    def limbs(self, count: int) -> Words:
        """The entries in so many limbs of 64 bits.

        With places for all bits and a sign a carry leaves the digits of the two's complement.
        """
        found = np.empty((self.words.shape[1], count), np.uint64)
        if len(self.words) == 1:
            found[:, 0] = self.words[0].view(np.uint64)
            found[:, 1:] = (self.words[0] >> 63).view(np.uint64)[:, np.newaxis]
            return found
        self._carry(max(self._places(), -(-64 * count // BITS)))
        digits = self.words.view(np.uint64)
        for limb in range(count):
            total = np.zeros(len(found), np.uint64)
            for place in range(64 * limb // BITS, min(len(digits), -(-64 * (limb + 1) // BITS))):
                shift = BITS * place - 64 * limb
                part = digits[place]
                total |= part << np.uint64(shift) if shift >= 0 else part >> np.uint64(-shift)
            found[:, limb] = total
        return found
