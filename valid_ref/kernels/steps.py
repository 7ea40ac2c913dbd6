"""The update of LearnModel, and its confirmation, in compiled loops; loaded only when it pays."""

import numba  # type: ignore[import-untyped,unused-ignore]
import numpy as np
from numpy.typing import NDArray

from valid_ref.kernels.compile import entry

VECTOR = numba.types.Array(numba.int64, 1, "C", readonly=True)
REAL = numba.types.Array(numba.float64, 1, "C", readonly=True)


@entry(
    VECTOR, REAL, numba.float64, numba.int64, numba.int64, numba.float64, numba.int64, numba.int64,
    numba.boolean, numba.int64[::1], numba.int64[::1], numba.boolean[::1],
)  # fmt: skip
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

MATRIX = numba.types.Array(numba.int64, 2, "C", readonly=True)


@entry(
    MATRIX, MATRIX, MATRIX, VECTOR, VECTOR, numba.int64, numba.int64, numba.int64, numba.int64,
    numba.boolean[::1], numba.boolean[::1],
)  # fmt: skip
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
