"""The interval of Clopper and Pearson against its definition and known figures."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from valid_ref.guarantees.proportion import ProportionError, clopper_pearson


def at_most(count: int, runs: int, p: Fraction) -> Fraction:
    return sum(
        (math.comb(runs, i) * p**i * (1 - p) ** (runs - i) for i in range(count + 1)), Fraction(0)
    )


@pytest.mark.checks("EX-15")
@given(st.integers(1, 40), st.data(), st.sampled_from([0.5, 0.9, 0.95, 0.999]))
def test_beyond_the_ends_what_was_seen_is_unlikely(
    runs: int, data: st.DataObject, confidence: float
) -> None:
    """Exactly: at the ends the tails are at most half of what may be missed, inside more."""
    count = data.draw(st.integers(0, runs))
    low, high = clopper_pearson(count, runs, confidence)
    miss, step = (1 - Fraction(str(confidence))) / 2, Fraction(1, 1 << 29)
    if count < runs:
        assert at_most(count, runs, Fraction(high)) <= miss
        assert at_most(count, runs, Fraction(high) - step) > miss
    else:
        assert high == 1
    if count:
        assert 1 - at_most(count - 1, runs, Fraction(low)) <= miss
        assert 1 - at_most(count - 1, runs, Fraction(low) + step) > miss
    else:
        assert low == 0


@pytest.mark.checks("EX-15")
@pytest.mark.parametrize(
    ("count", "runs", "low", "high"),
    [
        (0, 1000, 0.0, 0.003682084),
        (37, 1000, 0.026182709, 0.050641123),
        (50, 1000, 0.037335398, 0.065390488),
        (500, 1000, 0.468549173, 0.531450827),
        (1, 1, 0.025, 1.0),
    ],
)
def test_figures_of_another_implementation(count: int, runs: int, low: float, high: float) -> None:
    """Those of scipy."""
    assert clopper_pearson(count, runs) == pytest.approx((low, high), abs=3e-9)


@pytest.mark.checks("EX-15")
@pytest.mark.parametrize(
    ("count", "runs", "confidence"), [(-1, 3, 0.9), (4, 3, 0.9), (0, 0, 0.9), (1, 3, 1.0)]
)
def test_what_is_no_count_is_refused(count: int, runs: int, confidence: float) -> None:
    with pytest.raises(ProportionError, match="of"):
        clopper_pearson(count, runs, confidence)
