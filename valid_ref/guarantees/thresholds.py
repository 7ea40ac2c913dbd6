"""The thresholds of the two global tests, such that honest runs pass them with a known chance.

From the certificate: the path of an honest run is bounded outright; its noise by Chebyshev's
inequality or, where single gradients are bounded, by that of Pinelis, whichever is smaller.
"""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

import attrs

from valid_ref.graph import AgentGraph
from valid_ref.guarantees.admissible import heterogeneity
from valid_ref.guarantees.bounds import SOURCE_ERROR, BoundsError, derive_bounds, root
from valid_ref.guarantees.certificate import (
    ROUND_UP,
    Certificate,
    CertificateError,
    NetworkProblem,
    PathBounds,
    certify,
)
from valid_ref.losses import LossError, Problem
from valid_ref.protocols.parameters import Bounds, Weighting, make_weighting
from valid_ref.schedule import Schedule, ScheduleError

SPLITS = tuple(2.0**-j for j in range(1, 9))
"""The shares of theta that the noise may get where it has a bound of its own."""


TESTS = ("optimality", "heterogeneity")


@attrs.frozen
class Level:
    """What calibration aims at, and what it may take for granted.

    Each test alarms in an honest run with probability at most `probability` (theta). `delta` is
    the heterogeneity allowed. `start_radius` bounds |x_0 - x*|, `radius` all models, and
    `gradient_bound` the gradient of every datum at every point of the run; all three follow from F0
    where F0 is finite. `lengths` is for the test that averages lengths (P27 off), which needs
    `kurtosis`, a bound on E|xi|^4 K^2 / sigma^4, or a gradient bound, from which one follows.
    """

    probability: float
    delta: float
    start_norm: float = 0.0
    start_radius: float | None = None
    radius: float | None = None
    gradient_bound: float | None = None
    lengths: bool = False
    kurtosis: float | None = None
    source_error: Fraction = SOURCE_ERROR

    def __attrs_post_init__(self) -> None:
        if not 0 < self.probability < 1:
            raise CertificateError(
                f"the level theta = {self.probability} is not between 0 and 1", clause="GU-9"
            )
        if self.kurtosis is not None and not 1 <= self.kurtosis < math.inf:
            raise CertificateError(
                f"kurtosis = {self.kurtosis} is not a finite number from 1 on", clause="GU-9"
            )


@attrs.frozen
class Thresholds:
    """eps_opt, and delta + eps_het.

    `vacuous` names the tests that no gradients within the norm bounds can fail: T is too small,
    or the noise too large, for the certificate to be of use.

    Implements: GU-9, GV-7.
    """

    optimality: float
    heterogeneity: float
    certificate: Certificate | None = None
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
    setting = _setting(problem, graph, schedule, level)
    found = certified_thresholds(setting.known, setting.certificate, weights, level)
    return attrs.evolve(found, vacuous=setting.vacuous(found, weights))


@attrs.frozen
class _CertifiedProblem:
    """All that does not depend on the weights; `lengths` are the C_t, where there are any."""

    known: NetworkProblem
    certificate: Certificate
    lengths: tuple[float, ...] | None

    def vacuous(self, found: Thresholds, weights: Sequence[int]) -> tuple[str, ...]:
        """The tests that no gradients within the norm bounds can fail."""
        if self.lengths is None:
            return ()
        shares = _shares(weights)
        longest = math.fsum(w * length for w, length in zip(shares, self.lengths, strict=False))
        sizes = {"optimality": found.optimality, "heterogeneity": math.sqrt(found.heterogeneity)}
        return tuple(test for test in sizes if sizes[test] >= longest)


def _setting(
    problem: Problem, graph: AgentGraph, schedule: Schedule, level: Level
) -> _CertifiedProblem:
    bounds = _bounds(problem, graph, schedule, level)
    lengths: tuple[float, ...] | None = None
    if bounds is not None:
        lengths = tuple(_real(squared, schedule) for squared in bounds.gradient_squared)
    gradient = level.gradient_bound
    if gradient is None and lengths is not None and math.isfinite(max(lengths)):
        gradient = max(lengths) * ROUND_UP
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
        gradient_bound=gradient,
    )
    return _CertifiedProblem(known, certify(known, schedule), lengths)


@attrs.frozen
class RoundsNeeded:
    """The T from which each test is not vacuous; None: not even at `limit` rounds."""

    optimality: int | None
    heterogeneity: int | None
    limit: int

    def said(self, test: str) -> str:
        """In words; a limit of 0 means that the steps were given one by one."""
        found: int | None = getattr(self, test)
        if self.limit == 0:
            return "and more rounds have no steps"
        return f"T = {found} would do" if found else f"nor is T = {self.limit} enough"


def rounds_needed(
    problem: Problem,
    graph: AgentGraph,
    schedule: Callable[[int], Schedule],
    weights: Callable[[int], Sequence[int]],
    level: Level,
    *,
    limit: int,
) -> RoundsNeeded:
    """The least T with a useful certificate, for a family of schedules and of weights.

    The first T of 1, 2, 4, ..., limit that will do, then bisection. The steps of a round must not
    depend on T; constants hold for the longest run that was looked at.

    Implements: GU-9, GV-7.
    """
    found: dict[str, int] = {}
    below, rounds = 0, 1
    while len(found) < len(TESTS) and below < limit:
        try:
            longest = schedule(rounds)
        except ScheduleError:  # a step has become 0: there are no more rounds
            break
        setting = _setting(problem, graph, longest, level)
        for test in TESTS:
            if test not in found and _useful(setting, weights(rounds), level, test):
                low, high = below, rounds
                while high - low > 1:
                    middle = (low + high) // 2
                    if _useful(setting, weights(middle), level, test):
                        high = middle
                    else:
                        low = middle
                found[test] = high
        below, rounds = rounds, min(2 * rounds, limit)
    return RoundsNeeded(found.get("optimality"), found.get("heterogeneity"), below)


def _useful(setting: _CertifiedProblem, weights: Sequence[int], level: Level, test: str) -> bool:
    certificate = setting.certificate.first(len(weights))
    try:
        found = certified_thresholds(setting.known, certificate, weights, level)
    except CertificateError:
        return False
    return test not in setting.vacuous(found, weights)


def certified_thresholds(
    known: NetworkProblem, certificate: Certificate, weights: Sequence[int], level: Level
) -> Thresholds:
    """The path outright, the noise at level theta, for each of the two tests.

    Implements: GU-9.
    """
    share = _shares(weights)
    optimality = _optimality(known, certificate, share, level)
    bound = _of_lengths if level.lengths else _of_means
    length = bound(known, certificate, share, level)
    if not (math.isfinite(optimality) and math.isfinite(length * length)):
        found = f"eps_opt = {optimality:g}, delta + eps_het = {length:g} squared"
        raise CertificateError(f"the thresholds are not finite: {found}", clause="GV-7")
    return Thresholds(optimality * ROUND_UP, length * length * ROUND_UP, certificate)


def _optimality(
    known: NetworkProblem, certificate: Certificate, share: Sequence[float], level: Level
) -> float:
    """eps_opt: gradients one by one, or by what the mean model moves, for path and noise apart."""
    n, theta, path, noise = (
        known.graph.agents,
        level.probability,
        certificate.path,
        certificate.noise,
    )
    direct, moved = _mean_gradient(known, path, share), _movement(certificate, path, share)
    drift, shifted = _mean_gradient(known, noise, share), _movement(certificate, noise, share)
    read_off = _weighted(share, certificate.read_off)
    return min(direct, moved) + min(
        _noise_and_drift(known, share, theta, drift, terms=n, rows=n) + read_off,
        shifted / math.sqrt(theta) + certificate.unit,
    )


def _mean_gradient(known: NetworkProblem, course: PathBounds, share: Sequence[float]) -> float:
    """sum_t w_t ((beta + mu) r_t / 2 + (beta - mu) rho_t / 2)."""
    mu, beta = known.strong_convexity, known.smoothness
    rows = zip(share, course.mean, course.total, strict=False)
    return math.fsum(w * ((beta + mu) * r + (beta - mu) * rho) / 2 for w, r, rho in rows)


def _movement(certificate: Certificate, course: PathBounds, share: Sequence[float]) -> float:
    """The same sum of gradients as steps of the mean model, added up by parts."""
    factors = [w / alpha for w, alpha in zip(share, certificate.steps, strict=True)]
    margins = [
        abs(a - b) + 2.0**-50 * (a + b)
        for a, b in zip([0.0, *factors], [*factors, 0.0], strict=True)
    ]
    return _weighted(margins, course.mean)


def _of_means(
    known: NetworkProblem, certificate: Certificate, share: Sequence[float], level: Level
) -> float:
    """The root of delta + eps_het for sum_u |ghat_u|^2."""
    n, theta = known.graph.agents, level.probability
    at_optimum = math.sqrt(known.delta)
    distance, drift = (
        known.smoothness * _weighted(share, course.total)
        for course in (certificate.path, certificate.noise)
    )
    shaken = _noise_and_drift(known, share, theta, drift, terms=1, rows=n)
    return at_optimum + distance + shaken + _weighted(share, certificate.read_off)


def _of_lengths(
    known: NetworkProblem, certificate: Certificate, share: Sequence[float], level: Level
) -> float:
    """The root of delta + eps_het for sum_u lhat_u^2: half of theta for noise and for distance."""
    n, squares = known.graph.agents, math.fsum(w * w for w in share)
    noise, delta = known.deviation / math.sqrt(known.batch), known.delta
    twice = math.sqrt(2 / level.probability)
    cross = 2 * noise * math.sqrt(delta * squares / n)
    tail = math.sqrt(_kurtosis(known, level) * squares / n) * noise * noise
    settled = math.sqrt(delta + noise * noise + twice * (cross + tail))
    columns = certificate.path.total, certificate.noise.total, certificate.read_off
    path, drift, read_off = (
        math.sqrt(math.fsum(w * x * x for w, x in zip(share, column, strict=True)))
        for column in columns
    )
    return settled + known.smoothness * (path + twice * drift) + read_off


def _kurtosis(known: NetworkProblem, level: Level) -> float:
    """k_4: given, or 4 C^2 K / sigma^2, as |xi| <= 2C.

    Implements: GU-9.
    """
    if known.deviation == 0:
        return 1.0
    follows = math.inf
    if known.gradient_bound is not None:
        follows = max(1.0, 4 * (known.gradient_bound / known.deviation) ** 2 * known.batch)
    found = follows if level.kurtosis is None else min(follows, level.kurtosis)
    if not math.isfinite(found):
        raise CertificateError(
            "averages of lengths have no certificate without a kurtosis of the noise, or a "
            "gradient_bound; neither is given or follows from the loss",
            clause="GU-9",
        )
    return found


def _noise_and_drift(
    known: NetworkProblem,
    share: Sequence[float],
    theta: float,
    drift: float,
    *,
    terms: int,
    rows: int,
) -> float:
    """What noise of variance sigma^2 S_2 / (terms K), plus drift, exceeds with chance theta.

    Chebyshev's inequality on both; or that of Pinelis on the noise at a part of theta, and
    Chebyshev's on the drift at the rest. A datum contributes to the noise at most
    w_t 2C / (K sqrt(terms rows)).
    """
    squares = math.fsum(w * w for w in share)
    variance = known.deviation**2 * squares / (terms * known.batch)
    found = (math.sqrt(variance) + drift) / math.sqrt(theta)
    if known.gradient_bound is None:
        return found
    largest = 2 * known.gradient_bound * max(share) / (known.batch * math.sqrt(terms * rows))
    bounded = 4 * known.gradient_bound**2 * squares / (terms * known.batch)
    for part in SPLITS:
        exponent = math.log(2 / (part * theta))
        bernstein = largest * exponent / 3
        bernstein += math.sqrt(bernstein**2 + 2 * exponent * variance)
        tail = min(bernstein, math.sqrt(2 * exponent * bounded))
        found = min(found, tail + drift / math.sqrt((1 - part) * theta))
    return found


def _weighted(share: Sequence[float], values: Sequence[float]) -> float:
    return math.fsum(w * value for w, value in zip(share, values, strict=True))


def certified_weighting(
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
        origin="certificate",
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
