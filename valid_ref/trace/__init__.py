"""Tie the specification to the code: which clause is implemented, tested, explored, proved.

`load(find_root(Path.cwd()))` reads a project; its `problems` are what a check must refuse.
"""

from valid_ref.trace.project import (
    Trace,
    find_root,
    load,
    load_clauses,
    load_specification,
    own_root,
)
from valid_ref.trace.spec_text import (
    Erratum,
    Specification,
    TraceError,
    spec_directory,
    specification_version,
)

__all__ = [
    "Erratum",
    "Specification",
    "Trace",
    "TraceError",
    "find_root",
    "load",
    "load_clauses",
    "load_specification",
    "own_root",
    "spec_directory",
    "specification_version",
]
