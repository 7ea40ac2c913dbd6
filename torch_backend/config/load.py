"""Experiments from TOML: presets that come with the package, or files of one's own."""

import difflib
import json
import tomllib
from collections.abc import Iterable, Mapping
from importlib import resources
from pathlib import Path
from typing import Any

from torch_backend.config.experiment import LEAN_BITS, Experiment
from torch_backend.errors import ConfigError
from valid_ref.document import DocumentError, schema, structure, whole_number
from valid_ref.inputs import read_text
from valid_ref.named_parts import value_of

QUICK = "quick"
"""The table of a document that --quick lays over the rest."""


def presets() -> dict[str, str]:
    """The texts of the experiments that come with the package, by name.

    Implements: EX-13.
    """
    folder = resources.files("torch_backend.config") / "presets"
    files = sorted(folder.iterdir(), key=lambda entry: entry.name)
    return {
        file.name.removesuffix(".toml"): file.read_text(encoding="utf-8")
        for file in files
        if file.name.endswith(".toml")
    }


def load(source: str, *, quick: bool = False, changes: Iterable[str] = ()) -> Experiment:
    """The experiment of a preset or a file, with `key=value` changes laid over it.

    Implements: EX-12, EX-13.
    """
    document = _document(source)
    smaller = document.pop(QUICK, {})
    if not isinstance(smaller, dict):
        raise ConfigError(f"{source}: {QUICK} is not a table")
    _read(source, overlaid(document, smaller))  # a wrong quick table is refused in any case
    chosen = overlaid(document, smaller) if quick else document
    for change in changes:
        chosen = changed(chosen, change)
    return _read(source, chosen)


def _document(source: str) -> dict[str, Any]:
    shipped = presets()
    path = Path(source)
    if source in shipped:
        text = shipped[source]
    elif path.suffix == ".toml" or path.is_file():
        text = read_text(path, ConfigError)
    else:
        close = difflib.get_close_matches(source, shipped, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"known: {', '.join(shipped)}"
        raise ConfigError(f"{source!r} is neither a preset nor a TOML file; {hint}")
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{source}: not TOML: {error}") from None


def _read(source: str, document: Mapping[str, Any]) -> Experiment:
    try:
        found: Experiment = structure(Experiment, _with_lean_bits(document))
    except DocumentError as error:
        path, _colon, rest = error.message.partition(":")
        shown = path.removeprefix("$").removeprefix(".") or "the experiment"
        raise ConfigError(f"{source}: {shown}:{rest}", clause=_clause(error)) from None
    return found


def _with_lean_bits(document: Mapping[str, Any]) -> Mapping[str, Any]:
    """A document with lean validation that says nothing of the bits of weights: as many as fit.

    Implements: EX-17.
    """
    detection = document.get("detection", {})
    if document.get("validation") != "lean" or not isinstance(detection, Mapping):
        return document
    return {**document, "detection": {"bits": LEAN_BITS, **detection}}


def _clause(error: DocumentError) -> str:
    """The clause of the part that refused; the form of documents is EX-12 here."""
    return "EX-12" if error.clause == "VA-6" else error.clause


def overlaid(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """A document with another laid over it: tables of one kind merge, all else is replaced."""
    result = dict(below)
    for key, value in above.items():
        old = result.get(key)
        result[key] = value
        if isinstance(old, dict) and isinstance(value, dict):
            kind = old.get("kind")
            result[key] = overlaid(old, value) if value.get("kind", kind) == kind else value
    return result


def changed(document: Mapping[str, Any], change: str) -> dict[str, Any]:
    """The document with one `a.b.0.c=value`; the value is TOML, or else a plain word.

    Implements: EX-12.
    """
    key, equals, text = change.partition("=")
    path = [part.strip() for part in key.split(".")]
    if not equals or not all(path):
        raise ConfigError(f"--set {change}: not of the form key=value")
    value = _value(text.strip())
    result: dict[str, Any] = _changed(dict(document), path, value, change)
    return result


def _changed(node: Any, path: list[str], value: Any, change: str) -> Any:
    if not path:
        return value
    first, *rest = path
    if isinstance(node, dict):
        return node | {first: _changed(node.get(first, {}), rest, value, change)}
    if isinstance(node, list):
        index = whole_number(first)
        if index is None or not 0 <= index < len(node):
            raise ConfigError(f"--set {change}: {first!r} is not one of 0..{len(node) - 1}")
        return [*node[:index], _changed(node[index], rest, value, change), *node[index + 1 :]]
    raise ConfigError(f"--set {change}: there is nothing below {first!r} to be set")


def _value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return value_of(text)  # ".5" is a number to everybody but TOML


def experiment_schema() -> dict[str, Any]:
    """The JSON schema of an experiment, the quick table included.

    Implements: EX-12.
    """
    found = schema(Experiment)
    quick = {"type": "object", "description": "Laid over the rest by --quick."}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **found,
        "properties": found["properties"] | {QUICK: quick},
    }


def schema_text() -> str:
    """The JSON schema as text."""
    return json.dumps(experiment_schema(), indent=1) + "\n"
