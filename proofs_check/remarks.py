"""Remark 1 and the footnote on the admissible set of all agents.

Proves: AN-13, AN-14.
"""

from fractions import Fraction
from typing import Any

from proofs_check.engines import identity, reals, sp, universal, z3
from proofs_check.framework import Claim, Finding, Method, Proof, Reach, step


@identity(reach=Reach.INSTANCE)
def quadratic_gap() -> dict[str, Any]:
    """AN-13: for loss |x - D|^2/2 the excess is (x - mean)^2/2, here with three agents.

    Proves: AN-13.
    """
    c = sp.symbols("c1:4")
    x = sp.symbols("x")
    mean = sum(c) / 3
    average = sum((x - ci) ** 2 for ci in c) / 6
    least = sum((mean - ci) ** 2 for ci in c) / 6
    return {"excess": average - least - (x - mean) ** 2 / 2}


@universal(reach=Reach.SCALARS)
def strict_convexity() -> Claim:
    """AN-14: two minimisers of a strictly convex loss would have a better point between them.

    Proves: AN-14.
    """
    at_x, at_y, between, least = reals("at_x at_y between least")
    given = {
        "both are minimisers": z3.And(at_x == least, at_y == least),
        "least": between >= least,
        "midpoint": between <= (at_x + at_y) / 2,
    }
    strict = between < (at_x + at_y) / 2
    return Claim(
        given | {"x = y unless strict": z3.Or(strict, z3.Bool("equal"))},
        z3.Bool("equal"),
        drop="x = y unless strict",
    )


@step(Method.COUNTEREXAMPLE)
def printed_upper_bound() -> Finding:
    """A19: printed, f*(P_H x Q_B) bounds f*(P_V) from above: (0, 0, 1) becomes (0, 0, 0)."""

    def least_and_heterogeneity(data: tuple[int, ...]) -> tuple[Fraction, Fraction]:
        mean = Fraction(sum(data), len(data))
        spread = sum(((mean - value) ** 2 for value in data), Fraction(0)) / len(data)
        return spread / 2, spread

    true, spread = least_and_heterogeneity((0, 0, 1))
    attacked, attacked_spread = least_and_heterogeneity((0, 0, 0))
    good = attacked < true == Fraction(1, 9) and max(spread, attacked_spread) <= Fraction(2, 9)
    return Finding(good, f"{attacked} < {true}, both in P_(2/9)")


@step(Method.COUNTEREXAMPLE)
def printed_convexity() -> Finding:
    """A20: printed, convexity makes the admissible set one point: max(|x| - 1, 0)^2/2."""

    def gradient(x: Fraction) -> Fraction:
        return max(abs(x) - 1, Fraction(0)) * (1 if x > 0 else -1)

    flat = [Fraction(k, 10) for k in range(-10, 11)]
    return Finding(all(gradient(x) == 0 for x in flat), "every x in [-1, 1] has gradient 0")


PROOF = Proof(
    "remarks",
    "Remark 1 and the footnote (AN-13, AN-14)",
    (
        quadratic_gap,
        strict_convexity,
        printed_upper_bound,
        printed_convexity,
    ),
    theorems=(
        "Attack.one_model_for_all",
        "Attack.attacked_loss_is_no_less",
    ),
)
