"""`valid-ref arena`: a network of processes of any language, recorded and judged.

Implements: CF-20, CF-24.
"""

import itertools
import json
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from valid_ref.cli import options
from valid_ref.cli.outputs import require_outputs
from valid_ref.cli.progress import prepare_shown, progress_of
from valid_ref.cli.recordings import render_verdict
from valid_ref.named_parts import name_of
from valid_ref.printable import printable
from valid_ref.scenario import Scenario, settled
from valid_ref.scenario.build import Prepared

if TYPE_CHECKING:
    from valid_ref.testing.arena.judge import ArenaJudgement

AGENT = "--agent"
LONGEST = 4000
"""Characters of the longest line that is printed."""


class ArenaCommand(TyperCommand):
    """Takes `--agent 0-4 'COMMAND'`, two words, also where an option has one."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Join the two words of every --agent."""
        return super().parse_args(ctx, _joined(args))


def _joined(args: list[str]) -> list[str]:
    """`--agent 0-4 COMMAND` as `--agent "0-4 COMMAND"`."""
    found: list[str] = []
    rest = [
        word
        for arg in args
        for word in (arg.split("=", 1) if arg.startswith(f"{AGENT}=") else [arg])
    ]
    while rest:
        word = rest.pop(0)
        found.append(word)
        if word != AGENT or not rest:
            continue
        value = rest.pop(0)
        whole = any(map(str.isspace, value.strip())) or not rest or rest[0].startswith("-")
        found.append(value if whole else f"{value} {rest.pop(0)}")
    return found


def arena(
    scenario: Annotated[Path | None, typer.Argument(help="A scenario file (JSON).")] = None,
    agent: Annotated[
        list[str] | None,
        typer.Option(
            AGENT,
            metavar="AGENTS COMMAND",
            help="Who runs which agents: 0-4,7 './agent'; 'example' is the agent that comes with "
            "this, 'reference' (the default) its machine. May be repeated.",
        ),
    ] = None,
    graph: options.Graph = None,
    loss: options.Loss = None,
    rounds: options.Rounds = None,
    schedule: options.Steps = None,
    bounds: options.Bounds = None,
    weights: options.Weights = None,
    thresholds: options.Thresholds = None,
    level: options.Level = None,
    validation: options.Validation = None,
    byzantine: options.Byzantine = None,
    attack: options.Attack = None,
    seed: options.Seed = None,
    coins: options.Coins = None,
    eps_success: options.EpsSuccess = None,
    jobs: options.Jobs = 1,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="RUN.zip, or an empty or new directory."),
    ] = None,
    timeout: Annotated[float, typer.Option(min=0.01, help="Seconds for every answer.")] = 30.0,
    compare: Annotated[
        bool, typer.Option(help="Compare with the reference alone, byte for byte.")
    ] = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print the verdict only.")] = False,
) -> None:
    """Run a network in which agents are processes; exit status 0 only if all is as specified.

    A process speaks the protocol of spec/conformance.md; Byzantine agents follow their attack.

    \b
    Examples:
      valid-ref arena --agent 0-9 'python agent.py' --agent 10-19 'node agent.js' -o run.zip
      valid-ref arena --graph complete:5 --byzantine 4 --attack equivocation --agent 0-3 example
    """  # noqa: D301 - \b keeps the lines of the examples apart
    from valid_ref.testing.arena.judge import judged, play
    from valid_ref.testing.arena.network import assigned, processes
    from valid_ref.testing.conform.process import EndedBySignal, ending_on_signals

    given = options.Chosen(
        graph=graph,
        loss=loss,
        rounds=rounds,
        schedule=schedule,
        bounds=bounds,
        weights=weights,
        thresholds=thresholds,
        level=level,
        validation=validation,
        byzantine=byzantine,
        attack=attack,
        seed=seed,
        coins=coins,
        eps_success=eps_success,
    )
    require_outputs(recordings={"--output": output}, inputs={"SCENARIO": scenario})
    chosen = settled(options.chosen_scenario(scenario, given))
    prepared = prepare_shown(chosen, hidden=as_json or quiet, jobs=jobs)
    pairs = [_pair(text) for text in agent or []]
    commands = assigned(pairs, prepared.parameters.graph.agents, prepared.byzantine)
    try:
        with (
            ending_on_signals(),
            progress_of(chosen, hidden=as_json or quiet) as watch,
            processes(commands, timeout) as (peers, together),
        ):
            played = play(prepared, peers, together, watch)
    except EndedBySignal as ended:
        typer.echo(f"valid-ref: {ended}", err=True)
        raise typer.Exit(128 + ended.number) from None
    with progress_of(chosen, hidden=as_json or quiet) as watch:
        found = judged(played, chosen, output, compare=compare, watch=watch)
    agents = _agents(chosen, prepared, commands, found)
    if as_json:
        path = None if output is None else str(output)
        typer.echo(json.dumps(found.as_json() | {"output": path, "agents": agents}))
    else:
        typer.echo(found.status if quiet else _render(found, agents, output))
    raise typer.Exit(0 if found.conforms else 1)


def _pair(text: str) -> tuple[str, str]:
    names, _space, command = text.strip().partition(" ")
    if not command.strip():
        raise typer.BadParameter(f"{AGENT} {names} names no command: {AGENT} 0-4 './agent'")
    return names, command.strip()


def _agents(
    scenario: Scenario,
    prepared: Prepared,
    commands: Mapping[int, tuple[str, ...]],
    found: "ArenaJudgement",
) -> list[dict[str, Any]]:
    """What ran each agent."""
    attack = "no attack" if scenario.attack is None else name_of(scenario.attack)
    rows: list[dict[str, Any]] = []
    for agent in range(prepared.parameters.graph.agents):
        runs, command, name = "reference", None, None
        if agent in prepared.byzantine:
            runs = f"Byzantine: {attack}"
        elif agent in commands:
            runs, command, name = "process", shlex.join(commands[agent]), found.played.names[agent]
        flood = "held" if agent in commands and agent in found.played.flood_held else "fresh"
        rows.append(
            {"agent": agent, "runs": runs, "command": command, "name": name, "flood": flood}
        )
    return rows


def _render(found: "ArenaJudgement", agents: list[dict[str, Any]], output: Path | None) -> str:
    """A judgement in words; what processes say of themselves cannot move the cursor.

    Implements: RE-17.
    """
    lines = [render_verdict(found.verdict)]
    lines += [str(fault) for fault in found.played.faults]
    groups = itertools.groupby(agents, key=lambda one: {**one, "agent": None})
    lines += [_agents_line(what, [one["agent"] for one in group]) for what, group in groups]
    lines.append(f"{'the recording' if output is None else output}: SHA-256 {found.sha256}")
    if found.reference is not None:
        same = "the same bytes" if found.gap is None and found.same else "other bytes"
        lines.append(f"the reference alone gives {same}: SHA-256 {found.reference}")
    if found.gap is not None:
        lines.append(
            f"  first difference at {found.gap.place}, after {found.gap.agreed}: "
            f"{found.gap.left}, the reference {found.gap.right}"
        )
    return "\n".join(printable(line, LONGEST) for line in "\n".join(lines).split("\n"))


def _agents_line(what: dict[str, Any], agents: list[int]) -> str:
    several = f"agents {agents[0]}-{agents[-1]}" if len(agents) > 1 else f"agent {agents[0]}"
    if what["command"] is None:
        return f"{several}: {what['runs']}"
    named = f" ({what['name']}, floods {what['flood']})"
    return f"{several}: {what['command']}{named}"
