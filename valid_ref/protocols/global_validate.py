"""GlobalValidate: whether the gradients are those of a network that has settled.

The estimates and the three checks of sec:globalvalidation; the broadcast itself is
ValidatedBroadcast.
"""

import math
from collections.abc import Iterable, Mapping, Sequence

from valid_ref.alarms import Alarm, Raised
from valid_ref.lattice import read_gradient, squared_norm
from valid_ref.protocols.broadcast import Tag
from valid_ref.protocols.local_validate import Transcript
from valid_ref.protocols.parameters import ValidParameters, Weighting
from valid_ref.wide import WideIntegers

# Inputs.

PHASE = "GlobalValidate"

Estimate = WideIntegers
"""For each weighting the d entries of ghat; as printed (P27) lhat follows."""

Estimates = Sequence[Sequence[int]]
"""One for each agent. A Byzantine agent may send a tuple of integers, which is as good."""


def limits(parameters: ValidParameters, weighting: Weighting) -> tuple[int, int]:
    """W G_max, which no entry of ghat exceeds, and W isqrt(d G_max^2), which lhat does not.

    Implements: GV-3.
    """
    total, largest = sum(weighting.weights), parameters.lattice.gradient_limit
    return total * largest, total * math.isqrt(parameters.lattice.dimension * largest**2)


def width(parameters: ValidParameters) -> int:
    """How many integers an estimate has for each weighting: d, and as printed one more for lhat.

    Implements: GV-3.
    """
    return parameters.lattice.dimension + (0 if parameters.reading.P27 else 1)


# State: the alarms, and what the broadcast holds (`BroadcastState`). Nothing is done at the start.


# Send: the estimates of what was received. They are held as in any broadcast.


def estimate(parameters: ValidParameters, transcript: Transcript) -> Estimate:
    """ghat = sum_t w_t g(t) for every weighting; as printed also lhat = sum_t w_t |g(t)|.

    The length |g(t)| is rounded down to an integer.

    Implements: GV-2, GV-9, GV-12.
    """
    gradients = [
        read_gradient(parameters.lattice, t, message.scaled_gradient)
        for t, message in enumerate(transcript, start=1)
    ]
    columns = [*zip(*(gradient.tolist() for gradient in gradients), strict=True)]
    entries: list[int] = []
    for weighting in parameters.weightings:
        entries += [weighted_sum(weighting.weights, column) for column in columns]
        if not parameters.reading.P27:
            lengths = [math.isqrt(squared_norm(gradient)) for gradient in gradients]
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
    d, size, weightings = parameters.lattice.dimension, width(parameters), parameters.weightings
    if type(value) not in {tuple, WideIntegers} or not isinstance(value, Sequence):
        return False
    if len(value) != len(weightings) * size or set(map(type, value)) - {int}:
        return False
    for index, weighting in enumerate(weightings):
        part = value[index * size : (index + 1) * size]
        largest, longest = limits(parameters, weighting)
        if max(map(abs, part[:d])) > largest:
            return False
        if any(not 0 <= length <= longest for length in part[d:]):
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

    Implements: GV-4, GV-5, GV-6, GV-8, GV-13.
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
    """|sum_u ghat_u|^2 and sum_u |ghat_u|^2 under the weighting of this index, exactly.

    As printed the second is sum_u lhat_u^2.

    Implements: GV-5, GV-6, GV-9.
    """
    d = parameters.lattice.dimension
    begin = index * width(parameters)
    vectors = [estimate[begin : begin + d] for estimate in estimates]
    sums = [sum(column) for column in zip(*vectors, strict=True)]
    lengths = vectors if parameters.reading.P27 else [(e[begin + d],) for e in estimates]
    return squares(sums), sum(map(squares, lengths))


def squares(entries: Iterable[int]) -> int:
    """The sum of the squares."""
    return sum(entry**2 for entry in entries)


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
    parameters: ValidParameters,
    weighting: Weighting,
    optimality: int | None,
    heterogeneity: int | None,
) -> list[Raised]:
    """The optimality and the heterogeneity check under one weighting, from above and below.

    A statistic that is None is not known and not checked.

    Implements: GV-5, GV-6, GV-12, GV-13.
    """
    found: list[Alarm] = []
    if optimality is not None:
        found += [Alarm.NOT_OPTIMAL] * (optimality > weighting.optimality**2)
        found += [Alarm.TOO_OPTIMAL] * (optimality < weighting.optimality_low**2)
    if heterogeneity is not None:
        found += [Alarm.TOO_HETEROGENEOUS] * (heterogeneity > weighting.heterogeneity)
        found += [Alarm.TOO_HOMOGENEOUS] * (heterogeneity < weighting.heterogeneity_low)
    return [_raised(parameters, alarm, weighting.name) for alarm in found]


def _raised(
    parameters: ValidParameters, alarm: Alarm, about: object, sender: int | None = None
) -> Raised:
    return Raised(alarm, PHASE, parameters.graph.agents, sender, about)
