"""The gradient estimates of GlobalValidate, kept up while the agents learn."""

import math
from collections.abc import Mapping
from typing import Protocol

import attrs
import torch
from torch import Tensor

from torch_backend.attacks.attack import Edge
from torch_backend.delivery import Said
from torch_backend.distributed import Shard
from torch_backend.program import Program
from torch_backend.weighted_sums import (
    Planes,
    Weighted,
    add_all,
    carry_up,
    from_words,
    planes_for,
    room_is_short,
    to_words,
    totals,
)
from valid_ref.protocols.global_validate import Estimate
from valid_ref.protocols.parameters import ValidParameters

PENDING_BYTES = 256 << 20
"""How much of the latest rounds is kept before it is added up; no result depends on it."""

Row = int | Edge
"""Whose transcript: of an agent to all, or on one edge where that differs."""


@attrs.frozen(eq=False)
class Estimates:
    """ghat and lhat of every transcript so far: a value, like the state that it is part of.

    `rows` are the transcripts: of the `own` agents of this process to all, of Byzantine agents of
    other processes, and of single edges that ever differed. `sums` is int64
    [weightings, digits, limbs, rows, d], or, if `summed`, [.., 1, d]: the sum over the own agents,
    each as its lowest-numbered reporter has it (GV-4). `lengths` has lhat for each weighting and
    row. `pending` are rounds that are not added up yet; `used` is how much of the room of the
    lower limbs the digits have used since the last carry.

    Implements: GV-2, GV-12.
    """

    parameters: ValidParameters
    planes: Planes
    summed: bool
    own: int
    rows: tuple[Row, ...]
    sums: Tensor
    lengths: tuple[tuple[int, ...], ...]
    used: int
    pending: tuple[Said, ...]

    def add(self, said: Said) -> "Estimates":
        """With one more round; a new transcript begins as a copy of that to all."""
        new = () if self.summed else tuple(edge for edge in said.edges if edge not in self.rows)
        base = self.flushed()._with_rows(new) if new else self
        with_said = attrs.evolve(base, pending=(*base.pending, said))
        full = (len(with_said.pending) + 1) * said.gammas.nbytes > PENDING_BYTES
        return with_said.flushed() if full else with_said

    def _with_rows(self, edges: tuple[Edge, ...]) -> "Estimates":
        copied = [self.rows.index(sender) for sender, _receiver in edges]
        return attrs.evolve(
            self,
            rows=(*self.rows, *edges),
            sums=torch.cat([self.sums, self.sums[:, :, :, copied]], dim=3),
            lengths=tuple((*old, *(old[i] for i in copied)) for old in self.lengths),
        )

    def flushed(self) -> "Estimates":
        """The same estimates with nothing pending."""
        if not self.pending:
            return self
        sums, used = self.sums.clone(), self.used
        waiting: list[Weighted] = []
        squares: list[list[int]] = []
        for said in self.pending:
            digits = self._digits(said.t)
            most = max((max(row) for row in digits), default=0)
            if room_is_short(used, most):
                squares += add_all(self.parameters.lattice, waiting, sums, self._summed_rows)
                waiting = []
                carry_up(sums)
                used = 1
            used += most
            waiting.append(Weighted(said.t, self._gammas(said), digits))
        squares += add_all(self.parameters.lattice, waiting, sums, self._summed_rows)
        lengths = [list(old) for old in self.lengths]
        for said, found in zip(self.pending, squares, strict=True):
            norms = [math.isqrt(square) for square in found]
            for index, weighting in enumerate(self.parameters.weightings):
                for row, norm in enumerate(norms):
                    lengths[index][row] += weighting.weights[said.t - 1] * norm
        return attrs.evolve(
            self, sums=sums, lengths=tuple(map(tuple, lengths)), used=used, pending=()
        )

    @property
    def _summed_rows(self) -> int | None:
        return self.own if self.summed else None

    def _digits(self, t: int) -> list[tuple[int, ...]]:
        weights = (weighting.weights[t - 1] for weighting in self.parameters.weightings)
        return [self.planes.digits_of(weight) for weight in weights]

    def _gammas(self, said: Said) -> Tensor:
        """What the receivers of every transcript kept in a round, [rows, d]."""
        gammas, deviating = said.usable_gammas(), said.usable_edges()
        place = {agent: i for i, agent in enumerate(said.agents)}
        if self.summed:
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
        sums = whole.sums.clone()
        carry_up(sums)
        if self.summed:
            sums = shard.total(sums)
        else:
            moved = sums.movedim(3, 0).contiguous()
            sums = torch.cat([shard.gather(moved[: self.own]), moved[edges]]).movedim(0, 3)
        mine = [[old[i] for old in whole.lengths] for i in range(self.own)]
        said = from_words(shard.gather(to_words(mine, sums.device)))
        lengths = tuple(
            (*(row[index] for row in said), *(old[i] for i in edges))
            for index, old in enumerate(whole.lengths)
        )
        rows = (*range(agents), *(whole.rows[i] for i in edges))
        return attrs.evolve(
            whole, own=agents, rows=rows, sums=sums.contiguous(), lengths=lengths, used=agents
        )

    def values(self) -> Mapping[Row, Estimate]:
        """The estimates as they are broadcast: for each weighting d entries of ghat, then lhat.

        Implements: GV-2, GV-3.
        """
        done = self.flushed()
        found: dict[Row, list[int]] = {row: [] for row in done.rows}
        for plane, lengths in zip(done.sums, done.lengths, strict=True):
            for entries, part, length in zip(
                found.values(), totals(plane.cpu().numpy()), lengths, strict=True
            ):
                entries.extend(part)
                entries.append(length)
        return {row: Estimate.of(entries) for row, entries in found.items()}

    def statistics(self) -> tuple[tuple[int, int], ...]:
        """|sum_u ghat_u|^2 and sum_u lhat_u^2 under every weighting, exactly.

        Implements: GV-5, GV-6.
        """
        done, agents = self.flushed(), range(self.parameters.graph.agents)
        place = {row: i for i, row in enumerate(done.rows)}
        counted = [place.get((u, self._reporter(u)), place[u]) for u in agents]
        found = []
        for plane, lengths in zip(done.sums, done.lengths, strict=True):
            rows = totals(plane.cpu().numpy())
            if not self.summed:
                rows = [list(map(sum, zip(*(rows[i] for i in counted), strict=True)))]
            squares = sum(entry * entry for entry in rows[0])
            found.append((squares, sum(lengths[i] ** 2 for i in counted)))
        return tuple(found)


def no_estimates(program: Program) -> Estimates:
    """Before round 1: all sums are zero."""
    parameters, summed = program.parameters, program.estimate == "sum"
    planes = planes_for(parameters, parameters.graph.agents if summed else 1)
    rows, count, d = program.heard, len(parameters.weightings), parameters.lattice.dimension
    shape = (count, planes.digits, planes.limbs, 1 if summed else len(rows), d)
    sums = torch.zeros(shape, dtype=torch.int64, device=program.device)
    lengths = ((0,) * len(rows),) * count
    return Estimates(
        parameters=parameters,
        planes=planes,
        summed=summed,
        own=len(program.agents),
        rows=rows,
        sums=sums,
        lengths=lengths,
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
