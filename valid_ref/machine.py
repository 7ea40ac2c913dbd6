"""Machines and the network: an agent is a pure function, a network is a fold.

The network delivers the messages of a round together and records every message on every
directed edge. An honest message is stored once for all its receivers.
"""

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Generic, Protocol, TypeVar, overload

import attrs
import numpy as np

from valid_ref.errors import ValidRefError
from valid_ref.foreign import refusing
from valid_ref.graph import AgentGraph
from valid_ref.wide import WideIntegers
from valid_ref.words import DEEPEST, Border, Message

__all__ = [
    "Addressed",
    "Adversary",
    "Agents",
    "CausalView",
    "Edge",
    "History",
    "Machine",
    "Message",
    "NetworkError",
    "PhaseResult",
    "Round",
    "count_scalars",
    "honest",
    "run_agents",
    "run_machine",
]

Edge = tuple[int, int]
"""(sender, receiver)."""

PrivateT = TypeVar("PrivateT", contravariant=True)
InputT = TypeVar("InputT")
StateT = TypeVar("StateT")
OtherT = TypeVar("OtherT")


class NetworkError(ValidRefError):
    """An adversary or a caller asks for something that the network does not have."""


@attrs.frozen
class Addressed:
    """What an agent says where some neighbours are told more than the others.

    `usual` goes to all neighbours but those in `to`.

    Implements: MO-4.
    """

    usual: Message
    to: Mapping[int, Message]


class Machine(Protocol[PrivateT, StateT]):
    """A protocol as one agent runs it: no clock, no randomness, no input or output inside.

    Implements: MO-5.
    """

    @property
    def rounds(self) -> int:
        """How many rounds it takes."""

    def place(self, round_number: int) -> tuple[str, int]:
        """The name of the phase that this round belongs to, and its number within the phase."""

    def start(self, agent: int, private: PrivateT) -> StateT:
        """The state before round 1; gradients, keys and coins come in as `private`."""

    def send(self, state: StateT, round_number: int) -> Message:
        """What the agent says in this round: to all its neighbours, `Addressed`, or None."""

    def receive(self, state: StateT, round_number: int, inbox: Mapping[int, Message]) -> StateT:
        """The state after this round; a neighbour that said nothing is not in `inbox`."""


class Agents(Protocol[StateT]):
    """All agents of a network, as the fold over its rounds asks them.

    That all are asked together lets agents outside of this process answer at the same time.
    """

    @property
    def rounds(self) -> int:
        """How many rounds they take."""

    def place(self, round_number: int) -> tuple[str, int]:
        """The name of the phase that this round belongs to, and its number within the phase."""

    def start(self) -> Mapping[int, StateT]:
        """The state of every agent before round 1."""

    def send(
        self, states: Mapping[int, StateT], round_number: int
    ) -> tuple[Mapping[int, StateT], Mapping[int, Message]]:
        """The states after speaking, and what every agent says to all, or `Addressed`."""

    def receive(
        self,
        states: Mapping[int, StateT],
        round_number: int,
        inboxes: Mapping[int, Mapping[int, Message]],
    ) -> Mapping[int, StateT]:
        """The states after this round."""


@attrs.frozen
class Round:
    """Everything that was said in one round.

    `said` has what each agent says to all its neighbours; `addressed` what honest code says on
    single edges instead; `deviations` what a Byzantine agent said on single edges instead of both.

    Implements: MO-4, MO-6.
    """

    phase: str
    number: int
    said: Mapping[int, Message]
    deviations: Mapping[Edge, Message]
    addressed: Mapping[Edge, Message] = attrs.field(factory=dict)

    def on_edge(self, sender: int, receiver: int) -> Message:
        """The message delivered on a directed edge; None if nothing was."""
        edge = sender, receiver
        if edge in self.deviations:
            return self.deviations[edge]
        return self.addressed[edge] if edge in self.addressed else self.said[sender]

    def inbox(self, graph: AgentGraph, receiver: int) -> dict[int, Message]:
        """What an agent receives, by sender; a neighbour that said nothing is left out."""
        senders = graph.neighbours(receiver)
        if self.deviations or self.addressed:
            heard = {sender: self.on_edge(sender, receiver) for sender in senders}
        else:
            heard = {sender: self.said[sender] for sender in senders}
        return {sender: message for sender, message in heard.items() if message is not None}


class History(Sequence[Round]):
    """The rounds so far, read-only, without a copy for every round."""

    def __init__(self, rounds: list[Round]) -> None:
        self._rounds = rounds
        self._length = len(rounds)

    @overload
    def __getitem__(self, index: int) -> Round: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Round, ...]: ...
    def __getitem__(self, index: int | slice) -> Round | tuple[Round, ...]:
        positions = range(self._length)[index]
        if isinstance(positions, range):
            return tuple(self._rounds[position] for position in positions)
        return self._rounds[positions]

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[Round]:
        return (self._rounds[position] for position in range(self._length))


@attrs.frozen
class CausalView:
    """What the adversary sees before it speaks in a round.

    `said` and `addressed` have this round's honest messages, as in `Round`, and for the Byzantine
    agents what honest code would say in their place; `byzantine_states` are the states of that
    code.

    Implements: AD-2, AD-3.
    """

    graph: AgentGraph
    byzantine: frozenset[int]
    phase: str
    round: int
    said: Mapping[int, Message]
    history: Sequence[Round]
    byzantine_states: Mapping[int, object]
    addressed: Mapping[Edge, Message] = attrs.field(factory=dict)

    def on_edge(self, sender: int, receiver: int) -> Message:
        """What honest code says on this edge in this round."""
        edge = sender, receiver
        return self.addressed[edge] if edge in self.addressed else self.said[sender]

    @property
    def own_edges(self) -> tuple[Edge, ...]:
        """The directed edges that leave a Byzantine agent, sorted."""
        senders = sorted(self.byzantine)
        return tuple((sender, u) for sender in senders for u in self.graph.neighbours(sender))


Adversary = Callable[[CausalView], Mapping[Edge, Message]]
"""What Byzantine agents say instead of what honest code would; an edge left out is unchanged."""


def honest(_view: CausalView) -> Mapping[Edge, Message]:
    """The adversary that never deviates."""
    return {}


@attrs.frozen
class PhaseResult(Generic[OtherT]):
    """The states of all agents after a phase, and what was said in it.

    `history` has the states before round 1 and after every round, if they were asked for.
    """

    states: Mapping[int, OtherT]
    rounds: tuple[Round, ...]
    history: tuple[Mapping[int, OtherT], ...] = ()


def run_machine(
    graph: AgentGraph,
    machine: Machine[PrivateT, StateT],
    private: Mapping[int, PrivateT],
    *,
    byzantine: frozenset[int] = frozenset(),
    adversary: Adversary = honest,
    watch: Callable[[int], None] | None = None,
    keep_states: bool = False,
) -> PhaseResult[StateT]:
    """Run one machine at every agent, from start to its last round.

    `watch` is told each finished round, for a progress display; it cannot influence the run.
    With `keep_states` the result has the states of every round.

    Implements: MO-3, MO-6, AD-1.
    """
    inputs = {agent: private[agent] for agent in range(graph.agents)}
    agents = _SameMachine(machine, inputs)
    return run_agents(
        graph,
        agents,
        byzantine=byzantine,
        adversary=adversary,
        watch=watch,
        keep_states=keep_states,
    )


@attrs.frozen
class _SameMachine(Generic[InputT, StateT]):
    """Agents that all run one machine in this process; speaking changes no state."""

    machine: Machine[InputT, StateT]
    private: Mapping[int, InputT]

    @property
    def rounds(self) -> int:
        return self.machine.rounds

    def place(self, round_number: int) -> tuple[str, int]:
        return self.machine.place(round_number)

    def start(self) -> Mapping[int, StateT]:
        return {agent: self.machine.start(agent, own) for agent, own in self.private.items()}

    def send(
        self, states: Mapping[int, StateT], round_number: int
    ) -> tuple[Mapping[int, StateT], Mapping[int, Message]]:
        said = {agent: self.machine.send(state, round_number) for agent, state in states.items()}
        return states, said

    def receive(
        self,
        states: Mapping[int, StateT],
        round_number: int,
        inboxes: Mapping[int, Mapping[int, Message]],
    ) -> Mapping[int, StateT]:
        return {
            agent: self.machine.receive(state, round_number, inboxes[agent])
            for agent, state in states.items()
        }


def run_agents(
    graph: AgentGraph,
    agents: Agents[StateT],
    *,
    byzantine: frozenset[int] = frozenset(),
    adversary: Adversary = honest,
    watch: Callable[[int], None] | None = None,
    keep_states: bool = False,
) -> PhaseResult[StateT]:
    """The fold over the rounds, whoever the agents are; see `run_machine`.

    Implements: MO-3, MO-6, AD-1.
    """
    _check_byzantine(graph, byzantine)
    states = agents.start()
    rounds: list[Round] = []
    shown: list[Round] = []
    border = Border()
    history = [states] if keep_states else []
    for number in range(1, agents.rounds + 1):
        phase, within = agents.place(number)
        states, spoken_by = agents.send(states, number)
        said, addressed = by_edge(spoken_by)
        deviations: Mapping[Edge, Message] = {}
        if byzantine:
            own_states = {agent: states[agent] for agent in sorted(byzantine)}
            view = CausalView(
                graph=graph,
                byzantine=byzantine,
                phase=phase,
                round=within,
                said=border.words(said),
                history=History(shown),
                byzantine_states=border.states(own_states),
                addressed=border.words(addressed),
            )
            deviations = border.hear(_deviations(view, adversary))
            heard = border.words(deviations)
            shown.append(Round(phase, within, view.said, heard, view.addressed))
        spoken = Round(phase, within, MappingProxyType(said), deviations, addressed)
        inboxes = {agent: spoken.inbox(graph, agent) for agent in range(graph.agents)}
        states = agents.receive(states, number, inboxes)
        rounds.append(spoken)
        if keep_states:
            history.append(states)
        if watch is not None:
            watch(number)
    return PhaseResult(states, tuple(rounds), tuple(history))


def by_edge(
    spoken: Mapping[int, Message],
) -> tuple[Mapping[int, Message], Mapping[Edge, Message]]:
    """What each agent says to all its neighbours, and what it says on single edges instead.

    Implements: MO-4.
    """
    apart = {v: word for v, word in spoken.items() if type(word) is Addressed}
    if not apart:
        return spoken, {}
    said = {v: apart[v].usual if v in apart else word for v, word in spoken.items()}
    return said, {(v, u): word for v, one in apart.items() for u, word in one.to.items()}


def _check_byzantine(graph: AgentGraph, byzantine: frozenset[int]) -> None:
    unknown = sorted(agent for agent in byzantine if not 0 <= agent < graph.agents)
    if unknown:
        raise NetworkError(
            f"Byzantine agents {unknown} are not among 0..{graph.agents - 1}", clause="AD-1"
        )
    if len(byzantine) == graph.agents:
        raise NetworkError("no honest agent is left", clause="AD-1")


def _deviations(view: CausalView, adversary: Adversary) -> Mapping[Edge, object]:
    """Ask the adversary; refuse words on an edge that is not a Byzantine agent's own.

    Implements: AD-4.
    """
    shown = attrs.evolve(view, graph=copy.deepcopy(view.graph))
    called = f"the adversary, in round {view.round} of {view.phase}, raises"
    with refusing(NetworkError, called, clause="AD-4"):
        said = adversary(shown)
    if type(said) is not dict:
        raise NetworkError("an adversary answers with a dict of edges and words", clause="AD-4")
    agents = range(view.graph.agents)
    for edge in said:
        if type(edge) is not tuple or len(edge) != 2:
            raise NetworkError("the adversary speaks on something that is no edge", clause="AD-4")
        sender, receiver = edge
        if not all(type(agent) is int and agent in agents for agent in edge):
            raise NetworkError("the adversary speaks on an edge without agents", clause="AD-4")
        if sender not in view.byzantine or receiver not in view.graph.neighbours(sender):
            raise NetworkError(
                f"the adversary speaks on edge ({sender}, {receiver}), which does not leave a "
                f"Byzantine agent (Byzantine: {sorted(view.byzantine)})",
                clause="AD-4",
            )
    return dict(said)


def count_scalars(message: Message, depth: int = 0) -> int:  # noqa: PLR0911 - one per kind
    """How many numbers a message holds; tags and silence count nothing.

    What is nested deeper than any word counts as one.
    """
    if message is None:
        return 0
    if isinstance(message, np.ndarray):
        return int(message.size)
    if isinstance(message, WideIntegers):
        return len(message)
    if depth == DEEPEST:
        return 1
    if isinstance(message, Mapping):
        return sum(count_scalars(value, depth + 1) for value in message.values())
    if isinstance(message, tuple | list):
        if {*map(type, message)} <= {int}:
            return len(message)
        return sum(count_scalars(item, depth + 1) for item in message)
    kind = type(message)
    if attrs.has(kind):
        fields = attrs.fields(kind)
        return sum(count_scalars(getattr(message, field.name), depth + 1) for field in fields)
    return 1
