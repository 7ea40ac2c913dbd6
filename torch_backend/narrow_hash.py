"""The polynomial hash of vectors whose entries are below 2^30, in half the products.

An entry x is taken as z = x + 2^30, 31 bits; a power of a key in parts of 20, 20 and 21 bits. A
product of z and a part is below 2^52, so that 4096 of them add up exactly in 64 bits: three
products where `valid_ref.kernels.hash61` needs six. What the shift adds is taken off at the end.
Two rows and four keys pass together: 24 sums in registers, and every power is loaded for both rows.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar, cast

import attrs
import numba
import numpy as np
import numpy.typing as npt

from valid_ref.kernels.hash61 import PRIME, multiply, power_table, reduce_word, rotate

Compiled = TypeVar("Compiled", bound=Callable[..., Any])
compiled = cast("Callable[[Compiled], Compiled]", numba.njit(cache=True, nogil=True))

Words = npt.NDArray[np.uint64]

BLOCK = 1024
"""Powers of a key in a table; four keys of them stay in the nearest caches."""

SHIFT = np.int64(1 << 30)
Z = np.uint64(2**31 - 1)
P20, P21 = np.uint64(2**20 - 1), np.uint64(2**21 - 1)


@compiled
def _sums(x: Any, y: Any, parts: Any, left: Any, right: Any) -> None:
    """The sums of products of a block of two rows with three parts of four keys, 12 each."""
    a0, a1, a2 = parts[0], parts[1], parts[2]
    b0, b1, b2 = parts[3], parts[4], parts[5]
    c0, c1, c2 = parts[6], parts[7], parts[8]
    d0, d1, d2 = parts[9], parts[10], parts[11]
    l0 = l1 = l2 = l3 = l4 = l5 = l6 = l7 = l8 = l9 = l10 = l11 = np.uint64(0)
    r0 = r1 = r2 = r3 = r4 = r5 = r6 = r7 = r8 = r9 = r10 = r11 = np.uint64(0)
    for i in range(len(x)):
        u, v = np.uint64(x[i] + SHIFT) & Z, np.uint64(y[i] + SHIFT) & Z
        p, q, r = np.uint64(a0[i]) & P20, np.uint64(a1[i]) & P20, np.uint64(a2[i]) & P21
        l0 += u * p
        l1 += u * q
        l2 += u * r
        r0 += v * p
        r1 += v * q
        r2 += v * r
        p, q, r = np.uint64(b0[i]) & P20, np.uint64(b1[i]) & P20, np.uint64(b2[i]) & P21
        l3 += u * p
        l4 += u * q
        l5 += u * r
        r3 += v * p
        r4 += v * q
        r5 += v * r
        p, q, r = np.uint64(c0[i]) & P20, np.uint64(c1[i]) & P20, np.uint64(c2[i]) & P21
        l6 += u * p
        l7 += u * q
        l8 += u * r
        r6 += v * p
        r7 += v * q
        r8 += v * r
        p, q, r = np.uint64(d0[i]) & P20, np.uint64(d1[i]) & P20, np.uint64(d2[i]) & P21
        l9 += u * p
        l10 += u * q
        l11 += u * r
        r9 += v * p
        r10 += v * q
        r11 += v * r
    left[0], left[1], left[2], left[3], left[4], left[5] = l0, l1, l2, l3, l4, l5
    left[6], left[7], left[8], left[9], left[10], left[11] = l6, l7, l8, l9, l10, l11
    right[0], right[1], right[2], right[3], right[4], right[5] = r0, r1, r2, r3, r4, r5
    right[6], right[7], right[8], right[9], right[10], right[11] = r6, r7, r8, r9, r10, r11


@compiled
def _joined(sums: Any, key: int) -> np.uint64:
    """The residue of the three sums of one key."""
    first = 3 * key
    low, mid = rotate(sums[first], np.uint64(0)), rotate(sums[first + 1], np.uint64(20))
    return reduce_word(low + mid + rotate(sums[first + 2], np.uint64(40)))


@compiled
def hash_rows(rows: Any, parts: Any, step: Any, excess: Any, out: Any) -> None:
    """The hashes of every row under every key; the keys are a multiple of four."""
    length, keys = rows.shape[1], len(step)
    left, right = np.empty(12, np.uint64), np.empty(12, np.uint64)
    for first in range(0, len(rows), 2):
        second = min(first + 1, len(rows) - 1)
        out[first], out[second] = np.uint64(0), np.uint64(0)
        for key in range(0, keys, 4):
            some = parts[3 * key : 3 * key + 12]
            for begin in range((length - 1) // BLOCK * BLOCK, -1, -BLOCK):
                end = min(length, begin + BLOCK)
                _sums(rows[first, begin:end], rows[second, begin:end], some, left, right)
                for lane in range(4):
                    factor = step[key + lane]
                    old = multiply(out[first, key + lane], factor)
                    new = multiply(out[second, key + lane], factor)
                    out[first, key + lane] = reduce_word(old + _joined(left, lane))
                    out[second, key + lane] = reduce_word(new + _joined(right, lane))
        for key in range(keys):
            out[first, key] = reduce_word(out[first, key] + (PRIME - excess[key]))
            if second != first:
                out[second, key] = reduce_word(out[second, key] + (PRIME - excess[key]))


def tables(keys: tuple[int, ...], length: int) -> tuple[npt.NDArray[np.uint32], Words, Words]:
    """Powers of the keys in parts, s^BLOCK, and what the shift adds to a hash of this length."""
    prime = int(PRIME)
    filled = np.array([*keys, *[0] * (-len(keys) % 4)], dtype=np.uint64)
    low, high = np.empty((2, len(filled), BLOCK), np.uint64)
    step = np.empty(len(filled), np.uint64)
    power_table(filled, BLOCK, low, high, step)
    powers = low | (high << np.uint64(31))
    parts = [powers & P20, (powers >> np.uint64(20)) & P20, powers >> np.uint64(40)]
    together = np.stack(parts, axis=1).reshape(-1, BLOCK).astype(np.uint32)
    excess = []
    for key in filled.tolist():
        whole = length if key == 1 else (pow(key, length, prime) - 1) * pow(key - 1, -1, prime)
        excess.append((whole << 30) % prime)
    return np.ascontiguousarray(together), step, np.array(excess, dtype=np.uint64)


@attrs.frozen(eq=False)
class NarrowHash:
    """Hashes of vectors of one length, whose entries are below 2^30, under some keys.

    Implements: HA-9.
    """

    keys: tuple[int, ...]
    length: int
    _tables: tuple[npt.NDArray[np.uint32], Words, Words] = attrs.field(init=False, repr=False)

    @_tables.default
    def _made(self) -> tuple[npt.NDArray[np.uint32], Words, Words]:
        return tables(self.keys, self.length)

    def hash(self, rows: npt.NDArray[np.int32], threads: int = 1) -> Words:
        """sum_j x_j s^j for every row and key, [rows, keys], each in 0..p-1."""
        out = np.empty((len(rows), len(self._tables[1])), np.uint64)
        ends = [len(rows) * part // threads for part in range(threads + 1)]

        def work(begin: int, end: int) -> None:
            hash_rows(rows[begin:end], *self._tables, out[begin:end])

        if threads == 1:
            work(0, len(rows))
        else:
            with ThreadPoolExecutor(threads) as pool:
                list(pool.map(work, ends[:-1], ends[1:]))
        return out[:, : len(self.keys)]
