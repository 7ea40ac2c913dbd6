"""The update of LearnModel, its confirmation, and sums, in compiled loops.

Compiled without the interpreter's lock and cached between runs. This module and `hash61` import
numba; they are loaded only when that pays (`valid_ref.kernels.choice`).
"""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba  # type: ignore[import-untyped,unused-ignore]
import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]
Compiled = TypeVar("Compiled", bound=Callable[..., Any])

VECTOR, MATRIX = numba.uint64[::1], numba.uint64[:, ::1]
INTEGERS = numba.types.Array(numba.int64, 2, "C", readonly=True)
INTEGER_ROW = numba.types.Array(numba.int64, 1, "C", readonly=True)
REAL_ROW = numba.types.Array(numba.float64, 1, "C", readonly=True)
INTEGER, REAL, FLAG, FLAGS = numba.int64, numba.float64, numba.boolean, numba.boolean[::1]


def _jit(function: Compiled, *signature: Any) -> Compiled:
    """Cached where there is a place for a cache, else compiled anew in every process."""
    njit: Any = numba.njit
    try:
        made = njit(*signature, cache=True, nogil=True)(function)
    except RuntimeError:
        made = njit(*signature, nogil=True)(function)
    return cast("Compiled", made)


def compiled(function: Compiled) -> Compiled:
    """Compile for whatever arguments the loops call it with."""
    return _jit(function)


def entry(*arguments: Any) -> Callable[[Compiled], Compiled]:
    """Compile for these arguments alone when the module is loaded, or take it from the cache."""
    return lambda function: _jit(function, numba.void(*arguments))


@entry(
    *(INTEGER_ROW, REAL_ROW, REAL, INTEGER, INTEGER, REAL, INTEGER, INTEGER, FLAG),
    *(numba.int64[::1], numba.int64[::1], FLAGS),
)
def update(  # noqa: PLR0913, PLR0917 - the public numbers of the arithmetic
    Y: NDArray[np.int64],
    gradient: NDArray[np.float64],
    unit: float,
    A: int,
    bits: int,
    beyond: float,
    model_limit: int,
    gradient_limit: int,
    absorb: bool,
    x: NDArray[np.int64],
    gamma: NDArray[np.int64],
    fits: NDArray[np.bool_],
) -> None:
    """x = round((Y - A g) / 2^bits), ties to even, and Gamma = Y - 2^bits x, entry by entry.

    g is the nearest lattice point of the gradient: a product with a power of two is exact, and
    rint ties to even. fits[0] says whether every entry stayed in its range; if not, x and gamma
    mean nothing. An entry of g that is no number or too large counts as 0, so that A g cannot wrap:
    |A g| < G_max + 2^bits + A otherwise (AR-14).
    """
    inside = True
    mask, half = (np.int64(1) << bits) - 1, (np.int64(1) << bits) >> 1
    for i in range(len(Y)):
        scaled = np.rint(gradient[i] * unit)
        small = abs(scaled) < beyond
        product = A * np.int64(scaled if small else 0.0)
        numerator = Y[i] - product
        quotient = numerator >> bits
        up = (numerator & mask) + (quotient & 1) > half
        model = quotient + 1 if up and bits > 0 else quotient
        sent = Y[i] - (model << bits) if absorb else product
        inside &= small & (-model_limit < model) & (model < model_limit)
        inside &= (-gradient_limit < sent) & (sent < gradient_limit)
        x[i], gamma[i] = model, sent
    fits[0] = inside


BLOCK = 1 << 11
"""How many entries of all agents are looked at together."""


@entry(
    *(INTEGERS, INTEGERS, INTEGERS, INTEGER_ROW, INTEGER_ROW),
    *(INTEGER, INTEGER, INTEGER, INTEGER, FLAGS, FLAGS),
)
def confirm(  # noqa: PLR0913, PLR0917 - the public numbers of the arithmetic
    models: NDArray[np.int64],
    gradients: NDArray[np.int64],
    earlier: NDArray[np.int64],
    ends: NDArray[np.int64],
    near: NDArray[np.int64],
    a: int,
    bits: int,
    model_limit: int,
    gradient_limit: int,
    fit: NDArray[np.bool_],
    follow: NDArray[np.bool_],
) -> None:
    """Clear fit[v] where a row leaves its range, follow[v] where 2^bits x + Gamma is not Y.

    Y = (2^bits - a deg) x_v + a sum_u x_u of the rows of `earlier`; the neighbours of v are
    near[ends[v] : ends[v + 1]]. `earlier` with one row stands for that row at everybody. Limits are
    below 2^62: a distance to one that should be negative then never wraps.
    """
    total = np.empty(BLOCK, np.int64)
    for begin in range(0, models.shape[1], BLOCK):
        end = min(begin + BLOCK, models.shape[1])
        for v in range(len(models)):
            x, gamma = models[v, begin:end], gradients[v, begin:end]
            outside = np.int64(0)  # negative as soon as one distance to a limit is
            for i in range(len(x)):
                outside |= (model_limit - 1 - x[i]) | (model_limit - 1 + x[i])
                outside |= (gradient_limit - 1 - gamma[i]) | (gradient_limit - 1 + gamma[i])
            fit[v] &= outside >= 0
            if not follow[v]:
                continue
            own = earlier[v if len(earlier) > 1 else 0, begin:end]
            total[:] = 0
            degree = 0
            if len(earlier) > 1:
                for place in range(ends[v], ends[v + 1]):
                    other = earlier[near[place], begin:end]
                    for i in range(len(other)):
                        total[i] += other[i]
                    degree += 1
            scale = (np.int64(1) << bits) - a * degree
            wrong = np.int64(0)
            for i in range(len(x)):
                wrong |= (x[i] << bits) + gamma[i] - scale * own[i] - a * total[i]
            follow[v] &= wrong == 0


LIMB = np.uint64(2**21 - 1)
BITS, TOP = np.uint64(21), np.uint64(42)
SIGNED_LIMB = np.int64(2**21 - 1)


@entry(INTEGERS, MATRIX)
def square_sums(rows: NDArray[np.int64], out: Words) -> None:
    """The six sums of products of two limbs of |x|, as `valid_ref.kernels.sums` joins them.

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
    below 2^42 in magnitude. `valid_ref.kernels.sums` carries before a word can reach 2^62.
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
