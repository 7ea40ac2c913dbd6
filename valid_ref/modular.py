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

_LIMB_BITS = 21
_BLOCK = 1 << 11
"""At most so many products of two limbs add up exactly in float64."""

_AT_ONCE = 1 << 17
"""How many coefficients are in limbs at a time: 3 MB."""

_HORNER_AT_MOST = 1 << 10
"""Up to so many products, integers of any size are faster than matrices."""


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
    """The polynomial with the coefficients of each row, at each key: an array [rows, keys]."""
    coefficients = np.asarray(rows)
    if coefficients.size * len(keys) <= _HORNER_AT_MOST:
        return by_integers(p, coefficients, keys)
    return by_limbs(p, coefficients, keys)


def by_integers(p: int, coefficients: npt.NDArray[Any], keys: Sequence[int]) -> Residues:
    """Horner's rule in integers of any size: the fastest way for few numbers."""
    points = np.array(keys, dtype=object)
    values = np.zeros((len(coefficients), len(keys)), dtype=object)
    for column in coefficients.astype(object).T[::-1]:
        values = (values * points + column[:, np.newaxis]) % p
    return residues(p, values)


def by_limbs(p: int, coefficients: npt.NDArray[Any], keys: Sequence[int]) -> Residues:
    """Matrix products of limbs in float64, exactly: the fastest way in numpy for many numbers."""
    if coefficients.size * len(keys) == 0:
        return by_integers(p, coefficients, keys)
    block = min(coefficients.shape[1], _BLOCK)
    table = np.hstack(_limbs(p, powers(p, keys, block)))
    return _by_blocks(p, coefficients, keys, table)


def _by_blocks(
    p: int, coefficients: npt.NDArray[Any], keys: Sequence[int], table: npt.NDArray[np.float64]
) -> Residues:
    """Blocks of a row are rows of one matrix; a block of number j has the weight s^(block j).

    Large inputs are halved, by rows and then by columns, so that the limbs stay small in memory.
    """
    count, length = coefficients.shape
    block = len(table)
    if coefficients.size > _AT_ONCE and count > 1:
        parts = coefficients[: count // 2], coefficients[count // 2 :]
        return np.concatenate([_by_blocks(p, part, keys, table) for part in parts])
    if coefficients.size > _AT_ONCE and length > block:
        half = length // 2 // block * block or block
        parts = coefficients[:, :half], coefficients[:, half:]
        left, right = (_by_blocks(p, part, keys, table) for part in parts)
        weights = residues(p, [pow(key, half, p) for key in keys])
        return add(p, left, multiply(p, right, weights))
    blocks = -(-length // block)
    padded = np.zeros((count, blocks * block), dtype=coefficients.dtype)
    padded[:, :length] = coefficients
    values = _matrix_product(p, padded.reshape(count * blocks, block), table)
    values = values.reshape(count, blocks, len(keys))
    if blocks == 1:
        return values[:, 0]
    weights = powers(p, [pow(key, block, p) for key in keys], blocks)
    return _sum_blocks(p, multiply(p, values, weights))


def _sum_blocks(p: int, values: Residues) -> Residues:
    """The sum over the middle axis modulo p, in halves that cannot wrap."""
    if values.dtype == object:
        return np.asarray(values.sum(axis=1) % p, dtype=object)
    high, low = (values >> _BITS_31).sum(axis=1), (values & _LOW_31).sum(axis=1)
    scale = residues(p, [pow(2, 31, p)])
    return add(p, multiply(p, high % np.uint64(p), scale), low % np.uint64(p))


def _matrix_product(
    p: int, coefficients: npt.NDArray[Any], table: npt.NDArray[np.float64]
) -> Residues:
    """coefficients @ powers modulo p, exactly, by products of matrices of limbs in float64.

    A product of two limbs is at most (2^21 - 1)^2 and a block has at most 2^11 of them: every
    partial sum, in whatever order and with or without fused rounding, is an integer below 2^53.
    """
    limbs = _limbs(p, coefficients)
    count, keys = len(coefficients), table.shape[1] // len(limbs)
    by_shift = np.zeros((2 * len(limbs) - 1, count, keys), dtype=np.int64)
    for shift, limb in enumerate(limbs):
        products = (limb @ table).reshape(count, len(limbs), keys)
        by_shift[shift : shift + len(limbs)] += products.astype(np.int64).transpose(1, 0, 2)
    total = residues(p, by_shift[0])
    for shift, sums in enumerate(by_shift[1:], start=1):
        factor = residues(p, [pow(2, _LIMB_BITS * shift, p)])
        total = add(p, total, multiply(p, residues(p, sums), factor))
    return total


def _limbs(p: int, values: npt.NDArray[Any]) -> list[npt.NDArray[np.float64]]:
    """Residues of the values in limbs of 21 bits, lowest first, as exact floating-point numbers.

    For p = 2^61 - 1 any word x stands as (x mod 2^61) + (x >> 61) + p, below 2^63, not below p.
    """
    if p == _MERSENNE_61 and values.dtype == np.int64:
        words = (values & _MERSENNE_61) + ((values >> 61) + _MERSENNE_61)
    else:
        words = residues(p, values)
        words = words if words.dtype == object else words.astype(np.int64)
    count = -(-p.bit_length() // _LIMB_BITS)
    mask = (1 << _LIMB_BITS) - 1
    return [((words >> _LIMB_BITS * i) & mask).astype(np.float64) for i in range(count)]


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
