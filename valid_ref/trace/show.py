"""Show the matrix, the problems and one explanation, as plain text and as JSON."""

import difflib
import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import attrs

from valid_ref.trace.matrix import ClauseRow, Gap, gaps
from valid_ref.trace.problems import TraceProblem
from valid_ref.trace.project import Trace
from valid_ref.trace.sources import Marker
from valid_ref.trace.spec_text import ClauseKind, Content, Erratum, PaperLabel, TraceError

Json = dict[str, object]

WIDTH = 100
HEADINGS = (
    "clause",
    "kind",
    "implemented",
    "tested",
    "explored",
    "proved",
    "in Coq",
    "witnessed",
    "open",
    "paper",
)
COLUMNS = ("implemented", "tested", "explored", "proved", "witnessed")
SHOWN = 3
"""How many places an erratum names in its file; `valid-ref trace P04` prints all."""


@attrs.frozen
class Explanation:
    """What was asked for: a row or a label; `clauses` restate the label or repair the erratum."""

    subject: ClauseRow | PaperLabel
    clauses: tuple[ClauseRow, ...] = ()


def look_up(trace: Trace, identifier: str) -> Explanation:
    """The explanation of an id or label in any case; close matches are offered for another one."""
    names = {name.lower(): name for name in (*_label_names(trace), *trace.rows)}
    name = names.get(identifier.strip().lower())
    if name is None:
        close = difflib.get_close_matches(identifier.strip().lower(), names, n=3, cutoff=0.5)
        hint = f"; did you mean {', '.join(names[match] for match in close)}?" if close else ""
        raise TraceError(f"no clause, erratum or paper label is called {identifier!r}{hint}")
    row = trace.rows.get(name)
    if row is None:
        return _label(trace, name)
    if isinstance(row.clause, Erratum):
        carriers = [
            other.clause.identifier for other in trace.rows.values() if name in other.clause.errata
        ]
        return Explanation(row, _rows(trace, (*row.clause.clauses, *carriers)))
    return Explanation(row)


def _label_names(trace: Trace) -> tuple[str, ...]:
    """Every label that the table or a clause names."""
    of_clauses = (label for row in trace.rows.values() for label in row.clause.labels)
    return tuple(dict.fromkeys((*trace.specification.labels, *of_clauses)))


def _label(trace: Trace, name: str) -> Explanation:
    """A label with the clauses that the table gives, then the others that name the label."""
    naming = [row.clause for row in trace.rows.values() if name in row.clause.labels]
    label = trace.specification.labels.get(name)
    if label is None:
        first = naming[0]
        label = PaperLabel(label=name, what="", clauses=(), file=first.file, line=first.line)
    identifiers = (*label.clauses, *(clause.identifier for clause in naming))
    return Explanation(label, _rows(trace, identifiers))


def _rows(trace: Trace, identifiers: Iterable[str]) -> tuple[ClauseRow, ...]:
    """The rows of the ids that exist, each once, in order."""
    return tuple(trace.rows[name] for name in dict.fromkeys(identifiers) if name in trace.rows)


def summarise(trace: Trace) -> dict[str, int]:
    """How many clauses there are, how many have what, and how many gaps are open or accepted."""
    rows = trace.rows.values()
    kinds = Counter(row.clause.kind for row in rows)
    return {
        "rules": kinds[ClauseKind.RULE],
        "terms": kinds[ClauseKind.TERM],
        "claims": kinds[ClauseKind.CLAIM],
        "errata": kinds[ClauseKind.ERRATUM],
        **{column: sum(bool(getattr(row, column)) for row in rows) for column in COLUMNS},
        "gaps": sum(len(gaps(row)) for row in rows),
        "not_yet": sum(len(accepted_gaps(trace, name)) for name in trace.rows),
    }


def accepted_gaps(trace: Trace, identifier: str) -> tuple[Gap, ...]:
    """The open gaps of a clause that are on the list of accepted ones."""
    listed = {entry.gap for entry in trace.not_yet if entry.identifier == identifier}
    return tuple(gap for gap in gaps(trace.rows[identifier]) if gap in listed)


def render_matrix(trace: Trace) -> str:
    """One line for each clause and erratum, a line of totals at the end."""
    table = [HEADINGS, *(_cells(trace, row) for row in trace.rows.values())]
    widths = [max(len(cells[column]) for cells in table) for column in range(len(HEADINGS))]
    lines = [_aligned(cells, widths) for cells in table]
    return "\n".join([*lines, "", render_summary(trace)])


def render_summary(trace: Trace) -> str:
    """The totals in one line."""
    return (
        "{rules} rules, {terms} terms, {claims} claims, {errata} errata: "
        "{implemented} implemented, {tested} tested, {explored} explored, "
        "{proved} proved, {witnessed} witnessed; "
        "{gaps} gaps, {not_yet} of them not yet"
    ).format(**summarise(trace))


def render_problems(problems: Iterable[TraceProblem]) -> str:
    """One line for each problem, as compilers write them."""
    return "\n".join(
        f"{problem.file}:{problem.line}: {problem.kind}: {problem.message}" for problem in problems
    )


def explain(trace: Trace, identifier: str) -> str:
    """A clause, erratum or paper label with its text and everything tied to it."""
    found = look_up(trace, identifier)
    if isinstance(found.subject, PaperLabel):
        head = _label_lines(found.subject)
        below = "Clauses:" if found.clauses else "No clause restates it."
    else:
        head = _row_lines(trace, found.subject)
        below = "Repaired by:" if found.clauses else ""
    lines = [*head, "", below] if below else head
    for row in found.clauses:
        lines += ["", *_row_lines(trace, row)]
    return "\n".join(lines)


def _cells(trace: Trace, row: ClauseRow) -> tuple[str, ...]:
    """The cells of one clause."""
    proofs = (row.proved, row.proved_coq)
    columns = (row.implemented, row.tested, row.explored, *proofs, row.witnessed)
    counts = (str(len(markers)) if markers else "-" for markers in columns)
    clause = row.clause
    return (clause.identifier, clause.kind, *counts, _open(trace, row), ", ".join(clause.labels))


def _open(trace: Trace, row: ClauseRow) -> str:
    """The gaps of a clause, an accepted one in brackets."""
    accepted = accepted_gaps(trace, row.clause.identifier)
    return " ".join(f"({gap})" if gap in accepted else gap for gap in gaps(row)) or "-"


def _aligned(cells: Sequence[str], widths: Sequence[int]) -> str:
    """One line: words to the left, counts to the right."""
    counts = range(2, 8)
    padded = (
        cell.rjust(width) if column in counts else cell.ljust(width)
        for column, (cell, width) in enumerate(zip(cells, widths, strict=True))
    )
    return "  ".join(padded).rstrip()


def _label_lines(label: PaperLabel) -> list[str]:
    """What a label of the paper is."""
    return [f"{label.label}  paper label  {label.file}:{label.line}", *_wrapped(label.what)]


def _row_lines(trace: Trace, row: ClauseRow) -> list[str]:
    """A clause or erratum and everything tied to it."""
    clause = row.clause
    lines = [f"{clause.identifier}  {clause.kind}  {clause.file}:{clause.line}"]
    if isinstance(clause, Erratum):
        lines += _wrapped(clause.title)
        lines += [f"  {line}".rstrip() for line in clause.text.split("\n")]
    else:
        lines += _wrapped(clause.text)
        lines += [f"  Paper: {', '.join(clause.labels)}"] if clause.labels else []
        lines += [f"  Repairs: {', '.join(clause.errata)}"] if clause.errata else []
    lines += [f"  Open: {_open(trace, row)}"] if gaps(row) else []
    return lines + [
        f"    {marker.file}:{marker.line}  {marker.role}  {marker.symbol}" for marker in row.markers
    ]


def _wrapped(text: str) -> list[str]:
    """A text in indented lines, broken only at spaces."""
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent="  ",
        subsequent_indent="  ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def matrix_as_json(trace: Trace) -> Json:
    """All rows, all labels of the paper, and the totals."""
    return {
        "clauses": [_row_as_json(trace, row) for row in trace.rows.values()],
        "labels": [attrs.asdict(label) for label in trace.specification.labels.values()],
        "summary": summarise(trace),
    }


def problems_as_json(problems: Iterable[TraceProblem]) -> list[Json]:
    """All problems."""
    return [attrs.asdict(problem) for problem in problems]


def explain_as_json(trace: Trace, identifier: str) -> Json:
    """A clause, erratum or paper label, and the clauses that restate or repair it."""
    found = look_up(trace, identifier)
    subject = found.subject
    return {
        "subject": _row_as_json(trace, subject)
        if isinstance(subject, ClauseRow)
        else attrs.asdict(subject),
        "clauses": [_row_as_json(trace, row) for row in found.clauses],
    }


def _row_as_json(trace: Trace, row: ClauseRow) -> Json:
    """One clause or erratum and everything tied to it; the role tells both forms of proof apart."""
    return {
        **attrs.asdict(row.clause),
        **{column: [_marker(marker) for marker in getattr(row, column)] for column in COLUMNS},
        "gaps": list(gaps(row)),
        "not_yet": list(accepted_gaps(trace, row.clause.identifier)),
    }


def _marker(marker: Marker) -> Json:
    return attrs.asdict(marker, filter=lambda field, _value: field.name != "identifier")


def errata_with_places(text: str, trace: Trace) -> str:
    """The text of spec/errata.md with the places of witnesses and checks as the markers say.

    They are the last lines of every erratum, so that a reader of the file sees them.
    """
    lines: list[str] = []
    current: str | None = None
    for line in text.splitlines():
        heading = re.match(r"### ([PA]\d\d) ", line)
        current = heading.group(1) if heading else current
        if line.startswith("*Witness:* ") and current is not None:
            lines += _places(trace.rows, current)
        elif not line.startswith("*Check:* "):
            lines.append(line)
    return "\n".join(lines) + "\n"


def _places(rows: Mapping[str, ClauseRow], identifier: str) -> list[str]:
    row = rows[identifier]
    erratum = row.clause
    if not isinstance(erratum, Erratum):
        return []
    witness = _named(row.witnessed)
    if erratum.content is Content.TEXTUAL and not row.witnessed:
        witness = "none needed; the text speaks for itself."
    carriers = [rows[name] for name in erratum.clauses]
    checks = [marker for one in (row, *carriers) for marker in (*one.tested, *one.explored)]
    checks += [marker for one in (row, *carriers) for marker in one.proved]
    check = _named(checks)
    if not checks and all(one.clause.kind is ClauseKind.TERM for one in carriers):
        check = "the repair is a definition."
    return [f"*Witness:* {witness}", f"*Check:* {check}"]


def _named(markers: Iterable[Marker]) -> str:
    """The first few places as file::symbol."""
    names = list(dict.fromkeys(f"`{marker.file}::{marker.symbol}`" for marker in markers))
    if not names:
        return "not yet."
    more = f", and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more + "."
