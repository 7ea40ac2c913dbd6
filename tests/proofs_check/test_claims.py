"""The table of claims is what is generated, and no claim is without a theorem or a gap."""

from pathlib import Path

import attrs
import pytest

from proofs_check.claims import GAPS, PAGE, Claimed, Status, claims, page
from proofs_check.framework import ProofError
from proofs_check.registry import theorems_of_coq
from valid_ref.trace import load

TRACE = load(Path(__file__).resolve().parents[2])
FOUND = {claim.row.clause.identifier: claim for claim in claims(TRACE)}


def test_the_page_is_what_is_generated() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(TRACE), "run python -m proofs_check.claims"


def test_every_claim_has_a_theorem_or_a_named_gap() -> None:
    assert all(claim.theorems or claim.gap for claim in FOUND.values())
    gaps = {name: text for name, text in GAPS.items() if name != "AN-3"}
    with pytest.raises(ProofError, match="AN-3 has no theorem in Coq and no gap"):
        claims(TRACE, gaps)


def test_every_clause_of_the_guarantees_that_is_no_term_is_a_row() -> None:
    mine = [row.clause for row in TRACE.rows.values() if row.clause.file == "spec/guarantees.md"]
    assert {clause.identifier for clause in mine if clause.kind.value != "term"} <= set(FOUND)


def test_a_gap_of_a_clause_that_claims_nothing_is_refused() -> None:
    with pytest.raises(ProofError, match="MO-1, which claims nothing"):
        claims(TRACE, {**GAPS, "MO-1": "a definition"})


def test_theorems_are_those_of_the_gate() -> None:
    assert {name for claim in FOUND.values() for name in claim.theorems} <= set(theorems_of_coq())


def status(claim: Claimed, gap: str) -> Status:
    gaps = {**GAPS, claim.row.clause.identifier: gap}
    again = {found.row.clause.identifier: found for found in claims(TRACE, gaps)}
    return again[claim.row.clause.identifier].status


def test_a_claim_with_a_gap_is_not_proved_whole() -> None:
    whole = next(claim for claim in FOUND.values() if claim.status is Status.WHOLE)
    assert status(whole, "something") is Status.PART


def test_without_a_theorem_the_steps_decide() -> None:
    scalars = FOUND["AN-19"]
    assert scalars.status is Status.SCALARS
    bare = attrs.evolve(TRACE, rows={"AN-19": attrs.evolve(scalars.row, proved=())})
    gaps = {"AN-19": GAPS["AN-19"]}
    assert claims(bare, gaps)[0].status is Status.SCALARS
    assert FOUND["VA-8"].status is Status.TESTED
