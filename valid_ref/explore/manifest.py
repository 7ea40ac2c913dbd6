"""The record of explorations in the repository: what was counted, and how long it took once.

`docs/tables/explored.json` has one entry for every settings; `counts` must come out again exactly,
`measured` is about one machine on one day and is never asserted.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs

from valid_ref.explore.results import Exploration
from valid_ref.explore.settings import Settings
from valid_ref.explore.variants import ExploreError

FORMAT = "valid-ref explored 1"


@attrs.frozen
class Entry:
    """One recorded exploration."""

    settings: Settings
    counts: Mapping[str, Any]
    measured: Mapping[str, Any]


def read_manifest(path: Path) -> tuple[Entry, ...]:
    """All entries, in their order."""
    data = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise ExploreError(f"{path} is not a manifest of explorations")
    return tuple(
        Entry(Settings.from_json(entry["settings"]), entry["counts"], entry["measured"])
        for entry in data["explorations"]
    )


def counts_of(exploration: Exploration) -> dict[str, Any]:
    """What a manifest keeps of an exploration, beside its settings."""
    counts = exploration.as_json()
    del counts["settings"]
    return counts


def record(path: Path, exploration: Exploration, measured: Mapping[str, Any]) -> None:
    """Write an exploration into a manifest, in the place of an earlier one of equal settings."""
    new = Entry(exploration.settings, counts_of(exploration), measured)
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
