"""The mutants still apply: their words stand exactly once where they say, for known clauses."""

import ast
import importlib.util
from collections import Counter
from pathlib import Path

from valid_ref.markdown import table_rows
from valid_ref.trace.spec_text import read_specification

ROOT = Path(__file__).resolve().parents[2]


def mutants():
    spec = importlib.util.spec_from_file_location("mutants", Path(__file__).parent / "mutants.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.MUTANTS


def test_every_mutant_applies_and_names_a_clause_and_existing_tests() -> None:
    clauses = read_specification(ROOT).clauses
    for mutant in mutants():
        text = (ROOT / mutant.file).read_text()
        assert text.count(mutant.words) == 1, (mutant.name, text.count(mutant.words))
        assert mutant.clause in clauses, mutant.name
        assert all((ROOT / test).is_file() for test in mutant.tests), mutant.name
        assert mutant.words != mutant.instead
        ast.parse(text.replace(mutant.words, mutant.instead))
    places = Counter(mutant.place for mutant in mutants())
    assert min(places[name] for name in ("valid_ref/kernels", "torch_backend")) >= 25
    assert len({(mutant.clause, mutant.name) for mutant in mutants()}) == len(mutants())


def test_the_committed_table_lists_every_mutant_as_caught() -> None:
    table = (ROOT / "docs" / "tables" / "mutants.md").read_text()
    found = {row[:3]: row[3] for row in table_rows(table) if row[0] != "clause"}
    wanted = {(m.clause, m.name, f"`{Path(m.file).name}`") for m in mutants()}
    assert set(found) == wanted
    assert {found[row] for row in wanted} == {"caught"}
    assert f"{len(wanted)} mutants, {len(wanted)} caught" in table
