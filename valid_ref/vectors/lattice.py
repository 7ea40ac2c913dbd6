"""Vectors of the lattice: rounding, mixing, the update, the relation, the range rule."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from valid_ref import lattice as reference
from valid_ref.document import Json
from valid_ref.lattice import MERSENNE_61, LatticeError, LatticeParameters, default_limits
from valid_ref.schedule import Precision, Schedule, make_schedule
from valid_ref.vectors.document import COMPARE, VectorCase, VectorFamily, operation
from valid_ref.vectors.schema import (
    DOUBLE,
    FLAG,
    INTEGER,
    RATIO,
    SMALL,
    VECTOR,
    Vector,
    either,
    fields,
    integer_vector,
    many,
)


def _one_round(step_bits: int, a: int = 1, A: int = 1) -> LatticeParameters:
    """Parameters for one round, X_max and G_max as large as they can be."""
    return default_limits(1, Schedule(Precision(0, step_bits), (a,), (A,)), 4, MERSENNE_61)


@operation("lattice/step-size", fields(step_bits=SMALL, size=RATIO), fields(step=INTEGER), "AR-2")
def step_size(step_bits: int, size: Fraction) -> Json:
    """The integer step a_t or A_t of a real step size, as a multiple of 2^-step_bits."""
    made = make_schedule(1, lambda _t: size, lambda _t: Fraction(1), Precision(0, step_bits))
    return {"step": made.A(1)}


@operation(
    "lattice/limits",
    fields(step_bits=SMALL, mixing=VECTOR, max_degree=SMALL, prime=INTEGER),
    fields(model_limit=INTEGER, gradient_limit=INTEGER),
    "AR-10",
)
def limits(step_bits: int, mixing: Vector, max_degree: int, prime: int) -> Json:
    """The default X_max and G_max of the range rule."""
    schedule = Schedule(Precision(0, step_bits), tuple(mixing), (1,) * len(mixing))
    found = default_limits(1, schedule, max_degree, prime)
    return {"model_limit": found.model_limit, "gradient_limit": found.gradient_limit}


@operation(
    "lattice/range-rule",
    fields(
        step_bits=SMALL,
        mixing=VECTOR,
        max_degree=SMALL,
        prime=INTEGER,
        model_limit=INTEGER,
        gradient_limit=INTEGER,
    ),
    fields(largest_intermediate=INTEGER),
    "AR-10",
)
def range_rule(step_bits: int, mixing: Vector, max_degree: int, prime: int, **limits: Any) -> Json:
    """Whether X_max and G_max fit: the largest intermediate, which must be below
    min(2^62, prime).
    """
    schedule = Schedule(Precision(0, step_bits), tuple(mixing), (1,))
    found = LatticeParameters(1, schedule, max_degree, prime, **limits)
    return {"largest_intermediate": found.largest_intermediate}


@operation(
    "lattice/to-lattice",
    fields(fraction_bits=SMALL, values=many(DOUBLE)),
    fields(entries=VECTOR),
    "AR-3",
)
def to_lattice(fraction_bits: int, values: Sequence[float]) -> Json:
    """The lattice point of doubles: nearest integers to value * 2^fraction_bits, ties to even,
    magnitudes below 2^62.
    """
    return {"entries": reference.to_lattice(values, Precision(fraction_bits, 0))}


@operation(
    "lattice/point",
    fields(fraction_bits=SMALL, step_bits=SMALL, Y=VECTOR),
    fields(values=many(DOUBLE)),
    "AR-4",
)
def point(fraction_bits: int, step_bits: int, Y: Vector) -> Json:
    """The doubles at which the private gradient is asked: Y / 2^(fraction_bits + step_bits)."""
    parameters = default_limits(1, Schedule(Precision(fraction_bits, step_bits), (1,), (1,)), 1)
    return {"values": reference.evaluation_point(parameters, integer_vector(Y))}


@operation("lattice/shift", fields(bits=SMALL, entries=VECTOR), fields(entries=VECTOR), "AR-5")
def shift(bits: int, entries: Vector) -> Json:
    """Entries / 2^bits, rounded to the nearest integer, ties to even."""
    return {"entries": reference.shift_half_even(integer_vector(entries), bits)}


@operation(
    "lattice/mix",
    fields(step_bits=SMALL, a=INTEGER, own=VECTOR, neighbours=many(VECTOR)),
    fields(Y=VECTOR),
    "AR-4",
)
def mix(step_bits: int, a: int, own: Vector, neighbours: Sequence[Vector]) -> Json:
    """Y of the own model and the models of the neighbours, with the mixing step a."""
    others = [integer_vector(model) for model in neighbours]
    return {"Y": reference.mix(_one_round(step_bits, a), 1, integer_vector(own), others)}


@operation(
    "lattice/update",
    fields(
        step_bits=SMALL,
        A=INTEGER,
        model_limit=INTEGER,
        gradient_limit=INTEGER,
        Y=VECTOR,
        Ghat=VECTOR,
    ),
    either(fields(model=VECTOR, scaled_gradient=VECTOR), fields(silent={"const": True})),
    "AR-5 AR-14",
)
def update(step_bits: int, A: int, Y: Vector, Ghat: Vector, **limits: Any) -> Json:
    """Model and scaled gradient from Y and the lattice gradient Ghat with the gradient step A;
    `silent` if the update leaves the range and the agent must alarm and fall silent.
    """
    schedule = Schedule(Precision(0, step_bits), (1,), (A,))
    parameters = LatticeParameters(1, schedule, 1, MERSENNE_61, **limits)
    gradient = np.array([float(entry) for entry in Ghat])
    try:
        x, gamma = reference.step(parameters, 1, integer_vector(Y), gradient)
    except LatticeError:
        return {"silent": True}
    return {"model": x, "scaled_gradient": gamma}


@operation(
    "lattice/residual",
    fields(
        step_bits=SMALL, a=INTEGER, previous=VECTOR, neighbours=many(VECTOR), x=VECTOR, Gamma=VECTOR
    ),
    fields(residual=VECTOR),
    "AR-6",
)
def residual(step_bits: int, a: int, **vectors: Json) -> Json:
    """2^step_bits x - Y + Gamma, where Y mixes the previous models: zero iff the relation holds."""
    previous, x, gamma = (integer_vector(vectors[name]) for name in ("previous", "x", "Gamma"))
    neighbours = [integer_vector(model) for model in vectors["neighbours"]]
    parameters = _one_round(step_bits, a)
    return {"residual": reference.residual(parameters, 1, previous, neighbours, x=x, gamma=gamma)}


@operation(
    "lattice/read-gradient", fields(A=INTEGER, Gamma=VECTOR), fields(gradient=VECTOR), "AR-8"
)
def read_gradient(A: int, Gamma: Vector) -> Json:
    """The gradient read off a message: Gamma / A, rounded towards minus infinity."""
    return {"gradient": reference.read_gradient(_one_round(2, A=A), 1, integer_vector(Gamma))}


@operation("lattice/squared-norm", fields(entries=VECTOR), fields(square=INTEGER), "AR-12")
def squared_norm(entries: Vector) -> Json:
    """The exact sum of squares."""
    return {"square": reference.squared_norm(integer_vector(entries))}


@operation(
    "lattice/in-range", fields(entries=VECTOR, limit=INTEGER), fields(in_range=FLAG), "AR-11"
)
def in_range(entries: Vector, limit: int) -> Json:
    """Whether every entry is below the limit in magnitude."""
    return {"in_range": reference.within(integer_vector(entries), limit)}


OPERATIONS = (
    step_size,
    limits,
    range_rule,
    to_lattice,
    point,
    shift,
    mix,
    update,
    residual,
    read_gradient,
    squared_norm,
    in_range,
)


def _cases() -> tuple[VectorCase, ...]:
    large = 2**38
    small: dict[str, Any] = {"model_limit": 8, "gradient_limit": 50}
    wide: dict[str, Any] = {"model_limit": 2**30, "gradient_limit": 2**50}

    def rule(name: str, comment: str, model: int, gradient: int, **options: Any) -> VectorCase:
        limits = {"model_limit": model, "gradient_limit": gradient}
        given = {"max_degree": 1, "prime": 101, **limits, **options}
        return range_rule(name, comment, 1, (1,), **given)

    def relation(name: str, comment: str, x: int, gamma: int) -> VectorCase:
        before: dict[str, Any] = {"previous": [2], "neighbours": [[-1]]}
        return residual(name, comment, 1, 1, **before, x=[x], Gamma=[gamma])

    return (
        step_size("quarter", "1/4 is 2 of 8", 3, Fraction(1, 4)),
        step_size("tie-down-to-even", "2.5 of 8 goes to 2", 3, Fraction(5, 16)),
        step_size("tie-up-to-even", "3.5 of 8 goes to 4", 3, Fraction(7, 16)),
        step_size("third", "1/3 of 2^20, not a dyadic rational", 20, Fraction(1, 3)),
        step_size("just-above-half", "rounds up to the smallest step", 3, Fraction(17, 256)),
        step_size("half-refused", "0.5 of 8 goes to 0: no step", 3, Fraction(1, 16),
                  refused="AR-2"),
        step_size("zero-refused", "no step at all", 3, Fraction(0), refused="AR-2"),
        step_size("negative-refused", "steps are positive", 3, Fraction(-1), refused="AR-2"),
        step_size("largest", "2^62 - 1, the largest step", 3, Fraction(2**62 - 1, 8)),
        step_size("too-large-refused", "2^62 is no step", 3, Fraction(2**59), refused="AR-2"),
        step_size("sixty-bits", "k = 60 is allowed", 60, Fraction(3, 2**60)),
        step_size("too-many-bits-refused", "k = 61 is not", 61, Fraction(3, 2**60), refused="AR-1"),
        to_lattice("exact", "multiples of 2^-2", 2, [0.0, 0.25, -1.5, 3.0]),
        to_lattice("ties-to-even", "halves of a unit", 2, [0.125, 0.375, -0.125, -0.375, 0.625]),
        to_lattice("nearest", "one tenth and the double below it", 28,
                   [0.1, 0.09999999999999999, -0.1]),
        to_lattice("signed-zero", "minus zero is zero", 28, [-0.0, 5e-324, -5e-324]),
        to_lattice("largest", "the largest double below 2^62, and its negative", 0,
                   [2.0**62 - 2.0**9, -(2.0**62) + 2.0**9]),
        to_lattice("beyond-53-bits", "2^53 units and more are exact integers", 28,
                   [2.0**30, -(2.0**33)]),
        to_lattice("nan-refused", "not a number", 2, [1.0, float("nan")], refused="AR-3"),
        to_lattice("infinity-refused", "not finite", 2, [float("inf")], refused="AR-3"),
        to_lattice("minus-infinity-refused", "not finite", 2, [float("-inf")], refused="AR-3"),
        to_lattice("too-large-refused", "2^62 units", 2, [2.0**60], refused="AR-3"),
        to_lattice("overflow-refused", "the product with 2^f overflows", 60, [1.7e308],
                   refused="AR-3"),
        to_lattice("minus-too-large-refused", "-2^62 units", 60, [0.0, -4.0], refused="AR-3"),
        to_lattice("too-many-bits-refused", "f = 61", 61, [0.0], refused="AR-1"),
        point("exact", "small multiples", 2, 1, [0, 1, 2, -3]),
        point("rounded", "more than 53 bits: the nearest double, ties to even", 28, 20,
              [2**53 + 1, 2**53 + 3, -(2**53) - 1, 2**60 + 2**7 + 1]),
        shift("no-bits", "nothing to round", 0, [5, -5, 0]),
        shift("ties", "halves go to even, of either sign", 1, [1, 3, 5, -1, -3, -5]),
        shift("quarters", "all remainders of 4", 2, [*range(-9, 10)]),
        shift("wide", "the ends of the range of sums", 20,
              [2**62 - 1, -(2**62) + 1, 2**61 + 2**19, 2**61 + 2**20 + 2**19]),
        limits("toy", "the toy sizes of arithmetic.md", 1, [1], max_degree=1, prime=101),
        limits("default", "k = 20, eta = 1/11, degree 10: the sizes in practice", 20, [95325],
               max_degree=10, prime=MERSENNE_61),
        limits("largest-step-counts", "the maximum of a_t", 2, [1, 3, 2], max_degree=2,
               prime=10007),
        limits("prime-above-word", "a prime above 2^62: 2^62 decides", 20, [1], max_degree=1,
               prime=2**63 - 25),
        limits("least", "X_max = 1 is the least there is", 0, [1], max_degree=1, prime=11),
        limits("no-room-refused", "no model fits below the prime", 0, [1], max_degree=1, prime=7,
               refused="AR-10"),
        limits("small-prime-refused", "k = 20 leaves no room below 10007", 20, [1], max_degree=1,
               prime=10007, refused="AR-10"),
        rule("fits", "98 is below 101", 8, 50),
        rule("largest", "100 is below 101", 8, 52),
        rule("reaches-prime-refused", "101 is not below 101", 8, 53, refused="AR-10"),
        rule("zero-model-refused", "X_max is at least 1", 0, 50, refused="AR-10"),
        rule("zero-gradient-refused", "G_max is at least 1", 8, 0, refused="AR-10"),
        rule("zero-degree-refused", "maxdeg is at least 1", 8, 50, max_degree=0, refused="AR-10"),
        in_range("inside", "just below, both signs", [7, -7, 0], 8),
        in_range("on-the-limit", "the limit is out of range", [0, 8], 8),
        in_range("on-the-negative-limit", "so is its negative", [-8], 8),
        in_range("least-word", "-2^63 has no absolute value in 64 bits", [-(2**63)], 2**61),
        mix("worked-example", "agent 0 in round 2 of learn-model.md", 1, 1, [2], neighbours=[[-1]]),
        mix("alone", "equal models stay", 4, 3, [5, -7], neighbours=[[5, -7], [5, -7]]),
        mix("three-neighbours", "k = 0: no fraction", 0, 1, [1, 2],
            neighbours=[[0, 0], [5, -5], [1, 1]]),
        mix("large", "entries near X_max, k = 20", 20, 2**18, [large], neighbours=[[-large]] * 4),
        update("tie-to-even", "2.5 becomes 2; Gamma absorbs the rounding", 1, 1, **small, Y=[1],
               Ghat=[-4]),
        update("negative-tie", "-0.5 becomes 0", 1, 1, **small, Y=[1], Ghat=[2]),
        update("no-gradient", "Y alone is rounded", 2, 3, **wide, Y=[7, -7, 6, -6],
               Ghat=[0, 0, 0, 0]),
        update("no-step-bits", "k = 0 rounds nothing", 0, 5, **wide, Y=[11, -3], Ghat=[2, -2]),
        update("several", "A = 3, k = 2", 2, 3, **wide, Y=[10, -11, 5], Ghat=[1, -2, 7]),
        update("last-model", "|x| = X_max - 1", 1, 1, **small, Y=[14], Ghat=[0]),
        update("model-on-limit", "|x| = X_max falls silent", 1, 1, **small, Y=[16], Ghat=[0]),
        update("last-gamma", "|Gamma| = G_max - 1", 0, 1, model_limit=50, gradient_limit=50, Y=[0],
               Ghat=[-49]),
        update("gamma-on-limit", "|Gamma| = G_max falls silent", 0, 1, model_limit=51,
               gradient_limit=50, Y=[0], Ghat=[-50]),
        update("product-wraps", "A Ghat would wrap to 0 in 64 bits: recognised before", 4, 2**4,
               **wide, Y=[0], Ghat=[2**60]),
        update("one-entry-of-two", "one entry out of range silences the whole message", 1, 1,
               **small, Y=[0, 16], Ghat=[0, 0]),
        relation("holds", "2*2 = 2*2 + (-1 - 2) + 3", 2, -3),
        relation("gradient-off-by-one", "Gamma one too large", 2, -2),
        relation("model-off-by-one", "a unit of the model counts 2^k", 3, -3),
        read_gradient("exact", "multiples of A", 3, [0, 3, -3, 30]),
        read_gradient("floor", "towards minus infinity, not towards zero", 4, [1, -1, 7, -7, -8]),
        read_gradient("one", "A = 1 reads Gamma itself", 1, [5, -5]),
        read_gradient("large", "near G_max", 7, [2**60 - 2, -(2**60) + 2]),
        squared_norm("zero", "no length", [0, 0]),
        squared_norm("small", "3, 4, -12", [3, 4, -12]),
        squared_norm("beyond-64-bits", "squares of 62 bits add up to 126",
                     [2**62 - 1, -(2**62) + 1, 1]),
        squared_norm("least-word", "-2^63 squared", [-(2**63)]),
    )  # fmt: skip


def family() -> VectorFamily:
    """All cases of the lattice."""
    return VectorFamily(
        "lattice",
        "Exact arithmetic of spec/arithmetic.md: every operation that agents do on integers.",
        (COMPARE,),
        OPERATIONS,
        _cases(),
    )
