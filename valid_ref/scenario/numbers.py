"""Numbers in what people have: those of numpy are as good as Python's, and each has its limits."""

import math
from collections.abc import Callable, Mapping
from typing import Any

import attrs
import numpy as np

from valid_ref.document import shown, unstructure
from valid_ref.protocols.parameters import ParameterError

Limit = Callable[[object, "attrs.Attribute[Any]", Any], None]
"""A validator of attrs."""


def plain(value: Any) -> Any:
    """A value with numbers and lists of Python in place of those of numpy, in all its parts.

    Parts become the documents that they are; what is none of these is left to its check.

    Implements: VA-6.
    """
    if isinstance(value, np.ndarray | np.generic):
        # A real number of more bits than Python's is rounded.
        return float(value) if isinstance(value, np.floating) else _of_numpy(value)
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    return plain(unstructure(value)) if attrs.has(type(value)) else value


def _of_numpy(value: "np.ndarray | np.generic") -> Any:
    return plain(value.tolist()) if isinstance(value, np.ndarray) else value.item()


def whole(least: int, most: int | None = None, *, clause: str) -> Limit:
    """An integer within limits."""

    def check(_instance: object, field: "attrs.Attribute[Any]", value: Any) -> None:
        require_whole(value, least, most, name=field.name, clause=clause)

    return check


def require_whole(value: Any, least: int, most: int | None, *, name: str, clause: str) -> None:
    """Refuse what is no integer within limits, by its name."""
    value = plain(value)
    if type(value) is not int or value < least or (most is not None and value > most):
        range_ = f"from {least} on" if most is None else f"from {least} to {most}"
        raise ParameterError(f"{name} = {shown(value)} is not an integer {range_}", clause=clause)


def real(
    least: float = -math.inf, most: float = math.inf, *, open_: bool = False, clause: str
) -> Limit:
    """A finite number within limits, or None; `open_` excludes the limits themselves."""

    def check(_instance: object, field: "attrs.Attribute[Any]", value: Any) -> None:
        value = plain(value)
        if value is None or (_is_finite(value) and _is_within(value, least, most, open_=open_)):
            return
        between = f"between {least:g} and {most:g}" if open_ else f"from {least:g} to {most:g}"
        above = f"above {least:g}" if open_ else f"from {least:g} on"
        finite = "" if least == -math.inf else f" {above if most == math.inf else between}"
        raise ParameterError(
            f"{field.name} = {shown(value)} is not a finite number{finite}", clause=clause
        )

    return check


def _is_finite(value: Any) -> bool:
    return type(value) in {int, float} and -math.inf < value < math.inf


def _is_within(value: float, least: float, most: float, *, open_: bool) -> bool:
    return least < value < most or (not open_ and value in (least, most))
