"""The plain rule of Valid: every model that was received counts, with the step a_t."""

from typing import ClassVar

import attrs
from torch import Tensor

from torch_backend import lattice
from torch_backend.rules.rule import Losses, Received
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
    Y = lattice.mix(parameters, t, graph, received.agents, own, said, points)
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
class Plain:
    """Y = 2^k x_v + a_t sum_u (x_u - x_v), and the gradient at that point.

    Implements: LM-2, AR-4.
    """

    kind: ClassVar[str] = "valid"

    def check(self, graph: AgentGraph) -> None:
        """Any graph will do."""

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

    @property
    def needs_losses(self) -> bool:
        """No loss is looked at."""
        return False
