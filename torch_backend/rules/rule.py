"""What the engine asks of a rule, and what a rule is given."""

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, Protocol

import attrs
from torch import Tensor

from valid_ref.graph import AgentGraph
from valid_ref.lattice import LatticeParameters

Losses = Callable[[Sequence[int], Tensor], Tensor]
"""Positions of receivers in `Received.agents`, and real candidate points [C, M, d] in float32:
their mean losses [C, M] on the receivers' own batches of this round."""


@attrs.frozen(eq=False)
class Received:
    """The models of round t-1 as the agents of one shard received them, int64 in units 2^-f.

    `own` has one row per receiver; `said` one per agent of the whole network: what it said to
    all. `edges` holds what went over an edge (sender, receiver) where that was something else.
    """

    agents: tuple[int, ...]
    own: Tensor
    said: Tensor
    edges: Mapping[tuple[int, int], Tensor] = attrs.field(factory=dict)

    def model(self, sender: int, receiver: int) -> Tensor:
        """What a receiver got from a sender, [d]."""
        deviating = self.edges.get((sender, receiver))
        return self.said[sender] if deviating is None else deviating

    def rows(self, graph: AgentGraph, position: int) -> list[Tensor]:
        """The models that the receiver at a position got, in the order of its neighbours."""
        receiver = self.agents[position]
        return [self.model(sender, receiver) for sender in graph.neighbours(receiver)]


class Rule(Protocol):
    """How models are combined before the gradient step; the fields are the options."""

    kind: ClassVar[str]

    def check(self, graph: AgentGraph) -> None:
        """Refuse a graph in which an agent receives too few models (ScreeningError)."""

    def mix(
        self,
        t: int,
        parameters: LatticeParameters,
        graph: AgentGraph,
        received: Received,
        losses: Losses | None,
    ) -> tuple[Tensor, Tensor]:
        """(Y, E): the base and the point of evaluation, int64 [A, d] in units 2^-(f+k).

        The engine takes the gradient G at E and goes on with round((Y - A_t G) / 2^k), half to
        even. `losses` is given to rules whose `needs_losses` is true, and may be None otherwise.
        """

    @property
    def needs_losses(self) -> bool:
        """Whether `mix` evaluates candidates on the receiver's batch."""
