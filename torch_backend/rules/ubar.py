"""UBAR: the nearest models, of these the ones that do well on the own batch, and their mean."""

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import ClassVar, Literal

import attrs
import torch
from torch import Tensor

from torch_backend.errors import ScreeningError
from torch_backend.options import one_of, real
from torch_backend.rules.exact import (
    ascending,
    check_scale,
    exact_squared_distance,
    scaled_mean,
    share_of,
    squared_distance,
)
from torch_backend.rules.neighbourhood import same_vector
from torch_backend.rules.rule import Losses, Received
from valid_ref.graph import AgentGraph
from valid_ref.lattice import LatticeParameters

EVALUATED = 1 << 25
"""Entries of candidate models that are evaluated at once."""


@attrs.frozen
class Ubar:
    """mixing x_i + (1 - mixing) mean(N^r), and the gradient at x_i.

    N^s are the `count` nearest neighbours in Euclidean distance (of equals the lowest-numbered),
    N^r those of N^s whose loss on the receiver's batch is at most its own; where there are none,
    the `fallback` of N^s: the one of least loss, or the nearest. `count`: max1 =
    max(1, floor(rho deg)), floor, ceil. The sum is exact, `mixing` being an integer over 2^k and
    the mean a fraction rounded half to even; losses are float32 and a NaN among them is never
    good enough.

    Implements: EX-9.
    """

    kind: ClassVar[str] = "ubar"
    rho: float = attrs.field(default=0.4, validator=real(0, 1, above=True))
    mixing: float = attrs.field(default=0.5, validator=real(0, 1))
    count: Literal["max1", "floor", "ceil"] = attrs.field(
        default="max1", validator=one_of("max1", "floor", "ceil")
    )
    fallback: Literal["min_loss", "nearest"] = attrs.field(
        default="min_loss", validator=one_of("min_loss", "nearest")
    )

    @property
    def needs_losses(self) -> bool:
        """Candidates are evaluated on the receiver's batch."""
        return True

    def candidates(self, degree: int) -> int:
        """How many of so many neighbours are looked at."""
        share = share_of(self.rho, degree)
        if self.count == "ceil":
            return math.ceil(share)
        return max(math.floor(share), 1 if self.count == "max1" else 0)

    def check(self, graph: AgentGraph) -> None:
        """Refuse a graph in which `floor` leaves an agent without a candidate."""
        for agent in range(graph.agents):
            if self.candidates(graph.degree(agent)) == 0:
                raise ScreeningError(
                    f"ubar with count = floor: {self.rho:g} of the {graph.degree(agent)} "
                    f"neighbours of agent {agent} are none"
                )

    def mix(
        self,
        t: int,  # noqa: ARG002 - the protocol of rules
        parameters: LatticeParameters,
        graph: AgentGraph,
        received: Received,
        losses: Losses | None,
    ) -> tuple[Tensor, Tensor]:
        """(Y, 2^k own): the mean of the chosen models mixed in, and the own model."""
        self.check(graph)
        check_scale(parameters, graph.max_degree + 1)
        if losses is None:
            raise ScreeningError("ubar cannot screen without the losses of the candidates")
        bits, scale = parameters.precision.step_bits, parameters.precision.fraction_bits
        weight = round(math.ldexp(self.mixing, bits))
        near = self._nearest(graph, received)
        E = received.own << bits
        Y = received.own * weight
        for positions in _chunks(near, parameters.dimension):
            points = torch.stack(
                [_real(torch.stack([received.own[p], *near[p]]), scale) for p in positions]
            )
            found = losses(positions, points).double().tolist()
            for position, (own, *others) in zip(positions, found, strict=True):
                good = self.accepted(own, others)
                total = sum((near[position][i] for i in good[1:]), start=near[position][good[0]])
                Y[position].add_(scaled_mean(total, len(good), (1 << bits) - weight))
        return Y, E

    def accepted(self, own: float, others: Sequence[float]) -> list[int]:
        """The positions of N^r in N^s, which is in the order of distance, nearest first."""
        good = [i for i, loss in enumerate(others) if loss <= own]
        if good:
            return good
        if self.fallback == "nearest":
            return [0]
        comparable = [math.inf if math.isnan(loss) else loss for loss in others]
        return [comparable.index(min(comparable))]

    def _nearest(self, graph: AgentGraph, received: Received) -> list[list[Tensor]]:
        """N^s of every receiver, nearest first."""
        known: dict[tuple[int, int], float] = {}
        nearest = []
        for position, receiver in enumerate(received.agents):
            own, rows = received.own[position], received.rows(graph, position)
            plain = same_vector(own, received.said[receiver])
            distances = []
            for sender, row in zip(graph.neighbours(receiver), rows, strict=True):
                # Between two agents that said what they have, the distance is one for both.
                pair = (min(sender, receiver), max(sender, receiver))
                shared = plain and (sender, receiver) not in received.edges
                found = known.get(pair) if shared else None
                distance = squared_distance(row, own) if found is None else found
                if shared:
                    known[pair] = distance
                distances.append(distance)

            def exactly(i: int, own: Tensor = own, rows: Sequence[Tensor] = rows) -> int:
                return exact_squared_distance(rows[i], own)

            order = ascending(distances, exactly)
            nearest.append([rows[i] for i in order[: self.candidates(len(rows))]])
        return nearest


def _real(models: Tensor, fraction_bits: int) -> Tensor:
    return (models.double() * 2.0**-fraction_bits).float()


def _chunks(near: Sequence[Sequence[Tensor]], dimension: int) -> Iterator[list[int]]:
    """Receivers with equally many candidates, as many at once as EVALUATED allows."""
    by_count: defaultdict[int, list[int]] = defaultdict(list)
    for position, rows in enumerate(near):
        by_count[len(rows)].append(position)
    for count, positions in sorted(by_count.items()):
        size = max(1, EVALUATED // ((count + 1) * dimension))
        for start in range(0, len(positions), size):
            yield positions[start : start + size]
