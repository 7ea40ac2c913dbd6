"""Find a project, and read all of it: its specification, its sources, and what is wrong."""

from collections.abc import Mapping
from pathlib import Path

import attrs

from valid_ref.trace.matrix import ClauseRow, NotYet, read_not_yet, rows_of
from valid_ref.trace.problems import TraceProblem, check
from valid_ref.trace.sources import Marker, scan_sources
from valid_ref.trace.spec_text import (
    Specification,
    TraceError,
    is_installed,
    read_pages,
    read_specification,
    specification_of,
)

_ABOVE_PACKAGE = Path(__file__).resolve().parents[2]


@attrs.frozen
class Trace:
    """All that one reading of a project found; `rows` by id in reading order.

    `installed` says that it was no checkout: there are no tests, and gaps mean nothing.
    """

    specification: Specification
    markers: tuple[Marker, ...]
    not_yet: tuple[NotYet, ...]
    rows: Mapping[str, ClauseRow]
    problems: tuple[TraceProblem, ...]
    installed: bool = False


def find_root(start: Path, above_package: Path = _ABOVE_PACKAGE) -> Path:
    """The nearest directory at or above `start` with `spec/README.md` and `valid_ref/`.

    Without one, the directory above the installed package, if it is such a directory or the
    package contains the specification.
    """
    start = start.resolve()
    for directory in (start, *start.parents, above_package):
        if (directory / "spec" / "README.md").is_file() and (directory / "valid_ref").is_dir():
            return directory
    if is_installed(above_package):
        return above_package
    raise TraceError(
        f"neither {start} nor a directory above it holds spec/README.md and valid_ref/, "
        f"nor does {above_package}: run this inside a checkout of valid-ref, or name its root"
    )


def own_root() -> Path:
    """The root that this very package belongs to."""
    return find_root(_ABOVE_PACKAGE)


def load(root: Path) -> Trace:
    """Read the project at a root; raises a typed error where a file cannot be understood.

    References that lead nowhere do not stop the reading: they are among the problems.
    """
    pages = read_pages(root)
    specification = specification_of(pages)
    markers = scan_sources(root)
    not_yet = read_not_yet(root)
    return Trace(
        specification=specification,
        markers=markers,
        not_yet=not_yet,
        rows=rows_of(specification, markers),
        problems=check(specification, markers, not_yet, pages),
        installed=is_installed(root),
    )


def load_clauses(root: Path) -> Trace:
    """The clauses alone, without the sources that are tied to them: much faster."""
    specification = read_specification(root)
    rows = rows_of(specification, ())
    return Trace(specification, markers=(), not_yet=(), rows=rows, problems=())


def load_specification() -> Specification:
    """The specification that this very package belongs to."""
    return read_specification(own_root())
