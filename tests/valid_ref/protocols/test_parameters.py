"""The public parameters: weights and thresholds to the last unit, and what is refused."""

import math
from fractions import Fraction

import attrs
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.support import network, weighting
from valid_ref.graph_families import path
from valid_ref.hashing import FieldError, PrimeField
from valid_ref.protocols.parameters import (
    Bounds,
    CheckedKeys,
    ParameterError,
    Weighting,
    exponential_weights,
    make_weighting,
    polynomial_weights,
)
from valid_ref.reading import Reading

ratios = st.floats(0, 1) | st.fractions(0, 1, max_denominator=99) | st.sampled_from((0, 0.5, 1))


@pytest.mark.checks("GV-1")
@example(9, 0.9, 60)
@example(40, 0.5, 30)
@given(st.integers(1, 40), ratios, st.integers(0, 60))
def test_exponential_weights_are_rounded_exactly(T: int, gamma: float, bits: int) -> None:
    """A float stands for its exact value, so no library's power function has a say."""
    weights = exponential_weights(T, gamma, bits)
    assert weights == tuple(round(2**bits * Fraction(gamma) ** (T - t)) for t in range(1, T + 1))
    assert weights[-1] == 2**bits
    assert all(type(weight) is int for weight in weights)


@pytest.mark.checks("GV-1")
def test_weights_at_the_ends_of_their_range() -> None:
    assert exponential_weights(4, 0) == (0, 0, 0, 2**30)  # 0^0 = 1
    assert exponential_weights(3, 1, bits=5) == (32, 32, 32)
    assert exponential_weights(5, 0.5, bits=2) == (0, 0, 1, 2, 4)  # 1/2 and 1/4 round to even
    assert exponential_weights(3, Fraction(1, 2), bits=0) == (0, 0, 1)
    assert exponential_weights(2, 0.75, bits=1) == (2, 2)  # 3/2 rounds to even
    above_half = Fraction(2**200 + 1, 2**201)
    assert exponential_weights(2, above_half, bits=0) == (1, 1)
    assert polynomial_weights(4, 0) == (1, 1, 1, 1)
    assert polynomial_weights(4, 3) == (1, 8, 27, 64)
    for gamma in (-0.1, 1.1, math.nan, math.inf):
        with pytest.raises(ParameterError, match=r"gamma = .* is outside 0\.\.1.*GV-1"):
            exponential_weights(4, gamma)
    for bits in (-1, 61):
        with pytest.raises(ParameterError, match=r"outside 0\.\.60.*GV-1"):
            exponential_weights(4, 0.5, bits)
    with pytest.raises(ParameterError, match=r"c = -1 is negative.*GV-1"):
        polynomial_weights(4, -1)


@pytest.mark.checks("GV-1")
@pytest.mark.witness("P24")
@pytest.mark.parametrize(("gamma", "printed"), [(0.9, 100), (0.99, 7476)])
def test_the_printed_normaliser_is_inverted(gamma: float, printed: int) -> None:
    """As printed the weights sum to the square of the normaliser, and T-1 rounds count."""
    T = 200
    factor = (1 - gamma ** (T - 1)) / (1 - gamma)
    total = factor * sum(gamma ** (T - i - 1) for i in range(1, T))
    assert round(total) == printed
    assert abs(total - factor**2) < 1e-6 * total
    weights = exponential_weights(T, gamma)
    used = make_weighting("w", weights, 4, 28, optimality=1.0, heterogeneity=1.0)
    assert sum(Fraction(weight) / used.total for weight in weights) == 1
    assert len(weights) == T
    assert min(weights[-T // 2 :]) > 0


@pytest.mark.checks("GV-5", "GV-6", "GV-7")
@given(
    st.lists(st.integers(0, 2**40), min_size=1, max_size=5).filter(any).map(tuple),
    st.integers(2, 40),
    st.integers(0, 28),
    st.fractions(min_value=Fraction(1, 10**9), max_value=10**6),
    st.floats(1e-9, 1e6),
)
def test_thresholds_are_the_formulas_rounded_up(weights, n, f, eps_opt, level) -> None:
    used = make_weighting("w", weights, n, f, optimality=eps_opt, heterogeneity=level)
    W = sum(weights)
    exact_optimality = n * W * Fraction(eps_opt) * 2**f
    exact_heterogeneity = n * Fraction(level) * W**2 * 2 ** (2 * f)
    assert used.optimality - 1 < exact_optimality <= used.optimality
    assert used.heterogeneity - 1 < exact_heterogeneity <= used.heterogeneity
    assert type(used.optimality) is type(used.heterogeneity) is int
    assert (used.weights, used.total, used.origin) == (weights, W, "configured")


@pytest.mark.checks("GV-7")
def test_thresholds_record_their_origin_and_another_divisor() -> None:
    used = make_weighting(
        "w", (1, 1), 2, 0, optimality=1, heterogeneity=1, total=Fraction(1, 2), origin="certificate"
    )
    assert used.origin == "certificate"
    assert (used.optimality, used.heterogeneity) == (1, 1)


@pytest.mark.checks("GV-7")
@pytest.mark.parametrize("bad", [0, -1, math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("label", ["eps_opt", "delta + eps_het"])
def test_tolerances_that_are_no_positive_numbers_are_refused(label: str, bad: float) -> None:
    values = {"optimality": 1.0, "heterogeneity": 1.0}
    values["optimality" if label == "eps_opt" else "heterogeneity"] = bad
    with pytest.raises(ParameterError, match=rf"weighting w: {label[:5]}.*is not a positive.*GV-7"):
        make_weighting("w", (1,), 2, 4, **values)


@pytest.mark.checks("GV-1", "GV-7")
@pytest.mark.parametrize("weights", [(), (0, 0), (1, -1), (1.5, 1), (np.int64(1),), (True,)])
def test_weights_that_are_no_weights_are_refused(weights: tuple) -> None:
    with pytest.raises(ParameterError, match=r"weighting w: weights must be integers >= 0.*GV-1"):
        Weighting("w", weights, Fraction(1), 1, 1)


@pytest.mark.checks("GV-7")
@pytest.mark.parametrize(("W", "opt", "het"), [(0, 1, 1), (-1, 1, 1), (1, 0, 1), (1, 1, 0)])
def test_thresholds_that_are_not_positive_are_refused(W: int, opt: int, het: int) -> None:
    with pytest.raises(ParameterError, match=r"thresholds and W must be positive.*GV-7"):
        Weighting("w", (1,), Fraction(W), opt, het)


@pytest.mark.checks("GV-1", "LV-2", "AR-10", "HA-1", "GV-12")
def test_parts_that_do_not_fit_together_are_refused() -> None:
    good = network(path(3))
    with pytest.raises(ParameterError, match=r"made for p = 2305843009213693951.*13.*AR-10"):
        attrs.evolve(good, field=PrimeField(13))
    with pytest.raises(
        FieldError, match=r"p = 7 is not larger than the hashed length dT = 8.*HA-1"
    ):
        network(path(3), d=2, T=4, prime=7, field_range=False)
    for lengths in ((2, 3), (3, 2), (0, 3), (4, 4)):
        bounds = Bounds(*((1,) * length for length in lengths))
        with pytest.raises(ParameterError, match=r"one entry for 3 rounds.*LV-2"):
            attrs.evolve(good, bounds=bounds)
    for squares in (((1, 1, -1), (1,) * 3), ((1,) * 3, (-(10**9999), 1, 1))):
        with pytest.raises(ParameterError, match=r"square of a bound is negative.*LV-2"):
            Bounds(*squares)
    for length in (2, 4):
        used = (weighting((1,) * 3), weighting((1,) * length))
        with pytest.raises(ParameterError, match=rf"has {length} weights for 3 rounds.*GV-1"):
            attrs.evolve(good, weightings=used)
    assert attrs.evolve(good, bounds=Bounds((1,) * 3, (1,) * 3)).bounds is not None


@pytest.mark.checks("LV-10", "VA-7")
def test_the_defaults_are_all_keys_and_every_repair() -> None:
    parameters = network(path(2))
    plain = type(parameters)(
        parameters.graph, parameters.lattice, parameters.start_model, parameters.field, None, ()
    )
    assert plain.checked_keys is CheckedKeys.ALL
    assert plain.reading == Reading.repaired() == Reading()
    assert [policy.value for policy in CheckedKeys] == ["all", "own"]
