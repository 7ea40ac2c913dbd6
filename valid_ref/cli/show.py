"""`valid-ref show`: what a recording holds."""

import collections
import json
from pathlib import Path
from typing import Annotated, Any

import typer

from valid_ref.oracle import Recording, open_recording
from valid_ref.printable import printable


def show(
    recording: Annotated[Path, typer.Argument(help="A recording: a directory or a zip.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Print whether it is finished only.")
    ] = False,
) -> None:
    """Summarise a recording without judging it.

    \b
    Example:
      valid-ref show run.zip
    """  # noqa: D301 - \b keeps the lines of the examples apart
    facts = summarise(open_recording(recording))
    if as_json:
        typer.echo(json.dumps(facts))
        return
    if quiet:
        typer.echo("finished" if facts["finished"] else "cut off")
        return
    for name, value in facts.items():
        if name != "agents":
            typer.echo(f"{name.replace('_', ' ')}: {printable(_text(value))}")
    for agent, end in enumerate(facts["agents"] or ()):
        verdict = "valid" if end["valid"] else "invalid"
        first = printable(end["first_alarm"] or "")
        typer.echo(f"agent {agent}: {verdict}, {end['alarms']} alarms {first}")


def summarise(opened: Recording) -> dict[str, Any]:
    """The facts of a recording, counted off its rounds."""
    header = opened.header
    rounds: collections.Counter[str] = collections.Counter()
    deviations = 0
    for spoken in opened.rounds():
        rounds[spoken.phase] += 1
        deviations += len(spoken.deviations)
    ends = opened.agents
    return {
        "format": header.format,
        "producer": header.producer,
        "network": f"{header.agents} agents, {len(header.edges)} edges",
        "dimension": header.dimension,
        "learning_rounds": header.rounds,
        "prime": header.prime,
        "byzantine": None if header.byzantine is None else list(header.byzantine),
        "repairs_turned_off": list(header.without),
        "flood_held": list(header.flood_held),
        "bytes": opened.bytes,
        "finished": opened.finished,
        "rounds": dict(rounds),
        "edge_deviations": deviations,
        "agents": None if ends is None else [
            {
                "valid": end.valid,
                "alarms": len(end.alarms),
                "first_alarm": end.alarms[0].reason if end.alarms else None,
            }
            for end in ends
        ],
    }  # fmt: skip


def _text(value: Any) -> str:
    if value is None:
        return "not recorded"
    if isinstance(value, dict):
        return ", ".join(f"{key} {item}" for key, item in value.items()) or "none"
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    return str(value)
