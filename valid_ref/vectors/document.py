"""A case, a family of cases, and their text."""

import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any

import attrs

from valid_ref.errors import ValidRefError
from valid_ref.vectors.words import FURTHER, NUMBERS, REFUSALS

FORMAT = "valid-ref/vectors/1"
WIDTH = 110
"""A value that fits into a line of this width is written into one."""

Json = Any


class VectorError(ValidRefError):
    """A case that is not what its author says, or files that break a promise about vectors."""


@attrs.frozen
class Case:
    """One vector: `expected` is what must come out, or `refused` the clause that refuses it.

    Implements: VE-2, VE-4.
    """

    id: str
    source: tuple[str, ...]
    comment: str
    input: Json
    expected: Json = None
    refused: str | None = None

    @property
    def operation(self) -> str:
        """What is to be computed: the second part of the id."""
        return self.id.split("/")[1]

    @property
    def meaning(self) -> Json:
        """What an id stands for and never changes: the operation, its input, what comes out."""
        ends = {"expected": self.expected} if self.refused is None else {"refused": self.refused}
        return {"operation": self.operation, "input": self.input} | ends

    def digest(self) -> str:
        """The SHA-256 of the meaning, keys sorted, without spaces.

        Implements: VE-5.
        """
        text = json.dumps(self.meaning, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    def as_json(self) -> Json:
        """The case as the file has it."""
        head = {"id": self.id, "operation": self.operation, "source": list(self.source)}
        return head | {"comment": self.comment} | self.meaning


@attrs.frozen
class Operation:
    """What a harness computes, in words, and the schemas of input and result."""

    text: str
    input: Json
    expected: Json


@attrs.frozen
class Family:
    """The cases of one file.

    Implements: VE-1, VE-3.
    """

    name: str
    about: str
    harness: tuple[str, ...]
    operations: Mapping[str, Operation]
    cases: tuple[Case, ...]

    def as_json(self) -> Json:
        """The file: what it is, how to feed it, the cases."""
        return {
            "format": FORMAT,
            "family": self.name,
            "about": self.about,
            "numbers": list(NUMBERS),
            "harness": [*self.harness, *FURTHER.get(self.name, ()), *REFUSALS],
            "operations": {name: each.text for name, each in self.operations.items()},
            "cases": [case.as_json() for case in self.cases],
        }


def make(
    identifier: str,
    source: str,
    comment: str,
    given: Json,
    compute: Callable[[], Json],
    *,
    refused: str | None = None,
) -> Case:
    """A case whose result the reference computes; its author says whether it is a refusal.

    Implements: VE-4.
    """
    sources = tuple(source.split())
    try:
        result = compute()
    except ValidRefError as error:
        if error.clause != refused:
            raise VectorError(f"{identifier}: unexpected refusal: {error}", clause="VE-4") from None
        return Case(identifier, sources, comment, given, refused=refused)
    if refused is not None:
        raise VectorError(f"{identifier}: not refused, but {result}", clause="VE-4")
    return Case(identifier, sources, comment, given, expected=result)


def text_of(document: Json) -> str:
    """The canonical text: short values in a line, long ones one item in a line."""
    return _lines(document, "") + "\n"


def _lines(value: Json, indent: str) -> str:
    compact = json.dumps(value)
    if len(indent) + len(compact) <= WIDTH or not isinstance(value, dict | list) or not value:
        return compact
    deeper = indent + " "
    if isinstance(value, dict):
        items = [f"{json.dumps(key)}: {_lines(item, deeper)}" for key, item in value.items()]
        return "{\n" + ",\n".join(deeper + item for item in items) + "\n" + indent + "}"
    if all(isinstance(item, str | int | None) for item in value):
        return _wrapped(value, indent)
    return "[\n" + ",\n".join(deeper + _lines(item, deeper) for item in value) + f"\n{indent}]"


def _wrapped(scalars: list[Json], indent: str) -> str:
    """Numbers and texts in as many lines as they need."""
    lines, line = [], ""
    for item in scalars:
        text = json.dumps(item)
        if line and len(indent) + len(line) + len(text) + 3 > WIDTH:
            lines.append(line)
            line = ""
        line += (", " if line else "") + text
    return "[\n" + ",\n".join(f"{indent} {each}" for each in [*lines, line]) + f"\n{indent}]"
