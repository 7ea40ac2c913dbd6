"""The outcome of a run, decided by somebody who knows B and the losses."""

import enum
import math
from collections.abc import Sequence
from types import NoneType

import attrs
import numpy as np

from valid_ref.arguments import is_a
from valid_ref.execution import Execution
from valid_ref.grammar import agents_named
from valid_ref.guarantees.admissible import distance_to_admissible, in_relaxed_set
from valid_ref.guarantees.radius import (
    Radius,
    RadiusError,
    certified_radius,
    measured_errors,
    tolerances,
)
from valid_ref.lattice import FloatVector, from_lattice
from valid_ref.losses import Problem, UnknownError
from valid_ref.losses.own import if_known


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
    UNKNOWN = "unknown"
    """Not decided: b where somebody is Byzantine, else a where the optimum is not known."""
    FAILED = "failed"
    """None of these."""


class Truth(enum.Enum):
    """A verdict that may stay open."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


NUMBER = is_a((int, float, np.floating, NoneType), "a number or None")
TRUTH = is_a((Truth, NoneType), "a Truth or None")


@attrs.frozen
class Judgement:
    """The outcome and its evidence.

    `squared_distance` is what is compared with eps_success: to the optimum for a), to the
    admissible set for b); `strong` and `relaxed` are the two further verdicts beside b), and
    `radius` is what the honest records certify there. `reason` says in words why the outcome is
    none of a, b, c, and why there is no radius where there could be one.
    """

    outcome: Outcome = attrs.field(validator=is_a(Outcome, "an Outcome"))
    squared_distance: float | None = attrs.field(default=None, validator=NUMBER)
    consensus_error: float | None = attrs.field(default=None, validator=NUMBER)
    strong: Truth | None = attrs.field(default=None, validator=TRUTH)
    relaxed: Truth | None = attrs.field(default=None, validator=TRUTH)
    relaxed_tolerances: tuple[float, float] | None = attrs.field(
        default=None, validator=is_a((tuple, NoneType), "two numbers or None")
    )
    radius: Radius | None = attrs.field(
        default=None, validator=is_a((Radius, NoneType), "a Radius or None")
    )
    reason: str = attrs.field(default="", validator=is_a(str, "a text"))


PROBABILITY = 0.05
"""With what probability the certified radius of a run may be wrong."""


def judge(
    execution: Execution, problem: Problem, *, delta: float | None, eps_success: float | None
) -> Judgement:
    """Decide the outcome; `unknown` where a tolerance or the optimum is, and it matters.

    Implements: VA-5, VA-11.
    """
    valid = execution.honest_valid
    if not execution.byzantine:
        return _without_adversary(execution, problem, eps_success)
    if not valid:
        return Judgement(Outcome.C)
    models = final_models(execution, valid)
    mean = np.mean(models, axis=0)
    spread = float(np.mean([np.sum((model - mean) ** 2) for model in models]))
    if delta is None or eps_success is None:
        what = "delta" if delta is None else "eps_success"
        return _undecided(spread, eps_success, f"{what} is not known: name it in the scenario")
    found = distance_to_admissible(problem, valid, delta, mean)
    near = _near(found.value, found.exact, spread, eps_success)
    strong = distance_to_admissible(problem, execution.honest, delta, mean)
    e1, e2 = relaxed_tolerances(execution, problem, mean)
    member = in_relaxed_set(problem, execution.honest, e1, e2, mean)
    radius, without = _certified(execution, problem, mean, delta)
    judgement = Judgement(
        OUTCOMES[near],
        squared_distance=found.value**2 + spread,
        consensus_error=spread,
        strong=_near(strong.value, strong.exact, spread, eps_success),
        relaxed=_near(0.0 if member else math.inf, member, spread, eps_success),
        relaxed_tolerances=(e1, e2),
        radius=radius,
    )
    return attrs.evolve(judgement, reason=_why_not_b(judgement, delta, eps_success) or without)


def _undecided(spread: float, eps_success: float | None, why: str) -> Judgement:
    """Unknown, unless the models are too far apart for any point to be near all of them.

    Implements: VA-11.
    """
    if eps_success is not None and spread >= eps_success:
        return Judgement(Outcome.FAILED, consensus_error=spread, reason=_apart(spread, eps_success))
    reason = f"whether the run has succeeded cannot be decided: {why}"
    return Judgement(Outcome.UNKNOWN, consensus_error=spread, reason=reason)


def _apart(spread: float, eps_success: float) -> str:
    return (
        f"too few rounds: the mean squared distance of the valid models from their mean, "
        f"{spread:.3g}, is not below eps_success = {eps_success:.3g}"
    )


OUTCOMES = {Truth.YES: Outcome.B, Truth.NO: Outcome.FAILED, Truth.UNKNOWN: Outcome.UNKNOWN}


def _certified(
    execution: Execution, problem: Problem, mean: FloatVector, delta: float
) -> tuple[Radius | None, str]:
    """The radius, or why there is none.

    Implements: VA-5, AN-19.
    """
    try:
        found = certified_radius(execution, problem, mean, delta=delta, probability=PROBABILITY)
    except (RadiusError, UnknownError) as error:
        return None, f"no radius is certified: {error}"
    return found, ""


def _why_not_b(found: Judgement, delta: float, eps_success: float) -> str:
    """What keeps the valid honest agents from outcome b, in words.

    Implements: VA-5.
    """
    spread = found.consensus_error
    if found.outcome is Outcome.B or spread is None:
        return ""
    if spread >= eps_success:
        return _apart(spread, eps_success)
    if found.outcome is Outcome.UNKNOWN:
        return (
            f"no admissible model within eps_success = {eps_success:.3g} of the valid models was "
            "found, and that there is none cannot be decided: the losses are not quadratic"
        )
    return (
        f"the checks passed a model that is not near an admissible one: mean squared distance "
        f"{found.squared_distance:.3g}, eps_success = {eps_success:.3g}, delta = {delta:.3g}; the "
        "thresholds allow more than delta, or there were too few rounds"
    )


def _without_adversary(
    execution: Execution, problem: Problem, eps_success: float | None
) -> Judgement:
    models = final_models(execution, execution.honest_valid)
    if len(models) < execution.parameters.graph.agents:
        invalid = [agent for agent in execution.honest if agent not in execution.honest_valid]
        have = "has" if len(invalid) == 1 else "have"
        reason = f"nobody is Byzantine, and {agents_named(invalid)} {have} an alarm"
        return Judgement(Outcome.FAILED, reason=reason)
    mean = np.mean(models, axis=0)
    spread = float(np.mean([np.sum((model - mean) ** 2) for model in models]))
    optimum, unknown = if_known(problem.minimiser)
    if optimum is None or eps_success is None:
        return _undecided(spread, eps_success, unknown or "eps_success is not known")
    distance = float(np.mean([np.sum((model - optimum) ** 2) for model in models]))
    if distance < eps_success:
        return Judgement(Outcome.A, distance, spread)
    T, before = execution.parameters.lattice.schedule.rounds, _halfway(execution, optimum)
    reason = too_few_rounds(T, distance, before, eps_success)
    return Judgement(Outcome.FAILED, distance, spread, reason=reason)


def _halfway(execution: Execution, optimum: FloatVector) -> float:
    """The mean squared distance to the optimum after half of the rounds."""
    parameters = execution.parameters
    half, precision = parameters.lattice.schedule.rounds // 2, parameters.lattice.precision
    records = [execution.states[agent].memory.fixed_transcripts.own for agent in execution.honest]
    models = [record[half - 1].model if half else parameters.start_model for record in records]
    offsets = [from_lattice(model, precision) - optimum for model in models]
    return float(np.mean([np.sum(offset**2) for offset in offsets]))


def too_few_rounds(rounds: int, distance: float, halfway: float, eps_success: float) -> str:
    """Why an honest run is not near the optimum, and how many rounds its trend asks for.

    The distance is taken to fall as a power of the number of rounds, as between half of the
    rounds and all of them.

    Implements: VA-5.
    """
    said = (
        f"too few rounds: after T = {rounds} the mean squared distance to the optimum is "
        f"{distance:.3g}, not below eps_success = {eps_success:.3g}"
    )
    falls = 0 < distance < math.inf and halfway > distance
    power = math.log2(halfway / distance) if falls else 0.0
    if power < SLOWEST:
        return f"{said}, and it hardly falls any more"
    try:
        needed = math.ceil(rounds * (distance / eps_success) ** (1 / power))
    except (OverflowError, ZeroDivisionError):
        return f"{said}, and it hardly falls any more"
    return f"{said}; by its trend about T = {max(needed, rounds + 1)} would do"


SLOWEST = 0.1
"""A distance that falls slower than this power of the rounds is not said to get anywhere."""


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
    """e1 and e2 of the relaxed set that passing the checks certifies, for the measured errors.

    n e1 = Theta_opt/(W 2^f) + |sum_h e_h| and sqrt(n e2) = sqrt(Theta_het)/(W 2^f) + sqrt(sum_h
    |e_h|^2), where e_h = ghat_h - G_h(x) is taken from the honest agents' own records. Of several
    weightings the one with the smallest e2 counts.

    Implements: VA-5, AN-9.
    """
    parameters, best = execution.parameters, (math.inf, math.inf)
    n = parameters.graph.agents
    for index, weighting in enumerate(parameters.weightings):
        errors = measured_errors(execution, problem, mean, index)
        optimality, heterogeneity = tolerances(parameters, weighting)
        allowed = (
            (optimality + float(np.linalg.norm(errors.sum(axis=0)))) / n,
            (heterogeneity + float(np.linalg.norm(errors))) ** 2 / n,
        )
        best = min(best, allowed, key=lambda pair: pair[1])
    return best
