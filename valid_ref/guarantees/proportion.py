"""How large a probability may be, given how often something happened."""

from fractions import Fraction

from valid_ref.errors import ValidRefError

STEPS = 1 << 30
"""The ends of an interval are found up to one such part."""


class ProportionError(ValidRefError):
    """Counts of which no interval can be made."""

    default_clause = "EX-15"


def clopper_pearson(count: int, runs: int, confidence: float = 0.95) -> tuple[float, float]:
    """The interval of Clopper and Pearson for the probability of what happened `count` times.

    Whatever the probability is, the interval misses it at most with probability 1 - confidence,
    half of that on each side. The binomial sums are exact integers, and the ends are rounded
    outward by at most 2^-30.

    Implements: EX-15.
    """
    if not 0 <= count <= runs or runs < 1 or not 0 < confidence < 1:
        raise ProportionError(f"{count} of {runs} runs at confidence {confidence}")
    miss = (1 - Fraction(repr(float(confidence)))) / 2
    return 1 - _upper(runs - count, runs, miss), _upper(count, runs, miss)


def _upper(count: int, runs: int, miss: Fraction) -> float:
    """The least p, in steps, with which at most `count` of the runs have probability <= miss."""
    if count == runs:
        return 1.0
    below, above = 0, STEPS
    while above - below > 1:
        middle = (below + above) // 2
        if _at_most(count, runs, middle) <= miss * STEPS**runs:
            above = middle
        else:
            below = middle
    return above / STEPS


def _at_most(count: int, runs: int, part: int) -> int:
    """STEPS^runs P(X <= count) for X binomial with p = part / STEPS, which lies inside 0..1."""
    other = STEPS - part
    term = other**runs
    total = 0
    for happened in range(count + 1):
        total += term
        term = term * (runs - happened) * part // ((happened + 1) * other)
    return total
