"""The pytest marks `checks` and `witness`, read from the syntax tree of a test module."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from valid_ref.trace.errors import MalformedMarkerError
from valid_ref.trace.identifiers import is_identifier
from valid_ref.trace.model import Role

if TYPE_CHECKING:
    from collections.abc import Iterator

MARKS = {"checks": Role.TESTED, "witness": Role.WITNESSED}


def marks_of(
    node: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef, file: str
) -> Iterator[tuple[Role, str, int]]:
    """The role, id and line of every mark on a test, a class of tests or a module of tests."""
    expressions: list[ast.expr] = []
    if not isinstance(node, ast.Module):
        expressions.extend(node.decorator_list)
    if isinstance(node, ast.Module | ast.ClassDef):
        expressions.extend(_pytestmark(node))
    for expression in expressions:
        for role, identifier in _marks_in(expression, file):
            yield role, identifier, expression.lineno


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


def _marks_in(expression: ast.expr, file: str) -> Iterator[tuple[Role, str]]:
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
            raise MalformedMarkerError(file, part.lineno, part.attr, message)


def _role(function: ast.expr) -> Role | None:
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
            shown = ast.unparse(argument)
            message = f'a mark takes literal ids such as "LV-3", not {shown}'
            raise MalformedMarkerError(file, argument.lineno, shown, message)
        identifiers.append(value)
    if not identifiers:
        raise MalformedMarkerError(file, call.lineno, "", "a mark needs the ids it is about")
    return tuple(dict.fromkeys(identifiers))
