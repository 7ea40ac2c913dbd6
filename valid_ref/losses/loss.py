"""Losses whose constants are known: quadratics, ridge least squares, logistic regression."""

import enum
from typing import Protocol, runtime_checkable

import attrs
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


@attrs.frozen(eq=False)
class SampleNoise:
    """How one datum's gradient departs from the mean of all, at some points.

    `variance` is the mean of the squared length of the departure, `largest` a bound on its length,
    infinite for unbounded data; one entry for every point.
    """

    variance: FloatVector
    largest: FloatVector


@runtime_checkable
class NoisyLoss(Loss, Protocol):
    """A loss that knows its noise at every point, not only a bound on it over a ball."""

    def sample_noise(self, points: FloatMatrix) -> SampleNoise:
        """The noise of one datum at these points, a point in a row."""


def sample_noise(loss: Loss, points: FloatMatrix) -> SampleNoise:
    """The noise of one datum at these points; of a loss that does not know it, sigma_g on balls.

    Implements: MO-10.
    """
    if isinstance(loss, NoisyLoss):
        return loss.sample_noise(points)
    lengths = np.sqrt((points**2).sum(axis=1))
    bounds = [loss.gradient_deviation(float(length)) for length in lengths]
    return SampleNoise(np.array(bounds) ** 2, np.full(len(points), np.inf))


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
    """Refuse what is not an integer from `least` on; True and False are none."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < least:
        raise LossError(f"{what} = {value!r} is not an integer from {least} on", clause="MO-9")


def check_noise(noise: "Noise", spread: float) -> None:
    """Refuse noise without a spread, and a spread without noise."""
    if not (spread == 0 if noise is Noise.NONE else 0 < spread < np.inf):
        raise LossError(f"noise {noise.value} does not go with spread {spread}", clause="MO-10")


def multiply(matrix: FloatMatrix, vector: FloatVector) -> FloatVector:
    """matrix @ vector, summed in an order that no thread count changes."""
    check_point(vector, matrix.shape[1])
    product: FloatVector = (matrix * vector).sum(axis=-1)
    return product


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
        check_noise(self.noise, self.spread)

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

    def sample_noise(self, points: FloatMatrix) -> SampleNoise:
        """H D, the same at every point; |D| = s sqrt(d) for signs."""
        variance = self.gradient_deviation(0.0) ** 2
        reach = self.smoothness * self.spread * float(np.sqrt(self.dimension))
        largest = np.inf if self.noise is Noise.GAUSSIAN else reach
        return SampleNoise(np.full(len(points), variance), np.full(len(points), largest))

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
    """Bounds on all eigenvalues: exact for a diagonal matrix, else with a margin for rounding.

    The rounding errors of mu are relative to beta; rounded down, a singular matrix has mu <= 0.
    """
    diagonal = np.diagonal(hessian)
    if np.count_nonzero(hessian) == np.count_nonzero(diagonal):
        return float(diagonal.min()), float(diagonal.max())
    eigenvalues = np.linalg.eigvalsh(hessian)
    margin = 4 * len(hessian) * np.finfo(np.float64).eps * np.abs(eigenvalues).max()
    return float(eigenvalues[0] - margin), float(eigenvalues[-1] + margin)


def _check(features: FloatMatrix, targets: FloatVector, ridge: float) -> None:
    if features.ndim != 2 or targets.shape != features.shape[:1] or features.size == 0:
        raise LossError(
            f"features of shape {features.shape} do not go with targets of shape {targets.shape}",
            clause="MO-10",
        )
    if not 0 < ridge < np.inf:
        raise LossError(f"ridge {ridge} is not a positive number: mu is the ridge", clause="MO-10")


def _largest_row(features: FloatMatrix) -> float:
    """The largest squared length of a datum's features."""
    return float((features**2).sum(axis=1).max())


@attrs.frozen(eq=False)
class RidgeLeastSquares:
    """f(x, (a, b)) = (a'x - b)^2 / 2 + ridge |x|^2 / 2, data drawn uniformly from the set.

    Implements: MO-9, MO-10.
    """

    features: FloatMatrix = attrs.field(converter=read_only)
    targets: FloatVector = attrs.field(converter=read_only)
    ridge: float

    def __attrs_post_init__(self) -> None:
        _check(self.features, self.targets, self.ridge)

    @property
    def dimension(self) -> int:
        """d."""
        return int(self.features.shape[1])

    @property
    def strong_convexity(self) -> float:
        """mu: a single datum curves only along its features, so only the ridge counts."""
        return self.ridge

    @property
    def smoothness(self) -> float:
        """beta = max |a|^2 + ridge."""
        return _largest_row(self.features) + self.ridge

    @property
    def loss_at_zero(self) -> float:
        """F0 = max b^2 / 2."""
        return float(0.5 * (self.targets**2).max())

    def gradient_deviation(self, radius: float) -> float:
        """sigma_g on a ball: the variance of a (a'x - b) is x'Qx - 2q'x + r, Q semidefinite.

        At most sqrt(2) too large: x along the top of Q or along q attains half of the bound.
        """
        if not 0 <= radius < np.inf:
            raise LossError(f"radius {radius} is not a number from 0 on", clause="MO-10")
        lengths = (self.features**2).sum(axis=1)[:, np.newaxis]
        products = self.features * self.targets[:, np.newaxis]
        second = self.features.T @ self.features / len(self.targets)
        mean = products.mean(axis=0)
        matrix = self.features.T @ (lengths * self.features) / len(self.targets) - second @ second
        vector = (lengths * products).mean(axis=0) - second @ mean
        rest = (products**2).sum(axis=1).mean() - (mean**2).sum()
        top = max(0.0, float(np.linalg.eigvalsh(matrix)[-1]))
        bound = top * radius**2 + 2 * np.sqrt((vector**2).sum()) * radius + rest
        return float(np.sqrt(max(0.0, bound)))

    def sample_noise(self, points: FloatMatrix) -> SampleNoise:
        """The spread of a (a'x - b) over the data; the ridge is in every datum."""
        return _noise_of_factors(self.features, points @ self.features.T - self.targets)

    def value(self, point: FloatVector) -> float:
        """F(x)."""
        errors = multiply(self.features, point) - self.targets
        return float(0.5 * (errors**2).mean() + 0.5 * self.ridge * (point**2).sum())

    def gradient(self, point: FloatVector) -> FloatVector:
        """The average of a (a'x - b), plus ridge x."""
        return self._average(point, self.features, self.targets)

    def hessian_at(self, point: FloatVector) -> FloatMatrix:  # noqa: ARG002 - the same everywhere
        """The average of a a', plus the ridge."""
        identity = np.eye(self.dimension)
        hessian: FloatMatrix = (
            self.features.T @ self.features / len(self.targets) + self.ridge * identity
        )
        return hessian

    def sample(self, point: FloatVector, batch: int, generator: np.random.Generator) -> FloatVector:
        """The average over K data drawn with replacement."""
        check_integer(batch, 1, "mini-batch size K")
        chosen = generator.integers(0, len(self.targets), size=batch)
        return self._average(point, self.features[chosen], self.targets[chosen])

    def _average(
        self, point: FloatVector, features: FloatMatrix, targets: FloatVector
    ) -> FloatVector:
        errors = multiply(features, point) - targets
        average: FloatVector = (features * errors[:, np.newaxis]).mean(axis=0) + self.ridge * point
        return average


@attrs.frozen(eq=False)
class LogisticRegression:
    """f(x, (a, y)) = log(1 + exp(-y a'x)) + ridge |x|^2 / 2, y = +1 or -1.

    Implements: MO-9, MO-10.
    """

    features: FloatMatrix = attrs.field(converter=read_only)
    targets: FloatVector = attrs.field(converter=read_only)
    ridge: float

    def __attrs_post_init__(self) -> None:
        _check(self.features, self.targets, self.ridge)
        if not np.isin(self.targets, (-1.0, 1.0)).all():
            raise LossError("a target of logistic regression is not +1 or -1", clause="MO-10")

    @property
    def dimension(self) -> int:
        """d."""
        return int(self.features.shape[1])

    @property
    def strong_convexity(self) -> float:
        """mu: the ridge."""
        return self.ridge

    @property
    def smoothness(self) -> float:
        """beta = max |a|^2 / 4 + ridge."""
        return _largest_row(self.features) / 4 + self.ridge

    @property
    def loss_at_zero(self) -> float:
        """F0 = log 2."""
        return float(np.log(2))

    def gradient_deviation(self, radius: float) -> float:  # noqa: ARG002 - the same everywhere
        """sigma_g: a datum's logistic gradient is never longer than its features."""
        return float(np.sqrt((self.features**2).sum(axis=1).mean()))

    def sample_noise(self, points: FloatMatrix) -> SampleNoise:
        """The spread of -y a / (1 + exp(y a'x)) over the data; the ridge is in every datum."""
        margins = self.targets * (points @ self.features.T)
        return _noise_of_factors(self.features, -self.targets * _logistic(-margins))

    def value(self, point: FloatVector) -> float:
        """F(x)."""
        margins = self.targets * multiply(self.features, point)
        return float(np.logaddexp(0, -margins).mean() + 0.5 * self.ridge * (point**2).sum())

    def gradient(self, point: FloatVector) -> FloatVector:
        """The average of -y a / (1 + exp(y a'x)), plus ridge x."""
        return self._average(point, self.features, self.targets)

    def hessian_at(self, point: FloatVector) -> FloatMatrix:
        """The average of p (1 - p) a a', plus the ridge."""
        scores = multiply(self.features, point)
        weights = (_logistic(scores) * _logistic(-scores))[:, np.newaxis] / len(self.targets)
        hessian: FloatMatrix = self.features.T @ (weights * self.features)
        return hessian + self.ridge * np.eye(self.dimension)

    def sample(self, point: FloatVector, batch: int, generator: np.random.Generator) -> FloatVector:
        """The average over K data drawn with replacement."""
        check_integer(batch, 1, "mini-batch size K")
        chosen = generator.integers(0, len(self.targets), size=batch)
        return self._average(point, self.features[chosen], self.targets[chosen])

    def _average(
        self, point: FloatVector, features: FloatMatrix, targets: FloatVector
    ) -> FloatVector:
        weights = -targets * _logistic(-targets * multiply(features, point))
        average: FloatVector = (features * weights[:, np.newaxis]).mean(axis=0)
        return average + self.ridge * point


def _noise_of_factors(features: FloatMatrix, factors: FloatMatrix) -> SampleNoise:
    """The noise of gradients that are a factor times the features: a row of factors per point."""
    mean = factors @ features / len(features)
    squares = (factors**2) * (features**2).sum(axis=1) - 2 * factors * (mean @ features.T)
    departures = np.maximum(0.0, squares + (mean**2).sum(axis=1)[:, np.newaxis])
    return SampleNoise(departures.mean(axis=1), np.sqrt(departures.max(axis=1)))


def _logistic(value: FloatVector) -> FloatVector:
    """1 / (1 + exp(-value)) without overflow."""
    logistic: FloatVector = np.exp(-np.logaddexp(0, -value))
    return logistic
