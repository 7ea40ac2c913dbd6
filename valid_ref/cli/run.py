"""`valid-ref run`: a scenario from the first gradient to the verdict."""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import attrs
import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from valid_ref.adversary.catalogue import AttackPart, describe
from valid_ref.cli.summary import summary
from valid_ref.explore.script import FORMAT as SCRIPT_FORMAT
from valid_ref.explore.script import Script, replay_script
from valid_ref.explore.story import tell
from valid_ref.front import run as run_scenario
from valid_ref.scenario import Scenario, load_scenario, scenario_schema, scenario_text
from valid_ref.scenario.build import build_graph
from valid_ref.scenario.parts import (
    BoundsPart,
    Check,
    Family,
    LossPart,
    SchedulePart,
    ThresholdsPart,
    WeightsPart,
)
from valid_ref.scenario.shorthand import parse_integers, parse_part


def run(
    scenario: Annotated[
        Path | None, typer.Argument(help="A scenario, or a counterexample of explore (JSON).")
    ] = None,
    graph: Annotated[str | None, typer.Option(help="paper, complete:5, path:4, ...")] = None,
    loss: Annotated[
        str | None, typer.Option(help="random-quadratic:dimension=5, random-logistic, ...")
    ] = None,
    rounds: Annotated[int | None, typer.Option(min=1, help="Learning rounds T.")] = None,
    schedule: Annotated[
        str | None, typer.Option(help="diminishing, constant:alpha=0.1,eta=0.1, ...")
    ] = None,
    bounds: Annotated[
        str | None, typer.Option(help="derived, none, configured:model=9,gradient=9")
    ] = None,
    weights: Annotated[
        str | None, typer.Option(help="polynomial:power=2, exponential:gamma=0.9")
    ] = None,
    thresholds: Annotated[
        str | None, typer.Option(help="calibrated, certificate:theta=0.05, configured:...")
    ] = None,
    byzantine: Annotated[str | None, typer.Option(help="Byzantine agents: 3,4")] = None,
    attack: Annotated[str | None, typer.Option(help="benign:fraction=0.5, ...")] = None,
    without: Annotated[
        str | None, typer.Option(help="Turn repairs off: P07,P14; all: as-printed")
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Seed of losses, batches, keys.")] = None,
    eps_success: Annotated[float | None, typer.Option(help="Tolerance of the outcome.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
    save: Annotated[Path | None, typer.Option(help="Write the scenario here, whole.")] = None,
    schema: Annotated[bool, typer.Option("--schema", help="Print the JSON schema.")] = False,
    attacks: Annotated[
        bool, typer.Option("--attacks", help="List the named attacks and their options.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print the outcome only.")] = False,
) -> None:
    """Run Valid and judge the outcome; exit status 1 if it is "failed", or a property broken.

    Examples: valid-ref run; valid-ref run --graph complete:5 --rounds 500 --byzantine 4
    --attack benign:fraction=0.9; valid-ref run scenario.json --json
    """
    if schema:
        typer.echo(json.dumps(scenario_schema(), indent=1))
        return
    if attacks:
        for one in describe():
            typer.echo(f"{one.kind:24s} {one.summary}")
            for name, default in one.options.items():
                typer.echo(f"{'':26s}{name} = {default}")
        return
    if scenario is not None and (script := _script(scenario)) is not None:
        _replay(script, as_json=as_json)
        return
    chosen = Scenario() if scenario is None else load_scenario(scenario)
    changes: dict[str, Any] = {
        "graph": None if graph is None else Family(graph),
        "loss": _part(LossPart, loss, "--loss"),
        "rounds": rounds,
        "schedule": _part(SchedulePart, schedule, "--schedule"),
        "bounds": _part(BoundsPart, bounds, "--bounds"),
        "byzantine": None if byzantine is None else parse_integers(byzantine),
        "attack": _part(AttackPart | None, attack, "--attack"),
        "without": None if without is None else _errata(without),
        "seed": seed,
        "eps_success": eps_success,
    }
    if weights is not None or thresholds is not None:
        first = chosen.checks[0] if chosen.checks else Check()
        changes["checks"] = (
            Check(
                weights if weights is not None else first.name,
                _part(WeightsPart, weights, "--weights") or first.weights,
                _part(ThresholdsPart, thresholds, "--thresholds") or first.thresholds,
            ),
        )
    chosen = attrs.evolve(chosen, **{k: v for k, v in changes.items() if v is not None})
    if save is not None:
        save.write_text(scenario_text(chosen), encoding="utf-8")
    with _progress(chosen, hidden=as_json or quiet) as watch:
        finished = run_scenario(chosen, watch)
    if as_json:
        typer.echo(json.dumps(finished.as_json()))
    elif quiet:
        typer.echo(finished.outcome)
    else:
        summary(finished, Console(highlight=False))
    raise typer.Exit(0 if finished.outcome in {"a", "b", "c"} else 1)


def _script(path: Path) -> Script | None:
    """A counterexample of the explorer, if the file holds one."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    named = isinstance(data, dict) and data.get("format") == SCRIPT_FORMAT
    return Script.from_json(data) if named else None


def _replay(script: Script, *, as_json: bool) -> None:
    """Play the counterexample through the real machines and judge it again."""
    replay = replay_script(script)
    holds = replay.verdict.holds
    if as_json:
        typer.echo(json.dumps({"breaks": script.broken, "holds": holds, "story": tell(replay)}))
    else:
        typer.echo(tell(replay))
    raise typer.Exit(0 if holds else 1)


def _part(kind: Any, text: str | None, path: str) -> Any:
    return None if text is None else parse_part(kind, text, path)


def _errata(text: str) -> tuple[str, ...]:
    from valid_ref.reading import Reading

    if text == "as-printed":
        return Reading.switches()
    return tuple(item.strip().upper() for item in text.split(",") if item.strip())


@contextmanager
def _progress(scenario: Scenario, *, hidden: bool) -> Iterator[Callable[[int], None] | None]:
    """A bar on standard error, only on a terminal."""
    if hidden or not sys.stderr.isatty():
        yield None
        return
    total = scenario.rounds + 4 * build_graph(scenario).agents - 1
    columns = TextColumn("rounds"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("rounds", total=total)
        yield lambda number: progress.update(task, completed=number)
