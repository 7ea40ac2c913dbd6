"""Vectors of what guarantees rest on: norm bounds, heterogeneity and admissible models.

Heterogeneity and admissible models are for quadratics with diagonal Hessians. Their results are
exact rationals, computed here entry by entry from the formulas of the specification; a case is
made only if the reference agrees with them.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from valid_ref.document import Json
from valid_ref.guarantees import admissible, bounds
from valid_ref.lattice import LatticeParameters
from valid_ref.losses import Problem, Quadratic
from valid_ref.protocols.parameters import Bounds
from valid_ref.schedule import Precision, Schedule
from valid_ref.vectors.document import COMPARE, VectorCase, VectorError, VectorFamily, operation
from valid_ref.vectors.schema import (
    AGENT,
    FLAG,
    INTEGER,
    NULL,
    RATIO,
    SMALL,
    VECTOR,
    Vector,
    either,
    fields,
    many,
)

SQUARES = fields(model_squared=VECTOR, gradient_squared=VECTOR)


@operation("bounds/root", fields(value=RATIO), fields(root=INTEGER), "GU-8")
def root(value: Fraction | int) -> Json:
    """The least integer m >= 0 with m^2 >= value."""
    return {"root": bounds.root(value)}


def _squares(found: Bounds) -> Json:
    return {"model_squared": found.model_squared, "gradient_squared": found.gradient_squared}


@operation(
    "bounds/derive",
    fields(
        dimension=SMALL,
        mu=RATIO,
        beta=RATIO,
        F0=either(RATIO, NULL),
        fraction_bits=SMALL,
        step_bits=SMALL,
        mixing=VECTOR,
        gradient=VECTOR,
        max_degree=SMALL,
        start_squared=INTEGER,
    ),
    SQUARES,
    "GU-8 AN-5",
)
def derive(
    dimension: int, mu: float, beta: float, F0: float | None, *, max_degree: int, **steps: Any
) -> Json:
    """The squares of B_1..B_T and C_1..C_T by GU-8, with tau = 1/2. mu, beta and F0 are exact; F0
    null stands for infinity.
    """
    precision = Precision(steps["fraction_bits"], steps["step_bits"])
    schedule = Schedule(precision, tuple(steps["mixing"]), tuple(steps["gradient"]))
    constants = bounds.GivenConstants(dimension, mu, beta, math.inf if F0 is None else F0)
    start = steps["start_squared"]
    return _squares(bounds.derive_bounds(constants, schedule, max_degree, start_squared=start))


@operation(
    "bounds/configure",
    fields(fraction_bits=SMALL, rounds=SMALL, model=RATIO, gradient=RATIO),
    SQUARES,
    "GU-8 LV-2",
)
def configure(fraction_bits: int, rounds: int, model: float, gradient: float) -> Json:
    """The squares of real bounds, each first rounded up to lattice units, for every round."""
    return _squares(bounds.configured_bounds(model, gradient, rounds, Precision(fraction_bits, 0)))


@operation(
    "bounds/conflicts",
    fields(
        step_bits=SMALL,
        gradient=VECTOR,
        model_limit=INTEGER,
        gradient_limit=INTEGER,
        model_squared=VECTOR,
        gradient_squared=VECTOR,
        start_squared=INTEGER,
    ),
    fields(conflicts=SMALL),
    "GU-8",
)
def conflicts(step_bits: int, gradient: Vector, *, start_squared: int, **given: Any) -> Json:
    """In how many places (x_0, every B_t, every A_t C_t) the bounds reach X_max or G_max."""
    lattice = LatticeParameters(
        1,
        Schedule(Precision(0, step_bits), (1,) * len(gradient), tuple(gradient)),
        1,
        101,
        model_limit=given["model_limit"],
        gradient_limit=given["gradient_limit"],
    )
    squares = Bounds(tuple(given["model_squared"]), tuple(given["gradient_squared"]))
    return {"conflicts": len(bounds.range_conflicts(squares, lattice, start_squared))}


def bounds_family() -> VectorFamily:
    """All cases of the bounds."""
    steps = (873813, 748983, 655360, 582542, 524288, 476625)
    long: Json = {"fraction_bits": 28, "step_bits": 20, "mixing": (95325,) * 6, "gradient": steps}

    def derived(name: str, comment: str, **changes: Any) -> VectorCase:
        """The worked example of local-validate.md with some changes."""
        constants = {"dimension": 1, "mu": 1.0, "beta": 1.0, "F0": 2.0}
        worked = {"fraction_bits": 4, "step_bits": 2, "mixing": (1, 1), "gradient": (2, 2)}
        given: Json = {**constants, **worked, "max_degree": 2, "start_squared": 0}
        return derive(name, comment, **(given | changes))

    def conflicting(
        name: str, comment: str, models: Vector, gradients: Vector, start: int = 0
    ) -> VectorCase:
        limits: Json = {"model_limit": 8, "gradient_limit": 50}
        squares: Json = {"model_squared": models, "gradient_squared": gradients}
        return conflicts(name, comment, 1, (3, 2), **limits, **squares, start_squared=start)

    return VectorFamily(
        "bounds",
        "The norm bounds B_t and C_t, as squares in lattice units: GU-8 of spec/guarantees.md.",
        (
            "For each case, compute the operation named in `operation` from `input` and compare; "
            "rational arithmetic, no floating point.",
        ),
        (root, derive, configure, conflicts),
        (
            root("zero", "0", 0),
            root("negative", "negative values have root 0", -3),
            root("square", "a square", 144),
            root("above-a-square", "the next integer", 145),
            root("rational", "rounded up first", Fraction(1, 3)),
            root("wide", "more than a double holds", 2**200 + 1),
            derived("worked-example", "B = (17, 26), C = (35, 52) of local-validate.md"),
            derived(
                "two-dimensions",
                "the slack grows with the dimension",
                dimension=2,
                beta=4.0,
                F0=0.5,
            ),
            derived("long-steps", "alpha beta above 1: only the linear bound", beta=4.0),
            derived("start", "x_0 is not zero", start_squared=100),
            derived("no-loss", "F0 = 0: only the slack", dimension=3, mu=0.5, beta=0.75, F0=0.0),
            derived(
                "default-precision",
                "f = 28, k = 20, the steps 5/(5+t)",
                dimension=10,
                mu=0.5,
                F0=8.0,
                **long,
                max_degree=11,
            ),
            derived("no-mixing-refused", "a_t maxdeg above 2^k", max_degree=5, refused="GU-8"),
            derived("unbounded-refused", "F0 is infinite", F0=None, refused="GU-8"),
            derived("not-convex-refused", "mu is 0", mu=0.0, refused="GU-8"),
            derived("negative-mu-refused", "mu is negative", mu=-1.0, refused="GU-8"),
            derived("mixing-on-the-limit", "a_t maxdeg = 2^k is allowed", max_degree=4),
            derived("mu-above-beta-refused", "mu is above beta", mu=2.0, refused="GU-8"),
            derived("negative-loss-refused", "F0 is negative", F0=-1.0, refused="GU-8"),
            configure("exact", "multiples of a unit", 2, 2, model=1.5, gradient=3.0),
            configure("rounded-up", "one tenth", 2, 2, model=0.1, gradient=10.1),
            configure(
                "zero-refused", "a bound is positive", 2, 2, model=0.0, gradient=1.0, refused="LV-2"
            ),
            configure(
                "negative-refused",
                "a bound is positive",
                2,
                2,
                model=1.0,
                gradient=-1.0,
                refused="LV-2",
            ),
            conflicting("none", "7 < 8 and 3 * 16 < 50", (49, 49), (256, 576)),
            conflicting("all", "8 reaches X_max, 51 and 50 reach G_max", (64, 50), (257, 577), 64),
        ),
    )


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
    _agree([delta], [admissible.heterogeneity(_problem(losses))])
    return {"delta": delta}


@operation(
    "admissible/phi",
    fields(losses=LOSSES, agents=many(AGENT), point=RATIOS),
    fields(phi=either(NULL, RATIO), vectors=many(RATIOS)),
    "GU-3",
)
def phi(losses: Losses, agents: Sequence[int], point: Sequence[int]) -> Json:
    """phi_U(x), null for infinity, and the vectors of least norm that show it."""
    found = admissible.phi(_problem(losses), agents, np.array(point))
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
    return {"member": admissible.in_relaxed_set(problem, agents, e1, e2, np.array(point))}


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
    found = admissible.admissible_ellipsoid(_problem(losses), agents, delta)
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
    found = admissible.distance_to_admissible(_problem(losses), agents, delta, np.array(point))
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


def admissible_family() -> VectorFamily:
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
        (heterogeneity, phi, member, ellipsoid, distance),
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
