"""Attacks through the data: honest code on a gradient source of the attacker's choice."""

from typing import ClassVar

import attrs
import numpy as np

from valid_ref.adversary.attack import AttackError, Deviation, Setting
from valid_ref.guarantees.admissible import best_byzantine_vectors, phi
from valid_ref.lattice import FloatVector, GradientSource
from valid_ref.losses import LogisticRegression, Loss, Quadratic, RidgeLeastSquares


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


@attrs.frozen
class DeltaPlusEpsilon:
    """The benign attack at a target between delta and delta + epsilon (erratum A14).

    The target x on the ray has phi(x) = n (delta + share eps), where delta + eps is the lowest
    heterogeneity threshold of the run. Byzantine agents run honest code on quadratics with
    gradient -sum_H G_u(x)/b at x.

    Expected: for share below 1 and T large everybody valid, the models outside A(H, P, delta) and
    inside the relaxed set; T times the squared distance to A grows. Well above 1
    TOO_HETEROGENEOUS at every honest agent.
    """

    kind: ClassVar[str] = "delta-plus-epsilon"
    share: float = 0.5

    def build(self, setting: Setting) -> Deviation:
        """Gradient sources of the Byzantine agents."""
        return towards(setting, self.target(setting))

    def target(self, setting: Setting) -> FloatVector:
        """Where the attack leads."""
        thresholds = heterogeneity_thresholds(setting)
        if not thresholds or min(thresholds) <= setting.delta:
            raise AttackError(
                f"no room above delta = {setting.delta:g}: the heterogeneity thresholds are "
                f"{thresholds}",
                clause="GV-6",
            )
        return on_ray(setting, setting.delta + self.share * (min(thresholds) - setting.delta))


def heterogeneity_thresholds(setting: Setting) -> list[float]:
    """delta + eps_het of every weighting, as real numbers."""
    n, bits = setting.graph.agents, setting.parameters.lattice.precision.fraction_bits
    return [
        float(w.heterogeneity / (n * w.total**2 * 4**bits)) for w in setting.parameters.weightings
    ]


@attrs.frozen
class LabelFlip:
    """Honest code on false labels: y -> total - y; with `ascend` on the negated gradient instead.

    Labels are real numbers here; valid-torch's attack of this name turns label y of so many classes
    into classes - 1 - y, and has no options.

    For least squares and logistic regression (total = 0: -y) the targets of the Byzantine agents'
    data are flipped, for a quadratic its centre: c -> total - c. `ascend` climbs any loss: -g.

    Expected: nothing is locally wrong, an agent may have any data. Valid and admissible while the
    heterogeneity of the flipped data stays below the threshold, else TOO_HETEROGENEOUS at every
    honest agent. `ascend` leads to the minimum of sum_H f - sum_B f as long as honest curvature
    prevails, and is judged likewise; else it runs away: MODEL_NORM, GRADIENT_NORM, NOT_OPTIMAL or
    TOO_HETEROGENEOUS.
    """

    kind: ClassVar[str] = "label-flip"
    total: float = 0.0
    ascend: bool = False

    def build(self, setting: Setting) -> Deviation:
        """Gradient sources of the Byzantine agents."""
        if self.ascend:
            sources = {b: _negated(setting.gradient_source(b)) for b in setting.byzantine}
            return Deviation(gradient_sources=sources)
        losses = {b: flipped(setting.problem.losses[b], self.total) for b in setting.byzantine}
        sources = {b: setting.gradient_source(b, loss) for b, loss in losses.items()}
        return Deviation(gradient_sources=sources)


def flipped(loss: Loss, total: float) -> Loss:
    """The loss with every label y replaced by total - y."""
    if isinstance(loss, LogisticRegression) and total != 0:
        raise AttackError(
            f"labels +1 and -1 flip to themselves only with total = 0, not {total:g}", clause="AD-9"
        )
    if isinstance(loss, RidgeLeastSquares | LogisticRegression):
        return attrs.evolve(loss, targets=total - loss.targets)
    if isinstance(loss, Quadratic):
        return attrs.evolve(loss, centre=total - loss.centre)
    raise AttackError("a loss of somebody's own has no labels to flip: use ascend", clause="AD-9")


def _negated(source: GradientSource) -> GradientSource:
    def negated(t: int, point: FloatVector) -> FloatVector:
        return np.negative(source(t, point))

    return negated
