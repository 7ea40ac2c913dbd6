"""How the explored protocols go: a reading, with the repair of P01 and P05 split into its parts."""

import enum
from collections.abc import Callable, Mapping
from typing import ClassVar

import attrs

from valid_ref.alarms import Alarm
from valid_ref.errors import ValidRefError
from valid_ref.graph import AgentGraph
from valid_ref.protocols.agreement import ValidationStateAgreement
from valid_ref.protocols.broadcast import Slot, Tag, ValidatedBroadcast
from valid_ref.reading import Reading

BROADCAST_PHASE = "ValidatedBroadcast"
SLOT: Slot = "value"

ObjectTo = Callable[[Alarm, None, object], None]


class ExploreError(ValidRefError):
    """A setting, a state file or a script that the explorer cannot use."""

    default_clause: ClassVar[str] = "VA-7"


class Flood(enum.Enum):
    """How many rounds adopt."""

    AGENTS_LESS_ONE = "V-1"
    """As repaired."""
    PRINTED = "min(V,E)"
    """As printed."""
    PRINTED_AND_ONE = "min(V,E)+1"
    """One adopting round more than printed."""


class Rounds(enum.Enum):
    """How many rounds the agreement takes."""

    AGENTS_LESS_ONE = "V-1"
    """As repaired."""
    EDGES = "E"
    """The listing."""
    PRINTED = "min(V,E)"
    """The text."""
    DIAMETER = "diameter"
    """The natural guess, too few."""
    HONEST_LESS_ONE = "H-1"
    """Enough, but nobody honest knows it."""


@attrs.frozen
class BroadcastVariant:
    """A broadcast: adopting rounds, a compare-only round, an alarm over null, re-sending."""

    flood: Flood = Flood.AGENTS_LESS_ONE
    compare: bool = True
    null_alarm: bool = True
    resend: bool = False

    @classmethod
    def of(cls, reading: Reading) -> "BroadcastVariant":
        """The broadcast of a reading."""
        flood = Flood.AGENTS_LESS_ONE if reading.P01 else Flood.PRINTED
        return cls(flood, reading.P01, reading.P01, not reading.P22)

    @property
    def reading(self) -> Reading | None:
        """The reading whose broadcast this is; None if no reading has it."""
        for repaired in (True, False):
            reading = Reading(P01=repaired, P22=not self.resend)
            if BroadcastVariant.of(reading) == self:
                return reading
        return None

    def flood_rounds(self, graph: AgentGraph) -> int:
        """How many rounds adopt on this graph."""
        if self.flood is Flood.AGENTS_LESS_ONE:
            return graph.agents - 1
        return min(graph.agents, graph.edge_count) + (self.flood is Flood.PRINTED_AND_ONE)

    def machine(self, graph: AgentGraph, source: int) -> ValidatedBroadcast:
        """The real machine for one source with one value, a string."""
        slots = {source: (SLOT,)}
        if self.reading is not None:
            return ValidatedBroadcast(graph, BROADCAST_PHASE, slots, is_text, self.reading)
        reading = Reading(P22=not self.resend)
        return VariantBroadcast(graph, BROADCAST_PHASE, slots, is_text, reading, variant=self)


@attrs.frozen
class AgreementVariant:
    """An agreement: its number of rounds, and whether an agent's own alarm persists."""

    rounds: Rounds = Rounds.AGENTS_LESS_ONE
    persist: bool = True

    @classmethod
    def of(cls, reading: Reading) -> "AgreementVariant":
        """The agreement of a reading."""
        return cls(Rounds.AGENTS_LESS_ONE if reading.P05 else Rounds.EDGES, reading.P04)

    def count(self, graph: AgentGraph, honest: int) -> int:
        """The number of rounds on this graph with so many honest agents."""
        counts = {
            Rounds.AGENTS_LESS_ONE: graph.agents - 1,
            Rounds.EDGES: graph.edge_count,
            Rounds.PRINTED: min(graph.agents, graph.edge_count),
            Rounds.HONEST_LESS_ONE: honest - 1,
        }
        return graph.diameter if self.rounds is Rounds.DIAMETER else counts[self.rounds]

    def machine(self, graph: AgentGraph, honest: int) -> ValidationStateAgreement:
        """The real machine; one with another number of rounds where no reading has it."""
        reading = Reading(P04=self.persist, P05=self.rounds is not Rounds.EDGES)
        if AgreementVariant.of(reading) == self:
            return ValidationStateAgreement(graph, reading)
        return VariantAgreement(graph, reading, length=self.count(graph, honest))


@attrs.frozen
class VariantBroadcast(ValidatedBroadcast):
    """ValidatedBroadcast with other rounds; sending, adopting and objecting are inherited."""

    variant: BroadcastVariant = attrs.field(factory=BroadcastVariant, kw_only=True)

    @property
    def rounds(self) -> int:
        """The adopting rounds, and the compare round if there is one."""
        return self.variant.flood_rounds(self.graph) + self.variant.compare

    def _compares(self, round_number: int) -> bool:
        return self.variant.compare and round_number == self.rounds

    def _object_to_nulls(self, held: Mapping[Tag, object], object_to: ObjectTo) -> None:
        if self.variant.null_alarm:
            super()._object_to_nulls(held, object_to)


@attrs.frozen
class VariantAgreement(ValidationStateAgreement):
    """ValidationStateAgreement with another number of rounds."""

    length: int = attrs.field(default=0, kw_only=True)

    @property
    def rounds(self) -> int:
        """As many as were asked for."""
        return self.length


def is_text(_tag: Tag, value: object) -> bool:
    """The form of an explored value."""
    return isinstance(value, str)
