"""The rows of the growing arrays as values of messages: checked, decoded once, bounded."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from valid_ref.kernels import WideIntegers
from valid_ref.oracle.errors import RecordingError
from valid_ref.protocols.global_validate import SomeEstimate
from valid_ref.protocols.learn import LearningMessage
from valid_ref.protocols.local_validate import is_report
from valid_ref.protocols.measures import ESTIMATES, REPORTS, is_wide_estimate, most_numbers
from valid_ref.protocols.parameters import ValidParameters

Array = np.ndarray[Any, Any]
One = Callable[[str, SomeEstimate], SomeEstimate]
"""Gives one object for all values of a form that are equal."""

FORMS = {REPORTS: is_report, ESTIMATES: is_wide_estimate}


def itself(_form: str, value: SomeEstimate) -> SomeEstimate:
    """Every value is its own object."""
    return value


class RowReader:
    """Reads rows of `reports`, `estimates` and `deviations`.

    Rows of a table with the same numbers are one object, so that equal values compare at once. No
    more numbers are remembered than an honest run has twice over; what is forgotten is read again.

    Implements: RE-4, RE-7, RE-15.
    """

    def __init__(
        self, parameters: ValidParameters, arrays: Mapping[str, Array], one: One = itself
    ) -> None:
        self._parameters, self._arrays, self._one = parameters, arrays, one
        self._by_row: dict[tuple[str, int], SomeEstimate] = {}
        self._by_content: dict[tuple[str, SomeEstimate], SomeEstimate] = {}
        self._keys: dict[int, int] = {}
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

    def value(self, table: str, row: int) -> SomeEstimate:
        """A row of `reports` or `estimates`."""
        self._name(table, row)
        if (table, row) not in self._by_row:
            read = self._decoded(table, row)
            if (table, read) not in self._by_content:
                self._remember(table, read, self._checked(table, row, read))
            self._by_row[table, row] = self._by_content[table, read]
        return self._by_row[table, row]

    def key(self, key: int) -> int:
        """One object for equal keys, as long as there are no more than agents have twice over."""
        if len(self._keys) > 2 * self._parameters.graph.agents:
            self._keys = {}
        return self._keys.setdefault(key, key)

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

    def _decoded(self, table: str, row: int) -> SomeEstimate:
        """A report as a tuple; an estimate where it lies in the file."""
        found = self._arrays[table][row]
        return WideIntegers(found) if table == ESTIMATES else tuple(found.tolist())

    def _checked(self, table: str, row: int, value: SomeEstimate) -> SomeEstimate:
        if not FORMS[table](self._parameters, value):
            raise RecordingError(f"{table}.npy: row {row} is out of range", clause="RE-4")
        return self._one(table, value)

    def _remember(self, table: str, read: SomeEstimate, value: SomeEstimate) -> None:
        self._held += len(value)
        if self._held > most_numbers(self._parameters):
            self._by_row, self._by_content, self._held = {}, {}, len(value)
        self._by_content[table, read] = value
