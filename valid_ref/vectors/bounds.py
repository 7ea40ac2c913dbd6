"""Vectors of the norm bounds B_t and C_t."""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from valid_ref.guarantees import bounds as reference
from valid_ref.lattice import LatticeParameters
from valid_ref.protocols.parameters import Bounds
from valid_ref.schedule import Precision, Schedule
from valid_ref.vectors.document import VectorCase, VectorFamily, operation
from valid_ref.vectors.schema import INTEGER, NULL, RATIO, SMALL, VECTOR, Json, either, fields

Vector = Sequence[int]


SQUARES = fields(model_squared=VECTOR, gradient_squared=VECTOR)


@operation("bounds/root", fields(value=RATIO), fields(root=INTEGER), "GU-8")
def root(value: Fraction | int) -> Json:
    """The least integer m >= 0 with m^2 >= value."""
    return {"root": reference.root(value)}


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
    constants = reference.GivenConstants(dimension, mu, beta, math.inf if F0 is None else F0)
    start = steps["start_squared"]
    return _squares(reference.derive_bounds(constants, schedule, max_degree, start_squared=start))


@operation(
    "bounds/configure",
    fields(fraction_bits=SMALL, rounds=SMALL, model=RATIO, gradient=RATIO),
    SQUARES,
    "GU-8 LV-2",
)
def configure(fraction_bits: int, rounds: int, model: float, gradient: float) -> Json:
    """The squares of real bounds, each first rounded up to lattice units, for every round."""
    return _squares(
        reference.configured_bounds(model, gradient, rounds, Precision(fraction_bits, 0))
    )


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
    return {"conflicts": len(reference.range_conflicts(squares, lattice, start_squared))}


OPERATIONS = (root, derive, configure, conflicts)


def family() -> VectorFamily:
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
        OPERATIONS,
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
