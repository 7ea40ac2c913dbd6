"""Consensus from bounded gradients, honest or not: what replaces exponential decay.

In units: r = sqrt(t + t0), r1 the same for t-1, w = sqrt(1 + t0), ratio = l2/lM, c = sqrt(n) C.
So eta_t l2 = ratio w/r, and z_t = alpha_t/eta_t is proportional to 1/r.

Proves: AN-7.
"""

from fractions import Fraction
from typing import Any

import numpy as np

from proofs_check.engines import identity, reals, sp, universal, z3
from proofs_check.framework import Axiom, Claim, Finding, Method, Proof, Role, step
from valid_ref.graph import AgentGraph
from valid_ref.graph_families import complete, cycle, path, star

r, r1, w, ratio = reals("r r1 w ratio")
OFFSET = {
    "w = sqrt(1 + t0) > 1": w > 1,
    "0 < ratio <= 1": z3.And(ratio > 0, ratio <= 1),
    "t0 >= lM/l2": (w * w - 1) * ratio >= 1,
}
ROUND = {"r^2 = r1^2 + 1": r * r == r1 * r1 + 1, "t >= 2": z3.And(r1 >= w, r > 0)}


@universal()
def ratios() -> Claim:
    """AN-7: (1 - eta_t l2) z_(t-1) <= (1 - eta_t l2/2) z_t for t >= 2, if t0 >= lM/l2.

    Proves: AN-7.
    """
    x = ratio * w / r
    then = r * (1 - x) <= r1 * (1 - x / 2)
    return Claim(OFFSET | ROUND, then, drop="t0 >= lM/l2")


@universal(
    axioms=(Axiom.TRIANGLE, Axiom.SPECTRAL, Axiom.INDUCTION), needs=(ratios, "mixing.off_the_mean")
)
def induction_step() -> Claim:
    """AN-7: |X_perp(t-1)| <= K z_(t-1), K = 2c/l2, gives |X_perp(t)| <= K z_t.

    Proves: AN-7.
    """
    before, after, mixed, z_before, z, c, l2, eta, alpha, K = reals(
        "before after mixed z_before z c l2 eta alpha K"
    )
    given = {
        "constants": z3.And(l2 > 0, eta > 0, alpha > 0, c > 0, z_before > 0, eta * l2 <= 1),
        "K l2 = 2 c": K * l2 == 2 * c,
        "z eta = alpha": z * eta == alpha,
        "ratios": (1 - eta * l2) * z_before <= (1 - eta * l2 / 2) * z,
        "bound before": before <= K * z_before,
        "mixing": mixed <= (1 - eta * l2) * before,
        "step": after <= mixed + alpha * c,
    }
    then = z3.And(after <= K * z, mixed <= K * z - alpha * c)
    return Claim(given, then, drop="ratios")


@universal(axioms=(Axiom.TRIANGLE,))
def first_round() -> Claim:
    """AN-7: all start at x_0, so |X_perp(1)| <= alpha_1 c <= K z_1, as eta_1 l2 <= 2.

    Proves: AN-7.
    """
    after, z, c, l2, eta, alpha, K = reals("after z c l2 eta alpha K")
    given = {
        "constants": z3.And(l2 > 0, eta > 0, alpha > 0, c > 0),
        "K l2 = 2 c": K * l2 == 2 * c,
        "z eta = alpha": z * eta == alpha,
        "eta l2 <= 2": eta * l2 <= 2,
        "first step": after <= alpha * c,
    }
    return Claim(given, after <= K * z, drop="eta l2 <= 2")


@universal()
def first_mixing_step() -> Claim:
    """AN-7: e0 = sqrt(1+t0)/lM makes eta_1 = 1/lM, and eta_t lM <= 1 for all later t.

    Proves: AN-7.
    """
    lM, e0, eta = reals("lM e0 eta")
    given = {
        "constants": z3.And(lM > 0, w > 1),
        "e0 lM = w": e0 * lM == w,
        "eta r = e0": eta * r == e0,
        "t >= 1": r >= w,
    }
    return Claim(given, z3.And(eta * lM <= 1, eta > 0), drop="t >= 1", instead=r > 0)


@identity(needs=(induction_step,))
def squared() -> dict[str, Any]:
    """AN-7: the square of K alpha_T/eta_T is 4 n C^2 a^2 / (l2^2 e0^2 (T + t0)).

    Proves: AN-7.
    """
    n, C, l2, a, e0, s = sp.symbols("n C l2 a e0 s", positive=True)
    bound = 2 * sp.sqrt(n) * C / l2 * (a / s) / (e0 / sp.sqrt(s))
    return {"square": bound**2 - 4 * n * C**2 * a**2 / (l2**2 * e0**2 * s)}


@universal(axioms=(Axiom.TRIANGLE,), role=Role.INSTANCE)
def size_of_perturbations() -> Claim:
    """A15: passing LocalValidate only forces |z| <= 2 alpha C: reported and true gradients.

    Both are at most C in norm, and the perturbation is alpha times their difference.
    """
    z, reported, true, alpha, C = reals("z reported true alpha C")
    given = {
        "norms": z3.And(alpha > 0, reported >= 0, true >= 0, C >= 0),
        "reported": reported <= C,
        "true": true <= C,
        "z": z <= alpha * (reported + true),
    }
    return Claim(given, z <= 2 * alpha * C, drop="reported")


def recursion_ratio(graph: AgentGraph, rounds: int) -> float:
    """The largest quotient of the recursion D_t = (1 - eta_t l2) D_(t-1) + alpha_t and AN-7."""
    values = graph.laplacian_eigenvalues()
    l2, lM = float(values[1]), float(values[-1])
    offset = max(2.0, lM / l2)
    e0, D, worst = np.sqrt(1 + offset) / lM, 0.0, 0.0
    for t in range(1, rounds + 1):
        alpha, eta = 1 / (t + offset), e0 / np.sqrt(t + offset)
        D = (1 - eta * l2) * D + alpha
        worst = max(worst, D * l2 * eta / (2 * alpha))
    return float(worst)


@step(Method.EXACT, role=Role.INSTANCE)
def how_loose() -> Finding:
    """AN-7: the recursion itself reaches .603 of the bound at most: paths, cycles, stars, K_n."""
    graphs = [family(n) for n in (4, 8, 16) for family in (path, cycle, star, complete)]
    worst = max(recursion_ratio(graph, 5000) for graph in graphs)
    return Finding(0.6 < worst <= 0.603, f"largest ratio {worst:.3f} on {len(graphs)} graphs")


@step(Method.COUNTEREXAMPLE)
def printed_decay() -> Finding:
    """A15: printed, bounded Byzantine perturbations decay exponentially. A benign attack lasts.

    K3, loss (x - c)^2/2 with c = (0, 0, 0), agent 2 acting as if c = 1, alpha = 1/(t+2),
    eta = 1/4: the deviation of the honest mean does not fall below 1/4.
    """
    models, rounds = [Fraction(0)] * 3, 60
    for t in range(1, rounds + 1):
        mean = sum(models, Fraction(0)) / 3
        mixed = [x + Fraction(3, 4) * (mean - x) for x in models]
        targets = (0, 0, 1)
        models = [y - (y - c) / (t + 2) for y, c in zip(mixed, targets, strict=True)]
    deviation = (models[0] + models[1]) / 2
    gamma = Fraction(9, 10)
    good = deviation > Fraction(1, 4) > gamma**rounds
    return Finding(good, f"deviation {float(deviation):.3f} after {rounds} rounds; .9^60 = .0018")


PROOF = Proof(
    "consensus",
    "Consensus from bounded gradients (AN-7)",
    (
        ratios,
        induction_step,
        first_round,
        first_mixing_step,
        squared,
        size_of_perturbations,
        how_loose,
        printed_decay,
    ),
)
