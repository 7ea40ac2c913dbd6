"""Find the project whose specification and sources are to be read."""

from __future__ import annotations

import re
from pathlib import Path

from valid_ref.trace.errors import NoProjectError, TraceError

_ABOVE_PACKAGE = Path(__file__).resolve().parents[2]


def find_root(start: Path, above_package: Path = _ABOVE_PACKAGE) -> Path:
    """The nearest directory at or above `start` with `spec/README.md` and `valid_ref/`.

    Without one, the directory above the installed package, if it is such a directory or the
    package carries the specification with it.
    """
    start = start.resolve()
    for directory in (start, *start.parents, above_package):
        if (directory / "spec" / "README.md").is_file() and (directory / "valid_ref").is_dir():
            return directory
    if is_installed(above_package):
        return above_package
    raise NoProjectError(
        f"neither {start} nor a directory above it holds spec/README.md and valid_ref/, "
        f"nor does {above_package}: run this inside a checkout of valid-ref, or name its root"
    )


def is_installed(root: Path) -> bool:
    """Whether a root is that of an installed package, which has no tests, and not a checkout."""
    carried = root / "valid_ref" / "_spec" / "README.md"
    return carried.is_file() and not (root / "spec" / "README.md").is_file()


def spec_directory(root: Path) -> Path:
    """Where the specification is: `spec/` of a checkout, or what the package carries."""
    return root / "valid_ref" / "_spec" if is_installed(root) else root / "spec"


def specification_version(root: Path) -> str:
    """The version of the specification, which is that of the test vectors too.

    Implements: VE-10.
    """
    path = spec_directory(root) / "VERSION"
    version = path.read_text(encoding="ascii").strip() if path.is_file() else ""
    if not re.fullmatch(r"(0|[1-9]\d*)(\.(0|[1-9]\d*)){2}", version):
        raise TraceError(f"{path}: {version[:40]!r} is no version MAJOR.MINOR.PATCH")
    return version


def own_root() -> Path:
    """The root that this very package belongs to."""
    return find_root(_ABOVE_PACKAGE)
