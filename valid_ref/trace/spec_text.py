"""Read the text of the specification: its clauses, its errata and its table of paper labels.

Clause ids look like `LV-3`, `V2`, `VS1`; erratum ids like `P04`, `A12`; paper labels like `eq:cc4`.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType

import attrs

from valid_ref.errors import ValidRefError
from valid_ref.markdown import visible_lines, without_code

CLAUSE = r"[A-Z]{2}-\d+|VS\d|[VLS]\d"
ERRATUM = r"[PA]\d{2}"
LABEL = r"[a-z]+(?::[\w:.+-]+|_[a-z]+)"

_LINK_TARGET = re.compile(r"\]\([^)]*\)")
_CLAUSE_START = re.compile(
    rf'^(?:<a id="([a-z0-9-]+)"></a>)?\*\*({CLAUSE})\*\* \*(rule|term|claim)\.\*(?:\s+|$)(.*)$'
)
_LOOKS_LIKE_CLAUSE = re.compile(
    rf'^\s{{0,3}}(?:<a id="[^"]*"></a>)?\s*\*\*({CLAUSE})\*\*'
    r"|^(?! {4}).*?\*\*([^*\s]+)\*\* \*(?:rule|term|claim)\b"
)
_SOURCES = re.compile(r"\s*\*\(((?:Paper|Repairs):.*?)\)\*")
_PAPER = re.compile(r"Paper:(.*?)(?=Repairs:|$)")
_REPAIRS = re.compile(r"Repairs:(.*?)(?=Paper:|$)")
_LOOKS_LIKE_TITLE = re.compile(rf"^#{{1,6}}\s+({ERRATUM})(?!\w)")
_TITLE = re.compile(rf"^### ({ERRATUM}) [—–:-] (\S.*)$")
_ANCHOR = re.compile(r'^<a id="[^"]*"></a>$')
_FIELD = re.compile(
    r"\*(Severity|Content|Clauses|Paper):\*(.*?)(?=\*(?:Severity|Content|Clauses|Paper):\*|\n\s*\n|\Z)",
    re.DOTALL,
)
_PART = re.compile(r"\*\*(Printed|Wrong because|Evidence|Repair)\.\*\*")
_LABEL_ROW = re.compile(rf"^\|\s*`{LABEL}`")
_BAR = re.compile(r"(?<!\\)\|")


class TraceError(ValidRefError):
    """The specification or a source cannot be read; the message begins with `file:line:`."""


class ClauseKind(StrEnum):
    """What a clause is; it decides what the clause needs."""

    RULE = "rule"
    TERM = "term"
    CLAIM = "claim"
    ERRATUM = "erratum"


class Content(StrEnum):
    """Whether an erratum can be shown by running something."""

    EXECUTABLE = "executable"
    TEXTUAL = "textual"


@attrs.frozen(kw_only=True)
class Clause:
    """One normative paragraph; `text` is without its id, kind and list of labels and errata."""

    identifier: str
    kind: ClauseKind
    text: str
    file: str
    line: int
    labels: tuple[str, ...] = ()
    errata: tuple[str, ...] = ()


@attrs.frozen(kw_only=True)
class Erratum(Clause):
    """One section of the errata; `text` is the section below its title."""

    title: str
    severity: str
    content: Content
    clauses: tuple[str, ...] = ()


@attrs.frozen(kw_only=True)
class PaperLabel:
    """One label of the paper, and the clauses that restate what it labels."""

    label: str
    what: str
    clauses: tuple[str, ...]
    file: str
    line: int


@attrs.frozen
class Specification:
    """All clauses and errata by id, and the paper's labels by label, in reading order."""

    clauses: Mapping[str, Clause]
    labels: Mapping[str, PaperLabel]


@attrs.frozen
class Page:
    """One file of the spec; code blocks and comments are blank in `visible`."""

    file: str
    raw: tuple[str, ...]
    visible: tuple[str, ...]

    def numbered(self) -> Iterator[tuple[int, str]]:
        """The visible lines with their numbers, from 1."""
        return enumerate(self.visible, start=1)


def located(file: str, line: int, message: str) -> TraceError:
    """An error at one line of a file, which is named relative to the project root."""
    return TraceError(f"{file}:{line}: {message}")


def raise_all(errors: Sequence[TraceError]) -> None:
    """Raise one error that has the messages of all, one in a line; nothing if there are none."""
    if errors:
        raise TraceError("\n".join(error.message for error in errors))


def is_installed(root: Path) -> bool:
    """Whether a root is that of an installed package, which has no tests, and not a checkout."""
    packaged = root / "valid_ref" / "_spec" / "README.md"
    return packaged.is_file() and not (root / "spec" / "README.md").is_file()


def spec_directory(root: Path) -> Path:
    """Where the specification is: `spec/` of a checkout, or the copy inside the package."""
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


def is_identifier(text: str) -> bool:
    """Whether the text has the shape of a clause id or an erratum id."""
    return re.fullmatch(f"{CLAUSE}|{ERRATUM}", text) is not None


def is_erratum_identifier(text: str) -> bool:
    """Whether the text has the shape of an erratum id."""
    return re.fullmatch(ERRATUM, text) is not None


def identifiers_in(text: str, shape: str = f"{CLAUSE}|{ERRATUM}") -> tuple[str, ...]:
    """The ids in a list of links or bare ids, each once, in order; link targets are not read."""
    found = re.findall(rf"(?<!\w)(?:{shape})(?!\w)", _LINK_TARGET.sub("]", text))
    return tuple(dict.fromkeys(found))


def labels_in(text: str) -> tuple[str, ...]:
    """The paper labels in backticks, each once, in order."""
    return tuple(dict.fromkeys(re.findall(rf"`({LABEL})`", text)))


def erratum_parts(text: str) -> dict[str, str]:
    """The parts of an erratum by heading: "Printed", "Wrong because", "Evidence", "Repair"."""
    parts: dict[str, str] = {}
    for paragraph in text.split("\n\n"):
        found = _PART.match(paragraph.strip())
        if found is not None:
            parts[found.group(1)] = paragraph.strip()[found.end() :].strip()
    return parts


def parse_page(file: str, text: str) -> Page:
    """The lines of a file."""
    return Page(file, tuple(text.split("\n")), visible_lines(text))


def read_pages(root: Path) -> tuple[Page, ...]:
    """All pages of the specification, named `spec/...`, by name, the errata last."""
    home = spec_directory(root)
    paths = sorted(home.rglob("*.md"), key=lambda path: (path.name == "errata.md", path))
    return tuple(
        parse_page(f"spec/{path.relative_to(home).as_posix()}", path.read_text(encoding="utf-8"))
        for path in paths
    )


def read_specification(root: Path) -> Specification:
    """Read `spec/` below the project root; every malformed or duplicate item is an error."""
    return specification_of(read_pages(root))


def specification_of(pages: Iterable[Page]) -> Specification:
    """The specification that the pages make up."""
    clauses: dict[str, Clause] = {}
    labels: dict[str, PaperLabel] = {}
    errors: list[TraceError] = []
    for item in (item for page in pages for item in _items(page)):
        if isinstance(item, TraceError):
            errors.append(item)
            continue
        name = item.identifier if isinstance(item, Clause) else item.label
        first = clauses.get(name) or labels.get(name)
        if first is not None:
            message = f"{name} is already defined at {first.file}:{first.line}"
            errors.append(located(item.file, item.line, message))
        elif isinstance(item, Clause):
            clauses[name] = item
        else:
            labels[name] = item
    raise_all(errors)
    return Specification(MappingProxyType(clauses), MappingProxyType(labels))


def _items(page: Page) -> Iterator[Clause | PaperLabel | TraceError]:
    """Everything a page defines, with an error for what only looks like a definition."""
    yield from _clauses(page)
    name = page.file.removeprefix("spec/")
    if name == "errata.md":
        yield from _errata(page)
    if name == "README.md":
        yield from _labels(page)


def _clauses(page: Page) -> Iterator[Clause | TraceError]:
    for number, line in page.numbered():
        start = _CLAUSE_START.match(line)
        if start is not None:
            yield _clause(page, number, start)
        elif (found := _LOOKS_LIKE_CLAUSE.match(without_code(line))) is not None:
            message = (
                f"{found.group(1) or found.group(2)} does not start a clause: expected the line "
                'to begin with <a id="xx-1"></a>**XX-1** and then *rule.*, *term.* or *claim.*'
            )
            yield located(page.file, number, message)


def _clause(page: Page, number: int, start: re.Match[str]) -> Clause | TraceError:
    """The clause that starts at a line and ends with its paragraph or at the next clause."""
    anchor, identifier, kind, first = start.groups()
    if anchor is not None and anchor != identifier.lower():
        message = f"the anchor of {identifier} is {anchor!r}, not {identifier.lower()!r}"
        return located(page.file, number, message)
    lines = [first.strip()]
    for line in page.visible[number:]:
        if not line.strip() or _CLAUSE_START.match(line):
            break
        lines.append(line.strip())
    paragraph = " ".join(lines).strip()
    sources = " ".join(_SOURCES.findall(paragraph))
    text = _SOURCES.sub("", paragraph)
    if "Repairs:" in text or "Paper:" in text:
        message = f"the sources of {identifier} are not written as *(Paper: ... Repairs: ...)*"
        return located(page.file, number, message)
    return Clause(
        identifier=identifier,
        kind=ClauseKind(kind),
        text=text,
        file=page.file,
        line=number,
        labels=labels_in(" ".join(_PAPER.findall(sources))),
        errata=identifiers_in(" ".join(_REPAIRS.findall(sources)), ERRATUM),
    )


def _errata(page: Page) -> Iterator[Erratum | TraceError]:
    for number, line in page.numbered():
        found = _LOOKS_LIKE_TITLE.match(line)
        if found is None:
            continue
        title = _TITLE.match(line)
        if title is None:
            name = found.group(1)
            message = f"the title of {name} is not written as ### {name} — title"
            yield located(page.file, number, message)
        else:
            yield _erratum(page, number, title.group(1), title.group(2).strip())


def _erratum(page: Page, number: int, identifier: str, title: str) -> Erratum | TraceError:
    """The erratum whose title is at a line."""
    text = _section(page, number)
    fields: dict[str, str] = {}
    for name, value in _FIELD.findall(text):
        fields.setdefault(name, " ".join(value.split()))
    severity = fields.get("Severity", "").removesuffix(".")
    content = re.split(r"\W", fields.get("Content", ""), maxsplit=1)[0]
    if not severity or content not in tuple(Content):
        message = f"{identifier} needs *Severity:* and *Content:* executable or textual"
        return located(page.file, number, message)
    return Erratum(
        identifier=identifier,
        kind=ClauseKind.ERRATUM,
        text=text,
        file=page.file,
        line=number,
        labels=labels_in(fields.get("Paper", "")),
        title=title,
        severity=severity,
        content=Content(content),
        clauses=identifiers_in(fields.get("Clauses", "")),
    )


def _section(page: Page, number: int) -> str:
    """The text from a title to the next, without the anchor that belongs to the next."""
    end = number
    while end < len(page.visible) and not re.match(r"#{1,3} ", page.visible[end]):
        end += 1
    lines = list(page.raw[number:end])
    while lines and (not lines[-1].strip() or _ANCHOR.match(lines[-1].strip())):
        lines.pop()
    return "\n".join(lines).strip()


def _labels(page: Page) -> Iterator[PaperLabel | TraceError]:
    """The labels of the table rows `label | what it is | clauses`, in order.

    Rows are split here because a reader of Markdown cuts and fills every row to the width of the
    table's head: a bar too many would change a meaning unnoticed, and here it is refused.
    """
    for number, line in page.numbered():
        if not _LABEL_ROW.match(line):
            continue
        cells = [cell.strip() for cell in _BAR.split(line.strip().strip("|"))]
        labels = labels_in(cells[0])
        if len(cells) != 3:
            message = f"the row of {labels[0]} has {len(cells)} columns, not 3 (write a bar as \\|)"
            yield located(page.file, number, message)
            continue
        for label in labels:
            yield PaperLabel(
                label=label,
                what=cells[1].replace("\\|", "|"),
                clauses=identifiers_in(cells[2]),
                file=page.file,
                line=number,
            )
