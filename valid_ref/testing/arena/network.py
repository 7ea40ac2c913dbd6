"""The agents of an arena: machines of the reference, and others that are asked.

Nothing here starts a process: whom to ask, and how several are asked together, comes in.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Protocol, TypeVar

import attrs
import numpy as np

from valid_ref.lattice import IntVector
from valid_ref.machine import Message
from valid_ref.oracle.log import AgentLine
from valid_ref.protocols.learn import PHASE as LEARNING
from valid_ref.protocols.valid import Private, Valid, ValidState
from valid_ref.testing.conform import replies
from valid_ref.testing.conform.errors import AgentFault, OtherProtocolError, wrong_form
from valid_ref.testing.conform.peer import Peer
from valid_ref.testing.conform.replies import Conversation
from valid_ref.wire import AlarmLine, alarm_line

AnswerT = TypeVar("AnswerT")

START, END = "the start", "the end"


class Together(Protocol):
    """Gets the answers of several agents, in whatever order or at the same time."""

    def __call__(self, questions: Mapping[int, Callable[[], AnswerT]]) -> dict[int, AnswerT]:
        """The answer of every agent."""


def in_turn(questions: Mapping[int, Callable[[], AnswerT]]) -> dict[int, AnswerT]:
    """One agent after the other."""
    return {agent: question() for agent, question in questions.items()}


@attrs.frozen
class Fault:
    """Where an agent that is asked stopped to be one: the request, the place, the clause.

    Implements: CF-22.
    """

    agent: int
    request: str
    phase: str
    round: int
    kind: str
    clause: str
    what: str
    expected: str
    found: str
    last_words: str = ""

    def __str__(self) -> str:
        place = self.phase if self.phase in {START, END} else f"{self.phase} round {self.round}"
        lines = [
            f"agent {self.agent}, {self.request} in {place}: {self.kind} [{self.clause}]",
            f"  {self.what}: expected {self.expected}, found {self.found}",
            "  silent from there on",
        ]
        lines += [f"  its standard error: {line}" for line in self.last_words.splitlines()]
        return "\n".join(lines)


@attrs.frozen
class Remote:
    """An agent that is asked, as far as it has answered.

    `silent` says that it has said nothing in a learning round, after which it is given no more
    gradients (AR-14); `alarms` are those that it has reported.
    """

    agent: int
    talk: Conversation
    silent: bool = False
    alarms: tuple[AlarmLine, ...] = ()
    valid: bool = False
    model: IntVector | None = None
    fault: Fault | None = None


State = ValidState | Remote


@attrs.frozen(eq=False)
class Mixed:
    """All agents of a network: those with a peer are asked, the others run the reference.

    A fault of an agent is kept in its state, and it is silent from then on.

    Implements: CF-20, CF-21, CF-22.
    """

    machine: Valid
    private: Mapping[int, Private]
    peers: Mapping[int, Peer]
    together: Together = in_turn

    @property
    def rounds(self) -> int:
        """T + 4|V| - 1."""
        return self.machine.rounds

    def place(self, round_number: int) -> tuple[str, int]:
        """The phase and the round in it."""
        return self.machine.place(round_number)

    def start(self) -> Mapping[int, State]:
        """Hello and start of those that are asked."""
        own = {
            agent: self.machine.start(agent, private)
            for agent, private in self.private.items()
            if agent not in self.peers
        }
        return own | self.together({v: partial(self._begin, v) for v in self.peers})

    def send(
        self, states: Mapping[int, State], round_number: int
    ) -> tuple[Mapping[int, State], Mapping[int, Message]]:
        """What everybody says; in learning each agent that is asked gets its gradient first."""
        said: dict[int, Message] = {}
        for agent, state in states.items():
            if isinstance(state, ValidState):
                said[agent] = self.machine.send(state, round_number)
        remote = _remote(states)
        asked = {v: partial(self._speak, one, round_number) for v, one in remote.items()}
        answers = self.together(asked)
        after = {
            agent: answers[agent][0] if agent in answers else states[agent] for agent in states
        }
        said |= {agent: message for agent, (_state, message) in answers.items()}
        return after, dict(sorted(said.items()))

    def receive(
        self,
        states: Mapping[int, State],
        round_number: int,
        inboxes: Mapping[int, Mapping[int, Message]],
    ) -> Mapping[int, State]:
        """Everybody gets what its neighbours said on the edges to it."""
        remote = _remote(states)
        asked = {v: partial(self._hear, one, round_number, inboxes[v]) for v, one in remote.items()}
        after: dict[int, State] = {**self.together(asked)}
        for agent, state in states.items():
            if isinstance(state, ValidState):
                after[agent] = self.machine.receive(state, round_number, inboxes[agent])
        return dict(sorted(after.items()))

    def end(self, states: Mapping[int, State]) -> Mapping[int, State]:
        """Ask for verdict, model and alarms."""
        asked = {v: partial(self._finish, one) for v, one in _remote(states).items()}
        return dict(sorted((dict(states) | self.together(asked)).items()))

    def ending(self, state: State) -> tuple[AgentLine, IntVector | None]:
        """How an agent ended, and its model."""
        if isinstance(state, Remote):
            return AgentLine(state.valid, state.alarms), state.model
        alarms = tuple(alarm_line(raised) for raised in state.memory.alarms)
        return AgentLine(not state.memory.invalid, alarms), self.machine.output(state)

    def _begin(self, agent: int) -> Remote:
        remote = Remote(agent, Conversation(self.peers[agent]))
        parameters, key = self.machine.parameters, self.private[agent].key
        request = "hello"
        try:
            remote = attrs.evolve(remote, talk=replies.greeted(self.peers[agent]))
            request = "start"
            replies.start(remote.talk, parameters, agent, key)
        except AgentFault as fault:
            return _failed(remote, request, (START, 0), fault)
        except OtherProtocolError as error:
            raise OtherProtocolError(
                f"agent {agent}: {error.message}", clause=error.clause
            ) from None
        return remote

    def _speak(self, remote: Remote, number: int) -> tuple[Remote, Message]:
        """Y and the point, the gradient there, the message.

        Implements: CF-21.
        """
        if remote.fault is not None:
            return remote, None
        place = phase, within = self.place(number)
        dimension = self.machine.parameters.lattice.dimension
        gradient, request = None, "send"
        try:
            if phase == LEARNING and not remote.silent:
                request = "mix"
                point = self._point(remote.talk, number, dimension)
                with np.errstate(all="ignore"):
                    found = self.private[remote.agent].gradient(within, point)
                gradient, request = found.tolist(), "send"
            message, _lattice = replies.send(remote.talk, number, gradient, dimension)
        except AgentFault as fault:
            return _failed(remote, request, place, fault), None
        silent = remote.silent or (phase == LEARNING and message is None)
        return attrs.evolve(remote, silent=silent), message

    def _point(self, talk: Conversation, number: int, dimension: int) -> Any:
        """Where the agent wants its gradient."""
        Y, point = replies.mix(talk, number)
        if (len(Y), len(point)) != (dimension, dimension):
            sizes = f"{len(Y)} and {len(point)}"
            raise wrong_form("CF-5", "Y and point", f"{dimension} entries each", sizes)
        return np.array(point, dtype=np.float64)

    def _hear(self, remote: Remote, number: int, inbox: Mapping[int, Message]) -> Remote:
        if remote.fault is not None:
            return remote
        try:
            alarms = replies.receive(remote.talk, number, inbox)
        except AgentFault as fault:
            return _failed(remote, "receive", self.place(number), fault)
        return attrs.evolve(remote, alarms=remote.alarms + alarms)

    def _finish(self, remote: Remote) -> Remote:
        """The end; what does not fit to the replies before is a fault.

        Implements: CF-10, CF-22.
        """
        if remote.fault is not None:
            return remote
        try:
            valid, model, alarms = replies.end(remote.talk)
            if valid == (model is None):
                raise wrong_form("CF-10", "model", "one of a valid agent only", model)
            if alarms != remote.alarms:
                expected = f"the {len(remote.alarms)} alarms that were reported"
                raise wrong_form("CF-10", "alarms", expected, f"{len(alarms)} others")
            output = None if model is None else self._output(model)
        except AgentFault as fault:
            return _failed(remote, "end", (END, 0), fault)
        return attrs.evolve(remote, valid=valid, model=output)

    def _output(self, model: tuple[int, ...]) -> IntVector:
        dimension = self.machine.parameters.lattice.dimension
        if len(model) != dimension or any(not -(2**63) <= entry < 2**63 for entry in model):
            raise wrong_form("CF-10", "model", f"{dimension} integers of 64 bits", model)
        return np.array(model, dtype=np.int64)


def _remote(states: Mapping[int, State]) -> dict[int, Remote]:
    return {agent: state for agent, state in states.items() if isinstance(state, Remote)}


def _failed(remote: Remote, request: str, place: tuple[str, int], fault: AgentFault) -> Remote:
    """The agent at fault; its peer is closed.

    Implements: CF-22.
    """
    last_words = remote.talk.peer.last_words()
    remote.talk.peer.close()
    told = Fault(
        remote.agent, request, *place, fault.kind.value, fault.clause, fault.what,
        fault.expected, fault.found, last_words,
    )  # fmt: skip
    return attrs.evolve(remote, fault=told)
