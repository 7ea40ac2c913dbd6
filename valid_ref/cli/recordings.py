"""Recordings of runs: `valid-ref record`, `check`, `show` and `diff`.

Implements: RE-8, RE-12, RE-13.
"""

import collections
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from valid_ref.cli import options
from valid_ref.cli.outputs import require_outputs
from valid_ref.cli.progress import progress, run_shown
from valid_ref.grammar import agents_named
from valid_ref.oracle import (
    Recording,
    Verdict,
    header_schema,
    log_schema,
    open_recording,
    record_run,
)
from valid_ref.oracle import check as check_recording
from valid_ref.oracle import diff as first_difference
from valid_ref.oracle.divergence import LONGEST_LINE
from valid_ref.outputs import writing
from valid_ref.printable import clause_words, printable
from valid_ref.protocols.valid import Valid
from valid_ref.protocols.weakened import checked_less, left_out

RecordingPath = Annotated[Path, typer.Argument(help="A recording: a directory or a zip.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]


def record(
    output: Annotated[
        Path, typer.Option("--output", "-o", help="RUN.zip, or an empty or new directory.")
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
    attack: options.Attack = None,
    without: options.Without = None,
    validation: options.Validation = None,
    seed: options.Seed = None,
    coins: options.Coins = None,
    eps_success: options.EpsSuccess = None,
    jobs: options.Jobs = 1,
    anonymous: Annotated[
        bool, typer.Option("--anonymous", help="Do not record who is Byzantine.")
    ] = False,
    checksums: Annotated[bool, typer.Option(help="A running checksum in every line.")] = True,
    as_json: AsJson = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print the outcome only.")] = False,
) -> None:
    """Run a scenario (the default one if none is given) and record it.

    \b
    Examples:
      valid-ref record -o run.zip
      valid-ref record --validation lean --byzantine 4 --attack equivocation -o run.zip
      valid-ref record scenario.json -o run.zip --anonymous
    """  # noqa: D301 - \b keeps the lines of the examples apart
    require_outputs(recordings={"--output": output}, inputs={"SCENARIO": scenario})
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
        attack=attack,
        without=without,
        validation=validation,
        seed=seed,
        coins=coins,
        eps_success=eps_success,
    )
    chosen = options.chosen_scenario(scenario, given)
    finished = run_shown(chosen, hidden=quiet or as_json, jobs=jobs)
    with writing(output, "--output"):
        record_run(finished, output, byzantine_known=not anonymous, checksums=checksums)
    rounds, outcome = len(finished.execution.rounds), finished.outcome
    if as_json:
        typer.echo(json.dumps({"path": str(output), "rounds": rounds, "outcome": outcome}))
    else:
        typer.echo(outcome if quiet else f"{printable(output)}: {rounds} rounds, outcome {outcome}")


def check(
    recording: Annotated[
        Path | None, typer.Argument(help="A recording: a directory or a zip.")
    ] = None,
    agent: Annotated[
        list[int] | None, typer.Option(help="Replay this agent only; may be repeated.")
    ] = None,
    allow_weakened: Annotated[
        bool,
        typer.Option(
            "--allow-weakened",
            help="A run that leaves repairs or necessary parts out may conform too.",
        ),
    ] = False,
    as_json: AsJson = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print the verdict only.")] = False,
    schema: Annotated[
        bool, typer.Option("--schema", help="Print the JSON schemas of a recording.")
    ] = False,
) -> None:
    """Replay a recording; exit status 0 only if it conforms.

    A run that leaves repairs of the paper or necessary parts of lean validation out is called
    weakened, with exit status 1, unless --allow-weakened says that this is meant.

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
    _require_agents(agent or (), opened)
    with progress("rounds", Valid(opened.parameters).rounds, hidden=as_json or quiet) as watch:
        verdict = check_recording(
            opened, agents=agent or None, watch=watch, allow_weakened=allow_weakened
        )
    shown = verdict.status.value if quiet else render_verdict(verdict)
    typer.echo(json.dumps(verdict.as_json()) if as_json else shown)
    raise typer.Exit(0 if verdict.conforms else 1)


def _require_agents(agents: Iterable[int], opened: Recording) -> None:
    count = opened.header.agents
    for agent in agents:
        if not 0 <= agent < count:
            words = f"{agent} is none of the agents 0..{count - 1}"
            raise typer.BadParameter(words, param_hint="'--agent'")


def render_verdict(verdict: Verdict) -> str:
    """A verdict in words."""
    lines = [f"{verdict.status.value}: {verdict.reason}"]
    if verdict.left_out:
        lines.append(f"left out: {', '.join(verdict.left_out)}")
    if verdict.checked_less:
        lines.append(f"checked less: {'; '.join(verdict.checked_less)}")
    lines += [str(divergence) for divergence in verdict.divergences]
    if verdict.divergences:
        lines.append(f"only Byzantine freedom explains: {agents_named(verdict.need_freedom)}")
        lines += [f"not proved: {limit}" for limit in verdict.limits]
        clause = verdict.divergences[0].difference.clause
        lines.append(f"[{clause}]: {clause_words(clause)}")
    lines += [f"known to be Byzantine: {deviation}" for deviation in verdict.deviations]
    if verdict.findings is not None:
        outcome = verdict.findings.outcome or "unknown"
        lines.append(f"outcome {outcome}: {verdict.findings.reason}")
    return "\n".join(lines)


def show(
    recording: RecordingPath,
    as_json: AsJson = False,
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
    ends = [
        {
            "valid": end.valid,
            "alarms": len(end.alarms),
            "first_alarm": end.alarms[0].reason if end.alarms else None,
        }
        for end in opened.agents or ()
    ]
    return {
        "format": header.format,
        "producer": header.producer,
        "network": f"{header.agents} agents, {len(header.edges)} edges",
        "dimension": header.dimension,
        "learning_rounds": header.rounds,
        "prime": header.prime,
        "byzantine": None if header.byzantine is None else list(header.byzantine),
        "validation": "paper" if header.lean is None else f"lean, kappa = {header.lean.kappa}",
        "left_out": list(left_out(opened.parameters)),
        "checked_less": list(checked_less(opened.parameters)),
        "flood_held": list(header.flood_held),
        "bytes": opened.bytes,
        "finished": opened.finished,
        "rounds": dict(rounds),
        "edge_deviations": deviations,
        "agents": None if opened.agents is None else ends,
    }


def _text(value: Any) -> str:
    if value is None:
        return "not recorded"
    if isinstance(value, dict):
        return ", ".join(f"{key} {item}" for key, item in value.items()) or "none"
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    return str(value)


def diff(
    left: RecordingPath,
    right: Annotated[Path, typer.Argument(help="Another one.")],
    as_json: AsJson = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print the place only.")] = False,
) -> None:
    """Print the first difference of two recordings; exit status 1 if there is one.

    \b
    Example:
      valid-ref diff ours.zip theirs.zip
    """  # noqa: D301 - \b keeps the lines of the examples apart
    gap = first_difference(open_recording(left), open_recording(right))
    if as_json:
        typer.echo(json.dumps(None if gap is None else gap.as_json()))
    elif gap is None:
        if not quiet:
            typer.echo("the recordings are of the same run")
    elif quiet:
        typer.echo(printable(gap.place))
    else:
        entry = "" if gap.index is None else f", entry {gap.index}"
        for line in (
            f"{gap.place}{entry}",
            f"  last agreed: {gap.agreed}",
            f"  {left}: {gap.left}",
            f"  {right}: {gap.right}",
        ):
            typer.echo(printable(line, longest=LONGEST_LINE))
    raise typer.Exit(0 if gap is None else 1)
