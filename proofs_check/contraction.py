"""One gradient step contracts: D is a difference of two points, Dg of their gradients.

In all claims S = |D|^2, P = <D, Dg>, N = |Dg|^2; that is the reduction to scalars.

Proves: AN-1.
"""

from typing import Any

from proofs_check.engines import find_model, identity, reals, sp, universal, z3
from proofs_check.framework import Axiom, Claim, Finding, Method, Proof, Reach, Role, step

mu, beta, alpha, S, P, N = reals("mu beta alpha S P N")
CURVATURES = {"0 < mu": mu > 0, "mu <= beta": mu <= beta, "D is not 0": S > 0}
COCOERCIVE = {"co-coercivity": (mu + beta) * P >= mu * beta * S + N}
STEPPED = S - 2 * alpha * P + alpha**2 * N
"""|D - alpha Dg|^2."""


@identity(reach=Reach.SCALARS)
def centred_form() -> dict[str, Any]:
    """AN-1: co-coercivity of f - mu|x|^2/2 says |Dg - (beta+mu)D/2|^2 <= ((beta-mu)/2)^2 |D|^2.

    Proves: AN-1.
    """
    m, b, s, p, n = sp.symbols("mu beta S P N")
    shifted = (p - m * s) * (b - m) - (n - 2 * m * p + m**2 * s)
    ball = ((b - m) / 2) ** 2 * s - (n - (b + m) * p + ((b + m) / 2) ** 2 * s)
    return {"the two differ by nothing": shifted - ball}


def q(step_size: Any) -> Any:
    """The factor max(|1 - alpha mu|, |1 - alpha beta|) as a z3 term."""
    low, high = z3.Abs(1 - step_size * mu), z3.Abs(1 - step_size * beta)
    return z3.If(low >= high, low, high)


@universal()
def factor_by_cases() -> Claim:
    """AN-1: q(alpha) is 1 - alpha mu up to 2/(mu+beta) and alpha beta - 1 beyond.

    Proves: AN-1.
    """
    small = alpha * (mu + beta) <= 2
    then = q(alpha) == z3.If(small, 1 - alpha * mu, alpha * beta - 1)
    given = {"0 < mu": mu > 0, "mu <= beta": mu <= beta, "alpha >= 0": alpha >= 0}
    return Claim(given, then, drop="alpha >= 0")


@universal()
def range_without_the_axiom() -> Claim:
    """AN-1: 1 - 2 alpha mu + alpha^2 beta^2 < 1 for 0 < alpha < 2 mu/beta^2.

    Proves: AN-1.
    """
    given = {
        "0 < mu": mu > 0,
        "mu <= beta": mu <= beta,
        "alpha > 0": alpha > 0,
        "alpha < 2 mu/beta^2": alpha * beta**2 < 2 * mu,
    }
    then = 1 - 2 * alpha * mu + alpha**2 * beta**2 < 1
    return Claim(given, then, drop="alpha < 2 mu/beta^2")


@universal(axioms=(Axiom.TRIANGLE,))
def averages() -> Claim:
    """AN-1: mini-batches. The mean of k+1 steps that contract by q contracts by q.

    The step of a mean gradient is the mean of the steps; one more sample keeps the bound.

    Proves: AN-1.
    """
    k, mean, last, factor = reals("k mean last factor")
    given = {
        "k samples": k >= 1,
        "mean of k contracts": z3.Abs(mean) <= factor,
        "the next contracts": z3.Abs(last) <= factor,
    }
    return Claim(given, z3.Abs(k * mean + last) <= (k + 1) * factor, drop="the next contracts")


@identity(reach=Reach.INSTANCE, role=Role.INSTANCE)
def factor_attained() -> dict[str, Any]:
    """AN-1: sharpness. f = mu x^2/2 and f = beta x^2/2 attain |1 - alpha mu| and |1 - alpha beta|.

    Proves: AN-1.
    """
    a, h, x, y = sp.symbols("alpha h x y", real=True)
    after = (x - a * h * x) - (y - a * h * y)
    return {"ratio of squares": after**2 - (1 - a * h) ** 2 * (x - y) ** 2}


@step(Method.COUNTEREXAMPLE)
def printed_factor_expands() -> Finding:
    """A03: printed, 1 - alpha mu + alpha^2 beta^2 < 1 for alpha in (0, max{1, mu/beta^2})."""
    printed = 1 - alpha * mu + alpha**2 * beta**2
    named = [mu == z3.Q(1, 4), beta == 1, alpha == z3.Q(1, 2)]
    above = [alpha > 0, alpha < 1, mu > 0, mu <= beta, printed >= 1]
    finding = find_model([*above, *named, printed == z3.Q(9, 8)])
    free = find_model(above)
    return Finding(finding.holds and free.holds, f"{finding.detail}: factor 9/8")


@step(Method.COUNTEREXAMPLE)
def printed_range_expands() -> Finding:
    """A03: printed, every alpha in (0, max{1, mu/beta^2}) contracts. beta = mu = 10, alpha = .9."""
    h, a = sp.Integer(10), sp.Rational(9, 10)
    admitted = 0 < a < max(sp.Integer(1), h / h**2)
    return Finding(bool(admitted and abs(1 - a * h) == 8), "the step expands by exactly 8")


@universal(reach=Reach.SCALARS, role=Role.INSTANCE)
def printed_factor_is_valid() -> Claim:
    """A04: the printed squared factor 1 - alpha mu + alpha^2 beta^2 bounds the step, loosely."""
    given = {
        "mu >= 0": mu >= 0,
        "S >= 0": S >= 0,
        "P >= mu S": mu * S <= P,
        "N <= beta^2 S": beta**2 * S >= N,
        "alpha >= 0": alpha >= 0,
    }
    then = (1 - alpha * mu + alpha**2 * beta**2) * S >= STEPPED
    return Claim(given, then, drop="P >= mu S")


@universal(role=Role.INSTANCE)
def sharp_factor_is_smaller() -> Claim:
    """A04: q(alpha)^2 is strictly below the printed factor for 0 < alpha < 2/beta."""
    given = {
        "0 < mu": mu > 0,
        "mu <= beta": mu <= beta,
        "alpha > 0": alpha > 0,
        "alpha < 2/beta": alpha * beta < 2,
    }
    then = q(alpha) ** 2 < 1 - alpha * mu + alpha**2 * beta**2
    return Claim(given, then, drop="alpha > 0")


PROOF = Proof(
    "contraction",
    "Contraction of a gradient step (AN-1)",
    (
        centred_form,
        factor_by_cases,
        range_without_the_axiom,
        averages,
        factor_attained,
        printed_factor_expands,
        printed_range_expands,
        printed_factor_is_valid,
        sharp_factor_is_smaller,
    ),
    theorems=(
        "Contraction.contraction_plain",
        "Contraction.contraction_sharp",
        "Contraction.factor_below_one",
    ),
)
