"""What an agent computes of transcripts: norms, hashes, estimates, and the checks of them.

`Measures` is the definition. `Remembered` gives the same results and computes each once for all
agents: an honest message is one object for everybody who received it.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import attrs
import numpy as np
import numpy.typing as npt

from valid_ref.alarms import Alarm, Alarms, Raised
from valid_ref.kernels import WideIntegers, wide_integers, words_of
from valid_ref.protocols import broadcast, global_validate, local_validate
from valid_ref.protocols.broadcast import Entries, Tag, ValidatedBroadcast
from valid_ref.protocols.global_validate import SomeEstimate
from valid_ref.protocols.learn import Transcripts
from valid_ref.protocols.local_validate import Transcript
from valid_ref.protocols.parameters import CheckedKeys, ValidParameters

Numbers = tuple[int, ...]
NumbersT = TypeVar("NumbersT", bound=SomeEstimate)
Values = Mapping[Tag, Any]
"""What an agent holds after a broadcast."""
ResultT = TypeVar("ResultT")

REPORTS, ESTIMATES = "reports", "estimates"
"""The forms of values that are told apart wherever results are remembered."""


@attrs.frozen
class Measures:
    """The functions of LocalValidate and GlobalValidate, as they are defined."""

    parameters: ValidParameters

    def norms(self, sender: int, transcript: Transcript) -> Alarms:
        """The norm checks of what one neighbour sent.

        Implements: LV-2.
        """
        received = Transcripts((), {sender: tuple(transcript)})
        return tuple(local_validate.norm_alarms(self.parameters, received))

    def report(self, keys: Numbers, transcript: Transcript) -> Numbers:
        """The hashes of a transcript under these keys.

        Implements: LV-5.
        """
        return local_validate.transcript_report(self.parameters, keys, transcript)

    def estimate(self, transcript: Transcript) -> SomeEstimate:
        """The estimates of a transcript.

        Implements: GV-2.
        """
        return global_validate.estimate(self.parameters, transcript)

    def is_report(self, value: object) -> bool:
        """Whether a value can be a report.

        Implements: LV-6.
        """
        return local_validate.is_report(self.parameters, value)

    def is_estimate(self, value: object) -> bool:
        """Whether a value can be an estimate.

        Implements: GV-3.
        """
        return global_validate.is_estimate(self.parameters, value)

    def news(
        self, machine: ValidatedBroadcast, message: Values, held: Values
    ) -> tuple[bool, Entries]:
        """What a broadcast message has besides what is held already.

        Implements: VB-9.
        """
        return broadcast.news(machine, message, held)

    def hash_alarms(self, agent: int, held: Values, own: Numbers) -> Alarms:
        """All checks of the reports that an agent holds.

        Implements: LV-7, LV-8, LV-9.
        """
        return tuple(local_validate.hash_alarms(self.parameters, agent, held, own))

    def estimate_alarms(self, agent: int, held: Values, own: SomeEstimate) -> Alarms:
        """All checks of the estimates that an agent holds.

        Implements: GV-4, GV-5, GV-6.
        """
        return tuple(global_validate.estimate_alarms(self.parameters, agent, held, own))


@attrs.frozen
class Remembered(Measures):
    """The same results, each computed once, told apart by the identity of what they are made of.

    What an identity stands for is kept beside the result, so that it is never that of another
    object. Equal results are one object, so that they compare at once.
    """

    _known: dict[tuple[object, ...], tuple[object, Any]] = attrs.field(
        init=False, factory=dict, eq=False, repr=False
    )
    _values: dict[tuple[str, SomeEstimate], Any] = attrs.field(
        init=False, factory=dict, eq=False, repr=False
    )

    def one(self, form: str, value: NumbersT) -> NumbersT:
        """One object for all values of a form equal to this, as long as there is room.

        A value of one form never stands for one of another, though both may be the same numbers.
        """
        if sum(len(known) for _form, known in self._values) > most_numbers(self.parameters):
            self._values.clear()
        found: NumbersT = self._values.setdefault((form, value), value)
        return found

    def norms(self, sender: int, transcript: Transcript) -> Alarms:
        """The norm checks, once for every transcript."""
        return self._once(
            ("norms", sender), transcript, lambda: super(Remembered, self).norms(sender, transcript)
        )

    def report(self, keys: Numbers, transcript: Transcript) -> Numbers:
        """The hashes, once for every transcript and all keys."""
        return self._once(
            ("report", keys),
            transcript,
            lambda: self.one(REPORTS, super(Remembered, self).report(keys, transcript)),
        )

    def estimate(self, transcript: Transcript) -> SomeEstimate:
        """The estimates, once for every transcript."""
        return self._once(
            ("estimate",),
            transcript,
            lambda: self.one(ESTIMATES, super(Remembered, self).estimate(transcript)),
        )

    def is_report(self, value: object) -> bool:
        """The form, once for every object that has it: a tuple of integers stays what it is."""
        return self._has_form(REPORTS, super().is_report, value)

    def is_estimate(self, value: object) -> bool:
        """The form, once for every object that has it."""
        return self._has_form(ESTIMATES, super().is_estimate, value)

    def _has_form(self, form: str, plain: Callable[[object], bool], value: object) -> bool:
        place = ("form", form, id(value))
        if place not in self._known:
            if not plain(value):
                return False
            self._known[place] = value, True
        return True

    def hash_alarms(self, agent: int, held: Values, own: Numbers) -> Alarms:
        """The checks; once for all who find nothing about themselves, if all check the same."""
        plain = super().hash_alarms
        alike = self.parameters.reading.P08 and self.parameters.checked_keys is CheckedKeys.ALL
        return self._by_all("hashes", plain, agent, held, own, alike=alike)

    def estimate_alarms(self, agent: int, held: Values, own: SomeEstimate) -> Alarms:
        """The checks; once for all who find nothing about themselves."""
        plain = super().estimate_alarms
        return self._by_all("estimates", plain, agent, held, own, alike=True)

    def _by_all(
        self,
        kind: str,
        plain: Callable[[int, Values, Any], Alarms],
        agent: int,
        held: Values,
        own: SomeEstimate,
        *,
        alike: bool,
    ) -> Alarms:
        """Only what is reported about oneself makes the checks of two agents differ."""
        reporters = self.parameters.graph.neighbours(agent)
        if not alike or any(held.get((reporter, agent), own) is not own for reporter in reporters):
            return plain(agent, held, own)
        tags = sorted(held)
        values = [held[tag] for tag in tags]
        return self._once((kind, *tags), values, lambda: plain(agent, held, own))

    def _once(
        self, kind: tuple[object, ...], parts: Sequence[object], make: Callable[[], ResultT]
    ) -> ResultT:
        place = (*kind, *map(id, parts))
        if place not in self._known:
            self._known[place] = parts, make()
        result: ResultT = self._known[place][1]
        return result


@attrs.frozen
class Heard:
    """A mapping of tags as arrays: where its entries stand in the public order, and which objects.

    `whole` is the mapping itself: while it is kept no other object has one of the identities.
    """

    whole: Values
    positions: npt.NDArray[np.int64]
    objects: npt.NDArray[np.int64]
    unknown: bool


@attrs.frozen
class Replayed(Remembered):
    """The same results for an oracle: messages come from a reader, which never changes one again.

    That is why a message, and what an agent holds, can be known by its identity for as long as it
    is kept here. The values that a reader gives are one object if they are equal, so that nearly
    all of a message is held already and arrays of identities tell so at once.

    Estimates are `WideIntegers` of `limbs` limbs, and nothing else is one.
    """

    limbs: int = attrs.field(kw_only=True)
    _heard: dict[tuple[str, int], Heard] = attrs.field(
        init=False, factory=dict, eq=False, repr=False
    )

    def norms(self, sender: int, transcript: Transcript) -> Alarms:
        """The norm checks, from lengths that the estimates need too."""
        if self.parameters.bounds is None:
            return ()
        return tuple(local_validate.too_long(self.parameters, sender, self._lengths(transcript)))

    def _lengths(self, transcript: Transcript) -> Sequence[tuple[int, int, int]]:
        return self._once(
            ("lengths",),
            transcript,
            lambda: [*local_validate.squared_lengths(self.parameters, transcript)],
        )

    def estimate(self, transcript: Transcript) -> SomeEstimate:
        """The estimates in limbs, once for every transcript."""
        return self._once(
            ("estimate",), transcript, lambda: self.one(ESTIMATES, self._estimated(transcript))
        )

    def _estimated(self, transcript: Transcript) -> WideIntegers:
        """Every sum fits into the limbs of a recording (RE-3).

        Implements: GV-2.
        """
        known = self.parameters.bounds is not None
        squares = [g for _t, _x, g in self._lengths(transcript)] if known else None
        totals, lengths = global_validate.estimate_parts(self.parameters, transcript, squares)
        vectors = totals.limbs(self.limbs)
        ends = [words_of(length, self.limbs) for length in lengths]
        pairs = zip(vectors, ends, strict=True)
        return wide_integers([part for pair in pairs for part in pair], self.limbs)

    def hash_alarms(self, agent: int, held: Values, own: Numbers) -> Alarms:
        """The checks; what is found about one agent in some reports once for all who hold them."""
        parameters = self.parameters
        checked = local_validate.checked_agents(parameters, agent)
        differing = {v: self._keys_of("inconsistent", v, held) for v in checked}
        broken = {v: self._keys_of("broken", v, held) for v in checked}
        mismatch = any(
            held.get((reporter, agent), own) is not own
            for reporter in parameters.graph.neighbours(agent)
        )
        if not mismatch and not any(differing.values()) and not any(broken.values()):
            return ()
        raised: list[Raised] = []
        for key_owner in local_validate.checked_keys(parameters, agent):
            for alarm, found in (
                (Alarm.INCONSISTENT_HASHES, differing),
                (Alarm.BROKEN_RELATION, broken),
            ):
                wrong = [v for v in checked if key_owner in found[v]]
                raised += [local_validate.raised(parameters, alarm, (v, key_owner)) for v in wrong]
            if mismatch and parameters.reading.P07:
                hashes = local_validate.under_key(held, key_owner)
                mine = own[4 * key_owner : 4 * key_owner + 4]
                raised += local_validate.self_mismatches(parameters, agent, key_owner, hashes, mine)
        return tuple(raised)

    def _keys_of(self, check: str, v: int, held: Values) -> frozenset[int]:
        """The key owners under whose keys this check of v fails; only these reports matter to it.

        Equal reports are one object, so that identities tell them apart, and they are kept beside
        the result.
        """
        test, tags_of = local_validate.CHECKS[check]
        reports = {tag: held[tag] for tag in tags_of(self.parameters, v, held)}

        def find() -> frozenset[int]:
            return frozenset(
                key_owner
                for key_owner in range(self.parameters.graph.agents)
                if test(self.parameters, v, local_validate.under_key(reports, key_owner))
            )

        return self._once((check, v, *reports), [*reports.values()], find)

    def is_estimate(self, value: object) -> bool:
        """The form of an estimate in limbs, once for every object that has it."""
        return self._has_form(ESTIMATES, self._is_wide_estimate, value)

    def _is_wide_estimate(self, value: object) -> bool:
        return is_wide_estimate(self.parameters, value)

    def news(
        self, machine: ValidatedBroadcast, message: Values, held: Values
    ) -> tuple[bool, Entries]:
        """The same entries, found by comparing identities in one step."""
        if not message:
            return False, []
        told, known = self._as_arrays(machine, message), self._as_arrays(machine, held)
        objects = np.zeros(len(machine.tags), np.int64)  # no object has the identity 0
        objects[known.positions] = known.objects
        other = told.positions[objects[told.positions] != told.objects]
        tags = [machine.tags[position] for position in other.tolist()]
        return told.unknown, [(tag, message[tag]) for tag in tags]

    def _as_arrays(self, machine: ValidatedBroadcast, whole: Values) -> Heard:
        """Sorted positions and identities of the entries that are not null.

        Made once for every mapping while it is among the last ones. The identity is sound: `whole`
        is kept beside what is known of it, and nobody changes it.
        """
        place = (machine.phase, id(whole))
        if place not in self._heard:
            if len(self._heard) >= 4 * machine.graph.agents:
                del self._heard[next(iter(self._heard))]
            order, size = machine.order, len(whole)
            positions = np.fromiter((order.get(tag, -1) for tag in whole), np.int64, size)
            objects = np.fromiter(map(id, whole.values()), np.int64, size)
            real = np.flatnonzero((positions >= 0) & (objects != id(None)))
            real = real[np.argsort(positions[real])]
            unknown = bool((positions < 0).any())
            self._heard[place] = Heard(whole, positions[real], objects[real], unknown)
        return self._heard[place]


def is_wide_estimate(parameters: ValidParameters, value: object) -> bool:
    """Whether these are the numbers of an estimate, in limbs.

    Implements: GV-3.
    """
    d, weightings = parameters.lattice.dimension, parameters.weightings
    if type(value) is not WideIntegers or len(value) != len(weightings) * (d + 1):
        return False
    largest = parameters.lattice.gradient_limit
    norm = math.isqrt(d * largest**2)
    for index, weighting in enumerate(weightings):
        total, end = sum(weighting.weights), index * (d + 1) + d
        low, high = value.extremes(slice(end - d, end))
        if not 0 <= value[end] <= total * norm or max(-low, high) > total * largest:
            return False
    return True


def most_numbers(parameters: ValidParameters) -> int:
    """How many numbers of broadcast values may be remembered: an honest run's, twice."""
    n, width = parameters.graph.agents, parameters.lattice.dimension + 1
    return max(1 << 22, 2 * n * (len(parameters.weightings) * width + 4 * n))
