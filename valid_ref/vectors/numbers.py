"""Numbers as the vectors have them: exact in every language.

Implements: VE-3.
"""

import struct
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np


def whole(value: int) -> str:
    """An integer of any size, in decimal digits."""
    return str(int(value))


def wholes(values: Iterable[int]) -> list[str]:
    """A vector of integers."""
    return [whole(value) for value in values]


def rows(vectors: Iterable[Iterable[int]]) -> list[list[str]]:
    """Several vectors of integers."""
    return [wholes(vector) for vector in vectors]


def ratio(value: Fraction | float | int) -> str:
    """A rational in lowest terms; a float is its exact binary value."""
    numerator, denominator = Fraction(value).as_integer_ratio()
    return f"{numerator}/{denominator}"


def double(value: float) -> str:
    """The 64 bits of a double, in hex, highest first."""
    return struct.pack(">d", value).hex()


def integer_vector(entries: Iterable[int]) -> Any:
    """An int64 vector."""
    return np.array([*entries], dtype=np.int64)
