"""Exact arithmetic modulo p on arrays, for any prime below 2^63.

Three representations give the same numbers: 64-bit words for p < 2^31, split words for
p = 2^61 - 1, and Python integers for everything else.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Residues = npt.NDArray[Any]
"""Integers in 0..p-1: uint64 where products are done in words, otherwise Python integers."""

_MERSENNE_61 = 2**61 - 1
_LOW_31, _LOW_30 = np.uint64(2**31 - 1), np.uint64(2**30 - 1)
_BITS_31, _BITS_30, _BITS_61 = np.uint64(31), np.uint64(30), np.uint64(61)


def _in_words(p: int) -> bool:
    return p < 2**31 or p == _MERSENNE_61


def residues(p: int, values: npt.ArrayLike) -> Residues:
    """Integers of either sign as residues 0..p-1."""
    array = np.asarray(values)
    if _in_words(p) and array.dtype != object:
        return np.mod(array.astype(np.int64, copy=False), np.int64(p)).astype(np.uint64)
    reduced = array.astype(object) % p
    return reduced.astype(np.uint64) if _in_words(p) else np.asarray(reduced, dtype=object)


def multiply(p: int, left: Residues, right: Residues) -> Residues:
    """The entrywise product modulo p, with broadcasting."""
    if p == _MERSENNE_61:
        return _multiply_mersenne(left, right)
    product: Residues = left * right % (np.uint64(p) if _in_words(p) else p)
    return product


def _multiply_mersenne(left: Residues, right: Residues) -> Residues:
    """Split words: a = a1 2^31 + a0. Every partial sum stays below 2^63.

    a1 b1 2^62 = 2 a1 b1; the middle term m 2^31 = (m >> 30) + (m mod 2^30) 2^31 modulo 2^61 - 1.
    """
    a1, a0 = left >> _BITS_31, left & _LOW_31
    b1, b0 = right >> _BITS_31, right & _LOW_31
    middle = a1 * b0 + a0 * b1
    low = a0 * b0
    total = (a1 * b1 << np.uint64(1)) + (middle >> _BITS_30) + ((middle & _LOW_30) << _BITS_31)
    return _fold_mersenne(total + (low & np.uint64(_MERSENNE_61)) + (low >> _BITS_61))


def _fold_mersenne(total: Residues) -> Residues:
    folded = (total & np.uint64(_MERSENNE_61)) + (total >> _BITS_61)
    return np.where(folded >= _MERSENNE_61, folded - np.uint64(_MERSENNE_61), folded)


def add(p: int, left: Residues, right: Residues) -> Residues:
    """The entrywise sum modulo p."""
    total: Residues = (left + right) % (np.uint64(p) if _in_words(p) else p)
    return total


def evaluate(p: int, rows: npt.ArrayLike, keys: Sequence[int]) -> Residues:
    """Horner's rule: the polynomial with the coefficients of each row, at each key."""
    coefficients, points = residues(p, rows), residues(p, list(keys))
    values = residues(p, np.zeros((coefficients.shape[0], len(keys)), dtype=np.int64))
    for column in coefficients.T[::-1]:
        values = add(p, multiply(p, values, points), column[:, np.newaxis])
    return values


def powers(p: int, bases: Sequence[int], count: int) -> Residues:
    """base^0 .. base^(count-1) for each base, by doubling: an array [count, bases], 0^0 = 1."""
    table = residues(p, np.ones((1, len(bases)), dtype=np.int64))
    while len(table) < count:
        factor = residues(p, [pow(base, len(table), p) for base in bases])
        table = np.concatenate([table, multiply(p, table, factor)])
    return table[:count]


def weighted_sum(p: int, weights: Residues, values: Residues) -> list[int]:
    """sum_t weights[t] values[t] mod p for each column, summed in halves that cannot wrap."""
    products = multiply(p, weights, values)
    if products.dtype == object:
        return [int(total) % p for total in products.sum(axis=0)]
    high, low = (products >> _BITS_31).sum(axis=0), (products & _LOW_31).sum(axis=0)
    return [((int(h) << 31) + int(w)) % p for h, w in zip(high, low, strict=True)]
