"""The rows of the growing arrays as values of messages: checked, decoded once, bounded."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from valid_ref.oracle.errors import RecordingError
from valid_ref.oracle.messages import Value
from valid_ref.oracle.npy import from_limbs
from valid_ref.protocols.global_validate import is_estimate
from valid_ref.protocols.learn import LearningMessage
from valid_ref.protocols.local_validate import is_report
from valid_ref.protocols.measures import most_numbers
from valid_ref.protocols.parameters import ValidParameters

Array = np.ndarray[Any, Any]
One = Callable[[Value], Value]
"""Gives one object for all tuples that are equal."""

FORMS = {"reports": is_report, "estimates": is_estimate}


def itself(value: Value) -> Value:
    """Every tuple is its own object."""
    return value


class RowReader:
    """Reads rows of `reports`, `estimates` and `deviations`.

    Rows with the same bytes are one object, so that equal values compare at once. No more numbers
    are remembered than an honest run has twice over; what is forgotten is read again.

    Implements: RE-4, RE-7, RE-15.
    """

    def __init__(
        self, parameters: ValidParameters, arrays: Mapping[str, Array], one: One = itself
    ) -> None:
        self._parameters, self._arrays, self._one = parameters, arrays, one
        self._by_row: dict[tuple[str, int], Value] = {}
        self._by_bytes: dict[tuple[str, bytes], Value] = {}
        self._pairs: dict[int, LearningMessage] = {}
        self._held = 0
        self._before: Mapping[str, int] = dict.fromkeys(arrays, 0)
        self._after: Mapping[str, int] = {name: len(array) for name, array in arrays.items()}
        self._new: set[tuple[str, int]] = set()

    def begin_line(self, before: Mapping[str, int], after: Mapping[str, int]) -> None:
        """A line begins, before which there are so many rows, and after it so many."""
        self._before, self._after, self._new = before, after, set()

    def end_line(self, place: str) -> None:
        """Refuse rows that the line adds and does not name.

        Implements: RE-4.
        """
        added = sum(self._after.values()) - sum(self._before.values())
        if len(self._new) != added:
            raise RecordingError(f"{place}: rows that no message names", clause="RE-4")

    def value(self, table: str, row: int) -> Value:
        """A row of `reports` or `estimates`."""
        self._name(table, row)
        if (table, row) not in self._by_row:
            raw = self._arrays[table][row].tobytes()
            if (table, raw) not in self._by_bytes:
                self._remember(table, raw, self._decoded(table, row))
            self._by_row[table, row] = self._by_bytes[table, raw]
        return self._by_row[table, row]

    def pair(self, row: int) -> LearningMessage:
        """A row of `deviations`: mapped, not copied."""
        self._name("deviations", row)
        if row not in self._pairs:
            self._pairs[row] = LearningMessage(*self._arrays["deviations"][row])
        return self._pairs[row]

    def _name(self, table: str, row: int) -> None:
        """A line names the rows that it adds, and none that are not there by then.

        Implements: RE-4.
        """
        if not 0 <= row < self._after[table]:
            raise RecordingError(f"{table}.npy: there is no row {row}", clause="RE-4")
        if row >= self._before[table]:
            self._new.add((table, row))

    def _decoded(self, table: str, row: int) -> Value:
        found = self._arrays[table][row]
        value = from_limbs(found) if table == "estimates" else tuple(found.tolist())
        if not FORMS[table](self._parameters, value):
            raise RecordingError(f"{table}.npy: row {row} is out of range", clause="RE-4")
        return self._one(value)

    def _remember(self, table: str, raw: bytes, value: Value) -> None:
        self._held += len(value)
        if self._held > most_numbers(self._parameters):
            self._by_row, self._by_bytes, self._held = {}, {}, len(value)
        self._by_bytes[table, raw] = value
