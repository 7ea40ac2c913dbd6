"""Losses on a finite data set: ridge least squares and L2-regularised logistic regression."""

import attrs
import numpy as np

from valid_ref.lattice import FloatVector
from valid_ref.losses.loss import (
    FloatMatrix,
    LossError,
    check_integer,
    multiply,
    read_only,
)


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


def _logistic(value: FloatVector) -> FloatVector:
    """1 / (1 + exp(-value)) without overflow."""
    logistic: FloatVector = np.exp(-np.logaddexp(0, -value))
    return logistic
