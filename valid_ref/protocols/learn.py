"""LearnModel: distributed stochastic gradient descent on the exact lattice (alg:dgd)."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Protocol

import attrs
import numpy as np
import numpy.typing as npt

from valid_ref import lattice
from valid_ref.alarms import Alarm, Alarms, Raised
from valid_ref.graph import AgentGraph
from valid_ref.lattice import (
    FloatVector,
    GradientSource,
    IntVector,
    LatticeError,
    LatticeParameters,
    within,
)
from valid_ref.machine import Message
from valid_ref.reading import Reading
from valid_ref.words import LearningMessage

__all__ = ["PHASE", "Arithmetic", "LearnModel", "LearnState", "LearningMessage", "Transcripts"]

# Inputs: what is sent, and how updates are computed.

PHASE = "LearnModel"


class Arithmetic(Protocol):
    """The update: `valid_ref.lattice` defines it, `valid_ref.kernels.steps` is its fast form."""

    def mix(
        self,
        parameters: LatticeParameters,
        t: int,
        own: IntVector,
        neighbours: Sequence[IntVector],
    ) -> IntVector:
        """Y."""

    def evaluation_point(self, parameters: LatticeParameters, Y: IntVector) -> FloatVector:
        """Where the gradient is taken."""

    def step(
        self,
        parameters: LatticeParameters,
        t: int,
        Y: IntVector,
        gradient: npt.ArrayLike,
        *,
        absorb: bool = True,
    ) -> tuple[IntVector, IntVector]:
        """x_v(t) and Gamma_v(t)."""


# State.


@attrs.frozen
class Heard:
    """What one round of learning brought an agent, in a chain that grows without copies."""

    earlier: "Heard | None"
    own: LearningMessage
    received: Mapping[int, LearningMessage]


@attrs.frozen
class Transcripts:
    """What an agent sent, and what it received from each neighbour, in rounds 1..T.

    Implements: LM-3, LM-5.
    """

    own: tuple[LearningMessage, ...]
    received: Mapping[int, tuple[LearningMessage, ...]]


@attrs.frozen
class LearnState:
    """One agent after round t: its next message, its chain of heard rounds, its alarms."""

    agent: int
    gradient: GradientSource
    message: LearningMessage | None
    heard: Heard | None
    alarms: Alarms


# The machine.


@attrs.frozen
class LearnModel:
    """The machine of LearnModel.

    Implements: LM-1.
    """

    # Inputs.

    graph: AgentGraph
    parameters: LatticeParameters
    start_model: IntVector = attrs.field(eq=attrs.cmp_using(np.array_equal))
    reading: Reading = attrs.field(factory=Reading)
    arithmetic: Arithmetic = attrs.field(default=lattice, kw_only=True, eq=False, repr=False)

    def __attrs_post_init__(self) -> None:
        expected = (self.parameters.dimension,)
        if self.start_model.dtype != np.int64 or self.start_model.shape != expected:
            raise LatticeError(
                f"x_0 has dtype {self.start_model.dtype} and shape {self.start_model.shape}; "
                f"expected int64 and {expected}",
                clause="LM-1",
            )
        if not within(self.start_model, self.parameters.model_limit):
            raise LatticeError("x_0 has an entry out of range", clause="AR-10")
        if self.graph.max_degree > self.parameters.max_degree:
            raise LatticeError(
                f"the graph has degree {self.graph.max_degree}, the range rule was made for "
                f"{self.parameters.max_degree}",
                clause="AR-10",
            )

    @property
    def rounds(self) -> int:
        """T."""
        return self.parameters.schedule.rounds

    def place(self, round_number: int) -> tuple[str, int]:
        """The phase and the round in it."""
        return PHASE, round_number

    # Start.

    def start(self, agent: int, private: GradientSource) -> LearnState:
        """Compute the message of round 1 from x_0, which everybody shares.

        Implements: LM-2.
        """
        models = [self.start_model] * self.graph.degree(agent)
        state = LearnState(agent, private, None, None, ())
        return self._advance(state, 1, self.start_model, models)

    # Send.

    def send(self, state: LearnState, round_number: int) -> Message:  # noqa: ARG002
        """(x_v(t), Gamma_v(t)) to every neighbour; nothing after an update left the range.

        Implements: LM-2, LM-7.
        """
        return state.message

    # Receive.

    def receive(
        self, state: LearnState, round_number: int, inbox: Mapping[int, Message]
    ) -> LearnState:
        """Keep what was received, alarm over what is not a message, compute the next round.

        Implements: LM-3, LM-4.
        """
        received: dict[int, LearningMessage] = {}
        alarms = list(state.alarms)
        for sender in self.graph.neighbours(state.agent):
            message = inbox.get(sender)
            problem = self.problem(message)
            if problem is not None:
                alarms.append(Raised(problem, PHASE, round_number, sender))
            elif isinstance(message, LearningMessage):
                received[sender] = message
        own = state.message if state.message is not None else self._nothing()
        state = attrs.evolve(
            state, heard=Heard(state.heard, own, MappingProxyType(received)), alarms=tuple(alarms)
        )
        if round_number == self.rounds or state.message is None:
            return state
        models = [
            received[sender].model if sender in received else self._nothing().model
            for sender in self.graph.neighbours(state.agent)
        ]
        return self._advance(state, round_number + 1, own.model, models)

    def _advance(
        self, state: LearnState, t: int, own: IntVector, neighbours: list[IntVector]
    ) -> LearnState:
        """One update; one that leaves the lattice is an alarm and then silence.

        Implements: LM-2, AR-14.
        """
        Y = self.arithmetic.mix(self.parameters, t, own, neighbours)
        point = self.arithmetic.evaluation_point(self.parameters, Y)
        gradient = state.gradient(t, point)
        try:
            x, gamma = self.arithmetic.step(
                self.parameters, t, Y, gradient, absorb=self.reading.P17
            )
        except LatticeError:
            raised = Raised(Alarm.OWN_UPDATE_OUT_OF_RANGE, PHASE, t, about=state.agent)
            return attrs.evolve(state, message=None, alarms=(*state.alarms, raised))
        return attrs.evolve(state, message=LearningMessage(x, gamma))

    # Finish.

    def transcripts(self, state: LearnState) -> Transcripts:
        """The fixed transcripts after round T; zero vectors where nothing usable came.

        Implements: LM-4, LM-5.
        """
        rounds: list[Heard] = []
        node = state.heard
        while node is not None:
            rounds.append(node)
            node = node.earlier
        rounds.reverse()
        nothing = self._nothing()
        return Transcripts(
            own=tuple(heard.own for heard in rounds),
            received=MappingProxyType(
                {
                    sender: tuple(heard.received.get(sender, nothing) for heard in rounds)
                    for sender in self.graph.neighbours(state.agent)
                }
            ),
        )

    def _nothing(self) -> LearningMessage:
        zero = np.zeros(self.parameters.dimension, dtype=np.int64)
        return LearningMessage(zero, zero)

    # Alarms.

    def problem(self, message: Message) -> Alarm | None:
        """Why a learning message cannot be used; None if it can.

        Implements: MO-8, AR-11, LM-4.
        """
        if message is None:
            return Alarm.MISSING_MESSAGE
        if type(message) is not LearningMessage:
            return Alarm.MALFORMED_MESSAGE
        for vector in (message.model, message.scaled_gradient):
            if type(vector) is not np.ndarray or vector.dtype != np.int64:
                return Alarm.MALFORMED_MESSAGE
            if vector.shape != (self.parameters.dimension,):
                return Alarm.MALFORMED_MESSAGE
        limits = self.parameters.model_limit, self.parameters.gradient_limit
        if within(message.model, limits[0]) and within(message.scaled_gradient, limits[1]):
            return None
        return Alarm.OUT_OF_RANGE
