"""What to explore: which protocol, how it goes, how many agents, which words, which properties."""

import enum
from collections.abc import Mapping

import attrs

from valid_ref.explore.variants import (
    AgreementVariant,
    BroadcastVariant,
    ExploreError,
    Flood,
    Rounds,
)
from valid_ref.graph_families import ATLAS_LIMIT
from valid_ref.reading import Reading

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
