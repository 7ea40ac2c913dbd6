"""Which agents a process computes, and how processes tell each other the results."""

from typing import Protocol

import attrs
from torch import Tensor


class Shard(Protocol):
    """A process's share: a run of consecutive agents of 0..n-1."""

    @property
    def agents(self) -> tuple[int, ...]:
        """The agents of this process."""

    def own(self, rows: Tensor) -> Tensor:
        """Of one row per agent of the network those of this process, without a copy."""

    def gather(self, rows: Tensor) -> Tensor:
        """From the rows of this process and of all others one row per agent of the network."""

    def total(self, numbers: Tensor) -> Tensor:
        """The sum over all processes, entry by entry."""


@attrs.frozen
class Whole:
    """All agents in one process."""

    count: int

    @property
    def agents(self) -> tuple[int, ...]:
        """Everybody."""
        return tuple(range(self.count))

    def own(self, rows: Tensor) -> Tensor:
        """All rows."""
        return rows

    def gather(self, rows: Tensor) -> Tensor:
        """The same rows."""
        return rows

    def total(self, numbers: Tensor) -> Tensor:
        """The same numbers."""
        return numbers
