"""The compiled update gives the integers and the refusals of the update in numpy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from valid_ref.kernels.choice import VARIABLE
from valid_ref.lattice import LatticeError, default_limits, step
from valid_ref.schedule import Precision, Schedule

pytestmark = pytest.mark.checks("AR-5", "AR-10", "AR-14")


def outcome(form: str, *arguments: object, absorb: bool) -> object:
    """The two vectors, or the words of the refusal."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, form)
        try:
            x, gamma = step(*arguments, absorb=absorb)  # type: ignore[arg-type]
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
    expected = outcome("numpy", *arguments, absorb=absorb)
    assert outcome("numba", *arguments, absorb=absorb) == expected


@pytest.mark.parametrize("form", ["numpy", "numba"])
def test_long_models_are_updated_and_a_bad_entry_is_named(form: str) -> None:
    schedule = Schedule(Precision(4, 1), mixing=(1,), gradient=(1,))
    parameters = default_limits(40_000, schedule, 2)
    Y = np.arange(40_000)
    gradient = np.full(40_000, 1 / 16)
    x, gamma = outcome(form, parameters, 1, Y, gradient, absorb=True)  # type: ignore[misc]
    assert x == [round((y - 1) / 2) for y in range(40_000)]
    assert gamma == [y - 2 * e for y, e in zip(range(40_000), x, strict=True)]
    gradient[31_234] = np.nan
    refused = outcome(form, parameters, 1, Y, gradient, absorb=True)
    assert refused == "entry 31234 is nan, not a finite number [AR-3]"
