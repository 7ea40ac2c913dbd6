"""Admissible models: which models Byzantine agents could pass off as the optimum.

For a set U of agents, b is the number of all other agents and s(x) the sum of G_u(x) over U.
"""

from collections.abc import Callable, Iterable, Sequence

import attrs
import numpy as np

from valid_ref.errors import ValidRefError
from valid_ref.lattice import FloatVector
from valid_ref.losses import Problem, Quadratic, RidgeLeastSquares
from valid_ref.losses.loss import FloatMatrix
from valid_ref.losses.own import if_known


class AdmissibleError(ValidRefError):
    """A set of agents that is none, or losses that do not have the form that is asked for."""


@attrs.frozen
class Distance:
    """A distance to a set of models: exact, or that of `member`, infinite if none was found."""

    value: float
    exact: bool
    member: FloatVector | None = attrs.field(default=None, eq=False)


@attrs.frozen(eq=False)
class Ellipsoid:
    """All x with (x - centre)' matrix (x - centre) <= level; empty when the level is negative."""

    matrix: FloatMatrix
    centre: FloatVector
    level: float

    @property
    def empty(self) -> bool:
        """Whether no model is inside."""
        return self.level < 0

    def contains(self, point: FloatVector) -> bool:
        """Whether the point is inside or on the boundary."""
        offset = point - self.centre
        return bool(offset @ self.matrix @ offset <= self.level)

    def distance(self, point: FloatVector) -> float:
        """The distance to the nearest point inside, by the secular equation.

        In the eigenbasis that point is z_i / (1 + m q_i), with m >= 0 such that it lies on the
        boundary; Newton's method from m = 0 climbs to m without passing it.
        """
        if self.empty:
            return float("inf")
        if self.contains(point):
            return 0.0
        curvatures, basis = np.linalg.eigh(self.matrix)
        z = basis.T @ (point - self.centre)
        if self.level == 0:
            return float(np.linalg.norm(z))
        multiplier = 0.0
        for _iteration in range(500):
            shrunk = z / (1 + multiplier * curvatures)
            excess = float((curvatures * shrunk**2).sum()) - self.level
            slope = 2 * float(((curvatures * shrunk) ** 2 / (1 + multiplier * curvatures)).sum())
            if excess <= 0 or multiplier + excess / slope == multiplier:
                break
            multiplier += excess / slope
        return float(np.linalg.norm(z - z / (1 + multiplier * curvatures)))


def _checked(problem: Problem, agents: Iterable[int]) -> tuple[list[int], int]:
    """U in increasing order, and b."""
    chosen, n = sorted(set(agents)), len(problem.losses)
    if not chosen or not set(chosen) <= set(range(n)):
        raise AdmissibleError(
            f"U = {chosen} is not a nonempty set of agents among 0..{n - 1}", clause="GU-2"
        )
    return chosen, n - len(chosen)


def _gradients(problem: Problem, chosen: Sequence[int], point: FloatVector) -> FloatMatrix:
    return np.array([problem.losses[agent].gradient(point) for agent in chosen])


def phi(problem: Problem, agents: Iterable[int], point: FloatVector) -> float:
    """sum_U |G_u(x)|^2 + |s(x)|^2 / b; with b = 0 infinite unless s(x) = 0 exactly.

    Implements: GU-3.
    """
    chosen, b = _checked(problem, agents)
    gradients = _gradients(problem, chosen, point)
    own, total = float((gradients**2).sum()), float((gradients.sum(axis=0) ** 2).sum())
    if b == 0:
        return own if total == 0 else float("inf")
    return own + total / b


def best_byzantine_vectors(
    problem: Problem, agents: Iterable[int], point: FloatVector
) -> FloatMatrix:
    """b rows -s(x)/b: the vectors of least norm that balance the gradients of U.

    Implements: GU-3.
    """
    chosen, b = _checked(problem, agents)
    total = _gradients(problem, chosen, point).sum(axis=0)
    return np.tile(-total / max(b, 1), (b, 1))


def is_admissible(
    problem: Problem, agents: Iterable[int], delta: float, point: FloatVector, tolerance: float = 0
) -> bool:
    """Whether x is in A(U, P, delta); the tolerance allows for floating point.

    It is added to n delta, and with b = 0 it is what |s(x)| may be in place of 0.

    Implements: GU-2, GU-3.
    """
    chosen, b = _checked(problem, agents)
    n = len(problem.losses)
    if b:
        return bool(phi(problem, chosen, point) <= n * delta + tolerance)
    return in_relaxed_set(problem, chosen, tolerance / n, delta + tolerance / n, point)


def in_relaxed_set(
    problem: Problem, agents: Iterable[int], e1: float, e2: float, point: FloatVector
) -> bool:
    """Whether x is in A_(e1,e2)(U, P).

    Implements: GU-4.
    """
    chosen, b = _checked(problem, agents)
    n, gradients = len(problem.losses), _gradients(problem, chosen, point)
    length = float(np.linalg.norm(gradients.sum(axis=0)))
    own = float((gradients**2).sum())
    if b == 0:
        return bool(length <= n * e1 and own <= n * e2)
    return bool(own + max(length - n * e1, 0.0) ** 2 / b <= n * e2)


def _has_linear_gradients(problem: Problem, chosen: Sequence[int]) -> bool:
    return all(isinstance(problem.losses[u], Quadratic | RidgeLeastSquares) for u in chosen)


def admissible_ellipsoid(problem: Problem, agents: Iterable[int], delta: float) -> Ellipsoid:
    """A(U, P, delta) for quadratic losses; with b = 0 the single point x* (level 0), or empty.

    Implements: GU-5.
    """
    chosen, b = _checked(problem, agents)
    if not _has_linear_gradients(problem, chosen):
        raise AdmissibleError("an agent of U has a loss that is not quadratic", clause="GU-5")
    n = len(problem.losses)
    slopes, values = _stacked(problem, chosen, np.zeros(problem.dimension))
    centre = problem.minimiser() if b == 0 else -_least_squares(slopes, values)
    level = n * delta - float((_stacked(problem, chosen, centre)[1] ** 2).sum())
    return Ellipsoid(slopes.T @ slopes, centre, level if b else min(level, 0.0))


def admissible_ball(problem: Problem, agents: Iterable[int], delta: float) -> Ellipsoid:
    """A(U, P, delta) where all H_u are one h I: a ball, whose level is the squared radius.

    Implements: GU-6.
    """
    chosen, b = _checked(problem, agents)
    losses, identity = [problem.losses[u] for u in chosen], np.eye(problem.dimension)
    quadratics = [loss for loss in losses if isinstance(loss, Quadratic)]
    h = float(losses[0].hessian_at(np.zeros(problem.dimension))[0, 0])
    spherical = all(np.array_equal(loss.hessian, h * identity) for loss in quadratics)
    if len(quadratics) < len(losses) or not spherical:
        raise AdmissibleError("the losses of U are not h |x - c|^2 / 2, one h", clause="GU-6")
    n, centres = len(problem.losses), np.array([quadratic.centre for quadratic in quadratics])
    mean = centres.mean(axis=0)
    level = n * delta / h**2 - float(((centres - mean) ** 2).sum())
    return Ellipsoid(identity, mean, b / (len(chosen) * n) * level if b else min(level, 0.0))


def distance_to_admissible(
    problem: Problem, agents: Iterable[int], delta: float, point: FloatVector
) -> Distance:
    """The distance to A(U, P, delta): exact for quadratic losses, for b = 0, and for members.

    Otherwise an upper bound: least-squares steps on phi from the point and from the minimiser of
    U end in two models; if one is admissible, bisection finds a member nearer on the segment.
    Infinite when neither is, although the set may then still have members. Of losses without
    Hessians only the minimiser of U is tried.
    """
    chosen, b = _checked(problem, agents)
    if _has_linear_gradients(problem, chosen):
        return Distance(admissible_ellipsoid(problem, chosen, delta).distance(point), exact=True)
    if b == 0:
        optimum, n = problem.minimiser(), len(problem.losses)
        empty = float((_gradients(problem, chosen, optimum) ** 2).sum()) > n * delta
        return Distance(np.inf if empty else float(np.linalg.norm(point - optimum)), exact=True)
    candidates = _candidates(problem, chosen, point)
    return _nearest_found(lambda x: is_admissible(problem, chosen, delta, x), point, candidates)


def _candidates(problem: Problem, chosen: Sequence[int], point: FloatVector) -> list[FloatVector]:
    """Models that may be admissible: the optimum of U if it is known, and where phi is least."""
    optimum, _unknown = if_known(lambda: problem.minimiser(chosen))
    known = [] if optimum is None else [optimum]
    least, _unknown = if_known(
        lambda: [_least_phi(problem, chosen, start) for start in (point, *known)]
    )
    return known if least is None else least


def _nearest_found(
    inside: Callable[[FloatVector], bool], point: FloatVector, members: Iterable[FloatVector]
) -> Distance:
    """The least distance to a member found by bisection on the segments to known members."""
    if inside(point):
        return Distance(0.0, exact=True)
    found = [Distance(np.inf, exact=False)]
    for member in filter(inside, members):
        outer, inner = 0.0, 1.0
        while outer < (middle := (outer + inner) / 2) < inner:
            is_inside = inside(point + middle * (member - point))
            outer, inner = (outer, middle) if is_inside else (middle, inner)
        nearest = point + inner * (member - point)
        found.append(Distance(float(np.linalg.norm(nearest - point)), False, nearest))
    return min(found, key=lambda distance: distance.value)


def _stacked(
    problem: Problem, chosen: Sequence[int], point: FloatVector
) -> tuple[FloatMatrix, FloatVector]:
    """All G_u(x) and s(x)/sqrt(b) in one column, so that phi is its square; and its Jacobian."""
    b, gradients = len(problem.losses) - len(chosen), _gradients(problem, chosen, point)
    hessians = np.array([problem.losses[u].hessian_at(point) for u in chosen])
    values, slopes = [*gradients], [*hessians]
    if b:
        values.append(gradients.sum(axis=0) / np.sqrt(b))
        slopes.append(hessians.sum(axis=0) / np.sqrt(b))
    return np.concatenate(slopes), np.concatenate(values)


def _least_squares(slopes: FloatMatrix, values: FloatVector) -> FloatVector:
    return np.linalg.solve(slopes.T @ slopes, slopes.T @ values).astype(np.float64)


def _least_phi(problem: Problem, chosen: Sequence[int], point: FloatVector) -> FloatVector:
    """A stationary point of phi by damped Gauss-Newton steps, which never raise phi."""
    for _iteration in range(200):
        slopes, values = _stacked(problem, chosen, point)
        direction, length = _least_squares(slopes, values), 1.0
        here = phi(problem, chosen, point)
        while length > 2**-30 and not phi(problem, chosen, point - length * direction) < here:
            length /= 2
        if length <= 2**-30:
            break
        point = point - length * direction
    return point


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
