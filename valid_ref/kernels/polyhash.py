"""Fast forms of the hashes of `valid_ref.hashing`: many vectors under many keys.

    PolyHash(keys).hash(rows)                                  # [rows, keys], residues
    PolyHash(keys).stream(2).update(a).update(b).digest()      # the same of np.hstack([a, b])

`PolyHash` is for p = 2^61 - 1; `round_polynomials` and `combine_rounds` are for every prime.
"""

import itertools
import os
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import ModuleType

import attrs
import numpy as np
import numpy.typing as npt

from valid_ref import modular
from valid_ref.hashing import KeyHashes, PrimeField
from valid_ref.kernels.choice import Backend, KernelError, compiled, settle
from valid_ref.kernels.sums import Vectors, groups, stack
from valid_ref.lattice import MERSENNE_61 as PRIME
from valid_ref.lattice import IntVector
from valid_ref.modular import Residues
from valid_ref.schedule import Schedule

Matrix = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]
Tables = tuple[int, Words, Words, Words]

LARGEST_BLOCK = 4096
"""Sums of 4096 limb products stay within 64 bits; more do not."""

APART = 8
"""Rows of the tables begin so many words apart modulo a page: not all in one set of the cache."""

PAYS_FROM = 1 << 22
"""So much work of numpy, about as many nanoseconds, makes the compiled form worth loading.

One such call alone does not repay it; where there is one there are many.
"""

LIMBS_COST = 12
"""Making the limbs of an entry costs numpy as much as so many keys."""

PARALLEL = 1 << 25
"""From how many products on more than one processor is used unless the caller says otherwise."""


def _as_tuple(keys: Iterable[int]) -> tuple[int, ...]:
    return tuple(keys)


def _check(rows: Matrix) -> Matrix:
    if rows.ndim != 2 or rows.dtype != np.int64:
        raise KernelError(
            f"expected rows of 64-bit integers, got shape {rows.shape} of {rows.dtype}",
            clause="HA-9",
        )
    return rows


@attrs.frozen
class PolyHash:
    """sum_i x_i s^i mod 2^61 - 1 for every vector x of 64-bit integers and every key s.

    `block` is how many powers of a key are kept in a table (compiled form only).

    Implements: HA-9.
    """

    keys: tuple[int, ...] = attrs.field(converter=_as_tuple)
    backend: Backend = Backend.AUTO
    block: int = attrs.field(default=LARGEST_BLOCK, kw_only=True)

    def __attrs_post_init__(self) -> None:
        for key in self.keys:
            if type(key) is not int or not 0 <= key < PRIME:
                raise KernelError(f"key {key!r} is not in 0..2^61 - 2", clause="LV-3")
        if not 1 <= self.block <= LARGEST_BLOCK:
            raise KernelError(f"block = {self.block} is not in 1..{LARGEST_BLOCK}", clause="HA-9")

    def hash(self, rows: Matrix, threads: int | None = None) -> Words:
        """The hash of every row under every key, [rows, keys], each in 0..p-1.

        `threads=None` takes every processor where the input is large. The result is the same.
        """
        _check(rows)
        loops, threads = self._plan(rows.size, threads)
        if loops is None:
            return modular.evaluate(PRIME, rows, self.keys)
        if threads == 1:
            return self._loops(loops, self._tables(loops, rows.shape[1]), rows)
        return self._in_parallel(loops, rows, threads)

    def hash_each(self, vectors: Vectors, threads: int | None = None) -> Words:
        """The same of vectors of one length, some at a time, without a copy of all of them."""
        length = len(vectors[0]) if len(vectors) else 0
        loops, threads = self._plan(len(vectors) * length, threads)
        if not len(vectors):
            return np.zeros((0, len(self.keys)), np.uint64)
        if loops is None:
            parts = (modular.evaluate(PRIME, _check(stack(g)), self.keys) for g in groups(vectors))
            return np.concatenate([*parts])
        tables = self._tables(loops, length)

        def task(group: Vectors) -> Words:
            return self._loops(loops, tables, _check(stack(group)))

        if threads == 1:
            return np.concatenate([*map(task, groups(vectors))])
        with ThreadPoolExecutor(threads) as pool:
            return np.concatenate([*pool.map(task, groups(vectors))])

    def _plan(self, entries: int, threads: int | None) -> tuple[ModuleType | None, int]:
        """The compiled loops or None for numpy, and how many threads to use."""
        work = entries * len(self.keys)
        numpy_work = entries * (len(self.keys) + LIMBS_COST)
        settled = settle("hash61", self.backend, numpy_work, pays_from=PAYS_FROM)
        loops = compiled("hash61", settled) if work else None
        if threads is None:
            threads = len(os.sched_getaffinity(0)) if work >= PARALLEL else 1
        return loops, max(1, threads)

    def _tables(self, loops: ModuleType, length: int) -> Tables:
        """The powers of every key in a block, and the power that leads to the next block."""
        count, block = len(self.keys), min(self.block, length)
        low, high = np.empty((2, count, block + APART), np.uint64)
        step = np.empty(count, np.uint64)
        loops.power_table(np.array(self.keys, dtype=np.uint64), block, low, high, step)
        return block, low, high, step

    def _loops(self, loops: ModuleType, tables: Tables, rows: Matrix) -> Words:
        out = np.empty((len(rows), len(self.keys)), np.uint64)
        loops.hash_rows(np.ascontiguousarray(rows), *tables, out)
        return out

    def _in_parallel(self, loops: ModuleType, rows: Matrix, threads: int) -> Words:
        """Cut by rows where there are enough, else by columns."""
        by_rows = len(rows) >= threads
        ends = np.linspace(0, rows.shape[0 if by_rows else 1], threads + 1).astype(int).tolist()
        spans = [slice(*pair) for pair in itertools.pairwise(ends)]
        parts = [rows[span] if by_rows else rows[:, span] for span in spans]
        tables = self._tables(loops, rows.shape[1])
        with ThreadPoolExecutor(threads - 1) as pool:
            others = [pool.submit(self._loops, loops, tables, part) for part in parts[1:]]
            hashes = [self._loops(loops, tables, parts[0]), *(one.result() for one in others)]
        if by_rows:
            return np.concatenate(hashes)
        stream = self.stream(len(rows))
        for part, value in zip(parts, hashes, strict=True):
            stream = stream.append(part.shape[1], value)
        return stream.totals

    def stream(self, count: int) -> "HashStream":
        """The empty beginnings of `count` vectors, to be hashed piece by piece."""
        if count < 0:
            raise KernelError(f"{count} vectors cannot be hashed", clause="HA-9")
        return HashStream(self, 0, np.zeros((count, len(self.keys)), np.uint64))


@attrs.frozen
class StreamState:
    """All that a stream needs to go on later: the length so far, and one residue a hash."""

    length: int
    totals: tuple[tuple[int, ...], ...]


@attrs.frozen(eq=False)
class HashStream:
    """The hashes of vectors of which the first `length` entries have been seen."""

    hasher: PolyHash
    length: int
    totals: Words

    def update(self, rows: Matrix, threads: int | None = None) -> "HashStream":
        """The stream after the next entries of every vector."""
        if len(rows) != len(self.totals):
            raise KernelError(
                f"{len(rows)} rows continue {len(self.totals)} vectors", clause="HA-9"
            )
        return self.append(rows.shape[1], self.hasher.hash(rows, threads))

    def append(self, length: int, hashes: Words) -> "HashStream":
        """The stream after entries of this number whose own hashes are known."""
        weights = [pow(key, self.length, PRIME) for key in self.hasher.keys]
        shifted = modular.multiply(PRIME, hashes, modular.residues(PRIME, weights))
        totals = modular.add(PRIME, self.totals, shifted)
        return attrs.evolve(self, length=self.length + length, totals=totals)

    def digest(self) -> Words:
        """The hash of every vector under every key, [rows, keys]."""
        return self.totals.copy()

    def state(self) -> StreamState:
        """What to save."""
        return StreamState(self.length, tuple(map(tuple, self.totals.tolist())))

    def load(self, state: StreamState) -> "HashStream":
        """The stream that had this state, under the same keys."""
        width = len(self.hasher.keys)
        residues = (entry for row in state.totals for entry in row)
        if state.length < 0 or any(len(row) != width for row in state.totals):
            raise KernelError("a saved state of other keys or of negative length", clause="HA-9")
        if not all(type(entry) is int and 0 <= entry < PRIME for entry in residues):
            raise KernelError("a saved state has an entry that is no residue", clause="HA-9")
        totals = np.array(state.totals, dtype=np.uint64).reshape(len(state.totals), width)
        return HashStream(self.hasher, state.length, totals)


def round_polynomials(field: PrimeField, keys: Sequence[int], rows: IntVector) -> Residues:
    """P_t(s) = sum_j x_j(t) s^j for each row x(t) and each key s: an array [rows, keys].

    Implements: HA-9.
    """
    for key in keys:
        field.check_key(key)
    if field.prime == PRIME and rows.dtype == np.int64:
        return PolyHash(keys).hash(rows)
    return modular.evaluate(field.prime, rows, keys)


def transcript_polynomials(
    field: PrimeField, keys: Sequence[int], vectors: Sequence[IntVector]
) -> Residues:
    """The same of the vectors of a transcript, at least one, without a copy of all of them.

    Implements: HA-9.
    """
    if field.prime == PRIME:
        for key in keys:
            field.check_key(key)
        return PolyHash(keys).hash_each(vectors)
    parts = [round_polynomials(field, keys, stack(group)) for group in groups(vectors)]
    return np.concatenate(parts)


def combine_rounds(
    field: PrimeField,
    keys: Sequence[int],
    dimension: int,
    schedule: Schedule,
    models: Residues,
    gradients: Residues,
    *,
    eta_shift: int = 1,
) -> tuple[KeyHashes, ...]:
    """The four hashes of a transcript under each key, from its per-round polynomials.

    `models` is P_0..P_T, `gradients` R_1..R_T. With S = s^d:
    H_out = sum S^(t-1) P_t, H_in = sum S^t P_t, H_in_eta = sum S^t a_(t+1) P_t (t = 0..T-1),
    H_Gamma = sum S^(t-1) R_t. `eta_shift=0` is the printed index a_t (erratum P14), a_0 = a_1.

    Implements: HA-10.
    """
    p, T = field.prime, schedule.rounds
    steps = [schedule.mixing[max(0, t + eta_shift - 1)] % p for t in range(T)]
    powers = modular.powers(p, [pow(key, dimension, p) for key in keys], T)
    mixed = modular.multiply(p, models[:-1], modular.residues(p, steps)[:, np.newaxis])
    columns = (
        modular.weighted_sum(p, powers, values)
        for values in (models[1:], models[:-1], mixed, gradients)
    )
    return tuple(zip(*columns, strict=True))
