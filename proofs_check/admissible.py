"""Admissible sets of quadratic losses: ellipsoid and ball.

The closed forms and the inclusion, for all losses, are in `coq/Admissible.v`.

Proves: GU-5, GU-6.
"""

from fractions import Fraction
from typing import Any

from proofs_check.engines import identity, sp
from proofs_check.framework import Finding, Method, Proof, Reach, Role, step


@identity(reach=Reach.INSTANCE)
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


@identity(reach=Reach.SCALARS, needs=(ellipsoid,))
def ball() -> dict[str, Any]:
    """GU-6: for H_u = hI, phi = h^2 (|U| n/b) |x - cbar|^2 + h^2 sum |c_u - cbar|^2.

    In sums: m = |U|, z = x - cbar, V = sum |c_u - cbar|^2; so sum |G_u|^2 = h^2(m z^2 + V).

    Proves: GU-6.
    """
    h, m, z, V, count, level = sp.symbols("h m z V b level", positive=True)
    phi = h**2 * (m * z**2 + V) + (h * m * z) ** 2 / count
    radius2 = count / (m * (m + count)) * (level / h**2 - V)
    return {"on the boundary": sp.expand(sp.simplify(phi.subs(z, sp.sqrt(radius2)) - level))}


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
        ellipsoid,
        ball,
        worked_example,
        printed_valid_agents,
    ),
    theorems=(
        "Admissible.admissible_closed_form",
        "Admissible.admissible_without_free",
        "Admissible.relaxed_closed_form",
        "Admissible.admissible_antitone",
    ),
)
