"""What a process needs to run jobs: its device, its locks, and when it is asked to stop."""

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import ClassVar

import attrs
import torch

from torch_backend.distributed import Alone, Team
from torch_backend.errors import BackendError, ConfigError
from torch_backend.program import require_device

Watch = Callable[[str, int], None]
"""Told the name of a job and the round it has reached."""

Stop = Callable[[], bool]
"""Whether the run has been asked to stop."""


CHUNKS = 4
"""Into how many chunks the agents are divided if nothing else is asked for."""

ALONE = Alone()


class StoppedError(BackendError):
    """A run that was asked to stop, and has stopped where it can go on."""

    default_clause: ClassVar[str] = "EX-14"


@attrs.frozen
class Options:
    """What a run needs beside the experiment.

    Device, threads and chunk can change the last bits of private gradients, and with `record`
    there are more results: these are part of what a directory was made with. How often a
    checkpoint is saved is not, nor is the number of processes: `chunk` is how many agents'
    gradients are taken at a time, and a process gets whole chunks. By default there are
    four chunks, so that up to four processes can share them. Calibration runs are kept in the
    directory `cache`, if there is one, and found there again. Transcripts that wait for validation
    stay in so many bytes of `memory`, and beyond that in files; no result depends on it.
    """

    device: str = "cpu"
    threads: int = 1
    record: bool = False
    checkpoint_every: int = 50
    chunk: int | None = None
    cache: Path | None = None
    memory: int = 4 << 30

    def __attrs_post_init__(self) -> None:
        if self.chunk is not None and self.chunk < 1:
            raise ConfigError(f"chunk = {self.chunk}: it starts at 1", clause="EX-18")

    def chunk_of(self, agents: int) -> int:
        """How many of so many agents' gradients are taken at a time, whoever takes them.

        Implements: EX-18.
        """
        return -(-agents // CHUNKS) if self.chunk is None else self.chunk


def prepare_process(options: Options, team: Team = ALONE) -> torch.device:
    """Fix what could make the same gradients come out differently, and find the device.

    Implements: EX-11.
    """
    torch.set_num_threads(options.threads)
    if options.device.startswith("cuda"):
        # Read by the library when it is used first; all other settings are made where floats are.
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    return require_device(team.device(options.device))


@contextlib.contextmanager
def locked(folder: Path, *, wait: bool) -> Iterator[bool]:
    """Hold a folder alone; a process that dies lets go of it. Whether it could be had.

    Implements: EX-14.
    """
    try:
        import fcntl
    except ImportError:  # no such locks on this system: runs must not overlap there
        yield True
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            yield False
        else:
            yield True
    finally:
        os.close(handle)
