"""The fast update gives the integers and the refusals of the definition."""

from typing import Any

import attrs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from valid_ref.kernels import steps
from valid_ref.kernels.choice import VARIABLE
from valid_ref.lattice import LatticeError, default_limits, evaluation_point, mix, step
from valid_ref.schedule import Precision, Schedule

pytestmark = pytest.mark.checks("AR-5", "AR-10", "AR-14")


STEPS = {"definition": step, "compiled": steps.step}


def outcome(form: str, *arguments: object, absorb: bool) -> object:
    """The two vectors, or the words of the refusal."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, "numba")
        try:
            x, gamma = STEPS[form](*arguments, absorb=absorb)
        except LatticeError as error:
            return str(error)
    return x.tolist(), gamma.tolist()


@given(st.data(), st.booleans())
def test_both_forms_agree(data: st.DataObject, absorb: bool) -> None:
    """Ties, ends of ranges, infinities, and limits so narrow that entries leave them."""
    k, f = data.draw(st.integers(0, 30)), data.draw(st.integers(0, 40))
    A = data.draw(st.one_of(st.integers(1, 9), st.integers(1, 2**31)))
    schedule = Schedule(Precision(f, k), mixing=(1,), gradient=(A,))
    parameters = default_limits(3, schedule, 2)
    if data.draw(st.booleans()):  # then Gamma can leave its range while x stays in its own
        narrow = 2 ** (k + data.draw(st.integers(0, 4)))
        parameters = attrs.evolve(parameters, gradient_limit=narrow)
    limit = min(parameters.model_limit << k, 2**60)
    whole = st.one_of(
        st.integers(-limit, limit), st.integers(-9, 9).map(lambda i: i * (1 << k) // 2)
    )
    Y = np.array(data.draw(st.lists(whole, min_size=3, max_size=3)), dtype=np.int64)
    lattice = st.integers(-(2**62) // A, 2**62 // A).map(lambda i: i / 2.0**f)
    real = st.one_of(
        st.floats(), st.floats(-9, 9), lattice, st.integers(-9, 9).map(lambda i: i / 2)
    )
    gradient = np.array(data.draw(st.lists(real, min_size=3, max_size=3)))
    arguments = parameters, 1, Y, gradient
    expected = outcome("definition", *arguments, absorb=absorb)
    assert outcome("compiled", *arguments, absorb=absorb) == expected


@pytest.mark.parametrize("form", sorted(STEPS))
def test_long_models_are_updated_and_a_bad_entry_is_named(form: str) -> None:
    schedule = Schedule(Precision(4, 1), mixing=(1,), gradient=(1,))
    parameters = default_limits(40_000, schedule, 2)
    Y = np.arange(40_000)
    gradient = np.full(40_000, 1 / 16)
    found: Any = outcome(form, parameters, 1, Y, gradient, absorb=True)
    x, gamma = found
    assert x == [round((y - 1) / 2) for y in range(40_000)]
    assert gamma == [y - 2 * e for y, e in zip(range(40_000), x, strict=True)]
    gradient[31_234] = np.nan
    refused = outcome(form, parameters, 1, Y, gradient, absorb=True)
    assert refused == "entry 31234 is nan, not a finite number [AR-3]"


@pytest.mark.parametrize("form", sorted(STEPS))
@pytest.mark.parametrize("absorb", [True, False])
@pytest.mark.parametrize("A", [1, 2, 4])
@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (np.nan, "entry 1 is nan, not a finite number [AR-3]"),
        (-np.inf, "entry 1 is -inf, not a finite number [AR-3]"),
        (99.0, "entry 1 of the scaled gradient is"),
    ],
)
def test_one_bad_entry_is_refused_whatever_the_step(form, absorb, A, bad, words) -> None:
    """An even multiple of what NaN becomes as an integer is 0; Gamma may leave its range alone."""
    schedule = Schedule(Precision(0, 2), mixing=(1,), gradient=(A,))
    parameters = attrs.evolve(default_limits(2, schedule, 2), gradient_limit=A * 99)
    gradient = np.array([1.0, bad])
    refused = outcome(form, parameters, 1, np.zeros(2, np.int64), gradient, absorb=absorb)
    assert isinstance(refused, str)
    assert refused.startswith(words)


@pytest.mark.checks("AR-4")
@given(st.data())
def test_mixing_in_pieces_is_the_definition(data: st.DataObject) -> None:
    """Models longer than a piece, of every number of neighbours, at the ends of the range."""
    degree, k = data.draw(st.integers(0, 5)), data.draw(st.integers(0, 20))
    length = data.draw(st.sampled_from([1, 7, steps.PIECE, steps.PIECE + 1, 2 * steps.PIECE + 3]))
    schedule = Schedule(Precision(4, k), (data.draw(st.integers(1, 2**k)),), (1,))
    parameters = default_limits(length, schedule, 5)
    generator = np.random.default_rng(data.draw(st.integers(0, 99)))
    limit = parameters.model_limit
    own, *models = generator.integers(1 - limit, limit, (degree + 1, length))
    own[0], own[-1] = limit - 1, 1 - limit
    Y = mix(parameters, 1, own, models)
    assert np.array_equal(steps.mix(parameters, 1, own, models), Y)
    point = evaluation_point(parameters, Y)
    assert np.array_equal(steps.evaluation_point(parameters, Y), point)
