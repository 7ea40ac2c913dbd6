"""Read which clauses the sources name; nothing is imported or run.

Docstrings say `Implements: LV-3, LV-4.`, tests carry the marks `checks` and `witness`, and comments
of Coq say `Proves: V2` above the statement.
"""

import ast
import re
import warnings
from collections.abc import Callable, Iterator
from enum import StrEnum
from pathlib import Path

import attrs

from valid_ref.trace.spec_text import (
    TraceError,
    is_identifier,
    is_installed,
    located,
    raise_all,
)


class SourceRole(StrEnum):
    """How a source is tied to a clause."""

    IMPLEMENTED = "implemented"
    TESTED = "tested"
    EXPLORED = "explored"
    PROVED = "proved"
    PROVED_COQ = "proved_coq"
    WITNESSED = "witnessed"


@attrs.frozen
class Marker:
    """One id that a source names, and where a reader should look."""

    identifier: str
    role: SourceRole
    file: str
    line: int
    symbol: str


SOURCE_DIRECTORIES = ("valid_ref", "proofs_check", "torch_backend", "benchmarks")
TEST_DIRECTORIES = ("tests",)
COQ_DIRECTORIES = ("proofs_check",)
KEYWORDS = {
    "Implements": SourceRole.IMPLEMENTED,
    "Explores": SourceRole.EXPLORED,
    "Proves": SourceRole.PROVED,
}
MARKS = {"checks": SourceRole.TESTED, "witness": SourceRole.WITNESSED}

Definition = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
Reader = Callable[[bytes, str], Iterator[Marker]]

_KEYWORD_LINE = re.compile(rf"^\s*({'|'.join(KEYWORDS)}):(.*)$")
_COQ_TOKEN = re.compile(r'\(\*|\*\)|"')
_COQ_STATEMENT = re.compile(
    r"^\s*(?:(?:Local|Global|Program|#\[[^\]]*\])\s+)*"
    r"(Theorem|Lemma|Corollary|Proposition|Fact|Remark|Property|Example|Instance|Axiom|Conjecture)"
    r"\s+([\w']+)",
    re.MULTILINE,
)
_COQ_UNPROVED = re.compile(r"\b(?:Admitted|Abort|admit|give_up)\b")


def scan_sources(root: Path) -> tuple[Marker, ...]:
    """All markers below the project root, ordered by file and line."""
    found: list[Marker] = []
    errors: list[TraceError] = []
    for path, reader in _sources(root):
        try:
            found.extend(reader(path.read_bytes(), path.relative_to(root).as_posix()))
        except TraceError as error:
            errors.append(error)
    raise_all(errors)
    return tuple(sorted(found, key=lambda marker: (marker.file, marker.line, marker.identifier)))


def _sources(root: Path) -> Iterator[tuple[Path, Reader]]:
    """Every file to read, with the function that reads it."""
    kinds: list[tuple[tuple[str, ...], str, Reader]] = [
        (SOURCE_DIRECTORIES, "*.py", _docstring_markers),
        (COQ_DIRECTORIES, "*.v", _coq_markers),
    ]
    if not is_installed(root):  # beside an installed package lie the tests of others
        kinds.insert(1, (TEST_DIRECTORIES, "*.py", _test_markers))
    for directories, pattern, reader in kinds:
        for directory in directories:
            for path in sorted((root / directory).rglob(pattern)):
                inside = path.relative_to(root).parts
                if path.is_file() and not any(part.startswith(".") for part in inside):
                    yield path, reader


def marker_lines(text: str, file: str, first_line: int) -> Iterator[tuple[SourceRole, str, int]]:
    """The role, id and line of every marker in a docstring or comment that starts at a line.

    A marker is a keyword, a colon and ids; the list may wrap after a comma.
    """
    lines = text.split("\n")
    for index, line in enumerate(lines):
        found = _KEYWORD_LINE.match(line)
        if found is None:
            continue
        keyword, listed = found.group(1), found.group(2).strip()
        for continuation in lines[index + 1 :]:
            if not listed.endswith(","):
                break
            listed = f"{listed} {continuation.strip()}"
        items = [item.strip() for item in listed.removesuffix(".").split(",")]
        for item in dict.fromkeys(items):
            if not is_identifier(item):
                message = f"{keyword}: expects ids separated by commas, not {item!r}"
                raise located(file, first_line + index, message)
            yield KEYWORDS[keyword], item, first_line + index


def _docstring_markers(source: bytes, file: str) -> Iterator[Marker]:
    """The markers in the docstrings of a module, its classes and its functions."""
    for node, symbol in _definitions(source, file):
        docstring = node.body[0] if node.body else None
        if not isinstance(docstring, ast.Expr) or not isinstance(docstring.value, ast.Constant):
            continue
        text = docstring.value.value
        if not isinstance(text, str):
            continue
        for role, identifier, line in marker_lines(text, file, docstring.lineno):
            shown = line if isinstance(node, ast.Module) else node.lineno
            yield Marker(identifier, role, file, shown, symbol)


def _definitions(source: bytes, file: str) -> Iterator[tuple[Definition, str]]:
    """The module, then every class and function in it with its qualified name."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source, filename=file)
    except SyntaxError as error:
        raise located(file, error.lineno or 1, f"not legal Python: {error.msg}") from error
    except ValueError as error:
        raise located(file, 1, f"not legal Python: {error}") from error
    yield tree, file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    yield from _nested(tree, "")


def _nested(node: ast.AST, prefix: str) -> Iterator[tuple[Definition, str]]:
    """The classes and functions below a statement."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield child, prefix + child.name
            yield from _nested(child, f"{prefix}{child.name}.")
        elif isinstance(child, ast.stmt | ast.excepthandler | ast.match_case):
            yield from _nested(child, prefix)


def _test_markers(source: bytes, file: str) -> Iterator[Marker]:
    """The marks `checks` and `witness` on tests, classes of tests and modules of tests."""
    for node, symbol in _definitions(source, file):
        expressions: list[ast.expr] = []
        if not isinstance(node, ast.Module):
            expressions.extend(node.decorator_list)
        if isinstance(node, ast.Module | ast.ClassDef):
            expressions.extend(_pytestmark(node))
        for expression in expressions:
            shown = expression.lineno if isinstance(node, ast.Module) else node.lineno
            for role, identifier in _marks_in(expression, file):
                yield Marker(identifier, role, file, shown, symbol)


def _pytestmark(node: ast.Module | ast.ClassDef) -> Iterator[ast.expr]:
    """What is assigned to the name `pytestmark` in the body of a module or a class."""
    for statement in node.body:
        targets: list[ast.expr] = []
        if isinstance(statement, ast.Assign):
            targets = statement.targets
        elif isinstance(statement, ast.AnnAssign | ast.AugAssign):
            targets = [statement.target]
        named = any(isinstance(item, ast.Name) and item.id == "pytestmark" for item in targets)
        value = getattr(statement, "value", None)
        if named and isinstance(value, ast.expr):
            yield value


def _marks_in(expression: ast.expr, file: str) -> Iterator[tuple[SourceRole, str]]:
    """The marks in an expression, also inside `pytest.param(..., marks=...)`."""
    called: set[ast.expr] = set()
    for part in ast.walk(expression):
        if isinstance(part, ast.Call):
            called.add(part.func)
            role = _role(part.func)
            if role is not None:
                yield from ((role, identifier) for identifier in _arguments(part, file))
        elif isinstance(part, ast.Attribute) and part not in called and _role(part) is not None:
            message = f"the mark {part.attr} needs the ids it is about"
            raise located(file, part.lineno, message)


def _role(function: ast.expr) -> SourceRole | None:
    """The role of `pytest.mark.checks`, `mark.witness` and the like; nothing for another mark."""
    if not isinstance(function, ast.Attribute):
        return None
    owner = function.value
    is_mark = (isinstance(owner, ast.Attribute) and owner.attr == "mark") or (
        isinstance(owner, ast.Name) and owner.id == "mark"
    )
    return MARKS.get(function.attr) if is_mark else None


def _arguments(call: ast.Call, file: str) -> tuple[str, ...]:
    """The ids a mark is called with; anything but literal ids is an error."""
    identifiers: list[str] = []
    for argument in (*call.args, *(keyword.value for keyword in call.keywords)):
        value = argument.value if isinstance(argument, ast.Constant) else None
        if not isinstance(value, str) or not is_identifier(value) or call.keywords:
            message = f'a mark takes literal ids such as "LV-3", not {ast.unparse(argument)}'
            raise located(file, argument.lineno, message)
        identifiers.append(value)
    if not identifiers:
        raise located(file, call.lineno, "a mark needs the ids it is about")
    return tuple(dict.fromkeys(identifiers))


def _coq_markers(source: bytes, file: str) -> Iterator[Marker]:
    """One marker for each id, at the first statement after the comment; it must be proved."""
    text = source.decode("utf-8", "replace")
    comments, code = _split_coq(text, file)
    for start, comment in comments:
        for role, identifier, line in marker_lines(comment, file, _line(text, start)):
            if role is not SourceRole.PROVED:
                raise located(file, line, "a comment in Coq says Proves:, nothing else")
            found = _COQ_STATEMENT.search(code, start)
            if found is None:
                raise located(file, line, f"no statement follows that could prove {identifier}")
            following = _COQ_STATEMENT.search(code, found.end())
            proof = code[found.end() : following.start() if following is not None else len(code)]
            keyword, name = found.groups()
            if keyword in ("Axiom", "Conjecture") or _COQ_UNPROVED.search(proof):
                message = f"{name} is said to prove {identifier}, but it has no finished proof"
                raise located(file, line, message)
            yield Marker(identifier, SourceRole.PROVED_COQ, file, _line(code, found.start(1)), name)


def _split_coq(text: str, file: str) -> tuple[list[tuple[int, str]], str]:
    """The outermost comments with their places, and the text with comments and strings blank."""
    comments: list[tuple[int, str]] = []
    code = list(text)
    depth, start, place = 0, 0, 0
    while (token := _COQ_TOKEN.search(text, place)) is not None:
        place = token.end()
        if token.group() == '"':
            if depth > 0:
                continue
            place = text.find('"', place) + 1
            if place == 0:
                raise located(file, _line(text, token.start()), "open string in Coq")
            _blank(code, token.start(), place)
        elif token.group() == "(*":
            start = token.start() if depth == 0 else start
            depth += 1
        elif depth > 0:
            depth -= 1
            if depth == 0:
                comments.append((start, text[start + 2 : place - 2].strip(" *")))
                _blank(code, start, place)
    if depth > 0:
        raise located(file, _line(text, start), "open comment in Coq")
    return comments, "".join(code)


def _blank(code: list[str], start: int, end: int) -> None:
    """Replace a stretch by spaces, its line breaks kept."""
    code[start:end] = [" " if letter != "\n" else letter for letter in code[start:end]]


def _line(text: str, place: int) -> int:
    """The line number of a place in a text."""
    return text.count("\n", 0, place) + 1
