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
from valid_ref.losses.refuted import RefutedError

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
    "RefutedError",
    "RidgeLeastSquares",
    "UnknownError",
    "random_quadratics",
]
