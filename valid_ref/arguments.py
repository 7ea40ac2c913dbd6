"""Arguments of public functions and classes: one of another type is refused by its name."""

import contextlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from valid_ref.errors import ValidRefError

if TYPE_CHECKING:
    import attrs

Types = type | tuple[type, ...]


class ArgumentError(ValidRefError):
    """An argument of a type that a function does not take."""


def require_type(value: object, types: Types, name: str, expected: str) -> None:
    """Refuse a value that has none of these types; a truth value is no number."""
    asked = types if isinstance(types, tuple) else (types,)
    if not isinstance(value, types) or (isinstance(value, bool) and bool not in asked):
        raise ArgumentError(f"{name}: expected {expected}, found {kind_of(value)}")


def require_function(value: object, name: str) -> None:
    """Refuse what cannot be called."""
    if not callable(value):
        raise ArgumentError(f"{name}: expected a function, found {kind_of(value)}")


def require_text(value: object, name: str) -> None:
    """Refuse what is no text."""
    require_type(value, str, name, "a text")


def is_a(
    types: Types, expected: str, *, each: Types | None = None
) -> Callable[[Any, "attrs.Attribute[Any]", Any], None]:
    """A validator of attrs: the value has one of these types, and so has everything `each` in it.

    Of a mapping the values are looked at.
    """

    def check(_instance: object, field: "attrs.Attribute[Any]", value: Any) -> None:
        require_type(value, types, field.name, expected)
        if each is None:
            return
        items = value.items() if isinstance(value, Mapping) else enumerate(value)
        for place, item in items:
            require_type(item, each, f"{field.name}[{place!r}]", f"what is in {expected}")

    return check


LONGEST = 60
"""Characters of a value that a message repeats."""


def kind_of(value: object) -> str:
    """A value in words: numbers and short texts themselves, others by their type."""
    if value is None or type(value) in {bool, int, float, str, complex, bytes}:
        with contextlib.suppress(ValueError):  # an integer of too many digits
            if len(text := repr(value)) <= LONGEST:
                return text
    if isinstance(value, type):
        return f"the class {value.__name__}"
    return f"a value of type {type(value).__name__}"
