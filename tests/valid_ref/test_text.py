"""Text, code and vectors say one thing: the clause of every alarm, and of every refusal."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.valid_ref.vectors.reading import files, load
from valid_ref.alarms import Alarm
from valid_ref.trace import load as load_trace

ROOT = Path(__file__).resolve().parents[2]
CODE = ("*.py", "protocols/*.py", "guarantees/*.py", "losses/*.py")
CLAUSE = r"[A-Z]{2}-\d+"
ANSWERS = ("wire.py",)
"""Its clauses say what the answer of an agent must be; a wrong answer is a divergence."""


def rows() -> Iterator[tuple[str, set[str], set[str]]]:
    """Rows of tables of reasons and clauses: the place, the reasons, the clauses."""
    for path in sorted((ROOT / "spec").glob("*.md")):
        column = None
        for line in path.read_text(encoding="utf-8").splitlines():
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            if not line.startswith("|"):
                column = None
            elif column is None:
                column = cells.index("clause") if {"reason", "clause"} <= {*cells} else -1
            elif column >= 0 and (reasons := set(re.findall(r"`([A-Z_]{2,})`", cells[0]))):
                own = re.sub(r"\]\([^)]*\)", "]", cells[column])
                yield f"{path.name}: {line}", reasons, set(re.findall(CLAUSE, own))


@pytest.mark.checks("MO-7", "MO-8")
def test_every_table_of_the_text_names_the_clause_that_an_alarm_carries() -> None:
    clauses = {alarm.name: alarm.clause for alarm in Alarm}
    found = list(rows())
    assert {reason for _place, reasons, _named in found for reason in reasons} == clauses.keys()
    for place, reasons, named in found:
        assert named == {clauses[reason] for reason in reasons}, place
    model = [reasons for place, reasons, _named in found if place.startswith("model.md")]
    assert sorted(reason for reasons in model for reason in reasons) == sorted(clauses)


def alarms_of(value: object) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        if "reason" in value:
            yield value["reason"], value["clause"]
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from alarms_of(item)


@pytest.mark.checks("MO-7", "VE-4")
def test_the_vectors_name_the_same_clauses() -> None:
    found = {pair for family in files() for pair in alarms_of(load(family)["cases"])}
    assert found == {(alarm.name, alarm.clause) for alarm in Alarm}


def clauses_in(path: Path) -> Iterator[tuple[str, int]]:
    """Every clause that is an argument or a default in a file, and its line."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        given: list[ast.expr | None] = []
        if isinstance(node, ast.Call):
            given = [*node.args, *(keyword.value for keyword in node.keywords)]
        elif isinstance(node, ast.arguments):
            given = [*node.defaults, *node.kw_defaults]
        elif isinstance(node, ast.AnnAssign):
            given = [node.value]
        for value in given:
            if isinstance(value, ast.Constant) and re.fullmatch(CLAUSE, str(value.value)):
                yield str(value.value), value.lineno


def refusals() -> Iterator[tuple[str, str]]:
    """Every clause by which the code or a vector refuses something, and where."""
    for pattern in CODE:
        found = sorted((ROOT / "valid_ref").glob(pattern))
        for path in (path for path in found if path.name not in ANSWERS):
            yield from ((clause, f"{path.name}:{line}") for clause, line in clauses_in(path))
    for family in files():
        cases = [case for case in load(family)["cases"] if "refused" in case]
        yield from ((case["refused"], case["id"]) for case in cases)


def test_every_refusal_stands_in_the_clause_that_it_names() -> None:
    clauses = load_trace(ROOT).specification.clauses
    found = list(refusals())
    assert len({clause for clause, _place in found}) > 20
    silent = {
        (clause, place)
        for clause, place in found
        if not re.search(r"refus|typed error", clauses[clause].text)
    }
    assert silent == set()
