"""Exact arithmetic: the relation, the conserved sum, rounding, ranges and refusals."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from valid_ref.lattice import (
    WORD_LIMIT,
    LatticeError,
    LatticeParameters,
    default_limits,
    evaluation_point,
    from_lattice,
    mix,
    read_gradient,
    residual,
    shift_half_even,
    squared_norm,
    step,
    to_lattice,
)
from valid_ref.schedule import Precision, Schedule


@st.composite
def lattices(draw: st.DrawFn) -> LatticeParameters:
    bits = draw(st.integers(0, 24))
    T = draw(st.integers(1, 4))
    steps = st.lists(st.integers(1, 2 ** (bits + 1)), min_size=T, max_size=T).map(tuple)
    precision = Precision(draw(st.integers(0, 30)), bits)
    schedule = Schedule(precision, mixing=draw(steps), gradient=draw(steps))
    return default_limits(draw(st.integers(1, 4)), schedule, draw(st.integers(1, 6)))


def vectors(parameters: LatticeParameters, limit: int) -> st.SearchStrategy[np.ndarray]:
    d = parameters.dimension
    entries = st.integers(-(limit - 1), limit - 1)
    return st.lists(entries, min_size=d, max_size=d).map(lambda v: np.array(v, dtype=np.int64))


@pytest.mark.checks("AR-4", "AR-5", "AR-6", "AR-8", "AR-9", "AR-13")
@given(st.data())
def test_the_relation_is_exact_and_the_gradient_is_read_back(data: st.DataObject) -> None:
    parameters = data.draw(lattices())
    f, k = parameters.precision.fraction_bits, parameters.precision.step_bits
    t = data.draw(st.integers(1, parameters.schedule.rounds))
    models = vectors(parameters, parameters.model_limit)
    own = data.draw(models)
    neighbours = data.draw(st.lists(models, max_size=parameters.max_degree))
    Y = mix(parameters, t, own, neighbours)
    a, A = parameters.schedule.a(t), parameters.schedule.A(t)
    assert Y.tolist() == [
        2**k * own[i].item() + a * sum(u[i].item() - own[i].item() for u in neighbours)
        for i in range(parameters.dimension)
    ]
    bound = float(2.0 ** (60 - f - k) / (A / 2**k))
    gradient = np.array(
        data.draw(st.lists(st.floats(-bound, bound), min_size=len(Y), max_size=len(Y)))
    )
    try:
        x, gamma = step(parameters, t, Y, gradient)
    except LatticeError as error:
        assert error.clause in {"AR-3", "AR-10"}  # AR-3: at the bound, before the product
        return
    assert not residual(parameters, t, own, neighbours, x, gamma).any()
    for i in range(parameters.dimension):  # the same over Python's integers
        assert 2**k * x[i].item() == Y[i].item() - gamma[i].item()
    read = read_gradient(parameters, t, gamma)
    rounded = [round(Fraction(float(g)) * 2**f) for g in gradient]
    for entry, lattice_entry, real in zip(read.tolist(), rounded, gradient, strict=True):
        slack = Fraction(2**k, 2 * A) + 1
        assert abs(entry - lattice_entry) <= slack
        assert abs(entry - Fraction(float(real)) * 2**f) <= slack + Fraction(1, 2)


@pytest.mark.checks("AR-6")
@given(st.data())
def test_any_change_of_one_entry_breaks_the_relation(data: st.DataObject) -> None:
    parameters = data.draw(lattices())
    models = vectors(parameters, parameters.model_limit // 4 or 1)
    own, neighbours = data.draw(models), data.draw(st.lists(models, min_size=1, max_size=3))
    Y = mix(parameters, 1, own, neighbours)
    try:
        x, gamma = step(parameters, 1, Y, np.zeros(len(Y)))
    except LatticeError:
        return
    index = data.draw(st.integers(0, len(Y) - 1))
    unit = np.zeros(len(Y), dtype=np.int64)
    unit[index] = data.draw(st.sampled_from([-1, 1]))
    assert residual(parameters, 1, own, neighbours, x + unit, gamma).any()
    assert residual(parameters, 1, own, neighbours, x, gamma + unit).any()
    assert residual(parameters, 1, own, [neighbours[0] + unit, *neighbours[1:]], x, gamma).any()


@pytest.mark.checks("AR-5")
@given(st.integers(-(2**61), 2**61), st.integers(0, 40))
@example(3, 1)
@example(-3, 1)
@example(5, 1)
@example(1, 1)
def test_rounding_is_to_nearest_ties_to_even(numerator: int, bits: int) -> None:
    result = shift_half_even(np.array([numerator], dtype=np.int64), bits)
    assert result.tolist() == [round(Fraction(numerator, 2**bits))]


@pytest.mark.checks("AR-3")
@given(st.lists(st.floats(-1000, 1000), max_size=5), st.integers(0, 30))
def test_float_to_lattice_and_back(values: list[float], f: int) -> None:
    lattice = to_lattice(values, Precision(f, 1))
    assert lattice.dtype == np.int64
    assert lattice.tolist() == [round(Fraction(v) * 2**f) for v in values]
    assert np.abs(from_lattice(lattice, Precision(f, 1)) - values).max(initial=0) <= 2.0**-f / 2


@pytest.mark.checks("AR-3")
@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([0.0, float("nan")], "entry 1 is nan, not a finite number"),
        ([float("inf")], "entry 0 is inf, not a finite number"),
        ([1e305], "entry 0 is 1e+305, beyond"),
        ([1.0, 2.0, -1e30], "entry 2 is -1e+30"),
        ([1.0, 1e308], "entry 1 is 1e+308"),
        ([[1.0]], "shape (1, 1)"),
        (["a"], "not a vector of real numbers"),
    ],
)
def test_numbers_without_a_place_on_the_lattice_are_refused(values: object, words: str) -> None:
    with pytest.raises(LatticeError) as caught:
        to_lattice(values, Precision())
    assert words in str(caught.value)
    assert caught.value.clause == "AR-3"


@pytest.mark.checks("AR-10")
@given(lattices())
def test_default_limits_use_the_budget_and_respect_it(parameters: LatticeParameters) -> None:
    assert parameters.largest_intermediate < parameters.budget
    grown = parameters.model_limit + 1
    with pytest.raises(LatticeError, match="AR-10"):
        LatticeParameters(
            parameters.dimension,
            parameters.schedule,
            parameters.max_degree,
            model_limit=grown,
            gradient_limit=parameters.gradient_limit + 1,
        )


@pytest.mark.checks("AR-10", "AR-13")
@pytest.mark.witness("P20")
def test_without_the_range_rule_adding_p_is_invisible_to_every_key() -> None:
    from valid_ref.hashing import PrimeField, colliding_keys

    shift = np.array([101, 0, 0], dtype=np.int64)
    assert len(colliding_keys(PrimeField(101), shift)) == 101
    schedule = Schedule(Precision(0, 0), mixing=(1,), gradient=(1,))
    parameters = default_limits(3, schedule, 2, prime=101)
    assert parameters.largest_intermediate < 101  # so no two admitted vectors differ by p


@pytest.mark.checks("AR-10")
def test_a_schedule_that_leaves_no_room_is_refused_with_the_rule() -> None:
    schedule = Schedule(Precision(28, 60), mixing=(2**60,), gradient=(1,))
    with pytest.raises(LatticeError, match=r"leave no room .*AR-10"):
        default_limits(1, schedule, 4)
    small = Schedule(Precision(0, 0), mixing=(1,), gradient=(1,))
    with pytest.raises(LatticeError, match=r"dimension = 0 is below 1"):
        LatticeParameters(0, small, 1, model_limit=1, gradient_limit=1)


@pytest.mark.checks("AR-5", "AR-14")
def test_a_step_refuses_a_wrong_shape_and_an_update_out_of_range() -> None:
    schedule = Schedule(Precision(4, 4), mixing=(1,), gradient=(16,))
    parameters = default_limits(2, schedule, 1)
    Y = np.zeros(2, dtype=np.int64)
    with pytest.raises(LatticeError, match=r"shape.*AR-14"):
        step(parameters, 1, Y, np.zeros(3))
    with pytest.raises(LatticeError, match="entry 1 of the model"):
        step(parameters, 1, Y, np.array([0.0, parameters.model_limit / 16]))
    narrow = attrs_evolve(parameters, gradient_limit=10)
    with pytest.raises(LatticeError, match="scaled gradient"):
        step(narrow, 1, Y, np.array([0.0, 1 / 16]))
    with pytest.raises(LatticeError, match="beyond 2 lattice units"):
        step(narrow, 1, Y, np.array([0.0, 2 / 16]))


def attrs_evolve(parameters: LatticeParameters, **changes: int) -> LatticeParameters:
    import attrs

    return attrs.evolve(parameters, **changes)


@pytest.mark.checks("AR-4")
def test_the_evaluation_point_is_the_real_number_that_y_stands_for() -> None:
    schedule = Schedule(Precision(2, 1), mixing=(1,), gradient=(1,))
    parameters = default_limits(1, schedule, 1)
    assert evaluation_point(parameters, np.array([12], dtype=np.int64)).tolist() == [1.5]


@pytest.mark.checks("AR-12")
@given(st.lists(st.integers(-WORD_LIMIT, WORD_LIMIT), max_size=6))
@example([2**31, 2**31])
@example([WORD_LIMIT] * 4)
def test_squared_norms_are_exact_beyond_64_bits(entries: list[int]) -> None:
    assert squared_norm(np.array(entries, dtype=np.int64)) == sum(e * e for e in entries)
