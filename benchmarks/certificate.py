"""Whether certified thresholds keep their level on bad data, and from which T they are of use.

    python -m benchmarks.certificate [--runs 1000] [--write docs/tables/certificate.md]

A thousand honest runs of each case at once, in floating point; `by_machine` is one of them by the
exact machines. The data is chosen against the certificate: outliers, noise of two values of which
one is rare and large, heavy tails, the extreme case of Chebyshev's inequality.
"""

import argparse
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from valid_ref.graph import AgentGraph
from valid_ref.graph_families import parse_family
from valid_ref.guarantees import (
    CertificateError,
    Level,
    calibrate,
    heterogeneity,
    rounds_needed,
)
from valid_ref.lattice import default_limits, read_gradient
from valid_ref.losses import Noise, Problem, RidgeLeastSquares, random_quadratics
from valid_ref.machine import run_machine
from valid_ref.protocols.learn import LearnModel
from valid_ref.protocols.parameters import exponential_weights, polynomial_weights
from valid_ref.schedule import Precision, Schedule, harmonic, inverse_root, make_schedule

Floats = npt.NDArray[np.float64]
Draws = npt.NDArray[np.int64]
Weights = Callable[[int], tuple[int, ...]]

TESTS = ("optimality", "heterogeneity", "lengths")
LEVELS = (0.05, 0.2)
SURE = 1e-3
"""A level counts as violated where so many alarms have a smaller chance than this at that level."""


@attrs.frozen(eq=False)
class Case:
    """One kind of data on one graph: ridge least squares, m data for each of n agents."""

    name: str
    graph: AgentGraph
    features: Floats
    targets: Floats
    rounds: int
    weights: Weights
    batch: int = 1
    ridge: float = 0.5
    steps: float = 2.0
    offset: float = 0.0

    @property
    def problem(self) -> Problem:
        """The losses as the reference has them."""
        agents = zip(self.features, self.targets, strict=True)
        return Problem([RidgeLeastSquares(a, b, self.ridge) for a, b in agents], self.batch)

    @property
    def schedule(self) -> Schedule:
        """alpha = a/(mu (t + t0)), eta = e0/sqrt(t + t0)."""
        return family(self.graph, self.problem, self.steps, self.offset)(self.rounds)


def family(
    graph: AgentGraph, problem: Problem, steps: float = 2.0, offset: float = 0.0
) -> Callable[[int], Schedule]:
    """The diminishing steps of the corrected analysis, for any T; `offset` makes t0 larger."""
    values, mu = graph.laplacian_eigenvalues(), problem.strong_convexity
    t0 = max(2 * problem.smoothness / mu, float(values[-1] / values[1]), offset)
    first = math.sqrt(1 + t0) * min(1 / float(values[-1]), 1 / graph.max_degree)
    bits = Precision(28, 24)
    return lambda T: make_schedule(T, harmonic(steps / mu, t0), inverse_root(first, t0), bits)


@attrs.frozen(eq=False)
class Statistics:
    """Of every run: |mean ghat|, mean |ghat|^2 and mean lhat^2, for weights of sum one."""

    optimality: Floats
    heterogeneity: Floats
    lengths: Floats


def simulate(
    graph: AgentGraph,
    schedule: Schedule,
    weights: tuple[int, ...],
    start: Floats,
    gradient: Callable[[int, Floats], Floats],
) -> Statistics:
    """Honest runs side by side; `start` and the points of `gradient` are [run, agent, entry]."""
    models, laplacian = start, graph.laplacian().astype(np.float64)
    means, lengths = np.zeros_like(start), np.zeros(start.shape[:2])
    for t, weight in enumerate(np.array(weights, dtype=float) / sum(weights), start=1):
        mixed = models - float(schedule.eta(t)) * (laplacian @ models)
        found = gradient(t, mixed)
        models = mixed - float(schedule.alpha(t)) * found
        if weight:
            means += weight * found
            lengths += weight * np.sqrt((found**2).sum(axis=2))
    return Statistics(
        np.sqrt((means.mean(axis=1) ** 2).sum(axis=1)),
        (means**2).sum(axis=2).mean(axis=1),
        (lengths**2).mean(axis=1),
    )


def drawn(case: Case, runs: int, seed: int) -> list[Draws]:
    """Which data every agent draws in every round: T arrays [run, agent, K]."""
    generator = np.random.default_rng(seed)
    n, m = case.targets.shape
    shape = (runs, n, case.batch)
    return [generator.integers(0, m, size=shape) for _t in range(case.rounds)]


def simulated(case: Case, draws: list[Draws]) -> Statistics:
    """All runs of a case that draw these data, from x_0 = 0."""
    n, agents = case.graph.agents, np.arange(case.graph.agents)[None, :, None]

    def gradient(t: int, points: Floats) -> Floats:
        chosen = draws[t - 1]
        features, targets = case.features[agents, chosen], case.targets[agents, chosen]
        errors = (features * points[:, :, None, :]).sum(axis=3) - targets
        average: Floats = (features * errors[..., None]).mean(axis=2) + case.ridge * points
        return average

    start = np.zeros((draws[0].shape[0], n, case.features.shape[2]))
    return simulate(case.graph, case.schedule, case.weights(case.rounds), start, gradient)


def by_machine(case: Case, draws: list[Draws], run: int) -> tuple[float, float, float]:
    """The three statistics of one of these runs, by the machines and in integers."""
    n, d, schedule = case.graph.agents, case.features.shape[2], case.schedule
    lattice = default_limits(d, schedule, case.graph.max_degree)

    def source(agent: int) -> Callable[[int, Floats], Floats]:
        def gradient(t: int, point: Floats) -> Floats:
            chosen = draws[t - 1][run, agent]
            features, targets = case.features[agent, chosen], case.targets[agent, chosen]
            errors = features @ point - targets
            average: Floats = (features * errors[:, None]).mean(axis=0) + case.ridge * point
            return average

        return gradient

    machine = LearnModel(case.graph, lattice, np.zeros(d, dtype=np.int64))
    result = run_machine(case.graph, machine, {v: source(v) for v in range(n)})
    own = [machine.transcripts(result.states[v]).own for v in range(n)]
    weights = case.weights(case.rounds)
    scale = sum(weights) * 2**schedule.precision.fraction_bits
    means: list[Any] = []
    lengths: list[int] = []
    for record in own:
        rows = [
            read_gradient(lattice, t, message.scaled_gradient).astype(object)
            for t, message in enumerate(record, start=1)
        ]
        pairs = list(zip(weights, rows, strict=True))
        means.append(sum(w * row for w, row in pairs))
        lengths.append(sum(w * math.isqrt(int((row**2).sum())) for w, row in pairs))
    total: Any = sum(means)
    return (
        math.sqrt(int((total**2).sum())) / (n * scale),
        sum(int((mean**2).sum()) for mean in means) / (n * scale**2),
        sum(length**2 for length in lengths) / (n * scale**2),
    )


def outlier(name: str, rounds: int, weights: Weights) -> Case:
    """Features in the unit ball; one target of agent 0 is a hundred times as large as others."""
    generator, graph = np.random.default_rng(1), parse_family(name)
    features = generator.normal(size=(graph.agents, 40, 3))
    features /= np.maximum(1, np.sqrt((features**2).sum(axis=2, keepdims=True)))
    targets = features @ np.ones(3)
    targets[0, 0] = 100.0
    return Case(
        name="one outlier",
        graph=graph,
        features=features,
        targets=targets,
        rounds=rounds,
        weights=weights,
    )


def two_values(name: str, rounds: int, weights: Weights, data: int = 50) -> Case:
    """Constant features; one target in `data` is large and positive, the others make the mean 0."""
    graph = parse_family(name)
    targets = np.full((graph.agents, data), -1.0)
    targets[:, 0] = data - 1
    features = np.ones((graph.agents, data, 1))
    return Case(
        name=f"two values, 1 of {data}",
        graph=graph,
        features=features,
        targets=targets,
        rounds=rounds,
        weights=weights,
    )


def heavy_tails(name: str, rounds: int, weights: Weights) -> Case:
    """Targets by Student's t with 2.1 degrees of freedom."""
    generator, graph = np.random.default_rng(2), parse_family(name)
    features = generator.normal(size=(graph.agents, 400, 2))
    features /= np.sqrt((features**2).sum(axis=2, keepdims=True))
    targets = generator.standard_t(2.1, size=(graph.agents, 400))
    return Case(
        name="heavy tails",
        graph=graph,
        features=features,
        targets=targets,
        rounds=rounds,
        weights=weights,
    )


def unequal(name: str, rounds: int, weights: Weights) -> Case:
    """Every agent has a centre of its own and an outlier of its own."""
    generator, graph = np.random.default_rng(3), parse_family(name)
    features = generator.normal(size=(graph.agents, 40, 2))
    features /= np.sqrt((features**2).sum(axis=2, keepdims=True))
    centres = 3 * generator.normal(size=(graph.agents, 2, 1))
    targets = (features @ centres)[..., 0]
    targets[:, 0] *= -20
    return Case(
        name="unequal agents",
        graph=graph,
        features=features,
        targets=targets,
        rounds=rounds,
        weights=weights,
    )


def extreme(name: str, theta: float) -> Case:
    """The last round alone, and noise for which Chebyshev's inequality is nearly an equation.

    One large value among n draws is seen with a chance below theta, and it alone reaches the
    threshold; steps are so small that nothing else counts.
    """
    graph = parse_family(name)
    data = math.ceil(1.25 * graph.agents / theta)
    case = two_values(name, 3, lambda T: (0,) * (T - 1) + (1,), data)
    return attrs.evolve(case, name=f"extreme, theta = {theta}", steps=0.001, offset=1e3)


def against_three(name: str) -> Case:
    """The last round alone; one large value is above what kurtosis 3 allows at theta = .05."""
    graph = parse_family(name)
    n = graph.agents
    data = math.ceil(1.05 * n * (1 + math.sqrt(2 / 0.05) * math.sqrt(3 / n)))
    case = two_values(name, 3, lambda T: (0,) * (T - 1) + (1,), data)
    return attrs.evolve(case, name=f"against kurtosis 3, 1 of {data}", steps=0.001, offset=1e3)


def cases() -> list[Case]:
    """All cases of the table."""
    grown: Weights = lambda T: polynomial_weights(T, 1)  # noqa: E731
    fading: Weights = lambda T: exponential_weights(T, 0.5)  # noqa: E731
    found = []
    for name, rounds in (("complete:5", 200), ("path:5", 200), ("paper", 60)):
        for weights in (grown, fading):
            found += [
                outlier(name, rounds, weights),
                two_values(name, rounds, weights),
                two_values(name, rounds, weights, 1000),
                heavy_tails(name, rounds, weights),
                unequal(name, rounds, weights),
            ]
        found += [*(extreme(name, theta) for theta in LEVELS), against_three(name)]
    return found


@attrs.frozen
class Row:
    """The alarms of one case at one level; `three` is the printed test with kurtosis 3."""

    case: str
    graph: str
    weights: str
    theta: float
    alarms: tuple[int, int, int]
    shares: tuple[float, float, float]
    three: int | None

    def violated(self, runs: int) -> bool:
        """Whether a test alarms more often than its level allows, beyond doubt."""
        return any(chance_of_more(count, runs, self.theta) < SURE for count in self.alarms)


def chance_of_more(count: int, runs: int, theta: float) -> float:
    """P(Bin(runs, theta) >= count): below SURE, the Clopper-Pearson interval is above theta."""
    logs = (
        math.lgamma(runs + 1)
        - math.lgamma(k + 1)
        - math.lgamma(runs - k + 1)
        + k * math.log(theta)
        + (runs - k) * math.log1p(-theta)
        for k in range(count)
    )
    return 1 - math.fsum(map(math.exp, logs))


def upper_end(count: int, runs: int, miss: float = 0.05) -> float:
    """The upper end of the one-sided Clopper-Pearson interval."""
    low, high = count / runs, 1.0
    if count == runs:
        return 1.0
    for _halving in range(60):
        middle = (low + high) / 2
        if 1 - chance_of_more(count + 1, runs, middle) > miss:
            low = middle
        else:
            high = middle
    return high


def studied(case: Case, runs: int, seed: int) -> list[Row]:
    """One case at all levels; thresholds as a user gets them, with R_0 and delta exact."""
    problem, weights = case.problem, case.weights(case.rounds)
    statistics = simulated(case, drawn(case, runs, seed))
    start = float(np.sqrt((problem.minimiser() ** 2).sum())) * (1 + 1e-9) + 1e-9
    level = Level(0.05, heterogeneity(problem) * (1 + 1e-9) + 1e-12, start_radius=start)
    rows = []
    for theta in LEVELS:
        plain, printed = (
            calibrate(
                problem,
                case.graph,
                case.schedule,
                weights,
                attrs.evolve(level, probability=theta, lengths=lengths),
            )
            for lengths in (False, True)
        )
        bounds = (plain.optimality, plain.heterogeneity, printed.heterogeneity)
        seen = [getattr(statistics, test) for test in TESTS]
        graph = case.graph
        described = f"{graph.agents} agents, {len(graph.edges)} edges, T = {case.rounds}"
        rows.append(
            Row(
                case=case.name,
                graph=described,
                weights="last" if weights[-2] == 0 else "t" if weights[0] == 1 else ".5^(T-t)",
                theta=theta,
                alarms=tuple(int((s > b).sum()) for s, b in zip(seen, bounds, strict=True)),  # type: ignore[arg-type]
                shares=tuple(float(s.max() / b) for s, b in zip(seen, bounds, strict=True)),  # type: ignore[arg-type]
                three=_with_three(case, statistics, attrs.evolve(level, probability=theta)),
            )
        )
    return rows


def _with_three(case: Case, statistics: Statistics, level: Level) -> int | None:
    """Alarms of the printed test if its kurtosis is taken for 3, as is right for Gaussian noise."""
    wanted = attrs.evolve(level, lengths=True, kurtosis=3.0)
    weights = case.weights(case.rounds)
    try:
        found = calibrate(case.problem, case.graph, case.schedule, weights, wanted)
    except CertificateError:
        return None
    return int((statistics.lengths > found.heterogeneity).sum())


def main() -> int:
    """Exit status 1 if a level is violated."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.certificate", description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--write", type=Path)
    options = parser.parse_args()
    rows = [row for case in cases() for row in studied(case, options.runs, seed=17)]
    text = page(rows, useful(options.runs), options.runs)
    print(text)
    if options.write:
        options.write.write_text(text, encoding="utf-8")
    return int(any(row.violated(options.runs) for row in rows))


def useful(runs: int) -> list[tuple[str, ...]]:
    """For three graphs and two kappas: the T needed, and threshold / largest honest statistic."""
    rows = []
    for name in ("complete:5", "path:5", "paper"):
        graph = parse_family(name)
        for kappa in (1.0, 4.0):
            problem = random_quadratics(
                graph.agents, 5, 0, condition=kappa, noise=Noise.SIGNS, spread=0.3, batch=4
            )
            schedule = family(graph, problem)
            level = Level(0.05, heterogeneity(problem) * (1 + 1e-9))
            cells = [name, f"{kappa:g}"]
            for lengths in (False, True):
                wanted = attrs.evolve(level, lengths=lengths)
                needed = rounds_needed(
                    problem,
                    graph,
                    schedule,
                    lambda T: polynomial_weights(T, 1),
                    wanted,
                    limit=2**14,
                )
                if not lengths:
                    cells.append(str(needed.optimality or f"> {needed.limit}"))
                cells.append(str(needed.heterogeneity or f"> {needed.limit}"))
            for T in (200, 1000):
                weights = polynomial_weights(T, 1)
                seen = quadratic_runs(problem, graph, schedule(T), weights, min(runs, 200))
                found, printed = (
                    calibrate(problem, graph, schedule(T), weights, attrs.evolve(level, lengths=x))
                    for x in (False, True)
                )
                bounds = (found.optimality, found.heterogeneity, printed.heterogeneity)
                cells += [
                    f"{bound / getattr(seen, test).max():.3g}"
                    for test, bound in zip(TESTS, bounds, strict=True)
                ]
            rows.append(tuple(cells))
    return rows


def quadratic_runs(
    problem: Problem, graph: AgentGraph, schedule: Schedule, weights: tuple[int, ...], runs: int
) -> Statistics:
    """Honest runs with quadratic losses and noise of equal signs, from x_0 = 0."""
    losses: Any = problem.losses
    hessians = np.array([loss.hessian for loss in losses])
    centres = np.array([loss.centre for loss in losses])
    generator, shape = (
        np.random.default_rng(5),
        (runs, graph.agents, problem.batch, problem.dimension),
    )

    def gradient(_t: int, points: Floats) -> Floats:
        signs = losses[0].spread * (2.0 * generator.integers(0, 2, size=shape) - 1).mean(axis=2)
        found: Floats = np.einsum("vij,rvj->rvi", hessians, points - centres - signs)
        return found

    start = np.zeros((runs, graph.agents, problem.dimension))
    return simulate(graph, schedule, weights, start, gradient)


def _line(*cells: str) -> str:
    return "| " + " | ".join(cells) + " |"


def page(rows: list[Row], table: list[tuple[str, ...]], runs: int) -> str:
    """The page docs/tables/certificate.md."""
    worst = max(rows, key=lambda row: max(row.alarms) / row.theta)
    most = max(worst.alarms)
    violated = sum(row.violated(runs) for row in rows)
    lines = [
        "# The certificate on bad data",
        "",
        "Made by `python -m benchmarks.certificate --write docs/tables/certificate.md`. What is",
        "certified and why is in [GU-9](../../spec/guarantees.md#gu-9).",
        "",
        "## From which T it is of use",
        "",
        "Random quadratics (d = 5, noise of two signs, K = 4), weights t, theta = .05. A test is",
        "of use from the T on at which some gradients within the norm bounds fail it. The other",
        f"columns: threshold over the largest statistic of {min(runs, 200)} honest runs",
        "(optimality; heterogeneity by means; by lengths, as printed).",
        "",
        _line(
            *("graph", "kappa", "T, optimality", "T, means", "T, lengths"),
            *("T = 200: optimality", "means", "lengths"),
            *("T = 1000: optimality", "means", "lengths"),
        ),
        "|---" * 11 + "|",
        *(_line(*cells) for cells in table),
        "",
        "## Alarms of honest runs",
        "",
        f"{runs} runs a case. Each entry: runs that alarm, and the largest statistic over the",
        "threshold. The last column is the printed test with kurtosis 3 taken for granted: what",
        "the certificate did before it asked for one.",
        "",
        f"Levels violated: {violated} of {3 * len(rows)} (violated: P(Bin({runs}, theta) >=",
        f"alarms) < {SURE:g}). Most alarms for its level: {most} of {runs} at theta =",
        f"{worst.theta:g} ({worst.case}), upper end {upper_end(most, runs):.4f}",
        f"(Clopper-Pearson, 95 %); 0 of {runs} has {upper_end(0, runs):.4f}.",
        "",
        _line(
            *("data", "network", "weights", "theta", "optimality", "means", "lengths"),
            "lengths, kurtosis 3",
        ),
        "|---" * 8 + "|",
    ]
    for row in rows:
        cells = [
            f"{count} ({share:.2g})" for count, share in zip(row.alarms, row.shares, strict=True)
        ]
        three = "-" if row.three is None else str(row.three)
        if row.three is not None and chance_of_more(row.three, runs, row.theta) < SURE:
            three += ", violated"
        head = [row.case, row.graph, row.weights, f"{row.theta:g}"]
        lines.append(_line(*head, *cells, three))
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    raise SystemExit(main())
