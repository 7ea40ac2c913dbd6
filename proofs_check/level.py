"""Thresholds with a level: a run among m rehearsals that could be exchanged with it.

The argument, for every m, every order and every finite law, is `coq/Calibration.v`; here every
case of a small m.

Proves: GU-12, AN-17.
"""

from collections.abc import Sequence
from fractions import Fraction
from itertools import permutations, product
from math import ceil, factorial

from proofs_check.framework import Finding, Method, Proof, Role, step

MOST_REHEARSALS = 4
LEVELS = tuple(Fraction(a, b) for b in range(2, 26) for a in range(1, b))


def exceeds(scores: Sequence[int], run: int, rank: int) -> bool:
    """Whether the run has more than the score of this rank (1: the smallest) among the others."""
    return scores[run] > sorted((*scores[:run], *scores[run + 1 :]))[rank - 1]


def rank_for(level: Fraction, rehearsals: int) -> int:
    """The rank that GU-12 gives a level."""
    return ceil((1 - level) * (rehearsals + 1))


@step(Method.EXHAUSTIVE, role=Role.INSTANCE)
def every_order() -> Finding:
    """AN-17: m <= 4, every order of m+1 scores, ties included, every rank: at most m+1-k exceed.

    Exactly so many if no two scores are equal.

    Proves: AN-17.
    """
    cases = 0
    for m in range(1, MOST_REHEARSALS + 1):
        for scores in product(range(m + 1), repeat=m + 1):
            distinct = len(set(scores)) == m + 1
            for rank in range(1, m + 1):
                above = sum(exceeds(scores, run, rank) for run in range(m + 1))
                if above > m + 1 - rank or (distinct and above != m + 1 - rank):
                    return Finding(False, f"scores {scores}, rank {rank}: {above} exceed")
                cases += 1
    return Finding(True, f"{cases} cases")


@step(Method.EXHAUSTIVE, role=Role.INSTANCE)
def every_permutation() -> Finding:
    """AN-17: m <= 4, any scores in all (m+1)! orders: in at most (m+1-k) m! the last one exceeds.

    Exactly so many if no two scores are equal.

    Proves: AN-17.
    """
    cases = 0
    for m in range(1, MOST_REHEARSALS + 1):
        for heap in product(range(m + 1), repeat=m + 1):
            if list(heap) != sorted(heap):
                continue
            orders, distinct = tuple(permutations(heap)), len(set(heap)) == m + 1
            for rank in range(1, m + 1):
                most = (m + 1 - rank) * factorial(m)
                above = sum(exceeds(order, m, rank) for order in orders)
                if above > most or (distinct and above != most):
                    return Finding(False, f"scores {heap}, rank {rank}: {above} orders")
                cases += len(orders)
    return Finding(True, f"{cases} orders")


@step(Method.EXHAUSTIVE, role=Role.INSTANCE)
def fewest_rehearsals() -> Finding:
    """GU-12, AN-17: the rank exists just if m >= 1/theta - 1, and keeps theta; b <= 25, m <= 50.

    theta = a/b. One rank less would not keep it. For theta = 1/20 the fewest are 19.
    """
    cases = 0
    for level in LEVELS:
        for m in range(1, 51):
            rank = rank_for(level, m)
            exists = rank <= m
            keeps = Fraction(m + 1 - rank, m + 1) <= level < Fraction(m + 2 - rank, m + 1)
            if exists != (m >= 1 / level - 1) or not keeps:
                return Finding(False, f"level {level}, {m} rehearsals: rank {rank}")
            cases += 1
    fewest = next(m for m in range(1, 51) if rank_for(Fraction(1, 20), m) <= m)
    return Finding(fewest == 19, f"{cases} pairs; {fewest} rehearsals for 1/20")


PROOF = Proof(
    "level",
    "Thresholds with a level (GU-12, AN-17)",
    (
        every_order,
        every_permutation,
        fewest_rehearsals,
    ),
    theorems=(
        "Calibration.few_exceed",
        "Calibration.few_permutations",
        "Calibration.exceeds_rarely",
        "Calibration.rank_keeps_level",
        "Calibration.rank_for_keeps_level",
        "Calibration.score_is_thresholds",
        "Calibration.rounding_is_lax",
        "Calibration.false_alarms_given_pilots",
        "Calibration.false_alarms_have_level",
    ),
)
