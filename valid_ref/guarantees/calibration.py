"""Thresholds with a level, from rehearsals: honest runs that are exchangeable with the real one.

The argument is a count. Give every run one score, the worst of all its tests. If the run and its
m rehearsals are exchangeable, the run is as likely to have any rank among the m + 1 scores, so
that it exceeds the k-th smallest score of the rehearsals with probability at most
(m + 1 - k) / (m + 1). Nothing is assumed about the distribution of the statistics.
"""

import enum
import math
from collections.abc import Iterator, Sequence
from fractions import Fraction

import attrs

from valid_ref.errors import ValidRefError
from valid_ref.guarantees.bounds import root

Statistics = tuple[tuple[int, int], ...]
"""Of one run, for each weighting: |sum_u ghat_u|^2 and sum_u |ghat_u|^2, exactly."""


class CalibrationError(ValidRefError):
    """Runs from which no thresholds with the level follow."""

    default_clause = "GU-12"


class Tails(enum.Enum):
    """On which sides a statistic may be unlike honest ones."""

    UPPER = "upper"
    """Too large: what the guarantee needs."""
    BOTH = "both"
    """Too small as well: for attacks that make the network look better than honest."""


@attrs.frozen
class Limits:
    """The thresholds of one weighting, as the integers of GV-5, GV-6 and GV-13."""

    optimality: int
    heterogeneity: int
    optimality_low: int = 0
    heterogeneity_low: int = 0


@attrs.frozen
class CentreAndSpread:
    """Where the pilots of one statistic lie, and how far they are from there on average."""

    centre: Fraction
    spread: Fraction


def rank(level: float, runs: int) -> int:
    """k = ceil((1 - level)(m + 1)): the threshold is the k-th smallest of m scores.

    The level counts as the decimal that it is written as. Too few runs for it are refused.

    Implements: GU-12.
    """
    k = math.ceil((1 - _decimal(level)) * (runs + 1))
    if k > runs:
        raise CalibrationError(
            f"{runs} rehearsals give a level of 1/{runs + 1} at best; the level {level} needs "
            f"{required_runs(level)}"
        )
    return max(k, 1)


def required_runs(level: float) -> int:
    """The least m for which the level can be had: 1/level - 1, rounded up."""
    return max(1, math.ceil(1 / _decimal(level) - 1))


def _decimal(level: float) -> Fraction:
    """The level as the decimal that it is written as."""
    if not 0 < level < 1:
        raise CalibrationError(f"the level {level} is not between 0 and 1")
    return Fraction(repr(float(level)))


def scales(pilots: Sequence[Statistics]) -> tuple[tuple[CentreAndSpread, CentreAndSpread], ...]:
    """The middle of every statistic in the pilots, and the mean distance from it.

    Where all pilots agree the spread is one unit. Whatever is chosen here changes which deviations
    are found, and not the level, as long as it does not look at the rehearsals or the run.

    Implements: GU-12.
    """
    if not pilots or len({len(one) for one in pilots}) != 1:
        raise CalibrationError("calibration needs a pilot run, and pilots with the same weightings")
    found = []
    for index in range(len(pilots[0])):
        first, second = zip(*(pilot[index] for pilot in pilots), strict=True)
        found.append((_scale(first), _scale(second)))
    return tuple(found)


def _scale(values: Sequence[int]) -> CentreAndSpread:
    ordered = sorted(values)
    centre = Fraction(ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2], 2)
    spread = Fraction(sum(abs(value - centre) for value in values)) / len(values)
    return CentreAndSpread(centre, spread or Fraction(1))


def score(
    run: Statistics, measured: Sequence[tuple[CentreAndSpread, CentreAndSpread]], tails: Tails
) -> Fraction:
    """How unlike the pilots a run is: its largest deviation in any test, in units of the spread.

    Implements: GU-12.
    """
    if len(run) != len(measured):
        raise CalibrationError(f"{len(run)} weightings of a run, {len(measured)} of the pilots")
    return max(_deviations(run, measured, tails), default=Fraction(0))


def _deviations(
    run: Statistics, measured: Sequence[tuple[CentreAndSpread, CentreAndSpread]], tails: Tails
) -> Iterator[Fraction]:
    for values, pair in zip(run, measured, strict=True):
        for value, scale in zip(values, pair, strict=True):
            deviation = (value - scale.centre) / scale.spread
            yield abs(deviation) if tails is Tails.BOTH else deviation


def calibrate(
    pilots: Sequence[Statistics],
    rehearsals: Sequence[Statistics],
    *,
    level: float,
    tails: Tails = Tails.UPPER,
) -> tuple[Limits, ...]:
    """Thresholds for every weighting: together they alarm an honest run at most at the level.

    A run passes all of them if its score is at most the k-th smallest of the rehearsals' scores;
    rounding goes outward, so that it cannot fail then.

    Implements: GU-12, GV-13.
    """
    k = rank(level, len(rehearsals))
    measured = scales(pilots)
    allowed = sorted(score(run, measured, tails) for run in rehearsals)[k - 1]
    return tuple(_limits(pair, allowed, tails) for pair in measured)


def _limits(
    pair: tuple[CentreAndSpread, CentreAndSpread], allowed: Fraction, tails: Tails
) -> Limits:
    optimality, heterogeneity = (scale.centre + allowed * scale.spread for scale in pair)
    low = [max(Fraction(0), scale.centre - allowed * scale.spread) for scale in pair]
    both = tails is Tails.BOTH
    return Limits(
        optimality=max(1, root(optimality)),
        heterogeneity=max(1, math.ceil(heterogeneity)),
        optimality_low=math.isqrt(math.floor(low[0])) if both else 0,
        heterogeneity_low=math.floor(low[1]) if both else 0,
    )
