"""The processes that torchrun started: the first decides and writes, all go the same way."""

import contextlib
import json
import os
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any, ClassVar, Protocol, TypeVar

import attrs
import torch
import torch.distributed as dist

from torch_backend.errors import BackendError, DeviceError
from valid_ref.errors import ValidRefError

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
