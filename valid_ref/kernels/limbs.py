"""Many integers of one width as an array of words: a value that takes the place of a tuple."""

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, overload

import attrs
import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.uint64]

AT_ONCE = 1 << 12
"""So many entries are turned into Python's integers at a time."""

SHOWN = 64
"""The text of a long value names so many entries."""


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


@attrs.frozen(eq=False, repr=False)
class WideIntegers(Sequence[int]):
    """Integers in an array [entries, limbs] that nobody changes; equal if all integers are.

    It equals no tuple, though it has the text of one. Only values of as many limbs are compared.
    """

    words: Words
    _hash: int = attrs.field(init=False)

    @_hash.default
    def _hash_of_all(self) -> int:
        return hash(self.words.tobytes())  # of every byte, under the seed of the process

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if type(other) is not WideIntegers or self._hash != other._hash:
            return False
        return np.array_equal(self.words, other.words)

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
        text = repr(self[:SHOWN])
        return text if len(self) <= SHOWN else f"{text[:-1]}, ...)"

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


def wide_integers(vectors: Sequence[Words], limbs: int) -> WideIntegers:
    """All entries of these arrays [entries, limbs] one after the other."""
    words = np.concatenate([np.empty((0, limbs), np.uint64), *vectors])
    words.setflags(write=False)
    return WideIntegers(words)


def words_of(value: int, limbs: int) -> Words:
    """One integer as an array [1, limbs]; it must fit."""
    raw = value.to_bytes(8 * limbs, "little", signed=True)
    return np.frombuffer(raw, np.uint64)[np.newaxis, :]


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
