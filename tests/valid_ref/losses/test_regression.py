"""Losses on data: sharp deviations, extreme scores, refusals, and the assumption not made."""

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from valid_ref.losses import LogisticRegression, LossError, RidgeLeastSquares

entries = st.floats(-3, 3, allow_subnormal=False)
Regression = type[RidgeLeastSquares] | type[LogisticRegression]
both = pytest.mark.parametrize("kind", [RidgeLeastSquares, LogisticRegression])


@st.composite
def ridges(draw: st.DrawFn) -> RidgeLeastSquares:
    n, d = draw(st.integers(1, 5)), draw(st.integers(1, 3))
    numbers = np.array(draw(st.lists(entries, min_size=n * d + n, max_size=n * d + n)))
    return RidgeLeastSquares(numbers[n:].reshape(n, d), numbers[:n], draw(st.floats(0.05, 2)))


def ridge_variance(loss: RidgeLeastSquares, x: np.ndarray) -> float:
    gradients = loss.features * (loss.features @ x - loss.targets)[:, np.newaxis]
    return float(((gradients - gradients.mean(axis=0)) ** 2).sum(axis=1).mean())


@pytest.mark.checks("MO-10")
@given(ridges(), st.floats(0, 5))
def test_the_deviation_of_least_squares_is_sharp_within_sqrt_2(
    loss: RidgeLeastSquares, radius: float
) -> None:
    """The variance is x'Qx - 2q'x + r: some x of length radius attains half of the bound."""
    d, n = loss.dimension, len(loss.targets)
    centred = [np.outer(a, a) - loss.features.T @ loss.features / n for a in loss.features]
    products = loss.features * loss.targets[:, np.newaxis]
    shifted = products - products.mean(axis=0)
    top = np.linalg.eigh(sum(a @ a for a in centred))[1][:, -1]
    vector = sum((a @ v for a, v in zip(centred, shifted, strict=True)), np.zeros(d))
    vector /= np.abs(vector).max() or 1.0  # squares of tiny entries would lose their digits
    directions = [top, -top, -vector / (np.sqrt((vector**2).sum()) or 1.0)]
    attained = max(ridge_variance(loss, radius * direction) for direction in directions)
    bound = loss.gradient_deviation(radius) ** 2
    slack = 1e-13 * (1 + loss.smoothness) ** 2 * (1 + radius) ** 2
    assert attained <= bound + slack
    assert bound <= 2 * attained + slack


@pytest.mark.checks("MO-10")
@given(ridges())
def test_the_deviation_at_the_origin_is_exact(loss: RidgeLeastSquares) -> None:
    exact = ridge_variance(loss, np.zeros(loss.dimension))
    assert loss.gradient_deviation(0.0) ** 2 == pytest.approx(exact, rel=1e-9, abs=1e-12)


@pytest.mark.checks("MO-10")
def test_the_deviation_of_logistic_regression_is_nearly_attained() -> None:
    """One datum in n has features, and x is deep on its wrong side: the ratio is 1 - 1/n."""
    n = 20
    features = np.zeros((n, 1))
    features[0] = 1.0
    loss = LogisticRegression(features, -np.ones(n), 1.0)
    gradients = np.zeros(n)
    x = np.array([100.0])
    gradients[0] = n * (loss.gradient(x) - x)[0]
    ratio = gradients.var() / loss.gradient_deviation(100.0) ** 2
    assert ratio == pytest.approx(1 - 1 / n, rel=1e-9)


@pytest.mark.checks("MO-9")
@given(st.one_of(st.floats(-600, 600), st.floats(-1e6, 1e6)), st.sampled_from([-1.0, 1.0]))
@example(100.0, 1.0)
@example(-100.0, 1.0)
def test_extreme_scores_neither_overflow_nor_lose_the_small_side(score: float, y: float) -> None:
    """Value, slope and curvature of log(1 + exp(-m)) at the margin m = y a'x, a = 1."""
    loss, x = LogisticRegression([[1.0]], [y], 1e-300), np.array([score])
    margin = y * score
    tail = math.exp(-abs(margin))
    value = math.log1p(tail) + max(0.0, -margin)
    chance = (tail if margin > 0 else 1.0) / (1 + tail)
    assert loss.value(x) == pytest.approx(value, rel=1e-9, abs=1e-280)
    assert loss.gradient(x)[0] == pytest.approx(-y * chance, rel=1e-9, abs=1e-280)
    assert loss.hessian_at(x)[0, 0] == pytest.approx(tail / (1 + tail) ** 2, rel=1e-9, abs=1e-280)


@pytest.mark.witness("A22")
@given(st.floats(1e-3, 1e6), st.floats(0.1, 10))
def test_no_sigma_f_bounds_the_loss_variance_of_noisy_least_squares(
    sigma_f: float, spread: float
) -> None:
    """f = (x - D)^2 / 2 + ridge, D = +-s: Var f = x^2 Var D, beyond every sigma_f^2 for some x.

    Assumption 5 fails; the others hold: F0 = s^2 / 2, and sigma_g = s everywhere.
    """
    data = [RidgeLeastSquares([[1.0]], [b], 0.1) for b in (spread, -spread)]
    loss = RidgeLeastSquares([[1.0], [1.0]], [spread, -spread], 0.1)

    def loss_variance(x: float) -> float:
        return float(np.var([datum.value(np.array([x])) for datum in data]))

    x = 2 * sigma_f / spread
    assert loss_variance(x) == pytest.approx(x**2 * spread**2, rel=1e-3)
    assert loss_variance(x) > sigma_f**2
    assert np.var([datum.gradient(np.array([x]))[0] for datum in data]) == pytest.approx(
        spread**2, rel=1e-3
    )
    assert loss.gradient_deviation(1e6) == pytest.approx(spread)
    assert loss.loss_at_zero == pytest.approx(spread**2 / 2)


DATA, SIGNS = np.ones((2, 3)), np.array([1.0, -1.0])


@pytest.mark.checks("MO-10")
@both
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((DATA, SIGNS, 0.0), "ridge 0.0 is not a positive number"),
        ((DATA, SIGNS, -1.0), "ridge -1.0"),
        ((DATA, SIGNS, float("nan")), "ridge nan"),
        ((DATA, SIGNS, float("inf")), "ridge inf"),
        ((DATA, np.ones(3), 1.0), r"features of shape \(2, 3\) .* targets of shape \(3,\)"),
        ((DATA, np.ones((2, 1)), 1.0), r"targets of shape \(2, 1\)"),
        ((DATA, 1.0, 1.0), r"targets of shape \(\)"),
        ((np.ones(2), SIGNS, 1.0), r"features of shape \(2,\)"),
        ((np.ones((2, 2, 2)), SIGNS, 1.0), r"features of shape \(2, 2, 2\)"),
        ((np.ones((0, 3)), [], 1.0), r"features of shape \(0, 3\)"),
        ((np.ones((2, 0)), SIGNS, 1.0), r"features of shape \(2, 0\)"),
        ((float("nan") * DATA, SIGNS, 1.0), "nan is not a finite number"),
        ((DATA, [1.0, float("-inf")], 1.0), "-inf is not a finite number"),
        ((DATA, ["a", "b"], 1.0), "not an array of real numbers"),
    ],
)
def test_what_is_no_data_set_is_refused(
    kind: Regression, arguments: tuple[object, ...], words: str
) -> None:
    with pytest.raises(LossError, match=words) as caught:
        kind(*arguments)
    assert caught.value.clause == "MO-10"


@pytest.mark.checks("MO-10")
@pytest.mark.parametrize("target", [0.0, 0.5, 2.0, -1.5])
def test_labels_other_than_signs_are_refused(target: float) -> None:
    with pytest.raises(LossError, match=r"not \+1 or -1") as caught:
        LogisticRegression(DATA, [1.0, target], 1.0)
    assert caught.value.clause == "MO-10"
    assert RidgeLeastSquares(DATA, [1.0, target], 1.0).dimension == 3


@pytest.mark.checks("MO-9", "MO-10")
@both
def test_a_wrong_point_batch_or_radius_is_refused(kind: Regression) -> None:
    loss, generator = kind(DATA, SIGNS, 1.0), np.random.default_rng(0)
    for shape in [(), (1,), (2,), (2, 3)]:
        for call in (loss.value, loss.gradient, lambda x: loss.sample(x, 1, generator)):
            with pytest.raises(LossError, match="a point of shape"):
                call(np.zeros(shape))
    for batch in (0, -1, 1.5):
        with pytest.raises(LossError, match="mini-batch size K"):
            loss.sample(np.zeros(3), batch, generator)
    if isinstance(loss, RidgeLeastSquares):
        for radius in (-1.0, float("nan"), float("inf")):
            with pytest.raises(LossError, match="radius"):
                loss.gradient_deviation(radius)
