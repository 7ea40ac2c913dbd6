"""`valid-ref conform`: whether another implementation of an agent is as specified.

Implements: CF-14, CF-15, CF-17, CF-18, CF-19.
"""

import json
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import attrs
import typer

from valid_ref.cli.outputs import existing_files, require_outputs
from valid_ref.cli.progress import progress
from valid_ref.outputs import writing
from valid_ref.printable import clause_words

if TYPE_CHECKING:
    from valid_ref.testing.conform.kit import Report


def conform(
    command: Annotated[
        list[str] | None, typer.Argument(help="The agent, after --: -- ./agent --option")
    ] = None,
    examples: Annotated[int, typer.Option(min=0, help="Generated cases after the fixed.")] = 200,
    seed: Annotated[int, typer.Option(min=0, help="Other generated cases.")] = 0,
    replay: Annotated[
        Path | None, typer.Option(help="Drive this case only, twice in one process.")
    ] = None,
    save: Annotated[Path, typer.Option(help="Where a diverging case is written.")] = Path(
        "conform-case.json"
    ),
    timeout: Annotated[float, typer.Option(min=0.01, help="Seconds for every answer.")] = 10.0,
    show_stderr: Annotated[
        bool, typer.Option("--show-stderr", help="Show what the agent writes to standard error.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
    example: Annotated[
        bool, typer.Option("--example", help="Drive the agent that comes with this.")
    ] = False,
    fault: Annotated[
        str | None, typer.Option(help="Drive the example agent with this mistake in it.")
    ] = None,
    faults: Annotated[bool, typer.Option("--faults", help="List the mistakes.")] = False,
    schema: Annotated[bool, typer.Option("--schema", help="Print the schema of a case.")] = False,
) -> None:
    """Drive an agent through cases; exit status 0 only if every answer is as specified.

    The agent reads requests and writes replies, one JSON object in a line: spec/conformance.md.

    \b
    Examples:
      valid-ref conform -- ./agent
      valid-ref conform --example
      valid-ref conform --fault eta-index
      valid-ref conform --replay conform-case.json -- ./agent
    """  # noqa: D301 - \b keeps the lines of the examples apart
    from valid_ref.testing.conform import kit
    from valid_ref.testing.conform.case import case_schema, load_case, save_case
    from valid_ref.testing.conform.process import EndedBySignal, ProcessPeer, ending_on_signals

    if schema or faults:
        typer.echo(json.dumps(case_schema(), indent=1) if schema else _fault_table())
        return
    words, shown = _command(command or [], fault, example=example)
    if replay is None:
        files = {f"the agent's {word}": path for word, path in existing_files(command or ())}
        require_outputs(files={"--save": save}, inputs=files)
    peer = ProcessPeer(words, timeout, _echo if show_stderr else None)
    try:
        with ending_on_signals(), progress("cases", hidden=as_json or show_stderr) as watch:
            if replay is None:
                report = kit.conform(peer, examples, seed, watch)
            else:
                report = kit.replay(peer, load_case(replay), watch)
    except EndedBySignal as ended:
        typer.echo(f"valid-ref: {ended}", err=True)
        raise typer.Exit(128 + ended.number) from None
    if report.finding is not None:
        if replay is None:
            with writing(save, "--save"):
                save_case(report.finding.case, save)
        again = f"valid-ref conform --replay {shlex.quote(str(replay or save))} {shown}"
        report = with_replay(report, again)
    typer.echo(json.dumps(report.as_json()) if as_json else render(report))
    raise typer.Exit(0 if report.conforms else 1)


def _command(words: list[str], fault: str | None, *, example: bool) -> tuple[list[str], str]:
    """The process to start, and how the command line names it."""
    from valid_ref.testing.conform.faults import AGENT, fault_named, faulty_source

    if sum((bool(words), fault is not None, example)) != 1:
        raise typer.BadParameter("name one agent: -- COMMAND, --example, or --fault NAME")
    if fault is not None:
        return [sys.executable, "-c", faulty_source(fault_named(fault))], f"--fault {fault}"
    if example:
        return [sys.executable, str(AGENT)], "--example"
    return words, f"-- {shlex.join(words)}"


def with_replay(report: "Report", command: str) -> "Report":
    """The report with the command that repeats its finding."""
    if report.finding is None:
        return report
    divergence = attrs.evolve(report.finding.divergence, replay=command)
    return attrs.evolve(report, finding=attrs.evolve(report.finding, divergence=divergence))


def render(report: "Report") -> str:
    """A report in words."""
    lines = [f"{report.status.value}: {report.reason}"]
    if report.finding is not None:
        lines.append(str(report.finding.divergence))
        clause = report.finding.divergence.difference.clause
        lines.append(f"[{clause}]: {clause_words(clause)}")
        if report.finding.stderr:
            words = report.finding.stderr.splitlines()
            lines.append("  stderr, the last lines:")
            lines += [f"    {line}" for line in words]
    return "".join(c if c == "\n" or c.isprintable() else repr(c)[1:-1] for c in "\n".join(lines))


def _echo(words: str) -> None:
    """Show at once what an agent writes to its standard error."""
    typer.echo(words, err=True, nl=False)


def _fault_table() -> str:
    from valid_ref.testing.conform.faults import FAULTS

    return "\n".join(f"{fault.clause:6s} {fault.name}" for fault in FAULTS)
