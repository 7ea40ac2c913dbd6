"""What a conforming recording amounts to: the outcome, where the losses are known."""

from collections.abc import Mapping

import attrs
import numpy as np

from valid_ref.errors import ValidRefError
from valid_ref.execution import Execution
from valid_ref.guarantees.outcome import Judgement, Outcome, judge
from valid_ref.losses import Problem
from valid_ref.oracle.errors import RecordingError
from valid_ref.oracle.header import Header, Losses
from valid_ref.oracle.read import Recording
from valid_ref.protocols.valid import ValidState
from valid_ref.scenario.build_loss import build_problem
from valid_ref.scenario.parts import Logistic, Quadratics, RandomQuadratics, Ridge
from valid_ref.scenario.scenario import Scenario

MOST_NUMBERS = 10**7
"""Losses that need more numbers than this are not built from a header."""


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
        with np.errstate(all="ignore"):
            found = judge(execution, problem, delta=losses.delta, eps_success=losses.eps_success)
    except (ValidRefError, ArithmeticError, ValueError) as error:  # LinAlgError is a ValueError
        return Findings(None, f"the recorded losses cannot be used: {error}", valid)
    return Findings(found.outcome.value, "judged with the recorded losses", valid, found)


def recorded_problem(header: Header, losses: Losses) -> Problem:
    """The losses that a header describes; their size is checked before they are made.

    Implements: RE-7, RE-11.
    """
    n, d = header.agents, header.dimension
    dimension, numbers = _size(losses, n)
    if dimension != d or numbers > MOST_NUMBERS:
        raise RecordingError(
            f"header.json: losses of dimension {dimension} for d = {d}", clause="RE-11"
        )
    scenario = Scenario(loss=losses.loss, seed=losses.seed, batch=losses.batch)
    problem = build_problem(scenario, n)
    if problem.dimension != d or len(problem.losses) != n:
        raise RecordingError("header.json: losses for another network", clause="RE-11")
    return problem


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
