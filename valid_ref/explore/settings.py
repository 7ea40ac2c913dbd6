"""What to explore: which protocol, how it goes, how many agents, which words, which properties.

A protocol goes as in a reading, with the repairs of P01 and P05 split into their parts.
"""

import enum
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

import attrs

from valid_ref.alarms import Alarm
from valid_ref.document import DocumentError, structure, unstructure
from valid_ref.errors import ValidRefError
from valid_ref.graph import AgentGraph
from valid_ref.graph_families import ATLAS_LIMIT
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


class AgreementRounds(enum.Enum):
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

    rounds: AgreementRounds = AgreementRounds.AGENTS_LESS_ONE
    persist: bool = True

    @classmethod
    def of(cls, reading: Reading) -> "AgreementVariant":
        """The agreement of a reading."""
        return cls(
            AgreementRounds.AGENTS_LESS_ONE if reading.P05 else AgreementRounds.EDGES, reading.P04
        )

    def count(self, graph: AgentGraph, honest: int) -> int:
        """The number of rounds on this graph with so many honest agents."""
        counts = {
            AgreementRounds.AGENTS_LESS_ONE: graph.agents - 1,
            AgreementRounds.EDGES: graph.edge_count,
            AgreementRounds.PRINTED: min(graph.agents, graph.edge_count),
            AgreementRounds.HONEST_LESS_ONE: honest - 1,
        }
        return graph.diameter if self.rounds is AgreementRounds.DIAMETER else counts[self.rounds]

    def machine(self, graph: AgentGraph, honest: int) -> ValidationStateAgreement:
        """The real machine; one with another number of rounds where no reading has it."""
        reading = Reading(P04=self.persist, P05=self.rounds is not AgreementRounds.EDGES)
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


MAX_VALUES = 3
NULL = "null"
"""How an alphabet and a story write that an agent holds or says nothing."""
NEED_ASSUMPTION_1 = ("V2", "VS1", "S2")


class Explored(enum.Enum):
    """What is explored, and the properties that there are to check."""

    BROADCAST = ("broadcast", ("V1", "V2", "V3", "V4", "V5"))
    """ValidatedBroadcast alone."""
    AGREEMENT = ("agreement", ("S1", "S2", "S3", "S4"))
    """ValidationStateAgreement alone."""
    BOTH = ("both", ("VS1",))
    """The one, then the other."""

    def __init__(self, slug: str, properties: tuple[str, ...]) -> None:
        self.slug = slug
        self.properties = properties

    @classmethod
    def named(cls, slug: str) -> "Explored":
        """The member with this name."""
        for member in cls:
            if member.slug == slug:
                return member
        raise ExploreError(f"no protocol {slug!r}; there are broadcast, agreement and both")


@attrs.frozen
class Settings:
    """One exploration; equal settings give equal results, whatever the number of processes.

    `values` are the words of the adversary beside null; an honest source has the first.
    `all_sets` drops Assumption 1, which V4 does not need. Without `symmetry` every case is
    explored, not one of each class.
    """

    explored: Explored = Explored.BROADCAST
    min_agents: int = 2
    max_agents: int = 5
    broadcast: BroadcastVariant = attrs.field(factory=BroadcastVariant)
    agreement: AgreementVariant = attrs.field(factory=AgreementVariant)
    values: tuple[str, ...] = ("a", "b")
    properties: tuple[str, ...] = attrs.field()
    all_sets: bool = False
    symmetry: bool = True

    @properties.default
    def _all_properties(self) -> tuple[str, ...]:
        return self.explored.properties

    def __attrs_post_init__(self) -> None:
        if not 2 <= self.min_agents <= self.max_agents <= ATLAS_LIMIT:
            raise ExploreError(
                f"agents from {self.min_agents} to {self.max_agents}: the numbers must rise, "
                f"and be in 2..{ATLAS_LIMIT}",
                clause="MO-2",
            )
        distinct = len(set(self.values)) == len(self.values) and NULL not in self.values
        if not 1 <= len(self.values) <= MAX_VALUES or not distinct:
            raise ExploreError(
                f"values {list(self.values)}: one to {MAX_VALUES} different ones beside null",
                clause="VB-1",
            )
        unknown = [name for name in self.properties if name not in self.explored.properties]
        if unknown or not self.properties:
            raise ExploreError(
                f"properties {unknown} cannot be explored for {self.explored.slug}, which has "
                f"{', '.join(self.explored.properties)}",
            )

        needing = [name for name in self.properties if name in NEED_ASSUMPTION_1]
        if self.all_sets and needing:
            raise ExploreError(f"{needing} need Assumption 1: not for all sets", clause="AD-5")

    @classmethod
    def for_reading(
        cls, explored: Explored, reading: Reading, min_agents: int = 2, max_agents: int = 5
    ) -> "Settings":
        """All properties of the protocols of a reading."""
        return cls(
            explored,
            min_agents,
            max_agents,
            BroadcastVariant.of(reading),
            AgreementVariant.of(reading),
        )

    def as_json(self) -> dict[str, object]:
        """The settings as plain JSON data, without what does not matter for the protocol."""
        document: dict[str, object] = unstructure(
            _SettingsDocument(
                protocol=self.explored.slug,
                min_agents=self.min_agents,
                max_agents=self.max_agents,
                properties=self.properties,
                all_sets=self.all_sets,
                symmetry=self.symmetry,
                broadcast=self.broadcast,
                alphabet=(NULL, *self.values),
                agreement=self.agreement,
            )
        )
        unused = {Explored.BROADCAST: ("agreement",), Explored.AGREEMENT: ("broadcast", "alphabet")}
        for name in unused.get(self.explored, ()):
            del document[name]
        return document

    @classmethod
    def from_json(cls, data: Mapping[str, object]) -> "Settings":
        """The settings that `as_json` wrote."""
        try:
            found: _SettingsDocument = structure(_SettingsDocument, data)
        except DocumentError as error:
            raise ExploreError(f"not the settings of an exploration: {error.message}") from None
        settings = cls(
            explored=Explored.named(found.protocol),
            min_agents=found.min_agents,
            max_agents=found.max_agents,
            broadcast=found.broadcast,
            agreement=found.agreement,
            values=parse_alphabet(found.alphabet),
            properties=found.properties,
            all_sets=found.all_sets,
            symmetry=found.symmetry,
        )
        if settings.as_json() != data:
            raise ExploreError(f"not the settings of an exploration: {dict(data)}")
        return settings


@attrs.frozen
class _SettingsDocument:
    """The JSON form of settings."""

    protocol: str
    min_agents: int
    max_agents: int
    properties: tuple[str, ...]
    all_sets: bool
    symmetry: bool
    broadcast: BroadcastVariant = BroadcastVariant()
    alphabet: tuple[str, ...] = (NULL, "a", "b")
    agreement: AgreementVariant = AgreementVariant()


def parse_alphabet(words: Sequence[str]) -> tuple[str, ...]:
    """The values of an alphabet, whose first word must be null."""
    if not words or words[0] != NULL:
        raise ExploreError(
            f"alphabet {list(words)}: begins with null, which every adversary can say",
            clause="VB-4",
        )
    return tuple(words[1:])
