"""The published vectors as JSON; nothing here knows the generator."""

import json
from pathlib import Path
from typing import Any

VECTORS = Path(__file__).resolve().parents[3] / "spec" / "vectors"
Json = Any


def files() -> list[str]:
    return sorted(p.name.removesuffix(".schema.json") for p in VECTORS.glob("*.schema.json"))


def load(family: str) -> Json:
    return json.loads((VECTORS / f"{family}.json").read_text(encoding="utf-8"))


def printed(case: Json) -> bool:
    """Whether a case shows the text as printed, which others may skip."""
    given = case["input"]
    return bool(given.get("without") or given.get("parameters", {}).get("without"))
