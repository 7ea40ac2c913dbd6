"""Loops over the entries of all agents that the processor passes once, compiled by numba.

Each does what the function of the same name in `lattice`, `weighted_sums`, `rules` or `transcripts`
does in several passes over memory; the integers are the same. Every loop works on the columns
begin..end-1, so that threads can share the work. At the end is the hash of 32-bit entries.
"""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy as np
import numpy.typing as npt

from valid_ref import modular
from valid_ref.kernels.hash61 import PRIME, multiply, reduce_word, rotate

Words = npt.NDArray[np.uint64]
ShortTables = tuple[npt.NDArray[np.float64], Words]

Compiled = TypeVar("Compiled", bound=Callable[..., Any])

compiled = cast("Callable[[Compiled], Compiled]", numba.njit(cache=True, nogil=True))

reordered = cast(
    "Callable[[Compiled], Compiled]", numba.njit(cache=True, nogil=True, fastmath={"reassoc"})
)

NARROW = 256
"""Columns of a dozen rows that stay in the nearest cache."""

LIFT = np.int64(0x4338 << 48)
"""The bits of the float64 1.5 2^52, whose last bit counts 1."""

LIFTED = 1.5 * 2.0**52

FAST = 1 << 50
"""Below this, words and their products with weights pass through float64."""

BLOCK = 512
"""Columns that are worked on at a time: a block of all agents stays in the cache."""

WIDE = 8192
"""The same where few rows are kept between passes: fewer, longer passes."""

LIMB = 24
"""Bits of a limb, as in `torch_backend.weighted_sums`."""

POWERS = 512
"""So many neighbouring entries of a row share a factor of the hash."""

SHIFT = np.int64(1 << 54)
"""Makes a limb positive that is below 2^53 in magnitude."""

EXCESS = np.uint64(sum(1 << 54 + 16 * limb for limb in range(4)) % (2**61 - 1))
"""What that adds to a residue."""


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
def _lift(words: Any, into: Any) -> int:
    """The bits of the float64 1.5 2^52 + x for words x; and of all |x|, or a little more.

    So words below 2^51 become float64 without an instruction for it, which few processors have.
    """
    bits = 0
    for j in range(len(words)):
        word = words[j]
        into[j] = word + LIFT
        bits |= word ^ (word >> 63)
    return bits


@compiled
def _floors(lifted: Any, A: int) -> None:
    """floor(Gamma / A) as float64 in the place of the lifted Gamma, which is below 2^50.

    Gamma + 1/2 is at least 1/2A away from every multiple of A, and the error of its product with
    the reciprocal is below 2^-52 (Gamma + 1/2) / A, which is less.
    """
    inverse = 1.0 / np.float64(A)
    for j in range(len(lifted)):
        lifted[j] = np.floor((lifted[j] - LIFTED + 0.5) * inverse)


@compiled
def _weigh(gradient: Any, weight: float, total: Any) -> None:
    for j in range(len(gradient)):
        total[j] += gradient[j] * weight


@compiled
def _add_lifted(total: Any, into: Any) -> None:
    for j in range(len(into)):
        into[j] += total[j] - LIFT


@compiled
def _add_slowly(gamma: Any, A: int, weights: Any, gradient: Any, sums: Any) -> None:
    """The same for gradients of any size, as `add_weighted` reads them."""
    _read(gamma, A, gradient)
    for weighting in range(len(weights)):
        for j in range(len(gamma)):
            sums[weighting, j] += weights[weighting] * gradient[j]


@compiled
def add_words(gammas: Any, numbers: Any, sums: Any, begin: int, end: int) -> None:
    """`add_weighted` of a tuple of rounds where every weight and every sum is one word.

    `numbers` are A of every round and the weights, [rounds, weightings]; `sums` is
    [weightings, rows, d]. Totals of the rounds are below 2^50 and exact in float64, or the block is
    added in words.
    """
    divisors, weights = numbers
    lifted, totals = np.empty(BLOCK, np.int64), np.empty((weights.shape[1], BLOCK), np.int64)
    real, real_totals = lifted.view(np.float64), totals.view(np.float64)
    room = FAST // max(1, weights.sum())
    for row in range(sums.shape[1]):
        for left in range(begin, end, BLOCK):
            width = min(BLOCK, end - left)
            into = sums[:, row, left : left + width]
            real_totals[:] = LIFTED
            for place in range(len(gammas)):
                mine, A = gammas[place][row, left : left + width], divisors[place]
                bits = _lift(mine, lifted[:width])
                if bits >= FAST or bits // A >= room:
                    _add_slowly(mine, A, weights[place], lifted[:width], into)
                    continue
                _floors(real[:width], A)
                for weighting in range(len(into)):
                    weight = np.float64(weights[place, weighting])
                    _weigh(real[:width], weight, real_totals[weighting, :width])
            for weighting in range(len(into)):
                _add_lifted(totals[weighting, :width], into[weighting])


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
def _four_parts(parts: Any, factors: Any, limb: int, total: Any) -> None:
    """total += the four parts times one limb of their factors, exactly."""
    first, second, third, fourth = parts
    a, b, c, d = factors[0, limb], factors[1, limb], factors[2, limb], factors[3, limb]
    for j in range(len(total)):
        left = np.float64(first[j]) * a + np.float64(second[j]) * b
        right = np.float64(third[j]) * c + np.float64(fourth[j]) * d
        total[j] += left + right


@compiled
def _fold(totals: Any, excess: Any, residues: Any) -> None:
    """Add four limbs of 16 bits, each below 2^53 in magnitude, to the residues; begin anew."""
    for j in range(len(residues)):
        word = residues[j] + excess
        for limb in range(4):
            positive = np.uint64(np.int64(totals[limb, j]) + SHIFT)
            word += rotate(positive, np.uint64(16 * limb))
        residues[j] = reduce_word(word)
    totals[:] = 0.0


@compiled
def hash_short_rows(rows: Any, tables: Any, most: int, out: Any) -> None:
    """The hashes of rows of 32-bit integers under every key.

    `tables` are, for every key, the limbs of s^(POWERS q) for q = 0, 1, .. up to a multiple of four
    and the powers 1..s^(POWERS-1); so many parts of a row at most are added up before `_fold`.
    """
    steps, powers = tables
    length, excess = rows.shape[1], PRIME - EXCESS
    totals, residues = np.zeros((4, POWERS)), np.empty(POWERS, np.uint64)
    whole = length // (4 * POWERS) * 4
    rest = np.zeros((4, POWERS), rows.dtype)
    for row in range(len(rows)):
        rest.reshape(-1)[: length - whole * POWERS] = rows[row, whole * POWERS :]
        fours = rows[row, : whole * POWERS].reshape(whole, POWERS)
        for key in range(len(steps)):
            residues[:] = np.uint64(0)
            for q in range(0, whole + 4, 4):
                some = fours[q : q + 4] if q < whole else rest
                parts = some[0], some[1], some[2], some[3]
                for limb in range(4):
                    _four_parts(parts, steps[key, q : q + 4], limb, totals[limb])
                if (q + 4) % most == 0 or q == whole:
                    _fold(totals, excess, residues)
            total = np.uint64(0)
            for j in range(POWERS):
                total = reduce_word(total + multiply(residues[j], powers[key, j]))
            out[row, key] = total


def short_tables(keys: tuple[int, ...], length: int) -> ShortTables:
    """The tables of `hash_short_rows` for rows of this length."""
    prime = int(PRIME)
    count = length // (4 * POWERS) * 4 + 4
    powers = modular.powers(prime, keys, POWERS).T
    apart = modular.powers(prime, [pow(key, POWERS, prime) for key in keys], count).T
    limbs = [(apart >> np.uint64(16 * limb)) & np.uint64(2**16 - 1) for limb in range(4)]
    steps = np.stack(limbs, axis=-1).astype(np.float64)
    return np.ascontiguousarray(steps), np.ascontiguousarray(powers)
