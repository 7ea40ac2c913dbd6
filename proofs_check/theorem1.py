"""Theorem 1: outcome b when the checks pass (AN-9), outcome a without adversaries (AN-10).

Proves: AN-9, AN-10.
"""

import math
from fractions import Fraction
from typing import Any

from proofs_check.engines import find_model, identity, reals, sp, universal, z3
from proofs_check.framework import Axiom, Claim, Finding, Method, Proof, Reach, Role, step
from proofs_check.theorem3 import moments

n, eps = reals("n eps")


@universal(axioms=(Axiom.TRIANGLE,))
def estimate_and_length() -> Claim:
    """AN-9: |ghat_u| <= lhat_u: one more round keeps it, weights being nonnegative.

    Proves: AN-9.
    """
    g, length, w, last, norm, after = reals("g length w last norm after")
    given = {
        "weight": w >= 0,
        "norms": z3.And(g >= 0, norm >= 0, length >= 0),
        "so far": g <= length,
        "rounded norm": norm <= last,
        "triangle": after <= g + w * norm,
    }
    return Claim(given, after <= length + w * last, drop="so far")


@universal(axioms=(Axiom.TRIANGLE,))
def distance_to_final_mean() -> Claim:
    """AN-9: |y_h(i) - xbar(T)| <= K z_i + C sum_(s>i) alpha_s: the margin of AN-7 pays for s = i.

    Proves: AN-9.
    """
    far, off, bound, C, alpha, later, root_n, drift = reals("far off bound C alpha later rn drift")
    given = {
        "constants": z3.And(C >= 0, alpha >= 0, later >= 0),
        "n >= 1": root_n >= 1,
        "AN-7 with margin": off <= bound - root_n * C * alpha,
        "drift of the mean": drift <= C * (alpha + later),
        "triangle": far <= off + drift,
    }
    return Claim(given, far <= bound + C * later, drop="n >= 1", instead=root_n >= 0)


@universal(axioms=(Axiom.TRIANGLE,))
def recursion_form() -> Claim:
    """AN-9: for other steps the recursion D_t = u_t + alpha_t sqrt(n) C carries |X_perp| <= D.

    Proves: AN-9.
    """
    before, after, D, factor, added = reals("before after D factor added")
    given = {
        "norms": z3.And(factor >= 0, before >= 0, D >= 0, added >= 0),
        "so far": before <= D,
        "one round": after <= factor * before + added,
    }
    return Claim(given, after <= factor * D + added, drop="so far")


@identity(axioms=(Axiom.PINELIS,))
def noise_tail() -> dict[str, Any]:
    """AN-10: nK samples a round with steps of norm 2C w_i/(nK) make the exponent r^2 nK/(8 C^2 S2).

    Proves: AN-10.
    """
    r, C, agents, K, S2 = sp.symbols("r C n K S2", positive=True)
    squares = S2 * agents * K * (2 * C / (agents * K)) ** 2
    return {"exponent": r**2 / (2 * squares) - r**2 * agents * K / (8 * C**2 * S2)}


@universal(axioms=(Axiom.TRIANGLE, Axiom.CHEBYSHEV), needs=(noise_tail,))
def two_events() -> Claim:
    """AN-10: an alarm needs noise of at least r, or drift of at least eps - slack - r.

    Proves: AN-10.
    """
    statistic, noise, drift, slack, r = reals("statistic noise drift slack r")
    given = {
        "norms": z3.And(noise >= 0, drift >= 0, slack >= 0),
        "triangle": statistic <= noise + drift + slack,
        "no noise": noise < r,
        "no drift": drift < eps - slack - r,
    }
    return Claim(given, statistic < eps, drop="no drift")


def three_dimensional_tail(x: float) -> float:
    """P(chi^2 with 3 degrees of freedom > x), in closed form."""
    return math.erfc(math.sqrt(x / 2)) + math.sqrt(2 * x / math.pi) * math.exp(-x / 2)


def missed(batch: int, rounds: int) -> float:
    """P(T|xbar - x*|^2 > .1): n = 10, d = 3, sigma^2 = 1, a mu = 2, alpha = a/(t+t0), t0 = 4.

    The models are Gaussian about x*, from x(0) = x*; the variance follows the exact recursion.
    """
    value = 0.0
    for t in range(1, rounds + 1):
        step_size = 2 / (t + 4)
        value = (1 - step_size) ** 2 * value + step_size**2 / (3 * 10 * batch)
    return three_dimensional_tail(0.1 / (rounds * value))


@step(Method.COUNTEREXAMPLE)
def printed_success() -> Finding:
    """A11: printed, O(1/T)-success with probability 1 - exp(-O(KT)). The exponent is in K only."""
    found = [missed(1, 10**k) for k in range(2, 7)]
    ten = missed(10, 10**4)
    wanted = (0.507, 0.521, 0.522, 0.522, 0.522)
    good = all(abs(p - q) < 0.002 for p, q in zip(found, wanted, strict=True))
    text = ", ".join(f"{p:.3f}" for p in found)
    return Finding(good and ten < 1e-4, f"K = 1, T = 10^2 to 10^6: {text}; K = 10: {ten:.0e}")


@step(Method.COUNTEREXAMPLE, needs=("theorem3.limit_of_moments",))
def printed_rate() -> Finding:
    """A10: printed, sum |x_v - x|^2 = O(|E| delta/T), so 0 for delta = 0. Noise keeps it above."""
    found = [moments(0.75, v / 5, 0.0, 10**6)[-1] * 10**6 for v in (1.0, 2.0)]
    good = abs(found[0] - 0.225) < 0.001 and abs(found[1] / found[0] - 2) < 1e-9
    return Finding(good, f"t MSE = {found[0]:.4f} at sigma^2/K = 1, {found[1]:.4f} at 2")


@step(Method.COUNTEREXAMPLE, needs=("admissible.ball",))
def printed_level() -> Finding:
    """A14: printed, the model is delta-admissible. The checks pass up to delta + eps.

    Two agents with (x - c)^2/2, one honest at c = 0, delta = 1/2, eps = 1/2: at delta + eps/2
    the distance to A(delta) is a constant, so T times its square has no bound.
    """
    delta, slack = Fraction(1, 2), Fraction(1, 2)
    allowed, held = (Fraction(1, 2) * 2 * level for level in (delta, delta + slack / 2))
    distance = math.sqrt(held) - math.sqrt(allowed)
    passes = 2 * held <= 2 * (delta + slack)
    good = held > allowed and passes and distance > 0.15
    products = ", ".join(f"{rounds * distance**2:.0f}" for rounds in (300, 3000, 30000))
    return Finding(good, f"distance {distance:.3f}; T times its square {products}")


@step(Method.COUNTEREXAMPLE)
def printed_square() -> Finding:
    """A17: printed, |g_u| < |V|(delta + eps). Only the square is bounded: n = 3."""
    g, delta, slack = reals("g delta slack")
    passed = g * g <= 3 * (delta + slack)
    named = [delta == z3.Q(1, 12), slack == z3.Q(1, 4)]
    found = find_model([g >= 0, *named, passed, g >= 3 * (delta + slack)])
    return Finding(found.holds, found.detail + ", n = 3")


@universal(reach=Reach.SCALARS, role=Role.INSTANCE)
def corrected_square() -> Claim:
    """A17, AN-9: |ghat_u|^2 <= lhat_u^2 <= sum of all lhat^2 <= n(delta + eps).

    Proves: AN-9.
    """
    g, length, others, level = reals("g length others level")
    given = {
        "norm": z3.And(g >= 0, g <= length, level >= 0, n >= 1),
        "others": others >= 0,
        "GV-6": length * length + others <= n * level,
    }
    return Claim(given, g * g <= n * level, drop="others")


PROOF = Proof(
    "theorem1",
    "Theorem 1: validated models and success (AN-9, AN-10)",
    (
        estimate_and_length,
        distance_to_final_mean,
        recursion_form,
        noise_tail,
        two_events,
        printed_success,
        printed_rate,
        printed_level,
        printed_square,
        corrected_square,
    ),
    theorems=(
        "Chebyshev.martingale_adds",
        "Chebyshev.noise_of_estimates",
        "Chebyshev.threshold_has_level",
        "Chebyshev.honest_success",
        "Rate.near_mean",
        "Whole.whole",
        "Whole.few_bad",
        "Admissible.global_checks_imply_relaxed",
        "Admissible.near_each_imply_relaxed",
        "EndToEnd.misbehaviour_is_caught",
    ),
)
