"""GlobalValidate: whether the gradients are those of a network that has settled.

The estimates and the three checks of sec:globalvalidation; the broadcast itself is
ValidatedBroadcast.
"""

import math
from collections.abc import Mapping, Sequence

from valid_ref.alarms import Alarm, Raised
from valid_ref.lattice import read_gradient, squared_norm
from valid_ref.protocols.broadcast import Tag
from valid_ref.protocols.local_validate import Transcript
from valid_ref.protocols.parameters import ValidParameters, Weighting
from valid_ref.wide import WideIntegers

# Inputs.

PHASE = "GlobalValidate"

Estimate = WideIntegers
"""For each weighting the d entries of ghat and then lhat."""

Estimates = Sequence[Sequence[int]]
"""One for each agent. A Byzantine agent may send a tuple of integers, which is as good."""


def limits(parameters: ValidParameters, weighting: Weighting) -> tuple[int, int]:
    """W G_max, which no entry of ghat exceeds, and W isqrt(d G_max^2), which lhat does not.

    Implements: GV-3.
    """
    total, largest = sum(weighting.weights), parameters.lattice.gradient_limit
    return total * largest, total * math.isqrt(parameters.lattice.dimension * largest**2)


# State: the alarms, and what the broadcast holds (`BroadcastState`). Nothing is done at the start.


# Send: the estimates of what was received. They are held as in any broadcast.


def estimate(parameters: ValidParameters, transcript: Transcript) -> Estimate:
    """ghat = sum_t w_t g(t) and lhat = sum_t w_t isqrt(|g(t)|^2), for every weighting.

    Implements: GV-2, GV-9, GV-12.
    """
    gradients = [
        read_gradient(parameters.lattice, t, message.scaled_gradient)
        for t, message in enumerate(transcript, start=1)
    ]
    lengths = [math.isqrt(squared_norm(gradient)) for gradient in gradients]
    columns = [*zip(*(gradient.tolist() for gradient in gradients), strict=True)]
    entries: list[int] = []
    for weighting in parameters.weightings:
        entries += [weighted_sum(weighting.weights, column) for column in columns]
        entries.append(weighted_sum(weighting.weights, lengths))
    return WideIntegers.of(entries)


def weighted_sum(weights: Sequence[int], values: Sequence[int]) -> int:
    """sum_t w_t v_t, exactly."""
    return sum(weight * value for weight, value in zip(weights, values, strict=True))


# Receive: the form of an estimate.


def is_estimate(parameters: ValidParameters, value: object) -> bool:
    """Whether a broadcast value is an estimate: integers, within what honest ones can be.

    Implements: GV-3.
    """
    d, weightings = parameters.lattice.dimension, parameters.weightings
    if type(value) not in {tuple, WideIntegers} or not isinstance(value, Sequence):
        return False
    if len(value) != len(weightings) * (d + 1) or set(map(type, value)) - {int}:
        return False
    for index, weighting in enumerate(weightings):
        *vector, length = value[index * (d + 1) : (index + 1) * (d + 1)]
        largest, longest = limits(parameters, weighting)
        if not 0 <= length <= longest or max(map(abs, vector)) > largest:
            return False
    return True


# Finish: the checks of all estimates.


def estimate_alarms(
    parameters: ValidParameters,
    agent: int,
    estimates: Mapping[Tag, Sequence[int]],
    own: Sequence[int],
) -> list[Raised]:
    """All checks of the estimates by one agent; `own` is made from its own record.

    Implements: GV-4, GV-5, GV-6, GV-8.
    """
    raised = comparison_alarms(parameters, agent, estimates, own)
    agreed = agreed_estimates(parameters, estimates)
    if agreed is not None:
        for index, weighting in enumerate(parameters.weightings):
            found = statistics(parameters, index, agreed)
            raised += statistic_alarms(parameters, weighting, *found)
    return raised


def agreed_estimates(
    parameters: ValidParameters, estimates: Mapping[Tag, Sequence[int]]
) -> list[Sequence[int]] | None:
    """Of every agent the estimate of its lowest-numbered reporter; None if one has none.

    Implements: GV-4, GV-8.
    """
    graph, agreed = parameters.graph, []
    for u in range(graph.agents):
        reports = [estimates[v, u] for v in graph.neighbours(u) if (v, u) in estimates]
        agreed += reports[:1]
    return agreed if len(agreed) == graph.agents else None


def statistics(parameters: ValidParameters, index: int, estimates: Estimates) -> tuple[int, int]:
    """|sum_u ghat_u|^2 and sum_u lhat_u^2 under the weighting of this index, exactly.

    Implements: GV-5, GV-6, GV-9.
    """
    d = parameters.lattice.dimension
    begin = index * (d + 1)
    vectors = [estimate[begin : begin + d] for estimate in estimates]
    sums = [sum(column) for column in zip(*vectors, strict=True)]
    lengths = [estimate[begin + d] for estimate in estimates]
    return sum(entry**2 for entry in sums), sum(length**2 for length in lengths)


# Alarms.


def comparison_alarms(
    parameters: ValidParameters,
    agent: int,
    estimates: Mapping[Tag, Sequence[int]],
    own: Sequence[int],
) -> list[Raised]:
    """Reporters of one agent that differ, and estimates about oneself that are not one's own.

    Implements: GV-4, GV-8.
    """
    graph, raised = parameters.graph, []
    for u in range(graph.agents):
        reports = [estimates[v, u] for v in graph.neighbours(u) if (v, u) in estimates]
        if any(report != reports[0] for report in reports):
            raised.append(_raised(parameters, Alarm.INCONSISTENT_ESTIMATES, u))
    if parameters.reading.P07:
        for reporter in graph.neighbours(agent):
            if estimates.get((reporter, agent), own) != own:
                raised.append(_raised(parameters, Alarm.SELF_ESTIMATE_MISMATCH, agent, reporter))
    return raised


def statistic_alarms(
    parameters: ValidParameters, weighting: Weighting, optimality: int, heterogeneity: int
) -> list[Raised]:
    """The optimality and the heterogeneity check under one weighting.

    Implements: GV-5, GV-6, GV-12.
    """
    raised = []
    if optimality > weighting.optimality**2:
        raised.append(_raised(parameters, Alarm.NOT_OPTIMAL, weighting.name))
    if heterogeneity > weighting.heterogeneity:
        raised.append(_raised(parameters, Alarm.TOO_HETEROGENEOUS, weighting.name))
    return raised


def _raised(
    parameters: ValidParameters, alarm: Alarm, about: object, sender: int | None = None
) -> Raised:
    return Raised(alarm, PHASE, parameters.graph.agents, sender, about)
