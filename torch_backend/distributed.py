"""Agents divided among processes: each computes its own, and all learn everybody's models.

Run a program that calls `join` under `torchrun --nproc-per-node N`. After the private gradients
everything is integers, so that the number of processes changes nothing. The gradients themselves
are the same if the model is called for the same agents at a time, in the same order: give `join`
the `chunk` of the program.
"""

import os
from datetime import timedelta

import attrs
import torch
import torch.distributed as dist
from torch import Tensor

from torch_backend.engine import State
from torch_backend.errors import DeviceError
from torch_backend.program import Program
from torch_backend.shard import Shard, Whole

WAIT = timedelta(minutes=30)
"""How long a process waits for the others."""


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
        dist.all_gather_into_tensor(everything, sent.contiguous())
        return everything[: self.count]

    def total(self, numbers: Tensor) -> Tensor:
        """The sum over all processes, entry by entry."""
        added = numbers.clone()
        dist.all_reduce(added)
        return added


def join(agents: int, device: torch.device, chunk: int | None = None) -> Shard:
    """The share of this process of a group that torchrun started; everything, if there is none.

    Implements: EX-11.
    """
    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        return Whole(agents)
    if not dist.is_initialized():
        if device.type == "cuda":
            torch.cuda.set_device(device)
        dist.init_process_group("nccl" if device.type == "cuda" else "gloo", timeout=WAIT)
    part = Part(agents, dist.get_rank(), dist.get_world_size(), chunk or 1)
    require_work(part)
    return part


def require_work(part: Part) -> None:
    """Refuse a group in which a process would have no agent."""
    last = attrs.evolve(part, rank=part.processes - 1)
    if not last.agents:
        raise DeviceError(
            f"{part.count} agents in chunks of {part.chunk} leave some of {part.processes} "
            "processes without work: start fewer processes or make the chunk smaller"
        )


def leave() -> None:
    """End the group, if there is one."""
    if dist.is_available() and dist.is_initialized():
        dist.destroy_process_group()


def gathered(program: Program, state: State) -> State:
    """The state with the losses and estimates of all agents; every process must call it."""
    estimates = None if state.estimates is None else state.estimates.gathered(program.shard)
    losses = program.shard.gather(state.losses)
    return attrs.evolve(state, losses=losses, estimates=estimates)
