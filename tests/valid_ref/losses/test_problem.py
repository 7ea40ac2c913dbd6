"""Whole problems: private gradients, common constants, minimisers, and the same bits again."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import valid_ref
from valid_ref.coins import Coins
from valid_ref.losses import (
    LogisticRegression,
    Loss,
    LossError,
    Noise,
    Problem,
    Quadratic,
    RidgeLeastSquares,
    random_quadratics,
)

seeds = st.integers(0, 2**40)
KINDS = ("quadratic", "ridge", "logistic")


def make(kind: str, d: int, seed: int, scale: float = 1.0, ridge: float = 0.1) -> Loss:
    generator = np.random.default_rng([seed, KINDS.index(kind)])
    if kind == "quadratic":
        return random_quadratics(1, d, seed, noise=Noise.SIGNS, spread=scale).losses[0]
    features = scale * generator.standard_normal((6, d))
    targets = generator.standard_normal(6)
    if kind == "ridge":
        return RidgeLeastSquares(features, scale * targets, ridge)
    return LogisticRegression(features, np.sign(targets), ridge)


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    d = draw(st.integers(1, 4))
    scale, ridge = draw(st.sampled_from([(1.0, 0.1), (0.01, 10.0), (100.0, 1e-6), (30.0, 1.0)]))
    kinds = draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=4))
    losses = [make(kind, d, draw(seeds), scale, ridge) for kind in kinds]
    return Problem(tuple(losses), draw(st.integers(1, 3)), draw(seeds))


@pytest.mark.checks("MO-9")
@given(problems(), st.data())
def test_the_minimiser_has_no_gradient(problem: Problem, data: st.DataObject) -> None:
    everyone = range(len(problem.losses))
    chosen = data.draw(st.one_of(st.none(), st.sets(st.sampled_from(everyone), min_size=1)))
    agents = list(everyone if chosen is None else chosen)
    x = problem.minimiser(None if chosen is None else agents)
    mean = np.mean([problem.losses[agent].gradient(x) for agent in agents], axis=0)
    first = [problem.losses[agent].gradient(np.zeros(problem.dimension)) for agent in agents]
    assert np.linalg.norm(mean) <= 1e-10 * max(np.linalg.norm(g) for g in first)


@pytest.mark.checks("MO-9")
@given(st.integers(1, 4), st.integers(1, 5), seeds)
def test_the_minimiser_of_quadratics_is_the_closed_form(agents: int, d: int, seed: int) -> None:
    problem = random_quadratics(agents, d, seed)
    quadratics = [loss for loss in problem.losses if isinstance(loss, Quadratic)]
    closed = np.linalg.solve(
        sum(loss.hessian for loss in quadratics),
        sum(loss.hessian @ loss.centre for loss in quadratics),
    )
    assert problem.minimiser() == pytest.approx(closed, rel=1e-10, abs=1e-12)
    assert problem.minimiser([0]) == pytest.approx(quadratics[0].centre, rel=1e-10, abs=1e-12)


@pytest.mark.checks("MO-9")
@given(st.lists(seeds, min_size=1, max_size=3), st.integers(1, 4))
def test_the_minimiser_of_ridge_solves_the_normal_equations(seeds: list[int], d: int) -> None:
    losses = [make("ridge", d, seed) for seed in seeds]
    data = [loss for loss in losses if isinstance(loss, RidgeLeastSquares)]
    normal = sum(a.features.T @ a.features / len(a.targets) + a.ridge * np.eye(d) for a in data)
    right = sum(a.features.T @ a.targets / len(a.targets) for a in data)
    closed = np.linalg.solve(normal, right)
    assert Problem(losses).minimiser() == pytest.approx(closed, rel=1e-9, abs=1e-11)


@pytest.mark.checks("MO-9")
def test_the_minimiser_of_logistic_regression_where_it_is_known() -> None:
    """ridge x = 1 / (1 + e^x) has the root 1 for ridge = 1 / (1 + e); no data, no weight: 0."""
    known = LogisticRegression([[1.0]], [1.0], 1 / (1 + np.e))
    assert Problem([known]).minimiser() == pytest.approx([1.0], rel=1e-14)
    flat = LogisticRegression(np.zeros((3, 2)), np.ones(3), 1.0)
    assert Problem([flat]).minimiser().tolist() == [0.0, 0.0]


@pytest.mark.checks("MO-9")
@pytest.mark.parametrize(
    ("features", "targets", "ridge"),
    [
        ([[-3, 4], [9, 4], [10, -50]], [-1, 1, 1], 1e-3),  # a full Newton step goes too far
        ([[2, 4], [40, 10], [-2, 4]], [1, 1, -1], 1e-2),  # x* has an entry 0, approached for ever
    ],
)
def test_newton_comes_to_rest_at_the_minimiser(
    features: list[list[float]], targets: list[float], ridge: float
) -> None:
    loss = LogisticRegression(features, targets, ridge)
    assert np.abs(loss.gradient(Problem([loss]).minimiser())).max() < 1e-14


@pytest.mark.checks("MO-9")
def test_a_minimiser_that_float64_cannot_find_is_refused() -> None:
    lost = RidgeLeastSquares([[1e9, 1e9]], [1.0], 1e-3)  # 1e18 + 1e-3 == 1e18
    with pytest.raises(LossError, match="singular in float64"):
        Problem([lost]).minimiser()


@pytest.mark.checks("MO-10")
@given(problems(), st.floats(0, 3))
def test_common_constants_hold_for_every_agent(problem: Problem, radius: float) -> None:
    common = (problem.strong_convexity, problem.smoothness, problem.loss_at_zero)
    mu, beta, at_zero = zip(
        *((a.strong_convexity, a.smoothness, a.loss_at_zero) for a in problem.losses), strict=True
    )
    assert common == (min(mu), max(beta), max(at_zero))
    deviations = [loss.gradient_deviation(radius) for loss in problem.losses]
    assert problem.gradient_deviation(radius) == max(deviations)


@pytest.mark.checks("MO-9")
@given(problems(), st.integers(1, 10**6), st.data())
def test_gradients_are_a_pure_function(problem: Problem, t: int, data: st.DataObject) -> None:
    """Of coins, agent, round and point: whatever else was asked before, and by whom."""
    agent = data.draw(st.integers(0, len(problem.losses) - 1))
    x = np.random.default_rng(0).standard_normal(problem.dimension)
    before = x.copy()
    source = problem.gradient_source(agent)
    first = source(t, x).tobytes()
    source(t + 1, x)
    source(t, 2 * x)
    assert source(t, x).tobytes() == first
    twin = Problem(problem.losses, problem.batch, problem.coins)
    assert twin.gradient_source(agent)(t, x).tobytes() == first
    assert x.tobytes() == before.tobytes()


@pytest.mark.checks("MO-9")
def test_seeds_agents_rounds_and_problems_draw_apart() -> None:
    """All 8 x 8 x 8 draws differ, also from those of the generators of random_quadratics."""
    loss = Quadratic(np.eye(2), np.zeros(2), Noise.GAUSSIAN, 1.0)
    seen = set()
    for seed in range(8):
        problem = Problem([loss] * 8, 1, seed)
        for agent in range(8):
            source = problem.gradient_source(agent)
            seen |= {source(t, np.zeros(2)).tobytes() for t in range(1, 9)}
            seen.add(loss.sample(np.zeros(2), 1, np.random.default_rng([seed, agent])).tobytes())
    assert len(seen) == 8 * 8 * 9


@pytest.mark.checks("MO-10")
@given(st.integers(1, 3), st.integers(1, 12), seeds, st.floats(1, 100))
def test_random_quadratics_are_what_they_say(
    agents: int, d: int, seed: int, condition: float
) -> None:
    problem = random_quadratics(agents, d, seed, condition=condition)
    again = random_quadratics(agents, d, seed, condition=condition)
    assert (len(problem.losses), problem.dimension) == (agents, d)
    assert problem.coins == Coins.of_seed(seed)
    x = np.ones(d)
    for loss, twin in zip(problem.losses, again.losses, strict=True):
        eigenvalues = np.linalg.eigvalsh(loss.hessian_at(x))
        assert 1 - 1e-12 * condition <= eigenvalues[0]
        assert eigenvalues[-1] <= condition * (1 + 1e-12)
        assert loss.gradient(x).tobytes() == twin.gradient(x).tobytes()
    longer = random_quadratics(agents + 1, d, seed, condition=condition)
    assert longer.losses[0].gradient(x).tobytes() == problem.losses[0].gradient(x).tobytes()


def test_random_quadratics_are_dense_and_differ() -> None:
    """Neither diagonal nor alike, and the eigenvalues fill the interval."""
    problem = random_quadratics(2, 50, 3, condition=9.0)
    first, second = (loss.hessian_at(np.zeros(50)) for loss in problem.losses)
    assert np.count_nonzero(first) == first.size
    assert np.linalg.norm(first @ second - second @ first) > 1
    eigenvalues = np.linalg.eigvalsh(first)
    assert eigenvalues[0] < 2
    assert eigenvalues[-1] > 8


SCRIPT = """
import sys
import numpy as np
from valid_ref.coins import Coins
from valid_ref.losses import *
x = np.random.default_rng(1).standard_normal(300)
problem = random_quadratics(1, 300, 7, noise=Noise.GAUSSIAN, spread=0.5, batch=3)
quadratic = problem.losses[0]
data = np.random.default_rng(2).standard_normal((300, 300))
ridge, logistic = RidgeLeastSquares(data, x, 0.1), LogisticRegression(data, np.sign(x), 0.1)
for array in (quadratic.hessian, quadratic.centre, problem.gradient_source(0)(1, x)):
    print(array.tobytes().hex())
for loss in (quadratic, ridge, logistic):
    print(loss.gradient(x).tobytes().hex(), loss.value(x).hex())
    print(loss.sample(x, 8, np.random.default_rng(3)).tobytes().hex())
"""


@pytest.mark.checks("MO-9")
def test_gradients_depend_neither_on_threads_nor_on_the_kernels_of_the_blas() -> None:
    root = str(Path(valid_ref.__file__).parents[1])
    outputs = {
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env=os.environ | {"PYTHONPATH": root} | settings,
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for settings in (
            {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
            {"OPENBLAS_NUM_THREADS": "2", "OMP_NUM_THREADS": "2"},
            {"OPENBLAS_NUM_THREADS": "1", "OPENBLAS_CORETYPE": "Nehalem"},
        )
    }
    assert [len(output.splitlines()) for output in outputs] == [9]


LOSS = Quadratic(np.eye(2), np.zeros(2))


@pytest.mark.checks("MO-9")
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([LOSS], 0), "mini-batch size K = 0 is not an integer from 1 on"),
        (([LOSS], -3), "mini-batch size K = -3"),
        (([LOSS], 1.5), "mini-batch size K = 1.5"),
        (([LOSS], 1, -1), "seed = -1 is not an integer from 0 on"),
        (([LOSS], 1, 0.5), "seed = 0.5"),
        (([],), r"the losses have dimensions \[\]"),
        (([LOSS, Quadratic([[1.0]], [0.0])],), r"the losses have dimensions \[2, 1\]"),
    ],
)
def test_what_is_no_problem_is_refused(arguments: tuple[object, ...], words: str) -> None:
    with pytest.raises(LossError, match=words) as caught:
        Problem(*arguments)
    assert caught.value.clause == "MO-9"


@pytest.mark.checks("MO-9")
def test_unknown_agents_are_refused() -> None:
    problem = Problem([LOSS, LOSS])
    for agent in (-1, 2):
        with pytest.raises(LossError, match="of a problem of 2 agents"):
            problem.gradient_source(agent)
    for agents in ([], [0, 2], [-1]):
        with pytest.raises(LossError, match="of a problem of 2 agents"):
            problem.minimiser(agents)


@pytest.mark.checks("MO-10")
@pytest.mark.parametrize(
    ("arguments", "options", "words"),
    [
        ((0, 2, 0), {}, "agents = 0"),
        ((2, 0, 0), {}, "dimension = 0"),
        ((2, -1, 0), {}, "dimension = -1"),
        ((2, 2, -1), {}, "seed = -1"),
        ((2, 2, 0), {"condition": 0.5}, "condition 0.5 is not a number from 1 on"),
        ((2, 2, 0), {"condition": float("nan")}, "condition nan"),
        ((2, 2, 0), {"condition": float("inf")}, "condition inf"),
        ((2, 2, 0), {"batch": 0}, "mini-batch size K = 0"),
        ((2, 2, 0), {"spread": 1.0}, "noise none does not go with spread 1.0"),
        ((2, 2, 0), {"noise": Noise.SIGNS}, "noise signs does not go with spread 0.0"),
    ],
)
def test_impossible_random_quadratics_are_refused(
    arguments: tuple[int, int, int], options: dict[str, float], words: str
) -> None:
    with pytest.raises(LossError, match=words):
        random_quadratics(*arguments, **options)
