"""The convergence rate of LearnModel without adversaries, with explicit constants.

The rate for every graph and size is `rate` in `coq/Rate.v`, for independent mini-batches
`rate_on_samples` in `coq/Samples.v`; here how sharp it is, and what is printed.
"""

import math
from typing import Any

from proofs_check.contraction import beta, mu
from proofs_check.engines import identity, reals, sp, universal, z3
from proofs_check.framework import Claim, Finding, Method, Proof, Role, step


@identity()
def limit_of_moments() -> dict[str, Any]:
    """A08, A10: m' = (1 - c/s)^2 m + c^2 v/s^2 keeps m = L/s up to O(1/s^3), L = c^2 v/(2c-1)."""
    c, v, u = sp.symbols("c v u", positive=True)
    L = c**2 * v / (2 * c - 1)
    difference = (1 - c * u) ** 2 * L * u / (1 - u) + c**2 * v * u**2 - L * u
    series = sp.series(difference, u, 0, 3).removeO()
    return {"orders 1 and 2": sp.simplify(series)}


def moments(c: float, variance: float, start_square: float, rounds: int) -> list[float]:
    """E|xbar(t) - x*|^2 for loss h|x|^2/2, steps a/(t+1), c = a h: an exact recursion, in floats.

    A million rounds of three roundings each: the relative error is below 1e-9.
    """
    values, value = [], start_square
    for t in range(1, rounds + 1):
        alpha_h = c / (t + 1)
        value = (1 - alpha_h) ** 2 * value + alpha_h**2 * variance
        values.append(value)
    return values


@step(Method.EXACT, role=Role.INSTANCE)
def slopes() -> Finding:
    """A09: slope of the squared error at T = 10^6 for a h = .2, .4, .5, .6, .75, margin .02.

    Five agents, sigma^2/K = 1, start at a squared distance of .2, slope over the last decade.
    """
    wanted = {0.2: -0.40, 0.4: -0.81, 0.5: -0.944, 0.6: -0.987, 0.75: -0.997}
    found = {}
    for c in wanted:
        values = moments(c, 0.2, 0.2, 10**6)
        found[c] = math.log10(values[-1] / values[10**5 - 1])
    good = all(abs(found[c] - wanted[c]) < 0.02 for c in wanted)
    return Finding(good, ", ".join(f"{c}: {slope:.3f}" for c, slope in found.items()))


@step(Method.EXACT, role=Role.INSTANCE)
def exact_against_bound() -> Finding:
    """AN-8: the exact squared error stays below the bound for all t up to 10^6, mu = beta = 1.

    Five agents, loss (x - D)^2/2 with D uniform on {-1, 1}: F0 = 1/2, C = 2, sigma^2 = 1; a = 2,
    t0 = 2, all agents in consensus, so only R counts.
    """
    R_ = max(2 * 2 * 0.5, 4 * 1 / 5)
    value, worst = 0.0, 0.0
    for t in range(1, 10**6 + 1):
        step_size = 2 / (t + 2)
        value = (1 - step_size) ** 2 * value + step_size**2 / 5
        worst = max(worst, value * (t + 2) / R_)
    return Finding(worst <= 1, f"largest ratio {worst:.3f}")


@step(Method.COUNTEREXAMPLE, needs=(limit_of_moments,))
def printed_unsquared() -> Finding:
    """A08: printed, E|x - x*| = O(1/t). Gaussian noise, a h = .75, n = 5: sqrt(t) E|.| is .38."""
    values = moments(0.75, 0.2, 0.2, 10**6)
    scaled = [math.sqrt(2 / math.pi * values[t - 1]) * math.sqrt(t) for t in (10**4, 10**6)]
    good = all(abs(value - 0.3785) < 0.002 for value in scaled)
    times = scaled[1] * 10**3
    return Finding(good, f"sqrt(t) E|.| = {scaled[1]:.3f}, t E|.| = {times:.0f} at t = 10^6")


@step(Method.COUNTEREXAMPLE)
def printed_any_constants() -> Finding:
    """A09: printed, no condition on a0 and eta0. a0 h = .2 decays as t^-.4, eta0 = 2 explodes.

    Mixing alone on K5 (lM = 5) with eta = eta0/sqrt(t+1): the eigenvector of lM.
    """
    slow = moments(0.2, 0.2, 0.2, 10**5)
    peaks = []
    for eta0 in (2, 4):
        value = peak = 1.0
        for t in range(1, 200):
            value *= abs(1 - eta0 * 5 / math.sqrt(t + 1))
            peak = max(peak, value)
        peaks.append(peak)
    good = slow[-1] * 10**5 > 100 and peaks[0] > 5e6 and peaks[1] > 1e31
    text = f"t MSE = {slow[-1] * 1e5:.0f} at 10^5; peaks {peaks[0]:.1e}, {peaks[1]:.1e}"
    return Finding(good, text)


@universal(role=Role.INSTANCE)
def printed_steps_exclude() -> Claim:
    """A07: a0 mu > 1/2 and a0/2 < mu/beta^2 together imply kappa < 2."""
    a0 = reals("a0 mu")[0]
    given = {
        "0 < mu": mu > 0,
        "mu <= beta": mu <= beta,
        "rate": a0 * mu > z3.Q(1, 2),
        "lemma": a0 * beta**2 / 2 < mu,
    }
    return Claim(given, beta < 2 * mu, drop="lemma")


@step(Method.COUNTEREXAMPLE, needs=(printed_steps_exclude,))
def printed_without_offset() -> Finding:
    """A07: printed, alpha = a0/(t+1) without an offset. Loss kappa x^2/2, a0 = 1, x(0) = 1."""
    peaks = []
    for kappa in (10, 50, 100):
        value = peak = 1.0
        for t in range(1, 200):
            value *= abs(1 - kappa / (t + 1))
            peak = max(peak, value)
        peaks.append(peak)
    text = ", ".join(f"{peak:.2g}" for peak in peaks)
    return Finding(peaks[0] == 14 and peaks[2] > 1e25, f"peaks {text} for kappa = 10, 50, 100")


PROOF = Proof(
    "theorem3",
    "Theorem 3: the rate of LearnModel (AN-8)",
    (
        limit_of_moments,
        slopes,
        exact_against_bound,
        printed_unsquared,
        printed_any_constants,
        printed_steps_exclude,
        printed_without_offset,
    ),
    theorems=(
        "Rate.optimum_is_near",
        "Samples.rate_on_samples",
        "Rate.near_mean",
        "Rate.rate",
    ),
)
