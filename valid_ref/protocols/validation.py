"""The validation phase alone, after a learning phase that ran elsewhere (alg:validationphase)."""

from collections.abc import Mapping

import attrs

from valid_ref.lattice import FloatVector
from valid_ref.machine import Message
from valid_ref.protocols.lean import Opening
from valid_ref.protocols.parameters import ParameterError
from valid_ref.protocols.valid import Learned, LearnStage, Memory, Private, Valid, ValidState


@attrs.frozen
class ValidationInput:
    """What one agent brings to validation: its key, or its opening, and what it learned."""

    key: int | Opening
    learned: Learned


def no_gradient(_t: int, point: FloatVector) -> FloatVector:
    """The gradient source of an agent that has learned already; nobody asks it."""
    return point


@attrs.frozen
class Validation:
    """Valid from the first round after learning to the verdict; rounds are counted from there.

    Implements: VA-1, LV-1.
    """

    valid: Valid

    def __attrs_post_init__(self) -> None:
        if not self.valid.parameters.reading.P11:
            raise ParameterError("without P11 the keys come before learning", clause="LV-1")

    @property
    def _learning(self) -> int:
        return self.valid.stages[0].machine.rounds

    @property
    def rounds(self) -> int:
        """4|V| - 1; of lean validation 2r + 2D + |V|."""
        return self.valid.rounds - self._learning

    def place(self, round_number: int) -> tuple[str, int]:
        """The phase and the round in it."""
        return self.valid.place(self._learning + round_number)

    def start(self, agent: int, private: ValidationInput) -> ValidState:
        """Fix the transcripts, check the norms, begin with the first phase.

        Implements: LM-5, LV-2.
        """
        memory = Memory(agent, Private(no_gradient, private.key))
        stage = self.valid.stages[0]
        if isinstance(stage, LearnStage):
            memory = stage.fix(memory, private.learned)
        return self.valid.enter(memory, 1)

    def send(self, state: ValidState, round_number: int) -> Message:
        """What the current phase sends."""
        return self.valid.send(state, self._learning + round_number)

    def receive(
        self, state: ValidState, round_number: int, inbox: Mapping[int, Message]
    ) -> ValidState:
        """One round of the current phase."""
        return self.valid.receive(state, self._learning + round_number, inbox)
