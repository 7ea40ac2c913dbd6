"""Agents divided among processes: each computes its own, and all learn everybody's models.

Run a program that calls `join` under `torchrun --nproc-per-node N`. After the private gradients
everything is integers, so that the number of processes changes nothing. The gradients themselves
are the same if the model is called for the same agents at a time, in the same order: give `join`
the `chunk` of the program.
"""

from typing import TYPE_CHECKING

import attrs
import torch
import torch.distributed as dist
from torch import Tensor

from torch_backend.distributed_team import Team, begin, others_reached
from torch_backend.engine import State
from torch_backend.errors import DeviceError
from torch_backend.program import Program
from torch_backend.shard import Shard, Whole

if TYPE_CHECKING:
    from torch_backend.estimates import Row

GATHER = getattr(dist, "all_gather_single", None) or dist.all_gather_into_tensor
"""Newer versions of torch have another name for it."""


@attrs.frozen
class Part:
    """The agents of one process: consecutive ones, whole chunks, at the end perhaps fewer."""

    count: int
    rank: int
    processes: int
    chunk: int = 1

    @property
    def agents(self) -> tuple[int, ...]:
        """The agents of this process."""
        begin = min(self.count, self.rank * self._each)
        return tuple(range(begin, min(self.count, begin + self._each)))

    @property
    def _each(self) -> int:
        return -(-self.count // (self.processes * self.chunk)) * self.chunk

    def own(self, rows: Tensor) -> Tensor:
        """The rows of this process, without a copy."""
        begin = self.rank * self._each
        return rows[begin : begin + self._each]

    def gather(self, rows: Tensor) -> Tensor:
        """One row per agent of the network, in order; a last process with fewer fills up."""
        sent = rows
        if rows.dtype == torch.bool:
            return self.gather(rows.to(torch.uint8)).to(torch.bool)
        if len(rows) < self._each:
            sent = rows.new_zeros((self._each, *rows.shape[1:]))
            sent[: len(rows)] = rows
        everything = rows.new_empty((self._each * self.processes, *rows.shape[1:]))
        with others_reached():
            GATHER(everything, sent.contiguous())
        return everything[: self.count]

    def total(self, numbers: Tensor) -> Tensor:
        """The sum over all processes, entry by entry."""
        added = numbers.clone()
        with others_reached():
            dist.all_reduce(added)
        return added


def join(agents: int, device: torch.device, chunk: int | None = None) -> Shard:
    """The share of this process of a group that torchrun started; everything, if there is none.

    Implements: EX-11.
    """
    if not begin(device):
        return Whole(agents)
    return _part(agents, dist.get_rank(), dist.get_world_size(), chunk or 1)


def share(team: Team, agents: int, chunk: int) -> Shard:
    """The share of this process of its team.

    Implements: EX-18.
    """
    return Whole(agents) if team.processes == 1 else _part(agents, team.rank, team.processes, chunk)


def _part(agents: int, rank: int, processes: int, chunk: int) -> Part:
    part = Part(agents, rank, processes, chunk)
    require_work(part)
    return part


def require_work(part: Part) -> None:
    """Refuse a group in which a process would have no agent."""
    last = attrs.evolve(part, rank=part.processes - 1)
    if not last.agents:
        raise DeviceError(
            f"{part.count} agents in chunks of {part.chunk} leave some of {part.processes} "
            "processes without work: start fewer processes or make the chunk smaller",
            clause="EX-18",
        )


def gathered(program: Program, state: State) -> State:
    """The state with the losses and estimates of all agents; every process must call it."""
    estimates = None if state.estimates is None else state.estimates.gathered(program.shard)
    losses = program.shard.gather(state.losses)
    return attrs.evolve(state, losses=losses, estimates=estimates)


def divided(program: Program, state: State) -> State:
    """Of a state with the losses and estimates of all agents the share of this process.

    The opposite of `gathered`: what was summed up over the agents goes on in the first process.

    Implements: EX-18.
    """
    losses = program.shard.own(state.losses)
    whole = None if state.estimates is None else state.estimates.flushed()
    if whole is None or len(program.agents) == program.graph.agents:
        return attrs.evolve(state, losses=losses, estimates=whole)
    everybody = range(program.graph.agents)
    rows: tuple[Row, ...] = (*program.heard, *(row for row in whole.rows if row not in everybody))
    places = [whole.rows.index(row) for row in rows]
    if not whole.summed:
        sums = whole.sums[:, :, :, places]
    else:
        sums = whole.sums if 0 in program.agents else torch.zeros_like(whole.sums)
    lengths = tuple(tuple(old[place] for place in places) for old in whole.lengths)
    own = len(program.agents)
    estimates = attrs.evolve(whole, own=own, rows=rows, sums=sums, lengths=lengths)
    return attrs.evolve(state, losses=losses, estimates=estimates)
