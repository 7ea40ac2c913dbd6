"""Fast forms of `mix`, `evaluation_point` and `step` of `valid_ref.lattice`, under the same names.

`protocols.measures.Fast` gives them to LearnModel; tests hold both equal.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from valid_ref import lattice
from valid_ref.kernels.choice import Backend, compiled, settle
from valid_ref.lattice import WORD_LIMIT, FloatVector, IntVector, LatticeParameters

PIECE = 1 << 13
"""So many entries stay in the cache through all operations on them."""

PAYS_FROM = 1 << 15
"""From so many entries of a model on the compiled update is worth loading."""


def mix(
    parameters: LatticeParameters, t: int, own: IntVector, neighbours: Sequence[IntVector]
) -> IntVector:
    """Y, piece by piece; the terms are those of the definition in another order.

    Implements: AR-4.
    """
    Y = np.empty_like(own)
    for piece in _pieces(len(own)):
        total = -len(neighbours) * own[piece]
        for model in neighbours:
            total += model[piece]
        total *= parameters.schedule.a(t)
        Y[piece] = (own[piece] << parameters.precision.step_bits) + total
    return Y


def _pieces(length: int) -> list[slice]:
    return [slice(begin, begin + PIECE) for begin in range(0, length, PIECE)]


def evaluation_point(parameters: LatticeParameters, Y: IntVector) -> FloatVector:
    """Y / 2^(f+k), piece by piece.

    Implements: AR-4.
    """
    point = np.empty(len(Y), np.float64)
    for piece in _pieces(len(Y)):
        point[piece] = lattice.evaluation_point(parameters, Y[piece])
    return point


def step(
    parameters: LatticeParameters,
    t: int,
    Y: IntVector,
    gradient: npt.ArrayLike,
    *,
    absorb: bool = True,
) -> tuple[IntVector, IntVector]:
    """x_v(t) and Gamma_v(t) in one compiled loop where it pays; a refusal is the definition's.

    Implements: AR-5, AR-14.
    """
    loops = compiled("loops", settle("loops", Backend.AUTO, len(Y), pays_from=PAYS_FROM))
    real = gradient if isinstance(gradient, np.ndarray) else np.empty(0)
    if loops is None or real.shape != Y.shape or real.dtype != np.float64:
        return lattice.step(parameters, t, Y, gradient, absorb=absorb)
    x, gamma, fits = np.empty_like(Y), np.empty_like(Y), np.zeros(1, np.bool_)
    loops.update(
        np.ascontiguousarray(Y),
        np.ascontiguousarray(real),
        2.0**parameters.precision.fraction_bits,
        parameters.schedule.A(t),
        parameters.precision.step_bits,
        float(min(lattice.gradient_bound(parameters, t), WORD_LIMIT)),
        parameters.model_limit,
        parameters.gradient_limit,
        absorb,
        x,
        gamma,
        fits,
    )
    if not fits[0]:
        return lattice.step(parameters, t, Y, gradient, absorb=absorb)  # which names the entry
    return x, gamma
