"""GF(p^m) with elements written as integers in base p: what the paper's int() would mean."""

from collections.abc import Sequence

import attrs

FIELDS_AND_DIFFERENCES = (
    (2, (1, 1, 0, 1), (-2, -1, 1), (2, 3, 4, 5)),
    (2, (1, 1, 0, 1), (0, -1, -1, 2), (0, 1, 2, 3, 4, 5)),
    (3, (2, 2, 1), (0, -1, 2), (0, 2, 4)),
    (2, (1, 1, 0, 0, 1), (5, -2, 1), (4, 6, 9)),
    (2, (1, 1, 0, 0, 1), (0, 5, -6, 1), (0, 1, 3, 7)),
    (2, (1, 1, 0, 0, 1), (0, 1, -4, 1, 2), (0, 1, 2, 8, 9)),
    (5, (2, 4, 1), (-31, 1, 1, 2), (6, 11, 12, 14, 18)),
)
"""Characteristic, modulus (lowest coefficient first), difference, and its colliding keys."""


@attrs.frozen
class ExtensionField:
    """GF(p^m) for a monic irreducible modulus of degree m."""

    characteristic: int
    modulus: tuple[int, ...]

    @property
    def order(self) -> int:
        """The number of elements."""
        return int(self.characteristic ** (len(self.modulus) - 1))

    def digits(self, element: int) -> list[int]:
        """The coefficients of an element, lowest first."""
        return [
            element // self.characteristic**place % self.characteristic
            for place in range(len(self.modulus) - 1)
        ]

    def multiply(self, left: int, right: int) -> int:
        """The product of two elements."""
        p, degree = self.characteristic, len(self.modulus) - 1
        product = [0] * (2 * degree)
        for i, a in enumerate(self.digits(left)):
            for j, b in enumerate(self.digits(right)):
                product[i + j] += a * b
        for place in range(2 * degree - 1, degree - 1, -1):
            factor = product[place] % p
            for offset, coefficient in enumerate(self.modulus):
                product[place - degree + offset] -= factor * coefficient
        return sum(product[place] % p * p**place for place in range(degree))

    def colliding_keys(self, difference: Sequence[int]) -> tuple[int, ...]:
        """The keys s for which sum_i difference_i int(s^(i-1)) is 0 over the integers."""
        found = []
        for key in range(self.order):
            total, power = 0, 1
            for entry in difference:
                total += entry * power
                power = self.multiply(power, key)
            if total == 0:
                found.append(key)
        return tuple(found)
