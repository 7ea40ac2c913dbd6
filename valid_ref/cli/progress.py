"""A bar on standard error, where that is a terminal."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from valid_ref.scenario import Scenario
from valid_ref.scenario.build import build_graph


@contextmanager
def progress_of(scenario: Scenario, *, hidden: bool) -> Iterator[Callable[[int], None] | None]:
    """Told each finished round; nothing is shown if hidden or not on a terminal."""
    if hidden or not sys.stderr.isatty():
        yield None
        return
    total = scenario.rounds + 4 * build_graph(scenario).agents - 1
    columns = TextColumn("rounds"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("rounds", total=total)
        yield lambda number: progress.update(task, completed=number)
