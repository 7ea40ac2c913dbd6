"""Exact sums of squares: limbs that add up within 64 bits, joined to integers of any size."""

import itertools

import numpy as np
import numpy.typing as npt

from valid_ref.kernels.choice import Backend, compiled, settle

Words = npt.NDArray[np.uint64]

WIDEST = 1 << 18
"""So many products of two limbs add up within 64 bits."""

CACHED = 1 << 15
"""How many entries numpy takes at a time, so that their limbs stay in the cache."""

PAYS_FROM = 1 << 20
"""So many entries make the compiled form worth loading: where there are some there are more."""

_SHIFT, _LIMB = np.uint64(21), np.uint64(2**21 - 1)


def for_sums(entries: int) -> Backend:
    """The form that pays for norms and weighted sums of so many entries together."""
    return settle("sums", Backend.AUTO, entries, pays_from=PAYS_FROM)


def squared_norms(rows: npt.NDArray[np.int64], backend: Backend = Backend.AUTO) -> list[int]:
    """The exact sum of squares of every row.

    Magnitudes of any 64-bit integers are cut into limbs of 21, 21 and 22 bits; a product of two
    has at most 44 bits, so that 2^18 of them add up within 64.

    Implements: AR-12.
    """
    loops = compiled("sums", settle("sums", backend, rows.size, pays_from=PAYS_FROM))
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


def _square_sums(rows: npt.NDArray[np.int64]) -> Words:
    """The sums of products of limbs in numpy, [rows, 6]."""
    magnitude = np.abs(rows).astype(np.uint64)
    low, mid, high = magnitude & _LIMB, (magnitude >> _SHIFT) & _LIMB, magnitude >> 2 * _SHIFT
    pairs = (low, low), (low, mid), (mid, mid), (low, high), (mid, high), (high, high)
    return np.stack([np.einsum("ij,ij->i", one, other) for one, other in pairs], axis=1)


def _join(ll: int, lm: int, mm: int, lh: int, mh: int, hh: int) -> int:
    return ll + (lm << 22) + ((mm + 2 * lh) << 42) + (mh << 64) + (hh << 84)
