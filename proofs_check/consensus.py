"""Consensus from bounded gradients, honest or not: what is printed, and how loose the bound is.

The bound itself (AN-7) is proved in `coq/Consensus.v` and, from the graph, in `coq/Rate.v`.
"""

from fractions import Fraction

import numpy as np

from proofs_check.engines import reals, universal, z3
from proofs_check.framework import Axiom, Claim, Finding, Method, Proof, Role, step
from valid_ref.graph import AgentGraph
from valid_ref.graph_families import complete, cycle, path, star


@universal(axioms=(Axiom.TRIANGLE,), role=Role.INSTANCE)
def size_of_perturbations() -> Claim:
    """A15: passing LocalValidate only forces |z| <= 2 alpha C: reported and true gradients.

    Both are at most C in norm, and the perturbation is alpha times their difference.
    """
    z, reported, true, alpha, C = reals("z reported true alpha C")
    given = {
        "norms": z3.And(alpha > 0, reported >= 0, true >= 0, C >= 0),
        "reported": reported <= C,
        "true": true <= C,
        "z": z <= alpha * (reported + true),
    }
    return Claim(given, z <= 2 * alpha * C, drop="reported")


def recursion_ratio(graph: AgentGraph, rounds: int) -> float:
    """The largest quotient of the recursion D_t = (1 - eta_t l2) D_(t-1) + alpha_t and AN-7."""
    values = graph.laplacian_eigenvalues()
    l2, lM = float(values[1]), float(values[-1])
    offset = max(2.0, lM / l2)
    e0, D, worst = np.sqrt(1 + offset) / lM, 0.0, 0.0
    for t in range(1, rounds + 1):
        alpha, eta = 1 / (t + offset), e0 / np.sqrt(t + offset)
        D = (1 - eta * l2) * D + alpha
        worst = max(worst, D * l2 * eta / (2 * alpha))
    return float(worst)


@step(Method.EXACT, role=Role.INSTANCE)
def how_loose() -> Finding:
    """AN-7: the recursion itself reaches .603 of the bound at most: paths, cycles, stars, K_n."""
    graphs = [family(n) for n in (4, 8, 16) for family in (path, cycle, star, complete)]
    worst = max(recursion_ratio(graph, 5000) for graph in graphs)
    return Finding(0.6 < worst <= 0.603, f"largest ratio {worst:.3f} on {len(graphs)} graphs")


@step(Method.COUNTEREXAMPLE)
def printed_decay() -> Finding:
    """A15: printed, bounded Byzantine perturbations decay exponentially. A benign attack lasts.

    K3, loss (x - c)^2/2 with c = (0, 0, 0), agent 2 acting as if c = 1, alpha = 1/(t+2),
    eta = 1/4: the deviation of the honest mean does not fall below 1/4.
    """
    models, rounds = [Fraction(0)] * 3, 60
    for t in range(1, rounds + 1):
        mean = sum(models, Fraction(0)) / 3
        mixed = [x + Fraction(3, 4) * (mean - x) for x in models]
        targets = (0, 0, 1)
        models = [y - (y - c) / (t + 2) for y, c in zip(mixed, targets, strict=True)]
    deviation = (models[0] + models[1]) / 2
    gamma = Fraction(9, 10)
    good = deviation > Fraction(1, 4) > gamma**rounds
    return Finding(good, f"deviation {float(deviation):.3f} after {rounds} rounds; .9^60 = .0018")


PROOF = Proof(
    "consensus",
    "Consensus from bounded gradients (AN-7)",
    (
        size_of_perturbations,
        how_loose,
        printed_decay,
    ),
    theorems=(
        "Rate.reported_gradients_near_mean",
        "Consensus.consensus_abstract",
        "Consensus.consensus",
        "Consensus.shifted_steps_are_slow",
        "Rate.near_mean",
    ),
)
