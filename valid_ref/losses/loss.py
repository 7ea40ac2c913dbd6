"""What a reference loss must offer: gradients, and the constants of the assumptions."""

from typing import Protocol

import numpy as np
import numpy.typing as npt

from valid_ref.errors import ValidRefError
from valid_ref.lattice import FloatVector

FloatMatrix = npt.NDArray[np.float64]


class LossError(ValidRefError):
    """A loss that breaks the assumptions it is meant to satisfy."""


class Constants(Protocol):
    """What the assumptions say of the losses in numbers; a Loss and a Problem have them.

    Implements: MO-10.
    """

    @property
    def dimension(self) -> int:
        """d, the length of a model."""

    @property
    def strong_convexity(self) -> float:
        """mu of asm:strongcvx, for every single datum."""

    @property
    def smoothness(self) -> float:
        """beta of asm:smooth, for every single datum."""

    @property
    def loss_at_zero(self) -> float:
        """F0, an upper bound on sup_D f(0, D); infinite for unbounded data (asm:bounded)."""


class Loss(Constants, Protocol):
    """One agent's local problem F_v(x) = E f(x, D_v), with D_v drawn as the agent draws it.

    f is nonnegative. The constants are correct up to the rounding of float64.

    Implements: MO-9, MO-10.
    """

    def gradient_deviation(self, radius: float) -> float:
        """sigma_g: a bound on the deviation of one datum's gradient for all |x| <= radius."""

    def value(self, point: FloatVector) -> float:
        """F_v(x)."""

    def gradient(self, point: FloatVector) -> FloatVector:
        """G_v(x), the gradient of F_v."""

    def hessian_at(self, point: FloatVector) -> FloatMatrix:
        """The Hessian of F_v."""

    def sample(self, point: FloatVector, batch: int, generator: np.random.Generator) -> FloatVector:
        """The average gradient of a mini-batch of K data, drawn with the given generator."""


def read_only(values: npt.ArrayLike) -> FloatMatrix:
    """A private copy, laid out row by row, so that equal numbers give equal bits."""
    try:
        array = np.array(values, dtype=np.float64, order="C")
    except (TypeError, ValueError) as error:
        raise LossError(f"not an array of real numbers: {error}", clause="MO-10") from None
    if not np.isfinite(array).all():
        raise LossError(f"{array[~np.isfinite(array)][0]} is not a finite number", clause="MO-10")
    array.setflags(write=False)
    return array


def check_point(point: FloatVector, dimension: int) -> None:
    """Refuse a point that is no vector of length d, which broadcasting would let through."""
    if point.shape != (dimension,):
        raise LossError(f"a point of shape {point.shape}, not ({dimension},)", clause="MO-9")


def check_integer(value: int, least: int, what: str) -> None:
    """Refuse what is not an integer from `least` on."""
    if not isinstance(value, int | np.integer) or value < least:
        raise LossError(f"{what} = {value} is not an integer from {least} on", clause="MO-9")


def multiply(matrix: FloatMatrix, vector: FloatVector) -> FloatVector:
    """matrix @ vector, summed in an order that no thread count changes."""
    check_point(vector, matrix.shape[1])
    product: FloatVector = (matrix * vector).sum(axis=-1)
    return product
