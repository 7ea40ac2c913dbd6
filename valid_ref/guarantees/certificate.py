"""How far an honest run can be from the optimum and from consensus, round by round.

A run is taken apart into its path and its noise. The path is the run of the same steps in real
arithmetic with exact gradients; nothing about it is random. The noise is the run minus its path,
bounded in root mean square: noise of mean zero adds in squares; rounding, which may follow the
noise, adds in full. Only the noise is then enlarged for a level theta, not the path.
"""

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Self

import attrs

from valid_ref.errors import ValidRefError
from valid_ref.graph import AgentGraph
from valid_ref.guarantees.bounds import SOURCE_ERROR
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

    `deviation` is sigma_g, `start_radius` a bound on |x_0 - x*|. `gradient_bound` is C, a bound on
    the gradient of every single datum at every point of the run, where there is one.
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
    gradient_bound: float | None = None

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
        if self.gradient_bound is not None and not 0 <= self.gradient_bound < math.inf:
            raise CertificateError(
                f"gradient_bound = {self.gradient_bound} is not a finite number >= 0",
                clause="GU-9",
            )


@attrs.frozen
class PathBounds:
    """Bounds on the path or on the noise of a run; `mean` and `rest` also at the start.

    `mean` bounds the mean model, t = 0..T; `rest` the models minus their mean (Frobenius norm),
    t = 0..T; `total` the mixed models, t = 1..T, as Frobenius norm over sqrt(n). For the path all
    are distances from x*; for the noise, root mean squares of the run minus its path.
    """

    mean: tuple[float, ...]
    rest: tuple[float, ...]
    mixed: tuple[float, ...]
    total: tuple[float, ...]

    def first(self, rounds: int) -> "PathBounds":
        """The same for a run that ends after so many rounds."""
        return PathBounds(
            self.mean[: rounds + 1],
            self.rest[: rounds + 1],
            self.mixed[:rounds],
            self.total[:rounds],
        )


@attrs.frozen
class Certificate:
    """Bounds of an honest run: those of its path and of its noise.

    `steps` are the alpha_t, `read_off` the h_t, the error of a gradient that is read off a
    message; `unit` is sqrt(d) 2^-f.

    Implements: GU-9.
    """

    path: PathBounds
    noise: PathBounds
    steps: tuple[float, ...]
    read_off: tuple[float, ...]
    unit: float

    @property
    def mean_distance(self) -> tuple[float, ...]:
        """r_t, t = 1..T: the root mean square of the mean model's distance before step t."""
        return _sums(self.path.mean, self.noise.mean)[:-1]

    @property
    def disagreement(self) -> tuple[float, ...]:
        """p_t, t = 1..T: that of the mixed models of step t minus their mean."""
        return _sums(self.path.mixed, self.noise.mixed)

    @property
    def final_distance(self) -> float:
        """R_T: the root mean square of the distance of the mean of the final models from x*."""
        return _sums(self.path.mean, self.noise.mean)[-1]

    @property
    def final_disagreement(self) -> float:
        """P_T: that of the final models minus their mean."""
        return _sums(self.path.rest, self.noise.rest)[-1]

    def first(self, rounds: int) -> "Certificate":
        """The certificate of a run with the same steps that ends after so many rounds."""
        return Certificate(
            self.path.first(rounds),
            self.noise.first(rounds),
            self.steps[:rounds],
            self.read_off[:rounds],
            self.unit,
        )


def _sums(first: tuple[float, ...], second: tuple[float, ...]) -> tuple[float, ...]:
    return tuple((a + b) * ROUND_UP for a, b in zip(first, second, strict=True))


def certify(known: NetworkProblem, schedule: Schedule) -> Certificate:
    """Both recursions of GU-9; every rounding goes up.

    Implements: GU-9.
    """
    ends = _ends(known.graph)
    rounds = [_Round.of(known, schedule, t, ends) for t in range(1, schedule.rounds + 1)]
    unit = math.sqrt(known.dimension) * 2.0**-schedule.precision.fraction_bits * ROUND_UP
    tau = float(known.source_error)
    return Certificate(
        _course(path(known, rounds), schedule, known),
        _course(noise(known, rounds, unit), schedule, known),
        tuple(one.alpha for one in rounds),
        tuple(unit * (0.5 / one.alpha + 1.5 + tau) * ROUND_UP for one in rounds),
        unit,
    )


def _ends(graph: AgentGraph) -> tuple[float, float]:
    """l_2 rounded down and l_M rounded up."""
    values = graph.laplacian_eigenvalues()
    smallest, largest = float(values[1]), float(values[-1])
    return smallest - 2.0**-44 * largest, largest * ROUND_UP


@attrs.frozen
class _Round:
    """The factors of one round, each rounded up.

    `centre` is |1 - alpha (beta + mu)/2|, `contraction` is q, `mixing` is max |1 - eta l| over the
    nonzero eigenvalues l.
    """

    alpha: float
    centre: float
    contraction: float
    mixing: float

    @classmethod
    def of(
        cls, known: NetworkProblem, schedule: Schedule, t: int, ends: tuple[float, float]
    ) -> Self:
        mu, beta = known.strong_convexity, known.smoothness
        scale = 2.0**-schedule.precision.step_bits
        alpha, eta = schedule.A(t) * scale, schedule.a(t) * scale
        margin, off = 2.0**-48 * (1 + alpha * beta), 2.0**-40 * (1 + eta * ends[1])
        return cls(
            alpha,
            abs(1 - alpha * (beta + mu) / 2) + margin,
            max(abs(1 - alpha * mu), abs(1 - alpha * beta)) + margin,
            max(abs(1 - eta * value) for value in ends) + off,
        )


@attrs.frozen
class _Standing:
    """Bounds after a round, `mean`, `rest`; of its mixed models, `mixed`, `total`."""

    mean: float
    rest: float
    mixed: float
    total: float


def path(known: NetworkProblem, rounds: list[_Round]) -> Iterator[_Standing]:
    """The path, from R_0: by mean and rest, and by the distance from x* in all.

    Implements: GU-9.
    """
    n, off_centre = known.graph.agents, (known.smoothness - known.strong_convexity) / 2
    root_n, pull = math.sqrt(n), math.sqrt(n * known.delta)
    mean, rest = known.start_radius * ROUND_UP, 0.0
    whole = mean * root_n
    yield _Standing(mean, rest, 0.0, 0.0)
    for one in rounds:
        p = one.mixing * rest
        total = min(math.hypot(root_n * mean, p), max(1.0, one.mixing) * whole)
        mean = (one.centre * mean + one.alpha * off_centre * total / root_n) * ROUND_UP
        rest = (one.centre * p + one.alpha * (off_centre * total + pull)) * ROUND_UP
        whole = (one.contraction * total + one.alpha * pull) * ROUND_UP
        mean, rest = min(mean, whole / root_n), min(rest, whole)
        yield _Standing(mean, rest, p, total / root_n)


def noise(known: NetworkProblem, rounds: list[_Round], unit: float) -> Iterator[_Standing]:
    """The run minus its path, in root mean square, from 0: by mean and rest, and in all.

    Implements: GU-9.
    """
    n, off_centre = known.graph.agents, (known.smoothness - known.strong_convexity) / 2
    root_n, tau = math.sqrt(n), float(known.source_error)
    deviation = known.deviation / math.sqrt(known.batch)
    mean, rest, whole = 0.0, 0.0, 0.0
    yield _Standing(mean, rest, 0.0, 0.0)
    for one in rounds:
        slack, shaken = unit * (0.5 + one.alpha * (0.5 + tau)), one.alpha * deviation
        p = one.mixing * rest
        total = min(math.hypot(root_n * mean, p), max(1.0, one.mixing) * whole)
        bent = one.alpha * off_centre * total
        mean = math.hypot(one.centre * mean + bent / root_n, shaken / root_n) + slack
        rest = math.hypot(one.centre * p + bent, shaken * math.sqrt(n - 1)) + root_n * slack
        whole = math.hypot(one.contraction * total, shaken * root_n) + root_n * slack
        whole *= ROUND_UP
        mean, rest = min(mean * ROUND_UP, whole / root_n), min(rest * ROUND_UP, whole)
        yield _Standing(mean, rest, p, total / root_n)


def _course(found: Iterator[_Standing], schedule: Schedule, known: NetworkProblem) -> PathBounds:
    standings: list[_Standing] = []
    for t, standing in enumerate(found):
        if not max(standing.mean, standing.rest) < USELESS:
            raise CertificateError(_why(known, schedule, t), clause="GV-7")
        standings.append(standing)
    return PathBounds(
        tuple(one.mean for one in standings),
        tuple(one.rest for one in standings),
        tuple(one.mixed for one in standings[1:]),
        tuple(one.total for one in standings[1:]),
    )


def _why(known: NetworkProblem, schedule: Schedule, diverged: int) -> str:
    """The first round whose step expands; where none does, the numbers themselves are too large."""
    beta, text = known.smoothness, f"the certificate diverges by round {diverged}: "
    largest = float(known.graph.laplacian_eigenvalues()[-1])
    for t in range(1, diverged + 1):
        if float(schedule.alpha(t)) * beta > 2:
            return f"{text}alpha_{t} = {float(schedule.alpha(t)):g} is above 2/beta = {2 / beta:g}"
        if float(schedule.eta(t)) * largest > 2:
            return f"{text}eta_{t} = {float(schedule.eta(t)):g} is above 2/l_M = {2 / largest:g}"
    return f"{text}the constants of the problem are too large for floating-point numbers"
