"""The network of an arena: agents of the reference, and processes that are asked."""

import re
import shlex
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import partial
from typing import Any, Protocol, TypeVar

import attrs
import numpy as np

from valid_ref.lattice import IntVector
from valid_ref.machine import Message
from valid_ref.oracle.log import AgentLine
from valid_ref.protocols.learn import PHASE as LEARNING
from valid_ref.protocols.valid import Private, Valid, ValidState
from valid_ref.testing.conform.drive import LEAN, PAPER, Conversation, say_hello
from valid_ref.testing.conform.faults import AGENT
from valid_ref.testing.conform.peer import (
    AgentFault,
    ConformError,
    OtherProtocolError,
    Peer,
    wrong_form,
)
from valid_ref.testing.conform.process import ProcessPeer
from valid_ref.wire import AlarmLine, alarm_line

REFERENCE, EXAMPLE = "reference", "example"
"""Commands that name what comes with this: the machine in this process, the example agent."""

_RANGE = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9}))?")


def assigned(
    pairs: Iterable[tuple[str, str]], agents: int, byzantine: frozenset[int]
) -> dict[int, tuple[str, ...]]:
    """The words of the command of every agent that is a process.

    Implements: CF-20.
    """
    found: dict[int, tuple[str, ...]] = {}
    seen: set[int] = set()
    for names, command in pairs:
        words = _words(command)
        for agent in _agents(names, agents):
            if agent in seen:
                raise ConformError(f"agent {agent} is named twice", clause="CF-20")
            if agent in byzantine:
                raise ConformError(
                    f"agent {agent} is Byzantine: its words come from the attack", clause="CF-20"
                )
            seen.add(agent)
            if words is not None:
                found[agent] = words
    return found


def _agents(names: str, agents: int) -> list[int]:
    """The agents of ranges and single numbers between commas; all must exist."""
    found: list[int] = []
    for part in names.split(","):
        match = _RANGE.fullmatch(part.strip())
        if match is None:
            raise ConformError(f"{names[:60]!r} does not name agents; 0-4,7 would", clause="CF-20")
        first, last = int(match[1]), int(match[2] or match[1])
        if not first <= last < agents:
            raise ConformError(
                f"{part.strip()} is not a range of the agents 0..{agents - 1}", clause="CF-20"
            )
        found += range(first, last + 1)
    return found


def _words(command: str) -> tuple[str, ...] | None:
    """The words of a command; None for the machine of the reference."""
    if command == REFERENCE:
        return None
    if command == EXAMPLE:
        return sys.executable, str(AGENT)
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise ConformError(f"{command[:60]!r} is no command: {error}", clause="CF-20") from None
    if not words:
        raise ConformError("an agent has an empty command", clause="CF-20")
    return tuple(words)


AnswerT = TypeVar("AnswerT")

START, END = "the start", "the end"


class AskTogether(Protocol):
    """Gets the answers of several agents, in whatever order or at the same time."""

    def __call__(self, questions: Mapping[int, Callable[[], AnswerT]]) -> dict[int, AnswerT]:
        """The answer of every agent."""


def in_turn(questions: Mapping[int, Callable[[], AnswerT]]) -> dict[int, AnswerT]:
    """One agent after the other."""
    return {agent: question() for agent, question in questions.items()}


@attrs.frozen
class AgentFailure:
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
class RemoteAgent:
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
    fault: AgentFailure | None = None


State = ValidState | RemoteAgent


@attrs.frozen(eq=False)
class MixedNetwork:
    """All agents of a network: those with a peer are asked, the others run the reference.

    A fault of an agent is kept in its state, and it is silent from then on.

    Implements: CF-20, CF-21, CF-22.
    """

    machine: Valid
    private: Mapping[int, Private]
    peers: Mapping[int, Peer]
    together: AskTogether = in_turn

    @property
    def rounds(self) -> int:
        """T + 4|V| - 1; with lean validation T + 2r + 2D + |V|."""
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
        if isinstance(state, RemoteAgent):
            return AgentLine(state.valid, state.alarms), state.model
        alarms = tuple(alarm_line(raised) for raised in state.memory.alarms)
        return AgentLine(not state.memory.invalid, alarms), self.machine.output(state)

    def _begin(self, agent: int) -> RemoteAgent:
        remote = RemoteAgent(agent, Conversation(self.peers[agent]))
        parameters, key = self.machine.parameters, self.private[agent].key
        request = "hello"
        try:
            remote = attrs.evolve(remote, talk=say_hello(self.peers[agent]))
            wanted = PAPER if parameters.lean is None else LEAN
            if wanted not in remote.talk.validations:
                raise OtherProtocolError(
                    f"its program, {remote.talk.name!r}, does not have the validation {wanted}",
                    clause="CF-20",
                )
            request = "start"
            remote.talk.start(parameters, agent, key)
        except AgentFault as fault:
            return _failed(remote, request, (START, 0), fault)
        except OtherProtocolError as error:
            raise OtherProtocolError(
                f"agent {agent}: {error.message}", clause=error.clause
            ) from None
        return remote

    def _speak(self, remote: RemoteAgent, number: int) -> tuple[RemoteAgent, Message]:
        """Y and the point, the gradient there, the message.

        Implements: CF-21.
        """
        if remote.fault is not None:
            return remote, None
        place = phase, within = self.place(number)
        parameters = self.machine.parameters
        dimension = parameters.lattice.dimension
        neighbours = parameters.graph.neighbours(remote.agent)
        gradient, request = None, "send"
        try:
            if phase == LEARNING and not remote.silent:
                request = "mix"
                point = self._point(remote.talk, number, dimension)
                with np.errstate(all="ignore"):
                    found = self.private[remote.agent].gradient(within, point)
                gradient, request = found.tolist(), "send"
            message, _lattice = remote.talk.send(number, gradient, dimension, neighbours)
        except AgentFault as fault:
            return _failed(remote, request, place, fault), None
        silent = remote.silent or (phase == LEARNING and message is None)
        return attrs.evolve(remote, silent=silent), message

    def _point(self, talk: Conversation, number: int, dimension: int) -> Any:
        """Where the agent wants its gradient."""
        Y, point = talk.mix(number)
        if (len(Y), len(point)) != (dimension, dimension):
            sizes = f"{len(Y)} and {len(point)}"
            raise wrong_form("CF-5", "Y and point", f"{dimension} entries each", sizes)
        return np.array(point, dtype=np.float64)

    def _hear(self, remote: RemoteAgent, number: int, inbox: Mapping[int, Message]) -> RemoteAgent:
        if remote.fault is not None:
            return remote
        try:
            alarms = remote.talk.receive(number, inbox)
        except AgentFault as fault:
            return _failed(remote, "receive", self.place(number), fault)
        return attrs.evolve(remote, alarms=remote.alarms + alarms)

    def _finish(self, remote: RemoteAgent) -> RemoteAgent:
        """The end; what does not fit to the replies before is a fault.

        Implements: CF-10, CF-22.
        """
        if remote.fault is not None:
            return remote
        try:
            valid, model, alarms = remote.talk.end()
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


def _remote(states: Mapping[int, State]) -> dict[int, RemoteAgent]:
    return {agent: state for agent, state in states.items() if isinstance(state, RemoteAgent)}


def _failed(
    remote: RemoteAgent, request: str, place: tuple[str, int], fault: AgentFault
) -> RemoteAgent:
    """The agent at fault; its peer is closed.

    Implements: CF-22.
    """
    last_words = remote.talk.peer.last_words()
    remote.talk.peer.close()
    failure = AgentFailure(
        agent=remote.agent,
        request=request,
        phase=place[0],
        round=place[1],
        kind=fault.kind.value,
        clause=fault.clause,
        what=fault.what,
        expected=fault.expected,
        found=fault.found,
        last_words=last_words,
    )
    return attrs.evolve(remote, fault=failure)


PAUSE = 0.02
"""Seconds between two looks at threads that are to end."""


@contextmanager
def processes(
    commands: Mapping[int, Sequence[str]], timeout: float
) -> Iterator[tuple[dict[int, ProcessPeer], AskTogether]]:
    """One process for every agent, and how they are asked; all are ended in every case.

    Every process has a thread that writes its request and waits for its answer, so that all
    work at the same time, however many processors there are.

    Implements: CF-21, CF-22.
    """
    peers = {agent: ProcessPeer(command, timeout) for agent, command in commands.items()}
    pool = ThreadPoolExecutor(max(1, len(peers)), thread_name_prefix="arena")
    pending: set[Future[Any]] = set()

    def together(questions: Mapping[int, Callable[[], AnswerT]]) -> dict[int, AnswerT]:
        futures = {agent: pool.submit(question) for agent, question in questions.items()}
        pending.update(futures.values())
        wait(futures.values(), return_when=FIRST_EXCEPTION)
        answers = {agent: future.result() for agent, future in futures.items()}
        pending.clear()
        return answers

    try:
        yield peers, together
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        while not all(future.done() for future in pending):
            for peer in peers.values():
                peer.kill()
            time.sleep(PAUSE)
        pool.shutdown()
        with ThreadPoolExecutor(max(1, len(peers))) as closing:
            list(closing.map(ProcessPeer.close, peers.values()))
