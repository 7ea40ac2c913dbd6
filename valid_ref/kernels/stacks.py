"""Vectors of a transcript, some at a time: a transcript may be larger than the memory."""

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

Vectors = Sequence[npt.NDArray[np.int64]]

ROUNDS_AT_ONCE = 256
"""At most so many vectors are stacked at a time."""

BYTES_AT_ONCE = 1 << 17
"""At most so many bytes are stacked at a time; a longer vector is taken as it is, uncopied."""


def rounds_at_once(dimension: int) -> int:
    """How many vectors of so many words are taken at a time."""
    return max(1, min(ROUNDS_AT_ONCE, BYTES_AT_ONCE // (8 * max(1, dimension))))


def groups(vectors: Vectors) -> Iterator[Vectors]:
    """All vectors in their order, as many at a time as may be stacked."""
    at_once = rounds_at_once(len(vectors[0])) if len(vectors) else 1
    for begin in range(0, len(vectors), at_once):
        yield vectors[begin : begin + at_once]


def stack(group: Vectors) -> npt.NDArray[np.int64]:
    """Vectors as rows of a matrix; one vector is not copied."""
    return group[0][np.newaxis, :] if len(group) == 1 else np.stack(group)
