"""What an agent brings to a run and carries from phase to phase, and what a phase is."""

from collections.abc import Mapping
from typing import Any, Protocol

import attrs

from valid_ref.alarms import Alarms
from valid_ref.lattice import GradientSource
from valid_ref.machine import Machine
from valid_ref.protocols.broadcast import Tag
from valid_ref.protocols.lean import Opening
from valid_ref.protocols.learn import Transcripts
from valid_ref.protocols.parameters import ParameterError


@attrs.frozen
class Private:
    """What only the agent has: its gradients, and its key, drawn by whoever runs it.

    In lean validation an opening stands in place of the key.

    Implements: LV-3, LE-4.
    """

    gradient: GradientSource
    key: int | Opening

    @property
    def own_key(self) -> int:
        """The key of the paper's validation."""
        return own_key(self.key)


def own_key(key: int | Opening) -> int:
    """The key of the paper's validation; an opening is refused."""
    if isinstance(key, Opening):
        raise ParameterError("an agent of the paper's validation brings a key", clause="LV-3")
    return key


@attrs.frozen
class Learned:
    """What one agent brings from the learning phase: its transcripts, and its alarms so far.

    Implements: LM-5.
    """

    transcripts: Transcripts
    alarms: Alarms = ()


@attrs.frozen
class Memory:
    """What an agent carries from phase to phase; alarms are only ever added.

    `keys` are those of all agents, or the common keys of lean validation; `held` is what lean
    validation has flooded.

    Implements: VA-1, MO-7.
    """

    agent: int
    private: Private
    alarms: Alarms = ()
    transcripts: Transcripts | None = None
    keys: tuple[int, ...] = ()
    held: Mapping[Tag, Any] = attrs.field(factory=dict)
    invalid: bool = False

    def alarmed_by(self, alarms: Alarms) -> "Memory":
        """The same memory with these alarms added."""
        return attrs.evolve(self, alarms=self.alarms + alarms)

    @property
    def fixed_transcripts(self) -> Transcripts:
        """The transcripts; there are some as soon as LearnModel has ended."""
        return self.transcripts if self.transcripts is not None else Transcripts((), {})


class Stage(Protocol):
    """One phase: its machine, its private input, and what its end means for the memory."""

    @property
    def machine(self) -> Machine[Any, Any]:
        """The machine that runs in this phase."""

    def enter(self, memory: Memory) -> Any:
        """The private input of the machine."""

    def leave(self, memory: Memory, state: Any) -> Memory:
        """The memory after the last round of the phase: alarms carry over."""
