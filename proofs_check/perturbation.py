"""How a perturbed run leaves the unperturbed one: products of contraction factors, not powers.

Step s maps X(s) to X(s+1) as in the paper; e is |Xhat - X|_F, z the size of a perturbation.

Proves: AN-2, AN-3.
"""

import math
from fractions import Fraction
from typing import Any

from proofs_check.contraction import alpha, beta, mu, q
from proofs_check.engines import identity, reals, sp, universal, z3
from proofs_check.framework import Axiom, Claim, Finding, Method, Proof, Role, step

low, high = reals("low high")


@universal()
def factor_on_an_interval() -> Claim:
    """AN-2: on [low, high] the factor q is at most max(q(low), q(high)).

    Proves: AN-2.
    """
    given = {
        "0 < mu": mu > 0,
        "mu <= beta": mu <= beta,
        "low <= alpha": low <= alpha,
        "alpha <= high": alpha <= high,
    }
    then = z3.Or(q(alpha) <= q(low), q(alpha) <= q(high))
    return Claim(given, then, drop="alpha <= high")


@universal(needs=(factor_on_an_interval,))
def uniform_factor() -> Claim:
    """AN-2: gamma = max(q(low), q(high)) is below 1 for 0 < low <= high < 2/beta.

    Proves: AN-2.
    """
    given = {
        "0 < mu": mu > 0,
        "mu <= beta": mu <= beta,
        "0 < low": low > 0,
        "low <= high": low <= high,
        "high < 2/beta": high * beta < 2,
    }
    return Claim(given, z3.And(q(low) < 1, q(high) < 1), drop="0 < low", instead=low >= 0)


@identity(role=Role.INSTANCE)
def persistent_is_attained() -> dict[str, Any]:
    """AN-2: z gamma/(1-gamma) is a fixed point of e -> gamma(e + z): it does not fall with t.

    Proves: AN-2.
    """
    z, gamma = sp.symbols("z gamma")
    fixed = z * gamma / (1 - gamma)
    return {"fixed point": gamma * (fixed + z) - fixed}


def _quotient(t: Any, tau: Any, c: Any) -> Any:
    """Gamma(t+2-c) Gamma(tau+1) / (Gamma(t+2) Gamma(tau+1-c))."""
    return sp.gamma(t + 2 - c) * sp.gamma(tau + 1) / (sp.gamma(t + 2) * sp.gamma(tau + 1 - c))


@identity(axioms=(Axiom.INDUCTION,))
def gamma_product() -> dict[str, Any]:
    """AN-3: prod_(s=tau..t) (1 - c/(s+1)) is the quotient of Gamma functions, for all tau <= t, c.

    Proves: AN-3.
    """
    t, tau, c = sp.symbols("t tau c", positive=True)
    base = _quotient(tau, tau, c) - (1 - c / (tau + 1))
    ratio = _quotient(t + 1, tau, c) / _quotient(t, tau, c) - (1 - c / (t + 2))
    return {"t = tau": sp.gammasimp(base), "t to t+1": sp.gammasimp(ratio)}


@universal(axioms=(Axiom.LOGARITHM, Axiom.INDUCTION), needs=(gamma_product,))
def gamma_bound() -> Claim:
    """AN-3: 1 - c/(s+1) <= ((s+1)/(s+2))^c in logarithms, so the product is <= ((tau+1)/(t+2))^c.

    Proves: AN-3.
    """
    c, u, log_factor, log_ratio = reals("c u log_factor log_ratio")
    given = {
        "c >= 0": c >= 0,
        "ln(1 - cu) <= -cu": log_factor <= -c * u,
        "ln(1 + u) <= u": log_ratio <= u,
    }
    return Claim(given, log_factor <= -c * log_ratio, drop="ln(1 + u) <= u")


@universal()
def q_of_harmonic_steps() -> Claim:
    """AN-3: while alpha beta <= 1 the factor is q = 1 - alpha mu = 1 - c/(s+1).

    Proves: AN-3.
    """
    given = {
        "0 < mu": mu > 0,
        "mu <= beta": mu <= beta,
        "alpha >= 0": alpha >= 0,
        "alpha beta <= 1": alpha * beta <= 1,
    }
    return Claim(given, q(alpha) == 1 - alpha * mu, drop="alpha beta <= 1")


@universal(needs=(q_of_harmonic_steps,))
def no_uniform_factor() -> Claim:
    """AN-3: for every gamma < 1 the factor 1 - c/(s+1) exceeds gamma once s+1 > c/(1-gamma).

    Proves: AN-3.
    """
    c, s, gamma = reals("c s gamma")
    given = {
        "gamma < 1": gamma < 1,
        "c > 0": c > 0,
        "s > 0": s > 0,
        "s is large": (s + 1) * (1 - gamma) > c,
    }
    return Claim(given, 1 - c / (s + 1) > gamma, drop="s is large")


def _one_more(size: Any, before: Any, c: Any, s: Any) -> Any:
    """U(s+1) from U(s) = before with a perturbation s^-pi = size/s, size = s^(1-pi)."""
    return (1 - c / (s + 1)) * (before + size / s)


@universal(axioms=(Axiom.BERNOULLI, Axiom.INDUCTION), needs=(q_of_harmonic_steps,))
def order_from_above() -> Claim:
    """AN-3: |Z(tau)| = tau^-pi, pi < 1 + c: U(s) <= K s^(1-pi) is kept once K and s are large.

    p = pi - 1, size = s^-p, ratio = (s/(s+1))^p >= 1 - max(p, 0)/s. Such K, s exist for p < c.

    Proves: AN-3.
    """
    c, s, p, K, size, before, ratio = reals("c s p K size before ratio")
    positive = z3.If(p > 0, p, z3.RealVal(0))
    given = {
        "sizes": z3.And(c > 0, s >= 1, s + 1 >= c, size > 0, K > 0, before >= 0),
        "Bernoulli": ratio * s >= s - positive,
        "K and s are large": c * K * s >= (positive * K + 1) * (s + 1),
        "so far": before <= K * size,
    }
    return Claim(given, _one_more(size, before, c, s) <= K * size * ratio, drop="K and s are large")


@universal(axioms=(Axiom.BERNOULLI, Axiom.INDUCTION), needs=(q_of_harmonic_steps,))
def order_from_below() -> Claim:
    """AN-3: and U(s) >= k s^(1-pi) is kept for pi >= 0, s + 1 >= 2c and k <= 1/(4(c+1)).

    So the order is t^(1-pi), squared t^(2(1-pi)), which is O(1/t) exactly if pi >= 3/2.

    Proves: AN-3.
    """
    c, s, p, k, size, before, ratio = reals("c s p k size before ratio")
    negative = z3.If(p < 0, -p, z3.RealVal(0))
    given = {
        "sizes": z3.And(c > 0, s >= 1, s + 1 >= 2 * c, size > 0, k > 0, p >= -1),
        "Bernoulli": ratio * s <= s + negative,
        "k is small": 4 * k * (c + 1) <= 1,
        "so far": before >= k * size,
    }
    return Claim(given, _one_more(size, before, c, s) >= k * size * ratio, drop="k is small")


def decay(impulse_sizes: float, c: float, rounds: int) -> list[float]:
    """U(t) for perturbations of size tau^-impulse_sizes and factors 1 - c/(s+1), t up to rounds."""
    values, value = [], 0.0
    for s in range(1, rounds + 1):
        value = (1 - c / (s + 1)) * (value + s**-impulse_sizes)
        values.append(value)
    return values


@step(Method.EXACT, role=Role.INSTANCE)
def orders() -> Finding:
    """AN-3: perturbations of size tau^-pi leave a squared bound of slope 2(1-pi), T = 10^4 to 10^6.

    Margin .02 on the slope; pi below 1 + c.
    """
    found = []
    for power, c in ((0.5, 0.9), (1.0, 0.9), (1.5, 0.9), (1.5, 2.0)):
        values = decay(power, c, 10**6)
        slope = 2 * math.log(values[-1] / values[10**4 - 1]) / math.log(100)
        found.append((power, slope))
    good = all(abs(slope - 2 * (1 - power)) < 0.02 for power, slope in found)
    return Finding(good, ", ".join(f"pi = {power}: {slope:.3f}" for power, slope in found))


@step(Method.COUNTEREXAMPLE)
def printed_steps_expand() -> Finding:
    """A03: printed, deviations decay for alpha in (0, max{1, mu/beta^2}): mu = beta = 10, .9."""
    deviation = Fraction(1)
    for _round in range(20):
        deviation *= abs(1 - Fraction(9, 10) * 10)
    return Finding(deviation == 8**20, "one impulse of 1 is 8^20 after 20 rounds")


@step(Method.COUNTEREXAMPLE)
def printed_exponential_decay() -> Finding:
    """A05: printed, an impulse is multiplied by gamma^(t-tau+1): c = .9, tau = 1, t = 10^5."""
    rounds, c = 10**5, 0.9
    log_factor = math.fsum(math.log1p(-c / (s + 1)) for s in range(1, rounds + 1))
    by_gamma = math.lgamma(rounds + 2 - c) - math.lgamma(rounds + 2) - math.lgamma(2 - c)
    factor, printed = math.exp(log_factor), 0.999**rounds
    good = factor > 1e30 * printed and abs(log_factor - by_gamma) < 1e-6
    good = good and factor <= (2 / (rounds + 2)) ** c
    return Finding(good, f"exactly {factor:.2e} is left, where .999^t = {printed:.2e}")


@step(Method.COUNTEREXAMPLE)
def printed_uniform_factor() -> Finding:
    """A05: printed, one gamma < 1 bounds all factors. 1 - c/(s+1) passes every gamma tried."""
    c = Fraction(9, 10)
    passed = [
        (gamma, next(s for s in range(1, 10**7) if 1 - c / (s + 1) > gamma))
        for gamma in (Fraction(9, 10), Fraction(99, 100), Fraction(9999, 10000))
    ]
    text = ", ".join(f"{float(gamma)} at s = {s}" for gamma, s in passed)
    return Finding(len(passed) == 3, text)


PROOF = Proof(
    "perturbation",
    "The perturbation lemma (AN-2, AN-3)",
    (
        factor_on_an_interval,
        uniform_factor,
        persistent_is_attained,
        gamma_product,
        gamma_bound,
        q_of_harmonic_steps,
        no_uniform_factor,
        order_from_above,
        order_from_below,
        orders,
        printed_steps_expand,
        printed_exponential_decay,
        printed_uniform_factor,
    ),
    theorems=(
        "Perturbation.perturbation",
        "Perturbation.persistent_perturbation",
        "Perturbation.A05_no_uniform_factor",
    ),
)
