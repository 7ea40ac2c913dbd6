"""The specification: `valid-ref trace` ties it to the code, `valid-ref errata` shows its errata."""

import json
from pathlib import Path
from typing import Annotated

import typer

from valid_ref.cli.outputs import require_outputs
from valid_ref.cli.report import write_page
from valid_ref.errors import ValidRefError
from valid_ref.report import erratum_view
from valid_ref.trace import (
    Erratum,
    Specification,
    TraceError,
    find_root,
    load,
    load_clauses,
)
from valid_ref.trace.matrix import ClauseRow
from valid_ref.trace.show import (
    errata_with_places,
    explain,
    explain_as_json,
    look_up,
    matrix_as_json,
    problems_as_json,
    render_matrix,
    render_problems,
    render_summary,
)
from valid_ref.trace.spec_text import erratum_parts
from valid_ref.witness import WITNESSES
from valid_ref.witness.story import Story


class ErratumError(ValidRefError):
    """Something that is not an erratum, or has no run to show."""

    default_clause = "VA-7"


def trace(
    identifier: Annotated[
        str | None, typer.Argument(help="A clause (LV-3), an erratum (P06) or a label (eq:cc4).")
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Fail on unknown ids, gaps and stale exceptions.")
    ] = False,
    root: Annotated[
        Path | None, typer.Option(help="The checkout to read; found from here by default.")
    ] = None,
    write: Annotated[
        bool, typer.Option("--write", help="Write the places of witnesses into spec/errata.md.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Print the matrix of clauses, or one clause with everything tied to it.

    An installed package has no tests: --check and --write need a checkout.

    \b
    Examples:
      valid-ref trace
      valid-ref trace eq:cc4
      valid-ref trace --check
    """  # noqa: D301 - \b keeps the lines of the examples apart
    home = find_root(root if root is not None else Path.cwd())
    if root is not None and home not in (root.resolve(), *root.resolve().parents):
        raise TraceError(f"--root: {root} is no checkout of valid-ref, nor inside one")
    loaded = load(home)
    if loaded.installed:
        if check or write:
            raise TraceError(
                "--check and --write need a checkout: an installed package has no tests"
            )
        typer.echo("an installed package has no tests: ties to tests are not shown", err=True)
    if write:
        path = home / "spec" / "errata.md"
        text = path.read_text(encoding="utf-8")
        path.write_text(errata_with_places(text, loaded), encoding="utf-8")
    elif check:
        if as_json:
            typer.echo(json.dumps(problems_as_json(loaded.problems), indent=1))
        elif loaded.problems:
            typer.echo(render_problems(loaded.problems))
        else:
            typer.echo(render_summary(loaded))
        if loaded.problems:
            raise typer.Exit(1)
    elif identifier is not None:
        if as_json:
            typer.echo(json.dumps(explain_as_json(loaded, identifier), indent=1))
        else:
            typer.echo(explain(loaded, identifier))
    elif as_json:
        typer.echo(json.dumps(matrix_as_json(loaded), indent=1))
    else:
        typer.echo(render_matrix(loaded))


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
    clauses = load_clauses(find_root(Path.cwd()))
    if identifier is None and report is not None:
        raise typer.BadParameter("--report needs an erratum: errata P06 --report p06.html")
    require_outputs(files={"--report": report})
    if identifier is None:
        rows = [row.clause for row in clauses.rows.values() if isinstance(row.clause, Erratum)]
        _list(rows, as_json=as_json)
        return
    found = look_up(clauses, identifier).subject
    if not isinstance(found, ClauseRow) or not isinstance(found.clause, Erratum):
        raise ErratumError(f"{identifier} is not an erratum")
    _explain(found.clause, clauses.specification, report, as_json=as_json, quiet=quiet)


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
            f"{', '.join(WITNESSES)}"
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
        for name, text in erratum_parts(erratum.text).items():
            if name != "Evidence":
                typer.echo(f"{name}. {text}\n".replace("**", ""))
        if witness is None or stories is None:
            typer.echo(f"No replay; its witnesses: valid-ref trace {erratum.identifier}")
        else:
            typer.echo(f"Witness: {witness.about}.\n\nAs printed:")
            _tell(stories[0])
            typer.echo("\nRepaired:")
            _tell(stories[1])
    if report is not None and stories is not None:
        view = erratum_view(erratum, *stories, specification)
        write_page(report, view, quiet=as_json or quiet, option="--report")
    raise typer.Exit(0 if shown else 1)


def _tell(story: Story) -> None:
    for line in story.lines:
        typer.echo(f"  {line}")
    typer.echo(f"  => {'it goes wrong' if story.wrong else 'no promise is broken'}")


def _as_json(story: Story) -> dict[str, object]:
    return {"lines": list(story.lines), "wrong": story.wrong}
