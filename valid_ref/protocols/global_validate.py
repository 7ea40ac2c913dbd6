"""GlobalValidate: whether the gradients are those of a network that has settled.

The estimates and the three checks of sec:globalvalidation; the broadcast itself is
ValidatedBroadcast.
"""

import math
import operator
from collections.abc import Mapping

import numpy as np

from valid_ref.alarms import Alarm, Raised
from valid_ref.kernels import for_sums, squared_norms, weighted_sums
from valid_ref.protocols.broadcast import Tag
from valid_ref.protocols.local_validate import Transcript, read_gradients
from valid_ref.protocols.parameters import ValidParameters, Weighting

PHASE = "GlobalValidate"

Estimate = tuple[int, ...]
"""For each weighting the d entries of ghat and then lhat."""


def estimate(parameters: ValidParameters, transcript: Transcript) -> Estimate:
    """ghat = sum_t w_t g(t) and lhat = sum_t w_t isqrt(|g(t)|^2), for every weighting.

    Implements: GV-2, GV-9, GV-12.
    """
    d, weightings = parameters.lattice.dimension, [w.weights for w in parameters.weightings]
    backend = for_sums(d * len(transcript) * (1 + len(weightings)))
    gradients = (rows for _begin, rows in read_gradients(parameters, transcript))
    sums = weighted_sums(weightings, gradients, d, backend)
    norms = [
        math.isqrt(squared)
        for _begin, rows in read_gradients(parameters, transcript)
        for squared in squared_norms(rows, backend)
    ]
    lengths = (sum(map(operator.mul, weights, norms)) for weights in weightings)
    pairs = zip(sums, lengths, strict=True)
    return tuple(entry for total, length in pairs for entry in (*total, length))


def is_estimate(parameters: ValidParameters, value: object) -> bool:
    """Whether a broadcast value is an estimate: integers, within what honest ones can be.

    Implements: GV-3.
    """
    d, weightings = parameters.lattice.dimension, parameters.weightings
    if type(value) is not tuple or len(value) != len(weightings) * (d + 1):
        return False
    if set(map(type, value)) - {int}:
        return False
    largest = parameters.lattice.gradient_limit
    norm = math.isqrt(d * largest**2)
    for index, weighting in enumerate(weightings):
        *vector, length = value[index * (d + 1) : (index + 1) * (d + 1)]
        total = sum(weighting.weights)
        if not 0 <= length <= total * norm or max(map(abs, vector)) > total * largest:
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
    length = _squared_sum([estimate[begin : begin + d] for estimate in estimates])
    return length, sum(estimate[begin + d] ** 2 for estimate in estimates)


def _squared_sum(vectors: list[Estimate]) -> int:
    """|sum of the vectors|^2: in words where no sum can reach 2^63, else in integers.

    Implements: GV-9.
    """
    if sum(max(map(abs, vector)) for vector in vectors) < 1 << 63:
        total = np.zeros(len(vectors[0]), np.int64)
        for vector in vectors:
            total += np.array(vector, dtype=np.int64)
        return squared_norms(total[np.newaxis, :])[0]
    sums = (sum(column) for column in zip(*vectors, strict=True))
    return sum(entry * entry for entry in sums)


def _raised(
    parameters: ValidParameters, alarm: Alarm, about: object, sender: int | None = None
) -> Raised:
    return Raised(alarm, PHASE, parameters.graph.agents, sender, about)
