"""The files of a recording: a directory or a zip, NPY arrays without pickle, checked bounds."""

import io
import math
import mmap
import os
import re
import struct
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import attrs
import numpy as np

from valid_ref.errors import ValidRefError
from valid_ref.printable import printable


class RecordingError(ValidRefError):
    """A recording that cannot be read; the message begins with the place in it, in one line.

    Implements: RE-7, RE-17.
    """

    default_clause: ClassVar[str] = "RE-7"

    def __init__(self, message: str, *, clause: str | None = None) -> None:
        super().__init__(printable(message), clause=clause)


MAGIC = b"\x93NUMPY\x01\x00"
HEADER_BYTES = 192
"""What the writer reserves, so that the number of rows can be put in at the end."""
LONGEST_HEADER = 4096

_FORM = re.compile(
    rb"\{ ?'descr': ?'(<[iu]8)', ?'fortran_order': ?False, ?"
    rb"'shape': ?\(((?:(?:0|[1-9][0-9]{0,17}), ?)*(?:(?:0|[1-9][0-9]{0,17}),?)?)\),? ?\} *\n"
)


@attrs.frozen
class Layout:
    """What an array of a recording must be: dtype, rows (None: any number), shape of a row."""

    dtype: str
    rows: int | None
    row: tuple[int, ...]

    @property
    def row_bytes(self) -> int:
        """The size of one row."""
        return 8 * math.prod(self.row)


def npy_header(layout: Layout, rows: int) -> bytes:
    """The header of an array, always of the same length.

    Implements: RE-3.
    """
    shape = ", ".join(map(str, (rows, *layout.row)))
    comma = "," if not layout.row else ""
    text = f"{{'descr': '{layout.dtype}', 'fortran_order': False, 'shape': ({shape}{comma}), }}"
    length = HEADER_BYTES - len(MAGIC) - 2
    return MAGIC + struct.pack("<H", length) + text.encode().ljust(length - 1) + b"\n"


def parse_header(beginning: bytes, layout: Layout, place: str) -> tuple[int, int]:
    """The number of rows that a header announces, and where the data begin.

    Implements: RE-3, RE-7.
    """
    if beginning[: len(MAGIC)] != MAGIC or len(beginning) < len(MAGIC) + 2:
        raise RecordingError(f"{place}: not an NPY file of version 1.0", clause="RE-3")
    (length,) = struct.unpack_from("<H", beginning, len(MAGIC))
    begin = len(MAGIC) + 2 + length
    if begin > min(LONGEST_HEADER, len(beginning)):
        raise RecordingError(f"{place}: the NPY header is cut off or too long", clause="RE-3")
    found = _FORM.fullmatch(beginning[len(MAGIC) + 2 : begin])
    if found is None:
        raise RecordingError(
            f"{place}: the NPY header is not that of a plain 8-byte array in C order", clause="RE-3"
        )
    shape = tuple(int(part) for part in found[2].decode().replace(",", " ").split())
    wanted = (layout.dtype, layout.row)
    if (found[1].decode(), shape[1:]) != wanted or not shape:
        raise RecordingError(
            f"{place}: {found[1].decode()} of shape {shape}; expected {layout.dtype} of shape "
            f"{('rows' if layout.rows is None else layout.rows, *layout.row)}",
            clause="RE-3",
        )
    if layout.rows is not None and shape[0] != layout.rows:
        raise RecordingError(f"{place}: {shape[0]} rows; expected {layout.rows}", clause="RE-3")
    return shape[0], begin


ARRAYS = ("models", "gradients", "keys", "reports", "estimates", "deviations", "outputs")
NAMES = ("header.json", "log.jsonl", *(f"{name}.npy" for name in ARRAYS))
START = "start.npy"
"""The one file that only some recordings have."""
KNOWN = (*NAMES, START)
LOCAL_HEADER = struct.Struct("<4s5H3I2H")
DIRECTORY_BYTES = 1 << 17
"""The longest directory of a zip with so few members, its comment included."""


LARGE = 1 << 25
"""Pages of a mapped array with more bytes than this are given back."""


def release(arrays: Mapping[str, "np.ndarray[Any, Any]"]) -> None:
    """Give back the pages of large mapped arrays; they are read again when they are used again.

    Implements: RE-15.
    """
    for array in arrays.values():
        owner: Any = array if array.nbytes > LARGE else None
        while isinstance(owner, np.ndarray | memoryview):
            owner = owner.base if isinstance(owner, np.ndarray) else owner.obj
        if isinstance(owner, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
            owner.madvise(mmap.MADV_DONTNEED)


@attrs.frozen
class ReadingLimits:
    """The most that is read or held at once; beyond is refused.

    Implements: RE-7.
    """

    header_bytes: int = 1 << 24
    line_bytes: int = 1 << 26
    agents: int = 10_000


@attrs.frozen
class Member:
    """One file of a recording: bytes begin..begin+size of a file on disk."""

    name: str
    path: Path
    begin: int
    size: int

    def read(self, offset: int, length: int) -> bytes:
        """At most `length` bytes."""
        try:
            with self.path.open("rb") as file:
                file.seek(self.begin + offset)
                return file.read(max(0, min(length, self.size - offset)))
        except OSError as error:
            raise RecordingError(f"{self.name}: {error.strerror}", clause="RE-1") from None

    def array(self, layout: Layout, *, finished: bool) -> "np.ndarray[Any, Any]":
        """The array, mapped and not read; of a run that was cut off its whole rows.

        Implements: RE-3, RE-5, RE-7.
        """
        rows, begin = parse_header(self.read(0, LONGEST_HEADER), layout, self.name)
        size = self.size - begin
        if layout.row_bytes == 0:
            if size or rows > 1 << 40:
                raise RecordingError(f"{self.name}: {rows} rows in {size} bytes", clause="RE-3")
            return np.zeros((rows, *layout.row), dtype=layout.dtype)
        if finished and size != rows * layout.row_bytes:
            raise RecordingError(
                f"{self.name}: {size} bytes of data; expected {rows * layout.row_bytes}",
                clause="RE-3",
            )
        if not finished:
            rows = size // layout.row_bytes
            if layout.rows is not None and rows > layout.rows:
                raise RecordingError(f"{self.name}: more than {layout.rows} rows", clause="RE-3")
        if rows == 0:
            return np.zeros((0, *layout.row), dtype=layout.dtype)
        with self.path.open("rb") as file:
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        count = rows * layout.row_bytes // 8
        flat = np.frombuffer(mapped, layout.dtype, count, self.begin + begin)
        return flat.reshape((rows, *layout.row))


def members(path: Path) -> Mapping[str, Member]:
    """The files of a recording by name.

    Implements: RE-1, RE-7.
    """
    try:
        if not (path.is_dir() or path.is_file()):
            raise RecordingError(f"{path}: no such directory or plain file", clause="RE-1")
        found = _in_directory(path) if path.is_dir() else _in_zip(path)
    except (OSError, ValueError) as error:  # ValueError: a path with a null byte
        raise RecordingError(f"{path}: {error}", clause="RE-1") from None
    for name in ("header.json", "log.jsonl"):
        if name not in found:
            raise RecordingError(f"{path}: there is no {name}", clause="RE-1")
    return found


def _in_directory(path: Path) -> dict[str, Member]:
    found = {}
    with os.scandir(path) as entries:
        for entry in entries:
            if entry.name not in KNOWN or not entry.is_file(follow_symlinks=False):
                raise RecordingError(f"{path}: {entry.name!r} does not belong here", clause="RE-1")
            size = entry.stat(follow_symlinks=False).st_size
            found[entry.name] = Member(entry.name, Path(entry.path), 0, size)
    return found


def _in_zip(path: Path) -> dict[str, Member]:
    """Names, sizes and places of the members, each checked; they must not overlap.

    Implements: RE-1, RE-7.
    """
    found: dict[str, Member] = {}
    size = path.stat().st_size
    for info in _listing(path):
        name = info.filename
        if name not in KNOWN or name in found or info.orig_filename != name:
            raise RecordingError(f"{path}: {name[:80]!r} does not belong here", clause="RE-1")
        if info.compress_type != zipfile.ZIP_STORED or info.file_size != info.compress_size:
            raise RecordingError(
                f"{path}: {name} is compressed; members are stored (zip -0)", clause="RE-1"
            )
        if info.flag_bits & 1:
            raise RecordingError(f"{path}: {name} is encrypted", clause="RE-1")
        found[name] = Member(name, path, _data_offset(path, info), info.file_size)
    end = 0
    for member in sorted(found.values(), key=lambda member: member.begin):
        if member.begin < end or member.begin + member.size > size:
            raise RecordingError(f"{path}: {member.name} overlaps or is cut off", clause="RE-1")
        end = member.begin + member.size
    return found


class _Frugal(io.FileIO):
    """A zip as it is listed: its directory is short, and nothing else is read.

    Implements: RE-7.
    """

    def read(self, size: int | None = -1, /) -> bytes:
        """Refuse to read much at once."""
        left = max(0, os.fstat(self.fileno()).st_size - self.tell())
        wanted = left if size is None or size < 0 else min(size, left)
        if wanted > DIRECTORY_BYTES:
            raise RecordingError(f"{self.name}: a directory of {wanted} bytes", clause="RE-7")
        return super().read(wanted)


def _listing(path: Path) -> list[zipfile.ZipInfo]:
    try:
        with _Frugal(path) as file, zipfile.ZipFile(file) as archive:
            infos = archive.infolist()
    except (
        zipfile.BadZipFile,
        struct.error,
        ValueError,
        OverflowError,
        EOFError,
        IndexError,
        NotImplementedError,
        UnicodeError,
        RuntimeError,
    ) as error:
        raise RecordingError(f"{path}: not a readable zip: {error}", clause="RE-1") from None
    if len(infos) > len(KNOWN):
        raise RecordingError(f"{path}: {len(infos)} members", clause="RE-1")
    return infos


def _data_offset(path: Path, info: zipfile.ZipInfo) -> int:
    with path.open("rb") as file:
        if info.header_offset < 0:
            raise RecordingError(f"{path}: {info.filename} lies before the file", clause="RE-1")
        file.seek(info.header_offset)
        raw = file.read(LOCAL_HEADER.size)
        if len(raw) < LOCAL_HEADER.size:
            raise RecordingError(f"{path}: {info.filename} is cut off", clause="RE-1")
        signature, *_rest, name_length, extra_length = LOCAL_HEADER.unpack(raw)
        name = file.read(name_length)
    if signature != b"PK\x03\x04" or name != info.filename.encode():
        raise RecordingError(f"{path}: {info.filename} has a false local header", clause="RE-1")
    return info.header_offset + LOCAL_HEADER.size + int(name_length) + int(extra_length)
