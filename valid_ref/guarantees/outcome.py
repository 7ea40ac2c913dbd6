"""The outcome of a run, decided by somebody who knows B and the losses."""

import enum
import math
from collections.abc import Sequence

import attrs
import numpy as np

from valid_ref.execution import Execution
from valid_ref.guarantees.admissible import distance_to_admissible, in_relaxed_set
from valid_ref.lattice import FloatVector, from_lattice
from valid_ref.losses import Problem
from valid_ref.protocols.global_validate import width
from valid_ref.protocols.measures import Fast


class Outcome(enum.Enum):
    """a), b), c) of the paper, or none of them.

    Implements: VA-5.
    """

    A = "a"
    """Nobody is Byzantine, everybody is valid and near the optimum."""
    B = "b"
    """Somebody is Byzantine; the valid honest agents are near one admissible model."""
    C = "c"
    """Somebody is Byzantine and every honest agent has an alarm."""
    FAILED = "failed"
    """None of these."""


class Truth(enum.Enum):
    """A verdict that may stay open."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


@attrs.frozen
class Judgement:
    """The outcome and its evidence.

    `squared_distance` is what is compared with eps_success: to the optimum for a), to the
    admissible set for b); `strong` and `relaxed` are the two further verdicts beside b).
    """

    outcome: Outcome
    squared_distance: float | None = None
    consensus_error: float | None = None
    strong: Truth | None = None
    relaxed: Truth | None = None
    relaxed_tolerances: tuple[float, float] | None = None


def judge(execution: Execution, problem: Problem, *, delta: float, eps_success: float) -> Judgement:
    """Decide the outcome.

    Implements: VA-5.
    """
    valid = execution.honest_valid
    if not execution.byzantine:
        return _without_adversary(execution, problem, eps_success)
    if not valid:
        return Judgement(Outcome.C)
    models = final_models(execution, valid)
    mean = np.mean(models, axis=0)
    spread = float(np.mean([np.sum((model - mean) ** 2) for model in models]))
    found = distance_to_admissible(problem, valid, delta, mean)
    near = _near(found.value, found.exact, spread, eps_success)
    strong = distance_to_admissible(problem, execution.honest, delta, mean)
    e1, e2 = relaxed_tolerances(execution, problem, mean)
    member = in_relaxed_set(problem, execution.honest, e1, e2, mean)
    return Judgement(
        Outcome.B if near is Truth.YES else Outcome.FAILED,
        squared_distance=found.value**2 + spread,
        consensus_error=spread,
        strong=_near(strong.value, strong.exact, spread, eps_success),
        relaxed=_near(0.0 if member else math.inf, member, spread, eps_success),
        relaxed_tolerances=(e1, e2),
    )


def _without_adversary(execution: Execution, problem: Problem, eps_success: float) -> Judgement:
    models = final_models(execution, execution.honest_valid)
    if len(models) < execution.parameters.graph.agents:
        return Judgement(Outcome.FAILED)
    optimum, mean = problem.minimiser(), np.mean(models, axis=0)
    distance = float(np.mean([np.sum((model - optimum) ** 2) for model in models]))
    spread = float(np.mean([np.sum((model - mean) ** 2) for model in models]))
    outcome = Outcome.A if distance < eps_success else Outcome.FAILED
    return Judgement(outcome, distance, spread)


def _near(distance: float, exact: bool, spread: float, eps_success: float) -> Truth:
    if distance**2 + spread < eps_success:
        return Truth.YES
    return Truth.NO if exact or spread >= eps_success else Truth.UNKNOWN


def final_models(execution: Execution, agents: Sequence[int]) -> list[FloatVector]:
    """The outputs of these agents as real vectors; agents without one are left out."""
    outputs = (execution.output(agent) for agent in agents)
    precision = execution.parameters.lattice.precision
    return [from_lattice(model, precision) for model in outputs if model is not None]


def relaxed_tolerances(
    execution: Execution, problem: Problem, mean: FloatVector
) -> tuple[float, float]:
    """e1 and e2 of the relaxed set that passing the checks certifies, for the measured nu.

    nu = max_h |ghat_h - G_h(x)| over honest agents, taken from their own records; 2^-f covers the
    integer square roots. Of several weightings the one with the smallest e2 counts.

    Implements: VA-5, AN-9.
    """
    parameters = execution.parameters
    n, d = parameters.graph.agents, parameters.lattice.dimension
    unit = 2.0**parameters.lattice.precision.fraction_bits
    best = (math.inf, math.inf)
    for index, weighting in enumerate(parameters.weightings):
        scale = float(weighting.total) * unit
        nu = 0.0
        for agent in execution.honest:
            own = Fast(parameters).estimate(execution.states[agent].memory.fixed_transcripts.own)
            begin = index * width(parameters)
            vector = np.array(own[begin : begin + d], dtype=float) / scale
            nu = max(nu, float(np.linalg.norm(vector - problem.losses[agent].gradient(mean))))
        optimality = weighting.optimality / (n * scale)
        heterogeneity = weighting.heterogeneity / (n * scale**2)
        tolerances = (
            optimality + nu * len(execution.honest) / n,
            (math.sqrt(heterogeneity) + nu + 1 / unit) ** 2,
        )
        best = min(best, tolerances, key=lambda pair: pair[1])
    return best
