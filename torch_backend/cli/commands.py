"""All commands of `valid-torch`."""

import inspect
import json
import math
import shlex
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import attrs
import typer
from rich.console import Console

from valid_ref import __version__
from valid_ref.cli.leaving import INTERRUPTED
from valid_ref.cli.outputs import require_outputs

SECONDS_BETWEEN_LINES = 30.0

Watch = Callable[[str, int], None]


def run(
    experiment: Annotated[str, typer.Argument(help="A preset (valid-torch list) or a TOML file.")],
    quick: Annotated[bool, typer.Option("--quick", help="The small variant: minutes.")] = False,
    data: Annotated[
        Path | None,
        typer.Option(help="The directory of the MNIST files (else VALID_MNIST, cache)."),
    ] = None,
    device: Annotated[str, typer.Option(help="cpu, cuda, cuda:1")] = "cpu",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Where the results go (runs/NAME).")
    ] = None,
    changes: Annotated[
        list[str] | None, typer.Option("--set", help="Change an option: rounds=50, steps.initial=3")
    ] = None,
    rules: Annotated[
        list[str] | None,
        typer.Option("--rule", help="In place of the rules: valid, ubar:rho=0.3, my_rules:Mean"),
    ] = None,
    attacks: Annotated[
        list[str] | None,
        typer.Option("--attack", help="In place of the attacks: none, gaussian:sigma=0.3"),
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
    cache: Annotated[
        Path | None,
        typer.Option(help="Where calibration runs are kept and found (the cache of the user)."),
    ] = None,
    no_cache: Annotated[
        bool, typer.Option("--no-cache", help="Neither keep nor look for calibration runs.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no tables.")] = False,
) -> None:
    """Run every rule against every attack with every seed; go on where an earlier call stopped.

    Killed at any moment, the same command resumes and ends with the same results. Exit status 1
    if every job diverged. Calibration runs of other experiments that are the same are found again.
    Under torchrun its processes share the agents of every job, with the same results.

    Examples: valid-torch run demo; valid-torch run fig-noniid --data DIR --jobs 2;
    valid-torch run detection --quick --data DIR --set detection.level=0.1;
    torchrun --nproc-per-node 2 -m torch_backend run demo
    """
    from torch_backend.config.experiment import jobs as jobs_of
    from torch_backend.config.load import load
    from torch_backend.distributed import assemble, leave
    from torch_backend.experiments import run_experiment
    from torch_backend.kept import cache_directory
    from torch_backend.process import Options, StoppedError
    from torch_backend.responses import print_responses
    from torch_backend.tables import print_tables

    if no_cache and cache is not None:
        raise typer.BadParameter("choose one of --cache and --no-cache")
    name = Path(experiment).stem + ("-quick" if quick else "")
    directory = Path("runs") / name if output is None else output
    require_outputs(directories={"--output": directory, "--cache": cache})
    named = {"rules": rules, "attacks": attacks}
    lists = [f"{key}={json.dumps(words)}" for key, words in named.items() if words]
    wanted = [*lists, *(changes or ()), *(["validate=true"] if record else [])]
    _require_once(wanted)
    chosen = load(experiment, quick=quick, changes=wanted)
    names = [job.name for job in jobs_of(chosen)]
    kept = None if no_cache else cache or cache_directory()
    team = assemble(device)
    quiet = quiet or not team.first
    done = _done(directory, names) if team.first else {}
    counter = Counter(len(names), chosen.rounds, done)
    if not quiet:
        typer.echo(f"{chosen.about}\n{len(names)} jobs of {chosen.rounds} rounds in {directory}")
        if done:
            typer.echo(f"{len(done)} of them are finished already")
    try:
        with stopping() as stop, watching(counter, hidden=quiet) as watch:
            found = run_experiment(
                chosen,
                directory,
                Options(
                    device=device,
                    threads=threads,
                    record=record,
                    checkpoint_every=checkpoint_every,
                    chunk=chunk,
                    cache=kept,
                ),
                data=data,
                processes=jobs,
                watch=watch,
                stop=stop.is_set,
                team=team,
            )
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
        print_responses(found, Console(highlight=False))
        typer.echo(f"valid-torch plot {directory} draws the figures.")
    raise typer.Exit(0 if any(s["outcome"] == "finished" for s in found.summaries) else 1)


def _require_once(changes: Sequence[str]) -> None:
    """Refuse to set an option twice, of which one would be lost."""
    keys = [change.partition("=")[0].strip() for change in changes]
    for index, key in enumerate(keys):
        if key in keys[:index]:
            raise typer.BadParameter(f"--set: {key} is set twice")


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


def false_alarms(
    experiment: Annotated[str, typer.Argument(help="A preset (valid-torch list) or a TOML file.")],
    runs: Annotated[int, typer.Option(min=1, help="Honest runs to be judged.")] = 100,
    quick: Annotated[bool, typer.Option("--quick", help="The small variant.")] = False,
    data: Annotated[
        Path | None,
        typer.Option(help="The directory of the MNIST files (else VALID_MNIST, cache)."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Where the runs go (runs/NAME-honest).")
    ] = None,
    changes: Annotated[
        list[str] | None, typer.Option("--set", help="Change an option: rounds=50, common_seed=1")
    ] = None,
    device: Annotated[str, typer.Option(help="cpu, cuda, cuda:1")] = "cpu",
    jobs: Annotated[int, typer.Option(min=1, help="Processes that run side by side.")] = 1,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
) -> None:
    """Count the honest runs that alarm, each under thresholds from honest runs of its own.

    A judged run takes as many others as its thresholds need: 19 at the level .05. Stopped at any
    moment, the same command goes on; with more --runs it adds to what is there.

    Examples: valid-torch false-alarms honest --data DIR --runs 1000 --set common_seed=1;
    valid-torch false-alarms demo --quick --runs 20
    """
    from torch_backend.config.load import load
    from torch_backend.false_alarms import Study, run_study
    from torch_backend.process import Options, StoppedError
    from valid_ref.cli.progress import progress

    name = f"{Path(experiment).stem}{'-quick' if quick else ''}-honest"
    directory = Path("runs") / name if output is None else output
    require_outputs(directories={"--output": directory})
    _require_once(changes or ())
    study = Study(load(experiment, quick=quick, changes=changes or ()), runs)
    count = len(study.seeds)
    if not quiet:
        typer.echo(f"{runs} honest runs are judged, {count} runs in all, in {directory}")
    try:
        with stopping() as stop, progress("honest runs", count, hidden=quiet) as show:
            found = run_study(
                study,
                directory,
                Options(device),
                data=data,
                processes=jobs,
                watch=_honest_watch(show, hidden=quiet),
                stop=stop.is_set,
            )
    except StoppedError:
        command = shlex.join(["valid-torch", *sys.argv[1:]])
        typer.echo(f"Stopped; nothing is lost. To go on: {command}", err=True)
        raise typer.Exit(INTERRUPTED) from None
    typer.echo(str(found))


def _honest_watch(
    show: Callable[[int, int], None] | None, *, hidden: bool
) -> Callable[[int, int], None]:
    """A bar on a terminal, a line now and then elsewhere."""
    if show is not None:
        return show
    last, pause = time.monotonic(), math.inf if hidden else SECONDS_BETWEEN_LINES

    def watch(done: int, total: int) -> None:
        nonlocal last
        if time.monotonic() - last >= pause:
            last = time.monotonic()
            typer.echo(f"{done} of {total} honest runs", err=True)

    return watch


def plot(
    directory: Annotated[Path, typer.Argument(help="The results of valid-torch run.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Where the figures go (DIR/plots).")
    ] = None,
) -> None:
    """Draw the figures of an experiment, as PNG and SVG."""
    from torch_backend.plot import plot as draw
    from torch_backend.results import read_results

    place = directory / "plots" if output is None else output
    require_outputs(directories={"--output": place})
    written = draw(read_results(directory), place)
    for path in written:
        typer.echo(path)
    if not written:
        typer.echo("this experiment asks for no figures; valid-torch table shows its results")


def table(
    directory: Annotated[Path, typer.Argument(help="The results of valid-torch run.")],
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown.")] = False,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Write the numbers of all tables here, as CSV."),
    ] = None,
) -> None:
    """Print final accuracies, alarm rates and verdicts; with -o also write them as CSV."""
    from torch_backend.responses import print_responses, write_responses
    from torch_backend.results import read_results
    from torch_backend.tables import print_tables, write_tables

    require_outputs(directories={"--output": output})
    found = read_results(directory)
    print_tables(found, Console(highlight=False), markdown=markdown)
    print_responses(found, Console(highlight=False), markdown=markdown)
    if output is not None:
        for path in (*write_tables(found, output), *write_responses(found, output)):
            typer.echo(path)


def list_parts() -> None:
    """List presets, rules, attacks, partitions, models and data, a line each."""
    import tomllib

    from torch_backend.attacks import ATTACKS
    from torch_backend.config.load import presets
    from torch_backend.data import DATA
    from torch_backend.data.partition import PARTITIONS
    from torch_backend.models import MODELS
    from torch_backend.rules import RULES
    from valid_ref.cli.program import LONGEST
    from valid_ref.printable import printable

    typer.echo("presets")
    for name, text in presets().items():
        typer.echo(f"  {name:20s} {tomllib.loads(text)['about']}")
    for title, parts in (
        ("rules", RULES),
        ("attacks", ATTACKS),
        ("partitions", PARTITIONS),
        ("models", MODELS),
        ("data", DATA),
    ):
        typer.echo(title)
        for kind, part in parts.kinds.items():
            _describe(kind, part)
        for one in parts.installed():
            if one.part is None:
                typer.echo(printable(f"  {one.name:20s} broken: {one.broken}", LONGEST))
            else:
                _describe(one.name, one.part)
    typer.echo("A class of your own is named module:Name (docs/guides/your-model.md).")


def _describe(name: str, part: Any) -> None:
    text = inspect.getdoc(part) or f"{part.__module__}:{part.__qualname__}"
    typer.echo(f"  {name:20s} {text.splitlines()[0]}")
    options = [_option(field) for field in attrs.fields(part) if field.init]
    if options:
        typer.echo(f"  {'':20s}   {', '.join(options)}")


def _option(field: Any) -> str:
    if field.default is attrs.NOTHING:
        return f"{field.name} (must be given)"
    value = list(field.default) if isinstance(field.default, tuple) else field.default
    return f"{field.name} = {value}"


def schema() -> None:
    """Print the JSON schema of an experiment."""
    from torch_backend.config.load import schema_text

    typer.echo(schema_text(), nl=False)


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
def watching(counter: Counter, *, hidden: bool) -> Iterator[Watch]:
    """A watch for the runner: a bar on a terminal, a line now and then elsewhere."""
    from valid_ref.cli.progress import progress  # deferred: takes all of valid-ref

    with progress("rounds", counter.total, done=counter.before, hidden=hidden) as show:
        if show is not None:
            yield lambda job, t: show(counter.note(job, t), counter.total, job[-44:])
        else:
            yield _lines(counter, math.inf if hidden else SECONDS_BETWEEN_LINES)


def _lines(counter: Counter, pause: float) -> Watch:
    last = time.monotonic()

    def watch(job: str, t: int) -> None:
        nonlocal last
        counter.note(job, t)
        now = time.monotonic()
        if now - last >= pause:
            last = now
            typer.echo(counter.line(job), err=True)

    return watch


app = typer.Typer(
    name="valid-torch",
    help="The experiments of VALID: run them, stop and resume them, plot them.",
    invoke_without_command=True,
    pretty_exceptions_enable=False,
)
app.command()(run)
app.command("false-alarms")(false_alarms)
app.command()(plot)
app.command()(table)
app.command("list")(list_parts)
app.command()(schema)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"valid-torch {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    context: typer.Context,
    version: bool = typer.Option(
        False, "--version", callback=_print_version, is_eager=True, help="Print the version."
    ),
) -> None:
    """Exit status: 0 done, 1 a run failed, 2 bad input, 130 stopped by hand."""
    del version
    if (here := str(Path.cwd())) not in sys.path:
        sys.path.append(here)  # so that `module:Name` may be a file of the current directory
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit(2)
