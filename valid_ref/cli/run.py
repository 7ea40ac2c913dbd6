"""`valid-ref run`: a whole run and its outcome; `valid-ref learn`: LearnModel alone."""

import json
from pathlib import Path
from typing import Annotated

import attrs
import numpy as np
import typer
from rich.console import Console

from valid_ref.adversary.catalogue import describe
from valid_ref.cli import options
from valid_ref.cli.outputs import require_outputs
from valid_ref.cli.program import LONGEST
from valid_ref.cli.progress import play_shown, prepare_shown
from valid_ref.cli.report import read_script, write_page
from valid_ref.cli.summary import summary
from valid_ref.explore.counterexample import Script, replay_script, tell
from valid_ref.lattice import default_limits, from_lattice
from valid_ref.losses import random_quadratics
from valid_ref.machine import run_machine
from valid_ref.oracle import recording_digest
from valid_ref.outputs import writing
from valid_ref.printable import printable
from valid_ref.protocols.learn import LearningMessage, LearnModel
from valid_ref.report import view_of, watch_run
from valid_ref.report.curves import draw, require_matplotlib, series_of
from valid_ref.report.of_run import subtitle
from valid_ref.scenario import parts, scenario_schema, scenario_text, settled
from valid_ref.scenario.build import graph_of
from valid_ref.scenario.convert import as_graph
from valid_ref.scenario.parts import Diminishing, RandomQuadratics
from valid_ref.scenario.schedules import diminishing_constants
from valid_ref.schedule import MOST_ROUNDS, Precision, harmonic, inverse_root, make_schedule
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
    validation: options.Validation = None,
    level: options.Level = None,
    seed: options.Seed = None,
    coins: options.Coins = None,
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
    jobs: options.Jobs = 1,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print the outcome only.")] = False,
) -> None:
    """Run Valid and judge the outcome; exit status 1 unless it is a, b or c, or a property broken.

    \b
    Examples:
      valid-ref run
      valid-ref run --graph complete:5 --byzantine 4 --attack benign:fraction=0.9
      valid-ref run --plot run.svg --report run.html
      valid-ref run scenario.json --json
    """  # noqa: D301 - \b keeps the lines of the examples apart
    given = options.Chosen(
        graph=graph,
        loss=loss,
        rounds=rounds,
        schedule=schedule,
        bounds=bounds,
        weights=weights,
        thresholds=thresholds,
        byzantine=byzantine,
        attack=attack,
        without=without,
        validation=validation,
        level=level,
        seed=seed,
        coins=coins,
        eps_success=eps_success,
    )
    outputs = {"--save": save, "--plot": plot, "--report": page}
    if schema and attacks:
        raise typer.BadParameter("choose one of --schema and --attacks")
    if schema or attacks:
        if scenario is not None or given != options.Chosen() or any(outputs.values()):
            raise typer.BadParameter("--schema and --attacks run nothing: no scenario, no outputs")
        if schema:
            typer.echo(json.dumps(scenario_schema(), indent=1))
        else:
            _list_attacks(as_json=as_json)
        return
    if scenario is not None and (script := read_script(scenario)) is not None:
        if given != options.Chosen() or any(outputs.values()):
            raise typer.BadParameter("a counterexample takes no options but --json")
        _replay(script, as_json=as_json)
        return
    require_outputs(files=outputs, inputs={"SCENARIO": scenario})
    if plot is not None:
        require_matplotlib(plot)
    chosen = settled(options.chosen_scenario(scenario, given))
    text = "" if save is None else scenario_text(chosen)
    prepared = prepare_shown(chosen, hidden=as_json or quiet, jobs=jobs)
    if save is not None:
        with writing(save, "--save"):
            save.write_text(text, encoding="utf-8")
    finished = play_shown(prepared, hidden=as_json or quiet)
    if as_json:
        typer.echo(json.dumps(finished.as_json() | {"digest": recording_digest(finished)}))
    elif quiet:
        typer.echo(finished.outcome)
    else:
        summary(finished, Console(highlight=False))
    quiet = quiet or as_json
    if plot is not None:
        series = series_of(watch_run(finished, ""), chosen.rounds)
        if series is not None:
            with writing(plot, "--plot"):
                draw(series, f"outcome {finished.outcome}", plot)
        if not quiet:
            typer.echo(str(plot))
    if page is not None:
        label = scenario.stem if scenario is not None else "the default scenario"
        watched = watch_run(finished, label)
        title = f"A run of VALID: {label}"
        view = view_of(title, subtitle(watched), [watched], load_specification())
        write_page(page, view, quiet=quiet, option="--report")
    raise typer.Exit(0 if finished.outcome in {"a", "b", "c"} else 1)


def _list_attacks(*, as_json: bool) -> None:
    """The attacks of the reference and of entry points; those that are broken with the reason."""
    installed = parts.ATTACK_PARTS.installed()
    theirs = {one.name: one.part for one in installed if one.part is not None}
    broken = [one for one in installed if one.part is None]
    attacks = (*describe(), *describe(theirs))
    if as_json:
        rows = [
            {"kind": one.kind, "summary": one.summary, "options": dict(one.options)}
            for one in attacks
        ]
        useless = [{"kind": one.name, "broken": one.broken} for one in broken]
        typer.echo(json.dumps([*rows, *useless], indent=1, default=str))
        return
    for one in attacks:
        typer.echo(f"{one.kind:24s} {one.summary}")
        for name, default in one.options.items():
            given = "(must be given)" if default is attrs.NOTHING else f"= {default}"
            typer.echo(f"{'':26s}{name} {given}")
    for other in broken:
        typer.echo(printable(f"{other.name:24s} broken: {other.broken}", LONGEST))


def _replay(script: Script, *, as_json: bool) -> None:
    """Play the counterexample through the real machines and judge it again."""
    replay = replay_script(script)
    holds = replay.verdict.holds
    if as_json:
        typer.echo(json.dumps({"breaks": script.broken, "holds": holds, "story": tell(replay)}))
    else:
        typer.echo(tell(replay))
    raise typer.Exit(0 if holds else 1)


def learn(
    graph: Annotated[str, typer.Option(help="paper, complete:5, my_graphs:Ring, ...")] = "paper",
    rounds: Annotated[int, typer.Option(min=1, max=MOST_ROUNDS, help="Learning rounds T.")] = 200,
    dimension: Annotated[int, typer.Option(min=1, help="Length d of a model.")] = 10,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the losses.")] = 0,
    every: Annotated[int, typer.Option(min=1, help="Print every so many rounds.")] = 10,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Print the last distance only.")
    ] = False,
) -> None:
    """Run LearnModel and print each round's distance to the optimum.

    \b
    Example:
      valid-ref learn --graph torus:3x4 --rounds 500 --every 50
    """  # noqa: D301 - \b keeps the lines of the examples apart
    network = graph_of(as_graph(graph, "--graph"))
    problem = random_quadratics(network.agents, dimension, seed, offset=RandomQuadratics().offset)
    a, t0, e0 = diminishing_constants(Diminishing(), network, problem)
    schedule = make_schedule(rounds, alpha=harmonic(a, t0), eta=inverse_root(e0, t0))
    machine = LearnModel(
        network,
        default_limits(dimension, schedule, network.max_degree),
        np.zeros(dimension, dtype=np.int64),
    )
    sources = {agent: problem.gradient_source(agent) for agent in range(network.agents)}
    result = run_machine(network, machine, sources)
    optimum = problem.minimiser()
    rows = []
    for spoken in result.rounds:
        models = [
            from_lattice(message.model, Precision())
            for message in spoken.said.values()
            if isinstance(message, LearningMessage)
        ]
        mean = np.mean(models, axis=0)
        distance = float(np.mean([np.sum((model - optimum) ** 2) for model in models]))
        spread = float(np.mean([np.sum((model - mean) ** 2) for model in models]))
        rows.append({"round": spoken.number, "distance": distance, "consensus_error": spread})
    alarms = [str(raised) for state in result.states.values() for raised in state.alarms]
    if as_json:
        typer.echo(json.dumps({"rounds": rows, "alarms": alarms}))
        return
    if quiet:
        typer.echo(f"{rows[-1]['distance']:.3e}")
        return
    typer.echo(
        f"LearnModel: {network.agents} agents, {network.edge_count} edges, d = {dimension}, "
        f"T = {rounds}; every message an exact integer vector"
    )
    typer.echo("round   mean |x_v - x*|^2   mean |x_v - mean|^2   round x distance")
    for row in rows:
        if row["round"] == 1 or row["round"] % every == 0 or row["round"] == rounds:
            scaled = row["round"] * row["distance"]
            typer.echo(
                f"{row['round']:5d}   {row['distance']:17.3e}   {row['consensus_error']:19.3e}"
                f"   {scaled:16.4f}"
            )
    typer.echo(f"alarms: {len(alarms)}" + "".join(f"\n  {alarm}" for alarm in alarms))
