"""Processes that torchrun started: they share the agents, and the first decides and writes.

Run a program that calls `join` under `torchrun --nproc-per-node N`. After the private gradients
everything is integers, so that the number of processes changes nothing. The gradients themselves
are the same if the model is called for the same agents at a time, in the same order: give `join`
the `chunk` of the program.
"""

import contextlib
import json
import os
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any, ClassVar, Protocol, TypeVar

import attrs
import torch
import torch.distributed as dist
from torch import Tensor

from torch_backend.errors import BackendError, DeviceError
from valid_ref.errors import ValidRefError


class Shard(Protocol):
    """A process's share: a run of consecutive agents of 0..n-1."""

    @property
    def agents(self) -> tuple[int, ...]:
        """The agents of this process."""

    def own(self, rows: Tensor) -> Tensor:
        """Of one row per agent of the network those of this process, without a copy."""

    def gather(self, rows: Tensor) -> Tensor:
        """From the rows of this process and of all others one row per agent of the network."""


@attrs.frozen
class Whole:
    """All agents in one process."""

    count: int

    @property
    def agents(self) -> tuple[int, ...]:
        """Everybody."""
        return tuple(range(self.count))

    def own(self, rows: Tensor) -> Tensor:
        """All rows."""
        return rows

    def gather(self, rows: Tensor) -> Tensor:
        """The same rows."""
        return rows


WAIT = timedelta(minutes=30)
"""How long a process waits for the others in a round; one that has died is noticed at once."""

PATIENCE = timedelta(days=1)
"""How long the others wait while the first process works alone: it may validate a long run."""

FoundT = TypeVar("FoundT")


class TeamError(BackendError):
    """A group of processes that cannot go on together."""

    default_clause: ClassVar[str] = "EX-18"


class RefusedElsewhereError(TeamError):
    """What the first process, or another one, has refused and told already."""

    told: ClassVar[bool] = True


class Team(Protocol):
    """What the processes of a run decide together."""

    @property
    def rank(self) -> int:
        """The number of this process."""

    @property
    def processes(self) -> int:
        """How many there are."""

    @property
    def first(self) -> bool:
        """Whether this process writes and decides."""

    @property
    def abandoned(self) -> bool:
        """Whether nobody watches over this process any more."""

    def device(self, name: str) -> str:
        """The device of this process, if the run was asked for this one."""

    def tell(self, action: Callable[[], FoundT]) -> FoundT:
        """What the first process finds, for all; a refusal is that of all."""

    def hand_out(self, data: bytes) -> bytes:
        """The bytes of the first process."""

    def any(self, flag: bool) -> bool:
        """Whether it is so in any process."""


@attrs.frozen
class Alone:
    """One process: it decides for itself."""

    rank: int = attrs.field(default=0, init=False)
    processes: int = attrs.field(default=1, init=False)
    first: bool = attrs.field(default=True, init=False)
    abandoned: bool = attrs.field(default=False, init=False)

    def device(self, name: str) -> str:
        """The device that was asked for."""
        return name

    def tell(self, action: Callable[[], FoundT]) -> FoundT:
        """What this process finds."""
        return action()

    def hand_out(self, data: bytes) -> bytes:
        """The same bytes."""
        return data

    def any(self, flag: bool) -> bool:
        """The same flag."""
        return flag


@attrs.frozen(eq=False)
class Group:
    """The processes of a group; `local` is the number of this one on its machine.

    `parent` is the process that started it and would end it, if there is such a one.

    Words go over the host, in a group of their own, whatever the device.

    Implements: EX-18.
    """

    rank: int
    processes: int
    local: int
    words: Any
    parent: int | None = None

    @property
    def first(self) -> bool:
        """Whether this process writes and decides."""
        return self.rank == 0

    @property
    def abandoned(self) -> bool:
        """Whether torchrun has gone on this machine."""
        return self.parent is not None and os.getppid() != self.parent

    def device(self, name: str) -> str:
        """cpu, or with cuda the device with the number of this process on its machine."""
        return local_device(name, self.local)

    def tell(self, action: Callable[[], FoundT]) -> FoundT:
        """What the first process finds, which must be fit for JSON; a refusal is that of all."""
        if not self.first:
            said = json.loads(self.hand_out(b""))
            if "refused" in said:
                raise RefusedElsewhereError(said["refused"])
            return said["found"]  # type: ignore[no-any-return]
        try:
            found = action()
        except ValidRefError as error:
            self.hand_out(json.dumps({"refused": str(error)}).encode())
            raise
        self.hand_out(json.dumps({"found": found}).encode())
        return found

    def hand_out(self, data: bytes) -> bytes:
        """The bytes of the first process."""
        length = torch.tensor([len(data)])
        with others_reached():
            dist.broadcast(length, 0, group=self.words)
            content = torch.empty(int(length), dtype=torch.uint8)
            if self.first and data:
                content = torch.frombuffer(bytearray(data), dtype=torch.uint8)
            if len(content):
                dist.broadcast(content, 0, group=self.words)
        return content.numpy().tobytes()

    def any(self, flag: bool) -> bool:
        """Whether it is so in any process."""
        found = torch.tensor([int(flag)])
        with others_reached():
            dist.all_reduce(found, dist.ReduceOp.MAX, group=self.words)
        return bool(found)


@contextlib.contextmanager
def others_reached() -> Iterator[None]:
    """Say what it means when a process of the group does not answer.

    Implements: EX-18.
    """
    try:
        yield
    except RuntimeError as error:
        reason = str(error).strip().splitlines()[0]
        raise TeamError(
            f"a process of the group has ended or does not answer ({reason}); nothing is lost, "
            "start the same command again"
        ) from None


def local_device(name: str, local: int) -> str:
    """The device of a process of a group: cpu for all, or one GPU each.

    Implements: EX-18.
    """
    if name not in ("cpu", "cuda"):
        raise DeviceError(
            f"device {name!r} under torchrun: give cpu, or cuda for one GPU each", clause="EX-18"
        )
    return f"cuda:{local}" if name == "cuda" else name


def begin(device: torch.device) -> bool:
    """Join the group that torchrun started, once; whether there is one."""
    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        return False
    if not dist.is_initialized():
        if device.type == "cuda":
            _require_gpu(device)
            torch.cuda.set_device(device)
        with others_reached():
            dist.init_process_group("nccl" if device.type == "cuda" else "gloo", timeout=WAIT)
    return True


def _require_gpu(device: torch.device) -> None:
    there = torch.cuda.device_count()
    if (device.index or 0) >= there:
        raise DeviceError(
            f"device {str(device)!r} cannot be used: there are {there} GPUs; start one process for "
            "each, or use cpu",
            clause="EX-18",
        )


def assemble(device: str) -> Team:
    """The group that torchrun started, or this process alone.

    Implements: EX-18.
    """
    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        return Alone()
    local = int(os.environ.get("LOCAL_RANK", "0"))
    begin(torch.device(local_device(device, local)))
    words = dist.new_group(backend="gloo", timeout=PATIENCE)
    parent = os.getppid() if "TORCHELASTIC_RUN_ID" in os.environ else None
    return Group(dist.get_rank(), dist.get_world_size(), local, words, parent)


def leave() -> None:
    """End the group, if there is one."""
    if dist.is_available() and dist.is_initialized():
        dist.destroy_process_group()


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
