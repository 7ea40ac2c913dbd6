"""Every loss, datum by datum: its derivatives, and the constants of the assumptions."""

import itertools
import math
from collections.abc import Iterator
from typing import Literal

import attrs
import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from valid_ref.losses import LogisticRegression, Loss, Noise, Quadratic, RidgeLeastSquares

Array = np.ndarray
entries = st.floats(-3, 3, allow_subnormal=False)
positive = st.floats(0.05, 2)


def arrays(*shape: int) -> st.SearchStrategy[Array]:
    size = math.prod(shape)
    return st.lists(entries, min_size=size, max_size=size).map(lambda v: np.reshape(v, shape))


@st.composite
def quadratics(draw: st.DrawFn, noises: tuple[Noise, ...] = (Noise.NONE, Noise.SIGNS)) -> Quadratic:
    d = draw(st.integers(1, 3))
    root = draw(arrays(d, d))
    if draw(st.booleans()):
        root = np.diag(np.diag(root))
    hessian = root @ root.T + draw(positive) * np.eye(d)
    noise = draw(st.sampled_from(noises))
    spread = 0.0 if noise is Noise.NONE else draw(positive)
    return Quadratic((hessian + hessian.T) / 2, draw(arrays(d)), noise, spread)


@st.composite
def regressions(draw: st.DrawFn, rows: int = 4) -> RidgeLeastSquares | LogisticRegression:
    n, d = draw(st.integers(1, rows)), draw(st.integers(1, 3))
    if draw(st.booleans()):
        return RidgeLeastSquares(draw(arrays(n, d)), draw(arrays(n)), draw(positive))
    signs = draw(st.lists(st.sampled_from([-1.0, 1.0]), min_size=n, max_size=n))
    return LogisticRegression(draw(arrays(n, d)), np.array(signs), draw(positive))


losses = st.one_of(quadratics(), regressions())
Single = Quadratic | RidgeLeastSquares | LogisticRegression


def single(loss: Single) -> list[Single]:
    """f(., D) for every datum D, all equally likely: a loss of one datum each."""
    if isinstance(loss, Quadratic):
        signs = itertools.product((-1, 1), repeat=loss.dimension) if loss.spread else [0]
        return [Quadratic(loss.hessian, loss.centre + loss.spread * np.array(s)) for s in signs]
    rows = range(len(loss.targets))
    return [
        attrs.evolve(loss, features=loss.features[[i]], targets=loss.targets[[i]]) for i in rows
    ]


def formula(datum: Single, x: list[float]) -> float:
    """f(x, D) of one datum as the documentation writes it, in Python's own arithmetic."""
    if isinstance(datum, Quadratic):
        z = [a - b for a, b in zip(x, datum.centre.tolist(), strict=True)]
        h = datum.hessian.tolist()
        return sum(z[i] * h[i][j] * z[j] for i in range(len(z)) for j in range(len(z))) / 2
    score = sum(a * b for a, b in zip(datum.features[0].tolist(), x, strict=True))
    target, squared = datum.targets.tolist()[0], sum(a * a for a in x)
    if isinstance(datum, RidgeLeastSquares):
        return (score - target) ** 2 / 2 + datum.ridge * squared / 2
    return math.log(1 + math.exp(-target * score)) + datum.ridge * squared / 2


def spectrum(datum: Loss, x: Array) -> Array:
    return np.linalg.eigvalsh(datum.hessian_at(x))


def variance(loss: Loss, x: Array) -> float:
    """The exact variance of one datum's gradient."""
    gradients = np.array([datum.gradient(x) for datum in single(loss)])
    return float(((gradients - gradients.mean(axis=0)) ** 2).sum(axis=1).mean())


def length(vector: Array) -> float:
    return math.sqrt((vector**2).sum())


@pytest.mark.checks("MO-9")
@given(losses, st.data())
def test_the_loss_is_the_mean_over_the_data(loss: Loss, data: st.DataObject) -> None:
    x = data.draw(arrays(loss.dimension))
    values = [formula(datum, x.tolist()) for datum in single(loss)]
    assert loss.value(x) == pytest.approx(sum(values) / len(values), rel=1e-10, abs=1e-12)
    assert single(loss)[0].value(x) == pytest.approx(values[0], rel=1e-10, abs=1e-12)
    mean = np.mean([datum.gradient(x) for datum in single(loss)], axis=0)
    assert loss.gradient(x) == pytest.approx(mean, rel=1e-10, abs=1e-11)


@pytest.mark.checks("MO-9")
@given(losses, st.data())
def test_gradient_and_hessian_are_the_derivatives(loss: Loss, data: st.DataObject) -> None:
    x, h = data.draw(arrays(loss.dimension)), 1e-4
    slack = 1e-6 * (1 + loss.value(x) + loss.smoothness)
    for i, unit in enumerate(np.eye(loss.dimension)):
        slope = (loss.value(x + h * unit) - loss.value(x - h * unit)) / (2 * h)
        assert loss.gradient(x)[i] == pytest.approx(slope, rel=0, abs=slack)
        bend = (loss.gradient(x + h * unit) - loss.gradient(x - h * unit)) / (2 * h)
        assert loss.hessian_at(x)[:, i] == pytest.approx(bend, rel=0, abs=slack)


@pytest.mark.checks("MO-10")
@given(losses, st.data())
def test_every_datum_is_strongly_convex_and_smooth(loss: Loss, data: st.DataObject) -> None:
    """Assumptions 3 and 4 between any two points, along the extreme directions too."""
    mu, beta = loss.strong_convexity, loss.smoothness
    x = data.draw(arrays(loss.dimension))
    for datum in single(loss):
        _values, directions = np.linalg.eigh(datum.hessian_at(x))
        steps = [data.draw(arrays(loss.dimension)), directions[:, 0], 1e-3 * directions[:, -1]]
        for step in steps:
            y = x + step
            near, far = datum.gradient(x), datum.gradient(y)
            rounding = 1e-13 * (1 + datum.value(x) + datum.value(y) + length(near) + beta)
            assert length(far - near) <= beta * length(y - x) + rounding
            model = datum.value(x) + near @ (y - x)
            assert datum.value(y) >= model + mu / 2 * length(y - x) ** 2 - rounding
            assert datum.value(y) <= model + beta / 2 * length(y - x) ** 2 + rounding


@pytest.mark.checks("MO-10")
@given(losses, st.data())
def test_mu_and_beta_are_sharp(loss: Loss, data: st.DataObject) -> None:
    """Every eigenvalue of a datum's Hessian lies in [mu, beta]; at 0 some datum attains beta."""
    x = data.draw(arrays(loss.dimension))
    mu, beta = loss.strong_convexity, loss.smoothness
    slack = 1e-12 * beta
    for datum in single(loss):
        assert mu - slack <= spectrum(datum, x)[0]
        assert spectrum(datum, x)[-1] <= beta + slack
    at_zero = [spectrum(datum, np.zeros(loss.dimension)) for datum in single(loss)]
    assert max(values[-1] for values in at_zero) == pytest.approx(beta, rel=1e-12)
    if isinstance(loss, Quadratic) or loss.dimension > 1:  # one row curves one direction only
        assert min(values[0] for values in at_zero) == pytest.approx(mu, abs=slack)


@pytest.mark.checks("MO-10")
@given(losses)
@example(Quadratic([[1.0]], [math.sqrt(3)]))  # not the square of a square root
@example(Quadratic([[2.0, 1.0], [1.0, 2.0]], [0.0, 0.0], Noise.SIGNS, 1.0))  # 6 / 2, not 4 / 2
def test_loss_at_zero_bounds_every_datum(loss: Loss) -> None:
    largest = max(datum.value(np.zeros(loss.dimension)) for datum in single(loss))
    slack = 1e-14 * largest
    assert largest <= loss.loss_at_zero + slack
    assert loss.loss_at_zero <= (1 + loss.dimension) * largest + slack
    diagonal = isinstance(loss, Quadratic) and np.array_equal(
        loss.hessian, np.diag(np.diag(loss.hessian))
    )
    if diagonal or not isinstance(loss, Quadratic) or loss.noise is Noise.NONE:
        assert loss.loss_at_zero == pytest.approx(largest, rel=1e-14)


@pytest.mark.checks("MO-10")
@given(losses, st.data())
def test_what_bounded_iterates_need_of_every_datum(loss: Loss, data: st.DataObject) -> None:
    """|g|^2 <= 2 beta f and F0 >= f - <g, y> + mu/2 |y|^2 (AN-5 rests on these two)."""
    y = data.draw(arrays(loss.dimension))
    mu, beta, at_zero = loss.strong_convexity, loss.smoothness, loss.loss_at_zero
    for datum in single(loss):
        value, gradient = datum.value(y), datum.gradient(y)
        assert value >= 0
        rounding = 1e-13 * (1 + value + abs(gradient @ y) + length(gradient) ** 2)
        assert length(gradient) ** 2 <= 2 * beta * value + rounding
        assert at_zero >= value - gradient @ y + mu / 2 * length(y) ** 2 - rounding


@pytest.mark.checks("MO-10")
@given(losses, st.data())
def test_gradient_deviation_bounds_the_exact_variance(loss: Loss, data: st.DataObject) -> None:
    """Assumption 6 inside the ball; the same everywhere, and exact, for quadratics."""
    x = data.draw(arrays(loss.dimension))
    radius = length(x) * data.draw(st.floats(1, 2))
    bound = loss.gradient_deviation(radius) ** 2
    slack = 1e-13 * (1 + loss.smoothness * radius) ** 2 * (1 + loss.smoothness)
    assert variance(loss, x) <= bound + slack
    if isinstance(loss, Quadratic):
        assert variance(loss, x) == pytest.approx(bound, rel=1e-10, abs=slack)


class FixedDraws:
    """Stands in for the generator: hands out one outcome, and notes what was asked for."""

    def __init__(self, outcome: tuple[int, ...] = ()) -> None:
        self.outcome = outcome
        self.asked: tuple[int, int, int] = (0, 0, 0)

    def integers(self, low: int, high: int, size: int | tuple[int, ...]) -> Array:
        self.asked = (low, high, int(np.prod(size)))
        outcome = self.outcome or (low,) * self.asked[2]
        return np.reshape(np.array(outcome, dtype=np.int64), size)


def all_samples(loss: Loss, x: Array, batch: int) -> Iterator[Array]:
    """What every possible mini-batch gives, one after the other."""
    probe = FixedDraws()
    loss.sample(x, batch, probe)
    low, high, count = probe.asked
    for outcome in itertools.product(range(low, high), repeat=count):
        yield loss.sample(x, batch, FixedDraws(outcome))


@pytest.mark.checks("MO-9", "MO-10")
@given(st.one_of(quadratics((Noise.SIGNS,)), regressions(rows=3)), st.integers(1, 2), st.data())
def test_mini_batches_are_unbiased_with_variance_over_k(
    loss: Loss, batch: int, data: st.DataObject
) -> None:
    """Exactly: over all mini-batches, not over some."""
    assume(loss.dimension * batch <= 4 or not isinstance(loss, Quadratic))
    x = data.draw(arrays(loss.dimension))
    samples = np.array(list(all_samples(loss, x, batch)))
    assert len(samples) == len(single(loss)) ** batch
    assert samples.mean(axis=0) == pytest.approx(loss.gradient(x), rel=1e-11, abs=1e-11)
    deviation = ((samples - loss.gradient(x)) ** 2).sum(axis=1).mean()
    assert deviation == pytest.approx(variance(loss, x) / batch, rel=1e-10, abs=1e-11)


@pytest.mark.checks("MO-9")
@given(losses, st.data())
def test_a_loss_keeps_its_own_numbers(loss: Loss, data: st.DataObject) -> None:
    """It does not see later changes of the caller's arrays."""
    x = data.draw(arrays(loss.dimension))
    names = ("hessian", "centre") if isinstance(loss, Quadratic) else ("features", "targets")
    given_arrays = {name: np.array(getattr(loss, name)) for name in names}
    twin = attrs.evolve(loss, **given_arrays)
    for array in given_arrays.values():
        array[...] = 7.0
    assert twin.gradient(x).tobytes() == loss.gradient(x).tobytes()
    assert twin.value(x) == loss.value(x)
    for name in names:
        with pytest.raises(ValueError, match="read-only"):
            getattr(loss, name)[...] = 0.0
    if isinstance(loss, Quadratic):
        with pytest.raises(ValueError, match="read-only"):
            loss.hessian_at(x)[0, 0] = 1.0


@pytest.mark.checks("MO-9")
def test_equal_numbers_give_equal_bits_in_any_layout() -> None:
    generator = np.random.default_rng(0)
    matrix, x = generator.standard_normal((40, 40)), generator.standard_normal(40)
    hessian = matrix @ matrix.T + np.eye(40)
    orders: tuple[Literal["C", "F"], ...] = ("C", "F")
    for make in (Quadratic, lambda a, b: RidgeLeastSquares(a, b, 1.0)):
        rows, columns = (make(np.array(hessian, order=order), x) for order in orders)
        strided = make(np.repeat(hessian, 2, axis=1)[:, ::2], np.repeat(x, 2)[::2])
        for other in (columns, strided):
            assert other.gradient(2 * x).tobytes() == rows.gradient(2 * x).tobytes()
            assert (
                other.gradient(np.repeat(2 * x, 2)[::2]).tolist() == rows.gradient(2 * x).tolist()
            )
