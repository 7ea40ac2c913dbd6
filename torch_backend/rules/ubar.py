"""UBAR: the nearest models, of these the ones that do well on the own batch, and their mean."""

import itertools
import math
from collections.abc import Sequence
from typing import ClassVar, Literal

import attrs
import torch
from torch import Tensor

from torch_backend import lattice
from torch_backend.errors import ScreeningError
from torch_backend.kernels import compiled_loops, empty_tensor, sent
from torch_backend.options import declared, real
from torch_backend.rules.rule import Losses, Models, Received, Rule, models_of
from torch_backend.rules.screening import (
    ascending,
    check_scale,
    distances_of,
    scaled_mean,
    share_of,
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
        models = models_of(graph, received)
        near = self._nearest(models)
        evaluated = _evaluated(received, models, near, 2.0**-scale, losses)
        chosen = [
            [models.rows[near[position][i]] for i in self.accepted(own, others)]
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

    def _nearest(self, models: Models) -> list[list[int]]:
        """N^s of every receiver by number, nearest first."""
        each = list(zip(models.own, models.heard, strict=True))
        distances = distances_of(models.rows, ((own, one) for own, heard in each for one in heard))
        nearest = []
        for own, heard in each:

            def exactly(i: int, own: int = own, heard: Sequence[int] = heard) -> int:
                return distances.exact(own, heard[i])

            order = ascending([distances.near(own, one) for one in heard], exactly)
            nearest.append([heard[i] for i in order[: self.candidates(len(heard))]])
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
    received: Received,
    models: Models,
    near: Sequence[Sequence[int]],
    scale: float,
    losses: Losses,
) -> list[list[float]]:
    """The losses of the own model and of all candidates of every receiver.

    First as many candidates as all receivers have, then the further ones of those with more. The
    losses are read when all are there, so that the host waits for a device once.
    """
    others = models.rows[len(received.said) :]
    parts = [received.said, *([torch.stack(list(others))] if others else [])]
    points = [lattice.reals(rows, scale) for rows in parts]
    table = points[0] if len(points) == 1 else torch.cat(points)
    wanted = [[own, *some] for own, some in zip(models.own, near, strict=True)]
    asked: list[tuple[list[int], int]] = []
    values: list[Tensor] = []
    done = 0
    for count in sorted({len(numbers) for numbers in wanted}):
        left = [position for position, numbers in enumerate(wanted) if len(numbers) >= count]
        size = max(1, EVALUATED // ((count - done) * table.shape[1]))
        for begin in range(0, len(left), size):
            some = left[begin : begin + size]
            chosen = torch.tensor([wanted[position][done:count] for position in some])
            candidates = empty_tensor((chosen.numel(), table.shape[1]), table.dtype, table.device)
            torch.index_select(table, 0, sent(chosen.reshape(-1), table.device), out=candidates)
            values.append(losses(some, candidates.reshape(*chosen.shape, -1)).double().reshape(-1))
            asked.append((some, count - done))
        done = count
    found: list[list[float]] = [[] for _ in wanted]
    read = iter(torch.cat(values).tolist())
    for some, count in asked:
        for position in some:
            found[position] += itertools.islice(read, count)
    return found
