"""Every strategy on every small graph, for the broadcast, the agreement, and one after the other.

    from valid_ref.explore import Explored, Settings, explore
    result = explore(Settings(Explored.BROADCAST, max_agents=5))

The names are imported when they are first used, because the compiled core is slow to import.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from valid_ref.explore.counterexample import smallest_counterexample
    from valid_ref.explore.manifest import counts_of, read_manifest, record
    from valid_ref.explore.results import Exploration, Tally
    from valid_ref.explore.run import explore
    from valid_ref.explore.script import Replay, Script, Word, replay_script, script_adversary
    from valid_ref.explore.settings import Explored, Settings
    from valid_ref.explore.speed import Speed, measure_plain
    from valid_ref.explore.story import tell
    from valid_ref.explore.variants import (
        AgreementVariant,
        BroadcastVariant,
        ExploreError,
        Flood,
        Rounds,
    )

_WHERE = {
    "counterexample": ("smallest_counterexample",),
    "manifest": ("counts_of", "read_manifest", "record"),
    "results": ("Exploration", "Tally"),
    "run": ("explore",),
    "script": ("Replay", "Script", "Word", "replay_script", "script_adversary"),
    "settings": ("Explored", "Settings"),
    "speed": ("Speed", "measure_plain"),
    "story": ("tell",),
    "variants": ("AgreementVariant", "BroadcastVariant", "ExploreError", "Flood", "Rounds"),
}

__all__ = [
    "AgreementVariant",
    "BroadcastVariant",
    "Exploration",
    "ExploreError",
    "Explored",
    "Flood",
    "Replay",
    "Rounds",
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
    for module, names in _WHERE.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
