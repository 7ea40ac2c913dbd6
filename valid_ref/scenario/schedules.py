"""The schedule of a scenario, for its own number of rounds or another."""

import math

from valid_ref.graph import AgentGraph
from valid_ref.losses import Problem
from valid_ref.losses.own import if_known
from valid_ref.scenario.parts import (
    ConstantSteps,
    Diminishing,
    ExperimentSteps,
    ExplicitSteps,
    Paper,
)
from valid_ref.scenario.scenario import Scenario
from valid_ref.schedule import (
    Schedule,
    ScheduleError,
    constant,
    experiment,
    harmonic,
    inverse_root,
    make_schedule,
)


def build_schedule(scenario: Scenario, graph: AgentGraph, problem: Problem) -> Schedule:
    """The integers a_t, A_t of a scenario.

    Implements: LM-9.
    """
    part, T, precision = scenario.schedule, scenario.rounds, scenario.precision
    match part:
        case ExplicitSteps():
            return part.of(T, precision)
        case ConstantSteps():
            return make_schedule(T, constant(part.alpha), constant(part.eta), precision)
        case Paper():
            return make_schedule(T, harmonic(part.alpha0, 1), inverse_root(part.eta0, 1), precision)
        case ExperimentSteps():
            return make_schedule(T, experiment(part.initial), constant(part.eta), precision)
        case Diminishing():
            a, t0, e0 = diminishing_constants(part, graph, problem)
            return make_schedule(T, harmonic(a, t0), inverse_root(e0, t0), precision)


def diminishing_constants(
    part: Diminishing, graph: AgentGraph, problem: Problem
) -> tuple[float, float, float]:
    """a = 2/mu, t0 = max(2 kappa, l_M/l_2), e0 = sqrt(1+t0)/l_M, where not given.

    eta(1) = 1/l_M is lowered to 1/maxdeg where that is less: mixing stays a convex combination.

    Implements: LM-9.
    """
    eigenvalues = graph.laplacian_eigenvalues()
    largest, smallest = float(eigenvalues[-1]), float(eigenvalues[1])
    constants, unknown = if_known(lambda: (problem.strong_convexity, problem.smoothness))
    if constants is None and (part.a is None or part.t0 is None):
        raise ScheduleError(
            f"no steps follow, since {unknown}: name them, as in diminishing:a=2,t0=8 or "
            "constant:alpha=0.1,eta=0.1",
            clause="LM-9",
        )
    mu, beta = constants or (math.nan, math.nan)
    a = 2 / mu if part.a is None else part.a
    t0 = max(2 * beta / mu, largest / smallest) if part.t0 is None else part.t0
    first = min(1 / largest, 1 / graph.max_degree)
    e0 = math.sqrt(1 + t0) * first if part.e0 is None else part.e0
    return a, t0, e0
