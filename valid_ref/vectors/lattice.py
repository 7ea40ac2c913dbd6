"""Vectors of the lattice: rounding, mixing, the update, the relation, the range rule."""

from collections.abc import Iterable, Sequence
from fractions import Fraction

import numpy as np

from valid_ref.lattice import (
    MERSENNE_61,
    LatticeError,
    LatticeParameters,
    default_limits,
    evaluation_point,
    mix,
    read_gradient,
    residual,
    shift_half_even,
    squared_norm,
    step,
    to_lattice,
    within,
)
from valid_ref.schedule import Precision, Schedule, make_schedule
from valid_ref.vectors.document import Case, Family, Json, make
from valid_ref.vectors.lattice_forms import OPERATIONS
from valid_ref.vectors.numbers import double, integer_vector, ratio, rows, whole, wholes


def _lattice(
    step_bits: int, a: int, A: int, limits: tuple[int, int] | None = None, degree: int = 4
) -> LatticeParameters:
    """Parameters for one round; X_max and G_max as large as they can be unless given."""
    schedule = Schedule(Precision(0, step_bits), mixing=(a,), gradient=(A,))
    if limits is None:
        return default_limits(1, schedule, degree, MERSENNE_61)
    return LatticeParameters(
        1, schedule, degree, MERSENNE_61, model_limit=limits[0], gradient_limit=limits[1]
    )


def _step_size(
    name: str, comment: str, bits: int, size: Fraction, refused: str | None = None
) -> Case:
    def compute() -> Json:
        made = make_schedule(1, lambda _t: size, lambda _t: Fraction(1), Precision(0, bits))
        return {"step": whole(made.A(1))}

    given = {"step_bits": bits, "size": ratio(size)}
    return make(f"lattice/step-size/{name}", "AR-2", comment, given, compute, refused=refused)


def _limits(name: str, comment: str, bits: int, mixing: Sequence[int], degree: int, prime: int,
            refused: str | None = None) -> Case:  # fmt: skip
    def compute() -> Json:
        schedule = Schedule(Precision(0, bits), tuple(mixing), (1,) * len(mixing))
        found = default_limits(1, schedule, degree, prime)
        return {
            "model_limit": whole(found.model_limit),
            "gradient_limit": whole(found.gradient_limit),
        }

    given = {
        "step_bits": bits, "mixing": wholes(mixing), "max_degree": degree, "prime": whole(prime),
    }  # fmt: skip
    return make(f"lattice/limits/{name}", "AR-10", comment, given, compute, refused=refused)


def _range_rule(
    name: str, comment: str, model: int, gradient: int, refused: str | None = None,
    degree: int = 1,
) -> Case:  # fmt: skip
    bits, mixing, prime = 1, (1,), 101

    def compute() -> Json:
        found = LatticeParameters(
            1, Schedule(Precision(0, bits), mixing, (1,)), degree, prime,
            model_limit=model, gradient_limit=gradient,
        )  # fmt: skip
        return {"largest_intermediate": whole(found.largest_intermediate)}

    given = {
        "step_bits": bits, "mixing": wholes(mixing), "max_degree": degree, "prime": whole(prime),
        "model_limit": whole(model), "gradient_limit": whole(gradient),
    }  # fmt: skip
    return make(f"lattice/range-rule/{name}", "AR-10", comment, given, compute, refused=refused)


def _to_lattice(
    name: str, comment: str, bits: int, values: Iterable[float], refused: str | None = None
) -> Case:
    found = [*values]
    return make(
        f"lattice/to-lattice/{name}", "AR-3", comment,
        {"fraction_bits": bits, "values": [double(value) for value in found]},
        lambda: {"entries": wholes(to_lattice(found, Precision(bits, 0)).tolist())},
        refused=refused,
    )  # fmt: skip


def _point(name: str, comment: str, f: int, k: int, Y: Sequence[int]) -> Case:
    parameters = default_limits(1, Schedule(Precision(f, k), (1,), (1,)), 1)
    return make(
        f"lattice/point/{name}", "AR-4", comment,
        {"fraction_bits": f, "step_bits": k, "Y": wholes(Y)},
        lambda: {"values": [double(v) for v in evaluation_point(parameters, integer_vector(Y))]},
    )  # fmt: skip


def _shift(name: str, comment: str, bits: int, entries: Sequence[int]) -> Case:
    return make(
        f"lattice/shift/{name}", "AR-5", comment, {"bits": bits, "entries": wholes(entries)},
        lambda: {"entries": wholes(shift_half_even(integer_vector(entries), bits).tolist())},
    )  # fmt: skip


def _mix(name: str, comment: str, k: int, a: int, own: Sequence[int],
         neighbours: Sequence[Sequence[int]]) -> Case:  # fmt: skip
    vectors = [integer_vector(model) for model in neighbours]
    return make(
        f"lattice/mix/{name}", "AR-4", comment,
        {"step_bits": k, "a": whole(a), "own": wholes(own), "neighbours": rows(neighbours)},
        lambda: {"Y": wholes(mix(_lattice(k, a, 1), 1, integer_vector(own), vectors).tolist())},
    )  # fmt: skip


def _update(name: str, comment: str, k: int, A: int, Y: Sequence[int], Ghat: Sequence[int],
            limits: tuple[int, int] = (2**30, 2**50)) -> Case:  # fmt: skip
    def compute() -> Json:
        gradient = np.array([float(entry) for entry in Ghat])
        try:
            x, gamma = step(_lattice(k, 1, A, limits, 1), 1, integer_vector(Y), gradient)
        except LatticeError:
            return {"silent": True}
        return {"model": wholes(x.tolist()), "scaled_gradient": wholes(gamma.tolist())}

    given = {
        "step_bits": k, "A": whole(A), "model_limit": whole(limits[0]),
        "gradient_limit": whole(limits[1]), "Y": wholes(Y), "Ghat": wholes(Ghat),
    }  # fmt: skip
    return make(f"lattice/update/{name}", "AR-5 AR-14", comment, given, compute)


def _residual(name: str, comment: str, x: int, gamma: int) -> Case:
    k, a, previous, neighbours = 1, 1, [2], [[-1]]

    def compute() -> Json:
        found = residual(
            _lattice(k, a, 1), 1, integer_vector(previous), [integer_vector(neighbours[0])],
            integer_vector([x]), integer_vector([gamma]),
        )  # fmt: skip
        return {"residual": wholes(found.tolist())}

    given = {
        "step_bits": k, "a": whole(a), "previous": wholes(previous),
        "neighbours": rows(neighbours), "x": wholes([x]), "Gamma": wholes([gamma]),
    }  # fmt: skip
    return make(f"lattice/residual/{name}", "AR-6", comment, given, compute)


def _read(name: str, comment: str, A: int, gamma: Sequence[int]) -> Case:
    return make(
        f"lattice/read-gradient/{name}", "AR-8", comment, {"A": whole(A), "Gamma": wholes(gamma)},
        lambda: {
            "gradient": wholes(read_gradient(_lattice(2, 1, A), 1, integer_vector(gamma)).tolist())
        },
    )  # fmt: skip


def _norm(name: str, comment: str, entries: Sequence[int]) -> Case:
    return make(
        f"lattice/squared-norm/{name}", "AR-12", comment, {"entries": wholes(entries)},
        lambda: {"square": whole(squared_norm(integer_vector(entries)))},
    )  # fmt: skip


def _in_range(name: str, comment: str, entries: Sequence[int], limit: int) -> Case:
    return make(
        f"lattice/in-range/{name}", "AR-11", comment,
        {"entries": wholes(entries), "limit": whole(limit)},
        lambda: {"in_range": within(integer_vector(entries), limit)},
    )  # fmt: skip


def _roundings() -> list[Case]:
    """Steps, the way onto the lattice, the point of the gradient, the shift."""
    return [
        _step_size("quarter", "1/4 is 2 of 8", 3, Fraction(1, 4)),
        _step_size("tie-down-to-even", "2.5 of 8 goes to 2", 3, Fraction(5, 16)),
        _step_size("tie-up-to-even", "3.5 of 8 goes to 4", 3, Fraction(7, 16)),
        _step_size("third", "1/3 of 2^20, not a dyadic rational", 20, Fraction(1, 3)),
        _step_size("just-above-half", "rounds up to the smallest step", 3, Fraction(17, 256)),
        _step_size("half-refused", "0.5 of 8 goes to 0: no step", 3, Fraction(1, 16), "AR-2"),
        _step_size("zero-refused", "no step at all", 3, Fraction(0), "AR-2"),
        _step_size("negative-refused", "steps are positive", 3, Fraction(-1), "AR-2"),
        _step_size("largest", "2^62 - 1, the largest step", 3, Fraction(2**62 - 1, 8)),
        _step_size("too-large-refused", "2^62 is no step", 3, Fraction(2**59), "AR-2"),
        _step_size("sixty-bits", "k = 60 is allowed", 60, Fraction(3, 2**60)),
        _step_size("too-many-bits-refused", "k = 61 is not", 61, Fraction(3, 2**60), "AR-1"),
        _to_lattice("exact", "multiples of 2^-2", 2, [0.0, 0.25, -1.5, 3.0]),
        _to_lattice("ties-to-even", "halves of a unit", 2, [0.125, 0.375, -0.125, -0.375, 0.625]),
        _to_lattice("nearest", "one tenth and the double below it", 28,
                    [0.1, 0.09999999999999999, -0.1]),
        _to_lattice("signed-zero", "minus zero is zero", 28, [-0.0, 5e-324, -5e-324]),
        _to_lattice("largest", "the largest double below 2^62, and its negative", 0,
                    [2.0**62 - 2.0**9, -(2.0**62) + 2.0**9]),
        _to_lattice("beyond-53-bits", "2^53 units and more are exact integers", 28,
                    [2.0**30, -(2.0**33)]),
        _to_lattice("nan-refused", "not a number", 2, [1.0, float("nan")], "AR-3"),
        _to_lattice("infinity-refused", "not finite", 2, [float("inf")], "AR-3"),
        _to_lattice("minus-infinity-refused", "not finite", 2, [float("-inf")], "AR-3"),
        _to_lattice("too-large-refused", "2^62 units", 2, [2.0**60], "AR-3"),
        _to_lattice("overflow-refused", "the product with 2^f overflows", 60, [1.7e308], "AR-3"),
        _to_lattice("minus-too-large-refused", "-2^62 units", 60, [0.0, -4.0], "AR-3"),
        _to_lattice("too-many-bits-refused", "f = 61", 61, [0.0], "AR-1"),
        _point("exact", "small multiples", 2, 1, [0, 1, 2, -3]),
        _point("rounded", "more than 53 bits: the nearest double, ties to even", 28, 20,
               [2**53 + 1, 2**53 + 3, -(2**53) - 1, 2**60 + 2**7 + 1]),
        _shift("no-bits", "nothing to round", 0, [5, -5, 0]),
        _shift("ties", "halves go to even, of either sign", 1, [1, 3, 5, -1, -3, -5]),
        _shift("quarters", "all remainders of 4", 2, [*range(-9, 10)]),
        _shift("wide", "the ends of the range of sums", 20,
               [2**62 - 1, -(2**62) + 1, 2**61 + 2**19, 2**61 + 2**20 + 2**19]),
    ]  # fmt: skip


def _ranges() -> list[Case]:
    """The range rule and its defaults."""
    return [
        _limits("toy", "the toy sizes of arithmetic.md", 1, [1], 1, 101),
        _limits("default", "k = 20, eta = 1/11, degree 10: the sizes in practice", 20, [95325], 10,
                MERSENNE_61),
        _limits("largest-step-counts", "the maximum of a_t", 2, [1, 3, 2], 2, 10007),
        _limits("prime-above-word", "a prime above 2^62: 2^62 decides", 20, [1], 1, 2**63 - 25),
        _limits("least", "X_max = 1 is the least there is", 0, [1], 1, 11),
        _limits("no-room-refused", "no model fits below the prime", 0, [1], 1, 7, "AR-10"),
        _limits("small-prime-refused", "k = 20 leaves no room below 10007", 20, [1], 1, 10007,
                "AR-10"),
        _range_rule("fits", "98 is below 101", 8, 50),
        _range_rule("largest", "100 is below 101", 8, 52),
        _range_rule("reaches-prime-refused", "101 is not below 101", 8, 53, "AR-10"),
        _range_rule("zero-model-refused", "X_max is at least 1", 0, 50, "AR-10"),
        _range_rule("zero-gradient-refused", "G_max is at least 1", 8, 0, "AR-10"),
        _range_rule("zero-degree-refused", "maxdeg is at least 1", 8, 50, "AR-10", 0),
        _in_range("inside", "just below, both signs", [7, -7, 0], 8),
        _in_range("on-the-limit", "the limit is out of range", [0, 8], 8),
        _in_range("on-the-negative-limit", "so is its negative", [-8], 8),
        _in_range("least-word", "-2^63 has no absolute value in 64 bits", [-(2**63)], 2**61),
    ]  # fmt: skip


def _updates() -> list[Case]:
    """Mixing, the update, the relation, the gradient that is read off."""
    large = 2**38
    return [
        _mix("worked-example", "agent 0 in round 2 of learn-model.md", 1, 1, [2], [[-1]]),
        _mix("alone", "equal models stay", 4, 3, [5, -7], [[5, -7], [5, -7]]),
        _mix("three-neighbours", "k = 0: no fraction", 0, 1, [1, 2], [[0, 0], [5, -5], [1, 1]]),
        _mix("large", "entries near X_max, k = 20", 20, 2**18, [large], [[-large]] * 4),
        _update("tie-to-even", "2.5 becomes 2; Gamma absorbs the rounding", 1, 1, [1], [-4],
                (8, 50)),
        _update("negative-tie", "-0.5 becomes 0", 1, 1, [1], [2], (8, 50)),
        _update("no-gradient", "Y alone is rounded", 2, 3, [7, -7, 6, -6], [0, 0, 0, 0]),
        _update("no-step-bits", "k = 0 rounds nothing", 0, 5, [11, -3], [2, -2]),
        _update("several", "A = 3, k = 2", 2, 3, [10, -11, 5], [1, -2, 7]),
        _update("last-model", "|x| = X_max - 1", 1, 1, [14], [0], (8, 50)),
        _update("model-on-limit", "|x| = X_max falls silent", 1, 1, [16], [0], (8, 50)),
        _update("last-gamma", "|Gamma| = G_max - 1", 0, 1, [0], [-49], (50, 50)),
        _update("gamma-on-limit", "|Gamma| = G_max falls silent", 0, 1, [0], [-50], (51, 50)),
        _update("product-wraps", "A Ghat would wrap to 0 in 64 bits: recognised before", 4, 2**4,
                [0], [2**60]),
        _update("one-entry-of-two", "one entry out of range silences the whole message", 1, 1,
                [0, 16], [0, 0], (8, 50)),
        _residual("holds", "2*2 = 2*2 + (-1 - 2) + 3", 2, -3),
        _residual("gradient-off-by-one", "Gamma one too large", 2, -2),
        _residual("model-off-by-one", "a unit of the model counts 2^k", 3, -3),
        _read("exact", "multiples of A", 3, [0, 3, -3, 30]),
        _read("floor", "towards minus infinity, not towards zero", 4, [1, -1, 7, -7, -8]),
        _read("one", "A = 1 reads Gamma itself", 1, [5, -5]),
        _read("large", "near G_max", 7, [2**60 - 2, -(2**60) + 2]),
        _norm("zero", "no length", [0, 0]),
        _norm("small", "3, 4, -12", [3, 4, -12]),
        _norm("beyond-64-bits", "squares of 62 bits add up to 126", [2**62 - 1, -(2**62) + 1, 1]),
        _norm("least-word", "-2^63 squared", [-(2**63)]),
    ]  # fmt: skip


def family() -> Family:
    """All cases of the lattice."""
    return Family(
        "lattice",
        "Exact arithmetic of spec/arithmetic.md: every operation that agents do on integers.",
        ("For each case, compute the operation named in `operation` from `input` and compare.",),
        OPERATIONS,
        (*_roundings(), *_ranges(), *_updates()),
    )
