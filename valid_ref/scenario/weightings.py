"""The weightings of a scenario: weights, thresholds, and where the thresholds come from."""

import math
from collections.abc import Iterator

import attrs

from valid_ref.guarantees import calibration
from valid_ref.guarantees.certificate import CertificateError
from valid_ref.guarantees.thresholds import (
    Level,
    RoundsNeeded,
    Thresholds,
    calibrate,
    certified_weighting,
    rounds_needed,
    shortfalls,
)
from valid_ref.lattice import squared_norm
from valid_ref.losses import Problem, UnknownError
from valid_ref.protocols.parameters import (
    ParameterError,
    ValidParameters,
    Weighting,
    exponential_weights,
    make_weighting,
    polynomial_weights,
    printed_weights,
    wrap_objection,
)
from valid_ref.scenario.parts import (
    CalibratedThresholds,
    CertifiedThresholds,
    Check,
    ConfiguredThresholds,
    Exponential,
    Lean,
    WeightsPart,
)
from valid_ref.scenario.rehearse import Rehearse, rehearse
from valid_ref.scenario.scenario import Scenario
from valid_ref.scenario.schedules import build_schedule

Notes = tuple[str, ...]
"""What is to be said about thresholds."""

LOOKED_AT = 2**13
"""How many rounds are tried when a certificate says of which use it would be with more."""

PROVISIONAL = 1.0
"""Thresholds of weightings that are still being calibrated; no run ever sees them."""


def build_weightings(
    scenario: Scenario,
    parameters: ValidParameters,
    problem: Problem,
    delta: float | None,
    rehearsals: Rehearse = rehearse,
) -> tuple[tuple[Weighting, ...], Notes]:
    """All weightings, and what is to be said about their thresholds.

    Implements: GV-1, GV-7, GV-12.
    """
    if not scenario.checks:
        return (), ("no global checks: GV-5 and GV-6 are turned off by the scenario",)
    trial = with_weights(scenario, parameters)
    calibrated = _calibrated(scenario, trial, problem, rehearsals)
    weightings, notes = list[Weighting](), list[str]()
    for check, provisional in zip(scenario.checks, trial.weightings, strict=True):
        if isinstance(check.thresholds, CalibratedThresholds):
            found = calibrated[check.name]
        else:
            alone = attrs.evolve(trial, weightings=(provisional,))
            found, said = _given(
                scenario=scenario,
                trial=alone,
                problem=problem,
                delta=delta,
                check=check,
                part=check.thresholds,
            )
            notes += said
        weightings.append(_as_read(scenario, check, found))
    return tuple(weightings), tuple(notes)


def with_weights(scenario: Scenario, parameters: ValidParameters) -> ValidParameters:
    """The parameters with the weights of all checks, and thresholds that mean nothing yet."""
    return attrs.evolve(
        parameters,
        weightings=tuple(
            make_weighting(
                check.name,
                _weights(scenario.rounds, check.weights),
                parameters.graph.agents,
                parameters.lattice.precision.fraction_bits,
                optimality=PROVISIONAL,
                heterogeneity=PROVISIONAL,
                origin="provisional",
            )
            for check in scenario.checks
        ),
    )


def require_no_wrap(scenario: Scenario, parameters: ValidParameters) -> None:
    """Refuse weights under which a sum of lean validation could wrap, naming some that fit.

    Implements: LE-3.
    """
    if not isinstance(scenario.validation, Lean) or "range" in scenario.validation.without:
        return
    for check in scenario.checks:
        objection = _objection(scenario, parameters, check)
        if objection is None:
            continue
        lighter = (attrs.evolve(check, weights=part) for part in _lighter(check.weights))
        fitting = (c for c in lighter if _objection(scenario, parameters, c) is None)
        found = next((_text_of(c.weights) for c in fitting), None)
        advice = "no weights of this kind fit" if found is None else f"{found} would fit"
        raise ParameterError(f"{objection}; {advice}", clause="LE-3")


def _objection(scenario: Scenario, parameters: ValidParameters, check: Check) -> str | None:
    alone = with_weights(attrs.evolve(scenario, checks=(check,)), parameters)
    return wrap_objection(alone, alone.weightings[0])


def _lighter(part: WeightsPart) -> Iterator[WeightsPart]:
    """The same weights with fewer bits, or of a smaller power, the heaviest first."""
    if isinstance(part, Exponential):
        yield from (attrs.evolve(part, bits=bits) for bits in reversed(range(part.bits)))
    else:
        yield from (attrs.evolve(part, power=power) for power in reversed(range(part.power)))


def _text_of(part: WeightsPart) -> str:
    """The text by which the command line names weights."""
    options = attrs.asdict(part).items()
    return f"{part.kind}:{','.join(f'{name}={value}' for name, value in options)}"


def _weights(rounds: int, part: WeightsPart) -> tuple[int, ...]:
    if isinstance(part, Exponential):
        return exponential_weights(rounds, part.gamma, part.bits)
    return polynomial_weights(rounds, part.power)


def _as_read(scenario: Scenario, check: Check, repaired: Weighting) -> Weighting:
    """With the printed weights where P24 is turned off; thresholds keep their real size."""
    if scenario.reading.P24 or not isinstance(check.weights, Exponential):
        return repaired
    weights, total = printed_weights(scenario.rounds, check.weights.gamma, check.weights.bits)
    share = total / repaired.total
    return attrs.evolve(
        repaired,
        weights=weights,
        total=total,
        optimality=math.ceil(repaired.optimality * share),
        heterogeneity=math.ceil(repaired.heterogeneity * share**2),
        optimality_low=math.floor(repaired.optimality_low * share),
        heterogeneity_low=math.floor(repaired.heterogeneity_low * share**2),
    )


# Calibration.


def _calibrated(
    scenario: Scenario, trial: ValidParameters, problem: Problem, rehearsals: Rehearse
) -> dict[str, Weighting]:
    """The checks that are calibrated, by name: all together, so that the level holds for all.

    Implements: GU-12, GV-7.
    """
    asked = {
        check.name: check.thresholds
        for check in scenario.checks
        if isinstance(check.thresholds, CalibratedThresholds)
    }
    if not asked:
        return {}
    if len(set(asked.values())) > 1:
        raise ParameterError(
            f"the checks {', '.join(asked)} are calibrated together: level, runs, pilots and "
            "tails must be the same in all",
            clause="GU-12",
        )
    chosen = tuple(w for w in trial.weightings if w.name in asked)
    parameters = attrs.evolve(trial, weightings=chosen)
    limits = _limits(next(iter(asked.values())), parameters, problem, rehearsals)
    return {
        weighting.name: attrs.evolve(weighting, origin="calibrated", **attrs.asdict(limit))
        for weighting, limit in zip(chosen, limits, strict=True)
    }


def _limits(
    part: CalibratedThresholds,
    parameters: ValidParameters,
    problem: Problem,
    rehearsals: Rehearse,
) -> tuple[calibration.Limits, ...]:
    """Without noise every rehearsal is the same, and one stands for all.

    Implements: GU-12.
    """
    if problem.noiseless:
        only = rehearsals(parameters, problem, [0])
        # All scores are equal, so that any rank, and so any level, gives the same thresholds.
        return calibration.calibrate(only, only, level=0.5, tails=part.tails)
    runs = rehearsals(parameters, problem, range(part.pilots + part.runs))
    pilots, ranked = runs[: part.pilots], runs[part.pilots :]
    return calibration.calibrate(pilots, ranked, level=part.level, tails=part.tails)


# Certificates and configured thresholds.


def _given(
    scenario: Scenario,
    trial: ValidParameters,
    problem: Problem,
    delta: float | None,
    check: Check,
    part: ConfiguredThresholds | CertifiedThresholds,
) -> tuple[Weighting, Notes]:
    """The one weighting with certified or configured thresholds.

    Implements: GV-7, GU-9.
    """
    (provisional,) = trial.weightings
    name, weights = provisional.name, provisional.weights
    agents, bits = trial.graph.agents, trial.lattice.precision.fraction_bits
    if isinstance(part, CertifiedThresholds):
        certified = _certified(trial, problem, delta, part)
        notes: Notes = ()
        if certified.vacuous:
            needed = _needed(scenario, trial, problem, _level(trial, delta, part), check)
            notes = tuple(
                f"check {name}: nothing within the norm bounds fails the {test} test; T is too "
                f"small for its certificate, {needed.said(test)}"
                for test in certified.vacuous
            )
        return certified_weighting(name, weights, certified, agents, bits), notes
    configured = make_weighting(
        name,
        weights,
        agents,
        bits,
        optimality=part.optimality,
        heterogeneity=part.heterogeneity,
    )
    note = f"check {name}: configured thresholds, not certified"
    return configured, (note, *_below(trial, problem, delta, configured))


def _below(
    trial: ValidParameters, problem: Problem, delta: float | None, configured: Weighting
) -> Notes:
    """Which configured thresholds lie below the certificate, and the value needed.

    Implements: GV-7.
    """
    name, bits = configured.name, trial.lattice.precision.fraction_bits
    try:
        found = _certified(trial, problem, delta, CertifiedThresholds())
    except (CertificateError, UnknownError) as error:
        return (f"check {name}: there is no certificate: {error}",)
    needed = certified_weighting(name, configured.weights, found, trial.graph.agents, bits)
    return tuple(f"check {shortfall}" for shortfall in shortfalls(configured, needed))


def _certified(
    trial: ValidParameters, problem: Problem, delta: float | None, part: CertifiedThresholds
) -> Thresholds:
    level, weights = _level(trial, delta, part), trial.weightings[0].weights
    return calibrate(problem, trial.graph, trial.lattice.schedule, weights, level)


def _level(trial: ValidParameters, delta: float | None, part: CertifiedThresholds) -> Level:
    """What the certificate may use; which statistic it is for is a matter of the reading."""
    if delta is None:
        raise CertificateError("a certificate needs delta, which is not known", clause="GU-9")
    unit = 2.0**-trial.lattice.precision.fraction_bits
    return Level(
        part.theta,
        delta,
        start_norm=math.sqrt(squared_norm(trial.start_model)) * unit,
        start_radius=part.start_radius,
        radius=part.model_radius,
        gradient_bound=part.gradient_bound,
        kurtosis=part.kurtosis,
        lengths=not trial.reading.P27,
    )


def _needed(
    scenario: Scenario, trial: ValidParameters, problem: Problem, level: Level, check: Check
) -> RoundsNeeded:
    """The T at which the certificate of this check would be of use.

    Implements: GV-7.
    """
    return rounds_needed(
        problem,
        trial.graph,
        lambda rounds: build_schedule(attrs.evolve(scenario, rounds=rounds), trial.graph, problem),
        lambda rounds: _weights(rounds, check.weights),
        level,
        limit=LOOKED_AT,
    )
