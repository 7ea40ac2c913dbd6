"""`valid-ref explore`: every strategy on every small graph."""

import json
import os
import platform
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import attrs
import typer

from valid_ref.cli.leaving import INTERRUPTED
from valid_ref.cli.outputs import require_outputs
from valid_ref.cli.progress import progress
from valid_ref.outputs import writing
from valid_ref.reading import Reading, ReadingError
from valid_ref.scenario.convert import as_without

if TYPE_CHECKING:
    from valid_ref.explore import Exploration, Settings
    from valid_ref.explore.lean import LeanSettings

WRITTEN = ("explored.json", "[A-Z]*[0-9].json", "[A-Z]*[0-9].txt")
"""The files in the directory of the counts: those of properties are called by their names."""

EXPECTED = "V5 is a claim of the paper that is false (P02): that it is violated is expected"


def explore(
    context: typer.Context,
    protocol: Annotated[str, typer.Option(help="broadcast, agreement, both in turn, or lean.")] = (
        "broadcast"
    ),
    max_agents: Annotated[int, typer.Option(help="All connected graphs up to so many.")] = 5,
    min_agents: Annotated[int, typer.Option(help="From so many on.")] = 2,
    reading: Annotated[
        str, typer.Option(help="repaired, as-printed, or without:P01,P04.")
    ] = "repaired",
    flood: Annotated[
        str | None, typer.Option(help="Adopting rounds: V-1, min(V,E), min(V,E)+1.")
    ] = None,
    compare: Annotated[
        bool | None, typer.Option("--compare/--no-compare", help="A compare-only round at the end.")
    ] = None,
    null_alarm: Annotated[
        bool | None, typer.Option("--null-alarm/--no-null-alarm", help="Null at the end alarms.")
    ] = None,
    agreement_rounds: Annotated[
        str | None, typer.Option(help="V-1, E, min(V,E), diameter, H-1.")
    ] = None,
    alphabet: Annotated[str, typer.Option(help="What Byzantine agents can say.")] = "null,a,b",
    properties: Annotated[
        list[str] | None, typer.Option("--property", help="Such as V2; all by default.")
    ] = None,
    all_sets: Annotated[
        bool, typer.Option("--all-sets", help="Also Byzantine sets that break Assumption 1.")
    ] = False,
    kappa: Annotated[int, typer.Option(min=1, help="Common keys of lean validation.")] = 1,
    by_key: Annotated[
        bool,
        typer.Option("--by-key", help="Lean: one tuple of shares for each value of the keys."),
    ] = False,
    symmetry: Annotated[
        bool, typer.Option("--symmetry/--no-symmetry", help="One case of each class, or all.")
    ] = True,
    jobs: Annotated[int, typer.Option(min=1, help="Processes.")] = os.cpu_count() or 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
    quiet: Annotated[
        bool,
        typer.Option(
            "--quiet", "-q", help="Print the number of violations only; V5 does not count."
        ),
    ] = False,
    resume: Annotated[
        Path | None, typer.Option(help="State file: written on the way, continued if there.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Directory for the counts, scripts and stories.")
    ] = None,
    baseline: Annotated[
        bool, typer.Option("--baseline", help="Measure the plain Python twin in the same run.")
    ] = False,
    record: Annotated[
        Path | None,
        typer.Option(help="Manifest to enter the counts in (docs/tables/explored.json)."),
    ] = None,
    serve: Annotated[
        bool,
        typer.Option("--serve", help="Be the adversary: a page on which you make its moves."),
    ] = False,
    opened: Annotated[
        Path | None,
        typer.Option("--open", help="With --serve: a scenario, counterexample or session."),
    ] = None,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="With --serve; 0 is any that is free.")
    ] = 0,
) -> None:
    """Try all graphs, Byzantine sets, sources and strategies, and count what is violated.

    Exit status 1 if a property is violated other than V5, the printed claim that is false.
    With --serve nothing is tried: you make the moves, on a page for this machine alone.

    \b
    Examples:
      valid-ref explore --max-agents 6
      valid-ref explore --reading as-printed --quiet
      valid-ref explore --protocol agreement --agreement-rounds diameter
      valid-ref explore --protocol lean --max-agents 3
      valid-ref explore --serve --open found/V2.json
    """  # noqa: D301 - \b keeps the lines of the examples apart
    if serve or opened is not None or port:
        _require_alone(context, serve=serve)
        _serve(opened, port)
        return
    require_outputs(
        files={"--resume": resume, "--record": record}, directories={"--out": out}, written=WRITTEN
    )
    if protocol == "lean":
        from valid_ref.explore.lean import LeanSettings

        for option, given in {
            "--reading": reading != "repaired",
            "--flood": flood,
            "--compare": compare is not None,
            "--null-alarm": null_alarm is not None,
            "--agreement-rounds": agreement_rounds,
            "--alphabet": alphabet != "null,a,b",
            "--property": properties,
            "--all-sets": all_sets,
            "--no-symmetry": not symmetry,
            "--out": out,
            "--baseline": baseline,
        }.items():
            if given:
                raise typer.BadParameter(f"--protocol lean takes no {option}")
        lean = LeanSettings(max_agents, min_agents, kappa, by_key)
        _explore_lean(
            settings=lean, jobs=jobs, resume=resume, record=record, as_json=as_json, quiet=quiet
        )
        return
    from valid_ref.explore import Explored, Settings
    from valid_ref.explore import explore as explore_all
    from valid_ref.explore.settings import parse_alphabet

    base = Settings.for_reading(
        Explored.named(protocol), parse_reading(reading), min_agents, max_agents
    )
    settings = attrs.evolve(
        with_variants(base, flood, compare, null_alarm, agreement_rounds),
        values=parse_alphabet(alphabet.split(",")),
        properties=tuple(properties or base.properties),
        all_sets=all_sets,
        symmetry=symmetry,
    )
    with _measuring(jobs, resume) as measured, progress("exploring", hidden=quiet) as watch:
        found = explore_all(settings, jobs=jobs, state_file=resume, watch=watch)
    if baseline:
        measured |= _baseline(settings)
    document = found.as_json() | {"measured": measured}
    stories = _counterexamples(found, out)
    if out is not None:
        with writing(out, "--out"):
            (out / "explored.json").write_text(json.dumps(document, indent=1) + "\n", "utf-8")
    if record is not None:
        from valid_ref.explore import record as enter

        with writing(record, "--record"):
            enter(record, found, measured | _machine())
    if quiet and not as_json:
        typer.echo(_violations(found))
    else:
        typer.echo(json.dumps(document) if as_json else _report(found, measured, stories))
    if found.broken:
        raise typer.Exit(1)


def _require_alone(context: typer.Context, *, serve: bool) -> None:
    """Refuse what goes with --serve where it is missing, and everything else where it stands."""
    if not serve:
        raise typer.BadParameter("--open and --port go with --serve")
    named = {one.name: one.opts[0] for one in context.command.params}
    for name in context.params:
        source = context.get_parameter_source(name)
        given = source is not None and source.name != "DEFAULT"
        if given and name not in {"serve", "opened", "port"}:
            raise typer.BadParameter(f"--serve tries nothing by itself: it takes no {named[name]}")


def _serve(opened: Path | None, port: int) -> None:
    """The page of a session, until Ctrl-C."""
    from valid_ref.play.commands import first_session, load_session
    from valid_ref.play.server import serve

    first = first_session() if opened is None else load_session(opened)

    def told(address: str) -> None:
        typer.echo(f"{address}\nopen this address in a browser; Ctrl-C ends the server")

    serve(first, port, told)


@contextmanager
def _measuring(jobs: int, resume: Path | None) -> Iterator[dict[str, Any]]:
    """What an exploration takes, filled in at its end; says how to go on when it is stopped."""
    measured: dict[str, Any] = {}
    start, spent = time.perf_counter(), _processor_seconds()
    try:
        yield measured
    except KeyboardInterrupt:
        again = f"; continue with --resume {resume}" if resume else "; nothing was kept (--resume)"
        typer.echo(f"stopped{again}", err=True)
        raise typer.Exit(INTERRUPTED) from None
    measured["seconds"] = round(time.perf_counter() - start, 2)
    measured["processor_seconds"] = round(_processor_seconds() - spent, 2)
    measured["jobs"] = jobs


def _machine() -> dict[str, str]:
    """Where it was measured."""
    return {"python": platform.python_version(), "machine": platform.machine()}


def _explore_lean(
    settings: "LeanSettings",
    jobs: int,
    resume: Path | None,
    record: Path | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Every lie under all honest shares; exit status 1 if one goes unseen too often."""
    from valid_ref.explore.lean import explore_lean, record_lean

    with _measuring(jobs, resume) as measured, progress("exploring", hidden=quiet) as watch:
        found = explore_lean(settings, jobs=jobs, state_file=resume, watch=watch)
    if record is not None:
        with writing(record, "--record"):
            record_lean(record, found, measured | _machine())
    if as_json:
        typer.echo(json.dumps({"counts": found.counts(), "measured": measured}))
    elif quiet:
        typer.echo(found.beyond)
    else:
        typer.echo(
            f"lean: all connected graphs of {settings.min_agents} to {settings.max_agents} agents, "
            f"{found.instances} Byzantine sets, all lies, kappa = {settings.kappa} modulo 3, "
            f"all honest {'keys' if settings.by_key else 'shares'}"
        )
        columns = ("lies", "runs", "tuples", "unseen", "at bound", "beyond")
        typer.echo("".join([f"{'lie':<14}", *(f"{column:>10}" for column in columns)]))
        for kind, tally in found.tallies.items():
            typer.echo(
                "".join([f"{kind:<14}", *(f"{number:>10}" for number in attrs.astuple(tally))])
            )
    if found.beyond:
        raise typer.Exit(1)


def parse_reading(text: str) -> Reading:
    """The reading that a command line names."""
    if text in {"repaired", "as-printed"}:
        return Reading.repaired() if text == "repaired" else Reading.as_printed()
    kind, _, errata = text.partition(":")
    if kind != "without":
        raise ReadingError(
            f"no reading {text!r}; write repaired, as-printed, or without:P01,P04", clause="VA-7"
        )
    return Reading.without(*as_without(errata, "--reading"))


def with_variants(
    settings: "Settings",
    flood: str | None,
    compare: bool | None,
    null_alarm: bool | None,
    rounds: str | None,
) -> "Settings":
    """The settings with the parts of a repair set one by one."""
    from valid_ref.explore import AgreementRounds, ExploreError, Flood

    broadcast, agreement = settings.broadcast, settings.agreement
    try:
        if flood is not None:
            broadcast = attrs.evolve(broadcast, flood=Flood(flood))
        if rounds is not None:
            agreement = attrs.evolve(agreement, rounds=AgreementRounds(rounds))
    except ValueError as error:
        raise ExploreError(str(error)) from None
    if compare is not None:
        broadcast = attrs.evolve(broadcast, compare=compare)
    if null_alarm is not None:
        broadcast = attrs.evolve(broadcast, null_alarm=null_alarm)
    return attrs.evolve(settings, broadcast=broadcast, agreement=agreement)


def _processor_seconds() -> float:
    """What this process and its children have used."""
    return sum(os.times()[:4])


def _baseline(settings: "Settings") -> dict[str, Any]:
    """Both explorers on the same sample of the broadcasts."""
    from valid_ref.explore import measure_plain

    every = {2: 1, 3: 1, 4: 1, 5: 4, 6: 100, 7: 8000}[settings.max_agents]
    speed = measure_plain(settings, every)
    return {
        "compiled_states_per_second": round(speed.states / speed.compiled_seconds),
        "plain_states_per_second": round(speed.states / speed.plain_seconds),
        "times_as_fast": round(speed.ratio, 1),
    }


def _counterexamples(found: "Exploration", out: Path | None) -> list[str]:
    """The smallest counterexample of every violated property, replayed; also written if asked."""
    from valid_ref.explore import replay_script, smallest_counterexample, tell

    stories = []
    if out is not None:
        with writing(out, "--out"):
            out.mkdir(parents=True, exist_ok=True)
    for name in found.tallies:
        script = smallest_counterexample(found, name)
        if script is not None:
            story = tell(replay_script(script))
            stories.append(f"{EXPECTED}\n{story}" if name == "V5" else story)
            if out is not None:
                text = json.dumps(script.as_json(), indent=1)
                with writing(out, "--out"):
                    (out / f"{name}.json").write_text(text + "\n", "utf-8")
                    (out / f"{name}.txt").write_text(stories[-1] + "\n", "utf-8")
    return stories


def _violations(found: "Exploration") -> int:
    """How often a property is violated that ought to hold."""
    return sum(map(found.violations, found.broken))


def _report(found: "Exploration", measured: dict[str, Any], stories: list[str]) -> str:
    settings = found.settings
    lines = [
        f"{settings.explored.slug}: all connected graphs of {settings.min_agents} to "
        f"{settings.max_agents} agents, all strategies",
        f"{'property':<10}{'instance':<20}{'instances':>10}{'violated':>10}",
    ]
    for name, kinds in found.tallies.items():
        for kind, tally in kinds.items():
            note = "   expected" if name == "V5" else ""
            lines.append(f"{name:<10}{kind:<20}{tally.instances:>10}{tally.violations:>10}{note}")
    lines.append(
        f"violations: {_violations(found)}" + (f"; {EXPECTED}" if "V5" in found.tallies else "")
    )
    lines += [f"{what}: {count}" for what, count in found.notes.items()]
    lines.append(
        f"{found.states} states in {found.classes} classes, which stand for {found.represented}; "
        + ", ".join(f"{what.replace('_', ' ')} {value}" for what, value in measured.items())
    )
    return "\n\n".join(["\n".join(lines), *stories])
