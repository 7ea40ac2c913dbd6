"""Gossip: every model counts, as in VALID with the step a_t, or clipped with Metropolis weights."""

import math
from typing import ClassVar

import attrs
import torch
from torch import Tensor

from torch_backend import lattice
from torch_backend.options import real
from torch_backend.rules.rule import Losses, Received, Rule, models_of
from torch_backend.rules.screening import DOUBTFUL, Distances, distances_of
from valid_ref.graph import AgentGraph
from valid_ref.lattice import LatticeParameters


def mix(
    parameters: LatticeParameters,
    t: int,
    graph: AgentGraph,
    received: Received,
    points: Tensor | None = None,
) -> Tensor:
    """Y = 2^k x_v + a_t sum_u (x_u - x_v) of the models that were received, edge by edge.

    Room for the points of evaluation, [A, d], is filled on the way.

    Implements: LM-2, AR-4.
    """
    own, said = received.own, received.said
    Y = lattice.mix(
        parameters=parameters,
        t=t,
        graph=graph,
        agents=received.agents,
        own=own,
        said=said,
        points=points,
    )
    position = {agent: index for index, agent in enumerate(received.agents)}
    changed = [edge for edge in received.edges if edge[1] in position]
    for sender, receiver in changed:
        change = received.edges[sender, receiver] - said[sender]
        Y[position[receiver]].add_(change, alpha=parameters.schedule.a(t))
    if points is not None:
        for row in {position[receiver] for _sender, receiver in changed}:
            again = lattice.evaluation_points(parameters, Y[row : row + 1], points.dtype)
            points[row : row + 1] = again
    return Y


@attrs.frozen
class ValidRule(Rule):
    """Y = 2^k x_v + a_t sum_u (x_u - x_v), and the gradient at that point.

    Implements: LM-2, AR-4.
    """

    kind: ClassVar[str] = "valid"

    def mix(
        self,
        t: int,
        parameters: LatticeParameters,
        graph: AgentGraph,
        received: Received,
        losses: Losses | None,  # noqa: ARG002 - the protocol of rules
    ) -> tuple[Tensor, Tensor]:
        """Y twice: the base is the point of evaluation."""
        Y = mix(parameters, t, graph, received)
        return Y, Y


@attrs.frozen
class ClippedGossip(Rule):
    """x_i + sum_j W_ij clip(x_j - x_i, tau), clip(z) = min(1, tau / |z|) z, W Metropolis.

    W_ij = 1 / (1 + max(deg i, deg j)), rounded to an integer over 2^k. A difference within the
    radius enters exactly; a longer one is scaled in float64 by a factor made from its exact
    length, and rounded to the lattice, half to even.
    """

    kind: ClassVar[str] = "clipped-gossip"
    tau: float = attrs.field(default=1.0, validator=real(0, above=True))

    def mix(
        self,
        t: int,  # noqa: ARG002 - the protocol of rules
        parameters: LatticeParameters,
        graph: AgentGraph,
        received: Received,
        losses: Losses | None,  # noqa: ARG002 - the protocol of rules
    ) -> tuple[Tensor, Tensor]:
        """The mixed models twice: the base is the point of evaluation."""
        bits, radius = parameters.precision.step_bits, self._radius(parameters)
        Y = received.own << bits
        models = models_of(graph, received)
        pulls = [
            (own, sent)
            for own, heard in zip(models.own, models.heard, strict=True)
            for sent in heard
        ]
        distances = distances_of(models.rows, pulls)
        for position, receiver in enumerate(received.agents):
            own = models.own[position]
            for sender, sent in zip(
                graph.neighbours(receiver), models.heard[position], strict=True
            ):
                pull = clipped(distances, sent, own, radius)
                Y[position].add_(pull, alpha=metropolis(graph, sender, receiver, bits))
        return Y, Y

    def _radius(self, parameters: LatticeParameters) -> float:
        return math.ldexp(self.tau, parameters.precision.fraction_bits)


def metropolis(graph: AgentGraph, u: int, v: int, bits: int) -> int:
    """2^k / (1 + max(deg u, deg v)), rounded half to even."""
    return round((1 << bits) / (1 + max(graph.degree(u), graph.degree(v))))


def clipped(distances: Distances, model: int, own: int, radius: float) -> Tensor:
    """model - own, by their numbers, drawn in to the radius (in lattice units) if it is longer."""
    difference = distances.rows[model] - distances.rows[own]
    # Where float64 is sure that the length is within the radius, nothing is clipped.
    if distances.near(model, own) <= radius * radius * (1 - DOUBTFUL):
        return difference
    length = math.sqrt(distances.exact(model, own))
    if length <= radius:
        return difference
    return torch.round(difference.double() * (radius / length)).long()
