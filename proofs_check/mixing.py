"""Which steps eta keep which norm when models are mixed with W = I - eta L.

The contraction, from the quadratic form of L, is in `coq/Mixing.v`; here rows of W, small graphs,
and what is printed.

Proves: AN-4.
"""

from fractions import Fraction
from typing import Any

import numpy as np

from proofs_check.engines import identity, reals, sp, universal, z3
from proofs_check.framework import Claim, Finding, Method, Proof, Reach, Role, step
from valid_ref.graph import AgentGraph
from valid_ref.graph_families import complete, connected_graphs, cycle, star

eta = reals("eta degree")[0]


@identity()
def row_sums() -> dict[str, Any]:
    """AN-4: a row of W has 1 - eta deg and deg times eta; its sum is 1. W is symmetric as L is.

    Proves: AN-4.
    """
    e, degree = sp.symbols("eta degree")
    return {"row sum": (1 - e * degree) + degree * e - 1}


@universal(reach=Reach.SCALARS)
def largest_norm() -> Claim:
    """AN-4: a row's absolute sum |1 - eta deg| + eta deg is at most 1 exactly if eta deg <= 1.

    Proves: AN-4.
    """
    degree = reals("degree eta")[0]
    then = (z3.Abs(1 - eta * degree) + eta * degree <= 1) == (eta * degree <= 1)
    return Claim(
        {"eta > 0": eta > 0, "degree >= 1": degree >= 1},
        then,
        stronger=z3.And(then, eta * degree <= 1),
    )


@universal(reach=Reach.SCALARS)
def convex_combination() -> Claim:
    """AN-4: with eta deg <= 1 one neighbour after the other keeps a weighted mean below the bound.

    Proves: AN-4.
    """
    weight, rest, x, y, bound = reals("weight rest x y bound")
    given = {
        "weights": z3.And(weight >= 0, rest >= 0, weight + rest == 1),
        "partial mean": z3.Abs(x) <= bound,
        "neighbour": z3.Abs(y) <= bound,
    }
    return Claim(
        given, z3.Abs(rest * x + weight * y) <= bound, drop="weights", instead=(weight + rest == 1)
    )


def mixing_matrix(graph: AgentGraph, step_size: Fraction) -> list[list[Fraction]]:
    """W = I - eta L in rationals."""
    return [
        [Fraction(int(u == v)) - step_size * int(entry) for v, entry in enumerate(row)]
        for u, row in enumerate(graph.laplacian())
    ]


@step(Method.EXHAUSTIVE, role=Role.INSTANCE)
def all_small_graphs() -> Finding:
    """AN-4: on all connected graphs up to six agents, at eta = 2/lM and 2/(l2+lM), margin 1e-9."""
    count = 0
    for n in range(2, 7):
        for graph in connected_graphs(n):
            values = graph.laplacian_eigenvalues()
            edge, inner = 2 / values[-1], 2 / (values[1] + values[-1])
            good = np.abs(1 - edge * values).max() <= 1 + 1e-9
            off = np.abs(1 - inner * values[1:]).max()
            if not good or off > 1 - inner * values[1] + 1e-9:
                return Finding(False, str(graph))
            count += 1
    return Finding(True, f"{count} graphs")


@step(Method.COUNTEREXAMPLE)
def printed_stochastic() -> Finding:
    """A06: printed, W is doubly stochastic without a condition: a star with 8 leaves, eta = 2/9."""
    rows = mixing_matrix(star(9), Fraction(2, 9))
    growth = max(sum(abs(entry) for entry in row) for row in rows)
    spectral = abs(1 - Fraction(2, 9) * 9)
    good = growth == Fraction(23, 9) and spectral == 1 and min(min(row) for row in rows) < 0
    return Finding(good, f"largest norm grows by {growth} = {float(growth):.2f}")


@step(Method.COUNTEREXAMPLE)
def printed_consensus() -> Finding:
    """A06: printed, mixing reaches consensus: K2 and C6 at eta deg = 1 alternate for ever."""
    alternate = []
    for graph, step_size in ((complete(2), Fraction(1)), (cycle(6), Fraction(1, 2))):
        rows = mixing_matrix(graph, step_size)
        start = [Fraction((-1) ** v) for v in range(graph.agents)]
        after = [sum(w * x for w, x in zip(row, start, strict=True)) for row in rows]
        alternate.append(after == [-x for x in start])
    return Finding(all(alternate), "the alternating vector changes sign every round")


PROOF = Proof(
    "mixing",
    "The mixing matrix (AN-4)",
    (
        row_sums,
        largest_norm,
        convex_combination,
        all_small_graphs,
        printed_stochastic,
        printed_consensus,
    ),
    theorems=(
        "Contraction.factor_below_one",
        "Mixing.small_mixing_steps",
        "Mixing.mixing_is_short",
        "Mixing.longer_steps_expand",
        "Contraction.mixing_keeps_bounds",
        "Mixing.mixing_contracts",
    ),
)
