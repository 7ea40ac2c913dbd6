"""Admissible sets decided exactly: closed form, best vectors, ellipsoid, ball, inclusion.

A = sum over U of |G_u|^2, s = |sum over U of G_u|, S the length of the sum of the free vectors,
Q the sum of their squares; budget = n delta.

Proves: GU-3, GU-4, GU-5, GU-6, GU-7.
"""

from fractions import Fraction
from typing import Any

from proofs_check.engines import identity, reals, sp, universal, z3
from proofs_check.framework import Axiom, Claim, Finding, Method, Proof, Role, step

A, s, S, Q, b, budget = reals("A s S Q b budget")


@identity()
def variance() -> dict[str, Any]:
    """GU-3: sum |g_v|^2 - |sum g_v|^2/b = sum |g_v - mean|^2 >= 0, for b = 1 to 4.

    Proves: GU-3.
    """
    found = {}
    for count in range(1, 5):
        g = sp.symbols(f"g1:{count + 1}")
        mean = sum(g) / count
        found[f"b = {count}"] = sp.expand(
            sum(x**2 for x in g) - sum(g) ** 2 / count - sum((x - mean) ** 2 for x in g)
        )
    return found


@universal(axioms=(Axiom.INDUCTION,), needs=(variance,))
def least_norm() -> Claim:
    """GU-3: Q >= S^2/b is kept when one more vector is added, so it holds for every b >= 1.

    Proves: GU-3.
    """
    g = reals("g A")[0]
    given = {"b >= 1": b >= 1, "square": Q >= 0, "before": b * Q >= S * S}
    return Claim(given, (b + 1) * (Q + g * g) >= (S + g) ** 2, drop="before")


@universal(needs=(least_norm,))
def closed_form_only_if() -> Claim:
    """GU-3: if free vectors balance the sum within the budget, A + s^2/b <= n delta.

    Proves: GU-3.
    """
    given = {
        "b >= 1": b >= 1,
        "squares": z3.And(A >= 0, Q >= 0),
        "least norm": b * Q >= S * S,
        "balanced": s * s == S * S,
        "within budget": budget >= A + Q,
    }
    return Claim(given, A + s * s / b <= budget, drop="balanced")


@universal()
def closed_form_if() -> Claim:
    """GU-3: if A + s^2/b <= n delta, the vectors -s/b, b times, balance the sum in the budget.

    Proves: GU-3.
    """
    g = reals("g A")[0]
    given = {
        "b >= 1": b >= 1,
        "closed form": A + s * s / b <= budget,
        "equal vectors": g == -s / b,
    }
    return Claim(given, z3.And(s + b * g == 0, A + b * g * g <= budget), drop="closed form")


@universal(axioms=(Axiom.TRIANGLE,), needs=(least_norm,))
def relaxed_only_if() -> Claim:
    """GU-4: |s + S| <= n e1 and A + Q <= n e2 give A + max(s - n e1, 0)^2/b <= n e2.

    Proves: GU-4.
    """
    slack = reals("slack A")[0]
    excess = z3.If(s - slack > 0, s - slack, z3.RealVal(0))
    given = {
        "b >= 1": b >= 1,
        "lengths": z3.And(s >= 0, S >= 0, slack >= 0),
        "triangle": s <= S + slack,
        "least norm": b * Q >= S * S,
        "within budget": budget >= A + Q,
    }
    return Claim(given, A + excess * excess / b <= budget, drop="triangle")


@universal(needs=(relaxed_only_if,))
def relaxed_if() -> Claim:
    """GU-4: vectors against the sum with total length max(s - n e1, 0) show membership.

    Proves: GU-4.
    """
    slack = reals("slack A")[0]
    excess = z3.If(s - slack > 0, s - slack, z3.RealVal(0))
    given = {
        "b >= 1": b >= 1,
        "lengths": z3.And(s >= 0, slack >= 0, A >= 0, budget >= 0),
        "closed form": A + excess * excess / b <= budget,
        "the vectors": z3.And(excess == S, b * Q == S * S),
    }
    return Claim(given, z3.And(z3.Abs(s - S) <= slack, budget >= A + Q), drop="closed form")


@identity()
def ellipsoid() -> dict[str, Any]:
    """GU-5: phi is the quadratic with matrix Q and centre x_c, for any number of agents.

    One agent: |H(x-c)|^2 = x'H^2 x - 2(H^2 c)'x + |Hc|^2. Summed, with M = sum H^2, l = sum H^2 c,
    H = sum H_u, k = sum H_u c_u, the linear part is -2(l + Hk/b) = -2 Q x_c. In two dimensions.

    Proves: GU-5.
    """
    count = sp.symbols("b", positive=True)
    x, c, linear, k = (sp.Matrix(sp.symbols(f"{name}1:3")) for name in ("x", "c", "l", "k"))
    M, H = (sp.Matrix([[u, v], [v, w]]) for u, v, w in (sp.symbols("p1:4"), sp.symbols("q1:4")))
    gradient, total = H * (x - c), H * x - k
    one = (gradient.T * gradient)[0] - (x.T * H * H * x)[0] + 2 * ((H * H * c).T * x)[0]
    phi = (x.T * M * x)[0] - 2 * (linear.T * x)[0] + (total.T * total)[0] / count
    matrix, centre_part = M + H * H / count, linear + H * k / count
    wanted = (x.T * matrix * x)[0] - 2 * (centre_part.T * x)[0] + (k.T * k)[0] / count
    return {
        "one agent": sp.expand(one - ((H * c).T * (H * c))[0]),
        "all agents": sp.expand(phi - wanted),
    }


@identity(needs=(ellipsoid,))
def ball() -> dict[str, Any]:
    """GU-6: for H_u = hI, phi = h^2 (|U| n/b) |x - cbar|^2 + h^2 sum |c_u - cbar|^2.

    In sums: m = |U|, z = x - cbar, V = sum |c_u - cbar|^2; so sum |G_u|^2 = h^2(m z^2 + V).

    Proves: GU-6.
    """
    h, m, z, V, count, level = sp.symbols("h m z V b level", positive=True)
    phi = h**2 * (m * z**2 + V) + (h * m * z) ** 2 / count
    radius2 = count / (m * (m + count)) * (level / h**2 - V)
    return {"on the boundary": sp.expand(sp.simplify(phi.subs(z, sp.sqrt(radius2)) - level))}


@universal(axioms=(Axiom.INDUCTION,))
def inclusion() -> Claim:
    """GU-7: if U grows by one agent with gradient g, A(U + one) is contained in A(U).

    One coordinate; b is the number outside U, at least 2, so at least 1 is left outside. Summed
    over coordinates it is the claim.

    Proves: GU-7.
    """
    g = reals("g A")[0]
    given = {"b >= 2": b >= 2, "in the smaller set": A + g * g + (s + g) ** 2 / (b - 1) <= budget}
    return Claim(given, A + s * s / b <= budget, drop="b >= 2", instead=z3.And(b > 0, b < 1))


@universal()
def inclusion_of_the_last() -> Claim:
    """GU-7: with b = 1 the agent added is the last, and s + g = 0 and A + g^2 <= n delta.

    Proves: GU-7.
    """
    g = reals("g A")[0]
    given = {"balanced": s + g == 0, "within budget": A + g * g <= budget}
    return Claim(given, A + s * s <= budget, drop="balanced")


@universal(axioms=(Axiom.TRIANGLE,), needs=(relaxed_only_if,))
def relaxed_inclusion() -> Claim:
    """GU-7: for the relaxed sets the gradient of the agent added serves as its free vector.

    Proves: GU-7.
    """
    g, slack, rest = reals("g slack rest")
    given = {
        "balanced up to slack": z3.Abs((s + g) + rest) <= slack,
        "squares": z3.And(A >= 0, Q >= 0, budget >= 0),
        "within budget": A + g * g + Q <= budget,
    }
    then = z3.And(z3.Abs(s + (g + rest)) <= slack, A + (Q + g * g) <= budget)
    return Claim(given, then, drop="within budget")


@step(Method.EXACT, role=Role.INSTANCE)
def worked_example() -> Finding:
    """GU-6, GU-7: c = (0, 1, 2), delta = 2/3: A({1,2}) = [1, 2] lies in A({2}), radius^2 4/3."""
    level = 3 * Fraction(2, 3)
    pair = Fraction(1, 2 * 3) * (level - Fraction(1, 2))
    single = Fraction(2, 1 * 3) * level
    inside = single >= (1 - 2) ** 2 and single >= (2 - 2) ** 2
    return Finding(pair == Fraction(1, 4) and single == Fraction(4, 3) and inside, "as stated")


@step(Method.COUNTEREXAMPLE, needs=(ball,))
def printed_valid_agents() -> Finding:
    """A24: printed, admissible for the valid agents is enough. One alone frees all others.

    Ten agents, loss |x - c|^2/2, nine honest with c_u = u/10, delta = 5/2: the radius grows.
    """
    centres, n, delta = [Fraction(u, 10) for u in range(9)], 10, Fraction(5, 2)

    def radius_squared(chosen: list[Fraction]) -> Fraction:
        mean = sum(chosen, Fraction(0)) / len(chosen)
        spread = sum((c - mean) ** 2 for c in chosen)
        outside = n - len(chosen)
        return Fraction(outside, len(chosen) * n) * (n * delta - spread)

    nine, one = radius_squared(centres), radius_squared(centres[:1])
    return Finding(
        one > 50 * nine, f"radius^2 {float(nine):.2f} with nine, {float(one):.1f} with one"
    )


PROOF = Proof(
    "admissible",
    "Admissible sets (GU-3 to GU-7)",
    (
        variance,
        least_norm,
        closed_form_only_if,
        closed_form_if,
        relaxed_only_if,
        relaxed_if,
        ellipsoid,
        ball,
        inclusion,
        inclusion_of_the_last,
        relaxed_inclusion,
        worked_example,
        printed_valid_agents,
    ),
)
