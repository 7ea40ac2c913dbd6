"""`valid-ref check`: whether a recording is what the specification says.

Implements: RE-8.
"""

import json
from pathlib import Path
from typing import Annotated

import typer

from valid_ref.cli.progress import progress
from valid_ref.oracle import Verdict, header_schema, log_schema, open_recording
from valid_ref.oracle import check as check_recording
from valid_ref.protocols.valid import Valid


def check(
    recording: Annotated[
        Path | None, typer.Argument(help="A recording: a directory or a zip.")
    ] = None,
    agent: Annotated[
        list[int] | None, typer.Option(help="Replay this agent only; may be repeated.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print the verdict only.")] = False,
    schema: Annotated[
        bool, typer.Option("--schema", help="Print the JSON schemas of a recording.")
    ] = False,
) -> None:
    """Replay a recording; exit status 0 only if it conforms.

    \b
    Examples:
      valid-ref check run.zip
      valid-ref check run.zip --agent 2 --json
    """  # noqa: D301 - \b keeps the lines of the examples apart
    if schema:
        schemas = {"header.json": header_schema(), "log.jsonl": log_schema()}
        typer.echo(json.dumps(schemas, indent=1))
        return
    if recording is None:
        raise typer.BadParameter("name a recording")
    opened = open_recording(recording)
    with progress("rounds", Valid(opened.parameters).rounds, hidden=as_json or quiet) as watch:
        verdict = check_recording(opened, agents=agent or None, watch=watch)
    shown = verdict.status.value if quiet else render(verdict)
    typer.echo(json.dumps(verdict.as_json()) if as_json else shown)
    raise typer.Exit(0 if verdict.conforms else 1)


def render(verdict: Verdict) -> str:
    """A verdict in words."""
    lines = [f"{verdict.status.value}: {verdict.reason}"]
    lines += [str(divergence) for divergence in verdict.divergences]
    if verdict.divergences:
        agents = ", ".join(map(str, verdict.need_freedom))
        lines.append(f"only Byzantine freedom explains: agents {agents}")
        lines += [f"not proved: {limit}" for limit in verdict.limits]
    lines += [f"known to be Byzantine: {deviation}" for deviation in verdict.deviations]
    if verdict.findings is not None:
        outcome = verdict.findings.outcome
        lines.append(f"outcome {'unknown' if outcome is None else outcome}: "
                     f"{verdict.findings.reason}")  # fmt: skip
    return "\n".join(lines)
