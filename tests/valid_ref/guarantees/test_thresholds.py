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
    PathBounds,
    RoundsNeeded,
    Thresholds,
    calibrate,
    certified_weighting,
    certify,
    heterogeneity,
    rounds_needed,
    shortfalls,
)
from valid_ref.lattice import default_limits, read_gradient, squared_norm, to_lattice
from valid_ref.losses import Noise, Problem, Quadratic, RidgeLeastSquares, random_quadratics
from valid_ref.machine import PhaseResult, run_machine
from valid_ref.protocols.learn import LearnModel
from valid_ref.protocols.parameters import exponential_weights, polynomial_weights
from valid_ref.schedule import (
    Precision,
    Schedule,
    ScheduleError,
    constant,
    harmonic,
    inverse_root,
    make_schedule,
)

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
) -> tuple[np.ndarray, np.ndarray]:
    """r_t, p_t and rho_t of path and noise, for quadratics: from mean and covariance of X."""
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
    mean, covariance = np.tile(start, n), np.zeros((n * d, n * d))
    paths, noises = [], []
    for t in range(1, schedule.rounds + 1):
        alpha, eta = float(schedule.alpha(t)), float(schedule.eta(t))
        W = np.kron(np.eye(n) - eta * graph.laplacian(), np.eye(d))
        mean, covariance = W @ mean, W @ covariance @ W.T
        off = mean - optimum
        paths.append((off @ average @ off / n, off @ rest @ off, off @ off / n))
        shares = (np.trace(average @ covariance) / n, np.trace(rest @ covariance))
        noises.append((*shares, np.trace(covariance) / n))
        step = np.eye(n * d) - alpha * H
        mean = step @ mean + alpha * H @ centres
        covariance = step @ covariance @ step.T + alpha**2 * noise
    return np.sqrt(np.maximum(paths, 0)), np.sqrt(np.maximum(noises, 0))


def columns(course: PathBounds) -> np.ndarray:
    return np.array([course.mean[:-1], course.mixed, course.total]).T


@pytest.mark.checks("GU-9")
@pytest.mark.parametrize("seed", range(60))
def test_certificate_dominates_the_exact_moments(seed: int) -> None:
    """Path and noise each; steps beyond 1/beta and mixing beyond 1/l_M included; unit 2^-40."""
    generator = np.random.default_rng(seed)
    n, d = int(generator.integers(2, 6)), int(generator.integers(1, 4))
    graph = (path, complete, star)[seed % 3](n)
    noisy = seed % 2 == 1
    problem = random_quadratics(
        n,
        d,
        seed,
        condition=float(generator.uniform(1, 12)),
        noise=Noise.SIGNS if noisy else Noise.NONE,
        spread=float(generator.uniform(0.1, 2)) if noisy else 0.0,
        batch=int(generator.integers(1, 4)),
    )
    mixing = constant(generator.uniform(0.1, 2.1) / graph.laplacian_eigenvalues()[-1])
    fixed = constant(generator.uniform(0.05, 2.2) / problem.smoothness)
    falling = harmonic(2 / problem.strong_convexity, 2 * problem.smoothness)
    alpha = falling if seed % 4 < 2 else fixed
    schedule = make_schedule(60, alpha, mixing, Precision(40, 20))
    start = generator.normal(size=d)
    certificate = certify(known(problem, graph, start), schedule)
    exact = exact_moments(problem, graph, schedule, start)
    scale = 1e-7 * (1 + certificate.final_disagreement)  # floating point of the exact moments
    for course, moments in zip((certificate.path, certificate.noise), exact, strict=True):
        assert (moments <= columns(course) + scale).all()
    r, p, _rho = sum(exact)[-1]
    assert r <= certificate.mean_distance[-1] + scale
    assert p <= certificate.disagreement[-1] + scale


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
    courses = (certificate.path, certificate.noise)
    exact = exact_moments(problem, graph, schedule, start)
    for course, moments in zip(courses, exact, strict=True):
        assert columns(course)[-1] == pytest.approx(moments[-1], rel=1e-6, abs=1e-9)
    assert sum(exact)[-1, 1] > 0.01


@pytest.mark.checks("GU-9")
@pytest.mark.parametrize("family", [path, star])
def test_the_path_stays_bounded_whatever_kappa_is(family) -> None:
    """kappa = 50 on a path and a star of 6: by mean and rest alone the bound diverges.

    In all, the distance over sqrt(n) is at most that of the start and sqrt(delta) / mu.
    """
    graph, problem = family(6), random_quadratics(6, 2, 3, condition=50.0)
    mu = problem.strong_convexity
    eta = constant(0.1 / graph.laplacian_eigenvalues()[-1])
    schedule = make_schedule(500, constant(1 / problem.smoothness), eta, Precision(40, 30))
    certificate = certify(known(problem, graph, np.zeros(2)), schedule)
    moments, _noise = exact_moments(problem, graph, schedule, np.zeros(2))
    limit = float(np.linalg.norm(problem.minimiser())) + math.sqrt(heterogeneity(problem)) / mu
    assert (moments[:, 2] <= certificate.path.total).all()
    assert max(certificate.path.total) <= limit * (1 + 1e-6)


@pytest.mark.checks("GU-9")
def test_certificate_of_fewer_rounds_is_the_beginning() -> None:
    problem, graph = random_quadratics(4, 2, 1, noise=Noise.SIGNS, spread=0.2), cycle(4)
    schedules = [make_schedule(T, harmonic(2.0, 8), constant(0.2)) for T in (30, 12)]
    long, short = (certify(known(problem, graph, np.ones(2)), s) for s in schedules)
    assert long.first(12) == short


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
) -> list[tuple[float, float, float]]:
    """|sum ghat| / (n W 2^f), sum |ghat|^2 and sum lhat^2 / (n W^2 4^f), in plain integers."""
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
        means = [sum(w * row[v].astype(object) for w, row in pairs) for v in range(n)]
        lengths = [sum(w * math.isqrt(squared_norm(row[v])) for w, row in pairs) for v in range(n)]
        optimality = math.sqrt(sum(int(x) ** 2 for x in sum(means))) / (n * scale)
        squares = [sum(int(x) ** 2 for x in mean) for mean in means]
        length_squares = [length**2 for length in lengths]
        sums = (sum(column) / (n * scale**2) for column in (squares, length_squares))
        found.append((optimality, *sums))
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
    for w, (optimality, squares, lengths) in zip(
        weights, statistics(problem, graph, schedule, weights), strict=True
    ):
        thresholds = calibrate(problem, graph, schedule, w, level)
        assert optimality <= thresholds.optimality
        assert squares <= thresholds.heterogeneity
        printed = calibrate(problem, graph, schedule, w, attrs.evolve(level, lengths=True))
        assert printed.optimality == thresholds.optimality
        assert lengths <= printed.heterogeneity


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
    level = Level(0.05, delta, start_radius=radius, kurtosis=3.0)
    lengths = attrs.evolve(level, lengths=True)
    thresholds = [
        (found.optimality, found.heterogeneity, printed.heterogeneity)
        for found, printed in (
            [calibrate(problem, graph, schedule, w, one) for one in (level, lengths)]
            for w in weights
        )
    ]
    runs = [
        statistics(attrs.evolve(problem, coins=seed), graph, schedule, weights)
        for seed in range(100)
    ]
    shares = np.array(runs) / np.array(thresholds)
    assert (shares <= 1).all()
    assert (shares.max(axis=0) > 0.1).all()  # the thresholds are not just anything
    worse = Problem([Quadratic(np.eye(d), 20 * c, noise, 1.0) for c in centres], batch=4, coins=0)
    seen = np.array(statistics(worse, graph, schedule, weights))
    assert (seen[:, 1:] > np.array(thresholds)[:, 1:]).all()


def plain_thresholds(
    problem: Problem,
    graph: AgentGraph,
    schedule: Schedule,
    weights: tuple[int, ...],
    theta: float,
    delta: float,
    C: float,
    k4: float,
) -> tuple[float, float, float]:
    """eps_opt and both delta + eps_het written out again, without lattice slacks."""
    n, K, T = graph.agents, problem.batch, schedule.rounds
    mu, beta, s = problem.strong_convexity, problem.smoothness, problem.gradient_deviation(9.0)
    s /= math.sqrt(K)
    l2, lM = graph.laplacian_eigenvalues()[[1, -1]]
    o, D = (beta - mu) / 2, math.sqrt(n * delta)
    R, P, N, Q = 0.5 + math.sqrt(2 * problem.loss_at_zero / mu), 0.0, 0.0, 0.0
    U, u = math.sqrt(n) * R, 0.0
    r, rho, a, b = [], [], [], []
    for t in range(1, T + 1):
        alpha, eta = float(schedule.alpha(t)), float(schedule.eta(t))
        c = abs(1 - alpha * (beta + mu) / 2)
        q, m = c + alpha * o, max(abs(1 - eta * l2), abs(1 - eta * lM))
        y = min(math.sqrt(n * R**2 + (m * P) ** 2), U)
        r.append(R)
        rho.append(y / math.sqrt(n))
        R, P = c * R + alpha * o * y / math.sqrt(n), c * m * P + alpha * (o * y + D)
        U = q * y + alpha * D
        R, P = min(R, U / math.sqrt(n)), min(P, U)
        y = min(math.sqrt(n * N**2 + (m * Q) ** 2), u)
        a.append(N)
        b.append(y / math.sqrt(n))
        N = math.hypot(c * N + alpha * o * y / math.sqrt(n), alpha * s / math.sqrt(n))
        Q = math.hypot(c * m * Q + alpha * o * y, alpha * s * math.sqrt(n - 1))
        u = math.hypot(q * y, alpha * s * math.sqrt(n))
        N, Q = min(N, u / math.sqrt(n)), min(Q, u)
    w = np.array(weights) / sum(weights)
    S2 = (w**2).sum()
    per_step = w / np.array([float(schedule.alpha(t)) for t in range(1, T + 1)])
    parts = np.abs(np.diff(np.concatenate([[0.0], per_step, [0.0]])))
    r, rho, a, b = map(np.array, (r, rho, a, b))

    def tail(variance: float, step: float, bounded: float, level: float) -> float:
        L = math.log(2 / level)
        bernstein = step * L / 3 + math.sqrt((step * L / 3) ** 2 + 2 * L * variance)
        return min(bernstein, math.sqrt(2 * L * bounded))

    def shaken(variance: float, step: float, bounded: float, drift: float) -> float:
        splits = [
            tail(variance, step, bounded, theta / 2**j) + drift / math.sqrt(theta - theta / 2**j)
            for j in range(1, 9)
        ]
        return min((math.sqrt(variance) + drift) / math.sqrt(theta), *splits)

    path_part = min((w * ((beta + mu) / 2 * r + o * rho)).sum(), (parts * np.append(r, R)).sum())
    drift = (w * ((beta + mu) / 2 * a + o * b)).sum()
    noise_part = min(
        shaken(s**2 * S2 / n, 2 * C * w.max() / (n * K), 4 * C**2 * S2 / (n * K), drift),
        (parts * np.append(a, N)).sum() / math.sqrt(theta),
    )
    step = 2 * C * w.max() / (math.sqrt(n) * K)
    root = math.sqrt(delta) + beta * (w * rho).sum()
    root += shaken(s**2 * S2, step, 4 * C**2 * S2 / K, beta * (w * b).sum())
    bracket = 2 * s * math.sqrt(delta * S2 / n) + math.sqrt(k4 * S2 / n) * s**2
    lengths = math.sqrt(delta + s**2 + math.sqrt(2 / theta) * bracket)
    lengths += beta * math.sqrt((w * rho**2).sum())
    lengths += math.sqrt(2 / theta) * beta * math.sqrt((w * b**2).sum())
    return path_part + noise_part, root**2, lengths**2


@pytest.mark.checks("GU-9")
@pytest.mark.parametrize("theta", [0.2, 1e-6])
@pytest.mark.parametrize(("T", "condition"), [(5, 1.0), (30, 4.0), (300, 1.5), (400, 30.0)])
def test_thresholds_are_the_formulas_of_the_specification(
    theta: float, T: int, condition: float
) -> None:
    """Written out again with arrays, for fine units, where the slacks vanish."""
    graph = path(5) if condition > 4 else cycle(5)  # on the path both bounds are used
    problem = random_quadratics(
        5, 3, 8, condition=condition, noise=Noise.SIGNS, spread=0.3, batch=2
    )
    offset = max(6.0, 2 * condition)
    eta = inverse_root(0.2 * math.sqrt(1 + offset), offset)
    schedule = make_schedule(T, harmonic(1.0, offset), eta, Precision(50, 20))
    weights, delta = polynomial_weights(T, 1), 1.5 * heterogeneity(problem)
    C, k4 = 2 * problem.gradient_deviation(9.0), 4.0
    plain = plain_thresholds(problem, graph, schedule, weights, theta, delta, C, k4)
    level = Level(theta, delta, start_norm=0.5, gradient_bound=C)
    found = calibrate(problem, graph, schedule, weights, level)
    lengths = attrs.evolve(level, lengths=True, kurtosis=k4)
    printed = calibrate(problem, graph, schedule, weights, lengths)
    all_found = (found.optimality, found.heterogeneity, printed.heterogeneity)
    assert all_found == pytest.approx(plain, rel=1e-8)
    assert all(a > b for a, b in zip(all_found, plain, strict=True))
    coarse = attrs.evolve(schedule, precision=Precision(3, 20))
    slack = calibrate(problem, graph, coarse, weights, level).optimality - found.optimality
    assert slack > math.sqrt(3) / 8  # the read-off, and the rounding of the models on top


@pytest.mark.checks("GU-9")
def test_bounded_gradients_help_where_theta_is_small() -> None:
    """Chebyshev's tail falls as 1/theta, that of Pinelis as a logarithm."""
    graph, weights = complete(5), polynomial_weights(400, 1)
    problem = random_quadratics(5, 2, 4, condition=1.0, noise=Noise.SIGNS, spread=1.0)
    schedule = make_schedule(400, harmonic(2.0, 4), constant(0.15))
    known_bounds = calibrate(problem, graph, schedule, weights, Level(0.05, heterogeneity(problem)))
    unbounded = Problem([attrs.evolve(loss, noise=Noise.GAUSSIAN) for loss in problem.losses])
    radius = float(np.linalg.norm(problem.minimiser()))
    level = Level(0.05, heterogeneity(problem), start_radius=radius)
    assert (
        known_bounds.heterogeneity
        < calibrate(unbounded, graph, schedule, weights, level).heterogeneity
    )


@pytest.mark.checks("GU-9")
def test_averages_of_lengths_need_a_kurtosis_or_a_gradient_bound() -> None:
    """|xi| <= 2C makes E|xi|^4 at most 4 C^2 sigma^2 / K; neither is taken for granted."""
    graph, T = complete(3), 40
    schedule, weights = make_schedule(T, harmonic(2.0, 4), constant(0.3)), (1,) * T
    gaussian = Problem([Quadratic(np.eye(1), np.zeros(1), Noise.GAUSSIAN, 1.0)] * 3)
    wanted = Level(0.2, 0.0, start_radius=1.0, lengths=True)
    with pytest.raises(CertificateError, match=r"without a kurtosis .* gradient_bound.*GU-9"):
        calibrate(gaussian, graph, schedule, weights, wanted)
    for given_now in ({"kurtosis": 3.0}, {"gradient_bound": 10.0}, {"lengths": False}):
        assert calibrate(gaussian, graph, schedule, weights, attrs.evolve(wanted, **given_now))
    by_bound, by_kurtosis, three = (
        calibrate(gaussian, graph, schedule, weights, attrs.evolve(wanted, **given_now))
        for given_now in ({"gradient_bound": 10.0}, {"kurtosis": 400.0}, {"kurtosis": 3.0})
    )
    assert by_bound.heterogeneity == by_kurtosis.heterogeneity > three.heterogeneity
    for kurtosis in (0.5, math.inf, math.nan):
        with pytest.raises(CertificateError, match=r"kurtosis = .* from 1 on"):
            attrs.evolve(wanted, kurtosis=kurtosis)
    with pytest.raises(CertificateError, match=r"gradient_bound = -1"):
        calibrate(gaussian, graph, schedule, weights, attrs.evolve(wanted, gradient_bound=-1.0))


@pytest.mark.checks("GU-9", "GV-7")
def test_rounds_needed_is_the_first_useful_number_of_rounds() -> None:
    problem, graph = random_quadratics(6, 3, 2, condition=6.0), path(6)
    steps = harmonic(2 / problem.strong_convexity, 20)

    def schedule(T: int) -> Schedule:
        return make_schedule(T, steps, inverse_root(1.0, 20))

    def weights(T: int) -> tuple[int, ...]:
        return polynomial_weights(T, 1)

    level = Level(0.05, heterogeneity(problem))
    needed = rounds_needed(problem, graph, schedule, weights, level, limit=512)
    for test in ("optimality", "heterogeneity"):
        T = getattr(needed, test)
        assert needed.said(test) == f"T = {T} would do"
        for rounds, useful in ((T - 1, False), (T, True)):
            found = calibrate(problem, graph, schedule(rounds), weights(rounds), level)
            assert (test not in found.vacuous) is useful
    few = rounds_needed(problem, graph, schedule, weights, level, limit=3)
    assert few == RoundsNeeded(None, None, 3)
    assert few.said("optimality") == "nor is T = 3 enough"

    def none(rounds: int) -> Schedule:
        raise ScheduleError(f"no steps for {rounds} rounds", clause="AR-2")

    given_one_by_one = rounds_needed(problem, graph, none, weights, level, limit=8)
    assert given_one_by_one.said("optimality") == "and more rounds have no steps"


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
    problem = random_quadratics(4, 2, 5, condition=4.0, noise=Noise.SIGNS, spread=0.3)
    short, long = (make_schedule(T, harmonic(2.0, 8), constant(0.25)) for T in (2, 300))
    graph, level = path(4), Level(0.05, heterogeneity(problem))
    few = calibrate(problem, graph, short, polynomial_weights(2, 1), level)
    assert few.vacuous == ("optimality", "heterogeneity")
    assert calibrate(problem, graph, long, exponential_weights(300, 0.9), level).vacuous == ()


@pytest.mark.checks("GU-9", "GV-7")
def test_thresholds_and_their_integers() -> None:
    found = Thresholds(1.1 * 0.5, 1.1 * 3.0)
    weighting = certified_weighting("last", (1, 2), found, 5, 4)
    assert weighting.origin == "certificate"
    assert weighting.optimality == math.ceil(5 * 3 * 16 * Fraction(1.1 * 0.5))
    assert weighting.heterogeneity == math.ceil(5 * 9 * 256 * Fraction(1.1 * 3.0))
    assert shortfalls(weighting, weighting) == ()
    lower = attrs.evolve(weighting, optimality=weighting.optimality - 1)
    assert shortfalls(lower, weighting) == ("last: optimality threshold 132 is below 133",)
    assert len(shortfalls(lower, None)) == 2
