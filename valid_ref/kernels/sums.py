"""Sums of squares and weighted sums of rows in compiled loops; loaded only when it pays."""

import numba  # type: ignore[import-untyped,unused-ignore]
import numpy as np
from numpy.typing import NDArray

from valid_ref.kernels.compile import INTEGERS, MATRIX, Words, entry

LIMB = np.uint64(2**21 - 1)
BITS, TOP = np.uint64(21), np.uint64(42)
SIGNED_LIMB = np.int64(2**21 - 1)


@entry(INTEGERS, MATRIX)
def square_sums(rows: NDArray[np.int64], out: Words) -> None:
    """The six sums of products of two limbs of |x|, as `valid_ref.kernels.norms` joins them.

    Limbs have 21, 21 and 22 bits. A product has at most 44: 2^18 entries stay within 64.
    """
    for row in range(len(rows)):
        x, to = rows[row], out[row]
        ll = lm = mm = lh = mh = hh = np.uint64(0)
        for i in range(len(x)):
            sign = x[i] >> 63
            magnitude = np.uint64((x[i] ^ sign) - sign)
            low, mid, high = magnitude & LIMB, (magnitude >> BITS) & LIMB, magnitude >> TOP
            ll += low * low
            lm += low * mid
            mm += mid * mid
            lh += low * high
            mh += mid * high
            hh += high * high
        to[0], to[1], to[2], to[3], to[4], to[5] = ll, lm, mm, lh, mh, hh


@entry(INTEGERS, INTEGERS, numba.int64[:, ::1])
def add_weighted(
    rows: NDArray[np.int64], weights: NDArray[np.int64], words: NDArray[np.int64]
) -> None:
    """Add the limb products of weights[limbs, rows] and rows to `words`, place by place.

    A limb of an entry has 21 bits (the highest 22 and a sign), one of a weight 21: a product stays
    below 2^42 in magnitude. `valid_ref.kernels.weighted` carries before a word can reach 2^62.
    """
    for row in range(len(rows)):
        x = rows[row]
        for limb in range(len(weights)):
            weight = weights[limb, row]
            low, mid, high = words[limb], words[limb + 1], words[limb + 2]
            for i in range(len(x)):
                low[i] += weight * (x[i] & SIGNED_LIMB)
                mid[i] += weight * ((x[i] >> 21) & SIGNED_LIMB)
                high[i] += weight * (x[i] >> 42)
