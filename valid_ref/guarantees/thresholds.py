"""The thresholds of the two global tests, such that honest runs pass them with a known chance.

The certificate says how far an honest run can be from the optimum and from consensus, in root
mean square. Two numbers per round bound the run: R_t the distance of the mean model from x*, P_t
the Frobenius norm of the models minus their mean. Off the mean, only the part of the gradient that
differs from (beta + mu)/2 times the displacement acts on the mean, since displacements sum to
zero; noise of mean zero adds in squares; rounding, which may follow the noise, adds in full.
"""

import enum
import math
from collections.abc import Sequence
from fractions import Fraction

import attrs

from valid_ref.errors import ValidRefError
from valid_ref.graph import AgentGraph
from valid_ref.guarantees.admissible import heterogeneity
from valid_ref.guarantees.bounds import SOURCE_ERROR, BoundsError, contraction, derive_bounds, root
from valid_ref.losses import LossError, Problem
from valid_ref.protocols.parameters import Bounds, Weighting, make_weighting
from valid_ref.schedule import Schedule

ROUND_UP = 1 + 2.0**-40
"""What every round is enlarged by: far more than the error of its floating-point operations."""

USELESS = 2.0**200
"""A certificate that reaches this has diverged; squares of less are still numbers."""


class CertificateError(ValidRefError):
    """A run about which nothing can be certified, and why."""


@attrs.frozen
class NetworkProblem:
    """What the certificate knows: network, curvature, noise, heterogeneity and start.

    `deviation` is sigma_g, `start_radius` a bound on |x_0 - x*|.
    """

    graph: AgentGraph
    dimension: int
    strong_convexity: float
    smoothness: float
    deviation: float
    batch: int
    delta: float
    start_radius: float
    source_error: Fraction = SOURCE_ERROR

    def __attrs_post_init__(self) -> None:
        mu, beta = self.strong_convexity, self.smoothness
        if not 0 < mu <= beta < math.inf:
            raise CertificateError(f"mu = {mu}, beta = {beta}: not 0 < mu <= beta", clause="GU-9")
        for name in ("deviation", "delta", "start_radius"):
            if not (math.isfinite(value := getattr(self, name)) and value >= 0):
                raise CertificateError(
                    f"{name} = {value} is not a finite number >= 0; it must be configured",
                    clause="GU-9",
                )


@attrs.frozen
class Certificate:
    """Root-mean-square bounds of an honest run, for t = 1..T.

    `mean_distance` is r_t, for the mean model before step t; `disagreement` is p_t, for the mixed
    models of step t minus their mean; `read_off` is h_t, the error of a gradient that is read off
    a message. `final_distance` and `final_disagreement` are R_T and P_T.

    Implements: GU-9.
    """

    mean_distance: tuple[float, ...]
    disagreement: tuple[float, ...]
    read_off: tuple[float, ...]
    final_distance: float
    final_disagreement: float


def certify(known: NetworkProblem, schedule: Schedule) -> Certificate:
    """Run the recursion of GU-9 from R_0 and P_0 = 0; every rounding goes up.

    Implements: GU-9.
    """
    n, mu, beta = known.graph.agents, known.strong_convexity, known.smoothness
    noise, off_centre = known.deviation / math.sqrt(known.batch), (beta - mu) / 2
    unit = math.sqrt(known.dimension) * 2.0**-schedule.precision.fraction_bits
    tau = float(known.source_error)
    eigenvalues = known.graph.laplacian_eigenvalues().tolist()
    R, P = known.start_radius * ROUND_UP, 0.0
    distances, disagreements, read_offs = [], [], []
    for t in range(1, schedule.rounds + 1):
        alpha = float(schedule.alpha(t))
        q = float(contraction(schedule.alpha(t), Fraction(mu), Fraction(beta)))
        r, p = R, _mixing_factor(float(schedule.eta(t)), eigenvalues) * P
        slack = unit * (0.5 + alpha * (0.5 + tau))
        of_mean = math.hypot(
            q * r + alpha * off_centre * p / math.sqrt(n), alpha * noise / math.sqrt(n)
        )
        spread = math.sqrt(n * known.delta) + off_centre * math.sqrt(n) * r
        of_rest = math.hypot(q * p + alpha * spread, alpha * noise * math.sqrt(n - 1))
        R = (of_mean + slack) * ROUND_UP
        P = (of_rest + math.sqrt(n) * slack) * ROUND_UP
        if not max(R, P) < USELESS:
            raise CertificateError(_why(known, schedule, t), clause="GV-7")
        distances.append(r)
        disagreements.append(p)
        read_offs.append(unit * (0.5 / alpha + 1.5 + tau) * ROUND_UP)
    return Certificate(tuple(distances), tuple(disagreements), tuple(read_offs), R, P)


def _mixing_factor(eta: float, eigenvalues: list[float]) -> float:
    """max |1 - eta l| over the nonzero eigenvalues l of the Laplacian, rounded up."""
    factor = max(abs(1 - eta * eigenvalues[1]), abs(1 - eta * eigenvalues[-1]))
    return factor + 2.0**-40 * (1 + eta * eigenvalues[-1])


def _why(known: NetworkProblem, schedule: Schedule, diverged: int) -> str:
    """The first round whose step expands, or else the pull of unequal curvatures."""
    beta, text = known.smoothness, f"the certificate diverges by round {diverged}: "
    largest = float(known.graph.laplacian_eigenvalues()[-1])
    for t in range(1, diverged + 1):
        if float(schedule.alpha(t)) * beta > 2:
            return f"{text}alpha_{t} = {float(schedule.alpha(t)):g} is above 2/beta = {2 / beta:g}"
        if float(schedule.eta(t)) * largest > 2:
            return f"{text}eta_{t} = {float(schedule.eta(t)):g} is above 2/l_M = {2 / largest:g}"
    return (
        f"{text}kappa = {beta / known.strong_convexity:g} is too large for this mixing: what "
        "agents drift apart in a step outweighs what mixing and contraction take back"
    )


class Origin(enum.Enum):
    """Where thresholds come from."""

    CERTIFICATE = "certificate"
    """Proved, from the constants of the problem."""
    RUNS = "calibrated"
    """A factor above the largest statistic of attack-free runs."""


@attrs.frozen
class Level:
    """What calibration aims at, and what it may take for granted.

    Each test alarms in an honest run with probability at most `probability` (theta). `delta` is
    the heterogeneity allowed, `kurtosis` a bound on E|xi|^4 K^2 / sigma^4. `start_radius` bounds
    |x_0 - x*| and `radius` bounds all models; both follow from F0 where F0 is finite.
    """

    probability: float
    delta: float
    start_norm: float = 0.0
    start_radius: float | None = None
    radius: float | None = None
    kurtosis: float = 3.0
    source_error: Fraction = SOURCE_ERROR

    def __attrs_post_init__(self) -> None:
        if not 0 < self.probability < 1:
            raise CertificateError(
                f"the level theta = {self.probability} is not between 0 and 1", clause="GU-9"
            )


@attrs.frozen
class Thresholds:
    """eps_opt, and delta + eps_het; where they come from.

    `vacuous` names the tests that no gradients within the norm bounds can fail: T is too small,
    or the noise too large, for the certificate to be of use.

    Implements: GU-9, GV-7.
    """

    optimality: float
    heterogeneity: float
    origin: Origin
    certificate: Certificate | None = None
    runs: int = 0
    vacuous: tuple[str, ...] = ()


def calibrate(
    problem: Problem, graph: AgentGraph, schedule: Schedule, weights: Sequence[int], level: Level
) -> Thresholds:
    """The certified thresholds of one weighting.

    Implements: GU-9, GV-7.
    """
    actual, optimum = heterogeneity(problem), problem.minimiser()
    rounding = problem.smoothness * (1 + math.sqrt(float((optimum**2).sum()))) * 2.0**-40
    if actual > level.delta * ROUND_UP + rounding**2:
        raise CertificateError(
            f"the problem has heterogeneity {actual:g}, above delta = {level.delta:g}: honest "
            "runs would not pass",
            clause="GV-7",
        )
    bounds = _bounds(problem, graph, schedule, level)
    known = NetworkProblem(
        graph,
        problem.dimension,
        problem.strong_convexity,
        problem.smoothness,
        deviation=_deviation(problem, bounds, schedule, level),
        batch=problem.batch,
        delta=level.delta,
        start_radius=_start_radius(problem, level),
        source_error=level.source_error,
    )
    certificate = certify(known, schedule)
    found = certified_thresholds(known, certificate, weights, level)
    return found if bounds is None else _with_vacuous(found, bounds, schedule, weights)


def certified_thresholds(
    known: NetworkProblem, certificate: Certificate, weights: Sequence[int], level: Level
) -> Thresholds:
    """Chebyshev's inequality on the mean gradient; on noise and distance, half of theta each.

    Implements: GU-9.
    """
    n, share = known.graph.agents, _shares(weights)
    squares = math.fsum(w * w for w in share)
    noise, delta = known.deviation / math.sqrt(known.batch), known.delta
    beta, off_centre = known.smoothness, (known.smoothness - known.strong_convexity) / 2
    columns = certificate.mean_distance, certificate.disagreement, certificate.read_off
    rows = list(zip(share, *columns, strict=True))
    drift = math.fsum(w * (beta * r + off_centre * p / math.sqrt(n)) for w, r, p, _h in rows)
    once, twice = (1 / math.sqrt(part * level.probability) for part in (1.0, 0.5))
    optimality = once * (noise * math.sqrt(squares / n) + drift) + math.fsum(
        w * h for w, _r, _p, h in rows
    )
    cross = 2 * noise * math.sqrt(delta * squares / n)
    tail = math.sqrt(level.kurtosis * squares / n) * noise * noise
    settled = math.sqrt(delta + noise * noise + twice * (cross + tail))
    distance = math.sqrt(math.fsum(w * (r * r + p * p / n) for w, r, p, _h in rows))
    read_off = math.sqrt(math.fsum(w * h * h for w, _r, _p, h in rows))
    length = settled + twice * beta * distance + read_off
    if not (math.isfinite(optimality) and math.isfinite(length * length)):
        found = f"eps_opt = {optimality:g}, delta + eps_het = {length:g} squared"
        raise CertificateError(f"the thresholds are not finite: {found}", clause="GV-7")
    return Thresholds(
        optimality * ROUND_UP, length * length * ROUND_UP, Origin.CERTIFICATE, certificate
    )


def thresholds_from_runs(
    statistics: Sequence[tuple[float, float]], factor: float = 1.1
) -> Thresholds:
    """A factor above the largest (optimality, heterogeneity) statistics of attack-free runs.

    The statistics are |sum_u ghat_u| / (n W 2^f) and sum_u lhat_u^2 / (n W^2 4^f).

    Implements: GU-9.
    """
    if not statistics or not factor >= 1:
        raise CertificateError(
            f"{len(statistics)} runs and a factor of {factor}: calibration needs at least one "
            "run and a factor of at least 1",
            clause="GU-9",
        )
    optimality, heterogeneity_seen = (
        factor * max(column) for column in zip(*statistics, strict=True)
    )
    return Thresholds(optimality, heterogeneity_seen, Origin.RUNS, runs=len(statistics))


def calibrated_weighting(
    name: str, weights: tuple[int, ...], thresholds: Thresholds, agents: int, fraction_bits: int
) -> Weighting:
    """The weighting with these thresholds, as integers, rounded up.

    Implements: GU-9, GV-7.
    """
    return make_weighting(
        name,
        weights,
        agents,
        fraction_bits,
        optimality=thresholds.optimality,
        heterogeneity=thresholds.heterogeneity,
        origin=thresholds.origin.value,
    )


def shortfalls(weighting: Weighting, certified: Weighting | None) -> tuple[str, ...]:
    """Which thresholds are below the certified ones of the same weights; all, if there are none.

    Implements: GV-7.
    """
    found = []
    for test in ("optimality", "heterogeneity"):
        threshold: int = getattr(weighting, test)
        if certified is None:
            found.append(f"{weighting.name}: {test} threshold {threshold} has no certificate")
        elif threshold < (needed := getattr(certified, test)):
            found.append(f"{weighting.name}: {test} threshold {threshold} is below {needed}")
    return tuple(found)


def _shares(weights: Sequence[int]) -> list[float]:
    """The weights divided by their sum, each rounded once."""
    total = sum(weights)
    if total <= 0 or min(weights) < 0:
        raise CertificateError("the weights are not >= 0 with a positive sum", clause="GV-1")
    return [weight / total for weight in weights]


def _bounds(problem: Problem, graph: AgentGraph, schedule: Schedule, level: Level) -> Bounds | None:
    """The norm bounds, or None where they must be configured."""
    start = math.ceil(Fraction(level.start_norm * ROUND_UP) * 2**schedule.precision.fraction_bits)
    tau, degree = level.source_error, graph.max_degree
    try:
        return derive_bounds(problem, schedule, degree, start_squared=start**2, source_error=tau)
    except BoundsError:
        return None


def _real(squared: int, schedule: Schedule) -> float:
    """The length that a squared length in lattice units stands for."""
    try:
        return float(Fraction(root(squared), 2**schedule.precision.fraction_bits))
    except OverflowError:
        return math.inf


def _deviation(problem: Problem, bounds: Bounds | None, schedule: Schedule, level: Level) -> float:
    """sigma_g, on a ball that holds every point at which a gradient is taken."""
    radius = level.radius
    if radius is None and bounds is not None:
        radius = max(level.start_norm, _real(max(bounds.model_squared), schedule)) * ROUND_UP
    try:
        return problem.gradient_deviation(math.inf if radius is None else radius)
    except LossError as error:
        raise CertificateError(
            f"no bound on sigma_g: {error.message}; a radius of all models must be configured",
            clause="GU-9",
        ) from None


def _start_radius(problem: Problem, level: Level) -> float:
    """R_0: given, or |x_0| + sqrt(2 F0 / mu)."""
    if level.start_radius is not None:
        return level.start_radius
    return level.start_norm + math.sqrt(2 * problem.loss_at_zero / problem.strong_convexity)


def _with_vacuous(
    found: Thresholds, bounds: Bounds, schedule: Schedule, weights: Sequence[int]
) -> Thresholds:
    """The same thresholds, with the names of the tests that nothing within the bounds fails."""
    lengths = (_real(squared, schedule) for squared in bounds.gradient_squared)
    longest = math.fsum(w * length for w, length in zip(_shares(weights), lengths, strict=True))
    sizes = {"optimality": found.optimality, "heterogeneity": math.sqrt(found.heterogeneity)}
    return attrs.evolve(found, vacuous=tuple(test for test in sizes if sizes[test] >= longest))
