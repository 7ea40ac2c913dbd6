"""JSON documents and frozen classes: one description gives reading, writing and the schema.

A class is read from an object with exactly its fields; a union of classes is told apart by the
field "kind". `Annotated[.., reader]` leaves reading and naming to the reader, as `named_parts` does
for classes that anybody may bring. Every refusal names the JSON path.
"""

import contextlib
import difflib
import enum
import functools
import itertools
import json
import math
import types
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Protocol, Union, get_args, get_origin, get_type_hints

import attrs

from valid_ref.errors import ValidRefError
from valid_ref.foreign import place_of, refusing

Json = Any


class DocumentError(ValidRefError):
    """A document that is not of the form demanded; the message begins with the JSON path."""


class Reader(Protocol):
    """What stands in `Annotated` beside a type whose values it reads, names and describes."""

    def read(self, value: Json, path: str) -> Any:
        """A value from parsed JSON."""

    def name_of(self, value: Any) -> str:
        """What documents say as the "kind" of a value."""

    def schema(self) -> dict[str, Json]:
        """The JSON schema of all values."""


def whole_number(text: str) -> int | None:
    """The integer that a text says in the digits 0-9, as Python writes it; None if it says none.

    Implements: VA-6.
    """
    with contextlib.suppress(ValueError):  # also more digits than Python reads
        return int(text) if text.isascii() else None
    return None


def number(text: str) -> int | float | None:
    """The finite number that a text says in the digits 0-9 (.1, +3, 1_000); None if it says none.

    Implements: VA-6.
    """
    found = whole_number(text)
    if found is not None or not text.isascii():
        return found
    with contextlib.suppress(ValueError):
        return real if math.isfinite(real := float(text)) else None
    return None


def read_json(text: str) -> Json:
    """Parse JSON strictly: no duplicate keys, no NaN, no infinity, no integer beyond 4300 digits.

    Implements: VA-6.
    """

    def pairs(items: list[tuple[str, Json]]) -> dict[str, Json]:
        found: dict[str, Json] = {}
        for key, value in items:
            if key in found:
                raise DocumentError(f"$: the key {key!r} stands twice in an object", clause="VA-6")
            found[key] = value
        return found

    def constant(name: str) -> Json:
        raise DocumentError(f"$: {name} is not a JSON number", clause="VA-6")

    try:
        return json.loads(text, object_pairs_hook=pairs, parse_constant=constant)
    except json.JSONDecodeError as error:
        raise DocumentError(
            f"$: not JSON: {error.msg} at line {error.lineno}, column {error.colno}", clause="VA-6"
        ) from None
    except RecursionError:
        raise DocumentError("$: nested too deeply", clause="VA-6") from None
    except ValueError:  # the limit of int(); nothing else of well-formed JSON is refused so
        raise DocumentError("$: an integer has too many digits", clause="VA-6") from None


def structure(kind: Any, value: Json, path: str = "$") -> Any:
    """A value of the given type from parsed JSON.

    Implements: VA-6.
    """
    if _origin(kind) is tuple and (rows := _integer_rows(get_args(kind), value)) is not None:
        return rows
    return structure_by_definition(kind, value, path)


def _integer_rows(kinds: tuple[Any, ...], value: Json) -> tuple[tuple[int, ...], ...] | None:
    """Many rows of so many integers at once; None where it is not that, or not of that form.

    Logs are made of such rows: one look at all entries instead of a call for each.
    """
    if kinds[-1] is not Ellipsis or type(value) is not list:
        return None
    entries = get_args(kinds[0])
    if _origin(kinds[0]) is not tuple or set(entries) != {int}:
        return None
    if set(map(type, value)) - {list} or set(map(len, value)) - {len(entries)}:
        return None
    if set(map(type, itertools.chain.from_iterable(value))) - {int}:
        return None
    return tuple(map(tuple, value))


def structure_by_definition(kind: Any, value: Json, path: str) -> Any:
    """The same, entry by entry; every refusal names its path.

    Implements: VA-6.
    """
    origin = _origin(kind)
    if (reader := reader_of(kind)) is not None and (value is not None or not _optional(kind)):
        return reader.read(value, path)
    if origin in {Union, types.UnionType}:
        return _structure_union(get_args(kind), value, path)
    if origin in _CONTAINERS:
        return _structure_container(origin, get_args(kind), value, path)
    if isinstance(kind, type) and attrs.has(kind):
        return _structure_class(kind, value, path)
    if choices := _choices(kind):
        if type(value) not in set(map(type, choices)) or value not in choices:
            raise wrong(path, f"one of {', '.join(map(repr, choices))}", value)
        return value if origin is Literal else kind(value)
    return _structure_scalar(kind, value, path)


@functools.cache
def _origin(kind: Any) -> Any:
    return get_origin(kind)


@functools.cache
def reader_of(kind: Any) -> Reader | None:
    """The reader of a type, or of the one other type beside None."""
    if get_origin(kind) is Annotated:
        found: Reader = get_args(kind)[1]
        return found
    others = [k for k in get_args(kind) if k is not type(None)]
    return reader_of(others[0]) if _optional(kind) and len(others) == 1 else None


def _optional(kind: Any) -> bool:
    return _origin(kind) in {Union, types.UnionType} and type(None) in get_args(kind)


@functools.cache
def _choices(kind: Any) -> list[Json]:
    """The values of an enumeration or of a closed list of words; none for other types."""
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return [member.value for member in kind]
    return list(get_args(kind)) if get_origin(kind) is Literal else []


def _structure_scalar(kind: Any, value: Json, path: str) -> Any:
    if kind is float and type(value) in {int, float}:
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if not math.isfinite(number):
            raise wrong(path, "a finite number", value)
        return number
    if kind in {int, bool, str} and type(value) is kind:
        return value
    if kind is Path and type(value) is str:
        return Path(value)
    names = {
        float: "a number",
        int: "an integer",
        bool: "true or false",
        str: "a string",
        Path: "a string",
    }
    if kind not in names:
        raise DocumentError(f"{path}: no document has values of the type {kind}", clause="VA-6")
    raise wrong(path, names[kind], value)


def _structure_union(kinds: tuple[Any, ...], value: Json, path: str) -> Any:
    if value is None and type(None) in kinds:
        return None
    others = [k for k in kinds if k is not type(None)]
    classes = {kind: k for k in others if (kind := _kind(k)) is not None}
    if not classes:
        return structure(next((k for k in others if k is type(value)), others[0]), value, path)
    if not isinstance(value, Mapping):
        raise wrong(path, "an object", value)
    name = value.get("kind")
    if not isinstance(name, str) or name not in classes:
        raise DocumentError(
            f"{path}.kind: {shown(name)} is not one of {', '.join(sorted(classes))}"
            + suggestion(str(name), classes),
            clause="VA-6",
        )
    rest = {key: item for key, item in value.items() if key != "kind"}
    return _structure_class(classes[name], rest, path)


def _structure_tuple(kinds: tuple[Any, ...], value: Json, path: str) -> tuple[Any, ...]:
    if not isinstance(value, list | tuple):
        raise wrong(path, "an array", value)
    if kinds[-1] is Ellipsis:
        if kinds[0] in {int, str, bool} and all(type(item) is kinds[0] for item in value):
            return tuple(value)
        kinds = (kinds[0],) * len(value)
    if len(value) != len(kinds):
        raise wrong(path, f"an array of {len(kinds)}", value)
    return tuple(
        structure(kind, item, f"{path}[{index}]")
        for index, (kind, item) in enumerate(zip(kinds, value, strict=True))
    )


_CONTAINERS = frozenset({tuple, list, set, frozenset, dict})
"""Tuples are what the package has; a class of somebody's may have the others as well."""


def _structure_container(origin: Any, kinds: tuple[Any, ...], value: Json, path: str) -> Any:
    """An array as a tuple, list or set, or an object as a dict with texts as its keys."""
    if origin is tuple:
        return _structure_tuple(kinds, value, path)
    if origin is not dict:
        return origin(_structure_tuple((kinds[0], ...), value, path))
    if not isinstance(value, Mapping):
        raise wrong(path, "an object", value)
    return {
        structure(kinds[0], key, path): structure(kinds[1], item, f"{path}.{key}")
        for key, item in value.items()
    }


NAME = "name in documents"
"""Key of the metadata of a field whose name in documents is another, as `from` must be."""


@functools.cache
def _fields(kind: type) -> dict[str, Any]:
    """The fields that a document has, by their names there; not those that are computed."""
    return {
        field.metadata.get(NAME, field.name): field for field in attrs.fields(kind) if field.init
    }


@functools.cache
def _hints(kind: type) -> dict[str, Any]:
    """The types of the fields by their names in documents, as far as they are known.

    A class of somebody's may have fields without a type, and types that only a checker knows.
    """
    try:
        hints = get_type_hints(kind, include_extras=True)
    except Exception:  # a type may be a text, which is code of somebody's
        hints = {field.name: _hint(kind, field) for field in _fields(kind).values()}
    return {
        name: hints[field.name]
        for name, field in _fields(kind).items()
        if hints.get(field.name) is not None
    }


def _hint(kind: type, field: Any) -> Any:
    """The type of one field; None if it is not known."""
    if field.type is None:
        return None
    words = {"__annotations__": {field.name: field.type}, "__module__": kind.__module__}
    try:
        return get_type_hints(type("Alone", (), words), include_extras=True)[field.name]
    except Exception:
        return None


def _structure_class(kind: type, value: Json, path: str) -> Any:
    if not isinstance(value, Mapping):
        raise wrong(path, "an object", value)
    hints, fields = _hints(kind), _fields(kind)
    for name in value:
        if name not in fields:
            raise DocumentError(
                f"{path}.{name}: unknown field" + suggestion(str(name), fields), clause="VA-6"
            )
    for name, field in fields.items():
        if name not in value and field.default is attrs.NOTHING:
            raise DocumentError(f"{path}.{name}: missing", clause="VA-6")
    for name in value:
        if name not in hints:
            raise DocumentError(
                f"{path}.{name}: {place_of(kind)} says no type for this field "
                "that is known when it runs, so that a document cannot give it",
                clause="VA-6",
            )
    arguments = {
        fields[name].alias: structure(hints[name], value[name], f"{path}.{name}") for name in value
    }
    with refusing(DocumentError, f"{path}: {place_of(kind)}(...) raises", clause="VA-6"):
        try:
            return kind(**arguments)
        except ValidRefError as error:
            raise DocumentError(f"{path}: {error.message}", clause=error.clause) from error


def unstructure(value: Any, declared: Any = None) -> Json:
    """The JSON form of a value; classes of unions carry their kind.

    `declared` is the type of the place that the value is for, where that has a reader.

    Implements: VA-6.
    """
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, tuple):
        rows = value if set(map(type, value)) == {tuple} else ()
        if rows and not set(map(type, itertools.chain.from_iterable(rows))) - {int}:
            return [*map(list, rows)]  # rows of integers, all at once
        inner = (*get_args(declared), None)[0]
        return [unstructure(item, inner) for item in value]
    if type(value) in _CONTAINERS or isinstance(value, Path):
        return _unstructure_other(value)
    kind: type = type(value)
    if attrs.has(kind):
        reader, hints = reader_of(declared), _hints(kind)
        named = {"kind": value.kind} if hasattr(value, "kind") else {}
        named = named if reader is None else {"kind": reader.name_of(value)}
        return named | {
            name: unstructure(getattr(value, field.name), hints.get(name))
            for name, field in _fields(kind).items()
        }
    return value


def require_read_back(part: Any, path: str) -> None:
    """Refuse an object of which a document would give back another one, by the name of a field.

    Implements: VA-6, VA-10.
    """
    kind: type = type(part)
    hints = _hints(kind)
    for name, field in _fields(kind).items():
        place = f"{path}.{name}"
        if name not in hints:
            raise DocumentError(f"{place}: {place_of(kind)} says no type for it", clause="VA-10")
        with refusing(DocumentError, f"{place} cannot be written down:"):
            value = getattr(part, field.name)
            written = json.dumps(unstructure(value, hints[name]), allow_nan=False)
            same = bool(structure(hints[name], read_json(written), place) == value)
        if not same:
            raise DocumentError(
                f"{place}: a document would give back something else than {shown(value)}",
                clause="VA-10",
            )


def _unstructure_other(value: Any) -> Json:
    """Lists, sets, objects and paths, which the fields of somebody's class may be."""
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, dict):
        return {key: unstructure(item) for key, item in value.items()}
    items = [unstructure(item) for item in value]
    return items if isinstance(value, list) else sorted(items, key=json.dumps)


def schema(kind: Any) -> dict[str, Json]:
    """The JSON schema of a type: nothing but the named fields is admitted.

    Implements: VA-6.
    """
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Annotated:
        described: dict[str, Json] = arguments[1].schema()
        return described
    if origin in {Union, types.UnionType}:
        return {"anyOf": [schema(k) for k in arguments]}
    if origin is tuple:
        return _tuple_schema(arguments)
    if isinstance(kind, type) and attrs.has(kind):
        return _class_schema(kind)
    if choices := _choices(kind):
        return {"enum": choices}
    names = {float: "number", int: "integer", bool: "boolean", str: "string", type(None): "null"}
    return {"type": names[kind]}


def _tuple_schema(kinds: tuple[Any, ...]) -> dict[str, Json]:
    if kinds[-1] is Ellipsis:
        return {"type": "array", "items": schema(kinds[0])}
    size, items = len(kinds), [schema(k) for k in kinds]
    return {"type": "array", "prefixItems": items, "minItems": size, "maxItems": size}


def _class_schema(kind: type) -> dict[str, Json]:
    hints, fields = _hints(kind), _fields(kind)
    properties = {name: schema(hints[name]) for name in fields}
    required = [name for name, field in fields.items() if field.default is attrs.NOTHING]
    if (name := _kind(kind)) is not None:
        properties = {"kind": {"const": name}} | properties
        required = ["kind", *required]
    summary = (kind.__doc__ or "").strip().splitlines()[0]
    return {
        "type": "object",
        "description": summary,
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


def _kind(cls: Any) -> str | None:
    """The value of "kind" that tells a class of a union from the others."""
    return getattr(cls, "kind", None)


def wrong(path: str, expected: str, value: Json) -> DocumentError:
    """The refusal of a value where something else is expected."""
    return DocumentError(f"{path}: expected {expected}, found {shown(value)}", clause="VA-6")


def shown(value: Json) -> str:
    """The beginning of a value; no more of it is looked at than is shown."""
    text = ""
    try:
        for part in json.JSONEncoder(default=_as_text, skipkeys=True).iterencode(value):
            text += part[: 61 - len(text)]
            if len(text) > 60:
                return text[:57] + "..."
    except (ValueError, RecursionError):  # it stands in itself
        return f"a {type(value).__name__}"
    return text


def _as_text(value: object) -> str:
    """A value that JSON does not have."""
    try:
        return str(value)
    except KeyboardInterrupt:
        raise
    except BaseException:  # it is anybody's
        return f"a {type(value).__name__}"


def suggestion(name: str, known: Mapping[str, object]) -> str:
    """What was meant instead of a name, or else what there is."""
    close = difflib.get_close_matches(name[:60], known, n=1)
    if close:
        return f"; did you mean {close[0]!r}?"
    return f"; known: {', '.join(sorted(known))}" if known else "; there are none"
