"""The polynomial hash over p = 2^61 - 1 in compiled loops; loaded only when it pays.

A vector is cut into blocks. Within a block the powers of a key come from one table that serves
every block, and the sums are not reduced before the end of the block.

Why no sum wraps. An entry x of a 64-bit vector is written as z = (x mod 2^61) + (x >> 61) + p,
which is x modulo p and lies in p-4..2p+3 < 2^63: three limbs of 21 bits. A power has a low part
of 31 bits and a high part of 30. A product of a limb and a part is below 2^52, so 4096 of them
add up below 2^64. The compiler turns a product below 2^52 and its sum into one instruction where
the processor has one (AVX-512 IFMA). Four keys share the limbs of an entry: 24 sums in registers.
"""

import numba  # type: ignore[import-untyped,unused-ignore]
import numpy as np
from numpy.typing import NDArray

from valid_ref.kernels.loops import INTEGERS, MATRIX, VECTOR, Words, compiled, entry

PRIME = np.uint64(2**61 - 1)
LIMB = np.uint64(2**21 - 1)
LOW = np.uint64(2**31 - 1)
HIGH = np.uint64(2**30 - 1)
ONE, LIMB_BITS, HIGH_BITS, LOW_BITS, TOP_LIMB, PRIME_BITS = (
    np.uint64(bits) for bits in (1, 21, 30, 31, 42, 61)
)

SIGNED_PRIME = np.int64(2**61 - 1)

BLOCKS_AT_ONCE = 8
"""How many blocks of a row pass by one group of keys before the next group is loaded."""


@compiled
def reduce_word(word: np.uint64) -> np.uint64:
    """Any 64-bit word modulo p, in 0..p-1."""
    folded = (word & PRIME) + (word >> PRIME_BITS)
    return folded - PRIME if folded >= PRIME else folded


@compiled
def multiply(left: np.uint64, right: np.uint64) -> np.uint64:
    """The product of two residues modulo p, by halves as in `valid_ref.modular`."""
    a1, a0, b1, b0 = left >> LOW_BITS, left & LOW, right >> LOW_BITS, right & LOW
    middle, low = a1 * b0 + a0 * b1, a0 * b0
    total = (a1 * b1 << ONE) + (middle >> HIGH_BITS) + ((middle & HIGH) << LOW_BITS)
    return reduce_word(total + (low & PRIME) + (low >> PRIME_BITS))


@compiled
def rotate(word: np.uint64, bits: np.uint64) -> np.uint64:
    """A word times 2^bits modulo p: 2^61 = 1, so that the bits go round."""
    residue = reduce_word(word)
    return ((residue << bits) & PRIME) + (residue >> (PRIME_BITS - bits))


@compiled
def join(sums: Words, first: int) -> np.uint64:
    """The residue that six sums of limb products stand for; three rotated words stay in 63 bits."""
    low = (
        rotate(sums[first], np.uint64(0))
        + rotate(sums[first + 1], LIMB_BITS)
        + rotate(sums[first + 2], TOP_LIMB)
    )
    high = (
        rotate(sums[first + 3], np.uint64(0))
        + rotate(sums[first + 4], LIMB_BITS)
        + rotate(sums[first + 5], TOP_LIMB)
    )
    return reduce_word(low + rotate(high, LOW_BITS))


@compiled
def sums_of_four(  # noqa: PLR0913, PLR0917 - vectors in registers, see below
    x: NDArray[np.int64],
    l0: Words,
    l1: Words,
    l2: Words,
    l3: Words,
    h0: Words,
    h1: Words,
    h2: Words,
    h3: Words,
    to: Words,
) -> None:
    """The 24 sums of limb products of one block under four keys.

    Everything is spelled out, and the loop stands alone in its function: arrays of sums would stay
    in memory, and beside a second loop the compiler runs out of registers.
    """
    a0 = a1 = a2 = a3 = a4 = a5 = np.uint64(0)
    b0 = b1 = b2 = b3 = b4 = b5 = np.uint64(0)
    c0 = c1 = c2 = c3 = c4 = c5 = np.uint64(0)
    d0 = d1 = d2 = d3 = d4 = d5 = np.uint64(0)
    for i in range(len(x)):
        entry = x[i]
        z = np.uint64(entry & SIGNED_PRIME) + np.uint64((entry >> 61) + SIGNED_PRIME)
        p, q, r = z & LIMB, (z >> LIMB_BITS) & LIMB, z >> TOP_LIMB
        s, t = l0[i] & LOW, h0[i] & HIGH
        a0 += p * s
        a1 += q * s
        a2 += r * s
        a3 += p * t
        a4 += q * t
        a5 += r * t
        s, t = l1[i] & LOW, h1[i] & HIGH
        b0 += p * s
        b1 += q * s
        b2 += r * s
        b3 += p * t
        b4 += q * t
        b5 += r * t
        s, t = l2[i] & LOW, h2[i] & HIGH
        c0 += p * s
        c1 += q * s
        c2 += r * s
        c3 += p * t
        c4 += q * t
        c5 += r * t
        s, t = l3[i] & LOW, h3[i] & HIGH
        d0 += p * s
        d1 += q * s
        d2 += r * s
        d3 += p * t
        d4 += q * t
        d5 += r * t
    to[0], to[1], to[2], to[3], to[4], to[5] = a0, a1, a2, a3, a4, a5
    to[6], to[7], to[8], to[9], to[10], to[11] = b0, b1, b2, b3, b4, b5
    to[12], to[13], to[14], to[15], to[16], to[17] = c0, c1, c2, c3, c4, c5
    to[18], to[19], to[20], to[21], to[22], to[23] = d0, d1, d2, d3, d4, d5


@compiled
def sums_of_one(x: NDArray[np.int64], low: Words, high: Words, to: Words) -> None:
    """The six sums of limb products of one block under one key."""
    a0 = a1 = a2 = a3 = a4 = a5 = np.uint64(0)
    for i in range(len(x)):
        entry = x[i]
        z = np.uint64(entry & SIGNED_PRIME) + np.uint64((entry >> 61) + SIGNED_PRIME)
        p, q, r = z & LIMB, (z >> LIMB_BITS) & LIMB, z >> TOP_LIMB
        s, t = low[i] & LOW, high[i] & HIGH
        a0 += p * s
        a1 += q * s
        a2 += r * s
        a3 += p * t
        a4 += q * t
        a5 += r * t
    to[0], to[1], to[2], to[3], to[4], to[5] = a0, a1, a2, a3, a4, a5


@entry(VECTOR, numba.int64, MATRIX, MATRIX, VECTOR)
def power_table(keys: Words, block: int, low: Words, high: Words, step: Words) -> None:
    """s^0..s^(block-1) of every key in two parts, and s^block in `step`, by doubling."""
    powers = np.empty(block, np.uint64)
    for k in range(len(keys)):
        powers[0], factor, done = np.uint64(1), keys[k], 1
        while done < block:
            source, target = powers[: min(done, block - done)], powers[done:]
            for i in range(len(source)):
                target[i] = multiply(source[i], factor)
            factor = multiply(factor, factor)
            done *= 2
        step[k] = multiply(powers[block - 1], keys[k])
        low_row, high_row = low[k], high[k]
        for i in range(block):
            low_row[i], high_row[i] = powers[i] & LOW, powers[i] >> LOW_BITS


@compiled
def block_sums(x: NDArray[np.int64], block: int, low: Words, high: Words, sums: Words) -> None:
    """The sums of every block of x under the one or four keys whose tables are given."""
    blocks = -(-len(x) // block)
    if len(low) == 4:
        l0, l1, l2, l3 = low[0], low[1], low[2], low[3]
        h0, h1, h2, h3 = high[0], high[1], high[2], high[3]
        for j in range(blocks):
            part = x[j * block : (j + 1) * block]
            sums_of_four(part, l0, l1, l2, l3, h0, h1, h2, h3, sums[j])
    else:
        l0, h0 = low[0], high[0]
        for j in range(blocks):
            sums_of_one(x[j * block : (j + 1) * block], l0, h0, sums[j])


@compiled
def hash_row(
    x: NDArray[np.int64],
    block: int,
    low: Words,
    high: Words,
    step: Words,
    sums: Words,
    out: Words,
) -> None:
    """sum_i x_i s^i for every key, by Horner's rule over blocks, from the last to the first."""
    keys = len(low)
    out[:] = np.uint64(0)
    end = -(-len(x) // block)
    while end > 0:
        begin = max(0, end - BLOCKS_AT_ONCE)
        part = x[begin * block : end * block]
        key = 0
        while key < keys:
            width = 4 if keys - key >= 4 else 1
            block_sums(part, block, low[key : key + width], high[key : key + width], sums)
            for lane in range(width):
                value, factor = out[key + lane], step[key + lane]
                for j in range(end - begin - 1, -1, -1):
                    value = reduce_word(multiply(value, factor) + join(sums[j], 6 * lane))
                out[key + lane] = value
            key += width
        end = begin


@entry(INTEGERS, numba.int64, MATRIX, MATRIX, VECTOR, MATRIX)
def hash_rows(
    x: NDArray[np.int64], block: int, low: Words, high: Words, step: Words, out: Words
) -> None:
    """The hashes of every row of x under every key, into out[rows, keys].

    The tables have at least `block` columns.
    """
    sums = np.empty((BLOCKS_AT_ONCE, 24), np.uint64)
    for row in range(len(x)):
        hash_row(x[row], block, low, high, step, sums, out[row])
