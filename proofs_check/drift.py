"""The optimality check measures how far the mean model still moves, whatever the gradients are.

Proves: GV-11, AR-7.
"""

from fractions import Fraction
from typing import Any

from proofs_check.engines import identity, reals, sp, universal, z3
from proofs_check.framework import Axiom, Claim, Finding, Method, Proof, Reach, Role, step
from valid_ref.graph_families import connected_graphs


@identity(reach=Reach.SCALARS)
def edges_cancel() -> dict[str, Any]:
    """AR-7: an edge adds x_u - x_v to one sum and x_v - x_u to the other; together nothing.

    Proves: AR-7.
    """
    a, x, y = sp.symbols("a x y")
    return {"one edge": a * (x - y) + a * (y - x)}


@step(Method.EXHAUSTIVE, role=Role.INSTANCE, needs=(edges_cancel,))
def all_small_graphs() -> Finding:
    """AR-7: summed over all agents, AR-6 is 2^k sum(x(t) - x(t-1)) = -sum Gamma, up to 5 agents."""
    count = 0
    for n in range(2, 6):
        for graph in connected_graphs(n):
            a = sp.symbols("a")
            old, gamma = sp.symbols(f"x0:{n}"), sp.symbols(f"g0:{n}")
            moved = 0
            for v in range(n):
                pulled = sum(old[u] - old[v] for u in graph.neighbours(v))
                moved += a * pulled - gamma[v]
            if sp.expand(moved + sum(gamma)) != 0:
                return Finding(False, str(graph))
            count += 1
    return Finding(True, f"{count} graphs, symbolic models and gradients")


@universal()
def read_off() -> Claim:
    """GV-11: g = Gamma // A differs from Gamma/A by less than 1, from below.

    Proves: GV-11.
    """
    gamma, A, g = z3.Ints("gamma A g")
    given = {"A >= 1": A >= 1, "floor": z3.And(g * A <= gamma, gamma < (g + 1) * A)}
    return Claim(given, z3.And(gamma - g * A >= 0, gamma - g * A < A), drop="floor")


@universal(reach=Reach.SCALARS, needs=(edges_cancel, read_off))
def difference() -> Claim:
    """GV-11: one more agent and round keep the difference of the two sums below their weight.

    Proves: GV-11.
    """
    so_far, weight, w, exact, read = reals("so_far weight w exact read")
    given = {
        "so far": z3.Abs(so_far) <= weight,
        "weights": z3.And(weight >= 0, w >= 0),
        "read off": z3.And(exact - read >= 0, exact - read < 1),
    }
    return Claim(given, z3.Abs(so_far + w * (exact - read)) <= weight + w, drop="read off")


@identity(axioms=(Axiom.INDUCTION,))
def telescoping() -> dict[str, Any]:
    """GV-11: constant steps and equal weights: the sum over t is (x(0) - x(T))/alpha.

    Proves: GV-11.
    """
    first, last, after, a = sp.symbols("first last after alpha", positive=True)
    so_far = (first - last) / a
    return {"one round": so_far + (last - after) / a - (first - after) / a}


@universal(reach=Reach.SCALARS, needs=(telescoping,))
def falls_with_time() -> Claim:
    """GV-11: with models of at most B the normalised statistic is at most 2B/(alpha T).

    Proves: GV-11.
    """
    first, last, B, alpha, T, statistic = reals("first last B alpha T statistic")
    given = {
        "steps": z3.And(alpha > 0, T > 0, B >= 0),
        "models": z3.And(z3.Abs(first) <= B, z3.Abs(last) <= B),
        "telescoped": statistic * alpha * T == first - last,
    }
    return Claim(given, z3.Abs(statistic) * alpha * T <= 2 * B, drop="models")


@step(Method.COUNTEREXAMPLE)
def printed_optimality() -> Finding:
    """A25: printed, the check sees that no gradients balance. A lasting push scores nothing.

    K2, alpha = 1/10, all honest losses x^2/2. Agent 1 reports the gradient that holds the mean at
    1 for ever: the statistic falls as 1/T although every honest gradient is 1 at every round.
    """
    scores, alpha = [], Fraction(1, 10)
    for rounds in (100, 1000):
        mean, total = Fraction(0), Fraction(0)
        for _round in range(rounds):
            after = mean + alpha * (1 - mean)
            total += (mean - after) / alpha
            mean = after
        scores.append(abs(total) / rounds)
    good = scores[1] < scores[0] / 9 and scores[1] * 1000 <= 1 / alpha
    return Finding(good, f"T times the statistic {float(scores[1] * 1000):.3f}, bound 1/alpha = 10")


@step(Method.EXACT, role=Role.INSTANCE)
def any_gradients() -> Finding:
    """GV-11: weighted mean gradients equal weighted drifts for any gradients, in rationals."""
    state, models, left, right = 12345, [Fraction(0)] * 4, Fraction(0), Fraction(0)
    for t in range(1, 41):
        alpha, eta, weight = Fraction(1, t + 3), Fraction(1, 5), Fraction(t)
        gradients = []
        for _agent in range(4):
            state = (1103515245 * state + 12345) % 2**31
            gradients.append(Fraction(state % 2001 - 1000, 7))
        total = sum(models, Fraction(0))
        mixed = [x + eta * (total - 4 * x) for x in models]
        moved = [y - alpha * g for y, g in zip(mixed, gradients, strict=True)]
        left += weight * sum(gradients, Fraction(0)) / 4
        right += weight * (total - sum(moved, Fraction(0))) / 4 / alpha
        models = moved
    return Finding(left == right, "K4, 40 rounds, equal as rationals")


PROOF = Proof(
    "drift",
    "Optimality as a drift test (GV-11)",
    (
        edges_cancel,
        all_small_graphs,
        read_off,
        difference,
        telescoping,
        falls_with_time,
        any_gradients,
        printed_optimality,
    ),
    theorems=("LatticeProof.conservation",),
)
