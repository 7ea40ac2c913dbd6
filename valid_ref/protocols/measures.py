"""What an agent computes of transcripts: norms, hashes, estimates, and the checks of them.

`Measures` is the definition. `Remembered` gives the same results and computes each once for all
agents: an honest message is one object for everybody who received it.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import attrs

from valid_ref.alarms import Alarms
from valid_ref.protocols import global_validate, local_validate
from valid_ref.protocols.broadcast import Tag
from valid_ref.protocols.learn import Transcripts
from valid_ref.protocols.local_validate import Transcript
from valid_ref.protocols.parameters import CheckedKeys, ValidParameters

Numbers = tuple[int, ...]
Values = Mapping[Tag, Any]
"""What an agent holds after a broadcast."""
ResultT = TypeVar("ResultT")


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

    def estimate(self, transcript: Transcript) -> Numbers:
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

    def hash_alarms(self, agent: int, held: Values, own: Numbers) -> Alarms:
        """All checks of the reports that an agent holds.

        Implements: LV-7, LV-8, LV-9.
        """
        return tuple(local_validate.hash_alarms(self.parameters, agent, held, own))

    def estimate_alarms(self, agent: int, held: Values, own: Numbers) -> Alarms:
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
    _values: dict[Numbers, Numbers] = attrs.field(init=False, factory=dict, eq=False, repr=False)

    def one(self, value: Numbers) -> Numbers:
        """One object for all tuples of integers equal to this, as long as there is room."""
        if sum(map(len, self._values)) > most_numbers(self.parameters):
            self._values.clear()
        return self._values.setdefault(value, value)

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
            lambda: self.one(super(Remembered, self).report(keys, transcript)),
        )

    def estimate(self, transcript: Transcript) -> Numbers:
        """The estimates, once for every transcript."""
        return self._once(
            ("estimate",),
            transcript,
            lambda: self.one(super(Remembered, self).estimate(transcript)),
        )

    def is_report(self, value: object) -> bool:
        """The form, once for every object that has it: a tuple of integers stays what it is."""
        return self._has_form("report", super().is_report, value)

    def is_estimate(self, value: object) -> bool:
        """The form, once for every object that has it."""
        return self._has_form("estimate", super().is_estimate, value)

    def _has_form(self, kind: str, plain: Callable[[object], bool], value: object) -> bool:
        place = ("form", kind, id(value))
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

    def estimate_alarms(self, agent: int, held: Values, own: Numbers) -> Alarms:
        """The checks; once for all who find nothing about themselves."""
        plain = super().estimate_alarms
        return self._by_all("estimates", plain, agent, held, own, alike=True)

    def _by_all(
        self,
        kind: str,
        plain: Callable[[int, Values, Numbers], Alarms],
        agent: int,
        held: Values,
        own: Numbers,
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


def most_numbers(parameters: ValidParameters) -> int:
    """How many numbers of broadcast values may be remembered: an honest run's, twice."""
    n, width = parameters.graph.agents, parameters.lattice.dimension + 1
    return max(1 << 22, 2 * n * (len(parameters.weightings) * width + 4 * n))
