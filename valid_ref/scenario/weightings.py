"""The weightings of a scenario: weights, thresholds, and where the thresholds come from."""

import math
from fractions import Fraction

import attrs

from valid_ref.guarantees.thresholds import (
    CertificateError,
    Level,
    Thresholds,
    calibrate,
    calibrated_weighting,
    shortfalls,
    thresholds_from_runs,
)
from valid_ref.lattice import squared_norm
from valid_ref.losses import Problem
from valid_ref.machine import run_machine
from valid_ref.protocols.learn import LearnModel
from valid_ref.protocols.measures import Fast
from valid_ref.protocols.parameters import (
    ParameterError,
    ValidParameters,
    Weighting,
    exponential_weights,
    make_weighting,
    polynomial_weights,
    printed_weights,
)
from valid_ref.scenario.parts import (
    CalibratedThresholds,
    CertifiedThresholds,
    Check,
    ConfiguredThresholds,
    Exponential,
)
from valid_ref.scenario.scenario import Scenario

PROVISIONAL = 1.0
"""Thresholds of a weighting that is still being calibrated; no run ever sees it."""


def build_weightings(
    scenario: Scenario, parameters: ValidParameters, problem: Problem, delta: float
) -> tuple[tuple[Weighting, ...], tuple[str, ...]]:
    """All weightings, and what is to be said about their thresholds.

    Implements: GV-1, GV-7, GV-12.
    """
    if not scenario.checks:
        return (), ("no global checks: GV-5 and GV-6 are turned off by the scenario",)
    if len({check.name for check in scenario.checks}) < len(scenario.checks):
        raise ParameterError("two checks have the same name", clause="GV-12")
    found = [_weighting(scenario, parameters, problem, delta, check) for check in scenario.checks]
    return tuple(w for w, _notes in found), tuple(note for _w, notes in found for note in notes)


def _weighting(
    scenario: Scenario, parameters: ValidParameters, problem: Problem, delta: float, check: Check
) -> tuple[Weighting, tuple[str, ...]]:
    repaired = _weights(scenario.rounds, check)
    provisional = _make(check, parameters, repaired, (PROVISIONAL, PROVISIONAL), "provisional")
    trial = attrs.evolve(parameters, weightings=(provisional,))
    thresholds, origin, notes = _thresholds(trial, problem, delta, check)
    weights: tuple[int, ...] = repaired
    total: Fraction | None = None
    if not scenario.reading.P24 and isinstance(check.weights, Exponential):
        weights, total = printed_weights(scenario.rounds, check.weights.gamma, check.weights.bits)
    return _make(check, parameters, weights, thresholds, origin, total=total), notes


def _weights(rounds: int, check: Check) -> tuple[int, ...]:
    if isinstance(check.weights, Exponential):
        return exponential_weights(rounds, check.weights.gamma, check.weights.bits)
    return polynomial_weights(rounds, check.weights.power)


def _make(
    check: Check,
    parameters: ValidParameters,
    weights: tuple[int, ...],
    thresholds: tuple[float, float],
    origin: str,
    total: Fraction | None = None,
) -> Weighting:
    return make_weighting(
        check.name,
        weights,
        parameters.graph.agents,
        parameters.lattice.precision.fraction_bits,
        optimality=thresholds[0],
        heterogeneity=thresholds[1],
        total=total,
        origin=origin,
    )


def _thresholds(
    trial: ValidParameters, problem: Problem, delta: float, check: Check
) -> tuple[tuple[float, float], str, tuple[str, ...]]:
    """eps_opt, delta + eps_het, their origin, and what is to be said about them.

    Implements: GV-7, GU-9.
    """
    match check.thresholds:
        case ConfiguredThresholds(optimality=optimality, heterogeneity=heterogeneity):
            note = f"check {check.name}: configured thresholds, not certified"
            wanted = (optimality, heterogeneity)
            return wanted, "configured", (note, *_below(trial, problem, delta, check, wanted))
        case CalibratedThresholds() as part:
            found = rehearse(trial, problem, 0, part)
            return (found.optimality, found.heterogeneity), "calibrated", ()
        case CertifiedThresholds() as part:
            certified = _certified(trial, problem, delta, part)
            notes = tuple(
                f"check {check.name}: nothing within the norm bounds fails the {test} test; T is "
                "too small for its certificate"
                for test in certified.vacuous
            )
            return (certified.optimality, certified.heterogeneity), "certificate", notes


def _below(
    trial: ValidParameters,
    problem: Problem,
    delta: float,
    check: Check,
    wanted: tuple[float, float],
) -> tuple[str, ...]:
    """Which configured thresholds lie below the certificate, and the value needed.

    Implements: GV-7.
    """
    configured = _make(check, trial, trial.weightings[0].weights, wanted, "configured")
    try:
        found = _certified(trial, problem, delta, CertifiedThresholds())
    except CertificateError as error:
        return (f"check {check.name}: there is no certificate: {error}",)
    bits = trial.lattice.precision.fraction_bits
    needed = calibrated_weighting(check.name, configured.weights, found, trial.graph.agents, bits)
    return tuple(f"check {shortfall}" for shortfall in shortfalls(configured, needed))


def _certified(
    trial: ValidParameters, problem: Problem, delta: float, part: CertifiedThresholds
) -> Thresholds:
    unit = 2.0**-trial.lattice.precision.fraction_bits
    level = Level(
        part.theta,
        delta,
        start_norm=math.sqrt(squared_norm(trial.start_model)) * unit,
        start_radius=part.start_radius,
        radius=part.model_radius,
    )
    weights = trial.weightings[0].weights
    return calibrate(problem, trial.graph, trial.lattice.schedule, weights, level)


def rehearse(
    parameters: ValidParameters, problem: Problem, index: int, part: CalibratedThresholds
) -> Thresholds:
    """The thresholds of the weighting of this index, a factor above what honest runs show.

    Without noise every rehearsal is the same, and one is enough. Rehearsals have coins of their
    own, so they never see the run's mini-batches.

    Implements: GU-9.
    """
    noiseless = problem.gradient_deviation(1.0) == 0  # it grows with the radius, if at all
    found = [
        honest_statistics(parameters, problem.rehearsal(number), index)
        for number in range(1 if noiseless else part.runs)
    ]
    return thresholds_from_runs(found, part.factor)


def honest_statistics(
    parameters: ValidParameters, problem: Problem, index: int
) -> tuple[float, float]:
    """|sum ghat| / (n W 2^f) and sum lhat^2 / (n W^2 4^f) of one honest learning phase."""
    graph, lattice = parameters.graph, parameters.lattice
    measures = Fast(parameters)
    machine = LearnModel(
        graph,
        lattice,
        parameters.start_model,
        parameters.reading,
        arithmetic=measures.arithmetic,
    )
    private = {agent: problem.gradient_source(agent) for agent in range(graph.agents)}
    result = run_machine(graph, machine, private)
    own = [machine.transcripts(state).own for state in result.states.values()]
    optimality, heterogeneity = measures.statistics(index, [*map(measures.estimate, own)])
    scale = float(parameters.weightings[index].total) * 2.0**lattice.precision.fraction_bits
    return math.sqrt(optimality) / (graph.agents * scale), heterogeneity / (graph.agents * scale**2)
