"""`valid-ref learn`: LearnModel alone, on quadratic losses, in the reference arithmetic."""

import json
from typing import Annotated

import numpy as np
import typer

from valid_ref.graph_families import parse_family
from valid_ref.lattice import default_limits, from_lattice
from valid_ref.losses import random_quadratics
from valid_ref.machine import run_machine
from valid_ref.protocols.learn import LearningMessage, LearnModel
from valid_ref.scenario.build import diminishing_constants
from valid_ref.scenario.parts import Diminishing
from valid_ref.schedule import Precision, harmonic, inverse_root, make_schedule


def learn(
    graph: Annotated[str, typer.Option(help="paper, complete:5, path:4, torus:3x4, ...")] = "paper",
    rounds: Annotated[int, typer.Option(min=1, help="Learning rounds T.")] = 200,
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
    network = parse_family(graph)
    problem = random_quadratics(network.agents, dimension, seed)
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
