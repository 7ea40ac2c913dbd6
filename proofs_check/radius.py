"""What the records of honest agents certify after a run (AN-18, AN-19).

Proves: AN-18, AN-19.
"""

from fractions import Fraction
from typing import Any

from proofs_check.engines import identity, reals, sp, universal, z3
from proofs_check.framework import Axiom, Claim, Finding, Method, Proof, Reach, Role, step


@universal(axioms=(Axiom.COCOERCIVITY,))
def two_sided_drift() -> Claim:
    """AN-18: Dg lies within (beta - mu)/2 |D| of (beta + mu)/2 D.

    gg, gd, dd are |Dg|^2, <Dg, D>, |D|^2; co-coercivity of f - mu|x|^2/2, which is
    (beta - mu)-smooth, says <Dg - mu D, D> >= |Dg - mu D|^2 / (beta - mu).

    Proves: AN-18.
    """
    gg, gd, dd, mu, beta = reals("gg gd dd mu beta")
    middle, half = (beta + mu) / 2, (beta - mu) / 2
    given = {
        "curvature": z3.And(mu > 0, beta > mu, dd >= 0, gg >= 0),
        "co-coercivity": (beta - mu) * (gd - mu * dd) >= gg - 2 * mu * gd + mu * mu * dd,
    }
    length = gg - 2 * middle * gd + middle * middle * dd
    return Claim(given, length <= half * half * dd, drop="co-coercivity")


@universal(axioms=(Axiom.TRIANGLE,), needs=(two_sided_drift,))
def one_more_round() -> Claim:
    """AN-18: a weighted sum of such differences is within the weighted sum of their bounds.

    Proves: AN-18.
    """
    so_far, bound, weight, term, allowed, after = reals("so_far bound weight term allowed after")
    given = {
        "weight": weight >= 0,
        "so far": so_far <= bound,
        "this round": term <= allowed,
        "triangle": after <= so_far + weight * term,
    }
    return Claim(given, after <= bound + weight * allowed, drop="this round")


@universal(axioms=(Axiom.CHEBYSHEV,))
def stopped_before_it_exceeds() -> Claim:
    """AN-18: what is stopped before its variance would exceed v has variance at most v.

    `before` is the variance so far, `coming` that of the next round, which is known before it is
    drawn; the round counts only if the sum stays within v.

    Proves: AN-18.
    """
    before, coming, counted, v = reals("before coming counted v")
    given = {
        "variances": z3.And(coming >= 0, v >= 0),
        "so far": before <= v,
        "stopped": counted == z3.If(before + coming <= v, coming, 0),
    }
    return Claim(given, before + counted <= v, drop="stopped", instead=counted == coming)


@identity()
def shares_sum_to_one() -> dict[str, Any]:
    """AN-18: the shares 2/3 / ((|j|+1)(|j|+2)), j any integer, add up to 1.

    Proves: AN-18.
    """
    j = sp.symbols("j", integer=True, nonnegative=True)
    one_side = sp.summation(1 / ((j + 1) * (j + 2)), (j, 0, sp.oo))
    return {"all": sp.Rational(2, 3) * (2 * one_side - sp.Rational(1, 2)) - 1}


@identity(axioms=(Axiom.CHEBYSHEV,), needs=(shares_sum_to_one,))
def chebyshev_level() -> dict[str, Any]:
    """AN-18: sqrt(2v/(q' pi)) is exceeded with probability at most q' pi / 2.

    Proves: AN-18.
    """
    v, level, share = sp.symbols("v level share", positive=True)
    radius = sp.sqrt(2 * v / (level * share))
    return {"level": v / radius**2 - level * share / 2}


@identity(axioms=(Axiom.PINELIS,), needs=(shares_sum_to_one,))
def bernstein_level() -> dict[str, Any]:
    """AN-18: r = aL/3 + sqrt((aL/3)^2 + 2vL) solves r^2 / (2(v + ar/3)) = L.

    Proves: AN-18.
    """
    v, a, L = sp.symbols("v a L", positive=True)
    r = a * L / 3 + sp.sqrt((a * L / 3) ** 2 + 2 * v * L)
    return {"exponent": sp.expand(r**2 - 2 * L * (v + a * r / 3))}


@universal(reach=Reach.SCALARS, needs=(chebyshev_level, bernstein_level))
def all_levels() -> Claim:
    """AN-18: two norms for each of m weightings, each at q' = q/(2m), fail with at most q.

    Proves: AN-18.
    """
    failed, one, m, q = reals("failed one m q")
    given = {
        "weightings": z3.And(m >= 1, q > 0, one >= 0),
        "each": one * (2 * m) <= q,
        "union": failed <= 2 * m * one,
    }
    return Claim(given, failed <= q, drop="each")


@universal(axioms=(Axiom.TRIANGLE,), needs=(two_sided_drift,))
def level_here() -> Claim:
    """AN-19: phi(z) is the square of a length that differs from that of the estimates by little.

    `true` and `seen` are the lengths of (G_h(z), s(z)/sqrt b) and (ghat_h, shat/sqrt b);
    `missed`^2 = nu^2 + E^2/b.

    Proves: AN-19.
    """
    true, seen, missed, off, nu, error, b = reals("true seen missed off nu error b")
    given = {
        "lengths": z3.And(true >= 0, seen >= 0, missed >= 0, off >= 0, nu >= 0, error >= 0, b >= 1),
        "AN-18": off * off * b <= nu * nu * b + error * error,
        "missed": missed * missed * b == nu * nu * b + error * error,
        "triangle": true <= seen + off,
    }
    return Claim(given, true * true <= (seen + missed) ** 2, drop="AN-18")


@universal(axioms=(Axiom.CAUCHY_SCHWARZ,))
def distance_to_the_honest_optimum() -> Claim:
    """AN-19: a mu-strongly convex sum with gradient at most `pull` at z has its optimum near.

    Proves: AN-19.
    """
    distance, product, gradient, pull, mu = reals("distance product gradient pull mu")
    given = {
        "lengths": z3.And(distance >= 0, gradient >= 0, mu > 0),
        "strong convexity": product >= mu * distance * distance,
        "Cauchy-Schwarz": product <= gradient * distance,
        "AN-18": gradient <= pull,
    }
    return Claim(given, distance * mu <= pull, drop="strong convexity")


@universal(reach=Reach.SCALARS, needs=("admissible.ellipsoid", level_here))
def ellipsoids() -> Claim:
    """AN-19: shrunk towards the centre, a point of the outer ellipsoid is soon in the inner one.

    `reach` is |z - x_c|, `root` that of the smallest eigenvalue; outer and inner are the roots of
    the levels, and the point at inner/outer of the way out is inside.

    Proves: AN-19.
    """
    reach, root, outer, inner, moved = reals("reach root outer inner moved")
    given = {
        "levels": z3.And(outer > 0, inner >= 0, outer >= inner, root > 0, reach >= 0),
        "inside the outer": root * reach <= outer,
        "moved": moved * outer == reach * (outer - inner),
    }
    return Claim(given, moved * root <= outer - inner, drop="inside the outer")


@universal(axioms=(Axiom.CAUCHY_SCHWARZ, Axiom.TRIANGLE))
def checks_bound_the_level() -> Claim:
    """AN-19: with passing estimates of B, |shat|/sqrt b <= |ghat_B| + n eps/sqrt b, so Minkowski.

    `own` and `others` are the lengths of all honest and all Byzantine estimates, `limit`^2 what
    GV-6 allows, `slack` = n eps_opt / sqrt b.

    Proves: AN-19.
    """
    own, others, balance, limit, slack = reals("own others balance limit slack")
    given = {
        "lengths": z3.And(own >= 0, others >= 0, balance >= 0, limit >= 0, slack >= 0),
        "GV-6": own * own + others * others <= limit * limit,
        "GV-5": balance <= others + slack,
    }
    return Claim(given, own * own + balance * balance <= (limit + slack) ** 2, drop="GV-6")


@step(Method.EXACT, role=Role.INSTANCE)
def foreseen_mini_batch() -> Finding:
    """AD-3: whoever knows the mini-batch meets its whole bump; the variance knows of a small part.

    Of N bumps of height 1 one is drawn. At a point in a bump the deviation is at most 1/sqrt N,
    and AN-9 allows 1/sqrt(N theta); with the bump foreseen the error is 1 - 1/N.
    """
    N, theta = 2001, Fraction(1, 20)
    error, allowed_squared = 1 - Fraction(1, N), 1 / (N * theta)
    good = error**2 > 50 * allowed_squared
    return Finding(good, f"error {float(error):.4f}, allowed {float(allowed_squared) ** 0.5:.4f}")


PROOF = Proof(
    "radius",
    "What honest records certify after a run (AN-18, AN-19)",
    (
        two_sided_drift,
        one_more_round,
        stopped_before_it_exceeds,
        shares_sum_to_one,
        chebyshev_level,
        bernstein_level,
        all_levels,
        level_here,
        distance_to_the_honest_optimum,
        ellipsoids,
        checks_bound_the_level,
        foreseen_mini_batch,
    ),
    theorems=(
        "Mixing.edges_bound_the_spread",
        "Chebyshev.martingale_adds",
        "Admissible.admissible_closed_form",
        "Admissible.estimates_are_near",
        "Admissible.measured_nu_implies_relaxed",
    ),
)
