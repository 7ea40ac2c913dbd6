"""How much the agents disagree at the optimum of the whole network."""

import numpy as np

from valid_ref.losses import Problem


def heterogeneity(problem: Problem) -> float:
    """(1/n) sum_v |G_v(x*)|^2: the least delta for which the problem is delta-heterogeneous.

    Implements: GU-1.
    """
    optimum = problem.minimiser()
    return float(np.mean([(loss.gradient(optimum) ** 2).sum() for loss in problem.losses]))


def is_heterogeneous(problem: Problem, delta: float, tolerance: float = 0.0) -> bool:
    """Whether the problem is delta-heterogeneous, up to a tolerance for floating point.

    Implements: GU-1.
    """
    return heterogeneity(problem) <= delta + tolerance
