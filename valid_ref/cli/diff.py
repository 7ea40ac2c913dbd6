"""`valid-ref diff`: where two recordings first differ.

Implements: RE-13.
"""

import json
from pathlib import Path
from typing import Annotated

import typer

from valid_ref.oracle import diff as first_difference
from valid_ref.oracle import open_recording
from valid_ref.oracle.divergence import LONGEST_LINE
from valid_ref.printable import printable


def diff(
    left: Annotated[Path, typer.Argument(help="A recording: a directory or a zip.")],
    right: Annotated[Path, typer.Argument(help="Another one.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
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
