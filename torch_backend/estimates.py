"""The gradient estimates of GlobalValidate, kept up while the agents learn.

ghat = sum_t w_t g(t) can pass 2^62, so it is kept in planes: weights are cut into digits of 31
bits, gradients into limbs of 24 bits of which the last has the sign, and every plane is the sum of
the products of one digit with one limb. Carries are moved up before a plane could wrap.
"""

import math
from collections.abc import Mapping
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from torch_backend import lattice
from torch_backend.attacks.attack import Edge
from torch_backend.delivery import Said
from torch_backend.program import Program
from torch_backend.shard import Shard
from valid_ref.lattice import WORD_LIMIT
from valid_ref.protocols.global_validate import Estimate
from valid_ref.protocols.parameters import ValidParameters

DIGIT, LIMB = 31, 24
PENDING_BYTES = 256 << 20
"""How much of the latest rounds is kept before it is added up; a constant, so that it never
matters for a result."""

Row = int | Edge
"""Whose transcript: of an agent to all, or on one edge where that differs."""


@attrs.frozen
class Planes:
    """How many digits the weights and limbs the gradients have, from the parameters alone.

    Implements: GV-9.
    """

    digits: int
    limbs: int

    def digits_of(self, weight: int) -> tuple[int, ...]:
        """A weight in digits, lowest first."""
        return tuple((weight >> (DIGIT * i)) & ((1 << DIGIT) - 1) for i in range(self.digits))

    def limbs_of(self, gradients: Tensor) -> list[Tensor]:
        """Gradients in limbs, lowest first; all but the last are in 0..2^24-1."""
        mask = (1 << LIMB) - 1
        low = [(gradients >> (LIMB * j)).bitwise_and_(mask) for j in range(self.limbs - 1)]
        return [*low, gradients >> (LIMB * (self.limbs - 1))]


def planes_for(parameters: ValidParameters) -> Planes:
    """The fewest limbs with which the last one cannot wrap in T rounds, carries included.

    Implements: GV-9.
    """
    weights = [w.weights for w in parameters.weightings] or [(1,)]
    heaviest = max(max(w) for w in weights)
    digits = max(1, -(-heaviest.bit_length() // DIGIT))
    total = max(sum(w) for w in weights) if digits == 1 else len(weights[0]) << DIGIT
    largest = parameters.lattice.gradient_limit // min(parameters.lattice.schedule.gradient) + 1
    limbs = 1
    while total * ((largest >> (LIMB * (limbs - 1))) + 2) >= WORD_LIMIT >> 1:
        limbs += 1
    return Planes(digits, limbs)


@attrs.frozen(eq=False)
class Estimates:
    """ghat and lhat of every transcript so far: a value, like the state that it is part of.

    `sums` is int64 [weightings, digits, limbs, rows, d]; `lengths` has lhat for each weighting and
    row. `pending` are rounds that are not added up yet, and `used` is how much of the room of the
    lower limbs the digits have used since the last carry.

    Implements: GV-2, GV-12.
    """

    parameters: ValidParameters
    planes: Planes
    rows: tuple[Row, ...]
    sums: Tensor
    lengths: tuple[tuple[int, ...], ...]
    used: int
    pending: tuple[Said, ...]

    def add(self, said: Said) -> "Estimates":
        """With one more round; a new transcript begins as a copy of that to all."""
        new = tuple(edge for edge in said.edges if edge not in self.rows)
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
        lengths = [list(old) for old in self.lengths]
        for said in self.pending:
            weights = [w.weights[said.t - 1] for w in self.parameters.weightings]
            digits = [self.planes.digits_of(weight) for weight in weights]
            most = max((max(d) for d in digits), default=0)
            if (used + most + 1) << LIMB >= WORD_LIMIT >> 1:
                carry_up(sums)
                used = 1
            used += most
            gradients = lattice.read_gradients(self.parameters.lattice, said.t, self._gammas(said))
            norms = [math.isqrt(square) for square in squared_norms(gradients)]
            limbs = self.planes.limbs_of(gradients)
            for index, weight in enumerate(weights):
                for row, norm in enumerate(norms):
                    lengths[index][row] += weight * norm
                for i, digit in enumerate(digits[index]):
                    for j, limb in enumerate(limbs):
                        sums[index, i, j].add_(limb, alpha=digit)
        return attrs.evolve(
            self, sums=sums, lengths=tuple(map(tuple, lengths)), used=used, pending=()
        )

    def _gammas(self, said: Said) -> Tensor:
        """What the receivers of every transcript kept in a round, [rows, d]."""
        gammas, deviating = said.usable_gammas(), said.usable_edges()
        edges = [row for row in self.rows if isinstance(row, tuple)]
        place = {agent: i for i, agent in enumerate(said.agents)}
        extra = [
            deviating[edge][1] if edge in deviating else gammas[place[edge[0]]] for edge in edges
        ]
        return torch.cat([gammas, torch.stack(extra)]) if extra else gammas

    def gathered(self, shard: Shard) -> "Estimates":
        """The estimates of all agents, from those of every process."""
        whole = self.flushed()
        count = len(shard.agents)
        edges = [i for i, row in enumerate(whole.rows) if isinstance(row, tuple)]
        moved = whole.sums.movedim(3, 0).contiguous()
        sums = torch.cat([shard.gather(moved[:count]), moved[edges]]).movedim(0, 3)
        agents = sums.shape[3] - len(edges)
        if agents == count:
            return whole
        words = _words([[old[i] for old in whole.lengths] for i in range(count)], moved.device)
        said = _integers(shard.gather(words))
        lengths = tuple(
            (*(row[index] for row in said), *(old[i] for i in edges))
            for index, old in enumerate(whole.lengths)
        )
        names = (*range(agents), *(whole.rows[i] for i in edges))
        return attrs.evolve(whole, rows=names, sums=sums.contiguous(), lengths=lengths)

    def values(self) -> Mapping[Row, Estimate]:
        """The estimates as they are broadcast: for each weighting d entries of ghat, then lhat.

        Implements: GV-2, GV-3.
        """
        done = self.flushed()
        parts = [_totals(plane.cpu().numpy()) for plane in done.sums]
        return {
            row: tuple(
                entry
                for part, lengths in zip(parts, done.lengths, strict=True)
                for entry in (*part[i], lengths[i])
            )
            for i, row in enumerate(done.rows)
        }


def no_estimates(program: Program) -> Estimates:
    """Before round 1: all sums are zero."""
    parameters, planes = program.parameters, planes_for(program.parameters)
    rows, count = program.heard, len(parameters.weightings)
    shape = (count, planes.digits, planes.limbs, len(rows), parameters.lattice.dimension)
    sums = torch.zeros(shape, dtype=torch.int64, device=program.device)
    return Estimates(parameters, planes, rows, sums, ((0,) * len(rows),) * count, 0, ())


def carry_up(sums: Tensor) -> None:
    """Move what exceeds 24 bits of a limb to the next one; the number stays the same."""
    for j in range(sums.shape[2] - 1):
        sums[:, :, j + 1] += sums[:, :, j] >> LIMB
        sums[:, :, j] &= (1 << LIMB) - 1


def squared_norms(rows: Tensor) -> list[int]:
    """The exact sum of squares of every row: limbs of 21 bits, 2^18 columns at a time.

    Implements: AR-12.
    """
    totals = [0] * rows.shape[0]
    for begin in range(0, rows.shape[1], 1 << 18):
        magnitude = rows[:, begin : begin + (1 << 18)].abs()
        low, mid, high = (magnitude >> s & (1 << 21) - 1 for s in (0, 21, 42))
        terms = ((low, low, 0), (low, mid, 22), (mid, mid, 42), (low, high, 43),
                 (mid, high, 64), (high, high, 84))  # fmt: skip
        for left, right, shift in terms:
            for row, value in enumerate((left * right).sum(dim=1).tolist()):
                totals[row] += value << shift
    return totals


def _totals(planes: npt.NDArray[np.int64]) -> list[list[int]]:
    """The integers of one weighting, [rows][d], from its planes [digits, limbs, rows, d]."""
    digits, limbs = planes.shape[:2]
    total: npt.NDArray[Any] = planes[0, 0]
    if digits > 1 or limbs > 1:
        total = np.zeros(planes.shape[2:], dtype=object)
        for i in range(digits):
            for j in range(limbs):
                total = total + (planes[i, j].astype(object) << (DIGIT * i + LIMB * j))
    rows: list[list[int]] = total.tolist()
    return rows


def _words(values: list[list[int]], device: torch.device) -> Tensor:
    """Integers of any size below 2^310 as ten words of 31 bits each, for sending."""
    mask = (1 << DIGIT) - 1
    words = [[[value >> (DIGIT * i) & mask for i in range(10)] for value in row] for row in values]
    return torch.tensor(words, dtype=torch.int64, device=device).reshape(len(values), -1, 10)


def _integers(words: Tensor) -> list[list[int]]:
    return [
        [sum(word << (DIGIT * i) for i, word in enumerate(value)) for value in row]
        for row in words.tolist()
    ]
