"""Parts that anybody may bring, found by name: in the package, in entry points, in modules.

A part is a frozen attrs class whose fields are its options. In a document it is an object with the
`kind` that names the class, or a text: `benign:fraction=0.5`, `my_attacks:Loud:sigma=3`.
"""

import importlib
import json
import re
from collections.abc import Mapping
from importlib.metadata import entry_points
from typing import Any, get_args

import attrs

from valid_ref.document import (
    DocumentError,
    number,
    reader_of,
    schema,
    shown,
    structure,
    suggestion,
    wrong,
)
from valid_ref.errors import ValidRefError
from valid_ref.foreign import place_of, refusing

IN_A_MODULE = re.compile(r"([^\W\d][\w.]*:[^\W\d]\w*)(?::(.*))?", re.DOTALL)
"""`module:Name`, and the options after it. A piece with "=" is an option, not a name."""

OPTIONS = re.compile(r",(?![^\[\]]*\])")
"""What stands between two options: a comma outside brackets."""


def own_kind(part: type) -> str | None:
    """The kind that a class says of itself; an inherited one is that of another class."""
    kind = vars(part).get("kind")
    return kind if isinstance(kind, str) else None


def name_of(part: object) -> str:
    """The name by which documents find the class of a part: its kind, or else `module:Name`."""
    return own_kind(type(part)) or place_of(type(part))


def asking(
    part: object, called: str, error: type[ValidRefError], clause: str = "VA-10"
) -> refusing:
    """The block in which a part is asked for something; `called` says for what.

    Implements: VA-10.
    """
    return refusing(error, f"{name_of(part)}: {called} raises", clause=clause)


@attrs.frozen
class Installed:
    """What an entry point gives: the class that its name leads to, or why it cannot be used."""

    name: str
    part: type | None = None
    broken: str = ""


@attrs.frozen
class NamedParts:
    """The classes that one place of a document admits; stands in `Annotated` beside their type.

    `what` is the word for such a part; `known` are the classes of the package, `group` is that of
    the entry points, and `methods` is what every class must have.

    Implements: VA-6.
    """

    what: str
    known: tuple[type, ...]
    group: str
    methods: tuple[str, ...]

    def read(self, value: Any, path: str) -> Any:
        """A part from an object with its kind and options, or from a text."""
        found = self._words(value, path) if isinstance(value, str) else value
        if not isinstance(found, Mapping):
            raise wrong(path, "an object, or a text like name:option=value", value)
        options = {key: item for key, item in found.items() if key != "kind"}
        return structure(self.find(found.get("kind"), path), options, path)

    def name_of(self, value: object) -> str:
        """The name that `find` finds again."""
        return name_of(value)

    def schema(self) -> dict[str, Any]:
        """The classes of the package in full; of others only that they have a name."""
        other = {
            "type": "object",
            "description": "A class of your own, as module:Name, or the name of an entry point.",
            "properties": {"kind": {"type": "string", "not": {"enum": [*self.kinds]}}},
            "required": ["kind"],
        }
        text = {"type": "string", "description": "name:option=value,option=value"}
        return {"anyOf": [*map(schema, self.known), other, text]}

    @property
    def kinds(self) -> Mapping[str, type]:
        """The classes of the package by their kinds."""
        return {kind: part for part in self.known if (kind := own_kind(part)) is not None}

    def registered(self) -> Mapping[str, str]:
        """The entry points of the group: where each name leads."""
        return {name: targets[0] for name, targets in _targets(self.group).items()}

    def installed(self) -> tuple[Installed, ...]:
        """What the entry points of the group give; one that is broken spoils no other.

        Implements: VA-6.
        """
        return tuple(map(self._installed, sorted(self.registered())))

    def _installed(self, name: str) -> Installed:
        if name in self.kinds:
            return Installed(name, broken="the package itself has a part of this name")
        try:
            return Installed(name, self.find(name))
        except DocumentError as error:
            return Installed(name, broken=error.message.partition(": ")[2])

    def _words(self, text: str, path: str) -> dict[str, Any]:
        """The object that a text stands for."""
        name, colon, rest = text.partition(":")
        found = IN_A_MODULE.fullmatch(text)
        if found is not None and name not in self.kinds:
            name, colon, rest = found[1], ":" if found[2] is not None else "", found[2] or ""
        return {"kind": name, **(options_of(rest, path) if colon else {})}

    def find(self, name: object, path: str = "$") -> type:
        """The class with this name, which has all that a part needs."""
        if isinstance(name, str) and name in self.kinds:
            return self.kinds[name]
        registered = _targets(self.group)
        targets = registered.get(name, ()) if isinstance(name, str) else ()
        place = f"{path}.kind"
        if targets:
            place += f": the entry point {name!r} of the group {self.group}"
            if len(targets) > 1:
                said = " and ".join(targets)
                raise DocumentError(f"{place} stands for several: {said}", clause="VA-6")
        target = targets[0] if targets else str(name)
        if IN_A_MODULE.fullmatch(target) is None:
            if targets:
                raise DocumentError(f"{place} is {target!r}, not module:Name", clause="VA-6")
            known = {**self.kinds, **registered}
            raise DocumentError(
                f"{place}: no {self.what} is called {shown(name)} (a class of your own: "
                f"module:Name){suggestion(str(name), known)}",
                clause="VA-6",
            )
        found = _imported(target, place)
        self.require(found, path)
        return found

    def require(self, part: type, path: str = "$") -> None:
        """Refuse a class that is no such part, or that a document could not find again."""
        if part in self.known:
            return
        place = f"{path}: {place_of(part)}"
        missing = [name for name in self.methods if not hasattr(part, name)]
        if not attrs.has(part) or part.__hash__ is None:
            raise DocumentError(f"{place} is not a frozen attrs class", clause="VA-6")
        if missing:
            raise DocumentError(
                f"{place} is no {self.what}: it has no {' and no '.join(missing)}", clause="VA-6"
            )
        kind = own_kind(part)
        if kind is None:
            if part.__module__ == "__main__" or "<locals>" in part.__qualname__:
                raise DocumentError(
                    f"{place} could not be found again: put the class into a module of its own",
                    clause="VA-6",
                )
        elif kind not in self.registered():
            raise DocumentError(
                f"{place} has kind = {kind!r}, by which it cannot be found again: leave kind out, "
                f"or make {kind!r} an entry point of the group {self.group}",
                clause="VA-6",
            )


def options_of(text: str, path: str = "$") -> dict[str, Any]:
    """The options in `name=value,name=value`; none may stand there twice, and none be empty.

    Implements: VA-6.
    """
    found: dict[str, Any] = {}
    for item in OPTIONS.split(text):
        if not item.strip():
            raise wrong(path, "an option such as name=value after every colon and comma", text)
        key, _equals, value = item.partition("=")
        if key.strip() in found:
            raise DocumentError(f"{path}.{key.strip()}: stands twice in {text!r}", clause="VA-6")
        found[key.strip()] = value_of(value)
    return found


def value_of(text: str) -> Any:
    """What a text says: JSON, a finite number as Python writes it (.1, +3), else itself."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):  # also an integer of too many digits
        found = number(text)
        return text if found is None else found


def parse_part(kind: Any, text: str, path: str) -> Any:
    """A part from `kind:name=value,name=value`; values are JSON, or else plain strings."""
    if reader_of(kind) is not None:
        return structure(kind, text, path)
    name, colon, rest = text.partition(":")
    options = options_of(rest, path) if colon else {}
    return structure(kind, {"kind": name, **options}, path)


def part_of(kind: Any, value: object, path: str) -> Any:
    """A part of a closed union from itself, from its text or from its document.

    Implements: VA-6.
    """
    if isinstance(value, str):
        return parse_part(kind, value, path)
    if isinstance(value, Mapping):
        return structure(kind, value, path)
    refuse_class(value, path)
    admitted: tuple[Any, ...] = get_args(kind) or (kind,)
    if isinstance(value, admitted):
        return value
    names = ", ".join(sorted(one.kind for one in admitted))
    raise wrong(path, f"a text like name:option=value (names: {names}), or such an object", value)


def refuse_class(value: object, path: str) -> None:
    """Refuse a class where an object is meant, which is easily mistaken."""
    if isinstance(value, type):
        raise DocumentError(
            f"{path}: {value.__name__} is a class: write {value.__name__}(...)", clause="VA-6"
        )


def _imported(target: str, place: str) -> type:
    """The class at `module:Name`."""
    module, _colon, name = target.partition(":")
    with refusing(DocumentError, f"{place}: cannot import {module}:", clause="VA-6"):
        found = getattr(importlib.import_module(module), name, None)
    if not isinstance(found, type):
        raise DocumentError(f"{place}: {module} has no class {name}", clause="VA-6")
    return found


def _targets(group: str) -> Mapping[str, tuple[str, ...]]:
    """The entry points of a group: all places where each name leads."""
    found: dict[str, tuple[str, ...]] = {}
    for point in entry_points(group=group):
        before = found.get(point.name, ())
        found[point.name] = before if point.value in before else (*before, point.value)
    return found
