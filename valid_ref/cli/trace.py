"""`valid-ref trace`: from a clause or a label of the paper to code, tests and proofs."""

import json
from pathlib import Path
from typing import Annotated

import typer

from valid_ref.trace import TraceError, find_root, load
from valid_ref.trace.show import (
    errata_with_places,
    explain,
    explain_as_json,
    matrix_as_json,
    problems_as_json,
    render_matrix,
    render_problems,
    render_summary,
)


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
    loaded = load(home)
    if loaded.installed:
        if check or write:
            raise TraceError(
                "--check and --write need a checkout: an installed package has no tests"
            )
        typer.echo("an installed package has no tests: ties to tests are not shown", err=True)
    if write:
        errata = home / "spec" / "errata.md"
        text = errata.read_text(encoding="utf-8")
        errata.write_text(errata_with_places(text, loaded), encoding="utf-8")
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
