"""Losses: those of the reference, whose constants and minimisers are known, and your own."""

from valid_ref.losses.loss import (
    LogisticRegression,
    Loss,
    LossError,
    Noise,
    Quadratic,
    RidgeLeastSquares,
)
from valid_ref.losses.own import GradientError, NoisyOwnLoss, OwnLoss, UnknownError
from valid_ref.losses.problem import Problem, random_quadratics

__all__ = [
    "GradientError",
    "LogisticRegression",
    "Loss",
    "LossError",
    "Noise",
    "NoisyOwnLoss",
    "OwnLoss",
    "Problem",
    "Quadratic",
    "RidgeLeastSquares",
    "UnknownError",
    "random_quadratics",
]
