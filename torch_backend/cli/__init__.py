"""The command line: `valid-torch COMMAND`. One file per group of commands; this one joins them."""

import sys

import typer

from torch_backend.cli.run import run
from torch_backend.cli.show import list_parts, plot, schema, table
from valid_ref import __version__
from valid_ref.errors import ValidRefError

app = typer.Typer(
    name="valid-torch",
    help="The experiments of VALID: run them, stop and resume them, plot them.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
app.command()(run)
app.command()(plot)
app.command()(table)
app.command("list")(list_parts)
app.command()(schema)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"valid-torch {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(
        False, "--version", callback=_print_version, is_eager=True, help="Print the version."
    ),
) -> None:
    """Exit status: 0 done, 1 a run failed, 2 bad input, 130 stopped by hand."""
    del version


def main() -> None:
    """Run a command; bad input is one line on standard error and exit status 2."""
    try:
        app()
    except ValidRefError as error:
        if not _told(error):
            typer.echo(f"valid-torch: {error}", err=True)
        sys.exit(2)
    except ImportError as error:
        if error.name not in {"torch", "matplotlib", "sklearn"}:
            raise
        typer.echo(
            f"valid-torch: {error.name} is not installed; pip install 'valid-ref[torch,report]'",
            err=True,
        )
        sys.exit(2)


def _told(error: ValidRefError) -> bool:
    """Whether another process has said it already."""
    from torch_backend.distributed_team import RefusedElsewhereError

    return isinstance(error, RefusedElsewhereError)
