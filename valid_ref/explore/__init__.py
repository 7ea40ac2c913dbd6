"""Every strategy on every small graph, for the broadcast, the agreement, and one after the other.

    from valid_ref.explore import Explored, Settings, explore
    result = explore(Settings(Explored.BROADCAST, max_agents=5))

What runs the compiled core is imported when it is first used, because that is slow to import.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from valid_ref.explore.counterexample import (
    PlayedScript,
    Script,
    replay_script,
    script_adversary,
    smallest_counterexample,
    tell,
)
from valid_ref.explore.plain import Word
from valid_ref.explore.results import Exploration, Tally, counts_of, read_manifest, record
from valid_ref.explore.settings import (
    AgreementRounds,
    AgreementVariant,
    BroadcastVariant,
    Explored,
    ExploreError,
    Flood,
    Settings,
)

if TYPE_CHECKING:
    from valid_ref.explore.run import Speed, explore, measure_plain

__all__ = [
    "AgreementRounds",
    "AgreementVariant",
    "BroadcastVariant",
    "Exploration",
    "ExploreError",
    "Explored",
    "Flood",
    "PlayedScript",
    "Script",
    "Settings",
    "Speed",
    "Tally",
    "Word",
    "counts_of",
    "explore",
    "measure_plain",
    "read_manifest",
    "record",
    "replay_script",
    "script_adversary",
    "smallest_counterexample",
    "tell",
]


def __getattr__(name: str) -> object:
    if name in {"Speed", "explore", "measure_plain"}:
        return getattr(import_module(f"{__name__}.run"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
