"""NPZ files as arrays of numbers: nothing in a file is trusted, and nothing in it is executed."""

import io
import lzma
import math
import re
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from torch_backend.errors import DataError

Array = npt.NDArray[Any]

HEADER = re.compile(
    rb"\x93NUMPY(?:\x01\x00(?P<short>..)|[\x02\x03]\x00(?P<long>....))"
    rb"\{'descr': '(?P<dtype>[<>|=]?[bif?u]\d*)', 'fortran_order': (?P<fortran>True|False), "
    rb"'shape': \((?P<shape>[\d, ]{0,400})\), \} *\n",
    re.DOTALL,
)
"""What numpy writes before an array of numbers; anything else is refused."""

UNREADABLE = (
    OSError,
    EOFError,
    ValueError,
    KeyError,
    OverflowError,
    RuntimeError,  # an encrypted member, or one packed in a way that is not known
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
)
"""What the library raises over a file that is no archive, or a damaged one."""


def read_npz(content: bytes, name: str, largest: int) -> dict[str, Array]:
    """All arrays of an NPZ file by name; one that would take more bytes is refused."""
    found = {}
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            for member in archive.infolist():
                with archive.open(member) as file:
                    data = file.read(largest + 1)
                if len(data) > largest:
                    raise DataError(f"{name}: {member.filename} has more than {largest} bytes")
                found[member.filename.removesuffix(".npy")] = parse_npy(
                    data, f"{name}: {member.filename}"
                )
    except UNREADABLE as error:
        raise DataError(f"{name} is not an NPZ file, or is damaged: {error}") from None
    return found


def read_file(path: Path, largest: int) -> bytes:
    """The bytes of a file that is not larger."""
    if path.is_char_device():
        raise DataError(f"{path} is a device, not a file")
    try:
        with path.open("rb") as file:
            content = file.read(largest + 1)
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}") from None
    if len(content) > largest:
        raise DataError(f"{path} has more than {largest} bytes")
    return content


def parse_npy(data: bytes, name: str) -> Array:
    """The array of an NPY file; numbers and truth values alone, and exactly as many as it says."""
    match = HEADER.match(data)
    if match is None:
        raise DataError(f"{name} is not an array of numbers (objects and texts are not read)")
    try:
        dtype = np.dtype(match["dtype"].decode())
    except TypeError:
        raise DataError(f"{name}: no dtype {match['dtype'].decode()!r}") from None
    shape = tuple(int(size) for size in re.findall(rb"\d+", match["shape"]))
    length = int.from_bytes(match["short"] or match["long"], "little")
    begin = match.end("short" if match["short"] else "long") + length
    expected = math.prod(shape) * dtype.itemsize
    if begin != match.end() or len(data) - begin != expected or len(shape) > 8:
        raise DataError(
            f"{name}: shape {shape} of {dtype} needs {expected} bytes, not {len(data) - begin}"
        )
    order = "F" if match["fortran"] == b"True" else "C"
    return np.frombuffer(data, dtype, offset=begin).reshape(shape, order=order)  # type: ignore[call-overload,no-any-return]
