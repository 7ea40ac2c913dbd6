"""The heterogeneity statistic averages norms of noisy gradients, so it contains the noise.

Proves: AN-15.
"""

import math
from fractions import Fraction
from itertools import pairwise
from typing import Any

from proofs_check.engines import identity, reals, sp, universal, z3
from proofs_check.framework import Axiom, Claim, Finding, Method, Proof, Reach, Role, step


@universal()
def square_of_a_mean() -> Claim:
    """AN-15: (sum w l)^2 <= sum w l^2 for weights of sum 1: one more round keeps it.

    Proves: AN-15.
    """
    weight, mean, squares, last = reals("weight mean squares last")
    given = {
        "weight": z3.And(weight >= 0, weight <= 1),
        "so far": mean * mean <= squares,
    }
    after = (1 - weight) * mean + weight * last
    then = after * after <= (1 - weight) * squares + weight * last * last
    return Claim(given, then, drop="weight", instead=weight >= 0)


@identity(reach=Reach.INSTANCE)
def noise_is_added() -> dict[str, Any]:
    """AN-15: E|G + xi|^2 = |G|^2 + E|xi|^2 for noise of mean 0 (two values, any probability).

    Proves: AN-15.
    """
    G, x, pr = sp.symbols("G x pr", positive=True)
    other = -pr * x / (1 - pr)
    left = pr * (G + x) ** 2 + (1 - pr) * (G + other) ** 2
    return {"two values": left - G**2 - pr * x**2 - (1 - pr) * other**2}


@universal(axioms=(Axiom.JENSEN,), needs=(square_of_a_mean, noise_is_added))
def upper_bound() -> Claim:
    """AN-15: so the mean of lhat^2 is at most the mean of sum w E|G|^2, plus sigma^2/K.

    Proves: AN-15.
    """
    statistic, noisy, clean, noise, allowed = reals("statistic noisy clean noise allowed")
    given = {
        "squares": z3.And(statistic >= 0, clean >= 0, noise >= 0, allowed >= 0),
        "square of a mean": statistic <= noisy,
        "noise adds": noisy == clean + noise,
        "variance": noise <= allowed,
    }
    return Claim(given, statistic <= clean + allowed, drop="variance")


@identity(reach=Reach.SCALARS)
def noise_of_a_mean() -> dict[str, Any]:
    """AN-15: n agents with noise of variance v a round: (1/n) sum |sum w xi|^2 has mean S2 v.

    Noise of different rounds is uncorrelated, so squares of weights add up.

    Proves: AN-15.
    """
    n, v, S2, w = sp.symbols("n v S2 w", positive=True)
    return {"one more round": n * (S2 * v + w**2 * v) / n - (S2 + w**2) * v}


@universal(axioms=(Axiom.CAUCHY_SCHWARZ,), needs=(noise_of_a_mean,))
def root_of_a_mean() -> Claim:
    """AN-15: the root mean square of gradients plus noise is at most the sum of theirs.

    E|G + N|^2 = E|G|^2 + 2 E<G, N> + E|N|^2, and E<G, N>^2 <= E|G|^2 E|N|^2; the noise may act on
    later gradients.

    Proves: AN-15.
    """
    square, inner, m, s = reals("square inner m s")
    given = {
        "sizes": z3.And(m >= 0, s >= 0),
        "Cauchy-Schwarz": inner * inner <= m * m * s * s,
        "expanded": square <= m * m + 2 * inner + s * s,
    }
    return Claim(given, square <= (m + s) ** 2, drop="Cauchy-Schwarz")


@identity(reach=Reach.INSTANCE)
def gaussian_norm() -> dict[str, Any]:
    """AN-15: (2/d)(Gamma((d+1)/2)/Gamma(d/2))^2 is 2/pi at d = 1, and E|xi|^2 by integration.

    E|xi| in units of the deviation, by the density of the norm, for d = 1, 2, 3, 4.

    Proves: AN-15.
    """
    r, d = sp.symbols("r d", positive=True)
    share = 2 / d * (sp.gamma((d + 1) / 2) / sp.gamma(d / 2)) ** 2
    found = {"d = 1": sp.simplify(share.subs(d, 1) - 2 / sp.pi)}
    for size in (1, 2, 3, 4):
        weight = r ** (size - 1) * sp.exp(-(r**2) / 2)
        mass, first = (sp.integrate(r**k * weight, (r, 0, sp.oo)) for k in (0, 1))
        found[f"density, d = {size}"] = (first / mass) ** 2 / size - share.subs(d, size)
    return found


@identity(axioms=(Axiom.GAUSSIAN,), needs=(gaussian_norm,))
def two_dimensions() -> dict[str, Any]:
    """AN-15: share(d) share(d+1) = d/(d+1), share(d) = (2/d)(Gamma((d+1)/2)/Gamma(d/2))^2.

    Proves: AN-15.
    """
    d = sp.symbols("d", positive=True)

    def share(size: Any) -> Any:
        return 2 / size * (sp.gamma((size + 1) / 2) / sp.gamma(size / 2)) ** 2

    product = sp.gammasimp(share(d) * share(d + 1))
    return {"two dimensions in a row": sp.simplify(product - d / (d + 1))}


@universal(axioms=(Axiom.JENSEN,), needs=(two_dimensions,))
def large_dimension() -> Claim:
    """AN-15: d/(d+1) <= share(d) <= 1, so the share of the noise tends to 1 as d grows.

    A share is (E|xi|)^2/E|xi|^2, at most 1 by Jensen.

    Proves: AN-15.
    """
    d, share, following = reals("d share following")
    given = {
        "d >= 1": d >= 1,
        "Jensen": z3.And(share > 0, share <= 1, following > 0, following <= 1),
        "product": share * following * (d + 1) == d,
    }
    then = z3.And(share * (d + 1) >= d, share <= 1)
    return Claim(given, then, drop="Jensen", instead=z3.And(share > 0, following > 0))


@step(Method.EXACT, role=Role.INSTANCE)
def shares() -> Finding:
    """AN-15: the share of the noise rises with d and is within 1/(2d) of 1, for d = 1 to 1000."""
    logs = [math.lgamma((d + 1) / 2) - math.lgamma(d / 2) for d in range(1, 1001)]
    values = [2 / d * math.exp(2 * log) for d, log in enumerate(logs, 1)]
    rising = all(a < b for a, b in pairwise(values))
    close = all(1 - 1 / (2 * d) <= share < 1 for d, share in enumerate(values, 1))
    return Finding(
        rising and close,
        f"d = 1, 2, 10, 1000: {values[0]:.4f}, {values[1]:.4f}, {values[9]:.4f}, {values[999]:.4f}",
    )


@step(Method.COUNTEREXAMPLE, needs=(gaussian_norm,))
def printed_threshold() -> Finding:
    """A13: printed, honest runs stay below delta + eps. delta = 0, eps = .05, sigma^2/K = .1.

    All gradients vanish and d = 1: the statistic tends to (2/pi) .1 = .064, above .05, so that
    honest runs alarm with a probability that tends to 1.
    """
    lower = Fraction(2) / Fraction(22, 7) * Fraction(1, 10)  # 22/7 > pi
    return Finding(lower > Fraction(5, 100), f"limit at least {float(lower):.4f}, threshold .05")


PROOF = Proof(
    "heterogeneity",
    "The bias of the heterogeneity statistic (AN-15)",
    (
        square_of_a_mean,
        noise_is_added,
        upper_bound,
        noise_of_a_mean,
        root_of_a_mean,
        gaussian_norm,
        two_dimensions,
        large_dimension,
        shares,
        printed_threshold,
    ),
    theorems=("Chebyshev.martingale_adds",),
)
