"""What the engine asks of a rule, what a rule is given, and the sets of models it screens."""

import abc
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import attrs
from torch import Tensor

from torch_backend.errors import ScreeningError
from torch_backend.kernels import empty_tensor, rows_of
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
    `apart` are the agents whose own model may be another than they said; None where nobody knows.
    """

    agents: tuple[int, ...]
    own: Tensor
    said: Tensor
    edges: Mapping[tuple[int, int], Tensor] = attrs.field(factory=dict)
    apart: frozenset[int] | None = None

    def alike(self) -> list[bool]:
        """For every receiver whether its own model is the one that it said to all."""
        if self.apart is not None:
            return [agent not in self.apart for agent in self.agents]
        said = rows_of(self.said, self.agents)
        return [*(self.own == said).all(dim=1).tolist()]

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


@attrs.frozen(eq=False)
class Models:
    """All different models that the receivers of a shard have or got, each once.

    `rows` begin with what was said to all, one for each agent; `own` and `heard` say for every
    receiver which of them are its own and those of its neighbours, in their order.
    """

    rows: Sequence[Tensor]
    own: tuple[int, ...]
    heard: tuple[tuple[int, ...], ...]

    def screened(self, graph: AgentGraph, received: Received, position: int) -> tuple[int, ...]:
        """The models of a receiver, its own among them, in the order of agents' numbers."""
        receiver = received.agents[position]
        near = dict(zip(graph.neighbours(receiver), self.heard[position], strict=True))
        found = near | {receiver: self.own[position]}
        return tuple(found[agent] for agent in sorted(found))


def models_of(graph: AgentGraph, received: Received) -> Models:
    """Which models there are.

    In a clique all members receive the same, so that equal tuples of numbers are equal sets.
    """
    rows, numbers = list(received.said), {}
    for edge, row in received.edges.items():
        numbers[edge] = len(rows)
        rows.append(row)
    own = []
    for agent, alike, row in zip(received.agents, received.alike(), received.own, strict=True):
        own.append(agent if alike else len(rows))
        if not alike:
            rows.append(row)
    heard = tuple(
        tuple(numbers.get((sender, v), sender) for sender in graph.neighbours(v))
        for v in received.agents
    )
    return Models(rows, tuple(own), heard)


def for_each_receiver(
    graph: AgentGraph,
    received: Received,
    rule: Callable[[list[Tensor]], Tensor],
    *,
    own: bool,
) -> Tensor:
    """[A, d]: the rule applied to the set of every receiver, once for each different set."""
    models = models_of(graph, received)
    return for_each_set(
        received,
        sets_of(graph, received, models, own=own),
        lambda s: rule([models.rows[i] for i in s]),
    )


def sets_of(
    graph: AgentGraph, received: Received, models: Models, *, own: bool
) -> list[tuple[int, ...]]:
    """For every receiver the numbers of the models that it screens, in the order of agents."""
    if not own:
        return list(models.heard)
    return [models.screened(graph, received, i) for i in range(len(received.agents))]


def for_each_set(
    received: Received,
    sets: Sequence[tuple[int, ...]],
    rule: Callable[[tuple[int, ...]], Tensor],
) -> Tensor:
    """[A, d]: the rule applied to the numbers of every receiver, once for each different set."""
    result = empty_tensor(received.own.shape, received.own.dtype, received.own.device)
    done: dict[tuple[int, ...], int] = {}
    for position, numbers in enumerate(sets):
        earlier = done.setdefault(numbers, position)
        result[position] = rule(numbers) if earlier == position else result[earlier]
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
