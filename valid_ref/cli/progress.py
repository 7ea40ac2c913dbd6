"""The progress bar of all commands: on standard error, where that is a terminal."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from valid_ref.runs import Run, run_prepared
from valid_ref.scenario import Prepared, Scenario, prepare
from valid_ref.scenario.build import build_graph, kept_rehearsals
from valid_ref.scenario.scenario import settled


class Show(Protocol):
    """Moves a bar to so much done; a total and a title replace those from before."""

    def __call__(self, done: int, total: int | None = None, title: str | None = None, /) -> None:
        """Show it."""


@contextmanager
def progress(
    title: str,
    total: int | None = None,
    *,
    done: int = 0,
    hidden: bool = False,
    in_bytes: bool = False,
) -> Iterator[Show | None]:
    """A bar that goes when all is done; None if it is hidden or there is no terminal."""
    if hidden or not sys.stderr.isatty():
        yield None
        return
    from rich import progress as rich  # deferred: most commands show no bar
    from rich.console import Console

    columns = (
        rich.TextColumn("{task.description}"),
        rich.BarColumn(),
        rich.DownloadColumn() if in_bytes else rich.MofNCompleteColumn(),
        rich.TimeRemainingColumn(),
    )
    with rich.Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=total, completed=done)

        def show(done: int, total: int | None = None, title: str | None = None, /) -> None:
            bar.update(task, completed=done, total=total, description=title)

        yield show


@contextmanager
def progress_of(scenario: Scenario, *, hidden: bool) -> Iterator[Show | None]:
    """The rounds of a run."""
    rounds = scenario.rounds + 4 * build_graph(scenario).agents - 1
    with progress("rounds", rounds, hidden=hidden) as show:
        yield show


def prepare_shown(scenario: Scenario, *, hidden: bool, jobs: int = 1) -> Prepared:
    """Make a scenario ready; rehearsals are shown, and kept in the cache of the user.

    Those of coins that were just drawn are not kept: nobody would find them again.
    """
    fixed = settled(scenario)
    directory = cache_directory() if fixed == scenario else None
    with progress("rehearsals", hidden=hidden) as show:
        kept = kept_rehearsals(fixed, directory, jobs=jobs, watch=show)
        return prepare(fixed, kept)


def run_shown(scenario: Scenario, *, hidden: bool, jobs: int = 1) -> Run:
    """Run a scenario; rehearsals and rounds are shown."""
    return play_shown(prepare_shown(scenario, hidden=hidden, jobs=jobs), hidden=hidden)


def play_shown(prepared: Prepared, *, hidden: bool) -> Run:
    """Run a scenario that is ready; rounds are shown."""
    with progress_of(prepared.scenario, hidden=hidden) as watch:
        return run_prepared(prepared, watch)


def cache_directory() -> Path:
    """Where rehearsals are kept: $XDG_CACHE_HOME/valid-ref/rehearsals, by default in ~/.cache."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "valid-ref" / "rehearsals"
