"""The sets of models that agents screen, each computed once however many agents share it."""

from collections.abc import Callable, Hashable

import torch
from torch import Tensor

from torch_backend.errors import ScreeningError
from torch_backend.fast import room
from torch_backend.rules.rule import Received
from valid_ref.graph import AgentGraph

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
    result = room(received.own.shape, received.own.dtype, received.own.device)
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
