"""Whether an honest run has enough rounds, said before it starts."""

import math

import numpy as np

from valid_ref.graph import AgentGraph
from valid_ref.guarantees.admissible import distance_to_admissible
from valid_ref.guarantees.outcome import too_few_rounds
from valid_ref.lattice import FloatVector, from_lattice
from valid_ref.losses import Problem
from valid_ref.losses.own import if_known
from valid_ref.protocols.parameters import ValidParameters
from valid_ref.schedule import Schedule


def default_success(parameters: ValidParameters, problem: Problem) -> float:
    """A tenth of the squared distance from x_0 to x*; at least what the lattice resolves.

    Implements: VA-5.
    """
    resolution = problem.dimension * 4.0**-parameters.lattice.precision.fraction_bits
    return max(start_distance(parameters, problem) / 10, resolution)


def start_distance(parameters: ValidParameters, problem: Problem) -> float:
    """|x_0 - x*|^2."""
    start = from_lattice(parameters.start_model, parameters.lattice.precision)
    return float(((start - problem.minimiser()) ** 2).sum())


def success_notes(
    parameters: ValidParameters, problem: Problem, eps_success: float
) -> tuple[str, ...]:
    """What is to be said about eps_success before the run: met too early, or not met at all.

    Nothing where the optimum is not known.

    Implements: VA-5, VA-11.
    """
    before, _unknown = if_known(lambda: start_distance(parameters, problem))
    if before is None:
        return ()
    if eps_success >= before > 0:
        return (
            f"eps_success = {eps_success:.3g} is not below the squared distance from x_0 to the "
            f"optimum, {before:.3g}: success holds before the first round",
        )
    if eps_success > before / 10 > 0 and eps_success != default_success(parameters, problem):
        return (
            f"eps_success = {eps_success:.3g} is more than a tenth of the squared distance from "
            f"x_0 to the optimum, {before:.3g}: success says little",
        )
    start = from_lattice(parameters.start_model, parameters.lattice.precision)
    halfway, last = distances_without_noise(
        parameters.graph, parameters.lattice.schedule, problem, start
    )
    if last < eps_success:
        return ()
    rounds = parameters.lattice.schedule.rounds
    said = too_few_rounds(rounds, last, halfway, eps_success)
    return (f"{said} (an honest run without noise)",)


def early_admissible(
    parameters: ValidParameters,
    problem: Problem,
    byzantine: frozenset[int],
    delta: float | None,
    eps_success: float,
) -> tuple[str, ...]:
    """A note if x_0 itself is near enough to an admissible model for outcome b.

    Implements: VA-5.
    """
    honest = [agent for agent in range(parameters.graph.agents) if agent not in byzantine]
    if not byzantine or not honest or delta is None:
        return ()
    start = from_lattice(parameters.start_model, parameters.lattice.precision)
    distance = distance_to_admissible(problem, honest, delta, start).value
    if distance**2 >= eps_success:
        return ()
    return (
        f"x_0 is within eps_success = {eps_success:.3g} of a model that is admissible for the "
        "honest agents: outcome b holds before the first round",
    )


def distances_without_noise(
    graph: AgentGraph, schedule: Schedule, problem: Problem, start: FloatVector
) -> tuple[float, float]:
    """Mean squared distances to x* after T//2 and after T rounds, with exact gradients in float64.

    Implements: VA-5.
    """
    n, T, optimum = graph.agents, schedule.rounds, problem.minimiser()
    laplacian = np.zeros((n, n))
    for u, v in graph.edges:
        laplacian[[u, v], [v, u]] -= 1
        laplacian[[u, v], [u, v]] += 1
    models = np.tile(start, (n, 1))
    distances = [float(((models - optimum) ** 2).sum()) / n]
    with np.errstate(over="ignore", invalid="ignore"):
        for t in range(1, T + 1):
            mixed = models - float(schedule.eta(t)) * (laplacian @ models)
            gradients = [
                loss.gradient(point) for loss, point in zip(problem.losses, mixed, strict=True)
            ]
            models = mixed - float(schedule.alpha(t)) * np.array(gradients)
            distance = float(((models - optimum) ** 2).sum()) / n
            if not math.isfinite(distance):
                return math.inf, math.inf
            distances.append(distance)
    return distances[T // 2], distances[T]
