"""The benign attack: Byzantine agents run honest code on data of their choice."""

from typing import ClassVar

import attrs
import numpy as np

from valid_ref.adversary.attack import AttackError, Deviation, Setting
from valid_ref.guarantees.admissible import best_byzantine_vectors, phi
from valid_ref.lattice import FloatVector, GradientSource
from valid_ref.losses import Quadratic

__all__ = ["AttackError", "Benign", "benign_target", "on_ray", "towards"]


@attrs.frozen
class Benign:
    """Honest code on quadratic data that makes a chosen admissible model the network's optimum.

    The target x lies on a ray from the honest optimum, at `fraction` of the way to the boundary
    of A(H, P, delta); every Byzantine agent's gradient at x is -sum_H G_u(x) / b. Nothing can
    tell it from an honest agent.

    Expected: for fractions below 1 everybody valid at the target (Theorem 2); well beyond the
    relaxed set TOO_HETEROGENEOUS at every honest agent.

    Implements: GU-11.
    """

    kind: ClassVar[str] = "benign"
    fraction: float = 0.5

    def build(self, setting: Setting) -> Deviation:
        """Gradient sources of the Byzantine agents."""
        return towards(setting, benign_target(setting, self.fraction))


def towards(setting: Setting, target: FloatVector) -> Deviation:
    """Honest code on quadratics that make the target the optimum of the whole network.

    Every vector is the gradient of some quadratic at the target: the class is f-complete.

    Implements: GU-10, GU-11.
    """
    [vector, *_same] = best_byzantine_vectors(setting.problem, setting.honest, target)
    curvature = setting.problem.strong_convexity
    centre = target - vector / curvature
    loss = Quadratic(curvature * np.eye(setting.problem.dimension), centre)
    return Deviation(gradient_sources=dict.fromkeys(setting.byzantine, _source(loss)))


def _source(loss: Quadratic) -> GradientSource:
    def gradient(_t: int, point: FloatVector) -> FloatVector:
        return loss.gradient(point)

    return gradient


def benign_target(setting: Setting, fraction: float) -> FloatVector:
    """The model at this fraction of the way from the honest optimum to the boundary of A(H)."""
    origin = setting.problem.minimiser(setting.honest)
    boundary = on_ray(setting, setting.delta)
    return np.asarray(origin + fraction * (boundary - origin), dtype=np.float64)


def on_ray(setting: Setting, level: float) -> FloatVector:
    """The model on the ray from the honest optimum along (1, 1, ..) with phi = n level."""
    problem, honest = setting.problem, setting.honest
    limit = setting.graph.agents * level
    origin = problem.minimiser(honest)
    if phi(problem, honest, origin) > limit:
        raise AttackError(
            f"the honest agents alone are more heterogeneous than delta = {level:g}: the "
            "honest optimum is not admissible",
            clause="GU-11",
        )
    ray = np.ones(problem.dimension) / np.sqrt(problem.dimension)
    inside, outside = 0.0, 1.0
    while phi(problem, honest, origin + outside * ray) <= limit:
        inside, outside = outside, 2 * outside
    for _halving in range(200):
        middle = (inside + outside) / 2
        if phi(problem, honest, origin + middle * ray) <= limit:
            inside = middle
        else:
            outside = middle
    return np.asarray(origin + inside * ray, dtype=np.float64)
