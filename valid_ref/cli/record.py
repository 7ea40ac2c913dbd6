"""`valid-ref record`: run a scenario and keep everything that was said.

Implements: RE-12.
"""

import json
from pathlib import Path
from typing import Annotated

import typer

from valid_ref.front import run as run_scenario
from valid_ref.oracle import record_run
from valid_ref.printable import printable
from valid_ref.scenario import Scenario, load_scenario


def record(
    output: Annotated[
        Path, typer.Option("--output", "-o", help="RUN.zip, or an empty or new directory.")
    ],
    scenario: Annotated[Path | None, typer.Argument(help="A scenario file (JSON).")] = None,
    anonymous: Annotated[
        bool, typer.Option("--anonymous", help="Do not record who is Byzantine.")
    ] = False,
    checksums: Annotated[bool, typer.Option(help="A running checksum in every line.")] = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print the outcome only.")] = False,
) -> None:
    """Run a scenario (the default one if none is given) and record it.

    \b
    Examples:
      valid-ref record -o run.zip
      valid-ref record scenario.json -o run.zip --anonymous
    """  # noqa: D301 - \b keeps the lines of the examples apart
    chosen = Scenario() if scenario is None else load_scenario(scenario)
    finished = run_scenario(chosen)
    record_run(finished, output, byzantine_known=not anonymous, checksums=checksums)
    rounds, outcome = len(finished.execution.rounds), finished.outcome
    if as_json:
        typer.echo(json.dumps({"path": str(output), "rounds": rounds, "outcome": outcome}))
    else:
        typer.echo(outcome if quiet else f"{printable(output)}: {rounds} rounds, outcome {outcome}")
