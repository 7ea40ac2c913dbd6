"""Reference gradient sources: losses whose constants and minimisers are known."""

from valid_ref.losses.loss import Loss, LossError
from valid_ref.losses.problem import Problem, random_quadratics
from valid_ref.losses.quadratic import Noise, Quadratic
from valid_ref.losses.regression import LogisticRegression, RidgeLeastSquares

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
