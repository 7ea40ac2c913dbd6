"""Quadratic losses: bounds that hold in exact arithmetic, unbounded noise, refusals."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from valid_ref.losses import LossError, Noise, Quadratic

Rows = list[list[Fraction]]
entries = st.floats(-3, 3, allow_subnormal=False)


def semidefinite(rows: Rows) -> bool:
    """Whether a symmetric rational matrix is positive semidefinite: elimination, no rounding."""
    if not rows:
        return True
    pivot, *row = rows[0]
    if pivot <= 0:
        return pivot == 0 and not any(row) and semidefinite([r[1:] for r in rows[1:]])
    rest = [[v - r[0] * w / pivot for v, w in zip(r[1:], row, strict=True)] for r in rows[1:]]
    return semidefinite(rest)


def shifted(matrix: np.ndarray, factor: int, shift: float) -> Rows:
    """factor (matrix - shift I), exactly."""
    return [
        [factor * (Fraction(v) - (i == j) * Fraction(shift)) for j, v in enumerate(row)]
        for i, row in enumerate(matrix.tolist())
    ]


@st.composite
def gram_matrices(draw: st.DrawFn) -> np.ndarray:
    d = draw(st.integers(1, 4))
    root = np.reshape(draw(st.lists(entries, min_size=d * d, max_size=d * d)), (d, d))
    ridge = draw(st.sampled_from([1.0, 1e-3, 1e-9]))
    hessian = root @ root.T + ridge * np.eye(d)
    return (hessian + hessian.T) / 2


@pytest.mark.checks("MO-10")
@given(gram_matrices())
def test_mu_and_beta_are_bounds_in_exact_arithmetic(hessian: np.ndarray) -> None:
    """H - mu I and beta I - H are semidefinite over the rationals; the room is small."""
    loss = Quadratic(hessian, np.zeros(len(hessian)))
    mu, beta = loss.strong_convexity, loss.smoothness
    assert semidefinite(shifted(hessian, 1, mu))
    assert semidefinite(shifted(hessian, -1, beta))
    room = Fraction(1, 10**13) * Fraction(beta)
    assert not semidefinite(shifted(hessian, 1, float(Fraction(mu) + room)))
    assert not semidefinite(shifted(hessian, -1, float(Fraction(beta) - room)))


@pytest.mark.checks("MO-10")
@given(st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=5))
@example([1.0])
def test_a_diagonal_hessian_has_its_extremes_exactly(diagonal: list[float]) -> None:
    loss = Quadratic(np.diag(diagonal), np.zeros(len(diagonal)))
    assert (loss.strong_convexity, loss.smoothness) == (min(diagonal), max(diagonal))


@pytest.mark.checks("MO-10")
@given(st.lists(st.integers(-9, 9), min_size=6, max_size=6))
@example([1, 1, 0, 0, 0, 0])
@example([1, 2, 3, 1, 2, 3])
def test_a_singular_hessian_is_refused(numbers: list[int]) -> None:
    """Also where the computed smallest eigenvalue comes out a little above 0."""
    root = np.reshape(numbers, (3, 2))
    with pytest.raises(LossError, match="not positive definite") as caught:
        Quadratic(root @ root.T, np.zeros(3))
    assert caught.value.clause == "MO-10"


class Normals:
    """Stands in for the generator and hands out the given draws."""

    def __init__(self, draws: np.ndarray) -> None:
        self.draws = draws

    def standard_normal(self, shape: tuple[int, ...]) -> np.ndarray:
        return np.reshape(self.draws, shape)


@pytest.mark.checks("MO-9", "MO-10")
@given(gram_matrices(), st.floats(0.1, 2), st.integers(1, 3), st.data())
def test_gaussian_noise_enters_linearly(
    hessian: np.ndarray, spread: float, batch: int, data: st.DataObject
) -> None:
    """A sample is G(x) + L z with z standard normal: unbiased, variance |L|_F^2 = sigma_g^2 / K."""
    d = len(hessian)
    x, centre = np.reshape(data.draw(st.lists(entries, min_size=2 * d, max_size=2 * d)), (2, d))
    loss = Quadratic(hessian, centre, Noise.GAUSSIAN, spread)

    def sample(draws: np.ndarray) -> np.ndarray:
        return loss.sample(x, batch, Normals(draws))

    assert sample(np.zeros(batch * d)).tolist() == loss.gradient(x).tolist()
    columns = [sample(unit) - loss.gradient(x) for unit in np.eye(batch * d)]
    squared = sum((column**2).sum() for column in columns)
    assert squared == pytest.approx(loss.gradient_deviation(0.0) ** 2 / batch, rel=1e-9)
    weights = np.array(data.draw(st.lists(entries, min_size=batch * d, max_size=batch * d)))
    together = sample(weights) - loss.gradient(x)
    assert together == pytest.approx(weights @ np.array(columns), rel=1e-9, abs=1e-11)


@pytest.mark.checks("MO-10")
@given(gram_matrices(), st.floats(0.1, 2))
def test_unbounded_data_has_no_loss_at_zero(hessian: np.ndarray, spread: float) -> None:
    """F0 is infinite; every other constant is the one of signs with the same deviation."""
    zero = np.zeros(len(hessian))
    normal = Quadratic(hessian, zero, Noise.GAUSSIAN, spread)
    signs = Quadratic(hessian, zero, Noise.SIGNS, spread)
    assert normal.loss_at_zero == float("inf")
    assert signs.loss_at_zero < float("inf")
    assert normal.value(zero) == signs.value(zero)
    for name in ("strong_convexity", "smoothness"):
        assert getattr(normal, name) == getattr(signs, name)
    assert normal.gradient_deviation(1.0) == signs.gradient_deviation(2.0)
    assert normal.value(zero) == pytest.approx(spread**2 * np.trace(hessian) / 2)


@pytest.mark.checks("MO-9")
def test_gaussian_samples_have_the_stated_moments() -> None:
    """Fixed seed; each bound is 6 deviations, so a right generator fails once in 10^8 seeds."""
    loss = Quadratic([[2.0, 1.0], [1.0, 3.0]], [1.0, -1.0], Noise.GAUSSIAN, 0.5)
    generator, x, runs = np.random.default_rng(1), np.array([0.5, 2.0]), 4000
    samples = np.array([loss.sample(x, 4, generator) for _ in range(runs)])
    deviation = loss.gradient_deviation(0.0) / np.sqrt(4 * runs)
    assert np.abs(samples.mean(axis=0) - loss.gradient(x)).max() < 6 * deviation
    squared = ((samples - loss.gradient(x)) ** 2).sum(axis=1)
    expected = loss.gradient_deviation(0.0) ** 2 / 4
    assert abs(squared.mean() - expected) < 6 * np.sqrt(2) * expected / np.sqrt(runs)


EYE, ZERO = np.eye(2), np.zeros(2)


@pytest.mark.checks("MO-10")
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([[1.0, 0.5], [0.0, 1.0]], ZERO), "not a symmetric 2 x 2 matrix"),
        (([[1.0, 2.0], [2.0, 1.0]], ZERO), "not positive definite: .* -1"),
        ((0 * EYE, ZERO), "not positive definite"),
        ((-EYE, ZERO), "not positive definite"),
        (([[1.0, float("nan")], [float("nan"), 1.0]], ZERO), "nan is not a finite number"),
        ((np.inf * np.ones((2, 2)), ZERO), "inf is not a finite number"),
        ((EYE, [0.0, float("nan")]), "nan is not a finite number"),
        ((EYE, np.zeros(3)), "not a symmetric 3 x 3 matrix"),
        ((np.ones((2, 3)), ZERO), "not a symmetric 2 x 2 matrix"),
        ((np.ones(2), ZERO), "not a symmetric 2 x 2 matrix"),
        ((EYE, np.zeros((2, 1))), r"the centre has shape \(2, 1\)"),
        ((1.0, 0.0), r"the centre has shape \(\)"),
        ((np.zeros((0, 0)), []), r"the centre has shape \(0,\)"),
        ((EYE, ["a", "b"]), "not an array of real numbers"),
        (([[1.0], [2.0, 3.0]], ZERO), "not an array of real numbers"),
        ((EYE, ZERO, Noise.NONE, 0.5), "noise none does not go with spread 0.5"),
        ((EYE, ZERO, Noise.SIGNS), "noise signs does not go with spread 0.0"),
        ((EYE, ZERO, Noise.GAUSSIAN, -1.0), "noise gaussian does not go with spread -1.0"),
        ((EYE, ZERO, Noise.NONE, float("nan")), "noise none does not go with spread nan"),
        ((EYE, ZERO, Noise.SIGNS, float("nan")), "noise signs does not go with spread nan"),
        ((EYE, ZERO, Noise.SIGNS, float("inf")), "noise signs does not go with spread inf"),
    ],
)
def test_what_is_no_quadratic_is_refused(arguments: tuple[object, ...], words: str) -> None:
    with pytest.raises(LossError, match=words) as caught:
        Quadratic(*arguments)
    assert caught.value.clause == "MO-10"


@pytest.mark.checks("MO-9")
@pytest.mark.parametrize("noise", list(Noise))
def test_a_wrong_point_or_batch_is_refused(noise: Noise) -> None:
    loss = Quadratic(EYE, ZERO, noise, 0.0 if noise is Noise.NONE else 1.0)
    generator = np.random.default_rng(0)
    for shape in [(), (1,), (3,), (2, 2)]:
        for call in (loss.value, loss.gradient, lambda x: loss.sample(x, 1, generator)):
            with pytest.raises(LossError, match="a point of shape"):
                call(np.zeros(shape))
    for batch in (0, -1, 1.5):
        with pytest.raises(LossError, match="mini-batch size K"):
            loss.sample(ZERO, batch, generator)
