"""Step sizes: rounded once, refused when they vanish."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from valid_ref.schedule import (
    Precision,
    Schedule,
    ScheduleError,
    constant,
    experiment,
    harmonic,
    inverse_root,
    make_schedule,
)


@pytest.mark.checks("AR-2")
@given(st.fractions(min_value=Fraction(1, 2**19), max_value=4), st.integers(20, 40))
def test_steps_are_the_nearest_multiples(value: Fraction, bits: int) -> None:
    schedule = make_schedule(2, constant(value), constant(value), Precision(4, bits))
    assert schedule.alpha(1) == schedule.eta(2) == Fraction(round(value * 2**bits), 2**bits)
    assert abs(schedule.alpha(1) - value) <= Fraction(1, 2 ** (bits + 1))


@pytest.mark.checks("AR-2")
def test_ties_go_to_even() -> None:
    schedule = make_schedule(1, constant(Fraction(3, 4)), constant(Fraction(5, 4)), Precision(0, 1))
    assert (schedule.A(1), schedule.a(1)) == (2, 2)


@pytest.mark.checks("AR-2", "LM-1", "AR-1")
@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: make_schedule(1, constant(1e-9), constant(0.1)), "alpha(1) = 1e-09 rounds to 0"),
        (lambda: make_schedule(1, constant(0.1), constant(float("nan"))), "eta(1) = nan"),
        (lambda: make_schedule(0, constant(0.1), constant(0.1)), "T = 0 rounds"),
        (lambda: Schedule(Precision(), (1, 2), (1,)), "2 mixing and 1 gradient steps"),
        (lambda: Schedule(Precision(), (), ()), "T >= 1"),
        (lambda: Schedule(Precision(), (0,), (1,)), "a_1 = 0"),
        (lambda: Schedule(Precision(), (1,), (-1,)), "A_1 = -1"),
        (lambda: Schedule(Precision(), (2**62,), (1,)), "a_1 has 63 bits"),
        (lambda: Schedule(Precision(), (1, 1), (2**62 - 1, 10**9999)), "A_2 has 33216 bits"),
        (lambda: make_schedule(1, constant(1), constant(2**42)), "a_1 has 63 bits"),
        (lambda: Precision(61, 1), "f = 61"),
        (lambda: Precision(1, -1), "k = -1"),
    ],
)
def test_refusals_name_the_value(make, words) -> None:
    with pytest.raises(ScheduleError) as caught:
        make()
    assert words in str(caught.value)


@pytest.mark.checks("LM-9")
def test_the_named_schedules_are_their_formulas() -> None:
    assert [experiment()(t) for t in (1, 5, 45)] == [
        Fraction(5, 6),
        Fraction(1, 2),
        Fraction(1, 10),
    ]
    assert harmonic(2, 1)(3) == Fraction(1, 2)
    assert inverse_root(2.0, 5.0)(4) == pytest.approx(2 / 3)
    assert constant(Fraction(1, 3))(7) == Fraction(1, 3)
