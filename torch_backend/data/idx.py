"""IDX files, plain or compressed: a reader that trusts nothing in them.

magic  two zero bytes, the type (8: unsigned bytes), the number of dimensions
sizes  one unsigned 32-bit integer, most significant byte first, for each dimension
data   the bytes, the last dimension fastest, and nothing after them
"""

import gzip
import math
import struct
import zlib
from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from torch_backend.errors import DataError

LARGEST = 1 << 28
"""The most bytes that an IDX file may unpack to: four times the largest of MNIST."""

GZIP = b"\x1f\x8b"
UNSIGNED_BYTES = 8


def read_content(path: Path, limit: int = LARGEST) -> bytes:
    """The bytes of a file, unpacked if it is compressed; more than `limit` bytes are refused."""
    try:
        with path.open("rb") as file:
            packed = file.read(2) == GZIP
            file.seek(0)
            content = _unpacked(file, limit) if packed else file.read(limit + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{path.name} cannot be read: {error}") from None
    if len(content) > limit:
        raise DataError(f"{path.name} has more than {limit} bytes")
    return content


def _unpacked(file: BinaryIO, limit: int) -> bytes:
    with gzip.GzipFile(fileobj=file) as unpacked:
        return unpacked.read(limit + 1)


def parse(content: bytes, name: str, dimensions: int) -> npt.NDArray[np.uint8]:
    """The array that an IDX file with so many dimensions holds, read-only."""
    head = 4 + 4 * dimensions
    if len(content) < head:
        raise DataError(f"{name}: {len(content)} bytes are too few for a head of {head}")
    zeros, kind, rank = struct.unpack(">HBB", content[:4])
    if (zeros, kind, rank) != (0, UNSIGNED_BYTES, dimensions):
        raise DataError(
            f"{name}: the magic {content[:4].hex()} is not that of unsigned bytes with "
            f"{dimensions} dimensions"
        )
    shape = struct.unpack(f">{dimensions}I", content[4:head])
    expected = math.prod(shape)
    if len(content) - head != expected:
        raise DataError(f"{name}: sizes {shape} need {expected} bytes, not {len(content) - head}")
    return np.frombuffer(content, dtype=np.uint8, offset=head).reshape(shape)


def read_idx(path: Path, dimensions: int, limit: int = LARGEST) -> npt.NDArray[np.uint8]:
    """The array in an IDX file."""
    return parse(read_content(path, limit), path.name, dimensions)
