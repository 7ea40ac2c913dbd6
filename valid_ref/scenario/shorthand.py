"""Parts of a scenario in one word of a command line: "benign:fraction=0.5"."""

import json
from typing import Any

from valid_ref.document import structure


def parse_part(kind: Any, text: str, path: str) -> Any:
    """A part from `kind:name=value,name=value`; values are JSON, or else plain strings."""
    name, _colon, rest = text.partition(":")
    document: dict[str, Any] = {"kind": name}
    for item in filter(None, rest.split(",")):
        key, _equals, value = item.partition("=")
        try:
            document[key.strip()] = json.loads(value)
        except json.JSONDecodeError:
            document[key.strip()] = value
    return structure(kind, document, path)


def parse_integers(text: str) -> tuple[int, ...]:
    """Integers between commas."""
    items = [item.strip() for item in text.split(",") if item.strip()]
    return tuple(
        structure(int, int(item) if item.lstrip("-").isdigit() else item, f"[{index}]")
        for index, item in enumerate(items)
    )
