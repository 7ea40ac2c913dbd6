"""What the engine asks of a rule, what a rule is given, and the sets of models it screens."""

import abc
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Protocol

import attrs
import torch
from torch import Tensor

from torch_backend.errors import ScreeningError
from torch_backend.kernels import empty_tensor
from valid_ref.graph import AgentGraph
from valid_ref.lattice import LatticeParameters
from valid_ref.named_parts import asking

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
    """How models are combined before the gradient step; the fields are the options.

    A class derived from this writes `mix`, and the others where they are not as here.
    """

    @property
    def needs_losses(self) -> bool:
        """Whether `mix` evaluates candidates on the receiver's batch."""
        return False

    def check(self, graph: AgentGraph) -> None:  # noqa: ARG002 - for other rules
        """Refuse a graph in which an agent receives too few models (ScreeningError)."""
        return

    @abc.abstractmethod
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
        even. Both are in the range of models, times 2^k. `losses` is given to rules whose
        `needs_losses` is true, and may be None otherwise.
        """


def check_rule(rule: Rule, graph: AgentGraph) -> None:
    """Let a rule refuse a graph.

    Implements: EX-20.
    """
    with asking(rule, "check(graph)", ScreeningError, clause="EX-20"):
        rule.check(graph)


def asks_for_losses(rule: Rule) -> bool:
    """Whether `mix` of this rule evaluates candidates.

    Implements: EX-20.
    """
    with asking(rule, "needs_losses", ScreeningError, clause="EX-20"):
        return bool(rule.needs_losses)


Sources = tuple[Hashable, ...]
"""Where the models of a set come from; equal sources are equal sets in the same order."""


def screened(
    graph: AgentGraph, received: Received, position: int, *, own: bool
) -> tuple[Sources, list[Tensor]]:
    """The models that one receiver screens, in the order of agents' numbers, own among them.

    In a clique all members receive the same set, so that the source of a model is the sender
    alone unless it sent this receiver something of its own.
    """
    receiver = received.agents[position]
    sources: list[Hashable] = []
    rows: list[Tensor] = []
    members = (*graph.neighbours(receiver), receiver) if own else graph.neighbours(receiver)
    for agent in sorted(members):
        if agent == receiver:
            row = received.own[position]
            shared = same_vector(row, received.said[agent])
            row = received.said[agent] if shared else row
        else:
            row = received.model(agent, receiver)
            shared = (agent, receiver) not in received.edges
        sources.append(agent if shared else (agent, receiver))
        rows.append(row)
    return tuple(sources), rows


def same_vector(first: Tensor, second: Tensor) -> bool:
    """Whether two vectors are one in memory, or equal."""
    return first.data_ptr() == second.data_ptr() or torch.equal(first, second)


def for_each_receiver(
    graph: AgentGraph, received: Received, rule: Callable[[list[Tensor]], Tensor], *, own: bool
) -> Tensor:
    """[A, d]: the rule applied to the set of every receiver, once for each different set."""
    result = empty_tensor(received.own.shape, received.own.dtype, received.own.device)
    done: dict[Sources, int] = {}
    for position in range(len(received.agents)):
        sources, rows = screened(graph, received, position, own=own)
        earlier = done.setdefault(sources, position)
        result[position] = rule(rows) if earlier == position else result[earlier]
    return result


def require(graph: AgentGraph, needed: int, what: str, *, own: bool) -> None:
    """Refuse a graph in which an agent screens fewer models than needed."""
    for agent in range(graph.agents):
        count = graph.degree(agent) + own
        if count < needed:
            raise ScreeningError(
                f"{what} needs {needed} models to screen; agent {agent} has {count}, "
                f"{'its own included' if own else 'its own not counted'}"
            )
