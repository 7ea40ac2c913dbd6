"""`valid-torch plot`, `table`, `list` and `schema`: what there is, and what came out."""

import inspect
from pathlib import Path
from typing import Annotated, Any, get_args

import attrs
import typer
from rich.console import Console

from torch_backend.cli.tables import print_tables, write_tables


def plot(
    directory: Annotated[Path, typer.Argument(help="The results of valid-torch run.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Where the figures go (DIR/plots).")
    ] = None,
) -> None:
    """Draw the figures of an experiment, as PNG and SVG."""
    from torch_backend.plot import plot as draw
    from torch_backend.results import read_results

    written = draw(read_results(directory), directory / "plots" if output is None else output)
    for path in written:
        typer.echo(path)
    if not written:
        typer.echo("this experiment asks for no figures; valid-torch table shows its results")


def table(
    directory: Annotated[Path, typer.Argument(help="The results of valid-torch run.")],
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown.")] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write accuracy.csv, detection.csv here.")
    ] = None,
) -> None:
    """Print final accuracies, alarm rates and verdicts; with -o also write them as CSV."""
    from torch_backend.results import read_results

    found = read_results(directory)
    print_tables(found, Console(highlight=False), markdown=markdown)
    if output is not None:
        for path in write_tables(found, output):
            typer.echo(path)


def list_parts() -> None:
    """List presets, rules, attacks, partitions, models and data, a line each."""
    import tomllib

    from torch_backend.attacks import AttackPart
    from torch_backend.config.load import presets
    from torch_backend.config.parts import DataPart, NoAttack
    from torch_backend.data.partition import PartitionPart
    from torch_backend.models import ModelPart
    from torch_backend.rules import RulePart

    typer.echo("presets")
    for name, text in presets().items():
        typer.echo(f"  {name:20s} {tomllib.loads(text)['about']}")
    for title, union in (
        ("rules", RulePart),
        ("attacks", NoAttack | AttackPart),
        ("partitions", PartitionPart),
        ("models", ModelPart),
        ("data", DataPart),
    ):
        typer.echo(title)
        for part in get_args(union):
            _describe(part)


def _describe(part: Any) -> None:
    typer.echo(f"  {part.kind:20s} {(inspect.getdoc(part) or '').splitlines()[0]}")
    options = [_option(field) for field in attrs.fields(part)]
    if options:
        typer.echo(f"  {'':20s}   {', '.join(options)}")


def _option(field: Any) -> str:
    if field.default is attrs.NOTHING:
        return f"{field.name} (must be given)"
    value = list(field.default) if isinstance(field.default, tuple) else field.default
    return f"{field.name} = {value}"


def schema() -> None:
    """Print the JSON schema of an experiment."""
    from torch_backend.config.load import schema_text

    typer.echo(schema_text(), nl=False)
