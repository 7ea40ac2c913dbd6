"""`valid-ref vectors`: write the test vectors, or compare them with the reference.

Implements: VE-6.
"""

from pathlib import Path
from typing import Annotated

import typer

from valid_ref.trace import find_root
from valid_ref.vectors import differences, families, summary
from valid_ref.vectors import write as write_vectors


def vectors(
    directory: Annotated[
        Path | None, typer.Argument(help="Where they are; spec/vectors of this checkout.")
    ] = None,
    write: Annotated[bool, typer.Option("--write", help="Generate and write all files.")] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Fail unless every file is what is generated.")
    ] = False,
) -> None:
    """List the families of test vectors, write them, or check them byte for byte.

    Ids that were published keep their meaning: writing refuses to change or drop one.

    \b
    Examples:
      valid-ref vectors
      valid-ref vectors --check
      valid-ref vectors --write DIR
    """  # noqa: D301 - \b keeps the lines of the examples apart
    if not write and not check:
        typer.echo(summary(families()))
        return
    home = find_root(Path.cwd()) / "spec" / "vectors" if directory is None else directory
    if write:
        changed = write_vectors(home, families())
        typer.echo(f"{home}: {len(changed)} files changed" + "".join(f"\n  {n}" for n in changed))
        return
    wrong = differences(home, families())
    typer.echo(f"{home}: " + ("as generated" if not wrong else f"differs in {', '.join(wrong)}"))
    if wrong:
        raise typer.Exit(1)
