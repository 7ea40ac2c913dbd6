"""What the machines compute of numbers: updates, norms, hashes, estimates, and the checks of them.

This is the one place where a machine gets a fast form instead of a definition:

    Plain        the definitions of `lattice`, `hashing`, `local_validate` and `global_validate`
    Fast         the same results, batched or compiled (`valid_ref.kernels`) where that pays
    Remembered   the same results, each computed once for all agents   (`protocols.remembered`)
    Replayed     the same results for the agents of a recording        (`protocols.remembered`)

`Valid(parameters, measures)` takes any of them. Tests hold each equal to `Plain`.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import attrs
import numpy as np

from valid_ref import lattice
from valid_ref.alarms import Alarms
from valid_ref.kernels import polyhash, steps
from valid_ref.kernels.sums import (
    Integers,
    WeightedTotals,
    for_sums,
    rounds_at_once,
    squared_norms,
    stack,
)
from valid_ref.protocols import broadcast, global_validate, lean, local_validate
from valid_ref.protocols.broadcast import Entries, Tag, ValidatedBroadcast
from valid_ref.protocols.global_validate import Estimate, Estimates
from valid_ref.protocols.learn import Arithmetic
from valid_ref.protocols.local_validate import Transcript
from valid_ref.protocols.parameters import ValidParameters, estimate_limit
from valid_ref.wide import WideIntegers, joined, limbs_for, words_of

ResultT = TypeVar("ResultT")

Numbers = tuple[int, ...]
Values = Mapping[Tag, Any]
"""What an agent holds after a broadcast."""

Lengths = Iterable[tuple[int, int, int]]
"""t, |x(t)|^2 and |g(t)|^2 of some rounds."""


@attrs.frozen
class Plain:
    """Everything as it is defined."""

    parameters: ValidParameters

    @property
    def arithmetic(self) -> Arithmetic:
        """The update of LearnModel.

        Implements: AR-4, AR-5.
        """
        return lattice

    def norms(self, sender: int, transcript: Transcript) -> Alarms:
        """The norm checks of what one neighbour sent.

        Implements: LV-2.
        """
        if self.parameters.bounds is None:
            return ()
        lengths = self.squared_lengths(transcript)
        return tuple(local_validate.too_long(self.parameters, sender, lengths))

    def squared_lengths(self, transcript: Transcript) -> Lengths:
        """The squares that the norm checks compare.

        Implements: LV-2.
        """
        return local_validate.squared_lengths(self.parameters, transcript)

    def report(self, keys: Numbers, transcript: Transcript) -> Numbers:
        """The hashes of a transcript under these keys.

        Implements: LV-5.
        """
        return local_validate.transcript_report(self.parameters, keys, transcript)

    def is_report(self, value: object) -> bool:
        """Whether a value can be a report.

        Implements: LV-6.
        """
        return local_validate.is_report(self.parameters, value)

    def hash_alarms(self, agent: int, held: Values, own: Numbers) -> Alarms:
        """All checks of the reports that an agent holds.

        Implements: LV-7, LV-8, LV-9.
        """
        return tuple(local_validate.hash_alarms(self.parameters, agent, held, own))

    def estimate(self, transcript: Transcript) -> Estimate:
        """The estimates of a transcript.

        Implements: GV-2.
        """
        return global_validate.estimate(self.parameters, transcript)

    def is_estimate(self, value: object) -> bool:
        """Whether a value can be an estimate.

        Implements: GV-3.
        """
        return global_validate.is_estimate(self.parameters, value)

    def statistics(self, index: int, estimates: Estimates) -> tuple[int, int]:
        """The two statistics under the weighting of this index.

        Implements: GV-5, GV-6.
        """
        return global_validate.statistics(self.parameters, index, estimates)

    def estimate_alarms(self, agent: int, held: Values, own: Sequence[int]) -> Alarms:
        """All checks of the estimates that an agent holds.

        Implements: GV-4, GV-5, GV-6.
        """
        return tuple(global_validate.estimate_alarms(self.parameters, agent, held, own))

    def news(
        self, machine: ValidatedBroadcast, message: Values, held: Values
    ) -> tuple[bool, Entries]:
        """What a broadcast message has besides what is held already.

        Implements: VB-9.
        """
        return broadcast.news(machine, message, held)

    def vector_hashes(self, keys: Numbers, vector: Sequence[int]) -> Sequence[int]:
        """The hashes of an estimate, or of a sum of some, for each weighting under each key.

        Implements: LE-11.
        """
        return lean.vector_hashes(self.parameters, keys, vector)

    def added(self, vectors: Sequence[Sequence[int]]) -> Estimate:
        """The sum of estimates.

        Implements: LE-8.
        """
        return lean.added(vectors)

    def is_sum(self, value: object, count: int) -> bool:
        """Whether a value can be the sum of so many estimates.

        Implements: LE-8.
        """
        return lean.is_sum(self.parameters, value, count)

    def once(self, _kind: str, _values: Sequence[object], make: Callable[[], ResultT]) -> ResultT:
        """What follows from these values alone; others may keep it for all who hold the same."""
        return make()


@attrs.frozen
class Fast(Plain):
    """The same integers from kernels, many rounds at a time."""

    @property
    def arithmetic(self) -> Arithmetic:
        """The update in pieces and compiled loops."""
        return steps

    def squared_lengths(self, transcript: Transcript) -> Lengths:
        """The squares of many rounds at a time."""
        backend = for_sums(2 * self.parameters.lattice.dimension * len(transcript))
        for begin, gradients in _read_gradients(self.parameters, transcript):
            messages = transcript[begin : begin + len(gradients)]
            models = squared_norms(stack([message.model for message in messages]), backend)
            rounds = range(begin + 1, begin + 1 + len(messages))
            yield from zip(rounds, models, squared_norms(gradients, backend), strict=True)

    def report(self, keys: Numbers, transcript: Transcript) -> Numbers:
        """The hashes of all rounds under all keys at once."""
        parameters = self.parameters
        models = [parameters.start_model, *(message.model for message in transcript)]
        gammas = [message.scaled_gradient for message in transcript]
        hashes = polyhash.combine_rounds(
            parameters.field,
            keys,
            parameters.lattice.dimension,
            parameters.lattice.schedule,
            polyhash.transcript_polynomials(parameters.field, keys, models),
            polyhash.transcript_polynomials(parameters.field, keys, gammas),
            eta_shift=local_validate.eta_shift(parameters),
        )
        return local_validate.flat_report(parameters, hashes)

    def estimate(self, transcript: Transcript) -> Estimate:
        """The sums in words or limbs, straight into the array of the estimate."""
        parameters, squares = self.parameters, list[int]()
        printed = not parameters.reading.P27
        weightings = [weighting.weights for weighting in parameters.weightings]
        d, limbs = parameters.lattice.dimension, estimate_limbs(parameters)
        backend = for_sums(d * len(transcript) * (1 + len(weightings)))
        totals = WeightedTotals(weightings, d, backend)
        for _begin, rows in _read_gradients(parameters, transcript):
            totals.add(rows)
            if printed:
                squares += squared_norms(rows, backend)
        lengths = [*map(math.isqrt, squares)]
        parts = []
        for vector, weights in zip(totals.limbs(limbs), weightings, strict=True):
            parts.append(vector)
            if printed:
                parts.append(words_of(global_validate.weighted_sum(weights, lengths), limbs))
        return joined(parts, limbs)

    def is_estimate(self, value: object) -> bool:
        """Of an array only the extremes are looked at."""
        return is_estimate(self.parameters, value)

    def statistics(self, index: int, estimates: Estimates) -> tuple[int, int]:
        """In words where no sum can reach 2^63, some entries at a time."""
        d, printed = self.parameters.lattice.dimension, not self.parameters.reading.P27
        begin = index * global_validate.width(self.parameters)
        optimality = heterogeneity = 0
        for first in range(begin, begin + d, AT_ONCE):
            piece = slice(first, min(first + AT_ONCE, begin + d))
            vectors = [_entries(estimate, piece) for estimate in estimates]
            optimality += _squared_sum(vectors)
            if not printed:
                heterogeneity += sum(_squared_sum([vector]) for vector in vectors)
        if printed:
            heterogeneity = sum(estimate[begin + d] ** 2 for estimate in estimates)
        return optimality, heterogeneity

    def estimate_alarms(self, agent: int, held: Values, own: Sequence[int]) -> Alarms:
        """The checks of the definition, with the fast statistics."""
        raised = global_validate.comparison_alarms(self.parameters, agent, held, own)
        agreed = global_validate.agreed_estimates(self.parameters, held)
        if agreed is not None:
            for index, weighting in enumerate(self.parameters.weightings):
                found = self.statistics(index, agreed)
                raised += global_validate.statistic_alarms(self.parameters, weighting, *found)
        return tuple(raised)

    def vector_hashes(self, keys: Numbers, vector: Sequence[int]) -> Sequence[int]:
        """Every part under all keys at once."""
        field, d = self.parameters.field, self.parameters.lattice.dimension
        found: list[int] = []
        for begin in range(0, len(vector), d):
            entries = _entries(vector, slice(begin, begin + d))
            whole = entries if isinstance(entries, np.ndarray) else np.array(entries, dtype=object)
            found += polyhash.round_polynomials(field, keys, whole[np.newaxis])[0].tolist()
        return found

    def added(self, vectors: Sequence[Sequence[int]]) -> Estimate:
        """In words where no sum can reach 2^63."""
        whole = [_entries(vector, slice(None)) for vector in vectors]
        if not len(whole[0]) or sum(map(_largest, whole)) >= 1 << 63:
            return super().added(vectors)
        total = np.zeros(len(whole[0]), np.int64)
        for vector in whole:
            total += np.asarray(vector, dtype=np.int64)
        return joined([total.view(np.uint64)[:, np.newaxis]], 1)

    def is_sum(self, value: object, count: int) -> bool:
        """Of an array only the extremes are looked at."""
        parameters, d = self.parameters, self.parameters.lattice.dimension
        if type(value) is not WideIntegers:
            return super().is_sum(value, count)
        if len(value) != len(parameters.weightings) * d:
            return False
        for index, weighting in enumerate(parameters.weightings):
            low, high = value.extremes(slice(index * d, (index + 1) * d))
            if max(-low, high) > count * estimate_limit(parameters, weighting):
                return False
        return True


AT_ONCE = 1 << 16
"""So many entries of all estimates are added up at a time."""


def _read_gradients(
    parameters: ValidParameters, transcript: Transcript
) -> Iterator[tuple[int, Integers]]:
    """begin and the gradients of rounds begin + 1, begin + 2, ..., as rows, some at a time.

    One vector is divided by a scalar, which numpy does several times as fast.

    Implements: AR-8.
    """
    divided_by = parameters.lattice.schedule.gradient
    at_once = rounds_at_once(parameters.lattice.dimension)
    for begin in range(0, len(transcript), at_once):
        messages = transcript[begin : begin + at_once]
        gammas = stack([message.scaled_gradient for message in messages])
        divisors = np.array(divided_by[begin : begin + len(messages)], dtype=np.int64)
        yield begin, gammas // (divisors[:, np.newaxis] if len(messages) > 1 else divisors[0])


def estimate_limbs(parameters: ValidParameters) -> int:
    """So many limbs hold every entry of a well-formed estimate.

    Implements: GV-3.
    """
    largest = 0
    for weighting in parameters.weightings:
        entry, length = global_validate.limits(parameters, weighting)
        largest = max(largest, entry, 0 if parameters.reading.P27 else length)
    return limbs_for(largest)


def is_estimate(parameters: ValidParameters, value: object) -> bool:
    """The form of an estimate; of an array only the extremes are looked at.

    Implements: GV-3.
    """
    if type(value) is not WideIntegers:
        return global_validate.is_estimate(parameters, value)
    d, size = parameters.lattice.dimension, global_validate.width(parameters)
    if len(value) != len(parameters.weightings) * size:
        return False
    for index, weighting in enumerate(parameters.weightings):
        begin = index * size
        low, high = value.extremes(slice(begin, begin + d))
        largest, longest = global_validate.limits(parameters, weighting)
        if max(-low, high) > largest:
            return False
        if any(not 0 <= length <= longest for length in value[begin + d : begin + size]):
            return False
    return True


def _entries(estimate: Sequence[int], piece: slice) -> Integers | tuple[int, ...]:
    """Some entries: as words where they fit."""
    if isinstance(estimate, WideIntegers):
        return estimate.entries(piece)
    return tuple(estimate[piece])


def _squared_sum(vectors: list[Integers | tuple[int, ...]]) -> int:
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


def _largest(vector: Integers | tuple[int, ...]) -> int:
    """The largest magnitude."""
    if isinstance(vector, np.ndarray):
        return max(int(vector.max()), -int(vector.min()))
    return max(map(abs, vector))
