"""NPY files without pickle: the strict form that a recording admits, and wide integers."""

import math
import re
import struct

import attrs

from valid_ref.oracle.errors import RecordingError

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


def limbs_for(largest: int) -> int:
    """How many 64-bit limbs hold -largest..largest in two's complement."""
    return largest.bit_length() // 64 + 1


def to_limbs(values: tuple[int, ...], limbs: int) -> bytes:
    """Integers in two's complement, lowest limb first.

    Implements: RE-3.
    """
    return b"".join(value.to_bytes(8 * limbs, "little", signed=True) for value in values)
