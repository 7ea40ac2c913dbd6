"""`valid-torch run`: an experiment from its configuration to its results, resumed where it was."""

import shlex
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from torch_backend.cli.progress import Counter, progress
from torch_backend.cli.tables import print_tables

INTERRUPTED = 130
"""The exit status of a run that was stopped by hand, as shells have it."""


def run(
    experiment: Annotated[str, typer.Argument(help="A preset (valid-torch list) or a TOML file.")],
    quick: Annotated[bool, typer.Option("--quick", help="The small variant: minutes.")] = False,
    data: Annotated[
        Path | None,
        typer.Option(help="The directory of the MNIST files (else VALID_MNIST, cache)."),
    ] = None,
    device: Annotated[str, typer.Option(help="cpu, cuda, cuda:1, mps")] = "cpu",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Where the results go (runs/NAME).")
    ] = None,
    changes: Annotated[
        list[str] | None, typer.Option("--set", help="Change an option: rounds=50, steps.initial=3")
    ] = None,
    record: Annotated[
        bool,
        typer.Option(
            "--record", help="Validate and record every run of VALID for valid-ref check (large)."
        ),
    ] = False,
    jobs: Annotated[int, typer.Option(min=1, help="How many jobs run at once.")] = 1,
    threads: Annotated[int, typer.Option(min=1, help="Threads of each job.")] = 1,
    checkpoint_every: Annotated[
        int, typer.Option(min=1, help="Rounds between two checkpoints.")
    ] = 50,
    chunk: Annotated[
        int | None,
        typer.Option(min=1, help="Gradients taken at a time (a quarter of the agents)."),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no tables.")] = False,
) -> None:
    """Run every rule against every attack with every seed; go on where an earlier call stopped.

    Killed at any moment, the same command resumes and ends with the same results. Exit status 1
    if every job diverged. Under torchrun its processes share the agents of every job, with the
    same results.

    Examples: valid-torch run demo; valid-torch run fig-noniid --data DIR --jobs 2;
    valid-torch run detection --quick --data DIR --set detection.factor=1.2;
    torchrun --nproc-per-node 2 -m torch_backend run demo
    """
    from torch_backend.config.jobs import jobs as jobs_of
    from torch_backend.config.load import load
    from torch_backend.distributed_team import assemble, leave
    from torch_backend.experiments import run_experiment
    from torch_backend.process import Options, StoppedError

    wanted = [*(changes or ()), *(["validate=true"] if record else [])]
    chosen = load(experiment, quick=quick, changes=wanted)
    name = Path(experiment).stem + ("-quick" if quick else "")
    directory = Path("runs") / name if output is None else output
    names = [job.name for job in jobs_of(chosen)]
    team = assemble(device)
    quiet = quiet or not team.first
    done = _done(directory, names) if team.first else {}
    counter = Counter(len(names), chosen.rounds, done)
    if not quiet:
        typer.echo(f"{chosen.about}\n{len(names)} jobs of {chosen.rounds} rounds in {directory}")
        if done:
            typer.echo(f"{len(done)} of them are finished already")
    try:
        with stopping() as stop, progress(counter, hidden=quiet) as watch:
            found = run_experiment(
                chosen, directory, Options(device, threads, record, checkpoint_every, chunk),
                data=data, processes=jobs, watch=watch, stop=stop.is_set, team=team,
            )  # fmt: skip
    except StoppedError:
        leave()
        if team.first:
            command = shlex.join(["valid-torch", *sys.argv[1:]])
            also = " (or again under torchrun)" if team.processes > 1 else ""
            typer.echo(f"Stopped; nothing is lost. To go on: {command}{also}", err=True)
        raise typer.Exit(INTERRUPTED) from None
    leave()
    if not quiet:
        print_tables(found, Console(highlight=False))
        typer.echo(f"valid-torch plot {directory} draws the figures.")
    raise typer.Exit(0 if any(s["outcome"] == "finished" for s in found.summaries) else 1)


def _done(directory: Path, names: list[str]) -> dict[str, int]:
    """The rounds of the jobs that are finished already."""
    from torch_backend.results import read_summary

    found = {name: read_summary(directory, name) for name in names}
    return {name: summary["rounds"] for name, summary in found.items() if summary is not None}


@contextmanager
def stopping() -> Iterator[threading.Event]:
    """An event that the first Ctrl-C or termination sets; the second Ctrl-C ends at once."""
    asked = threading.Event()
    wanted = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.getsignal(number) for number in wanted}

    def ask(number: int, _frame: object) -> None:
        if asked.is_set():
            raise KeyboardInterrupt
        asked.set()
        typer.echo(f"Stopping after this round ({signal.Signals(number).name}) ...", err=True)

    for number in wanted:
        signal.signal(number, ask)
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
