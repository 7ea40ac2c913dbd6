"""Named options: frozen attrs classes whose fields refuse what they cannot be, built by name."""

import math
from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeVar

import attrs

from torch_backend.errors import ConfigError

Check = Callable[[Any, "attrs.Attribute[Any]", Any], None]


class Named(Protocol):
    """An attrs class with a name for configurations; its fields are its options."""

    @property
    def kind(self) -> str:
        """The name."""


Part = TypeVar("Part", bound=Named)


def _refuse(instance: object, attribute: "attrs.Attribute[Any]", value: object, what: str) -> None:
    kind = getattr(instance, "kind", type(instance).__name__)
    raise ConfigError(f"{kind}: {attribute.name} = {value!r} is not {what}")


def whole(minimum: int, *, optional: bool = False) -> Check:
    """An integer from the minimum on; None as well if it is optional."""

    def check(instance: object, attribute: "attrs.Attribute[Any]", value: object) -> None:
        if optional and value is None:
            return
        if isinstance(value, bool) or not isinstance(value, int) or value < minimum:
            _refuse(instance, attribute, value, f"an integer from {minimum} on")

    return check


def real(
    minimum: float = -math.inf,
    maximum: float = math.inf,
    *,
    above: bool = False,
    optional: bool = False,
) -> Check:
    """A finite number between two bounds; `above` excludes the lower one."""

    def check(instance: object, attribute: "attrs.Attribute[Any]", value: object) -> None:
        if optional and value is None:
            return
        good = isinstance(value, int | float) and not isinstance(value, bool)
        if good and isinstance(value, int | float):
            good = math.isfinite(value) and minimum <= value <= maximum
            good = good and not (above and value == minimum)
        if not good:
            bracket = "(" if above else "["
            _refuse(instance, attribute, value, f"a number in {bracket}{minimum:g}, {maximum:g}]")

    return check


def one_of(*names: str) -> Check:
    """One of these words."""

    def check(instance: object, attribute: "attrs.Attribute[Any]", value: object) -> None:
        if not isinstance(value, str) or value not in names:
            _refuse(instance, attribute, value, "one of " + ", ".join(names))

    return check


def truth() -> Check:
    """True or false."""

    def check(instance: object, attribute: "attrs.Attribute[Any]", value: object) -> None:
        if not isinstance(value, bool):
            _refuse(instance, attribute, value, "true or false")

    return check


def build(catalogue: Mapping[str, type[Part]], table: Mapping[str, Any], what: str) -> Part:
    """The part that a table names by its `kind`, the other keys being its options.

    A part of your own is one more entry: `build({**RULES, "mine": Mine}, table, "rule")`.

    Implements: EX-12.
    """
    options = dict(table)
    kind = options.pop("kind", None)
    if not isinstance(kind, str) or kind not in catalogue:
        known = ", ".join(sorted(catalogue))
        raise ConfigError(f"{what}: kind = {kind!r} is unknown; known are {known}")
    names = _names(catalogue[kind])
    unknown = sorted(set(options) - set(names))
    if unknown:
        known = ", ".join(sorted(names)) or "none"
        raise ConfigError(f"{what} {kind}: unknown option {unknown[0]!r}; options are {known}")
    return catalogue[kind](**options)


def options_of(part: Named) -> dict[str, Any]:
    """The table that builds this part again: its kind and all its options, defaults included.

    Implements: EX-12.
    """
    return {"kind": part.kind, **{name: getattr(part, name) for name in _names(type(part))}}


def _names(part: type[Any]) -> tuple[str, ...]:
    return tuple(field.name for field in attrs.fields(part) if field.init)
