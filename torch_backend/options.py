"""What the fields of an attrs class of options refuse, whoever makes the object.

The classes are read from configurations by their `kind`; their fields are the options (EX-12).
"""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from torch_backend.errors import ConfigError

if TYPE_CHECKING:
    import attrs

Check = Callable[[Any, "attrs.Attribute[Any]", Any], None]


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
