"""What an attack sees in a round of learning, and what it may change."""

from collections.abc import Mapping
from typing import ClassVar, Protocol

import attrs
from torch import Tensor

from valid_ref.graph import AgentGraph, honest_agents
from valid_ref.lattice import LatticeParameters

Edge = tuple[int, int]
"""Sender and receiver."""


@attrs.frozen(eq=False)
class View:
    """Round t before it is delivered: the adversary sees what everybody's honest code says.

    All tensors are int64 [n, d]. `previous` are the models with which everybody's code entered
    the round; `previous_edges` what went over a Byzantine agent's edge in round t-1 where that
    was not `previous` of the sender. `mixed` is Y, needed in the rows of Byzantine agents only;
    `models` and `gammas` are the messages of round t that honest code makes of it.
    """

    t: int
    graph: AgentGraph
    byzantine: tuple[int, ...]
    parameters: LatticeParameters
    seed: int
    previous: Tensor
    mixed: Tensor
    models: Tensor
    gammas: Tensor
    previous_edges: Mapping[Edge, Tensor] = attrs.field(factory=dict)

    @property
    def honest(self) -> tuple[int, ...]:
        """The other agents, sorted."""
        return honest_agents(self.graph, self.byzantine)


@attrs.frozen(eq=False)
class Deviation:
    """What Byzantine agents do instead; whatever is not named here stays as honest code has it.

    `said` is (model, Gamma) to all neighbours, `edges` to one of them, and `silent` are edges on
    which nothing is sent: the receiver goes on with zeros and alarms (LM-4, MO-8). `keeps` is the
    model with which an agent's own code enters the next round. Everything is in range (AR-10).
    """

    said: Mapping[int, tuple[Tensor, Tensor]] = attrs.field(factory=dict)
    edges: Mapping[Edge, tuple[Tensor, Tensor]] = attrs.field(factory=dict)
    keeps: Mapping[int, Tensor] = attrs.field(factory=dict)
    silent: frozenset[Edge] = frozenset()


class Attack(Protocol):
    """A way to deviate; the fields are the options."""

    kind: ClassVar[str]

    def check(self, graph: AgentGraph, byzantine: tuple[int, ...]) -> None:
        """Refuse a graph or a Byzantine set that the attack cannot use (AttackError)."""

    def deviate(self, view: View) -> Deviation:
        """What the Byzantine agents do in this round: a pure function of the view."""

    def labels(self, labels: Tensor, classes: int) -> Tensor:
        """The labels on which a Byzantine agent trains; the true ones for most attacks."""
