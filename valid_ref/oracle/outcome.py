"""What a conforming recording amounts to: the outcome, where the losses are known."""

import math
from collections.abc import Mapping

import attrs
import numpy as np

from valid_ref.errors import ValidRefError
from valid_ref.execution import Execution
from valid_ref.guarantees.outcome import Judgement, Outcome, judge
from valid_ref.lattice import FloatVector
from valid_ref.losses import Problem
from valid_ref.oracle.errors import RecordingError
from valid_ref.oracle.header import Header, Losses
from valid_ref.oracle.read import Recording
from valid_ref.printable import printable
from valid_ref.protocols.valid import ValidState
from valid_ref.scenario.build import build_problem
from valid_ref.scenario.parts import Logistic, Quadratics, RandomQuadratics, Ridge
from valid_ref.scenario.scenario import Scenario

MOST_NUMBERS = 10**7
"""Losses that need more numbers than this are not built from a header."""
LEAST, MOST = 1e-60, 1e60
"""Curvatures, gradients and delta beyond these are not computed with: their squares, and sums of
these over all agents, must neither vanish nor overflow."""
WORST_CONDITION = 1e6
"""beta / mu beyond which least squares in float64 say nothing."""


@attrs.frozen
class Findings:
    """The outcome, or why it is not known, and what it rests on.

    Implements: RE-11.
    """

    outcome: str | None
    reason: str
    honest_valid: tuple[int, ...]
    judgement: Judgement | None = None


def evaluate(
    recording: Recording, byzantine: frozenset[int], states: Mapping[int, ValidState]
) -> Findings:
    """The outcome of a run in which the honest agents conform.

    Implements: RE-11.
    """
    execution = Execution(recording.parameters, byzantine, (), states)
    valid, losses = execution.honest_valid, recording.header.losses
    if byzantine and not valid:
        judgement = Judgement(Outcome.C)
        return Findings("c", "every honest agent has an alarm", (), judgement)
    if losses is None:
        return Findings(None, "the losses are not recorded", valid)
    try:
        problem = recorded_problem(recording.header, losses)
        with np.errstate(over="raise", invalid="raise", divide="raise", under="ignore"):
            found = judge(execution, problem, delta=losses.delta, eps_success=losses.eps_success)
            check_finding(found, problem, losses.eps_success)
    except (ValidRefError, ArithmeticError, ValueError) as error:  # LinAlgError is a ValueError
        return Findings(None, f"the recorded losses cannot be used: {printable(error)}", valid)
    return Findings(found.outcome.value, "judged with the recorded losses", valid, found)


def recorded_problem(header: Header, losses: Losses) -> Problem:
    """The losses that a header describes; their size is checked before they are made.

    Implements: RE-7, RE-11.
    """
    n, d = header.agents, header.dimension
    dimension, numbers = _size(losses, n)
    if dimension != d or max(numbers, n * d * d) > MOST_NUMBERS:
        raise RecordingError(
            f"header.json: losses of dimension {dimension} for d = {d}", clause="RE-11"
        )
    scenario = Scenario(loss=losses.loss, seed=losses.seed, batch=losses.batch)
    with np.errstate(over="raise", invalid="raise", divide="raise", under="ignore"):
        problem = build_problem(scenario, n)
        if problem.dimension != d or len(problem.losses) != n:
            raise RecordingError("header.json: losses for another network", clause="RE-11")
        _check_range(problem, losses.delta)
    return problem


def _check_range(problem: Problem, delta: float) -> None:
    """Refuse losses that float64 cannot compute with: too steep, too flat, or nearly singular.

    Implements: RE-11.
    """
    mu, beta = problem.strong_convexity, problem.smoothness
    if not LEAST <= mu <= beta <= MOST:
        raise RecordingError(
            f"header.json: mu = {mu:g}, beta = {beta:g}: not within {LEAST:g}..{MOST:g}",
            clause="RE-11",
        )
    if beta > WORST_CONDITION * mu:
        raise RecordingError(f"header.json: beta / mu is above {WORST_CONDITION:g}", clause="RE-11")
    largest = max(_length(loss.gradient(np.zeros(problem.dimension))) for loss in problem.losses)
    if not largest <= MOST or not 0 <= delta <= MOST:
        raise RecordingError(f"header.json: a gradient or delta above {MOST:g}", clause="RE-11")


def _length(vector: FloatVector) -> float:
    return float(np.linalg.norm(vector))


def check_finding(found: Judgement, problem: Problem, eps_success: float) -> None:
    """Refuse a judgement that rests on numbers that are none, or on an optimum that is none.

    The computed optimum x is within |sum_v G_v(x)| / (n mu) of the true one; the root mean square
    distance of the models from the two differs by no more.

    Implements: RE-11.
    """
    numbers = (found.squared_distance, found.consensus_error)
    known = [number for number in numbers if number is not None]
    lasting = found.outcome is Outcome.FAILED or all(map(math.isfinite, known))
    if any(map(math.isnan, known)) or not lasting:
        raise RecordingError("a distance is no finite number", clause="RE-11")
    if found.outcome is not Outcome.A or found.squared_distance is None:
        return
    optimum, n, mu = problem.minimiser(), len(problem.losses), problem.strong_convexity
    gradients = [loss.gradient(optimum) for loss in problem.losses]
    at_zero = [loss.gradient(np.zeros_like(optimum)) for loss in problem.losses]
    sizes = sum(map(_length, at_zero)) + n * problem.smoothness * _length(optimum)
    rounding = 2.0**-50 * problem.dimension * sizes
    error = (_length(np.sum(gradients, axis=0)) + rounding) / (n * mu)
    if not math.sqrt(found.squared_distance) + error < math.sqrt(eps_success):
        raise RecordingError(
            f"the optimum is known to {error:g} only, too little to tell", clause="RE-11"
        )


def _size(losses: Losses, agents: int) -> tuple[int, int]:
    """The dimension of the losses and how many numbers they are made of."""
    loss = losses.loss
    if isinstance(loss, Quadratics):
        dimension = len(loss.agents[0].centre) if loss.agents else 0
        return dimension, 0
    if isinstance(loss, Ridge | Logistic):
        rows = loss.agents[0].features if loss.agents else ()
        return (len(rows[0]) if rows else 0), 0
    if isinstance(loss, RandomQuadratics):
        return loss.dimension, agents * loss.dimension**2
    return loss.dimension, agents * loss.dimension * loss.samples
