"""Processes that work beside this one: they never see Ctrl-C, and end when this one is stopped."""

import contextlib
import signal
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import resource_tracker
from multiprocessing.context import SpawnContext, SpawnProcess
from types import TracebackType


class Worker(SpawnProcess):
    """A process that never sees Ctrl-C, not even while it starts."""

    def start(self) -> None:
        """Start it; it inherits that SIGINT waits, for as long as it lives."""
        with _keyboard_waits():
            super().start()


class Spawn(SpawnContext):
    """How such processes are started."""

    Process = Worker


class Workers(ProcessPoolExecutor):
    """So many processes; left by an error or by Ctrl-C, they are ended in the middle of it all."""

    def __init__(self, jobs: int) -> None:
        super().__init__(jobs, mp_context=Spawn())

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is not None:
            for process in [*(self._processes or {}).values()]:
                process.terminate()
        self.shutdown(cancel_futures=True)


@contextlib.contextmanager
def _keyboard_waits() -> Iterator[None]:
    """SIGINT is delivered when the block is left; what starts inside inherits that it waits."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # else it starts inside, and lets SIGINT through again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
