"""Rows of integers: how a case is read, and how states and alarms are written.

A list begins with its length, what may be missing with 1 or 0.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Generic, TypeVar

import attrs
import numpy as np

from valid_ref.alarms import Alarm, Alarms
from valid_ref.graph import AgentGraph
from valid_ref.lattice import IntVector
from valid_ref.machine import CausalView, Edge, Machine, Message, run_machine

REASONS = {
    Alarm.MISSING_MESSAGE: 0,
    Alarm.MALFORMED_MESSAGE: 1,
    Alarm.UNKNOWN_TAG: 2,
    Alarm.MALFORMED_VALUE: 3,
    Alarm.DIFFERENT_VALUE: 4,
    Alarm.NO_VALUE: 5,
    Alarm.NEIGHBOUR_ALARM: 6,
    Alarm.OUT_OF_RANGE: 9,
    Alarm.OWN_UPDATE_OUT_OF_RANGE: 10,
    Alarm.MODEL_NORM: 11,
    Alarm.GRADIENT_NORM: 12,
    Alarm.INCONSISTENT_HASHES: 13,
    Alarm.BROKEN_RELATION: 14,
    Alarm.SELF_MISMATCH: 15,
    Alarm.INCONSISTENT_ESTIMATES: 16,
    Alarm.SELF_ESTIMATE_MISMATCH: 17,
    Alarm.NOT_OPTIMAL: 18,
    Alarm.TOO_OPTIMAL: 19,
    Alarm.TOO_HETEROGENEOUS: 20,
    Alarm.TOO_HOMOGENEOUS: 21,
}
"""The numbers of `reason_code` in Agreement.v."""

ItemT = TypeVar("ItemT")
StateT = TypeVar("StateT")
PrivateT = TypeVar("PrivateT", contravariant=True)


class Row:
    """Reads a row of integers from the front."""

    def __init__(self, numbers: Iterable[int]) -> None:
        self._numbers = iter(numbers)

    def number(self) -> int:
        """The next number."""
        return next(self._numbers)

    def flag(self) -> bool:
        """The next number as a boolean."""
        return self.number() == 1

    def items(self, read: Callable[[], ItemT]) -> list[ItemT]:
        """A list: its length, then its items."""
        return [read() for _ in range(self.number())]

    def vector(self) -> IntVector:
        """A list of numbers as an array."""
        return np.array(self.items(self.number), dtype=np.int64)

    def maybe(self) -> int | None:
        """A number or nothing."""
        return self.number() if self.flag() else None

    def graph(self) -> AgentGraph:
        """A graph by its neighbour lists."""
        lists = self.items(lambda: self.items(self.number))
        edges = [(v, u) for v, row in enumerate(lists) for u in row if v < u]
        return AgentGraph.from_edges(len(lists), edges)


@attrs.define
class Recorded(Generic[PrivateT, StateT]):
    """A machine that also writes down every state of every agent."""

    machine: Machine[PrivateT, StateT]
    states: list[StateT] = attrs.field(factory=list)

    @property
    def rounds(self) -> int:
        """As the machine says."""
        return self.machine.rounds

    def place(self, round_number: int) -> tuple[str, int]:
        """As the machine says."""
        return self.machine.place(round_number)

    def start(self, agent: int, private: PrivateT) -> StateT:
        """Record the state before round 1."""
        self.states.append(self.machine.start(agent, private))
        return self.states[-1]

    def send(self, state: StateT, round_number: int) -> Message:
        """As the machine says."""
        return self.machine.send(state, round_number)

    def receive(self, state: StateT, round_number: int, inbox: Mapping[int, Message]) -> StateT:
        """Record the state after the round."""
        self.states.append(self.machine.receive(state, round_number, inbox))
        return self.states[-1]


def every_state(
    graph: AgentGraph,
    machine: Machine[PrivateT, StateT],
    private: Mapping[int, PrivateT],
    honest: Sequence[bool],
    said: Mapping[tuple[int, int, int], Message],
) -> list[StateT]:
    """All states of all agents, round by round, when Byzantine agents say this and else nothing."""
    recorded = Recorded(machine)

    def adversary(view: CausalView) -> Mapping[Edge, Message]:
        r = len(view.history) + 1
        return {(u, v): said.get((r, u, v)) for u in view.byzantine for v in graph.neighbours(u)}

    byzantine = frozenset(v for v in range(graph.agents) if not honest[v])
    run_machine(graph, recorded, private, byzantine=byzantine, adversary=adversary)
    return recorded.states


def write_option(value: object) -> list[int]:
    """A number or nothing."""
    return [0] if value is None else [1, value] if isinstance(value, int) else [-1]


def write_alarms(alarms: Alarms, position: Mapping[object, int]) -> list[int]:
    """Alarms: reason, round, sender, and what they are about by its position."""
    row = [len(alarms)]
    for raised in alarms:
        sender = 0 if raised.sender is None else raised.sender + 1
        about = 0 if raised.about is None else position[raised.about] + 1
        row += [REASONS[raised.alarm], raised.round, sender, about]
    return row


def read_edge(row: Row, message: Callable[[], Message]) -> tuple[tuple[int, int, int], Message]:
    """Round, sender, receiver, and what is said."""
    return (row.number(), row.number(), row.number()), message()


def write_vector(v: IntVector) -> list[int]:
    """A vector."""
    return [len(v), *v.tolist()]
