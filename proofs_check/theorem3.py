"""The convergence rate of LearnModel without adversaries, with explicit constants.

s = t + t0, so alpha_t = a/s with a = 2/mu; m is the root mean square of |xbar - x*|.

Proves: AN-8.
"""

import math
from typing import Any

from proofs_check.contraction import alpha, beta, mu, q
from proofs_check.engines import identity, reals, sp, universal, z3
from proofs_check.framework import Axiom, Claim, Finding, Method, Proof, Role, step

s, root, m, R, E, b0 = reals("s root m R E b0")


@universal()
def contraction_factor() -> Claim:
    """AN-8: with alpha = 2/(mu s) and s >= 1 + t0 >= 2 kappa the factor q is 1 - 2/s.

    Proves: AN-8.
    """
    given = {
        "0 < mu": mu > 0,
        "mu <= beta": mu <= beta,
        "alpha mu s = 2": z3.And(s > 0, alpha * mu * s == 2),
        "s >= 2 kappa": s * mu >= 2 * beta,
    }
    then = z3.And(q(alpha) == 1 - alpha * mu, q(alpha) * s == s - 2)
    return Claim(given, then, drop="s >= 2 kappa")


@universal(
    axioms=(Axiom.TRIANGLE, Axiom.COCOERCIVITY, Axiom.CAUCHY_SCHWARZ),
    needs=("contraction.centred_form",),
)
def mean_step() -> Claim:
    """AN-8: off the mean only the part of the gradients off (beta+mu)/2 acts on the mean.

    For n agents: total is |sum of G_v(y_v) - G_v(ybar)|, rest the same less (beta+mu)/2 times the
    displacements, which sum to 0; lengths the sum of |y_v - ybar|, P the norm |Y_perp|.

    Proves: AN-8.
    """
    total, moved, rest, lengths, P, n = reals("total moved rest lengths P n")
    middle, radius = (beta + mu) / 2, (beta - mu) / 2
    given = {
        "0 < mu": z3.And(mu > 0, n >= 1, P >= 0, lengths >= 0, moved >= 0),
        "mu <= beta": mu <= beta,
        "displacements sum to 0": moved == 0,
        "triangle": total <= rest + middle * moved,
        "co-coercivity, summed": z3.And(rest >= 0, rest <= radius * lengths),
        "Cauchy-Schwarz": lengths * lengths <= n * P * P,
        "norm": total >= 0,
    }
    then = total * total <= radius * radius * n * P * P
    return Claim(given, then, drop="displacements sum to 0")


@identity(axioms=(Axiom.CAUCHY_SCHWARZ,), needs=(mean_step,))
def mean_bias() -> dict[str, Any]:
    """AN-8: displacements sum to zero, so their mean drops out; by AN-7 the bias is b0/sqrt(s).

    (beta-mu)/(2 sqrt n) times K alpha/eta is (beta-mu) C a/(l2 e0 sqrt s), b0/sqrt(s) over sqrt 2.

    Proves: AN-8.
    """
    b, u, n, C, l2, a, e0, t = sp.symbols("beta mu n C l2 a e0 s", positive=True)
    bound = 2 * sp.sqrt(n) * C / l2 * (a / t) / (e0 / sp.sqrt(t))
    bias = (b - u) / (2 * sp.sqrt(n)) * bound
    b_0 = sp.sqrt(2) * (b - u) * C * a / (l2 * e0)
    return {"bias": bias - b_0 / sp.sqrt(2) / sp.sqrt(t)}


@identity()
def noise_adds_in_squares() -> dict[str, Any]:
    """AN-8: noise of mean 0 given the past adds its variance: E(u + x)^2 = u^2 + E x^2.

    Written out for noise with two values of probabilities pr, 1 - pr and mean 0; n agents with
    K samples each divide the variance of the mean by nK.

    Proves: AN-8.
    """
    u, x, pr = sp.symbols("u x pr", positive=True)
    other = -pr * x / (1 - pr)
    left = pr * (u + x) ** 2 + (1 - pr) * (u + other) ** 2
    return {"two values": left - u**2 - pr * x**2 - (1 - pr) * other**2}


@universal(needs=(contraction_factor, mean_bias, noise_adds_in_squares))
def cross_term() -> Claim:
    """AN-8: (q m + alpha b0/sqrt s)^2 <= q m^2 + a^2 b0^2/(2 s^2), with q = 1 - 2/s.

    In units of a b0 = 1, root = sqrt(s).

    Proves: AN-8.
    """
    given = {"root": root > 0, "s = root^2 >= 2": root * root >= 2, "m >= 0": m >= 0}
    factor = root * root - 2
    left = (factor * m + 1 / root) ** 2
    then = left <= root**2 * factor * m**2 + z3.Q(1, 2)
    return Claim(given, then, drop="s = root^2 >= 2", instead=root * root >= 1)


@universal(axioms=(Axiom.INDUCTION,), needs=(cross_term,))
def induction_step() -> Claim:
    """AN-8: m^2 <= R/(s-1) gives (1 - 2/s) m^2 + E/s^2 <= R/s if R >= E.

    Proves: AN-8.
    """
    square = reals("square s")[0]
    given = {
        "s >= 2": s >= 2,
        "E >= 0": E >= 0,
        "R >= E": R >= E,
        "before": z3.And(square >= 0, square * (s - 1) <= R),
    }
    then = (s - 2) * square * s + E <= R * s
    return Claim(given, then, drop="R >= E")


@universal()
def noise_constant() -> Claim:
    """AN-8: R >= a^2(1.5 b0^2 + v) covers E = a^2(b0^2/2 + v); the constant could be 1/2.

    Proves: AN-8.
    """
    a2, v = reals("a2 v")
    given = {
        "nonnegative": z3.And(a2 >= 0, v >= 0),
        "R": a2 * (z3.Q(3, 2) * b0**2 + v) <= R,
    }
    return Claim(given, a2 * (b0**2 / 2 + v) <= R, drop="R")


@universal()
def start() -> Claim:
    """AN-8: f(0) >= f(x*) + mu|x*|^2/2 and f >= 0 give |x*|^2 <= 2 F0/mu <= R/t0.

    Proves: AN-8.
    """
    F0, least, X, t0 = reals("F0 least X t0")
    given = {
        "0 < mu": mu > 0,
        "t0 > 0": t0 > 0,
        "strong convexity": least + mu * X / 2 <= F0,
        "f >= 0": least >= 0,
        "R": R * mu >= 2 * t0 * F0,
    }
    return Claim(given, t0 * X <= R, drop="f >= 0")


@identity()
def pythagoras() -> dict[str, Any]:
    """AN-8: sum_v |x_v - x*|^2 = n|xbar - x*|^2 + |X_perp|^2, as the rows of X_perp sum to 0.

    One more agent keeps sum (e + d_v)^2 = n e^2 + 2 e sum d_v + sum d_v^2.

    Proves: AN-8.
    """
    e, d, total, squares, n = sp.symbols("e d total squares n")
    before = n * e**2 + 2 * e * total + squares
    after = (n + 1) * e**2 + 2 * e * (total + d) + squares + d**2
    return {"one more agent": before + (e + d) ** 2 - after}


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
        contraction_factor,
        mean_step,
        mean_bias,
        noise_adds_in_squares,
        cross_term,
        induction_step,
        noise_constant,
        start,
        pythagoras,
        limit_of_moments,
        slopes,
        exact_against_bound,
        printed_unsquared,
        printed_any_constants,
        printed_steps_exclude,
        printed_without_offset,
    ),
)
