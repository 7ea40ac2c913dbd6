"""Reference gradient sources: losses whose constants and minimisers are known."""

from valid_ref.losses.loss import (
    LogisticRegression,
    Loss,
    LossError,
    Noise,
    Quadratic,
    RidgeLeastSquares,
)
from valid_ref.losses.problem import Problem, random_quadratics

__all__ = [
    "LogisticRegression",
    "Loss",
    "LossError",
    "Noise",
    "Problem",
    "Quadratic",
    "RidgeLeastSquares",
    "random_quadratics",
]
