"""What to explore: which protocol, how it goes, how many agents, which words, which properties.

A protocol goes as in a reading, with the repairs of P01 and P05 split into their parts.
"""

import enum
from collections.abc import Callable, Mapping
from typing import ClassVar

import attrs

from valid_ref.alarms import Alarm
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


MAX_VALUES = 3
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
        distinct = len(set(self.values)) == len(self.values) and "null" not in self.values
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
                clause=unknown[0] if unknown else "V2",
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
        data: dict[str, object] = {
            "protocol": self.explored.slug,
            "min_agents": self.min_agents,
            "max_agents": self.max_agents,
            "properties": list(self.properties),
            "all_sets": self.all_sets,
            "symmetry": self.symmetry,
        }
        if self.explored is not Explored.AGREEMENT:
            data["broadcast"] = broadcast_as_json(self.broadcast)
            data["alphabet"] = ["null", *self.values]
        if self.explored is not Explored.BROADCAST:
            data["agreement"] = agreement_as_json(self.agreement)
        return data

    @classmethod
    def from_json(cls, data: Mapping[str, object]) -> "Settings":
        """The settings that `as_json` wrote."""
        try:
            settings = cls(
                Explored.named(str(data["protocol"])),
                int(str(data["min_agents"])),
                int(str(data["max_agents"])),
                broadcast_from_json(data["broadcast"]) if "broadcast" in data else _REPAIRED,
                agreement_from_json(data["agreement"]) if "agreement" in data else _PERSISTENT,
                parse_alphabet(data.get("alphabet", ["null", "a", "b"])),
                tuple(_texts(data["properties"])),
                bool(data["all_sets"]),
                bool(data["symmetry"]),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise ExploreError(f"not the settings of an exploration: {error}") from None
        if settings.as_json() != dict(data):
            raise ExploreError(f"not the settings of an exploration: {dict(data)}")
        return settings


_REPAIRED, _PERSISTENT = BroadcastVariant(), AgreementVariant()


def parse_alphabet(words: object) -> tuple[str, ...]:
    """The values of an alphabet, whose first word must be null."""
    listed = _texts(words)
    if listed[:1] != ["null"]:
        raise ExploreError(
            f"alphabet {listed}: begins with null, which every adversary can say", clause="VB-4"
        )
    return tuple(listed[1:])


def broadcast_as_json(variant: BroadcastVariant) -> dict[str, object]:
    """A broadcast variant as plain JSON data."""
    return attrs.asdict(variant, value_serializer=lambda _i, _f, v: _plain(v))


def broadcast_from_json(data: object) -> BroadcastVariant:
    """The broadcast variant that `broadcast_as_json` wrote."""
    fields = _fields(data, ("flood", "compare", "null_alarm", "resend"))
    flood, *switches = fields
    return BroadcastVariant(Flood(flood), *(_switch(value) for value in switches))


def agreement_as_json(variant: AgreementVariant) -> dict[str, object]:
    """An agreement variant as plain JSON data."""
    return attrs.asdict(variant, value_serializer=lambda _i, _f, v: _plain(v))


def agreement_from_json(data: object) -> AgreementVariant:
    """The agreement variant that `agreement_as_json` wrote."""
    rounds, persist = _fields(data, ("rounds", "persist"))
    return AgreementVariant(Rounds(rounds), _switch(persist))


def _plain(value: object) -> object:
    return value.value if isinstance(value, enum.Enum) else value


def _fields(data: object, names: tuple[str, ...]) -> tuple[object, ...]:
    if not isinstance(data, Mapping) or set(data) != set(names):
        raise ExploreError(f"expected the fields {', '.join(names)} and no other, not {data!r}")
    return tuple(data[name] for name in names)


def _switch(value: object) -> bool:
    if not isinstance(value, bool):
        raise ExploreError(f"a switch is true or false, not {value!r}")
    return value


def _texts(value: object) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ExploreError(f"expected a list of texts, not {value!r}")
    return value
