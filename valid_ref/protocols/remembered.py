"""Measures whose results are computed once: for all agents of a run, or of a recording."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import attrs
import numpy as np
import numpy.typing as npt

from valid_ref.alarms import Alarm, Alarms, Raised
from valid_ref.protocols import global_validate, local_validate
from valid_ref.protocols.broadcast import Entries, ValidatedBroadcast
from valid_ref.protocols.global_validate import Estimate
from valid_ref.protocols.local_validate import Transcript
from valid_ref.protocols.measures import Fast, Numbers, Values
from valid_ref.protocols.parameters import CheckedKeys, ValidParameters
from valid_ref.wide import content

ValueT = TypeVar("ValueT", bound=Numbers | Estimate)
ResultT = TypeVar("ResultT")

REPORTS, ESTIMATES = "reports", "estimates"
"""The forms of values that are told apart wherever results are remembered."""


def _always(_result: object) -> bool:
    return True


@attrs.frozen(eq=False)
class Memo:
    """Results found again by the identity of the objects they were made from.

    At most `most` are kept if that is not 0; then the oldest goes first.
    """

    most: int = 0
    known: dict[tuple[object, ...], tuple[object, Any]] = attrs.field(init=False, factory=dict)

    def once(
        self,
        kind: tuple[object, ...],
        parts: Sequence[object],
        make: Callable[[], ResultT],
        *,
        keep: Callable[[ResultT], bool] = _always,
    ) -> ResultT:
        """The result of this kind of these parts; made if it is not known, kept if it should be."""
        # Why an id is enough: `parts` is kept beside the result, so that none of the objects goes
        # away and no other can get its id as long as the entry is here. And none of them changes:
        # they are frozen messages, tuples, read-only arrays, or mappings that nobody writes to.
        place = (*kind, *map(id, parts))
        if place in self.known:
            result: ResultT = self.known[place][1]
            return result
        result = make()
        if keep(result):
            if self.most and len(self.known) >= self.most:
                del self.known[next(iter(self.known))]
            self.known[place] = parts, result
        return result


@attrs.frozen
class Remembered(Fast):
    """The same results, each computed once for all agents.

    An honest message is one object for everybody who received it. Equal results are one object,
    so that they compare at once.
    """

    _memo: Memo = attrs.field(init=False, factory=Memo, eq=False, repr=False)
    _values: dict[tuple[str, Numbers | bytes], Any] = attrs.field(
        init=False, factory=dict, eq=False, repr=False
    )

    def one(self, form: str, value: ValueT) -> ValueT:
        """One object for all values of a form equal to this, as long as there is room.

        A value of one form never stands for one of another, though both may be the same numbers.
        """
        if sum(map(len, self._values.values())) > most_numbers(self.parameters):
            self._values.clear()
        found: ValueT = self._values.setdefault((form, content(value)), value)
        return found

    def norms(self, sender: int, transcript: Transcript) -> Alarms:
        """The norm checks, once for every transcript."""
        return self._memo.once(
            ("norms", sender), transcript, lambda: super(Remembered, self).norms(sender, transcript)
        )

    def report(self, keys: Numbers, transcript: Transcript) -> Numbers:
        """The hashes, once for every transcript and all keys."""
        return self._memo.once(
            ("report", keys),
            transcript,
            lambda: self.one(REPORTS, super(Remembered, self).report(keys, transcript)),
        )

    def estimate(self, transcript: Transcript) -> Estimate:
        """The estimates, once for every transcript."""
        return self._memo.once(
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
        # What has no form may be any object, also one that changes: it is looked at every time.
        return self._memo.once(("form", form), (value,), lambda: plain(value), keep=bool)

    def hash_alarms(self, agent: int, held: Values, own: Numbers) -> Alarms:
        """The checks; once for all who find nothing about themselves, if all check the same."""
        plain = super().hash_alarms
        alike = self.parameters.reading.P08 and self.parameters.checked_keys is CheckedKeys.ALL
        return self._by_all("hashes", plain, agent, held, own, alike=alike)

    def estimate_alarms(self, agent: int, held: Values, own: Sequence[int]) -> Alarms:
        """The checks; once for all who find nothing about themselves."""
        plain = super().estimate_alarms
        return self._by_all("estimates", plain, agent, held, own, alike=True)

    def once(self, kind: str, values: Sequence[object], make: Callable[[], ResultT]) -> ResultT:
        """Once for all who hold the same objects."""
        return self._memo.once((kind,), values, make)

    def is_sum(self, value: object, count: int) -> bool:
        """The form, once for every object that has it."""
        return self._has_form(
            f"sum of {count}", lambda found: super(Remembered, self).is_sum(found, count), value
        )

    def _by_all(
        self,
        kind: str,
        plain: Callable[[int, Values, Any], Alarms],
        agent: int,
        held: Values,
        own: Sequence[int],
        *,
        alike: bool,
    ) -> Alarms:
        """Only what is reported about oneself makes the checks of two agents differ."""
        reporters = self.parameters.graph.neighbours(agent)
        if not alike or any(held.get((reporter, agent), own) is not own for reporter in reporters):
            return plain(agent, held, own)
        tags = sorted(held)
        values = [held[tag] for tag in tags]
        return self._memo.once((kind, *tags), values, lambda: plain(agent, held, own))


@attrs.frozen
class HeardValues:
    """A mapping of tags as arrays: places of its entries in the public order, and their ids."""

    positions: npt.NDArray[np.int64]
    objects: npt.NDArray[np.int64]
    unknown: bool


@attrs.frozen
class Replayed(Remembered):
    """The same results for an oracle: messages come from a reader, which never changes one again.

    That is why a message, and what an agent holds, can be known by its identity for as long as it
    is kept here. The values that a reader gives are one object if they are equal, so that nearly
    all of a message is held already and arrays of identities tell so at once.
    """

    _heard: Memo = attrs.field(init=False, eq=False, repr=False)

    @_heard.default
    def _few_messages(self) -> Memo:
        return Memo(most=4 * self.parameters.graph.agents)

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

        return self._memo.once((check, v, *reports), [*reports.values()], find)

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

    def _as_arrays(self, machine: ValidatedBroadcast, whole: Values) -> HeardValues:
        """Sorted positions and identities of the entries that are not null.

        Made once for every mapping while it is among the last ones.
        """

        def make() -> HeardValues:
            order, size = machine.order, len(whole)
            positions = np.fromiter((order.get(tag, -1) for tag in whole), np.int64, size)
            # The mapping is kept beside the result, and it keeps the objects with these ids.
            objects = np.fromiter(map(id, whole.values()), np.int64, size)
            real = np.flatnonzero((positions >= 0) & (objects != id(None)))
            real = real[np.argsort(positions[real])]
            return HeardValues(positions[real], objects[real], bool((positions < 0).any()))

        return self._heard.once((machine.phase,), (whole,), make)


def most_numbers(parameters: ValidParameters) -> int:
    """How many numbers of broadcast values may be remembered: an honest run's, twice."""
    n, width = parameters.graph.agents, global_validate.width(parameters)
    return max(1 << 22, 2 * n * (len(parameters.weightings) * width + 4 * n))
