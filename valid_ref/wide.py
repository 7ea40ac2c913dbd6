"""Many exact integers in one array: what an estimate of GlobalValidate is."""

import functools
import hashlib
import itertools
import mmap
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, overload

import attrs
import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.uint64]

AT_ONCE = 1 << 12
"""So many entries are turned into Python's integers at a time."""


def in_own_bytes(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The same numbers over bytes that nobody can change, not even through the array's flags."""
    return np.ndarray(array.shape, array.dtype, buffer=array.tobytes() or b" ")


def unchanging(value: Any) -> Any:
    """An array as it is if it is read-only down to its memory, else a read-only copy.

    The memory is its own, or bytes, or a file that is mapped for reading. What is no array stays.
    """
    if type(value) is not np.ndarray:
        return value
    under: Any = value
    while type(under) is np.ndarray and not under.flags.writeable:
        under = under.base
    if type(under) is memoryview and under.readonly:
        under = under.obj
    if under is None or type(under) in {bytes, mmap.mmap}:
        return value
    copy = value.copy()
    copy.setflags(write=False)
    return copy


@attrs.frozen(eq=False, repr=False)
class WideIntegers(Sequence[int]):
    """Integers of any size in an array [entries, limbs]: two's complement, lowest limb first.

    Nobody changes the array. The value equals the tuple of the same integers and has its hash, so
    that it compares as before with what a Byzantine agent sends or with what is read from JSON.
    """

    words: Words = attrs.field(converter=unchanging)

    @staticmethod
    def of(values: Iterable[int]) -> "WideIntegers":
        """These integers, in as many limbs as the largest of them needs."""
        integers = [*values]
        limbs = max((limbs_for(value) for value in integers), default=1)
        raw = b"".join(value.to_bytes(8 * limbs, "little", signed=True) for value in integers)
        return WideIntegers(np.frombuffer(raw, np.uint64).reshape(-1, limbs))

    @functools.cached_property
    def _hash(self) -> int:
        return hash(tuple(self))

    @functools.cached_property
    def digest(self) -> bytes:
        """The same for equal arrays and for no others: a key where a hash of all takes too long."""
        limbs = int(self.words.shape[1]).to_bytes(8, "little")
        return limbs + hashlib.sha256(np.ascontiguousarray(self.words).data).digest()

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if isinstance(other, WideIntegers):
            limbs = max(self.words.shape[1], other.words.shape[1])
            return len(self) == len(other) and np.array_equal(
                self.in_limbs(limbs), other.in_limbs(limbs)
            )
        return tuple(self) == other if isinstance(other, tuple) else NotImplemented

    def __len__(self) -> int:
        return len(self.words)

    @overload
    def __getitem__(self, index: int) -> int: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[int, ...]: ...
    def __getitem__(self, index: int | slice) -> int | tuple[int, ...]:
        if isinstance(index, slice):
            return from_limbs(self.words[index])
        return int.from_bytes(self.words[index].tobytes(), "little", signed=True)

    def __iter__(self) -> Iterator[int]:
        begins = range(0, len(self), AT_ONCE)
        return itertools.chain.from_iterable(self[begin : begin + AT_ONCE] for begin in begins)

    def __repr__(self) -> str:
        return repr(tuple(self))

    def in_limbs(self, limbs: int) -> Words:
        """The same integers in an array of so many limbs, into which they must fit."""
        words, more = self.words[:, :limbs], limbs - self.words.shape[1]
        if more <= 0:
            return words
        signs = words[:, -1:].view(np.int64) >> 63
        return np.hstack([words, np.repeat(signs.view(np.uint64), more, axis=1)])

    def entries(self, piece: slice) -> npt.NDArray[np.int64] | tuple[int, ...]:
        """These entries as words where all of them fit, else as integers."""
        part = self.words[piece]
        low = np.ascontiguousarray(part[:, 0]).view(np.int64)
        if (part[:, 1:].view(np.int64) == (low >> 63)[:, np.newaxis]).all():
            return low
        return self[piece]

    def extremes(self, entries: slice) -> tuple[int, int]:
        """The least and the largest of these entries, of which there is at least one."""
        return _extreme(self.words[entries], least=True), _extreme(self.words[entries], least=False)


def content(value: tuple[int, ...] | WideIntegers) -> tuple[int, ...] | bytes:
    """What tells values of one form apart in a dictionary."""
    return value.digest if isinstance(value, WideIntegers) else value


def limbs_for(largest: int) -> int:
    """How many 64-bit limbs hold -largest..largest in two's complement."""
    return largest.bit_length() // 64 + 1


def words_of(value: int, limbs: int) -> Words:
    """One integer as an array [1, limbs]; it must fit."""
    raw = value.to_bytes(8 * limbs, "little", signed=True)
    return np.frombuffer(raw, np.uint64)[np.newaxis, :]


def joined(vectors: Sequence[Words], limbs: int) -> WideIntegers:
    """All entries of these arrays [entries, limbs] one after the other."""
    words = np.concatenate([np.empty((0, limbs), np.uint64), *vectors])
    words.setflags(write=False)
    return WideIntegers(words)


def from_limbs(row: npt.NDArray[Any]) -> tuple[int, ...]:
    """The integers of a row [entries, limbs]: two's complement, lowest limb first.

    Implements: RE-3.
    """
    low = row[:, 0].astype("<i8")
    values: list[int] = low.tolist()
    beyond = (row[:, 1:].astype("<i8") != (low >> 63)[:, np.newaxis]).any(axis=1)
    for index in np.flatnonzero(beyond).tolist():
        values[index] = int.from_bytes(row[index].tobytes(), "little", signed=True)
    return tuple(values)


def _extreme(words: Words, *, least: bool) -> int:
    """Decided by the highest limb, which has the sign; among equals by the next."""
    found: list[int] = []
    for limb in reversed(range(words.shape[1])):
        column = words[:, limb] if found else words[:, limb].view(np.int64)
        best = column.min() if least else column.max()
        found.append(int(best))
        if limb:
            words = words[column == best]
    total = 0
    for part in found:
        total = (total << 64) + part
    return total
