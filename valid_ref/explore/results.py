"""What an exploration found: instances and violations by property and kind, and states."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import attrs

if TYPE_CHECKING:
    from valid_ref.explore.cases import Case
    from valid_ref.explore.settings import Settings


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
    violating: Mapping[str, tuple[Case, ...]]
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
                    "kinds": {kind: attrs.asdict(tally) for kind, tally in kinds.items()},
                }
                for name, kinds in self.tallies.items()
            },
            "notes": dict(self.notes),
        }


def smallest(cases: Iterable[Case]) -> tuple[Case, ...]:
    """Those of the cases that have the fewest agents, in their order."""
    listed = list(cases)
    fewest = min((case.graph.agents for case in listed), default=0)
    return tuple(case for case in listed if case.graph.agents == fewest)
