"""Vectors of the norm bounds B_t and C_t."""

from collections.abc import Sequence
from fractions import Fraction

from valid_ref.guarantees.bounds import (
    GivenConstants,
    configured_bounds,
    derive_bounds,
    range_conflicts,
    root,
)
from valid_ref.lattice import LatticeParameters
from valid_ref.protocols.parameters import Bounds
from valid_ref.schedule import Precision, Schedule
from valid_ref.vectors.document import Case, Family, Json, Operation, make
from valid_ref.vectors.numbers import ratio, whole, wholes
from valid_ref.vectors.schema import INTEGER, NULL, RATIO, SMALL, VECTOR, either, fields

SQUARES = fields(model_squared=VECTOR, gradient_squared=VECTOR)
OPERATIONS = {
    "root": Operation(
        "The least integer m >= 0 with m^2 >= value.", fields(value=RATIO), fields(root=INTEGER)
    ),
    "derive": Operation(
        "The squares of B_1..B_T and C_1..C_T by GU-8, with tau = 1/2. mu, beta and F0 are exact; "
        "F0 null stands for infinity.",
        fields(
            dimension=SMALL, mu=RATIO, beta=RATIO, F0=either(RATIO, NULL), fraction_bits=SMALL,
            step_bits=SMALL, mixing=VECTOR, gradient=VECTOR, max_degree=SMALL,
            start_squared=INTEGER,
        ),
        SQUARES,
    ),
    "configure": Operation(
        "The squares of real bounds, each first rounded up to lattice units, for every round.",
        fields(fraction_bits=SMALL, rounds=SMALL, model=RATIO, gradient=RATIO),
        SQUARES,
    ),
    "conflicts": Operation(
        "In how many places (x_0, every B_t, every A_t C_t) the bounds reach X_max or G_max.",
        fields(
            step_bits=SMALL, gradient=VECTOR, model_limit=INTEGER, gradient_limit=INTEGER,
            model_squared=VECTOR, gradient_squared=VECTOR, start_squared=INTEGER,
        ),
        fields(conflicts=SMALL),
    ),
}  # fmt: skip


def _root(name: str, comment: str, value: Fraction | int) -> Case:
    return make(
        f"bounds/root/{name}", "GU-8", comment, {"value": ratio(value)},
        lambda: {"root": whole(root(value))},
    )  # fmt: skip


def _squares(found: Bounds) -> Json:
    return {
        "model_squared": wholes(found.model_squared),
        "gradient_squared": wholes(found.gradient_squared),
    }


def _derive(
    name: str, comment: str, constants: tuple[int, float, float, float],
    steps: tuple[int, int, Sequence[int], Sequence[int]], *, degree: int = 2, start: int = 0,
    refused: str | None = None,
) -> Case:  # fmt: skip
    d, mu, beta, F0 = constants
    f, k, mixing, gradient = steps

    def compute() -> Json:
        schedule = Schedule(Precision(f, k), tuple(mixing), tuple(gradient))
        given = GivenConstants(d, mu, beta, F0)
        return _squares(derive_bounds(given, schedule, degree, start_squared=start))

    given = {
        "dimension": d, "mu": ratio(mu), "beta": ratio(beta),
        "F0": None if float("inf") == F0 else ratio(F0), "fraction_bits": f, "step_bits": k,
        "mixing": wholes(mixing), "gradient": wholes(gradient), "max_degree": degree,
        "start_squared": whole(start),
    }  # fmt: skip
    return make(f"bounds/derive/{name}", "GU-8 AN-5", comment, given, compute, refused=refused)


def _configure(name: str, comment: str, bits: int, model: float, gradient: float,
               refused: str | None = None) -> Case:  # fmt: skip
    return make(
        f"bounds/configure/{name}", "GU-8 LV-2", comment,
        {"fraction_bits": bits, "rounds": 2, "model": ratio(model), "gradient": ratio(gradient)},
        lambda: _squares(configured_bounds(model, gradient, 2, Precision(bits, 0))),
        refused=refused,
    )  # fmt: skip


def _conflicts(name: str, comment: str, models: Sequence[int], gradients: Sequence[int],
               start: int = 0) -> Case:  # fmt: skip
    k, steps, limits = 1, (3, 2), (8, 50)

    def compute() -> Json:
        lattice = LatticeParameters(
            1, Schedule(Precision(0, k), (1, 1), steps), 1, 101, model_limit=limits[0],
            gradient_limit=limits[1],
        )  # fmt: skip
        bounds = Bounds(tuple(models), tuple(gradients))
        return {"conflicts": len(range_conflicts(bounds, lattice, start))}

    given = {
        "step_bits": k, "gradient": wholes(steps), "model_limit": whole(limits[0]),
        "gradient_limit": whole(limits[1]), "model_squared": wholes(models),
        "gradient_squared": wholes(gradients), "start_squared": whole(start),
    }  # fmt: skip
    return make(f"bounds/conflicts/{name}", "GU-8", comment, given, compute)


def family() -> Family:
    """All cases of the bounds."""
    worked = (4, 2, (1, 1), (2, 2))
    long = (28, 20, (95325,) * 6, (873813, 748983, 655360, 582542, 524288, 476625))
    return Family(
        "bounds",
        "The norm bounds B_t and C_t, as squares in lattice units: GU-8 of spec/guarantees.md.",
        ("For each case, compute the operation named in `operation` from `input` and compare; "
         "rational arithmetic, no floating point.",),
        OPERATIONS,
        (
            _root("zero", "0", 0),
            _root("negative", "negative values have root 0", -3),
            _root("square", "a square", 144),
            _root("above-a-square", "the next integer", 145),
            _root("rational", "rounded up first", Fraction(1, 3)),
            _root("wide", "more than a double holds", 2**200 + 1),
            _derive("worked-example", "B = (17, 26), C = (35, 52) of local-validate.md",
                    (1, 1.0, 1.0, 2.0), worked),
            _derive("two-dimensions", "the slack grows with the dimension", (2, 1.0, 4.0, 0.5),
                    worked),
            _derive("long-steps", "alpha beta above 1: only the linear bound", (1, 1.0, 4.0, 2.0),
                    worked),
            _derive("start", "x_0 is not zero", (1, 1.0, 1.0, 2.0), worked, start=100),
            _derive("no-loss", "F0 = 0: only the slack", (3, 0.5, 0.75, 0.0), worked),
            _derive("default-precision", "f = 28, k = 20, the steps 5/(5+t)",
                    (10, 0.5, 1.0, 8.0), long, degree=11),
            _derive("no-mixing-refused", "a_t maxdeg above 2^k", (1, 1.0, 1.0, 2.0), worked,
                    degree=5, refused="GU-8"),
            _derive("unbounded-refused", "F0 is infinite", (1, 1.0, 1.0, float("inf")), worked,
                    refused="GU-8"),
            _derive("not-convex-refused", "mu is 0", (1, 0.0, 1.0, 2.0), worked, refused="GU-8"),
            _derive("negative-mu-refused", "mu is negative", (1, -1.0, 1.0, 2.0), worked,
                    refused="GU-8"),
            _derive("mixing-on-the-limit", "a_t maxdeg = 2^k is allowed", (1, 1.0, 1.0, 2.0),
                    worked, degree=4),
            _derive("mu-above-beta-refused", "mu is above beta", (1, 2.0, 1.0, 2.0), worked,
                    refused="GU-8"),
            _derive("negative-loss-refused", "F0 is negative", (1, 1.0, 1.0, -1.0), worked,
                    refused="GU-8"),
            _configure("exact", "multiples of a unit", 2, 1.5, 3.0),
            _configure("rounded-up", "one tenth", 2, 0.1, 10.1),
            _configure("zero-refused", "a bound is positive", 2, 0.0, 1.0, "LV-2"),
            _configure("negative-refused", "a bound is positive", 2, 1.0, -1.0, "LV-2"),
            _conflicts("none", "7 < 8 and 3 * 16 < 50", (49, 49), (256, 576)),
            _conflicts("all", "8 reaches X_max, 51 and 50 reach G_max", (64, 50), (257, 577), 64),
        ),
    )  # fmt: skip
