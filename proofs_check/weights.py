"""The weights of the global checks: their sum, their window, and how the noise falls with T.

Proves: AN-16.
"""

from fractions import Fraction
from typing import Any

from proofs_check.engines import identity, reals, sp, universal, z3
from proofs_check.framework import Axiom, Claim, Finding, Method, Proof, Reach, Role, step

g, T = sp.symbols("gamma T", positive=True)
POWERS = range(5)
"""The powers c for which the polynomial bound is proved."""


@identity(axioms=(Axiom.INDUCTION,))
def geometric_sum() -> dict[str, Any]:
    """AN-16: the weights gamma^(T-t), t = 1..T, sum to (1 - gamma^T)/(1 - gamma).

    Proves: AN-16.
    """

    def closed(rounds: Any) -> Any:
        return (1 - g**rounds) / (1 - g)

    return {"T = 1": closed(1) - 1, "T to T+1": g * closed(T) + 1 - closed(T + 1)}


@identity(axioms=(Axiom.INDUCTION,), needs=(geometric_sum,))
def sum_of_squares() -> dict[str, Any]:
    """AN-16: S2 = (1 - gamma)/(1 + gamma) (1 + gamma^T)/(1 - gamma^T).

    Proves: AN-16.
    """
    squares = (1 - g ** (2 * T)) / (1 - g**2)
    closed = (1 - g) / (1 + g) * (1 + g**T) / (1 - g**T)
    step_ = g**2 * squares + 1 - (1 - g ** (2 * T + 2)) / (1 - g**2)
    return {"squares": sp.expand(step_), "S2": squares * ((1 - g) / (1 - g**T)) ** 2 - closed}


@universal(needs=(sum_of_squares,))
def window() -> Claim:
    """AN-16: 1/S2 < (1 + gamma)/(1 - gamma) for every T (power is gamma^T).

    Proves: AN-16.
    """
    gamma, power, S2 = reals("gamma power S2")
    given = {
        "gamma": z3.And(gamma > 0, gamma < 1),
        "power": z3.And(power > 0, power < 1),
        "S2": S2 * (1 + gamma) * (1 - power) == (1 - gamma) * (1 + power),
    }
    weaker = z3.And(power >= 0, power < 1)
    return Claim(given, (1 - gamma) < S2 * (1 + gamma), drop="power", instead=weaker)


def _power(base: Any, exponent: int) -> Any:
    result = z3.RealVal(1)
    for _factor in range(exponent):
        result = result * base
    return result


@universal(axioms=(Axiom.BERNOULLI, Axiom.INDUCTION))
def polynomial_sum() -> Claim:
    """AN-16: sum t^c >= T^(c+1)/(c+1) for every real c >= 0: the step from T to T+1.

    In units of (T+1)^(c+1): u = 1/(T+1), power = (1-u)^(c+1).

    Proves: AN-16.
    """
    c, u, power = reals("c u power")
    total = reals("total c")[0]
    given = {
        "c >= 0": z3.And(c >= 0, power >= 0),
        "u": z3.And(u > 0, u <= 1),
        "so far": (c + 1) * total >= power,
        "Bernoulli": power >= 1 - (c + 1) * u,
    }
    return Claim(given, (c + 1) * (total + u) >= 1, drop="Bernoulli")


@universal(axioms=(Axiom.BERNOULLI, Axiom.INDUCTION))
def polynomial_squares() -> Claim:
    """AN-16: sum t^(2c) <= (T+1)^(2c+1)/(2c+1) for every real c >= 0: the step from T to T+1.

    In units of (T+1)^(2c+1): u = 1/(T+1), power = (1+u)^(2c+1).

    Proves: AN-16.
    """
    c, u, power = reals("c u power")
    total = reals("total c")[0]
    given = {
        "c >= 0": z3.And(c >= 0, power >= 0, total >= 0),
        "u": z3.And(u > 0, u <= 1),
        "so far": (2 * c + 1) * total <= 1,
        "Bernoulli": power >= 1 + (2 * c + 1) * u,
    }
    return Claim(given, (2 * c + 1) * (total + u) <= power, drop="Bernoulli")


@universal(reach=Reach.INSTANCE, role=Role.INSTANCE, axioms=(Axiom.INDUCTION,))
def polynomial_sum_without_the_axiom() -> Claim:
    """AN-16: sum t^c >= T^(c+1)/(c+1): the step from T to T+1, for c = 0 to 4 and all T >= 0.

    Proves: AN-16.
    """
    t = reals("T gamma")[0]
    then = [(c + 1) * _power(t + 1, c) + _power(t, c + 1) >= _power(t + 1, c + 1) for c in POWERS]
    return Claim({"T >= 0": t >= 0}, z3.And(then), drop="T >= 0")


@universal(reach=Reach.INSTANCE, role=Role.INSTANCE, axioms=(Axiom.INDUCTION,))
def polynomial_squares_without_the_axiom() -> Claim:
    """AN-16: sum t^(2c) <= (T+1)^(2c+1)/(2c+1): the step, for c = 0 to 4 and all T >= 0.

    Proves: AN-16.
    """
    t = reals("T gamma")[0]
    then = [
        (2 * c + 1) * _power(t + 1, 2 * c) + _power(t + 1, 2 * c + 1) <= _power(t + 2, 2 * c + 1)
        for c in POWERS
    ]
    return Claim({"T >= 0": t >= 0}, z3.And(then), drop="T >= 0")


@identity(needs=(polynomial_sum, polynomial_squares))
def polynomial_window() -> dict[str, Any]:
    """AN-16: the two bounds give S2 <= (c+1)^2/((2c+1)T) (1 + 1/T)^(2c+1).

    Proves: AN-16.
    """
    c = sp.symbols("c", positive=True)
    quotient = (T + 1) ** (2 * c + 1) / (2 * c + 1) / (T ** (c + 1) / (c + 1)) ** 2
    bound = (c + 1) ** 2 / ((2 * c + 1) * T) * (1 + 1 / T) ** (2 * c + 1)
    logs = sp.expand_log(sp.log(quotient), force=True) - sp.expand_log(sp.log(bound), force=True)
    return {"logarithms": sp.simplify(logs.subs(sp.log(1 + 1 / T), sp.log(T + 1) - sp.log(T)))}


@step(Method.EXACT, role=Role.INSTANCE)
def polynomial_instances() -> Finding:
    """AN-16: S2 of the weights t^c in rationals, below the bound, for c = 0 to 6 and T to 300."""
    count = 0
    for c in range(7):
        total = squares = 0
        for t in range(1, 301):
            total, squares = total + t**c, squares + t ** (2 * c)
            bound = Fraction((c + 1) ** 2, (2 * c + 1) * t) * Fraction(t + 1, t) ** (2 * c + 1)
            if Fraction(squares, total**2) > bound:
                return Finding(False, f"c = {c}, T = {t}")
            count += 1
    return Finding(True, f"{count} pairs (c, T)")


@identity()
def printed_sum() -> dict[str, Any]:
    """AN-16, P24: the printed weights (1-g^(T-1))/(1-g) g^(T-i-1) sum to that factor squared.

    Proves: AN-16.
    """
    factor = (1 - g ** (T - 1)) / (1 - g)
    base = sp.simplify((factor - 1).subs(T, 2))
    step_ = sp.simplify(g * factor + 1 - factor.subs(T, T + 1))
    return {"T = 2": base, "the inner sum, T to T+1": step_, "times": factor * factor - factor**2}


@step(Method.COUNTEREXAMPLE, needs=(printed_sum,))
def printed_weights() -> Finding:
    """P24: printed, a mean of the gradients. The weights sum to 100 and 7476 instead of 1."""
    sums = []
    for gamma, rounds in ((Fraction(9, 10), 400), (Fraction(99, 100), 200)):
        factor = sum(gamma ** (rounds - i - 1) for i in range(1, rounds))
        sums.append(Fraction(factor) ** 2)
    good = abs(sums[0] - 100) < Fraction(1, 10**9) and round(sums[1]) == 7476
    shown = [f"{float(total):.0f}" for total in sums]
    return Finding(good, f"sums {shown[0]} (.9, T = 400) and {shown[1]} (.99, T = 200)")


@step(Method.COUNTEREXAMPLE, needs=(window,))
def fixed_window() -> Finding:
    """A12: printed, the checks sharpen with T. For gamma = .9 the window is 19 rounds for all T."""
    gamma, windows = Fraction(9, 10), []
    for rounds in (10, 100, 1000, 10000):
        power = gamma**rounds
        windows.append((1 + gamma) / (1 - gamma) * (1 - power) / (1 + power))
    good = all(window_ < 19 for window_ in windows) and windows[-1] > Fraction(189, 10)
    return Finding(good, "1/S2 = " + ", ".join(f"{float(found):.2f}" for found in windows))


@step(Method.COUNTEREXAMPLE)
def printed_sensitivity() -> Finding:
    """A28: printed, sensitivity rises with gamma. A lasting attack scores the same for all gamma.

    Honest norms 1, attacked norms 2 in all 100 rounds, or in the first 50 only; weights of sum 1.
    """
    lasting, early = [], []
    for gamma in (Fraction(0), Fraction(1, 2), Fraction(9, 10), Fraction(99, 100)):
        powers = [gamma ** (100 - t) for t in range(1, 101)]
        total = sum(powers)
        lasting.append(sum(2 * w for w in powers) / total)
        first = sum((2 if t <= 50 else 1) * w for t, w in enumerate(powers, 1))
        early.append(first / total)
    good = set(lasting) == {Fraction(2)} and early == sorted(set(early))
    return Finding(good, "ratio 2 for gamma = 0, .5, .9, .99; it rises only if the attack stops")


PROOF = Proof(
    "weights",
    "The weights of the global checks (AN-16)",
    (
        geometric_sum,
        sum_of_squares,
        window,
        polynomial_sum,
        polynomial_squares,
        polynomial_sum_without_the_axiom,
        polynomial_squares_without_the_axiom,
        polynomial_window,
        polynomial_instances,
        printed_sum,
        printed_weights,
        fixed_window,
        printed_sensitivity,
    ),
)
