"""Quadratic losses: everything about them is known in closed form."""

import enum

import attrs
import numpy as np

from valid_ref.lattice import FloatVector
from valid_ref.losses.loss import (
    FloatMatrix,
    LossError,
    check_integer,
    check_point,
    multiply,
    read_only,
)


class Noise(enum.Enum):
    """How a datum D displaces the centre of a quadratic; every kind has mean zero."""

    NONE = "none"
    """D = 0: full-batch gradients."""
    SIGNS = "signs"
    """Every entry of D is +s or -s with equal chance: bounded data, |D| = s sqrt(d)."""
    GAUSSIAN = "gaussian"
    """Every entry of D is normal with deviation s: unbounded data, F0 is infinite."""


@attrs.frozen(eq=False)
class Quadratic:
    """f(x, D) = (x - c - D)' H (x - c - D) / 2 with H symmetric positive definite.

    Implements: MO-9, MO-10.
    """

    hessian: FloatMatrix = attrs.field(converter=read_only)
    centre: FloatVector = attrs.field(converter=read_only)
    noise: Noise = Noise.NONE
    spread: float = 0.0
    _eigenvalue_range: tuple[float, float] = attrs.field(init=False, repr=False)

    @_eigenvalue_range.default
    def _checked_range(self) -> tuple[float, float]:
        d = self.centre.size
        if d == 0 or self.centre.shape != (d,):
            raise LossError(f"the centre has shape {self.centre.shape}", clause="MO-10")
        if self.hessian.shape != (d, d) or not np.array_equal(self.hessian, self.hessian.T):
            raise LossError(f"the Hessian is not a symmetric {d} x {d} matrix", clause="MO-10")
        smallest, largest = _eigenvalue_range(self.hessian)
        if smallest <= 0:
            raise LossError(
                f"the Hessian is not positive definite: its smallest eigenvalue may be "
                f"{smallest:g}",
                clause="MO-10",
            )
        return smallest, largest

    def __attrs_post_init__(self) -> None:
        proper = self.spread == 0 if self.noise is Noise.NONE else 0 < self.spread < np.inf
        if not proper:
            raise LossError(
                f"noise {self.noise.value} does not go with spread {self.spread}", clause="MO-10"
            )

    @property
    def dimension(self) -> int:
        """d."""
        return len(self.centre)

    @property
    def strong_convexity(self) -> float:
        """mu: the smallest eigenvalue of H, rounded down."""
        return self._eigenvalue_range[0]

    @property
    def smoothness(self) -> float:
        """beta: the largest eigenvalue of H, rounded up."""
        return self._eigenvalue_range[1]

    @property
    def loss_at_zero(self) -> float:
        """F0 >= (c + D)' H (c + D) / 2, term by term over all D; attained for diagonal H."""
        if self.noise is Noise.GAUSSIAN:
            return float("inf")
        product = multiply(self.hessian, self.centre)
        at_centre = (self.centre * product).sum()
        crossed = 2 * self.spread * np.abs(product).sum()
        displaced = min(self.smoothness * self.dimension, float(np.abs(self.hessian).sum()))
        return float(0.5 * (at_centre + crossed + self.spread**2 * displaced))

    def gradient_deviation(self, radius: float) -> float:  # noqa: ARG002 - the same everywhere
        """sigma_g = s |H|_F: the gradient is H (x - c) - H D."""
        return float(self.spread * np.sqrt((self.hessian**2).sum()))

    def value(self, point: FloatVector) -> float:
        """F(x), with the constant that the noise adds."""
        offset = self._offset(point)
        mean_of_noise = 0.5 * self.spread**2 * float(np.trace(self.hessian))
        return float(0.5 * (offset * multiply(self.hessian, offset)).sum()) + mean_of_noise

    def gradient(self, point: FloatVector) -> FloatVector:
        """H (x - c)."""
        return multiply(self.hessian, self._offset(point))

    def hessian_at(self, point: FloatVector) -> FloatMatrix:  # noqa: ARG002 - the same everywhere
        """H."""
        return self.hessian

    def sample(self, point: FloatVector, batch: int, generator: np.random.Generator) -> FloatVector:
        """H (x - c - mean of K displacements)."""
        check_integer(batch, 1, "mini-batch size K")
        if self.noise is Noise.NONE:
            return self.gradient(point)
        shape = (batch, self.dimension)
        if self.noise is Noise.SIGNS:
            drawn = self.spread * (2.0 * generator.integers(0, 2, size=shape) - 1.0)
        else:
            drawn = self.spread * generator.standard_normal(shape)
        return multiply(self.hessian, self._offset(point) - drawn.sum(axis=0) / batch)

    def _offset(self, point: FloatVector) -> FloatVector:
        check_point(point, self.dimension)
        return point - self.centre


def _eigenvalue_range(hessian: FloatMatrix) -> tuple[float, float]:
    """Bounds on all eigenvalues: exact for a diagonal matrix, else with room for rounding.

    The rounding errors of mu are relative to beta; rounded down, a singular matrix has mu <= 0.
    """
    diagonal = np.diagonal(hessian)
    if np.count_nonzero(hessian) == np.count_nonzero(diagonal):
        return float(diagonal.min()), float(diagonal.max())
    eigenvalues = np.linalg.eigvalsh(hessian)
    room = 4 * len(hessian) * np.finfo(np.float64).eps * np.abs(eigenvalues).max()
    return float(eigenvalues[0] - room), float(eigenvalues[-1] + room)
