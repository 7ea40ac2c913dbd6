"""GlobalValidate: whether the gradients are those of a network that has settled.

The estimates and the three checks of sec:globalvalidation; the broadcast itself is
ValidatedBroadcast.
"""

import math
import operator
from collections.abc import Mapping, Sequence

import numpy as np

from valid_ref.alarms import Alarm, Raised
from valid_ref.kernels import WeightedTotals, WideIntegers, for_sums, squared_norms
from valid_ref.lattice import IntVector
from valid_ref.protocols.broadcast import Tag
from valid_ref.protocols.local_validate import Transcript, read_gradients
from valid_ref.protocols.parameters import ValidParameters, Weighting

PHASE = "GlobalValidate"

Estimate = tuple[int, ...]
"""For each weighting the d entries of ghat and then lhat."""

SomeEstimate = Estimate | WideIntegers
"""The same, or as an oracle has all estimates: in an array."""

AT_ONCE = 1 << 16
"""So many entries of all estimates are added up at a time."""


def estimate(parameters: ValidParameters, transcript: Transcript) -> Estimate:
    """ghat = sum_t w_t g(t) and lhat = sum_t w_t isqrt(|g(t)|^2), for every weighting.

    Implements: GV-2, GV-9, GV-12.
    """
    totals, lengths = estimate_parts(parameters, transcript)
    pairs = zip(totals.integers(), lengths, strict=True)
    return tuple(entry for total, length in pairs for entry in (*total, length))


def estimate_parts(
    parameters: ValidParameters, transcript: Transcript, squares: Sequence[int] | None = None
) -> tuple[WeightedTotals, list[int]]:
    """ghat and lhat of every weighting; `squares` are the |g(t)|^2 if they are known.

    Implements: GV-2, GV-9, GV-12.
    """
    d, weightings = parameters.lattice.dimension, [w.weights for w in parameters.weightings]
    backend = for_sums(d * len(transcript) * (1 + len(weightings)))
    totals, found = WeightedTotals(weightings, d, backend), list[int]()
    for _begin, rows in read_gradients(parameters, transcript):
        totals.add(rows)
        if squares is None:
            found += squared_norms(rows, backend)
    norms = [*map(math.isqrt, found if squares is None else squares)]
    return totals, [sum(map(operator.mul, weights, norms)) for weights in weightings]


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
    parameters: ValidParameters,
    agent: int,
    estimates: Mapping[Tag, SomeEstimate],
    own: SomeEstimate,
) -> list[Raised]:
    """All checks of the estimates by one agent; `own` is made from its own record.

    Implements: GV-4, GV-8.
    """
    graph, raised = parameters.graph, []
    agreed: list[SomeEstimate] = []
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
    parameters: ValidParameters, index: int, weighting: Weighting, agreed: Sequence[SomeEstimate]
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
    parameters: ValidParameters, index: int, estimates: Sequence[SomeEstimate]
) -> tuple[int, int]:
    """|sum_u ghat_u|^2 and sum_u lhat_u^2 under the weighting of this index, exactly.

    Implements: GV-5, GV-6.
    """
    d = parameters.lattice.dimension
    begin = index * (d + 1)
    pieces = [
        slice(first, min(first + AT_ONCE, begin + d)) for first in range(begin, begin + d, AT_ONCE)
    ]
    length = sum(_squared_sum([_entries(one, piece) for one in estimates]) for piece in pieces)
    return length, sum(estimate[begin + d] ** 2 for estimate in estimates)


def _entries(estimate: SomeEstimate, piece: slice) -> IntVector | tuple[int, ...]:
    """Some entries: as words where they fit."""
    return estimate.entries(piece) if isinstance(estimate, WideIntegers) else estimate[piece]


def _squared_sum(vectors: list[IntVector | tuple[int, ...]]) -> int:
    """|sum of the vectors|^2: in words where no sum can reach 2^63, else in integers.

    Implements: GV-9.
    """
    if sum(_largest(vector) for vector in vectors) < 1 << 63:
        total = np.zeros(len(vectors[0]), np.int64)
        for vector in vectors:
            total += np.asarray(vector, dtype=np.int64)
        return squared_norms(total[np.newaxis, :])[0]
    integers = [v.tolist() if isinstance(v, np.ndarray) else v for v in vectors]
    sums = (sum(column) for column in zip(*integers, strict=True))
    return sum(entry * entry for entry in sums)


def _largest(vector: IntVector | tuple[int, ...]) -> int:
    """The largest magnitude."""
    if isinstance(vector, np.ndarray):
        return max(int(vector.max()), -int(vector.min()))
    return max(map(abs, vector))


def _raised(
    parameters: ValidParameters, alarm: Alarm, about: object, sender: int | None = None
) -> Raised:
    return Raised(alarm, PHASE, parameters.graph.agents, sender, about)
