"""Norm bounds B_t, C_t on honest models and gradients, explicit and attained.

Y = |y|^2, G = |g|^2, P = <g, y>, f the loss at y, F0 the loss at 0, in the reduction to scalars.

Proves: AN-5, AN-6.
"""

from fractions import Fraction
from itertools import product
from typing import Any

from proofs_check.contraction import beta, mu
from proofs_check.engines import find_model, identity, reals, sp, universal, z3
from proofs_check.framework import Axiom, Claim, Finding, Method, Proof, Reach, Role, step

Y, G, P, f, F0 = reals("Y G P f F0")
SHAPE = {
    "squares": z3.And(Y >= 0, G >= 0, P * P <= Y * G),
    "0 < mu": mu > 0,
    "mu <= beta": mu <= beta,
    "f >= 0": f >= 0,
    "|g|^2 <= 2 beta f": 2 * beta * f >= G,
    "strong convexity": f - P + mu * Y / 2 <= F0,
}


@universal(reach=Reach.SCALARS)
def gradient_of_nonnegative() -> Claim:
    """AN-5: a nonnegative beta-smooth function has |g|^2 <= 2 beta f: one step of 1/beta.

    Proves: AN-5.
    """
    after = reals("after f")[0]
    given = {
        "beta > 0": beta > 0,
        "square": G >= 0,
        "descent lemma at y - g/beta": after <= f - G / beta + G / (2 * beta),
        "nonnegative": after >= 0,
    }
    return Claim(given, 2 * beta * f >= G, drop="nonnegative")


@universal(axioms=(Axiom.JENSEN,))
def mini_batches() -> Claim:
    """AN-5: the mean of k+1 samples keeps |g|^2 <= 2 beta f and F0 >= f - P + mu|y|^2/2.

    Proves: AN-5.
    """
    k, f2, G2, P2, mean_G = reals("k f2 G2 P2 mean_G")
    given = SHAPE | {
        "k samples": k >= 1,
        "next |g|^2": 2 * beta * f2 >= G2,
        "next convexity": f2 - P2 + mu * Y / 2 <= F0,
        "Jensen": mean_G * (k + 1) <= k * G + G2,
    }
    mean_f, mean_P = (k * f + f2) / (k + 1), (k * P + P2) / (k + 1)
    then = z3.And(mean_G <= 2 * beta * mean_f, mean_f - mean_P + mu * Y / 2 <= F0)
    return Claim(given, then, drop="next convexity")


def attained(rounds: int, h: Fraction, centre: Fraction, steps: list[Fraction]) -> list[Any]:
    """|x|/B_t and |g|/C_t when samples at +centre push and one at -centre is then asked."""
    zero = h * centre
    x = B = Fraction(0)
    ratios = []
    for t in range(rounds):
        C = zero + h * B
        ratios.append(h * abs(x + centre) / C)
        x = x - steps[t] * h * (x - centre)
        B = abs(1 - steps[t] * h) * B + steps[t] * zero
        ratios.append(abs(x) / B)
    return ratios


@step(Method.EXACT, role=Role.INSTANCE)
def attained_bounds() -> Finding:
    """AN-5: sharpness. Data at +c and -c with mu = beta attain B_t and C_t in every round."""
    count, worst = 0, Fraction(1)
    for h, c, a in product((1, 3), (1, 7), (Fraction(1, 10), Fraction(1, 3), Fraction(1, 4))):
        steps = [a / (1 + Fraction(t, 5)) for t in range(40)]
        ratios = attained(40, Fraction(h), Fraction(c), steps)
        worst, count = min(worst, *ratios), count + len(ratios)
    return Finding(worst == 1, f"ratio exactly {worst} in {count} comparisons")


@identity(reach=Reach.INSTANCE, role=Role.INSTANCE)
def invariant_ball_attained() -> dict[str, Any]:
    """AN-5: at f = mu x^2/2 + F0 - mu x c with c^2 = 2 F0/mu the ball is kept with equality.

    Proves: AN-5.
    """
    m, c, a = sp.symbols("mu c alpha", positive=True)
    return {"x = c stays": (c - a * m * (c - c)) - c, "its F0": 2 * (m * c**2 / 2) / m - c**2}


@step(Method.COUNTEREXAMPLE)
def printed_dependence() -> Finding:
    """A18: printed, B_t depends on t, L, beta, delta, |V| alone. F0 moves it without limit."""
    bound, centre, beta_, first = reals("bound centre beta first")
    moved = first * beta_ * centre
    return find_model(
        [bound == 10**6, beta_ == 1, first == z3.Q(1, 2), centre > 0, moved == 2 * bound]
    )


@step(Method.COUNTEREXAMPLE)
def printed_gradient_at_x() -> Finding:
    """A18: printed, C_t bounds the gradient at x; the one at y can be larger, and is sent."""
    x, neighbour, h, mixing = Fraction(0), Fraction(10), Fraction(1), Fraction(1, 2)
    y = x + mixing * (neighbour - x)
    return Finding(abs(h * y) > abs(h * x), f"|g(x)| = {h * x}, |g(y)| = {h * y}, K2, eta = 1/2")


PROOF = Proof(
    "bounded",
    "Bounded iterates (AN-5, AN-6)",
    (
        gradient_of_nonnegative,
        mini_batches,
        attained_bounds,
        invariant_ball_attained,
        printed_dependence,
        printed_gradient_at_x,
    ),
    theorems=(
        "Rounding.rounded_gradient",
        "Rounding.rounded_step",
        "Rounding.rounded_reading",
        "LatticeProof.half_even_error",
        "Bounded.honest_round",
        "Bounded.norm_checks_never_trip",
        "Bounded.invariant_ball",
    ),
)
