"""`valid-ref vectors`: write the test vectors, compare them with the reference, pack them.

Implements: VE-6, VE-11.
"""

from pathlib import Path
from typing import Annotated

import typer

from valid_ref.cli.outputs import require_outputs
from valid_ref.outputs import writing
from valid_ref.trace import find_root, own_root, spec_directory, specification_version
from valid_ref.vectors.document import VectorError
from valid_ref.vectors.publish import (
    bundle,
    bundle_differences,
    differences,
    families,
    generate,
    published,
    read_archive,
    read_bundle,
    summary,
    write_bundle,
)
from valid_ref.vectors.publish import write as write_vectors


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(specification_version(own_root()))
        raise typer.Exit


def vectors(
    path: Annotated[
        Path | None,
        typer.Argument(help="Where they are: a directory, or a bundle to check. [spec/vectors]"),
    ] = None,
    write: Annotated[bool, typer.Option("--write", help="Generate and write all files.")] = False,
    renew: Annotated[
        bool,
        typer.Option(
            "--renew",
            help="With --write: retire the ids of cases that have changed, and give them new ones.",
        ),
    ] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Fail unless every file is what is generated.")
    ] = False,
    to: Annotated[
        Path | None,
        typer.Option("--bundle", help="Write all files into one zip, with version and sums."),
    ] = None,
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_print_version,
            is_eager=True,
            help="Print the version of specification and vectors.",
        ),
    ] = False,
) -> None:
    """List the families of test vectors, write them, check them byte for byte, or pack them.

    Ids that were published keep their meaning: writing refuses to change or drop one. With
    --renew it retires it; a case that has changed gets its old id with the next number.

    \b
    Examples:
      valid-ref vectors
      valid-ref vectors --check
      valid-ref vectors --write DIR
      valid-ref vectors --write --renew
      valid-ref vectors --bundle vectors.zip
      valid-ref vectors --check vectors.zip
    """  # noqa: D301 - \b keeps the lines of the examples apart
    del version
    if write + check + (to is not None) > 1:
        raise typer.BadParameter("choose one of --write, --check and --bundle")
    if renew and not write:
        raise typer.BadParameter("--renew belongs to --write")
    if path is not None and not write and not check and to is None:
        raise typer.BadParameter("a place goes with --write, --check or --bundle")
    if path is not None and not write and not path.exists():
        raise typer.BadParameter(f"there is no {path}")
    if path is not None and not write and not (path.is_dir() or (check and path.is_file())):
        raise typer.BadParameter(f"{path} is no directory of vectors{' or archive' * check}")
    require_outputs(
        files={"--bundle": to},
        directories={"--write": path if write else None},
        inputs={"PATH": None if write else path},
    )
    if to is None and not write and not check:
        typer.echo(summary(families()))
        return
    home = spec_directory(find_root(Path.cwd())) / "vectors" if path is None else path
    if to is not None:
        _pack(home, to)
    elif write:
        with writing(home, "--write"):
            changed = write_vectors(home, families(), renew=renew)
        typer.echo(f"{home}: {len(changed)} files changed" + "".join(f"\n  {n}" for n in changed))
    else:
        wrong = _check_bundle(home) if home.is_file() else differences(home, families())
        if wrong:
            typer.echo(f"{home}: differs in {', '.join(wrong)}")
            raise typer.Exit(1)
        typer.echo(f"{home}: as {'packed' if home.is_file() else 'generated'}")


def _pack(home: Path, to: Path) -> None:
    made = families()
    if wrong := differences(home, made):
        raise VectorError(f"{home} differs in {', '.join(wrong)}: write it first", clause="VE-11")
    version = specification_version(own_root())
    with writing(to, "--bundle"):
        digest = write_bundle(to, bundle(generate(made, published(home)), version))
    typer.echo(f"{to}: version {version}\nsha256 {digest}")


def _check_bundle(archive: Path) -> tuple[str, ...]:
    """Where an archive is wrong; one of another version is held against its own sums only."""
    content, version = read_archive(archive), specification_version(own_root())
    found = read_bundle(content).version
    if found != version:
        typer.echo(f"{archive}: version {found}, this is {version}: only its sums are checked")
        return bundle_differences(content, {}, version)
    home = spec_directory(own_root()) / "vectors"
    return bundle_differences(content, generate(families(), published(home)), version)
