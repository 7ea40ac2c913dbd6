"""Read a whole project: its specification, its sources, and what is wrong between them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from valid_ref.trace.clauses import specification_of
from valid_ref.trace.links import reference_faults
from valid_ref.trace.markdown import read_pages
from valid_ref.trace.matrix import Row, rows_of
from valid_ref.trace.not_yet import NotYet, read_not_yet
from valid_ref.trace.problems import Problem, check
from valid_ref.trace.root import is_installed, own_root
from valid_ref.trace.scan import scan_sources

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from valid_ref.trace.model import Marker, Specification


@attrs.frozen
class Trace:
    """All that one reading of a project found; `rows` by id in reading order.

    `installed` says that it was no checkout: there are no tests, and gaps mean nothing.
    """

    specification: Specification
    markers: tuple[Marker, ...]
    not_yet: tuple[NotYet, ...]
    rows: Mapping[str, Row]
    problems: tuple[Problem, ...]
    installed: bool = False


def load(root: Path) -> Trace:
    """Read the project at a root; raises a typed error where a file cannot be understood.

    References that lead nowhere do not stop the reading: they are among the problems.
    """
    pages = read_pages(root)
    specification = specification_of(pages)
    markers = scan_sources(root)
    not_yet = read_not_yet(root)
    references = reference_faults(pages, specification)
    return Trace(
        specification=specification,
        markers=markers,
        not_yet=not_yet,
        rows=rows_of(specification, markers),
        problems=check(specification, markers, not_yet, references),
        installed=is_installed(root),
    )


def load_clauses(root: Path) -> Trace:
    """The clauses alone, without the sources that are tied to them: much faster."""
    specification = specification_of(read_pages(root))
    rows = rows_of(specification, ())
    return Trace(specification, (), (), rows, (), is_installed(root))


def load_specification() -> Specification:
    """The specification that this very package belongs to."""
    return specification_of(read_pages(own_root()))
