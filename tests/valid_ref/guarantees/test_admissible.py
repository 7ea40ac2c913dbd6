"""Admissible models: the closed forms against minimisers and samples that know nothing of them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from valid_ref.guarantees import (
    AdmissibleError,
    Distance,
    Ellipsoid,
    admissible_ball,
    admissible_ellipsoid,
    best_byzantine_vectors,
    distance_to_admissible,
    heterogeneity,
    in_relaxed_set,
    is_admissible,
    phi,
)
from valid_ref.losses import (
    LogisticRegression,
    Problem,
    Quadratic,
    RidgeLeastSquares,
    random_quadratics,
)

seeds = st.integers(0, 2**32)


def balls(centres: list[list[float]], h: float = 1.0) -> Problem:
    d = len(centres[0])
    return Problem(tuple(Quadratic(h * np.eye(d), np.array(c, dtype=float)) for c in centres))


def regression(kind: type, agents: int, d: int, seed: int) -> Problem:
    losses = []
    for agent in range(agents):
        generator = np.random.default_rng([seed, agent])
        features, targets = generator.normal(size=(8, d)), np.sign(generator.normal(size=8))
        losses.append(kind(features, targets, 0.2))
    return Problem(tuple(losses))


def gradients(problem: Problem, agents: list[int], x: np.ndarray) -> np.ndarray:
    return np.array([problem.losses[u].gradient(x) for u in agents])


def least_norm_vectors(total: np.ndarray, b: int) -> np.ndarray:
    """min sum |ghat_v|^2 with sum ghat_v = -total, by the linear system of its multipliers."""
    d = len(total)
    constraint = np.tile(np.eye(d), (1, b))
    system = np.block([[2 * np.eye(b * d), constraint.T], [constraint, np.zeros((d, d))]])
    right_side = np.concatenate([np.zeros(b * d), -total])
    return np.linalg.solve(system, right_side)[: b * d].reshape(b, d)


@pytest.mark.checks("GU-2", "GU-3")
@pytest.mark.parametrize("seed", range(200))
def test_closed_form_is_the_minimum_over_all_byzantine_vectors(seed: int) -> None:
    generator = np.random.default_rng([seed, 99])
    n, d = int(generator.integers(2, 7)), int(generator.integers(1, 5))
    size = int(generator.integers(1, n))
    agents = sorted(generator.permutation(n)[:size].tolist())
    kinds = [lambda: random_quadratics(n, d, seed)]
    kinds += [
        lambda kind=kind: regression(kind, n, d, seed)
        for kind in (RidgeLeastSquares, LogisticRegression)
    ]
    problem, x = kinds[seed % 3](), generator.normal(size=d)
    own = gradients(problem, agents, x)
    total, b = own.sum(axis=0), n - size
    least = least_norm_vectors(total, b)
    value = (own**2).sum() + (least**2).sum()
    assert phi(problem, agents, x) == pytest.approx(value, rel=1e-12)
    assert best_byzantine_vectors(problem, agents, x) == pytest.approx(least, rel=1e-10, abs=1e-12)
    moved = least + (noise := generator.normal(size=(b, d))) - noise.mean(axis=0)
    assert moved.sum(axis=0) == pytest.approx(-total)
    assert (own**2).sum() + (moved**2).sum() >= value * (1 - 1e-12)
    assert is_admissible(problem, agents, value / n * (1 + 1e-9), x)
    assert not is_admissible(problem, agents, value / n * (1 - 1e-9), x)
    assert is_admissible(problem, agents, value / n * (1 - 1e-9), x, tolerance=1e-6 * value)


@pytest.mark.checks("GU-4")
@given(seeds, st.integers(1, 4), st.integers(1, 3), st.floats(0, 3))
def test_relaxed_set_is_the_minimum_over_the_residual_that_is_left(
    seed: int, size: int, b: int, e1: float
) -> None:
    problem, generator = random_quadratics(size + b, 2, seed), np.random.default_rng(seed)
    agents, n, x = list(range(size)), size + b, generator.normal(size=2)
    own = gradients(problem, agents, x)
    total, angles = own.sum(axis=0), np.linspace(0, 2 * np.pi, 400)
    circle = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    residuals = np.concatenate([radius * n * e1 * circle for radius in np.linspace(0, 1, 60)])
    inside = np.linalg.norm(total) <= n * e1  # then the residual may be all of the sum
    sampled = 0.0 if inside else ((residuals - total) ** 2).sum(axis=1).min() / b
    value = ((own**2).sum() + sampled) / n
    assert in_relaxed_set(problem, agents, e1, value * (1 + 1e-9), x)
    assert not in_relaxed_set(problem, agents, e1, 0.99 * value - 1e-9, x)
    for shrunk in (0.5, 1 - 1e-9, 1 + 1e-9, 2):
        delta = shrunk * phi(problem, agents, x) / n
        relaxed = in_relaxed_set(problem, agents, 0.0, delta, x)
        assert relaxed == is_admissible(problem, agents, delta, x) == (shrunk > 1)


@pytest.mark.checks("GU-3", "GU-4")
def test_without_byzantine_agents_only_the_optimum_is_admissible() -> None:
    problem = random_quadratics(3, 2, 1)
    everyone, optimum, delta = range(3), problem.minimiser(), heterogeneity(problem)
    assert is_admissible(problem, everyone, 1.01 * delta, optimum, tolerance=1e-12)
    assert not is_admissible(problem, everyone, 0.99 * delta, optimum, tolerance=1e-12)
    off = optimum + 1e-3
    assert not is_admissible(problem, everyone, 1e9, off, tolerance=1e-12)
    assert phi(problem, everyone, off) == np.inf
    length = float(np.linalg.norm(gradients(problem, [0, 1, 2], off).sum(axis=0)))
    assert in_relaxed_set(problem, everyone, length / 3 * 1.001, 1e9, off)
    assert not in_relaxed_set(problem, everyone, length / 3 * 0.999, 1e9, off)
    assert best_byzantine_vectors(problem, everyone, optimum).shape == (0, 2)
    ellipsoid = admissible_ellipsoid(problem, everyone, 1.01 * delta)
    assert ellipsoid.distance(off) == pytest.approx(np.linalg.norm(off - optimum))
    assert admissible_ellipsoid(problem, everyone, 0.99 * delta).empty
    assert balls([[0.0], [2.0]]).minimiser() == pytest.approx([1.0])
    assert admissible_ball(balls([[0.0], [2.0]]), [0, 1], 1.01).level == 0
    assert admissible_ball(balls([[0.0], [2.0]]), [0, 1], 0.99).empty


@pytest.mark.checks("GU-5")
@given(seeds, st.integers(1, 4), st.integers(1, 4), st.integers(1, 4), st.booleans())
def test_ellipsoid_contains_exactly_the_admissible_points(
    seed: int, size: int, b: int, d: int, ridge: bool
) -> None:
    n, agents, generator = size + b, list(range(size)), np.random.default_rng(seed)
    problem = regression(RidgeLeastSquares, n, d, seed) if ridge else random_quadratics(n, d, seed)
    least = phi(problem, agents, admissible_ellipsoid(problem, agents, 1.0).centre)
    delta = (least + 3.0) / n
    ellipsoid = admissible_ellipsoid(problem, agents, delta)
    hessians = [problem.losses[u].hessian_at(np.zeros(d)) for u in agents]
    centres = [
        np.linalg.solve(H, -problem.losses[u].gradient(np.zeros(d)))
        for u, H in zip(agents, hessians, strict=True)
    ]
    total, moment = sum(hessians), sum(H @ c for H, c in zip(hessians, centres, strict=True))
    matrix = sum(H @ H for H in hessians) + total @ total / b
    weighted = sum(H @ H @ c for H, c in zip(hessians, centres, strict=True)) + total @ moment / b
    assert ellipsoid.matrix == pytest.approx(matrix)
    assert ellipsoid.centre == pytest.approx(np.linalg.solve(matrix, weighted), abs=1e-9)
    assert ellipsoid.level == pytest.approx(3.0)
    for x in ellipsoid.centre + generator.normal(size=(50, d)):
        value, offset = phi(problem, agents, x), x - ellipsoid.centre
        assert value == pytest.approx(least + offset @ matrix @ offset, rel=1e-9)
        if abs(value - n * delta) > 1e-9 * value:
            assert ellipsoid.contains(x) == is_admissible(problem, agents, delta, x)
    nothing = admissible_ellipsoid(problem, agents, least / n - 0.01)
    assert nothing.empty
    assert not nothing.contains(nothing.centre)
    assert nothing.distance(nothing.centre) == np.inf


@pytest.mark.checks("GU-6")
@given(seeds, st.integers(1, 4), st.integers(1, 4), st.floats(0.1, 5), st.floats(0, 4))
def test_ball_is_the_ellipsoid(seed: int, size: int, b: int, h: float, delta: float) -> None:
    centres = np.random.default_rng(seed).normal(size=(size + b, 3))
    problem = balls(centres.tolist(), h)
    ball = admissible_ball(problem, range(size), delta)
    ellipsoid = admissible_ellipsoid(problem, range(size), delta)
    stretch = ellipsoid.matrix[0, 0]
    assert ellipsoid.matrix == pytest.approx(stretch * np.eye(3), abs=1e-12 * stretch)
    assert ball.centre == pytest.approx(ellipsoid.centre, abs=1e-12)
    assert ball.level == pytest.approx(ellipsoid.level / stretch, abs=1e-9)
    if ball.level > 0:
        far = ball.centre + np.array([0.0, 0.0, np.sqrt(ball.level) + 2.5])
        assert ball.distance(far) == pytest.approx(2.5)


@pytest.mark.checks("GU-5", "GU-6")
def test_other_losses_are_refused() -> None:
    logistic = regression(LogisticRegression, 3, 2, 0)
    with pytest.raises(AdmissibleError, match=r"not quadratic.*GU-5"):
        admissible_ellipsoid(logistic, [0], 1.0)
    for problem in (logistic, random_quadratics(3, 2, 0), regression(RidgeLeastSquares, 3, 2, 0)):
        with pytest.raises(AdmissibleError, match="GU-6"):
            admissible_ball(problem, [0, 1], 1.0)
    for agents in ([], [3], [-1, 0]):
        with pytest.raises(AdmissibleError, match=r"not a nonempty set.*GU-2"):
            phi(logistic, agents, np.zeros(2))


@pytest.mark.checks("GU-5")
@given(seeds, st.floats(0.05, 50), st.floats(0.01, 1e4))
def test_distance_is_the_least_over_a_dense_boundary(seed: int, level: float, far: float) -> None:
    generator = np.random.default_rng(seed)
    factor = generator.normal(size=(2, 2))
    matrix = factor @ factor.T + 0.1 * np.eye(2)
    ellipsoid = Ellipsoid(matrix, generator.normal(size=2), level)
    point = ellipsoid.centre + far * generator.normal(size=2)
    curvatures, basis = np.linalg.eigh(matrix)
    angles = np.linspace(0, 2 * np.pi, 20001)
    circle = np.stack([np.cos(angles), np.sin(angles)]) * np.sqrt(level / curvatures)[:, None]
    boundary = ellipsoid.centre + (basis @ circle).T
    nearest = np.linalg.norm(boundary - point, axis=1).min()
    reach, step = np.sqrt(level / curvatures[0]), angles[1]
    if ellipsoid.contains(point):
        assert ellipsoid.distance(point) == 0
    else:  # the boundary is sampled every `step`, at most reach * step apart
        assert nearest - reach * step <= ellipsoid.distance(point) <= nearest * (1 + 1e-9) + 1e-12
    assert Ellipsoid(matrix, ellipsoid.centre, 0.0).distance(point) == pytest.approx(
        np.linalg.norm(point - ellipsoid.centre)
    )


@pytest.mark.checks("GU-7")
@given(seeds, st.integers(2, 6), st.floats(0, 2), st.floats(0, 1), st.sampled_from(range(3)))
def test_fewer_agents_admit_more_models(
    seed: int, n: int, extra: float, e1: float, kind: int
) -> None:
    generator = np.random.default_rng(seed)
    problem = (
        random_quadratics(n, 2, seed),
        regression(RidgeLeastSquares, n, 2, seed),
        regression(LogisticRegression, n, 2, seed),
    )[kind]
    larger = sorted(generator.permutation(n)[: int(generator.integers(2, n + 1))].tolist())
    smaller = sorted(generator.permutation(larger)[: int(generator.integers(1, len(larger)))])
    x = problem.minimiser() + 0.3 * generator.normal(size=2)
    if len(larger) < n:
        value = phi(problem, larger, x)
        assert phi(problem, smaller, x) <= value * (1 + 1e-12)
        assert is_admissible(problem, smaller, (value + extra) / n * (1 + 1e-9), x)
    own = gradients(problem, larger, x)
    needed = (own**2).sum() / n + extra
    if in_relaxed_set(problem, larger, e1, needed, x):
        assert in_relaxed_set(problem, smaller, e1, needed * (1 + 1e-9), x)


@pytest.mark.checks("GU-7", "GU-6")
@pytest.mark.witness("A24")
def test_a_lone_validator_is_admissible_at_its_own_minimiser() -> None:
    """Ten agents, .7 apart, the last one Byzantine: what A(H_valid) admits, A(H) does not."""
    centres = [[0.7 * place] for place in (-4, -3, -2, -1, 0, 1, 2, 3, 4, 6)]
    problem = balls(centres)
    delta = heterogeneity(problem)
    radii = []
    for valid in (9, 7, 5, 3, 1):
        middle = range((9 - valid) // 2, (9 + valid) // 2)
        radii.append(float(np.sqrt(admissible_ball(problem, middle, delta).level)))
    assert radii == sorted(radii)
    assert (radii[0], radii[-1]) == (pytest.approx(0.42), pytest.approx(6.38, abs=0.01))
    for lone in range(9):
        minimiser = np.array(centres[lone])
        assert phi(problem, [lone], minimiser) == 0
        assert distance_to_admissible(problem, [lone], delta, minimiser) == Distance(0.0, True)
        strong = distance_to_admissible(problem, range(9), delta, minimiser)
        assert strong.exact
        assert strong.value == pytest.approx(max(abs(minimiser[0]) - 0.42, 0))


@pytest.mark.checks("GU-2", "GU-3")
@given(seeds)
def test_distance_for_other_losses_is_an_upper_bound_of_the_right_size(seed: int) -> None:
    problem, generator = regression(LogisticRegression, 4, 2, seed), np.random.default_rng(seed)
    agents = [0, 1, 2]
    optimum = problem.minimiser(agents)
    delta = 1.2 * phi(problem, agents, optimum) / 4
    point = optimum + 3 * generator.normal(size=2)
    found = distance_to_admissible(problem, agents, delta, point)
    if is_admissible(problem, agents, delta, point):
        assert found == Distance(0.0, exact=True)
        return
    assert not found.exact
    assert 0 < found.value <= np.linalg.norm(point - optimum) * (1 + 1e-12)
    assert is_admissible(problem, agents, delta, found.member)
    assert found.value == np.linalg.norm(found.member - point)
    angles = np.linspace(0, 2 * np.pi, 100)
    rays = found.value * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    assert not any(is_admissible(problem, agents, delta, x) for x in point + 0.3 * rays)
    hopeless = distance_to_admissible(problem, agents, 1e-9, point)
    assert hopeless == Distance(np.inf, exact=False)


@pytest.mark.checks("GU-3")
def test_distance_for_other_losses_without_byzantine_agents_is_exact() -> None:
    problem = regression(LogisticRegression, 3, 2, 7)
    point, delta = np.array([1.0, 2.0]), heterogeneity(problem)
    found = distance_to_admissible(problem, range(3), 1.1 * delta, point)
    assert found.exact
    assert found.value == pytest.approx(np.linalg.norm(point - problem.minimiser()))
    assert distance_to_admissible(problem, range(3), 0.9 * delta, point) == Distance(np.inf, True)
