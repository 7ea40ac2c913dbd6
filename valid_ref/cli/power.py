"""`valid-ref power`: the largest harm that an attack does without an alarm."""

import json
from pathlib import Path
from typing import Annotated

import attrs
import typer
from rich.console import Console
from rich.table import Table

from valid_ref.cli import options
from valid_ref.cli.outputs import require_outputs
from valid_ref.cli.progress import prepare_shown, progress
from valid_ref.cli.summary import certified_words
from valid_ref.document import unstructure
from valid_ref.grammar import agents_named
from valid_ref.outputs import writing
from valid_ref.power import Confirmed, Found, PowerError, Searches, confirm, pushes, worst
from valid_ref.report.curves import draw_harm, require_matplotlib
from valid_ref.scenario.build import Prepared

WRITTEN = ("searches.jsonl", "summary.json", "harm.svg")
"""The files of the results."""

MOST = 1000
"""Directions, and repeats, that can be asked for."""


def power(
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Directory of the results; a search goes on.")
    ],
    scenario: Annotated[Path | None, typer.Argument(help="A scenario file (JSON).")] = None,
    graph: options.Graph = None,
    loss: options.Loss = None,
    rounds: options.Rounds = None,
    schedule: options.Steps = None,
    bounds: options.Bounds = None,
    weights: options.Weights = None,
    thresholds: options.Thresholds = None,
    level: options.Level = None,
    byzantine: options.Byzantine = None,
    without: options.Without = None,
    validation: options.Validation = None,
    seed: options.Seed = None,
    coins: options.Coins = None,
    eps_success: options.EpsSuccess = None,
    jobs: options.Jobs = 1,
    directions: Annotated[
        int, typer.Option(min=1, max=MOST, help="Axes to push along, of least curvature first.")
    ] = 2,
    repeats_: Annotated[
        int, typer.Option("--repeats", min=1, max=MOST, help="How often, with other mini-batches.")
    ] = 1,
    plot: Annotated[bool, typer.Option(help="Draw harm.svg as well (needs matplotlib).")] = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Search for the most harmful attack that no check sees, and compare with what is certified.

    Byzantine agents add a push to their gradients: along a direction, with a course over the
    rounds (constant, late, oscillating, balanced, ...). For each the most harmful one that nobody
    sees is found; the worst of all is run again by the whole protocol.

    \b
    Examples:
      valid-ref power --graph complete:5 --loss random-ridge --byzantine 4 -o power
      valid-ref power --graph complete:5 --loss random-ridge --byzantine 4 --without P27 -o printed
    """  # noqa: D301 - \b keeps the lines of the examples apart
    given = options.Chosen(
        graph=graph,
        loss=loss,
        rounds=rounds,
        schedule=schedule,
        bounds=bounds,
        weights=weights,
        thresholds=thresholds,
        level=level,
        byzantine=byzantine,
        without=without,
        validation=validation,
        seed=seed,
        coins=coins,
        eps_success=eps_success,
    )
    require_outputs(
        directories={"--output": output}, written=WRITTEN, inputs={"SCENARIO": scenario}
    )
    if plot:
        require_matplotlib(output / "harm.svg")
    chosen = options.chosen_scenario(scenario, given)
    if chosen.seed is None and chosen.coins is None:
        chosen = attrs.evolve(chosen, seed=0)  # so that an interrupted search can go on
    prepared = prepare_shown(chosen, hidden=as_json, jobs=jobs)
    wanted = pushes(prepared, directions=directions, repeats=repeats_)
    with progress("searches", len(wanted), hidden=as_json) as show:
        found = Searches(output / "searches.jsonl").all(prepared, wanted, show)
    rows = [*worst(found)]
    checked = None
    if rows:
        first = max(rows, key=lambda one: one.harm)
        checked = confirm(prepared, wanted[found.index(first)], first)
        if checked.alarms:
            raise PowerError(
                f"{output / 'searches.jsonl'} says that a push goes unseen, and the protocol sees "
                "it: the file is not what a search wrote",
                clause="VA-6",
            )
    document = _document(prepared, rows, checked)
    with writing(output, "--output"):
        text = json.dumps(document, indent=1) + "\n"
        (output / "summary.json").write_text(text, encoding="utf-8")
    if as_json:
        typer.echo(json.dumps(document))
    else:
        _show(prepared, rows, checked, Console(highlight=False))
    if plot:
        draw_harm(rows, _limits(prepared, checked), output / "harm.svg")
        if not as_json:
            typer.echo(str(output / "harm.svg"))


def _limits(prepared: Prepared, checked: Confirmed | None) -> dict[str, float]:
    """What harm is to be compared with."""
    known = prepared.eps_success
    limits = {} if known is None else {"eps_success": known}
    radius = None if checked is None else checked.judgement.radius
    if radius is not None and radius.radius is not None:
        limits["certified radius, squared"] = radius.radius**2
    return limits


def _document(
    prepared: Prepared, rows: list[Found], checked: Confirmed | None
) -> dict[str, object]:
    return {
        "eps_success": prepared.eps_success,
        "delta": prepared.delta,
        "byzantine": sorted(prepared.byzantine),
        "courses": [unstructure(row) for row in rows],
        "largest_unseen": None if checked is None else checked.found.harm,
        "confirmed": None if checked is None else unstructure(checked),
    }


def _show(
    prepared: Prepared, rows: list[Found], checked: Confirmed | None, console: Console
) -> None:
    agents = agents_named(sorted(prepared.byzantine))
    console.print(f"most harmful unseen pushes of Byzantine {agents}")
    table = Table(box=None)
    for name in ("course", "direction", "strength", "squared distance to A(H)", "moved, squared"):
        table.add_column(name, justify="left" if name == "course" else "right")
    for row in rows:
        table.add_row(
            row.course.value,
            row.direction,
            f"{row.strength:.3g}",
            f"{row.harm:.3e}",
            f"{row.moved:.3e}",
        )
    console.print(table)
    for note in prepared.notes:
        console.print(f"note: {note}")
    if checked is None:
        console.print("every push that was tried is seen")
    else:
        console.print(
            f"largest unseen squared distance {checked.found.harm:.3e} (eps_success "
            f"{prepared.eps_success:.3e}); run by the whole protocol: {checked.alarms} alarms, "
            f"outcome {checked.judgement.outcome.value}"
        )
        for line in certified_words(checked.judgement, prepared.delta):
            console.print(f"  {line}", soft_wrap=True)
