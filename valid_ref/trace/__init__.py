"""Tie the specification to the code: which clause is implemented, tested, explored, proved.

`load(find_root(Path.cwd()))` reads a project; its `problems` are what a check must refuse.
"""

from __future__ import annotations

from valid_ref.trace.as_json import explain_as_json, matrix_as_json, problems_as_json
from valid_ref.trace.clauses import read_specification
from valid_ref.trace.errors import (
    CombinedTraceError,
    DuplicateIdentifierError,
    LocatedError,
    MalformedClauseError,
    MalformedErratumError,
    MalformedLabelError,
    MalformedMarkerError,
    MalformedNotYetError,
    MisdirectedLinkError,
    NoProjectError,
    SourceSyntaxError,
    TraceError,
    UnknownIdentifierError,
    UnknownReferenceError,
)
from valid_ref.trace.explanation import Explanation, look_up
from valid_ref.trace.load import Trace, load
from valid_ref.trace.matrix import Row, gaps, rows_of
from valid_ref.trace.model import (
    Clause,
    Content,
    Erratum,
    Kind,
    Marker,
    PaperLabel,
    Role,
    Specification,
)
from valid_ref.trace.not_yet import Gap, NotYet, read_not_yet
from valid_ref.trace.places import errata_with_places
from valid_ref.trace.problems import Problem, ProblemKind, check
from valid_ref.trace.render import explain, render_matrix, render_problems, render_summary
from valid_ref.trace.root import find_root, own_root, spec_directory, specification_version
from valid_ref.trace.scan import scan_sources
from valid_ref.trace.summary import Summary, summarise

__all__ = [
    "Clause",
    "CombinedTraceError",
    "Content",
    "DuplicateIdentifierError",
    "Erratum",
    "Explanation",
    "Gap",
    "Kind",
    "LocatedError",
    "MalformedClauseError",
    "MalformedErratumError",
    "MalformedLabelError",
    "MalformedMarkerError",
    "MalformedNotYetError",
    "Marker",
    "MisdirectedLinkError",
    "NoProjectError",
    "NotYet",
    "PaperLabel",
    "Problem",
    "ProblemKind",
    "Role",
    "Row",
    "SourceSyntaxError",
    "Specification",
    "Summary",
    "Trace",
    "TraceError",
    "UnknownIdentifierError",
    "UnknownReferenceError",
    "check",
    "errata_with_places",
    "explain",
    "explain_as_json",
    "find_root",
    "gaps",
    "load",
    "look_up",
    "matrix_as_json",
    "own_root",
    "problems_as_json",
    "read_not_yet",
    "read_specification",
    "render_matrix",
    "render_problems",
    "render_summary",
    "rows_of",
    "scan_sources",
    "spec_directory",
    "specification_version",
    "summarise",
]
