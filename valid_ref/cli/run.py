"""`valid-ref run`: a scenario from the first gradient to the verdict."""

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from valid_ref.adversary.catalogue import describe
from valid_ref.cli import options
from valid_ref.cli.progress import progress_of
from valid_ref.cli.report import read_script, subtitle, write_page, write_text
from valid_ref.cli.summary import summary
from valid_ref.explore.script import Script, replay_script
from valid_ref.explore.story import tell
from valid_ref.front import Run
from valid_ref.front import run as run_scenario
from valid_ref.report import view_of, watch_run
from valid_ref.report.plots import draw, require_matplotlib
from valid_ref.report.series import series_of
from valid_ref.scenario import scenario_schema, scenario_text
from valid_ref.trace import load_specification


def run(
    scenario: Annotated[
        Path | None, typer.Argument(help="A scenario, or a counterexample of explore (JSON).")
    ] = None,
    graph: options.Graph = None,
    loss: options.Loss = None,
    rounds: options.Rounds = None,
    schedule: options.Steps = None,
    bounds: options.Bounds = None,
    weights: options.Weights = None,
    thresholds: options.Thresholds = None,
    byzantine: options.Byzantine = None,
    attack: options.Attack = None,
    without: options.Without = None,
    seed: options.Seed = None,
    eps_success: options.EpsSuccess = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
    save: Annotated[Path | None, typer.Option(help="Write the scenario here, whole.")] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Draw distance, consensus and statistics: out.png, out.svg")
    ] = None,
    page: Annotated[Path | None, typer.Option("--report", help="Write a page of the run.")] = None,
    schema: Annotated[bool, typer.Option("--schema", help="Print the JSON schema.")] = False,
    attacks: Annotated[
        bool, typer.Option("--attacks", help="List the named attacks and their options.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print the outcome only.")] = False,
) -> None:
    """Run Valid and judge the outcome; exit status 1 if it is "failed", or a property broken.

    \b
    Examples:
      valid-ref run
      valid-ref run --graph complete:5 --byzantine 4 --attack benign:fraction=0.9
      valid-ref run --plot run.svg --report run.html
      valid-ref run scenario.json --json
    """  # noqa: D301 - \b keeps the lines of the examples apart
    if schema:
        typer.echo(json.dumps(scenario_schema(), indent=1))
        return
    if attacks:
        _list_attacks(as_json=as_json)
        return
    if scenario is not None and (script := read_script(scenario)) is not None:
        _replay(script, as_json=as_json)
        return
    given = options.Chosen(
        graph, loss, rounds, schedule, bounds, weights, thresholds, byzantine, attack, without,
        seed, eps_success,
    )  # fmt: skip
    chosen = options.chosen_scenario(scenario, given)
    if plot is not None:
        require_matplotlib(plot)
    if save is not None:
        write_text(save, scenario_text(chosen))
    with progress_of(chosen, hidden=as_json or quiet) as watch:
        finished = run_scenario(chosen, watch)
    if as_json:
        typer.echo(json.dumps(finished.as_json()))
    elif quiet:
        typer.echo(finished.outcome)
    else:
        summary(finished, Console(highlight=False))
    told = not (as_json or quiet)
    if plot is not None:
        _draw(finished, plot)
        if told:
            typer.echo(str(plot))
    if page is not None:
        label = scenario.stem if scenario is not None else "the default scenario"
        watched = watch_run(finished, label)
        title = f"A run of VALID: {label}"
        write_page(page, view_of(title, subtitle(watched), [watched], load_specification()), told)
    raise typer.Exit(0 if finished.outcome in {"a", "b", "c"} else 1)


def _draw(finished: Run, path: Path) -> None:
    series = series_of(watch_run(finished, ""), finished.scenario.rounds)
    if series is not None:
        draw(series, f"outcome {finished.outcome}", path)


def _list_attacks(*, as_json: bool) -> None:
    if as_json:
        rows = [
            {"kind": one.kind, "summary": one.summary, "options": dict(one.options)}
            for one in describe()
        ]
        typer.echo(json.dumps(rows, indent=1, default=str))
        return
    for one in describe():
        typer.echo(f"{one.kind:24s} {one.summary}")
        for name, default in one.options.items():
            typer.echo(f"{'':26s}{name} = {default}")


def _replay(script: Script, *, as_json: bool) -> None:
    """Play the counterexample through the real machines and judge it again."""
    replay = replay_script(script)
    holds = replay.verdict.holds
    if as_json:
        typer.echo(json.dumps({"breaks": script.broken, "holds": holds, "story": tell(replay)}))
    else:
        typer.echo(tell(replay))
    raise typer.Exit(0 if holds else 1)
