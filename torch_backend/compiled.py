"""Loops over the entries of all agents that the processor passes once, compiled by numba.

Each does what the function of the same name in `lattice`, `weighted_sums`, `rules` or `transcripts`
does in several passes over memory; the integers are the same. Every loop works on the columns
begin..end-1, so that threads can share the work. At the end is the hash of entries below 2^30.
"""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy as np
import numpy.typing as npt

from valid_ref.kernels.hash61 import PRIME, multiply, power_table, reduce_word, rotate

Words = npt.NDArray[np.uint64]
NarrowTables = tuple[npt.NDArray[np.uint32], Words, Words]

Compiled = TypeVar("Compiled", bound=Callable[..., Any])

compiled = cast("Callable[[Compiled], Compiled]", numba.njit(cache=True, nogil=True))

reordered = cast(
    "Callable[[Compiled], Compiled]", numba.njit(cache=True, nogil=True, fastmath={"reassoc"})
)

NARROW = 256
"""Columns of a dozen rows that stay in the nearest cache."""

BLOCK = 512
"""Columns that are worked on at a time: a block of all agents stays in the cache."""

WIDE = 8192
"""The same where few rows are kept between passes: fewer, longer passes."""

LIMB = 24
"""Bits of a limb, as in `torch_backend.weighted_sums`."""

POWERS = 1024
"""Powers of a key in a table; four keys of them stay in the nearest caches."""

SHIFT = np.int64(1 << 30)
Z = np.uint64(2**31 - 1)
P20, P21 = np.uint64(2**20 - 1), np.uint64(2**21 - 1)


@compiled
def _change(said: Any, left: int, base: Any, plus: Any, minus: Any, total: Any) -> None:
    """base plus the models of some senders, minus those of others, on the columns from left on."""
    width = len(total)
    before = base
    fours = len(plus) // 4 * 4
    for place in range(0, fours, 4):
        first, second = said[plus[place], left:], said[plus[place + 1], left:]
        third, fourth = said[plus[place + 2], left:], said[plus[place + 3], left:]
        for j in range(width):
            total[j] = before[j] + (first[j] + second[j]) + (third[j] + fourth[j])
        before = total
    for place in range(fours, len(plus)):
        first = said[plus[place], left:]
        for j in range(width):
            total[j] = before[j] + first[j]
        before = total
    for place in range(len(minus)):
        first = said[minus[place], left:]
        for j in range(width):
            total[j] = before[j] - first[j]
        before = total


@compiled
def _mixed(rows: Any, numbers: Any, total: Any, into: Any, point: Any) -> None:
    """total = before + first - second, Y = factor own + a total, and Y as a point if wanted."""
    before, first, second, mine = rows
    factor, a, scale = numbers
    if len(point):
        for j in range(len(mine)):
            entry = before[j] + first[j] - second[j]
            Y = factor * mine[j] + a * entry
            total[j] = entry
            into[j] = Y
            point[j] = np.float32(np.float64(Y) * scale)
    else:
        for j in range(len(mine)):
            entry = before[j] + first[j] - second[j]
            total[j] = entry
            into[j] = factor * mine[j] + a * entry


@compiled
def _slots(bases: Any) -> tuple[Any, int]:
    """Where the sum of every row is kept: those that are bases apart, all others in place 0."""
    slots, used = np.zeros(len(bases), np.int64), 1
    for base in bases:
        if base >= 0 and slots[base] == 0:
            slots[base] = used
            used += 1
    return slots, used


@compiled
def mix(arrays: Any, plan: Any, numbers: Any, begin: int, end: int) -> None:
    """Y = factor own + a times the sum of the senders' models, and Y as points if there is room.

    A sum is that of an earlier row, its base, with some senders added and some taken away; the
    last of either are taken in the pass that makes Y. `arrays` are own models, what everybody
    said, Y, and the points (or nothing); `plan` the bases, the senders to add and to take away
    (where those of a row begin, and all of them), the factors; `numbers` a and the scale of the
    points.
    """
    own, said, Y, points = arrays
    bases, added, add, removed, remove, factors = plan
    a, scale = numbers
    slots, used = _slots(bases)
    totals, zero = np.empty((used, WIDE), np.int64), np.zeros(WIDE, np.int64)
    for left in range(begin, end, WIDE):
        right = min(left + WIDE, end)
        width = right - left
        nothing = zero[:width]
        for row in range(own.shape[0]):
            plus, minus = add[added[row] : added[row + 1]], remove[removed[row] : removed[row + 1]]
            total = totals[slots[row], :width]
            before = totals[slots[bases[row]], :width] if bases[row] >= 0 else nothing
            if len(plus) > 1 or len(minus) > 1:
                _change(
                    said=said, left=left, base=before, plus=plus[:-1], minus=minus[:-1], total=total
                )
                before = total
            first = said[plus[-1], left:right] if len(plus) else nothing
            second = said[minus[-1], left:right] if len(minus) else nothing
            rows = before, first, second, own[row, left:right]
            point = points[row, left:right] if len(points) else points[:0].reshape(0)
            _mixed(rows, (factors[row], a, scale), total, Y[row, left:right], point)


@compiled
def evaluation_points(Y: Any, scale: float, points: Any, begin: int, end: int) -> None:
    """Float32 of float64 of Y times a power of two."""
    for row in range(Y.shape[0]):
        mine, into = Y[row, begin:end], points[row, begin:end]
        for j in range(end - begin):
            into[j] = np.float32(np.float64(mine[j]) * scale)


@compiled
def step(arrays: Any, numbers: Any, limits: Any, begin: int, end: int) -> None:
    """x = round((Y - A round(scale g)) / 2^bits); then Y becomes Gamma = Y - 2^bits x.

    `arrays` are Y, the gradients, x and what is lost; `numbers` A, the bits and the scale;
    `limits` are those of the rounded gradient (a float), of models and of scaled gradients.
    """
    Y, gradients, models, lost = arrays
    A, bits, scale = numbers
    beyond, highest, steepest = limits
    half = (1 << bits) >> 1
    tie = 1 if bits > 0 else 0
    for row in range(Y.shape[0]):
        mine, slope = Y[row, begin:end], gradients[row, begin:end]
        into = models[row, begin:end]
        bad = 0
        for j in range(end - begin):
            real = np.rint(np.float64(slope[j]) * scale)
            inside = np.abs(real) < beyond
            G = np.int64(real if inside else 0.0)
            base = mine[j]
            numerator = base - A * G
            x = (numerator + (half - tie) + (tie & (numerator >> bits))) >> bits
            gamma = base - (x << bits)
            into[j] = x
            mine[j] = gamma
            bad |= (not inside) | (np.abs(x) >= highest) | (np.abs(gamma) >= steepest)
        lost[row] = bad


@compiled
def _read(gamma: Any, A: int, gradient: Any) -> None:
    """floor(Gamma / A) of at most 512 entries.

    The product with the reciprocal in float64 is off by less than 1/2 while the quotient is below
    2^50, so that the floor is off by at most one, which the remainder shows.
    """
    inverse = 1.0 / np.float64(A)
    for j in range(len(gamma)):
        quotient = np.int64(np.floor(np.float64(gamma[j]) * inverse))
        rest = gamma[j] - quotient * A
        gradient[j] = quotient + np.int64(rest >= A) - np.int64(rest < 0)


@compiled
def add_weighted(gammas: Any, A: int, digits: Any, sums: Any, begin: int, end: int) -> None:
    """Read the gradients off and add every limb times every digit to its plane.

    `digits` is [weightings, digits], `sums` [weightings, digits, limbs, rows, d].
    """
    gradient = np.empty(BLOCK, np.int64)
    limbs = sums.shape[2]
    for left in range(begin, end, BLOCK):
        width = min(BLOCK, end - left)
        for row in range(gammas.shape[0]):
            _read(gammas[row, left : left + width], A, gradient)
            for weighting in range(digits.shape[0]):
                for place in range(digits.shape[1]):
                    digit = digits[weighting, place] & 0x7FFFFFFF
                    for limb in range(limbs):
                        into = sums[weighting, place, limb, row, left : left + width]
                        shift = LIMB * limb
                        if limb < limbs - 1:
                            for j in range(width):
                                into[j] += digit * ((gradient[j] >> shift) & 0xFFFFFF)
                        elif limb == 0:
                            for j in range(width):
                                into[j] += digit * gradient[j]
                        else:  # a gradient has at most 50 bits, so that what is left has 32
                            for j in range(width):
                                into[j] += digit * np.int64(np.int32(gradient[j] >> shift))


@compiled
def narrow(models: Any, into: Any, begin: int, end: int) -> int:
    """Write the entries in 32 bits; the largest magnitude, or a little more."""
    widest = 0
    for row in range(models.shape[0]):
        wide, short = models[row, begin:end], into[row, begin:end]
        bits = 0
        for j in range(end - begin):
            short[j] = np.int32(wide[j])
            bits |= wide[j] ^ (wide[j] >> 63)
        widest |= bits
    return widest


@compiled
def _exchange(first: Any, second: Any) -> None:
    """The smaller entries come first, the larger ones second."""
    for j in range(len(first)):
        one, other = first[j], second[j]
        first[j], second[j] = min(one, other), max(one, other)


@compiled
def ranked_sum(
    words: Any, starts: Any, network: Any, wanted: Any, into: Any, begin: int, end: int
) -> None:
    """The sum of the entries of the wanted ranks, of vectors that begin at `starts` of `words`.

    `network` has the lines that are compared, [steps, 2].
    """
    lines = np.empty((len(starts), NARROW), np.int64)
    for left in range(begin, end, NARROW):
        width = min(NARROW, end - left)
        for line in range(len(starts)):
            here, entries = lines[line], words[starts[line] + left :]
            for j in range(width):
                here[j] = entries[j]
        for step in range(len(network)):
            _exchange(lines[network[step, 0], :width], lines[network[step, 1], :width])
        total = into[left : left + width]
        total[:] = 0
        for rank in wanted:
            here = lines[rank]
            for j in range(width):
                total[j] += here[j]


@compiled
def squared_distances(words: Any, pairs: Any, into: Any, begin: int, end: int) -> None:
    """For each pair of places where vectors begin, the sum of squares of their difference."""
    for left in range(begin, end, BLOCK):
        width = min(BLOCK, end - left)
        for place in range(len(pairs)):
            first, second = pairs[place, 0] + left, pairs[place, 1] + left
            into[place] += _squares(words[first : first + width], words[second : second + width])


@reordered
def _squares(first: Any, second: Any) -> float:
    """In float64 and in any order: who needs more than 30 bits of it must count exactly."""
    total = 0.0
    for j in range(len(first)):
        difference = np.float64(first[j] - second[j])
        total += difference * difference
    return total


@compiled
def blend(rows: Any, numbers: Any, arrays: Any, begin: int, end: int) -> None:
    """Y = mine own + weight total / count, half to even, and E = 2^bits own.

    `rows` are own and total, `numbers` mine, weight, count and the bits, `arrays` Y and E. The
    quotients are below 2^50, so that their floors are off by one at most, the second only within
    3/8 of an integer; the rest goes with whatever floor was taken, and the nearest integer to
    floor plus rest is the same.
    """
    mine, weight, count, bits = numbers
    own, total = rows[0][begin:end], rows[1][begin:end]
    Y, E = arrays[0][begin:end], arrays[1][begin:end]
    inverse = 1.0 / np.float64(count)
    for j in range(end - begin):
        first = np.int64(np.floor(np.float64(total[j]) * inverse))
        scaled = (total[j] - first * count) * weight
        second = np.int64(np.floor(np.float64(scaled) * inverse))
        below = first * weight + second
        twice = 2 * (scaled - second * count)
        up = np.int64(twice > count) + (np.int64(twice == count) & below)
        Y[j] = mine * own[j] + below + (up & 1)
        E[j] = own[j] << bits


@compiled
def _two_rows(x: Any, y: Any, parts: Any, left: Any, right: Any) -> None:
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
def _residue(sums: Any, key: int) -> np.uint64:
    """The residue of the three sums of one key."""
    first = 3 * key
    low, mid = rotate(sums[first], np.uint64(0)), rotate(sums[first + 1], np.uint64(20))
    return reduce_word(low + mid + rotate(sums[first + 2], np.uint64(40)))


@compiled
def hash_narrow_rows(rows: Any, parts: Any, step: Any, excess: Any, out: Any) -> None:
    """The hashes of every row under every key; the keys are a multiple of four."""
    length, keys = rows.shape[1], len(step)
    left, right = np.empty(12, np.uint64), np.empty(12, np.uint64)
    for first in range(0, len(rows), 2):
        second = min(first + 1, len(rows) - 1)
        out[first], out[second] = np.uint64(0), np.uint64(0)
        for key in range(0, keys, 4):
            some = parts[3 * key : 3 * key + 12]
            for begin in range((length - 1) // POWERS * POWERS, -1, -POWERS):
                end = min(length, begin + POWERS)
                _two_rows(rows[first, begin:end], rows[second, begin:end], some, left, right)
                for lane in range(4):
                    factor = step[key + lane]
                    old = multiply(out[first, key + lane], factor)
                    new = multiply(out[second, key + lane], factor)
                    out[first, key + lane] = reduce_word(old + _residue(left, lane))
                    out[second, key + lane] = reduce_word(new + _residue(right, lane))
        for key in range(keys):
            out[first, key] = reduce_word(out[first, key] + (PRIME - excess[key]))
            if second != first:
                out[second, key] = reduce_word(out[second, key] + (PRIME - excess[key]))


def narrow_tables(keys: tuple[int, ...], length: int) -> NarrowTables:
    """Powers of the keys in parts, s^POWERS, and what the shift adds to a hash of this length."""
    prime = int(PRIME)
    filled = np.array([*keys, *[0] * (-len(keys) % 4)], dtype=np.uint64)
    low, high = np.empty((2, len(filled), POWERS), np.uint64)
    step = np.empty(len(filled), np.uint64)
    power_table(filled, POWERS, low, high, step)
    powers = low | (high << np.uint64(31))
    parts = [powers & P20, (powers >> np.uint64(20)) & P20, powers >> np.uint64(40)]
    together = np.stack(parts, axis=1).reshape(-1, POWERS).astype(np.uint32)
    excess = []
    for key in filled.tolist():
        whole = length if key == 1 else (pow(key, length, prime) - 1) * pow(key - 1, -1, prime)
        excess.append((whole << 30) % prime)
    return np.ascontiguousarray(together), step, np.array(excess, dtype=np.uint64)
