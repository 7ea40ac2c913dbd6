"""Certificate and thresholds: they dominate exact moments, lattice runs, and noisy runs."""

import itertools
import math
from fractions import Fraction
from typing import cast

import attrs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import learned
from valid_ref.graph import AgentGraph
from valid_ref.graph_families import complete, cycle, path, star
from valid_ref.guarantees import (
    CertificateError,
    Level,
    NetworkProblem,
    Origin,
    Thresholds,
    calibrate,
    calibrated_weighting,
    certify,
    heterogeneity,
    shortfalls,
    thresholds_from_runs,
)
from valid_ref.lattice import default_limits, read_gradient, squared_norm, to_lattice
from valid_ref.losses import Noise, Problem, Quadratic, RidgeLeastSquares, random_quadratics
from valid_ref.machine import PhaseResult, run_machine
from valid_ref.protocols.learn import LearnModel
from valid_ref.protocols.parameters import exponential_weights, polynomial_weights
from valid_ref.schedule import Precision, Schedule, constant, harmonic, inverse_root, make_schedule

seeds = st.integers(0, 2**32)


def known(problem: Problem, graph: AgentGraph, start: np.ndarray) -> NetworkProblem:
    return NetworkProblem(
        graph,
        problem.dimension,
        problem.strong_convexity,
        problem.smoothness,
        problem.gradient_deviation(100.0),
        problem.batch,
        heterogeneity(problem),
        float(np.linalg.norm(start - problem.minimiser())),
    )


def exact_moments(
    problem: Problem, graph: AgentGraph, schedule: Schedule, start: np.ndarray
) -> list[tuple[float, float]]:
    """r_t and p_t of quadratics with independent noise, from the mean and covariance of X."""
    n, d = graph.agents, problem.dimension
    losses = [cast("Quadratic", loss) for loss in problem.losses]
    blocks = [loss.hessian for loss in losses]
    H, noise = np.zeros((n * d, n * d)), np.zeros((n * d, n * d))
    for v, loss in enumerate(losses):
        here = slice(v * d, v * d + d)
        H[here, here] = blocks[v]
        noise[here, here] = loss.spread**2 * blocks[v] @ blocks[v] / problem.batch
    centres = np.concatenate([loss.centre for loss in losses])
    average = np.kron(np.ones((n, n)) / n, np.eye(d))
    rest = np.eye(n * d) - average
    optimum = np.tile(problem.minimiser(), n)
    mean, covariance, found = np.tile(start, n), np.zeros((n * d, n * d)), []
    for t in range(1, schedule.rounds + 1):
        alpha, eta = float(schedule.alpha(t)), float(schedule.eta(t))
        W = np.kron(np.eye(n) - eta * graph.laplacian(), np.eye(d))
        off = average @ (mean - optimum)
        r = math.sqrt((off @ off + np.trace(average @ covariance)) / n)
        mean, covariance = W @ mean, W @ covariance @ W.T
        p = math.sqrt(max(0.0, mean @ rest @ mean + np.trace(rest @ covariance)))
        found.append((r, p))
        step = np.eye(n * d) - alpha * H
        mean = step @ mean + alpha * H @ centres
        covariance = step @ covariance @ step.T + alpha**2 * noise
    return found


@pytest.mark.checks("GU-9")
@pytest.mark.parametrize("seed", range(60))
def test_certificate_dominates_the_exact_moments(seed: int) -> None:
    """Steps beyond 1/beta and mixing beyond 1/l_M included; 2^-40 is the unit."""
    generator = np.random.default_rng(seed)
    n, d = int(generator.integers(2, 6)), int(generator.integers(1, 4))
    graph = (path, complete, star)[seed % 3](n)
    noisy = seed % 2 == 1
    problem = random_quadratics(
        n,
        d,
        seed,
        condition=float(generator.uniform(1, 6)),
        noise=Noise.SIGNS if noisy else Noise.NONE,
        spread=float(generator.uniform(0.1, 2)) if noisy else 0.0,
        batch=int(generator.integers(1, 4)),
    )
    mixing = constant(generator.uniform(0.1, 2.1) / graph.laplacian_eigenvalues()[-1])
    fixed = constant(generator.uniform(0.05, 2.2) / problem.smoothness)
    falling = harmonic(2 / problem.strong_convexity, 8)
    alpha = falling if seed % 4 < 2 else fixed
    schedule = make_schedule(60, alpha, mixing, Precision(40, 20))
    start = generator.normal(size=d)
    certificate = certify(known(problem, graph, start), schedule)
    exact = exact_moments(problem, graph, schedule, start)
    scale = 1e-7 * (1 + certificate.final_disagreement)  # floating point of the exact moments
    for t, (r, p) in enumerate(exact):
        assert r <= certificate.mean_distance[t] + scale
        assert p <= certificate.disagreement[t] + scale


@pytest.mark.checks("GU-9")
@pytest.mark.parametrize("spread", [0.0, 1.5])
def test_certificate_is_exact_where_nothing_is_given_away(spread: float) -> None:
    """One h for all agents on a complete graph; noise, or heterogeneity, but not both."""
    generator = np.random.default_rng(3)
    centres = generator.normal(size=(4, 2)) * (spread == 0)
    noise = Noise.SIGNS if spread else Noise.NONE
    problem = Problem([Quadratic(2 * np.eye(2), c, noise, spread) for c in centres], 3)
    schedule = make_schedule(50, harmonic(1.0, 4), constant(0.1), Precision(45, 20))
    start, graph = np.array([1.0, -2.0]), complete(4)
    certificate = certify(known(problem, graph, start), schedule)
    exact = exact_moments(problem, graph, schedule, start)
    r, p = exact[-1]
    assert certificate.mean_distance[-1] == pytest.approx(r, rel=1e-6, abs=1e-9)
    assert certificate.disagreement[-1] == pytest.approx(p, rel=1e-6)
    assert p > 0.01


def models(result: PhaseResult, t: int) -> np.ndarray:
    spoken = result.rounds[t - 1]
    return np.array([learned(spoken, v).model for v in spoken.said], dtype=float)


@pytest.mark.checks("GU-9")
@given(seeds, st.integers(0, 12), st.sampled_from(["path", "cycle", "star"]), st.floats(1, 5))
def test_certificate_covers_the_rounding_of_a_coarse_lattice(
    seed: int, f: int, shape: str, condition: float
) -> None:
    graph = {"path": path(4), "cycle": cycle(5), "star": star(4)}[shape]
    problem = random_quadratics(graph.agents, 2, seed, condition=condition)
    alpha, eta = constant(0.9 / problem.smoothness), constant(0.8 / graph.max_degree)
    schedule = make_schedule(15, alpha, eta, Precision(f, 12))
    parameters = default_limits(2, schedule, graph.max_degree)
    start = to_lattice(np.random.default_rng(seed).normal(size=2), schedule.precision)
    private = {v: problem.gradient_source(v) for v in range(graph.agents)}
    result = run_machine(graph, LearnModel(graph, parameters, start), private)
    certificate = certify(known(problem, graph, start / 2**f), schedule)
    distances = (*certificate.mean_distance[1:], certificate.final_distance)
    W = np.eye(graph.agents) - float(schedule.eta(1)) * graph.laplacian()
    for t in range(1, schedule.rounds + 1):
        X = models(result, t) / 2**f
        mean = X.mean(axis=0)
        assert np.linalg.norm(mean - problem.minimiser()) <= distances[t - 1]
        if t < schedule.rounds:
            assert np.linalg.norm(W @ X - mean) <= certificate.disagreement[t]
        else:
            assert np.linalg.norm(X - mean) <= certificate.final_disagreement


@pytest.mark.checks("GU-9")
def test_rounding_that_follows_the_noise_adds_in_full() -> None:
    """Noise of 2.5 units is rounded to 3, half of that to 2: always outwards, in all four runs.

    So the slack of rounding must not stand under the square beside the noise.
    """
    spread = 2.5 + 2.0**-10
    loss = Quadratic(np.eye(1), np.zeros(1), Noise.SIGNS, spread)
    schedule, graph = Schedule(Precision(0, 1), (1,), (1,)), path(2)
    machine = LearnModel(graph, default_limits(1, schedule, 1), np.zeros(1, dtype=np.int64))
    squares = []
    for signs in itertools.product((-spread, spread), repeat=2):
        private = {v: (lambda _t, y, D=signs[v]: y - D) for v in range(2)}
        X = models(run_machine(graph, machine, private), 1)
        squares.append((X.mean() ** 2, ((X - X.mean()) ** 2).sum()))
    mean, rest = np.mean(squares, axis=0)
    assert (mean, rest) == (2.0, 4.0)
    certificate = certify(known(Problem([loss] * 2), graph, np.zeros(1)), schedule)
    assert mean <= certificate.final_distance**2
    assert rest <= certificate.final_disagreement**2
    slack, noise = 0.5 + 0.5 * (0.5 + 0.5), 0.5 * spread
    assert mean > slack**2 + noise**2 / 2
    assert rest > 2 * slack**2 + noise**2


def statistics(
    problem: Problem, graph: AgentGraph, schedule: Schedule, all_weights: list[tuple[int, ...]]
) -> list[tuple[float, float]]:
    """|sum ghat| / (n W 2^f) and sum lhat^2 / (n W^2 4^f) of one honest run, in plain integers."""
    n, d = graph.agents, problem.dimension
    parameters = default_limits(d, schedule, graph.max_degree)
    machine = LearnModel(graph, parameters, np.zeros(d, dtype=np.int64))
    result = run_machine(graph, machine, {v: problem.gradient_source(v) for v in range(n)})
    assert all(state.alarms == () for state in result.states.values())
    gradients = [
        [read_gradient(parameters, t, learned(spoken, v).scaled_gradient) for v in spoken.said]
        for t, spoken in enumerate(result.rounds, start=1)
    ]
    found = []
    for weights in all_weights:
        scale = sum(weights) * 2**schedule.precision.fraction_bits
        pairs = list(zip(weights, gradients, strict=True))
        total = sum(w * np.sum(row, axis=0).astype(object) for w, row in pairs)
        lengths = [sum(w * math.isqrt(squared_norm(row[v])) for w, row in pairs) for v in range(n)]
        optimality = math.sqrt(sum(int(x) ** 2 for x in total)) / (n * scale)
        found.append((optimality, sum(length**2 for length in lengths) / (n * scale**2)))
    return found


@pytest.mark.checks("GU-9")
@given(seeds, st.integers(4, 30), st.integers(5, 40), st.floats(1, 6), st.floats(0.1, 1.9))
def test_noiseless_runs_stay_below_certified_thresholds(
    seed: int, f: int, T: int, condition: float, step: float
) -> None:
    graph = (path(3), cycle(4), star(5))[seed % 3]
    problem = random_quadratics(graph.agents, 2, seed, condition=condition)
    schedule = make_schedule(
        T, constant(step / problem.smoothness), constant(1 / (graph.max_degree + 1)), Precision(f)
    )
    weights = [exponential_weights(T, 0.8), polynomial_weights(T, 2)]
    level = Level(0.5, heterogeneity(problem))
    for w, (optimality, squares) in zip(
        weights, statistics(problem, graph, schedule, weights), strict=True
    ):
        thresholds = calibrate(problem, graph, schedule, w, level)
        assert optimality <= thresholds.optimality
        assert squares <= thresholds.heterogeneity


@pytest.mark.checks("GU-9")
@pytest.mark.parametrize("noise", [Noise.SIGNS, Noise.GAUSSIAN])
def test_noisy_honest_runs_stay_below_certified_thresholds(noise: Noise) -> None:
    """100 runs of 60 rounds at theta = .05 for each test: no alarm.

    A rate of .05 would show no alarm with probability .95^100 = .006; 0 of 100 bounds the rate by
    .03 with confidence .95. The seeds are fixed, so the test does not fluctuate.
    """
    n, d, T, graph = 3, 2, 60, complete(3)
    generator = np.random.default_rng(1)
    centres = 0.3 * generator.normal(size=(n, d))
    problem = Problem([Quadratic(np.eye(d), c, noise, 1.0) for c in centres], batch=4)
    schedule = make_schedule(T, harmonic(2.0, 4), inverse_root(math.sqrt(5) / 3, 4))
    weights = [exponential_weights(T, 0.9), polynomial_weights(T, 2)]
    delta, radius = heterogeneity(problem), float(np.linalg.norm(problem.minimiser()))
    level = Level(0.05, delta, start_radius=radius)
    thresholds = [calibrate(problem, graph, schedule, w, level) for w in weights]
    shares = np.array(
        [
            [
                (optimality / limit.optimality, squares / limit.heterogeneity)
                for limit, (optimality, squares) in zip(
                    thresholds,
                    statistics(attrs.evolve(problem, coins=seed), graph, schedule, weights),
                    strict=True,
                )
            ]
            for seed in range(100)
        ]
    )
    assert (shares <= 1).all()
    assert (shares.max(axis=0) > 0.1).all()  # the thresholds are not just anything
    worse = Problem([Quadratic(np.eye(d), 20 * c, noise, 1.0) for c in centres], 4, coins=0)
    for limit, (_opt, squares) in zip(
        thresholds, statistics(worse, graph, schedule, weights), strict=True
    ):
        assert squares > limit.heterogeneity


@pytest.mark.checks("GU-9")
def test_thresholds_are_the_formulas_of_the_specification() -> None:
    """Written out again with arrays, for fine units, where the slacks vanish."""
    n, d, T, K, theta, k4 = 5, 3, 30, 2, 0.1, 4.0
    graph = cycle(n)
    problem = random_quadratics(n, d, 8, noise=Noise.SIGNS, spread=0.3, batch=K)
    schedule = make_schedule(T, harmonic(1.0, 6), constant(0.2), Precision(50, 20))
    weights, delta = polynomial_weights(T, 1), 1.5 * heterogeneity(problem)
    mu, beta, sigma = problem.strong_convexity, problem.smoothness, problem.gradient_deviation(9.0)
    eigenvalues = graph.laplacian_eigenvalues()
    R, P, r, p = 0.5 + math.sqrt(2 * problem.loss_at_zero / mu), 0.0, [], []
    for t in range(1, T + 1):
        alpha, eta = float(schedule.alpha(t)), float(schedule.eta(t))
        q = max(abs(1 - alpha * mu), abs(1 - alpha * beta))
        r.append(R)
        p.append(max(abs(1 - eta * eigenvalues[1]), abs(1 - eta * eigenvalues[-1])) * P)
        pull = math.sqrt(n * delta) + (beta - mu) * math.sqrt(n) * r[-1] / 2
        R = math.sqrt(
            (q * r[-1] + alpha * (beta - mu) * p[-1] / (2 * math.sqrt(n))) ** 2
            + alpha**2 * sigma**2 / (n * K)
        )
        P = math.sqrt((q * p[-1] + alpha * pull) ** 2 + alpha**2 * (n - 1) * sigma**2 / K)
    omega, r, p = np.array(weights) / sum(weights), np.array(r), np.array(p)
    S2 = (omega**2).sum()
    drift = (omega * (beta * r + (beta - mu) * p / (2 * math.sqrt(n)))).sum()
    optimality = theta**-0.5 * (sigma * math.sqrt(S2 / (n * K)) + drift)
    bracket = 2 * sigma * math.sqrt(delta * S2 / (n * K)) + math.sqrt(k4 * S2 / n) * sigma**2 / K
    N = math.sqrt(delta + sigma**2 / K + math.sqrt(2 / theta) * bracket)
    rho = math.sqrt((omega * (r**2 + p**2 / n)).sum())
    level = Level(theta, delta, start_norm=0.5, kurtosis=k4)
    found = calibrate(problem, graph, schedule, weights, level)
    assert found.optimality == pytest.approx(optimality, rel=1e-9)
    assert found.heterogeneity == pytest.approx((N + (2 / theta) ** 0.5 * beta * rho) ** 2)
    assert found.optimality > optimality
    coarse = attrs.evolve(schedule, precision=Precision(3, 20))
    h = math.sqrt(d) / 8 * (omega * [0.5 / float(schedule.alpha(t)) + 2 for t in range(1, T + 1)])
    slack = calibrate(problem, graph, coarse, weights, level).optimality - optimality
    assert slack > h.sum()  # the read-off, and the rounding of the models on top


def diverging(alpha: float, eta: float, condition: float, text: str) -> None:
    graph = path(6)
    problem = random_quadratics(6, 2, 0, condition=condition)
    schedule = make_schedule(4000, constant(alpha / problem.smoothness), constant(eta))
    with pytest.raises(CertificateError, match=text):
        calibrate(
            problem, graph, schedule, polynomial_weights(4000, 1), Level(0.05, 1e4, radius=1.0)
        )


@pytest.mark.checks("GU-9", "GV-7")
def test_what_cannot_be_certified_says_why() -> None:
    diverging(2.2, 0.3, 2.0, r"diverges by round \d+: alpha_1 = .* is above 2/beta.*GV-7")
    diverging(0.1, 0.8, 2.0, r"diverges by round \d+: eta_1 = 0\.\d+ is above 2/l_M")
    diverging(1.0, 0.001, 50.0, r"diverges by round \d+: kappa = .* is too large for this mixing")
    graph, schedule, weights = path(3), make_schedule(5, constant(0.1), constant(0.3)), (1,) * 5
    problem = random_quadratics(3, 2, 0)
    with pytest.raises(CertificateError, match=r"heterogeneity .* above delta = 1e-06.*GV-7"):
        calibrate(problem, graph, schedule, weights, Level(0.05, 1e-6))
    gaussian = random_quadratics(3, 2, 0, noise=Noise.GAUSSIAN, spread=1.0)
    with pytest.raises(CertificateError, match=r"start_radius = inf.*must be configured"):
        calibrate(gaussian, graph, schedule, weights, Level(0.05, 100.0))
    assert calibrate(gaussian, graph, schedule, weights, Level(0.05, 100.0, start_radius=3.0))
    ridge = Problem([RidgeLeastSquares(np.eye(2), np.ones(2), 0.5)] * 3)
    wide = make_schedule(5, constant(0.1), constant(0.6))
    with pytest.raises(CertificateError, match=r"radius of all models must be configured"):
        calibrate(ridge, graph, wide, weights, Level(0.05, 1.0))
    assert calibrate(ridge, graph, wide, weights, Level(0.05, 1.0, radius=2.0)).vacuous == ()
    for theta in (0.0, 1.0, math.nan):
        with pytest.raises(CertificateError, match="not between 0 and 1"):
            Level(theta, 1.0)
    with pytest.raises(CertificateError, match="positive sum"):
        calibrate(problem, graph, schedule, (0,) * 5, Level(0.05, 100.0))


@pytest.mark.checks("GU-9", "GV-7")
def test_thresholds_say_when_nothing_can_fail_them() -> None:
    problem, graph = random_quadratics(4, 2, 5, condition=1.5), complete(4)
    short, long = (make_schedule(T, harmonic(2.0, 4), constant(0.25)) for T in (3, 300))
    level = Level(0.05, heterogeneity(problem))
    few = calibrate(problem, graph, short, polynomial_weights(3, 1), level)
    assert few.vacuous == ("optimality", "heterogeneity")
    assert few.origin is Origin.CERTIFICATE
    assert calibrate(problem, graph, long, exponential_weights(300, 0.9), level).vacuous == ()


@pytest.mark.checks("GU-9", "GV-7")
def test_thresholds_from_runs_and_their_integers() -> None:
    found = thresholds_from_runs([(0.5, 2.0), (0.25, 3.0)])
    assert found == Thresholds(1.1 * 0.5, 1.1 * 3.0, Origin.RUNS, runs=2)
    for statistics_seen, factor in (([], 1.1), ([(1.0, 1.0)], 0.9)):
        with pytest.raises(CertificateError, match="at least one run and a factor of at least 1"):
            thresholds_from_runs(statistics_seen, factor)
    weighting = calibrated_weighting("last", (1, 2), found, 5, 4)
    assert weighting.origin == "calibrated"
    assert weighting.optimality == math.ceil(5 * 3 * 16 * Fraction(1.1 * 0.5))
    assert weighting.heterogeneity == math.ceil(5 * 9 * 256 * Fraction(1.1 * 3.0))
    assert shortfalls(weighting, weighting) == ()
    lower = attrs.evolve(weighting, optimality=weighting.optimality - 1)
    assert shortfalls(lower, weighting) == ("last: optimality threshold 132 is below 133",)
    assert len(shortfalls(lower, None)) == 2
