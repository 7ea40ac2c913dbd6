"""Thresholds from rehearsals: attack-free runs of the learning phase with other mini-batches."""

import math

import attrs

from valid_ref.guarantees.thresholds import Thresholds, thresholds_from_runs
from valid_ref.losses import Problem
from valid_ref.machine import run_machine
from valid_ref.protocols.learn import LearnModel
from valid_ref.protocols.measures import Fast
from valid_ref.protocols.parameters import ValidParameters
from valid_ref.scenario.parts import CalibratedThresholds


def rehearse(
    parameters: ValidParameters, problem: Problem, index: int, part: CalibratedThresholds
) -> Thresholds:
    """The thresholds of the weighting of this index, a factor above what honest runs show.

    Without noise every rehearsal is the same, and one is enough. Rehearsals take the seeds after
    the run's own, so they never see its mini-batches.

    Implements: GU-9.
    """
    noiseless = problem.gradient_deviation(1.0) == 0  # it grows with the radius, if at all
    seeds = range(problem.seed + 1, problem.seed + 1 + (1 if noiseless else part.runs))
    found = [
        honest_statistics(parameters, attrs.evolve(problem, seed=seed), index) for seed in seeds
    ]
    return thresholds_from_runs(found, part.factor)


def honest_statistics(
    parameters: ValidParameters, problem: Problem, index: int
) -> tuple[float, float]:
    """|sum ghat| / (n W 2^f) and sum lhat^2 / (n W^2 4^f) of one honest learning phase."""
    graph, lattice = parameters.graph, parameters.lattice
    machine = LearnModel(graph, lattice, parameters.start_model, parameters.reading)
    private = {agent: problem.gradient_source(agent) for agent in range(graph.agents)}
    result = run_machine(graph, machine, private)
    own = [machine.transcripts(state).own for state in result.states.values()]
    measures = Fast(parameters)
    optimality, heterogeneity = measures.statistics(index, [*map(measures.estimate, own)])
    scale = float(parameters.weightings[index].total) * 2.0**lattice.precision.fraction_bits
    return math.sqrt(optimality) / (graph.agents * scale), heterogeneity / (graph.agents * scale**2)
