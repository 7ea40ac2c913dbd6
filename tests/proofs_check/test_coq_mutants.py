"""The table of mutants belongs to the definitions that stand there now, and leaves no survivor."""

import json

from proofs_check.coq.gate import HERE
from proofs_check.coq.mutants import EXPLAINED, MUTANTS, table

RESULTS = json.loads((HERE / "mutants.json").read_text(encoding="utf-8"))


def test_every_edit_still_has_its_place() -> None:
    for mutant in MUTANTS:
        source = (HERE / mutant.file).read_text(encoding="utf-8")
        assert source.count(mutant.old) == 1, mutant.what


def test_every_mutant_was_examined() -> None:
    assert [row["mutant"] for row in RESULTS] == [mutant.what for mutant in MUTANTS]


def test_no_mutant_survives_without_an_explanation() -> None:
    for row in RESULTS:
        noticed = row["breaks"] is not None or row["vectors_differ"]
        assert noticed or row["mutant"] in EXPLAINED, row["mutant"]


def test_the_table_shows_the_results() -> None:
    assert (HERE / "mutants.md").read_text(encoding="utf-8") == table(RESULTS)
