"""The update of LearnModel in one compiled loop; loaded only when it pays."""

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
