"""The mutants still apply: their words stand exactly once where they say, for known clauses."""

import importlib.util
from pathlib import Path

from valid_ref.trace import load

ROOT = Path(__file__).resolve().parents[2]


def mutants():
    spec = importlib.util.spec_from_file_location("mutants", Path(__file__).parent / "mutants.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.MUTANTS


def test_every_mutant_applies_and_names_a_clause_and_existing_tests() -> None:
    clauses = load(ROOT).rows
    for mutant in mutants():
        assert (ROOT / mutant.file).read_text().count(mutant.words) == 1, mutant.name
        assert mutant.clause in clauses
        assert all((ROOT / test).is_file() for test in mutant.tests)
        assert mutant.words != mutant.instead
    assert len(mutants()) >= 40


def test_the_committed_table_lists_every_mutant_as_caught() -> None:
    table = (ROOT / "spec" / "mutants.md").read_text()
    for mutant in mutants():
        assert f"| {mutant.clause} | {mutant.name} | caught |" in table, mutant.name
