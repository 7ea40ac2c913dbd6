"""Thresholds with a level: the rank argument by counting, exact thresholds, refusals."""

import itertools
import math
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from valid_ref.guarantees.calibration import (
    CalibrationError,
    CentreAndSpread,
    Limits,
    Tails,
    calibrate,
    rank,
    required_runs,
    scales,
    score,
)

LEVELS = st.sampled_from([0.01, 0.05, 0.1, 0.2, 0.25, 1 / 3, 0.5, 0.9])
one_statistic = st.integers(0, 9)
statistics = st.tuples(
    st.tuples(one_statistic, one_statistic), st.tuples(one_statistic, one_statistic)
)


def alarms(run, limits: tuple[Limits, ...]) -> bool:
    """GV-5, GV-6 and GV-13 in words."""
    return any(
        first > limit.optimality**2
        or first < limit.optimality_low**2
        or second > limit.heterogeneity
        or second < limit.heterogeneity_low
        for (first, second), limit in zip(run, limits, strict=True)
    )


@pytest.mark.checks("GU-12")
@pytest.mark.parametrize(
    ("level", "runs", "expected"),
    [
        (0.05, 19, 19),
        (0.05, 39, 38),
        (0.05, 99, 95),
        (0.1, 9, 9),
        (0.15, 19, 17),
        (0.2, 9, 8),
        (0.5, 1, 1),
    ],
)
def test_ranks_of_usual_levels(level: float, runs: int, expected: int) -> None:
    """.15 as a float is a little less than three twentieths; the decimal is meant."""
    assert rank(level, runs) == expected


@pytest.mark.checks("GU-12")
@given(LEVELS, st.integers(1, 300))
def test_a_rank_gives_at_most_the_level_and_one_less_would_not(level: float, runs: int) -> None:
    wanted = Fraction(repr(level))
    if runs < required_runs(level):
        with pytest.raises(CalibrationError, match=f"1/{runs + 1} at best"):
            rank(level, runs)
        assert Fraction(1, runs + 1) > wanted
        return
    k = rank(level, runs)
    assert Fraction(runs + 1 - k, runs + 1) <= wanted
    assert k == 1 or Fraction(runs + 2 - k, runs + 1) > wanted


@pytest.mark.checks("GU-12", "AN-17")
@pytest.mark.parametrize("tails", Tails)
@given(
    st.lists(statistics, min_size=1, max_size=4),
    st.lists(statistics, min_size=2, max_size=8),
    st.sampled_from([0.2, 0.25, 0.5]),
)
@example([((5, 5), (5, 5))], [((9, 1), (1, 9))] * 5, 0.25)
def test_among_all_choices_of_the_run_few_alarm(tails: Tails, pilots, everybody, level) -> None:
    """Each of m + 1 runs takes its turn as the run: at most m + 1 - k alarm, ties or not."""
    m = len(everybody) - 1
    if m < required_runs(level):
        return
    count = 0
    for index, run in enumerate(everybody):
        others = everybody[:index] + everybody[index + 1 :]
        count += alarms(run, calibrate(pilots, others, level=level, tails=tails))
    assert count <= m + 1 - rank(level, m) <= Fraction(repr(level)) * (m + 1)


@pytest.mark.checks("GU-12", "AN-17")
def test_the_level_is_attained_where_all_scores_differ() -> None:
    """All orders of 1..5, the last is the run: exactly a fifth alarms at the level .2."""
    counted = [
        alarms(
            ((0, order[-1]),),
            calibrate([((0, 0),)], [((0, value),) for value in order[:-1]], level=0.2),
        )
        for order in itertools.permutations(range(1, 6))
    ]
    assert sum(counted) * 5 == len(counted) == 120


@pytest.mark.checks("GU-12")
@pytest.mark.parametrize("tails", Tails)
@given(
    st.lists(statistics, min_size=1, max_size=4),
    st.lists(statistics, min_size=4, max_size=9),
    statistics,
)
def test_a_run_that_alarms_has_a_larger_score(tails: Tails, pilots, others, run) -> None:
    """Rounding goes outward: whoever is within the score passes; by a unit beyond, nobody does."""
    measured = scales(pilots)
    allowed = sorted(score(one, measured, tails) for one in others)[rank(0.2, len(others)) - 1]
    limits = calibrate(pilots, others, level=0.2, tails=tails)
    if alarms(run, limits):
        assert score(run, measured, tails) > allowed
    for index, (limit, pair) in enumerate(zip(limits, measured, strict=True)):
        reach = [scale.centre + allowed * scale.spread for scale in pair]
        assert (limit.optimality - 1) ** 2 < max(reach[0], 1) or limit.optimality == 1
        assert limit.heterogeneity - 1 < max(reach[1], 1)
        if tails is Tails.BOTH:
            low = [max(Fraction(0), scale.centre - allowed * scale.spread) for scale in pair]
            assert (limit.optimality_low + 1) ** 2 > low[0]
            assert limit.heterogeneity_low + 1 > low[1]
        else:
            assert limit.optimality_low == limit.heterogeneity_low == 0
        assert index < 2


@pytest.mark.checks("GU-12")
def test_centres_and_spreads_are_those_of_the_pilots() -> None:
    pilots = [((value, 7),) for value in (1, 2, 10, 11)]
    ((first, second),) = scales(pilots)
    assert first == CentreAndSpread(Fraction(6), Fraction(5 + 4 + 4 + 5, 4))
    assert second == CentreAndSpread(Fraction(7), Fraction(1))
    assert scales([((3, 4),)]) == (
        (CentreAndSpread(Fraction(3), Fraction(1)), CentreAndSpread(Fraction(4), Fraction(1))),
    )


@pytest.mark.checks("GU-12")
def test_thresholds_number_by_number() -> None:
    """Pilots 90, 100, 120: centre 100, spread 10; the largest score of three is (131-100)/10."""
    pilots = [((value, value),) for value in (90, 100, 120)]
    rehearsals = [((value, value),) for value in (80, 131, 99)]
    (upper,) = calibrate(pilots, rehearsals, level=0.25)
    assert upper == Limits(optimality=math.isqrt(130) + 1, heterogeneity=131)
    (both,) = calibrate(pilots, rehearsals, level=0.25, tails=Tails.BOTH)
    assert both == Limits(12, 131, optimality_low=8, heterogeneity_low=69)
    pilots = [((first, second),) for first, second in ((0, 0), (2, 1), (4, 5))]
    (rounded,) = calibrate(pilots, [((4, 1),)] * 3, level=0.25)  # 1 + 3/2 times 5/3 is 7/2
    assert rounded == Limits(optimality=2, heterogeneity=4)


@pytest.mark.checks("GU-12")
def test_a_statistic_that_hardly_varies_keeps_a_narrow_threshold() -> None:
    """One joint score, but every statistic in units of its own spread."""
    pilots = [((10000 + 1000 * i, 10000 + i),) for i in range(-2, 3)]
    (limit,) = calibrate(pilots, pilots, level=0.2)
    assert limit.heterogeneity == 10002
    assert (limit.optimality - 1) ** 2 < 12000 <= limit.optimality**2


@pytest.mark.checks("GU-12")
@pytest.mark.parametrize("level", [0.0, 1.0, -0.1, math.nan, math.inf])
def test_levels_that_are_none_are_refused(level: float) -> None:
    with pytest.raises(CalibrationError, match="not between 0 and 1"):
        rank(level, 100)


@pytest.mark.checks("GU-12")
def test_calibration_without_pilots_or_with_other_weightings_is_refused() -> None:
    run = ((1, 1),)
    with pytest.raises(CalibrationError, match="needs a pilot"):
        calibrate([], [run] * 19, level=0.05)
    with pytest.raises(CalibrationError, match="same weightings"):
        calibrate([run, run * 2], [run] * 19, level=0.05)
    with pytest.raises(CalibrationError, match="2 weightings of a run, 1 of the pilots"):
        calibrate([run], [run * 2] * 19, level=0.05)
