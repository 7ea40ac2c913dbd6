"""The gradient estimates of GlobalValidate, kept up while the agents learn."""

from collections.abc import Mapping
from typing import Any, Protocol

import attrs
import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from torch_backend.attacks.attack import Edge
from torch_backend.delivery import Said
from torch_backend.distributed import Shard
from torch_backend.kernels import empty_tensor, places, rows_of
from torch_backend.program import Program
from torch_backend.weighted_sums import (
    Planes,
    Weighted,
    add_all,
    carry_up,
    planes_for,
    room_is_short,
    statistics_of,
    totals,
)
from valid_ref.protocols.global_validate import Estimate
from valid_ref.protocols.parameters import ValidParameters
from valid_ref.wide import joined

PENDING_BYTES = 256 << 20
"""How much of the latest rounds is kept before it is added up; no result depends on it."""

Row = int | Edge
"""Whose transcript: of an agent to all, or on one edge where that differs."""


@attrs.frozen(eq=False)
class Estimates:
    """ghat of every transcript so far: a value, like the state that it is part of.

    `rows` are the transcripts: of the `own` agents of this process to all, of Byzantine agents of
    other processes, and of single edges that ever differed. If `counted`, there is one row for
    each agent, as its lowest-numbered reporter has it (GV-4): all that the statistics need.
    `sums` is int64 [weightings, digits, limbs, rows, d]. `pending` are rounds that are not added
    up yet; `used` is how much of the room of the lower limbs the digits have used since the last
    carry.

    Implements: GV-2, GV-12.
    """

    parameters: ValidParameters
    planes: Planes
    counted: bool
    own: int
    rows: tuple[Row, ...]
    sums: Tensor
    used: int
    pending: tuple[Weighted, ...]

    def add(self, said: Said) -> "Estimates":
        """With one more round; a new transcript begins as a copy of that to all."""
        new = () if self.counted else tuple(edge for edge in said.edges if edge not in self.rows)
        base = self.flushed()._with_rows(new) if new else self
        weighted = Weighted(said.t, base._gammas(said), base._digits(said.t))
        with_said = attrs.evolve(base, pending=(*base.pending, weighted))
        full = (len(with_said.pending) + 1) * weighted.gammas.nbytes > PENDING_BYTES
        return with_said.flushed() if full else with_said

    def _with_rows(self, edges: tuple[Edge, ...]) -> "Estimates":
        copied = tuple(self.rows.index(sender) for sender, _receiver in edges)
        return attrs.evolve(
            self,
            rows=(*self.rows, *edges),
            sums=torch.cat([self.sums, self._copies(copied)], dim=3),
        )

    def _copies(self, rows: tuple[int, ...]) -> Tensor:
        return self.sums.index_select(3, places(rows, self.sums.device))

    def flushed(self) -> "Estimates":
        """The same estimates with nothing pending."""
        if not self.pending:
            return self
        lattice, used = self.parameters.lattice, self.used
        sums = empty_tensor(self.sums.shape, torch.int64, self.sums.device).copy_(self.sums)
        waiting: list[Weighted] = []
        for weighted in self.pending:
            most = max((max(row) for row in weighted.digits), default=0)
            if room_is_short(used, most):
                add_all(lattice, waiting, sums)
                waiting = []
                carry_up(sums)
                used = 1
            used += most
            waiting.append(weighted)
        add_all(lattice, waiting, sums)
        return attrs.evolve(self, sums=sums, used=used, pending=())

    def _digits(self, t: int) -> list[tuple[int, ...]]:
        weights = (weighting.weights[t - 1] for weighting in self.parameters.weightings)
        return [self.planes.digits_of(weight) for weight in weights]

    def _gammas(self, said: Said) -> Tensor:
        """What the receivers of every transcript kept in a round, [rows, d]."""
        gammas, deviating = said.usable_gammas(), said.usable_edges()
        place = {agent: i for i, agent in enumerate(said.agents)}
        if self.counted:
            agreed = {
                place[s]: pair for (s, r), pair in deviating.items() if r == self._reporter(s)
            }
            gammas = gammas.clone() if agreed else gammas
            for row, pair in agreed.items():
                gammas[row] = pair[1]
            return gammas
        edges = [row for row in self.rows if isinstance(row, tuple)]
        extra = [
            deviating[edge][1] if edge in deviating else gammas[place[edge[0]]] for edge in edges
        ]
        return torch.cat([gammas, torch.stack(extra)]) if extra else gammas

    def _reporter(self, agent: int) -> int:
        """The reporter whose estimate of an agent counts (GV-4)."""
        return self.parameters.graph.neighbours(agent)[0]

    def gathered(self, shard: Shard) -> "Estimates":
        """The estimates of all agents, from those of every process."""
        whole = self.flushed()
        agents = self.parameters.graph.agents
        if self.own == agents:
            return whole
        edges = [i for i, row in enumerate(whole.rows) if isinstance(row, tuple)]
        moved = whole.sums.movedim(3, 0).contiguous()
        sums = torch.cat([shard.gather(moved[: self.own]), rows_of(moved, edges)]).movedim(0, 3)
        rows = (*range(agents), *(whole.rows[i] for i in edges))
        return attrs.evolve(whole, own=agents, rows=rows, sums=sums.contiguous())

    def values(self) -> Mapping[Row, Estimate]:
        """The estimates as they are broadcast: for each weighting the d entries of ghat.

        Implements: GV-2, GV-3.
        """
        done = self.flushed()
        parts = [totals(plane.cpu().numpy()) for plane in done.sums]
        found = np.concatenate(parts, axis=1) if parts else np.zeros((len(done.rows), 0), np.int64)
        return dict(zip(done.rows, map(_estimate, found), strict=True))

    def statistics(self) -> tuple[tuple[int, int], ...]:
        """|sum_u ghat_u|^2 and sum_u |ghat_u|^2 under every weighting, exactly.

        Implements: GV-5, GV-6.
        """
        done, agents = self.flushed(), range(self.parameters.graph.agents)
        place = {row: i for i, row in enumerate(done.rows)}
        chosen = [place.get((u, self._reporter(u)), place[u]) for u in agents]
        numbers = places(tuple(chosen), done.sums.device)
        return tuple(statistics_of(plane.index_select(2, numbers)) for plane in done.sums)


def _estimate(entries: npt.NDArray[Any]) -> Estimate:
    """The integers of a row as an estimate: words as they are."""
    if entries.dtype == object:
        return Estimate.of(entries.tolist())
    return joined([entries.view(np.uint64)[:, np.newaxis]], 1)


def no_estimates(program: Program) -> Estimates:
    """Before round 1: all sums are zero."""
    parameters, planes = program.parameters, planes_for(program.parameters)
    rows, count, d = program.heard, len(parameters.weightings), parameters.lattice.dimension
    shape = (count, planes.digits, planes.limbs, len(rows), d)
    sums = torch.zeros(shape, dtype=torch.int64, device=program.device)
    return Estimates(
        parameters=parameters,
        planes=planes,
        counted=program.estimate == "counted",
        own=len(program.agents),
        rows=rows,
        sums=sums,
        used=0,
        pending=(),
    )


class Estimating(Protocol):
    """A state that may have estimates."""

    @property
    def estimates(self) -> Estimates | None:
        """The estimates, if they are kept up."""


def statistics(program: Program, state: Estimating) -> tuple[tuple[int, int], ...]:
    """Optimality and heterogeneity of the rounds so far, under every weighting, exactly.

    Implements: GV-5, GV-6.
    """
    if state.estimates is None:
        return ()
    return state.estimates.gathered(program.shard).statistics()
