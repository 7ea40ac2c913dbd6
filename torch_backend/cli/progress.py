"""How far a run has come: a bar on a terminal, a line now and then elsewhere."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

Watch = Callable[[str, int], None]

SECONDS_BETWEEN_LINES = 30.0


class Counter:
    """The rounds done so far, of all jobs together; `rounds` is how many each job has."""

    def __init__(self, jobs: int, rounds: int, done: Mapping[str, int]) -> None:
        self.jobs, self.rounds = jobs, rounds
        self.reached = dict(done)
        self.before = sum(done.values())
        self.begun = time.monotonic()

    @property
    def total(self) -> int:
        """All rounds of all jobs."""
        return self.jobs * self.rounds

    def note(self, job: str, t: int) -> int:
        """A job has reached a round; how many rounds are done now."""
        self.reached[job] = t
        return sum(self.reached.values())

    def line(self, job: str) -> str:
        """Where the run is, and how long it takes at this pace."""
        done = sum(self.reached.values())
        pace = (time.monotonic() - self.begun) / max(1, done - self.before)
        left = pace * (self.total - done)
        finished = sum(t >= self.rounds for t in self.reached.values())
        return (
            f"{finished} of {self.jobs} jobs, {done} of {self.total} rounds, "
            f"about {duration(left)} left: {job}, round {self.reached.get(job, 0)}"
        )


def duration(seconds: float) -> str:
    """Seconds as people say them."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


@contextmanager
def progress(counter: Counter, *, hidden: bool) -> Iterator[Watch]:
    """A watch for the runner that shows how far it is, on standard error."""
    console = Console(stderr=True)
    if hidden:
        yield lambda _job, _t: None
    elif console.is_terminal:
        columns = (
            TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(),
            TextColumn("rounds"), TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn(),
        )  # fmt: skip
        with Progress(*columns, console=console) as bar:
            task = bar.add_task("", total=counter.total, completed=counter.before)
            yield lambda job, t: bar.update(
                task, completed=counter.note(job, t), description=job[-44:]
            )
    else:
        yield _lines(counter)


def _lines(counter: Counter) -> Watch:
    last = time.monotonic()

    def watch(job: str, t: int) -> None:
        nonlocal last
        counter.note(job, t)
        now = time.monotonic()
        if now - last >= SECONDS_BETWEEN_LINES:
            last = now
            typer.echo(counter.line(job), err=True)

    return watch
