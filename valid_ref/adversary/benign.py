"""The benign attack: Byzantine agents run honest code on data of their choice."""

from typing import ClassVar

import attrs
import numpy as np

from valid_ref.adversary.attack import Deviation, Setting
from valid_ref.errors import ValidRefError
from valid_ref.guarantees.admissible import best_byzantine_vectors, phi
from valid_ref.lattice import FloatVector, GradientSource
from valid_ref.losses import Quadratic


class AttackError(ValidRefError):
    """An attack that cannot be built in this setting."""


@attrs.frozen
class Benign:
    """Honest code on quadratic data that makes a chosen admissible model the network's optimum.

    The target x lies on a ray from the honest optimum, at `fraction` of the way to the boundary
    of A(H, P, delta); every Byzantine agent's gradient at x is -sum_H G_u(x) / b. Nothing can
    tell it from an honest agent, so it must end all-valid at the target for fractions below 1
    (Theorem 2), and alarm well beyond the relaxed set.

    Implements: GU-11.
    """

    kind: ClassVar[str] = "benign"
    fraction: float = 0.5

    def build(self, setting: Setting) -> Deviation:
        """Gradient sources of the Byzantine agents."""
        target = benign_target(setting, self.fraction)
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
    problem, honest = setting.problem, setting.honest
    limit = setting.graph.agents * setting.delta
    origin = problem.minimiser(honest)
    if phi(problem, honest, origin) > limit:
        raise AttackError(
            f"the honest agents alone are more heterogeneous than delta = {setting.delta:g}: the "
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
    return np.asarray(origin + fraction * inside * ray, dtype=np.float64)
