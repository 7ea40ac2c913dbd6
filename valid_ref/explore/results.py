"""What an exploration found, and the record of explorations in the repository.

`docs/tables/explored.json` has one entry for every settings; `counts` must come out again exactly,
`measured` is about one machine on one day and is never asserted.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from valid_ref.document import read_json, unstructure
from valid_ref.explore.settings import ExploreError, Settings
from valid_ref.inputs import read_text

if TYPE_CHECKING:
    from valid_ref.explore.cases import ExploredCase


@attrs.frozen
class Tally:
    """How many instances there are, and how many of them some strategy violates."""

    instances: int
    violations: int


Tallies = dict[str, Mapping[str, Tally]]
"""By property, then by kind of instance."""


@attrs.frozen
class Exploration:
    """The counts of one exploration.

    `states` are the joint honest states reached in one case of every class, `represented` those
    in all cases; `violating` has the cases with the fewest agents that violate a property, `notes`
    further counts.
    """

    settings: Settings
    tallies: Mapping[str, Mapping[str, Tally]]
    states: int
    represented: int
    classes: int
    violating: Mapping[str, tuple["ExploredCase", ...]]
    notes: Mapping[str, int] = attrs.field(factory=dict)

    def violations(self, name: str) -> int:
        """How many instances violate a property."""
        return sum(tally.violations for tally in self.tallies[name].values())

    @property
    def broken(self) -> tuple[str, ...]:
        """The properties that ought to hold and do not; V5 is the printed claim, which is false."""
        return tuple(name for name in self.tallies if name != "V5" and self.violations(name))

    def as_json(self) -> dict[str, Any]:
        """The counts as plain JSON data."""
        return {
            "settings": self.settings.as_json(),
            "classes": self.classes,
            "states": self.states,
            "states_of_all_instances": self.represented,
            "properties": {
                name: {
                    "instances": sum(tally.instances for tally in kinds.values()),
                    "violations": self.violations(name),
                    "kinds": {kind: unstructure(tally) for kind, tally in kinds.items()},
                }
                for name, kinds in self.tallies.items()
            },
            "notes": dict(self.notes),
        }


def smallest(cases: Iterable["ExploredCase"]) -> tuple["ExploredCase", ...]:
    """Those of the cases that have the fewest agents, in their order."""
    listed = list(cases)
    fewest = min((case.graph.agents for case in listed), default=0)
    return tuple(case for case in listed if case.graph.agents == fewest)


FORMAT = "valid-ref explored 1"


@attrs.frozen
class RecordedExploration:
    """One recorded exploration."""

    settings: Settings
    counts: Mapping[str, Any]
    measured: Mapping[str, Any]


def read_manifest(path: Path) -> tuple[RecordedExploration, ...]:
    """All entries, in their order."""
    data = read_json(read_text(path, ExploreError))
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise ExploreError(f"{path} is not a manifest of explorations")
    return tuple(
        RecordedExploration(
            Settings.from_json(entry["settings"]), entry["counts"], entry["measured"]
        )
        for entry in data["explorations"]
    )


def counts_of(exploration: Exploration) -> dict[str, Any]:
    """What a manifest keeps of an exploration, beside its settings."""
    counts = exploration.as_json()
    del counts["settings"]
    return counts


def record(path: Path, exploration: Exploration, measured: Mapping[str, Any]) -> None:
    """Write an exploration into a manifest, in the place of an earlier one of equal settings."""
    new = RecordedExploration(exploration.settings, counts_of(exploration), measured)
    entries = list(read_manifest(path)) if path.exists() else []
    wanted = new.settings.as_json()
    places = [i for i, entry in enumerate(entries) if entry.settings.as_json() == wanted]
    if places:
        entries[places[0]] = new
    else:
        entries.append(new)
    document = {
        "format": FORMAT,
        "explorations": [
            {"settings": e.settings.as_json(), "counts": e.counts, "measured": e.measured}
            for e in entries
        ],
    }
    path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
