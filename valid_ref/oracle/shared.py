"""Hashes and estimates of one transcript, made once for everybody who received it."""

from collections.abc import Callable, Mapping
from typing import Any

import attrs

from valid_ref.protocols import global_validate, local_validate
from valid_ref.protocols.broadcast import BroadcastState, Slot
from valid_ref.protocols.local_validate import Transcript
from valid_ref.protocols.parameters import ValidParameters
from valid_ref.protocols.valid import EstimateStage, HashStage, Memory

Numbers = tuple[int, ...]


class Shared:
    """Remembers what was computed of a transcript, by the identity of its messages.

    The transcripts are kept beside the results, so that no identity is used twice.
    """

    def __init__(self, parameters: ValidParameters) -> None:
        self._parameters = parameters
        self._known: dict[tuple[object, ...], tuple[Transcript, Numbers]] = {}

    def report(self, keys: Numbers, transcript: Transcript) -> Numbers:
        """The hashes under these keys."""
        return self._once(
            ("report", keys),
            transcript,
            lambda: local_validate.transcript_report(self._parameters, keys, transcript),
        )

    def estimate(self, transcript: Transcript) -> Numbers:
        """The estimates."""
        return self._once(
            ("estimate",),
            transcript,
            lambda: global_validate.estimate(self._parameters, transcript),
        )

    def _once(
        self, kind: tuple[object, ...], transcript: Transcript, make: Callable[[], Numbers]
    ) -> Numbers:
        place = (*kind, *map(id, transcript))
        if place not in self._known:
            self._known[place] = transcript, make()
        return self._known[place][1]


@attrs.frozen
class SharedHashStage(HashStage):
    """HashStage with shared results."""

    shared: Shared = attrs.field(kw_only=True, eq=False)

    def enter(self, memory: Memory) -> Mapping[Slot, object]:
        """The hashes of everything received.

        Implements: LV-5.
        """
        received = memory.fixed_transcripts.received
        return {sender: self.shared.report(memory.keys, t) for sender, t in received.items()}

    def leave(self, memory: Memory, state: BroadcastState) -> Memory:
        """Check every agent."""
        own = self.shared.report(memory.keys, memory.fixed_transcripts.own)
        reports: Any = state.held
        raised = local_validate.hash_alarms(self.parameters, memory.agent, reports, own)
        return memory.alarmed_by(state.alarms + tuple(raised))


@attrs.frozen
class SharedEstimateStage(EstimateStage):
    """EstimateStage with shared results."""

    shared: Shared = attrs.field(kw_only=True, eq=False)

    def enter(self, memory: Memory) -> Mapping[Slot, object]:
        """The estimates of everything received."""
        received = memory.fixed_transcripts.received
        return {sender: self.shared.estimate(t) for sender, t in received.items()}

    def leave(self, memory: Memory, state: BroadcastState) -> Memory:
        """Check the network."""
        own = self.shared.estimate(memory.fixed_transcripts.own)
        estimates: Any = state.held
        raised = global_validate.estimate_alarms(self.parameters, memory.agent, estimates, own)
        return memory.alarmed_by(state.alarms + tuple(raised))
