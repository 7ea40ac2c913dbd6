"""Every typical mistake is found by the fixed cases alone, and blamed on the right clause."""

import sys

import pytest

from valid_ref.testing.conform.faults import (
    AGENT,
    FAULTS,
    LEAN_FAULTS,
    Fault,
    fault_named,
    faulty_source,
)
from valid_ref.testing.conform.kit import Session, first_finding
from valid_ref.testing.conform.peer import ConformError, FindingKind, ObjectPeer
from valid_ref.testing.conform.process import ProcessPeer
from valid_ref.trace import find_root

ROOT = find_root(AGENT)

IN_MAIN = {"chatters", "falls-asleep"}
"""Mistakes of the program around the agent: only a process makes them."""


SOME_IN_LEAN = {
    "nonce-not-committed",
    "agent-not-committed",
    "commits-to-another-nonce",
    "number-at-its-limit",
    "sum-without-the-children",
    "sum-to-everybody",
    "total-after-the-openings",
    "flood-of-one-round-less",
    "phases-of-one-round-less",
    "early-values-adopted",
    "openings-not-checked",
    "openings-that-do-not-fit-not-added",
    "reports-by-hash",
    "total-not-checked",
    "digest-without-reports",
    "opening-cached",
}
"""Mistakes in lean validation that are looked at every time."""

EACH = [
    pytest.param(
        fault,
        id=fault.name,
        marks=[pytest.mark.deep] if fault in LEAN_FAULTS and fault.name not in SOME_IN_LEAN else [],
    )
    for fault in FAULTS
]


@pytest.mark.checks("CF-11", "CF-17")
@pytest.mark.parametrize("fault", EACH)
def test_every_mistake_is_found_with_its_clause(fault: Fault, cases, lean, played, made) -> None:
    if fault.name in IN_MAIN:
        peer = ProcessPeer([sys.executable, "-c", faulty_source(fault)], timeout=3.0)
    else:
        peer = ObjectPeer(made(fault))
    session = Session(peer, played=played)
    try:
        finding = first_finding(session, lean if fault in LEAN_FAULTS else cases)
    finally:
        peer.close()
    assert finding is not None
    assert finding.clause == fault.clause, finding.divergence
    assert finding.divergence.difference.expected != finding.divergence.difference.found


@pytest.mark.checks("CF-17")
def test_the_mistakes_are_single_changes_of_known_clauses() -> None:
    known = "".join(page.read_text() for page in (ROOT / "spec").glob("*.md"))
    assert len({fault.name for fault in FAULTS}) == len(FAULTS) >= 300
    for fault in FAULTS:
        assert f"**{fault.clause}** *" in known
        compile(faulty_source(fault), fault.name, "exec")
    with pytest.raises(ConformError, match="no fault 'none'"):
        fault_named("none")
    with pytest.raises(ConformError, match="do not stand once"):
        faulty_source(Fault("none", "AR-4", "words that are not there", ""))


@pytest.mark.checks("CF-4", "CF-14")
def test_what_is_left_of_an_earlier_run_is_a_fault_of_its_own(cases, played, made) -> None:
    session = Session(ObjectPeer(made(fault_named("does-not-reset"))), played=played)
    finding = first_finding(session, cases)
    assert finding is not None
    assert (finding.kind, finding.clause) == (FindingKind.NOT_REPEATED, "CF-4")
    assert "not in a fresh process" in finding.divergence.difference.what
    again = Session(session.peer, played=played).twice(finding.case)
    assert again is not None
    assert again.clause == "CF-4"
