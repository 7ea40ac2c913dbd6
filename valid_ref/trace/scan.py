"""Read the markers of all sources from their syntax trees; nothing is imported or run."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from valid_ref.trace.coq import coq_markers
from valid_ref.trace.errors import LocatedError, SourceSyntaxError, raise_all
from valid_ref.trace.markers import marker_lines
from valid_ref.trace.model import Marker, Role
from valid_ref.trace.pytest_marks import marks_of
from valid_ref.trace.root import is_installed

if TYPE_CHECKING:
    from pathlib import Path

SOURCE_DIRECTORIES = ("valid_ref", "proofs_check", "torch_backend", "benchmarks")
TEST_DIRECTORIES = ("tests",)
COQ_DIRECTORIES = ("proofs_check",)

Definition = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
Reader = Callable[[bytes, str], Iterator[Marker]]


def scan_sources(root: Path) -> tuple[Marker, ...]:
    """All markers below the project root, ordered by file and line."""
    found: list[Marker] = []
    errors: list[LocatedError] = []
    for path, reader in _sources(root):
        try:
            found.extend(reader(path.read_bytes(), path.relative_to(root).as_posix()))
        except LocatedError as error:
            errors.append(error)
    raise_all(errors)
    return tuple(sorted(found, key=lambda marker: (marker.file, marker.line, marker.identifier)))


def docstring_markers(source: bytes, file: str) -> Iterator[Marker]:
    """The markers in the docstrings of a module, its classes and its functions."""
    for node, symbol in definitions(parse(source, file), file):
        docstring = node.body[0] if node.body else None
        if not isinstance(docstring, ast.Expr) or not isinstance(docstring.value, ast.Constant):
            continue
        text = docstring.value.value
        if not isinstance(text, str):
            continue
        for role, identifier, line in marker_lines(text, file, docstring.lineno):
            shown = line if isinstance(node, ast.Module) else node.lineno
            yield Marker(identifier, role, file, shown, symbol)


def pytest_markers(source: bytes, file: str) -> Iterator[Marker]:
    """The `checks` and `witness` marks of a test module."""
    for node, symbol in definitions(parse(source, file), file):
        for role, identifier, line in marks_of(node, file):
            shown = line if isinstance(node, ast.Module) else node.lineno
            yield Marker(identifier, role, file, shown, symbol)


def parse(source: bytes, file: str) -> ast.Module:
    """The syntax tree of a module."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(source, filename=file)
    except SyntaxError as error:
        line = error.lineno or 1
        raise SourceSyntaxError(file, line, "", f"not legal Python: {error.msg}") from error
    except ValueError as error:
        raise SourceSyntaxError(file, 1, "", f"not legal Python: {error}") from error


def definitions(tree: ast.Module, file: str) -> Iterator[tuple[Definition, str]]:
    """The module, then every class and function in it with its qualified name."""
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


def _coq_reader(source: bytes, file: str) -> Iterator[Marker]:
    """The markers of a Coq file."""
    for identifier, line, symbol in coq_markers(source.decode("utf-8", "replace"), file):
        yield Marker(identifier, Role.PROVED_COQ, file, line, symbol)


def _sources(root: Path) -> Iterator[tuple[Path, Reader]]:
    """Every file to read, with the function that reads it."""
    kinds: tuple[tuple[tuple[str, ...], str, Reader], ...] = (
        (SOURCE_DIRECTORIES, "*.py", docstring_markers),
        (TEST_DIRECTORIES, "*.py", pytest_markers),
        (COQ_DIRECTORIES, "*.v", _coq_reader),
    )
    if is_installed(root):  # beside an installed package lie the tests of others
        kinds = (kinds[0], kinds[2])
    for directories, pattern, reader in kinds:
        for directory in directories:
            for path in sorted((root / directory).rglob(pattern)):
                inside = path.relative_to(root).parts
                if path.is_file() and not any(part.startswith(".") for part in inside):
                    yield path, reader
