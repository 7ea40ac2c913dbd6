"""Every claim with how far it is proved, made from the markers, the steps and the list of gaps.

`python -m proofs_check.claims` writes `docs/tables/claims.md`.
"""

import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from enum import StrEnum
from pathlib import Path

import attrs

from proofs_check.framework import ProofError, Reach, Role
from proofs_check.manifest import link
from proofs_check.registry import load_all, steps_of
from valid_ref.trace import Trace, load
from valid_ref.trace.matrix import ClauseRow
from valid_ref.trace.spec_text import ClauseKind

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "tables" / "claims.md"
GUARANTEES = "spec/guarantees.md"


class Status(StrEnum):
    """The strongest thing that is behind a claim."""

    WHOLE = "proved in Coq, whole"
    PART = "proved in Coq, in part"
    ALL_VALUES = "for all values"
    """Steps of `valid-ref prove`, none of them narrower."""
    SCALARS = "reduced to scalars"
    EXPLORED = "explored"
    TESTED = "tested"


GAPS: Mapping[str, str] = {
    "AD-7": "vertex connectivity does not occur in Coq",
    "GV-9": "about the width of machine numbers in the code",
    "GV-10": "the tags of this broadcast; a broadcast with any tags is VB-10",
    "GV-11": "the sum over rounds and the reading off; one round is AR-7",
    "GU-5": "quadratic losses do not occur in Coq; the step is in two dimensions",
    "GU-6": "quadratic losses do not occur in Coq",
    "GU-8": "the roots of GU-8 as integers; AN-6 takes any bounds that obey the recursion",
    "GU-9": "the recursion of the noise, the thresholds of both, Pinelis' inequality, rounding",
    "GU-12": "centre and spread from the pilots, and what is refused",
    "GU-11": "says how an attack is made",
    "AN-1": "averages over a mini-batch; that q(alpha) has two cases",
    "AN-2": "gamma from an interval of steps",
    "AN-3": "Gamma functions, logarithms, Bernoulli's inequality",
    "AN-4": "that eta deg <= 1 is necessary for the largest norm; J^t X for many rounds",
    "AN-5": "that a nonnegative smooth loss has |g|^2 <= 2 beta f, and mini-batches, are supposed",
    "AN-6": "that GU-8's integers obey the recursion",
    "AN-7": "the margin sqrt n C alpha_t of the mixed models",
    "AN-8": "that in general the rate needs a mu > 1/2",
    "AN-9": "nu from C alone; how likely the noise is small, in the theorem of whole runs",
    "AN-10": "Pinelis' inequality, and the mean squares A', v from GU-9's recursions",
    "AN-11": "the sum of the phases; a broadcast is counted",
    "AN-13": "that f*(P_H x Q_B) may be smaller is an instance",
    "AN-14": "strict convexity is a strictly monotone gradient; where it fails is an instance",
    "AN-15": "expectations of lengths, the Gaussian limit as S_2 tends to 0",
    "AN-16": "sums of powers for real exponents (Bernoulli's inequality)",
    "AN-18": "the stopped martingale, Pinelis' inequality; noise and spread are proved",
    "AN-19": "the distance to the honest optimum and between the ellipsoids",
    "LE-14": "the scalars of the phases together; F_v alone is proved",
    "LE-15": "SHA-256 as a random oracle; commitments are ideal",
    "LE-19": "the attacks on what is left out, but for the last round of a flood",
    "LE-20": "that both validations agree on the same transcripts",
    "LM-7": "scalars are not counted in Coq",
    "LV-12": "the tags of these broadcasts; a broadcast with any tags is VB-10",
    "L1": "LocalValidate by itself; honest_run supposes that the statistics pass, too",
    "RE-14": "about files",
    "RE-19": "about files",
    "VA-3": "rounds are counted phase by phase, not in one machine",
    "VA-4": "scalars are not counted in Coq",
    "VA-8": "about the bytes of recordings",
    "SA-5": "scalars are not counted in Coq",
    "VE-8": "about the vectors",
    "VE-9": "about the vectors",
}
"""What of a claim Coq does not prove. A claim that is not listed is proved whole."""


@attrs.frozen
class Claimed:
    """One claim, what is behind it, and what is missing."""

    row: ClauseRow
    status: Status
    theorems: tuple[str, ...]
    reaches: tuple[Reach, ...]
    gap: str


def claims(trace: Trace, gaps: Mapping[str, str] = GAPS) -> tuple[Claimed, ...]:
    """All claims of the specification, and the rules of the guarantees, in reading order."""
    rows = [row for row in trace.rows.values() if _claims_something(row)]
    unknown = set(gaps) - {row.clause.identifier for row in rows}
    if unknown:
        raise ProofError(f"a gap is listed for {', '.join(sorted(unknown))}, which claims nothing")
    steps = [step for step in steps_of(load_all(), deep=True) if step.role is Role.PROOF]
    found = []
    for row in rows:
        name = row.clause.identifier
        reaches = tuple(step.reach for step in steps if name in step.clauses)
        found.append(_claimed(row, reaches, gaps.get(name, "")))
    return tuple(found)


def _claims_something(row: ClauseRow) -> bool:
    rule = row.clause.kind is ClauseKind.RULE and row.clause.file == GUARANTEES
    return row.clause.kind is ClauseKind.CLAIM or rule


def _claimed(row: ClauseRow, reaches: tuple[Reach, ...], gap: str) -> Claimed:
    """The status of a claim; without a theorem of Coq it must have a gap."""
    theorems = tuple(
        f"{Path(marker.file).stem}.{marker.symbol}"
        for marker in sorted(row.proved_coq, key=lambda marker: (marker.file, marker.line))
    )
    if not theorems and not gap:
        raise ProofError(f"{row.clause.identifier} has no theorem in Coq and no gap that says why")
    narrowest = max(reaches, key=lambda reach: reach.narrowness, default=None)
    if theorems:
        status = Status.PART if gap else Status.WHOLE
    elif narrowest is Reach.ALL_VALUES:
        status = Status.ALL_VALUES
    elif Reach.SCALARS in reaches or Reach.ALL_VALUES in reaches:
        status = Status.SCALARS
    else:
        status = Status.EXPLORED if row.explored else Status.TESTED
    return Claimed(row=row, status=status, theorems=theorems, reaches=reaches, gap=gap)


def page(trace: Trace) -> str:
    """The page `docs/tables/claims.md`."""
    found = claims(trace)
    printed = [claim for claim in found if claim.row.clause.labels]
    own = [claim for claim in found if not claim.row.clause.labels]
    return "\n".join(
        [
            "# Claims",
            "",
            "Generated by `python -m proofs_check.claims`; do not edit. Every claim of the",
            "specification, in its corrected wording, with the strongest thing behind it: proved",
            "in Coq whole or in part (the theorems are named, what is missing stands in the last",
            "column); else by steps of `valid-ref prove` (for all values, or reduced to scalars);",
            "else explored in full for small sizes; else tested. What a theorem supposes is listed",
            "in [the README of the proofs](../../proofs_check/coq/README.md), the steps are in",
            "[proofs.md](proofs.md).",
            "",
            *_counts(found),
            "",
            "## Claims of the paper, corrected",
            "",
            *_table(printed),
            "",
            "## Claims of the specification alone",
            "",
            *_table(own),
            "",
        ]
    )


def _counts(found: Iterable[Claimed]) -> list[str]:
    counted = Counter(claim.status for claim in found)
    rows = [f"| {status} | {counted[status]} |" for status in Status]
    return ["| strongest | claims |", "|---|---|", *rows]


def _table(found: Iterable[Claimed]) -> list[str]:
    head = "| claim | paper | status | theorems of Coq | steps | explored | tested | not in Coq |"
    return [head, "|---|---|---|---|---|---|---|---|", *(_line(claim) for claim in found)]


def _line(claim: Claimed) -> str:
    clause, steps = claim.row.clause, Counter(claim.reaches)
    cells = (
        link(clause.identifier),
        ", ".join(f"`{label}`" for label in clause.labels),
        claim.status,
        ", ".join(f"`{name}`" for name in claim.theorems),
        ", ".join(f"{steps[reach]} {reach}" for reach in Reach if steps[reach]),
        "yes" if claim.row.explored else "",
        "yes" if claim.row.tested else "",
        claim.gap.replace("|", "\\|"),
    )
    return f"| {' | '.join(cells)} |"


def main() -> int:
    """Write the page."""
    PAGE.write_text(page(load(ROOT)), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
