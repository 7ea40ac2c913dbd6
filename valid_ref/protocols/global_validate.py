"""GlobalValidate: whether the gradients are those of a network that has settled.

The estimates and the three checks of sec:globalvalidation; the broadcast itself is
ValidatedBroadcast.
"""

import math
from collections.abc import Mapping

import numpy as np

from valid_ref.alarms import Alarm, Raised
from valid_ref.lattice import WORD_LIMIT, squared_norms
from valid_ref.protocols.broadcast import Tag
from valid_ref.protocols.local_validate import ROUNDS_AT_ONCE, Transcript, read_gradients
from valid_ref.protocols.parameters import ValidParameters, Weighting

PHASE = "GlobalValidate"

Estimate = tuple[int, ...]
"""For each weighting the d entries of ghat and then lhat."""


def estimate(parameters: ValidParameters, transcript: Transcript) -> Estimate:
    """ghat = sum_t w_t g(t) and lhat = sum_t w_t isqrt(|g(t)|^2), for every weighting.

    Implements: GV-2, GV-12.
    """
    d, weightings = parameters.lattice.dimension, parameters.weightings
    entries = [0] * (len(weightings) * (d + 1))
    for begin in range(0, len(transcript), ROUNDS_AT_ONCE):
        messages = transcript[begin : begin + ROUNDS_AT_ONCE]
        rows = read_gradients(parameters, begin, messages)
        norms = [math.isqrt(squared) for squared in squared_norms(rows)]
        for index, weighting in enumerate(weightings):
            weights = weighting.weights[begin : begin + len(messages)]
            length = sum(w * norm for w, norm in zip(weights, norms, strict=True))
            for place, part in enumerate((*_weighted_sum(weights, rows), length)):
                entries[index * (d + 1) + place] += part
    return tuple(entries)


def _weighted_sum(weights: tuple[int, ...], rows: np.ndarray) -> list[int]:
    """sum_t w_t rows[t]: in 64 bits where no partial sum can reach 2^62, else in integers.

    Implements: GV-9.
    """
    largest = max(abs(int(rows.max())), abs(int(rows.min())))
    if sum(weights) * max(1, largest) < WORD_LIMIT:
        return [int(entry) for entry in np.array(weights, dtype=np.int64) @ rows]
    return [int(entry) for entry in np.array(weights, dtype=object) @ rows.astype(object)]


def is_estimate(parameters: ValidParameters, value: object) -> bool:
    """Whether a broadcast value is an estimate: integers, within what honest ones can be.

    Implements: GV-3.
    """
    d, weightings = parameters.lattice.dimension, parameters.weightings
    if type(value) is not tuple or len(value) != len(weightings) * (d + 1):
        return False
    if not all(type(entry) is int for entry in value):
        return False
    largest = parameters.lattice.gradient_limit
    norm = math.isqrt(d * largest**2)
    for index, weighting in enumerate(weightings):
        *vector, length = value[index * (d + 1) : (index + 1) * (d + 1)]
        total = sum(weighting.weights)
        if not 0 <= length <= total * norm or any(abs(e) > total * largest for e in vector):
            return False
    return True


def estimate_alarms(
    parameters: ValidParameters, agent: int, estimates: Mapping[Tag, Estimate], own: Estimate
) -> list[Raised]:
    """All checks of the estimates by one agent; `own` is made from its own record.

    Implements: GV-4, GV-8.
    """
    graph, raised = parameters.graph, []
    agreed: list[Estimate] = []
    for u in range(graph.agents):
        reports = [estimates[v, u] for v in graph.neighbours(u) if (v, u) in estimates]
        if len(set(reports)) > 1:
            raised.append(_raised(parameters, Alarm.INCONSISTENT_ESTIMATES, u))
        agreed += reports[:1]
    if parameters.reading.P07:
        for reporter in graph.neighbours(agent):
            if estimates.get((reporter, agent), own) != own:
                raised.append(_raised(parameters, Alarm.SELF_ESTIMATE_MISMATCH, agent, reporter))
    if len(agreed) == graph.agents:
        for index, weighting in enumerate(parameters.weightings):
            raised += _statistic_alarms(parameters, index, weighting, agreed)
    return raised


def _statistic_alarms(
    parameters: ValidParameters, index: int, weighting: Weighting, agreed: list[Estimate]
) -> list[Raised]:
    """The optimality and the heterogeneity check under one weighting.

    Implements: GV-5, GV-6, GV-12.
    """
    optimality, heterogeneity = statistics(parameters, index, agreed)
    raised = []
    if optimality > weighting.optimality**2:
        raised.append(_raised(parameters, Alarm.NOT_OPTIMAL, weighting.name))
    if heterogeneity > weighting.heterogeneity:
        raised.append(_raised(parameters, Alarm.TOO_HETEROGENEOUS, weighting.name))
    return raised


def statistics(
    parameters: ValidParameters, index: int, estimates: list[Estimate]
) -> tuple[int, int]:
    """|sum_u ghat_u|^2 and sum_u lhat_u^2 under the weighting of this index, exactly.

    Implements: GV-5, GV-6.
    """
    d = parameters.lattice.dimension
    begin = index * (d + 1)
    sums = (sum(column) for column in zip(*(e[begin : begin + d] for e in estimates), strict=True))
    return sum(s * s for s in sums), sum(e[begin + d] ** 2 for e in estimates)


def _raised(
    parameters: ValidParameters, alarm: Alarm, about: object, sender: int | None = None
) -> Raised:
    return Raised(alarm, PHASE, parameters.graph.agents, sender, about)
