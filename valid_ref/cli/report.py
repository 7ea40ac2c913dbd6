"""`valid-ref report` and `valid-ref demo`: runs as one HTML page that needs nothing else."""

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from valid_ref.cli import options
from valid_ref.cli.outputs import require_outputs
from valid_ref.cli.progress import run_shown
from valid_ref.cli.summary import summary
from valid_ref.document import DocumentError
from valid_ref.explore.counterexample import FORMAT as SCRIPT_FORMAT
from valid_ref.explore.counterexample import Script, replay_script
from valid_ref.inputs import is_archive, read_text
from valid_ref.named_parts import name_of
from valid_ref.oracle import check, open_recording
from valid_ref.outputs import writing
from valid_ref.printable import printable
from valid_ref.report import (
    PageView,
    render_page,
    view_of,
    watch_recording,
    watch_replay,
    watch_run,
)
from valid_ref.report.demo import demo_scenarios, demo_view
from valid_ref.report.of_run import subtitle
from valid_ref.report.watched import Watched
from valid_ref.runs import Run
from valid_ref.scenario import Scenario
from valid_ref.schedule import MOST_ROUNDS
from valid_ref.trace import load_specification

Output = Annotated[Path, typer.Option("--output", "-o", help="The page to write.")]
DEMO = ("One agent cheats", "Everybody honest")
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing.")]


def report(
    source: Annotated[
        Path | None,
        typer.Argument(help="A scenario, a recording (directory or zip), or a counterexample."),
    ] = None,
    graph: options.Graph = None,
    loss: options.Loss = None,
    rounds: options.Rounds = None,
    schedule: options.Steps = None,
    bounds: options.Bounds = None,
    weights: options.Weights = None,
    thresholds: options.Thresholds = None,
    level: options.Level = None,
    byzantine: options.Byzantine = None,
    attack: options.Attack = None,
    without: options.Without = None,
    validation: options.Validation = None,
    seed: options.Seed = None,
    coins: options.Coins = None,
    eps_success: options.EpsSuccess = None,
    jobs: options.Jobs = 1,
    output: Output = Path("report.html"),
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the view as JSON instead of writing a page.")
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Make a page of a run: network, messages, alarms, checks, curves, costs, outcome.

    The page is one HTML file that needs no network; open it in any browser.
    A recording is replayed by the oracle, and its divergences are shown.

    \b
    Examples:
      valid-ref report --byzantine 4 --attack equivocation -o run.html
      valid-ref report scenario.json -o run.html
      valid-ref report run.zip -o recording.html
    """  # noqa: D301 - \b keeps the lines of the examples apart
    chosen = options.Chosen(
        graph=graph,
        loss=loss,
        rounds=rounds,
        schedule=schedule,
        bounds=bounds,
        weights=weights,
        thresholds=thresholds,
        level=level,
        byzantine=byzantine,
        attack=attack,
        without=without,
        validation=validation,
        seed=seed,
        coins=coins,
        eps_success=eps_success,
    )
    if not as_json:
        require_outputs(files={"--output": output}, inputs={"SOURCE": source})
    watched = _watched(source, chosen, jobs=jobs, hidden=quiet or as_json)
    title = f"A run of VALID: {watched.label if source is None else printable(source.name)}"
    view = view_of(title, subtitle(watched), [watched], load_specification())
    if as_json:
        typer.echo(json.dumps(view.as_json()))
        return
    write_page(output, view, quiet=quiet)


def demo(
    output: Output = Path("demo.html"),
    rounds: Annotated[int, typer.Option(min=1, max=MOST_ROUNDS, help="Learning rounds T.")] = 200,
    quiet: Quiet = False,
) -> None:
    """Run Valid twice on a small network, attacked and honest, and make a page with a guided tour.

    The page shows what the attack does without validation, and who notices it with validation.

    \b
    Examples:
      valid-ref demo
      valid-ref demo --rounds 50 -o demo.html
    """  # noqa: D301 - \b keeps the lines of the examples apart
    require_outputs(files={"--output": output})
    attacked, honest = demo_scenarios(rounds)
    view = demo_view(
        _run_and_tell(DEMO[0], attacked, quiet=quiet),
        _run_and_tell(DEMO[1], honest, quiet=quiet),
        load_specification(),
    )
    write_page(output, view, quiet=quiet)


def _run_and_tell(label: str, scenario: Scenario, *, quiet: bool) -> Run:
    finished = run_shown(scenario, hidden=quiet)
    if not quiet:
        typer.echo(f"{label}:")
        summary(finished, Console(highlight=False))
        typer.echo("")
    return finished


def write_page(output: Path, view: PageView, *, quiet: bool, option: str = "--output") -> None:
    """Write a page, and print where it is unless quiet; `option` named the place."""
    text = render_page(view)
    with writing(output, option):
        output.write_text(text, encoding="utf-8")
    if not quiet:
        typer.echo(
            f"{printable(output)} ({len(text.encode()) / 1000:.0f} kB): open it in a browser"
        )


def _watched(source: Path | None, chosen: options.Chosen, *, jobs: int, hidden: bool) -> Watched:
    """What a file holds; options go with scenarios only."""
    label = "the default scenario" if source is None else printable(source.stem)
    script = None if source is None else read_script(source)
    recorded = source is not None and (source.is_dir() or is_archive(source))
    if (script or recorded) and chosen != options.Chosen():
        raise typer.BadParameter("a recording or counterexample takes no options of a scenario")
    if script is not None:
        return watch_replay(replay_script(script), f"{label}: {script.broken} is broken")
    if recorded and source is not None:
        opened = open_recording(source)
        return watch_recording(opened, check(opened), label)
    scenario = options.chosen_scenario(source, chosen)
    if source is None and chosen != options.Chosen():
        attack = scenario.attack
        label = "everybody honest" if attack is None else f"attack {name_of(attack)}"
    return watch_run(run_shown(scenario, hidden=hidden, jobs=jobs), label)


def read_script(path: Path) -> Script | None:
    """A counterexample of the explorer, if the file holds one."""
    try:
        data = json.loads(read_text(path, DocumentError))
    except (DocumentError, ValueError, RecursionError):
        return None
    named = isinstance(data, dict) and data.get("format") == SCRIPT_FORMAT
    return Script.from_json(data) if named else None
