"""The command line: `valid-ref COMMAND`. This file joins them."""

import sys
from pathlib import Path

import typer

from valid_ref import __version__
from valid_ref.cli.arena import ArenaCommand, arena
from valid_ref.cli.conform import conform
from valid_ref.cli.explore import explore
from valid_ref.cli.power import power
from valid_ref.cli.prove import prove
from valid_ref.cli.recordings import check, diff, record, show
from valid_ref.cli.report import demo, report
from valid_ref.cli.run import learn, run
from valid_ref.cli.specification import errata, trace
from valid_ref.cli.vectors import vectors
from valid_ref.errors import ValidRefError
from valid_ref.printable import printable, refusal_of_file
from valid_ref.trace import own_root, specification_version

app = typer.Typer(
    name="valid-ref",
    help="The reference implementation of VALID: run it, check it, find the clause behind a line.",
    epilog="Exit status of every command: 0 done, 1 a check failed, 2 bad input, 130 interrupted.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
app.command()(run)
app.command()(report)
app.command()(demo)
app.command()(learn)
app.command()(errata)
app.command()(power)
app.command()(explore)
app.command()(prove)
app.command()(record)
app.command()(check)
app.command()(conform)
app.command(cls=ArenaCommand)(arena)
app.command()(show)
app.command()(diff)
app.command()(vectors)
app.command()(trace)


def _print_version(wanted: bool) -> None:
    if wanted:
        specification = specification_version(own_root())
        typer.echo(f"valid-ref {__version__}, specification {specification}")
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(
        False, "--version", callback=_print_version, is_eager=True, help="Print the versions."
    ),
) -> None:
    """Exit status: 0 done, 1 a check failed, 2 bad input."""
    del version
    if (here := str(Path.cwd())) not in sys.path:
        sys.path.append(here)  # so that `module:Name` may be a file of the current directory


def main() -> None:
    """Run a command; bad input is one line on standard error and exit status 2."""
    try:
        app()
    except ValidRefError as error:
        typer.echo(f"valid-ref: {printable(error, longest=2000)}", err=True)
        sys.exit(2)
    except BrokenPipeError:
        raise
    except OSError as error:  # a file that cannot be read or written, whichever command met it
        typer.echo(f"valid-ref: {refusal_of_file(error)}", err=True)
        sys.exit(2)
