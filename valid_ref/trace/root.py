"""Find the project whose specification and sources are to be read."""

from __future__ import annotations

from pathlib import Path

from valid_ref.trace.errors import NoProjectError

_ABOVE_PACKAGE = Path(__file__).resolve().parents[2]


def find_root(start: Path, above_package: Path = _ABOVE_PACKAGE) -> Path:
    """The nearest directory at or above `start` with `spec/README.md` and `valid_ref/`.

    Without one, the directory above the installed package, if it is such a directory.
    """
    start = start.resolve()
    for directory in (start, *start.parents, above_package):
        if (directory / "spec" / "README.md").is_file() and (directory / "valid_ref").is_dir():
            return directory
    raise NoProjectError(
        f"neither {start} nor a directory above it holds spec/README.md and valid_ref/, "
        f"nor does {above_package}: run this inside a checkout of valid-ref, or name its root"
    )
