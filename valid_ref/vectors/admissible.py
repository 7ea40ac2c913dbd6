"""Vectors of heterogeneity and of admissible models, for quadratics with diagonal Hessians.

The results are exact rationals, computed here entry by entry from the formulas of the
specification; a case is made only if the reference agrees with them.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from valid_ref.guarantees import admissible as reference
from valid_ref.guarantees.admissible import heterogeneity as reference_heterogeneity
from valid_ref.losses import Problem, Quadratic
from valid_ref.vectors.document import COMPARE, VectorCase, VectorError, VectorFamily, operation
from valid_ref.vectors.schema import AGENT, FLAG, NULL, RATIO, Json, either, fields, many

TOLERANCE = 2.0**-40
RATIOS = many(RATIO)
LOSSES = many(fields(hessian=RATIOS, centre=RATIOS))
Loss = dict[str, Any]
"""The diagonal of the Hessian, and the centre; all vectors here are arrays of rationals."""
Losses = Sequence[Loss]


def _vector(entries: Sequence[int]) -> Any:
    return np.array([Fraction(entry) for entry in entries], dtype=object)


def _loss(hessian: Sequence[int], centre: Sequence[int]) -> Loss:
    """G(x) = hessian * (x - centre), entry by entry."""
    return {"hessian": _vector(hessian), "centre": _vector(centre)}


def _gradient(one: Loss, point: Any) -> Any:
    return one["hessian"] * (point - one["centre"])


def _problem(losses: Losses) -> Problem:
    return Problem(
        Quadratic(np.diag(one["hessian"].astype(float)), one["centre"].astype(float))
        for one in losses
    )


def _agree(exact: Sequence[Fraction], found: Sequence[float]) -> None:
    """The reference must say the same, up to floating point."""
    for one, other in zip(exact, found, strict=True):
        if abs(float(one) - float(other)) > TOLERANCE * (1 + abs(float(one))):
            raise VectorError(f"{other} where {one} is right", clause="VE-4")


@operation("admissible/heterogeneity", fields(losses=LOSSES), fields(delta=RATIO), "GU-1")
def heterogeneity(losses: Losses) -> Json:
    """The mean of |G_v(x*)|^2 over all agents, x* the minimiser of the sum of all losses."""
    pulls = sum(one["hessian"] * one["centre"] for one in losses)
    optimum = pulls / sum(one["hessian"] for one in losses)
    gradients = [_gradient(one, optimum) for one in losses]
    delta = sum(g @ g for g in gradients) / len(losses)
    _agree([delta], [reference_heterogeneity(_problem(losses))])
    return {"delta": delta}


@operation(
    "admissible/phi",
    fields(losses=LOSSES, agents=many(AGENT), point=RATIOS),
    fields(phi=either(NULL, RATIO), vectors=many(RATIOS)),
    "GU-3",
)
def phi(losses: Losses, agents: Sequence[int], point: Sequence[int]) -> Json:
    """phi_U(x), null for infinity, and the vectors of least norm that show it."""
    found = reference.phi(_problem(losses), agents, np.array(point))
    b = len(losses) - len(agents)
    gradients = [_gradient(losses[u], _vector(point)) for u in agents]
    total = sum(gradients)
    if b == 0 and any(total):
        if not math.isinf(found):
            raise VectorError(f"{found} where infinity is right", clause="VE-4")
        return {"phi": None, "vectors": []}
    value = sum(g @ g for g in gradients) + (total @ total / b if b else 0)
    _agree([value], [found])
    return {"phi": value, "vectors": [-total / b for _v in range(b)]}


@operation(
    "admissible/member",
    fields(losses=LOSSES, agents=many(AGENT), point=RATIOS, e1=RATIO, e2=RATIO),
    fields(member=FLAG),
)
def member(
    losses: Losses, agents: Sequence[int], point: Sequence[int], e1: float, e2: float
) -> Json:
    """Whether x is in the relaxed set A_(e1,e2)(U, P); with e1 = 0 that is A(U, P, e2)."""
    problem = _problem(losses)
    return {"member": reference.in_relaxed_set(problem, agents, e1, e2, np.array(point))}


def _parts(losses: Losses, agents: Sequence[int]) -> tuple[Any, Any, Fraction]:
    """Q, x_c and phi(x_c) of GU-5, entry by entry; b >= 1."""
    b, few = len(losses) - len(agents), [losses[u] for u in agents]
    slopes = sum(one["hessian"] for one in few)
    pulls = sum(one["hessian"] * one["centre"] for one in few)
    Q = sum(one["hessian"] ** 2 for one in few) + slopes**2 / b
    centre = (sum(one["hessian"] ** 2 * one["centre"] for one in few) + slopes * pulls / b) / Q
    gradients = [_gradient(one, centre) for one in few]
    total = sum(gradients)
    return Q, centre, sum(g @ g for g in gradients) + total @ total / b


@operation(
    "admissible/ellipsoid",
    fields(losses=LOSSES, agents=many(AGENT), delta=RATIO),
    fields(matrix=RATIOS, centre=RATIOS, level=RATIO),
    "GU-5 GU-6",
)
def ellipsoid(losses: Losses, agents: Sequence[int], delta: float) -> Json:
    """The ellipsoid that A(U, P, delta) is: the diagonal of Q, the centre, and the level, which is
    negative if the set is empty.
    """
    Q, centre, least = _parts(losses, agents)
    level = len(losses) * Fraction(delta) - least
    found = reference.admissible_ellipsoid(_problem(losses), agents, delta)
    _agree([*Q, *centre, level], [*np.diag(found.matrix), *found.centre, found.level])
    return {"matrix": Q, "centre": centre, "level": level}


@operation(
    "admissible/distance",
    fields(losses=LOSSES, agents=many(AGENT), delta=RATIO, point=RATIOS),
    fields(distance=either(NULL, RATIO)),
    "GU-6",
)
def distance(losses: Losses, agents: Sequence[int], delta: float, point: Sequence[int]) -> Json:
    """The distance of x from A(U, P, delta), a ball here; null if the set is empty."""
    Q, centre, least = _parts(losses, agents)
    radius_squared = (len(losses) * Fraction(delta) - least) / Q[0]
    found = reference.distance_to_admissible(_problem(losses), agents, delta, np.array(point))
    if radius_squared < 0:
        if not math.isinf(found.value):
            raise VectorError(f"{found.value} from an empty set", clause="VE-4")
        return {"distance": None}
    offset = _vector(point) - centre
    away = max(Fraction(0), _root(offset @ offset) - _root(radius_squared))
    _agree([away], [found.value])
    return {"distance": away}


def _root(value: Fraction) -> Fraction:
    """The exact square root; cases are chosen so that there is one."""
    found = Fraction(math.isqrt(value.numerator), math.isqrt(value.denominator))
    if found * found != value:
        raise VectorError(f"{value} is no square", clause="VE-4")
    return found


OPERATIONS = (heterogeneity, phi, member, ellipsoid, distance)


def family() -> VectorFamily:
    """All cases of the admissible sets."""
    line = [_loss([1], [c]) for c in (0, 2, 4)]
    plane = [
        _loss([1, 2], [0, 1]),
        _loss([3, 1], [2, -1]),
        _loss([1, 1], [0, 0]),
        _loss([2, 2], [1, 1]),
    ]
    round_ = [_loss([2, 2], c) for c in ([0, 0], [2, 0], [1, 3], [5, 5])]

    def at(
        name: str, comment: str, agents: Sequence[int], x: int, refused: str | None = None
    ) -> VectorCase:
        return phi(name, comment, line, agents, [x], refused=refused)

    def inside(
        name: str, source: str, comment: str, agents: Sequence[int], e: tuple[float, float]
    ) -> VectorCase:
        given: dict[str, Any] = {
            "losses": line,
            "agents": agents,
            "point": [3],
            "e1": e[0],
            "e2": e[1],
        }
        return member(name, comment, source=source, **given)

    def away(name: str, comment: str, delta: float, point: Sequence[int]) -> VectorCase:
        return distance(name, comment, round_, (0, 1), delta, point=point)

    return VectorFamily(
        "admissible",
        "Heterogeneity and admissible models (GU-1 to GU-6 of spec/guarantees.md) for losses "
        "(x - c)' H (x - c) / 2 with diagonal H.",
        (
            COMPARE,
            "The results are exact rationals; an implementation in floating point passes within "
            "2^-40 (1 + |value|). Memberships are decided by more than that, or by numbers that "
            "doubles hold exactly.",
        ),
        OPERATIONS,
        (
            heterogeneity("line", "centres 0, 2, 4: 8/3", line),
            heterogeneity("same", "no difference", [line[1], line[1]]),
            heterogeneity("plane", "different Hessians", plane),
            at("line", "two agents of three", (0, 1), 3),
            phi("plane", "two of four", plane, (0, 2), [1, -1]),
            at("everybody-at-minimum", "b = 0 and s(x) = 0", (0, 1, 2), 2),
            at("everybody-elsewhere", "b = 0 and s(x) is not 0", (0, 1, 2), 3),
            at("nobody-refused", "U is not empty", (), 3, "GU-2"),
            at("unknown-refused", "an agent that does not exist", (0, 3), 3, "GU-2"),
            inside("inside", "GU-2", "phi = 26 <= 3 * 9", (0, 1), (0, 9)),
            inside("outside", "GU-2", "phi = 26 > 3 * 8", (0, 1), (0, 8)),
            inside("on-the-edge", "GU-2", "phi = 13.5 = 3 * 4.5", (0,), (0, 4.5)),
            inside("relaxed", "GU-4", "10 + (4 - 3)^2 <= 3 * 4", (0, 1), (1, 4)),
            inside("relaxed-outside", "GU-4", "10 + 1 > 3 * 3", (0, 1), (1, 3)),
            inside("everybody", "GU-4", "b = 0: |s| = 3 <= 3 * 1", (0, 1, 2), (1, 4)),
            inside("everybody-outside", "GU-4", "b = 0: 3 > 3 / 2", (0, 1, 2), (0.5, 4)),
            ellipsoid("line", "an interval", line, (0, 1), 4),
            ellipsoid("empty", "the level is negative", line, (0, 1), 0.25),
            ellipsoid("plane", "different Hessians", plane, (0, 1), 8),
            ellipsoid("ball", "one h for all", round_, (0, 1), 6),
            away("inside", "0", 6, [1, 0]),
            away("outside", "radius 1, distance 5 - 1", 6, [1, 5]),
            away("beside", "a 3-4-5 triangle", 6, [4, 4]),
            away("empty", "no member at all", 0.5, [1, 0]),
        ),
    )
