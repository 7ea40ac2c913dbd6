"""What the fields of an attrs class of options refuse, whoever makes the object.

The classes are read from configurations by their `kind`; their fields are the options (EX-12). A
value is held against the type of its field as `valid_ref.document` does it, then against bounds.
"""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from torch_backend.errors import ConfigError
from valid_ref.document import DocumentError, structure

if TYPE_CHECKING:
    import attrs

Check = Callable[[Any, "attrs.Attribute[Any]", Any], None]


def declared(instance: object, attribute: "attrs.Attribute[Any]", value: object) -> None:
    """A value of the type that the field is declared with."""
    try:
        structure(attribute.type, value, attribute.name)
    except DocumentError as error:
        raise ConfigError(f"{_kind(instance)}: {error.message}") from None


def whole(minimum: int, maximum: int | None = None) -> Check:
    """An integer from the minimum on; None as well where the field may be None."""

    def check(instance: object, attribute: "attrs.Attribute[Any]", value: Any) -> None:
        declared(instance, attribute, value)
        if value is not None and value < minimum:
            raise _beyond(instance, attribute, value, f"an integer from {minimum} on")
        if value is not None and maximum is not None and value > maximum:
            raise _beyond(instance, attribute, value, f"an integer up to {maximum}")

    return check


def real(minimum: float = -math.inf, maximum: float = math.inf, *, above: bool = False) -> Check:
    """A finite number between two bounds, or None where it may be; `above` excludes the lower."""

    def check(instance: object, attribute: "attrs.Attribute[Any]", value: Any) -> None:
        declared(instance, attribute, value)
        if value is None or (minimum <= value <= maximum and not (above and value == minimum)):
            return
        bracket = "(" if above else "["
        expected = f"a number in {bracket}{minimum:g}, {maximum:g}]"
        raise _beyond(instance, attribute, value, expected)

    return check


def _beyond(
    instance: object, attribute: "attrs.Attribute[Any]", value: object, expected: str
) -> ConfigError:
    return ConfigError(f"{_kind(instance)}: {attribute.name} = {value!r} is not {expected}")


def _kind(instance: object) -> str:
    return str(getattr(instance, "kind", type(instance).__name__))
