"""Theorem 2: whatever succeeds without an attack can be led anywhere in the admissible set.

Proves: AN-12.
"""

from fractions import Fraction
from typing import Any

import numpy as np

from proofs_check.engines import identity, reals, sp, universal, z3
from proofs_check.framework import Claim, Finding, Method, Proof, Reach, Role, step
from valid_ref.graph_families import cycle
from valid_ref.lattice import default_limits
from valid_ref.machine import CausalView, run_machine
from valid_ref.protocols.learn import LearnModel
from valid_ref.schedule import constant, make_schedule

mu, h, b, n, delta = reals("mu h b n delta")


@universal(reach=Reach.SCALARS)
def target_is_the_minimiser() -> Claim:
    """AN-12: gradients of a strongly convex average that sum to 0 at xhat make it the minimiser.

    If the sum is 0 at xhat and at x*, then 0 = <difference of gradients, D> >= mu|D|^2, so D = 0.

    Proves: AN-12.
    """
    inner, square = reals("inner square")
    given = {
        "mu > 0": mu > 0,
        "both gradients vanish": inner == 0,
        "strong convexity": inner >= mu * square,
        "square": square >= 0,
    }
    return Claim(given, square == 0, drop="mu > 0", instead=mu >= 0)


@universal(reach=Reach.SCALARS, needs=(target_is_the_minimiser,))
def imitated_class() -> Claim:
    """AN-12: the budget of GU-2 at xhat is delta-heterogeneity of P_H x Q_B, whose minimiser it is.

    Proves: AN-12.
    """
    honest, free, mean = reals("honest free mean")
    given = {
        "n >= 1": z3.And(n >= 1, honest >= 0, free >= 0, delta >= 0),
        "within budget": honest + free <= n * delta,
        "f-complete": mean * n == honest + free,
    }
    return Claim(given, mean <= delta, drop="within budget")


@identity()
def mean_of_the_data() -> dict[str, Any]:
    """AN-12, GU-11: for h|x - D|^2/2 the mean xhat - ghat/h gives the gradient ghat at xhat.

    Proves: AN-12.
    """
    curvature, x, g = sp.symbols("h xhat ghat")
    return {"gradient": curvature * (x - (x - g / curvature)) - g}


def _sources(means: dict[int, float], noise: Any) -> dict[int, Any]:
    """Private gradients of (x - D)^2/2 with D of this mean, coupled by the noise."""

    def source(agent: int) -> Any:
        return lambda t, y: y - means[agent] - noise[agent, t]

    return {agent: source(agent) for agent in means}


def _messages(result: Any) -> list[Any]:
    """Every model and scaled gradient on every edge, round by round."""
    said = [
        found.on_edge(u, v)
        for found in result.rounds
        for u in range(5)
        for v in ((u - 1) % 5, (u + 1) % 5)
    ]
    return [(int(one.model[0]), int(one.scaled_gradient[0])) for one in said]


@step(Method.EXACT, role=Role.INSTANCE)
def equality_in_law() -> Finding:
    """AN-12: coupled by the samples, the attacked run and the imitated run are the same run.

    Cycle of 5, 12 rounds on the lattice. Agents 3 and 4 hold data of P_B; the adversary ignores
    it and speaks for them by running the honest code on data of Q_B. Every message equals that of
    the attack-free run on P_H x Q_B, and differs from the run on P_V; 10 coupled seeds.

    Proves: AN-12.
    """
    quarter = constant(Fraction(1, 4))
    graph, schedule = cycle(5), make_schedule(12, quarter, quarter)
    machine = LearnModel(graph, default_limits(1, schedule, 2), np.zeros(1, dtype=np.int64))
    true = {0: 0.0, 1: 1.0, 2: -0.5, 3: 0.5, 4: 0.5}
    for seed in range(10):
        noise = np.random.default_rng(seed).normal(size=(5, 13))
        imitated = _sources(true | {3: 2.0, 4: 0.25}, noise)

        def benign(view: CausalView, sources: dict[int, Any] = imitated) -> dict[Any, Any]:
            states = {agent: machine.start(agent, sources[agent]) for agent in view.byzantine}
            for earlier in view.history:
                for agent, state in states.items():
                    inbox = {u: earlier.on_edge(u, agent) for u in graph.neighbours(agent)}
                    states[agent] = machine.receive(state, earlier.number, inbox)
            return {
                (agent, u): machine.send(state, view.round)
                for agent, state in states.items()
                for u in graph.neighbours(agent)
            }

        attacked = run_machine(
            graph, machine, _sources(true, noise), byzantine=frozenset({3, 4}), adversary=benign
        )
        wanted = _messages(run_machine(graph, machine, imitated))
        plain = _messages(run_machine(graph, machine, _sources(true, noise)))
        if _messages(attacked) != wanted or wanted == plain:
            return Finding(False, f"seed {seed}")
    return Finding(True, "10 seeds, 12 rounds, every message equal")


@universal(reach=Reach.SCALARS, role=Role.INSTANCE)
def budget_step() -> Claim:
    """A21: h honest agents at rho beyond the largest mean m need Byzantine data with mean above m.

    Quadratic loss, means m - gap with gap < rho(1 + h/b): x = m - gap + rho is admissible by its
    budget, and the vectors of GU-3 need the mean x + h rho/b, beyond the class. With Assumption 2
    the means are bounded, so the class is not f-complete.
    """
    m, gap, rho, needed = reals("m gap rho needed")
    given = {
        "agents": z3.And(h >= 1, b >= 1, rho > 0),
        "near the edge": z3.And(gap >= 0, gap * b < rho * (b + h)),
        "mean that shows x": needed == (m - gap + rho) + h * rho / b,
    }
    return Claim(given, needed > m, drop="near the edge", instead=gap >= 0)


@step(Method.COUNTEREXAMPLE, needs=(budget_step,))
def printed_assumptions() -> Finding:
    """A21: printed, Assumptions 2 and 8 together. Data in [-1, 1], 2 honest agents of 3 at 1.

    delta = 1/100, loss (x - D)^2/2: x = 1 + rho with 6 rho^2 = 3 delta is admissible, and needs a
    distribution on [-1, 1] with mean 1 + 3 rho.
    """
    level = 3 * Fraction(1, 100)
    rho = Fraction(7, 100)
    spent = 2 * rho**2 + (2 * rho) ** 2
    needed = 1 + rho + 2 * rho
    return Finding(spent <= level and needed > 1, f"mean {needed} wanted of data in [-1, 1]")


@step(Method.COUNTEREXAMPLE)
def printed_conclusion() -> Finding:
    """A23: printed, O(1/T)-success follows from eps-success. A protocol may stay sqrt(eps)/2 off.

    It outputs x* + sqrt(eps)/2 for every T: eps-successful on every distribution with probability
    1, under the benign attack too, and T times its squared error is T eps/4.
    """
    eps = Fraction(1, 100)
    squared = eps / 4
    products = [rounds * squared for rounds in (10**2, 10**4, 10**6)]
    good = squared < eps and products == sorted(products) and products[-1] > 1000
    text = ", ".join(f"{float(found):g}" for found in products)
    return Finding(good, f"T times the squared error {text}")


@step(Method.COUNTEREXAMPLE)
def printed_premise() -> Finding:
    """A23: printed, the premise at the true P_V is enough. A protocol that knows its answer.

    It outputs 0 whatever the data: eps-successful on data (0, 0), of which the minimiser is 0.
    Under the benign attack that imitates (0, 1) the target is 1/2, and it still outputs 0.
    """
    output, honest_minimiser, target = Fraction(0), Fraction(0), Fraction(1, 2)
    eps = Fraction(1, 100)
    good = (output - honest_minimiser) ** 2 < eps <= (output - target) ** 2
    return Finding(good, "squared distance 0 from x*, 1/4 from the target")


PROOF = Proof(
    "theorem2",
    "Theorem 2: the benign attack (AN-12)",
    (
        target_is_the_minimiser,
        imitated_class,
        mean_of_the_data,
        equality_in_law,
        budget_step,
        printed_assumptions,
        printed_conclusion,
        printed_premise,
    ),
    theorems=(
        "Attack.imitation_is_honest",
        "Attack.benign_attack",
    ),
)
