"""UBAR: the nearest models, of these the ones that do well on the own batch, and their mean."""

import math
from collections.abc import Sequence
from typing import ClassVar, Literal

import attrs
import torch
from torch import Tensor

from torch_backend import lattice
from torch_backend.errors import ScreeningError
from torch_backend.kernels import compiled_loops, empty_tensor
from torch_backend.options import declared, real
from torch_backend.rules.rule import Losses, Received, Rule, same_vector
from torch_backend.rules.screening import (
    ascending,
    check_scale,
    exact_squared_distance,
    scaled_mean,
    share_of,
    squared_distances,
)
from valid_ref.graph import AgentGraph
from valid_ref.lattice import LatticeParameters

EVALUATED = 1 << 22
"""Entries of candidate models that are evaluated at once: their memory is soon used again."""

QUOTIENT = 1 << 50
"""Means of models and step bits up to this are left to compiled loops."""


@attrs.frozen
class Ubar(Rule):
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
    count: Literal["max1", "floor", "ceil"] = attrs.field(default="max1", validator=declared)
    fallback: Literal["min_loss", "nearest"] = attrs.field(default="min_loss", validator=declared)

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
        evaluated = _evaluated(received, near, 2.0**-scale, losses)
        chosen = [
            [near[position][i] for i in self.accepted(own, others)]
            for position, (own, *others) in enumerate(evaluated)
        ]
        narrow = max(parameters.model_limit, 2 << bits) <= QUOTIENT
        return _blended(received.own, chosen, weight, bits, narrow=narrow)

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
        known: dict[tuple[int, ...], tuple[Tensor, Tensor]] = {}
        names: list[list[tuple[int, ...]]] = []
        screened: list[tuple[Tensor, list[Tensor]]] = []
        for position, receiver in enumerate(received.agents):
            own, said = received.own[position], received.said[receiver]
            plain = same_vector(own, said)
            rows = received.rows(graph, position)
            names.append([])
            for sender, row in zip(graph.neighbours(receiver), rows, strict=True):
                # Between two agents that said what they have, the distance is one for both.
                shared = plain and (sender, receiver) not in received.edges
                name = (min(sender, receiver), max(sender, receiver))
                names[-1].append(name if shared else (sender, receiver, position))
                known.setdefault(names[-1][-1], (row, said if plain else own))
            screened.append((own, rows))
        distances = dict(zip(known, squared_distances([*known.values()]), strict=True))
        nearest = []
        for wanted, (own, rows) in zip(names, screened, strict=True):

            def exactly(i: int, own: Tensor = own, rows: Sequence[Tensor] = rows) -> int:
                return exact_squared_distance(rows[i], own)

            order = ascending([distances[name] for name in wanted], exactly)
            nearest.append([rows[i] for i in order[: self.candidates(len(rows))]])
        return nearest


def _blended(
    own: Tensor, chosen: Sequence[Sequence[Tensor]], weight: int, bits: int, *, narrow: bool
) -> tuple[Tensor, Tensor]:
    """weight own + (2^bits - weight) mean of the chosen, and 2^bits own, for every receiver."""
    loops = compiled_loops(own) if narrow else None
    if loops is None:
        Y = own * weight
        for row, models in zip(Y, chosen, strict=True):
            total = sum(models[1:], start=models[0])
            row.add_(scaled_mean(total, len(models), (1 << bits) - weight))
        return Y, own << bits
    Y, E = (empty_tensor(own.shape, own.dtype, own.device) for _ in range(2))
    for mine, models, *into in zip(own, chosen, Y, E, strict=True):
        numbers = weight, (1 << bits) - weight, len(models), bits
        total = sum(models[1:], start=models[0])
        rows, found = (mine.numpy(), total.numpy()), tuple(row.numpy() for row in into)
        loops.blend(rows, numbers, found, 0, len(mine))
    return Y, E


def _evaluated(
    received: Received, near: Sequence[Sequence[Tensor]], scale: float, losses: Losses
) -> list[list[float]]:
    """The losses of the own model and of all candidates of every receiver.

    First as many candidates as all receivers have, then the further ones of those with more.
    """
    models, wanted = _distinct(received, near)
    points = [lattice.reals(rows, scale) for rows in models]
    table = points[0] if len(points) == 1 else torch.cat(points)
    found: list[list[float]] = [[] for _ in wanted]
    done = 0
    for count in sorted({len(places) for places in wanted}):
        left = [position for position, places in enumerate(wanted) if len(places) >= count]
        size = max(1, EVALUATED // ((count - done) * table.shape[1]))
        for begin in range(0, len(left), size):
            some = left[begin : begin + size]
            places = torch.tensor([wanted[position][done:count] for position in some])
            candidates = empty_tensor((places.numel(), table.shape[1]), table.dtype, table.device)
            torch.index_select(table, 0, places.reshape(-1).to(table.device), out=candidates)
            values = losses(some, candidates.reshape(*places.shape, -1)).double().tolist()
            for position, more in zip(some, values, strict=True):
                found[position] += more
        done = count
    return found


def _distinct(
    received: Received, near: Sequence[Sequence[Tensor]]
) -> tuple[list[Tensor], list[list[int]]]:
    """The models that are evaluated, each once, and which of them: the own and the candidates.

    What was said to all comes first, then what single receivers have or got.
    """
    place = {row.data_ptr(): agent for agent, row in enumerate(received.said)}
    others: list[Tensor] = []
    wanted = []
    for own, rows in zip(received.own, near, strict=True):
        for row in (own, *rows):
            if row.data_ptr() not in place:
                place[row.data_ptr()] = len(received.said) + len(others)
                others.append(row)
        wanted.append([place[row.data_ptr()] for row in (own, *rows)])
    return [received.said, *([torch.stack(others)] if others else [])], wanted
