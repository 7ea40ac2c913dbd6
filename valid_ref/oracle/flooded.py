"""Flooded values and openings as rows of an array: every integer in limbs of 64 bits."""

from collections.abc import Mapping, Sequence
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from valid_ref.oracle.files import RecordingError
from valid_ref.protocols import lean
from valid_ref.protocols.lean import Opening
from valid_ref.protocols.parameters import ValidParameters

LIMB = 64


@attrs.frozen
class FloodedRows:
    """How the values of the three floods stand in `reports.npy`, and openings in `keys.npy`.

    Each integer has as many limbs as the largest that may stand there, lowest first; what a row
    has beyond its value is zero.

    Implements: RE-3.
    """

    limits: Mapping[str, Sequence[int]]

    @classmethod
    def of(cls, parameters: ValidParameters) -> "FloodedRows":
        """The rows of a run with lean validation."""
        return cls(lean.limits_of(parameters))

    def limbs(self, slot: str) -> list[int]:
        """The limbs of each integer of a value."""
        return [max(1, -(-(limit - 1).bit_length() // LIMB)) for limit in self.limits[slot]]

    @property
    def width(self) -> int:
        """The length of the longest of the three values."""
        return max(sum(self.limbs(slot)) for slot in self.limits)

    @property
    def opening_width(self) -> int:
        """The length of an opening."""
        return sum(self.limbs(lean.OPENING))

    def row(self, slot: str, value: Sequence[int], width: int) -> npt.NDArray[np.uint64]:
        """A value in so many numbers of 64 bits."""
        sizes = [8 * limbs for limbs in self.limbs(slot)]
        parts = zip(value, sizes, strict=True)
        raw = b"".join(entry.to_bytes(size, "little") for entry, size in parts)
        return np.frombuffer(raw.ljust(8 * width, b"\0"), "<u8")

    def value(self, slot: str, row: npt.NDArray[Any], place: str) -> tuple[int, ...]:
        """The value that stands in a row; refused if it is none.

        Implements: RE-7.
        """
        raw, begin, found = row.tobytes(), 0, []
        for limbs in self.limbs(slot):
            found.append(int.from_bytes(raw[begin : begin + 8 * limbs], "little"))
            begin += 8 * limbs
        if any(raw[begin:]) or not lean.is_flooded(self.limits[slot], tuple(found)):
            raise RecordingError(f"{place} is out of range", clause="RE-4")
        return tuple(found)

    def opening_row(self, opening: Opening) -> npt.NDArray[np.uint64]:
        """What an agent brings."""
        return self.row(lean.OPENING, opening.value, self.opening_width)

    def opening(self, row: npt.NDArray[Any], place: str) -> Opening:
        """The opening that stands in a row."""
        nonce, *shares = self.value(lean.OPENING, row, place)
        return Opening(nonce, tuple(shares))
