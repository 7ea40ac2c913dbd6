"""`valid-ref errata`: what is wrong in the paper, and the runs that show it."""

import json
from pathlib import Path
from typing import Annotated

import typer

from valid_ref.cli.report import write_page
from valid_ref.errors import ValidRefError
from valid_ref.report import erratum_view
from valid_ref.trace import Erratum, Specification, find_root, load_clauses
from valid_ref.trace.matrix import Row
from valid_ref.trace.show import look_up
from valid_ref.witness.catalogue import WITNESSES
from valid_ref.witness.story import Story

PARTS = ("**Printed.**", "**Wrong because.**", "**Repair.**")


class ErratumError(ValidRefError):
    """Something that is not an erratum."""


def errata(
    identifier: Annotated[str | None, typer.Argument(help="An erratum: P06.")] = None,
    report: Annotated[
        Path | None, typer.Option(help="Write a page: what was printed beside the repair.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Only whether the witness shows it.")
    ] = False,
) -> None:
    """List the errata, or explain one and replay its witness: printed first, then repaired.

    Exit status 1 if a witness does not show what it should.

    \b
    Examples:
      valid-ref errata
      valid-ref errata P14
      valid-ref errata P06 --report p06.html
    """  # noqa: D301 - \b keeps the lines of the examples apart
    trace = load_clauses(find_root(Path.cwd()))
    if identifier is None and report is not None:
        raise typer.BadParameter("--report needs an erratum: errata P06 --report p06.html")
    if identifier is None:
        rows = [row.clause for row in trace.rows.values() if isinstance(row.clause, Erratum)]
        _list(rows, as_json=as_json)
        return
    found = look_up(trace, identifier).subject
    if not isinstance(found, Row) or not isinstance(found.clause, Erratum):
        raise ErratumError(f"{identifier} is not an erratum", clause="VA-7")
    _explain(found.clause, trace.specification, report, as_json=as_json, quiet=quiet)


def _list(found: list[Erratum], *, as_json: bool) -> None:
    if as_json:
        rows = [
            {
                "id": one.identifier,
                "title": one.title,
                "severity": one.severity,
                "clauses": list(one.clauses),
                "replays": one.identifier in WITNESSES,
            }
            for one in found
        ]
        typer.echo(json.dumps(rows, indent=1))
        return
    for one in found:
        live = "replays" if one.identifier in WITNESSES else ""
        typer.echo(f"{one.identifier}  {one.severity:8s} {live:8s} {one.title}")
    typer.echo(f"{len(found)} errata; valid-ref errata P14 explains one and replays its witness")


def _explain(
    erratum: Erratum,
    specification: Specification,
    report: Path | None,
    *,
    as_json: bool,
    quiet: bool,
) -> None:
    witness = WITNESSES.get(erratum.identifier)
    if witness is None and report is not None:
        raise ErratumError(
            f"{erratum.identifier} does not replay, so there is no run to show; these do: "
            f"{', '.join(WITNESSES)}",
            clause="VA-7",
        )
    stories = None if witness is None else (witness.printed(), witness.repaired())
    shown = stories is None or (stories[0].wrong and not stories[1].wrong)
    if quiet and not as_json:
        typer.echo("shown" if shown else "not shown")
    elif as_json:
        document = {
            "id": erratum.identifier,
            "title": erratum.title,
            "text": erratum.text,
            "printed": None if stories is None else _as_json(stories[0]),
            "repaired": None if stories is None else _as_json(stories[1]),
        }
        typer.echo(json.dumps(document, indent=1))
    else:
        typer.echo(f"{erratum.identifier} - {erratum.title} (severity: {erratum.severity})\n")
        for paragraph in erratum.text.split("\n\n"):
            if paragraph.strip().startswith(PARTS):
                typer.echo(paragraph.strip().replace("**", "") + "\n")
        if witness is None or stories is None:
            typer.echo(f"No replay; its witnesses: valid-ref trace {erratum.identifier}")
        else:
            typer.echo(f"Witness: {witness.about}.\n\nAs printed:")
            _tell(stories[0], "it goes wrong", "no promise is broken")
            typer.echo("\nRepaired:")
            _tell(stories[1], "it goes wrong", "no promise is broken")
    if report is not None and stories is not None:
        write_page(report, erratum_view(erratum, *stories, specification), not (as_json or quiet))
    raise typer.Exit(0 if shown else 1)


def _tell(story: Story, wrong: str, right: str) -> None:
    for line in story.lines:
        typer.echo(f"  {line}")
    typer.echo(f"  => {wrong if story.wrong else right}")


def _as_json(story: Story) -> dict[str, object]:
    return {"lines": list(story.lines), "wrong": story.wrong}
