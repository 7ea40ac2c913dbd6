"""How far a finished run can be from an admissible model, from the records of its honest agents.

What is judged is a point z, the mean of the outputs of valid honest agents. The estimate ghat_h of
an honest agent is a weighted mean of gradients taken on its path y_h(1), .., y_h(T), so it differs
from G_h(z) by three things: the drift of the path against z, which the record shows; the noise of
the mini-batches, which averages out; and the rounding of the lattice. From ghat_h and a bound on
that difference follow the level at which z is admissible, and how far z can be from a model that
is admissible at the level delta.
"""

import math
from collections.abc import Sequence

import attrs
import numpy as np

from valid_ref.errors import ValidRefError
from valid_ref.execution import Execution
from valid_ref.graph import AgentGraph
from valid_ref.guarantees.admissible import AdmissibleError, admissible_ellipsoid, is_admissible
from valid_ref.guarantees.bounds import SOURCE_ERROR
from valid_ref.lattice import FloatVector
from valid_ref.losses import Problem
from valid_ref.losses.loss import FloatMatrix, Loss, sample_noise
from valid_ref.protocols.local_validate import Transcript
from valid_ref.protocols.parameters import ValidParameters, Weighting

ROUND_UP = 1 + 2.0**-40
"""What every sum is enlarged by: far more than the error of its floating-point operations."""

FLOAT_ERROR = 2.0**-44
"""The error of an offset from z, in units of the numbers that it is the difference of."""

GRID = 1.5
"""The ratio of neighbours in the grid of variances and steps that the noise is bounded on."""


class RadiusError(ValidRefError):
    """A run about which no radius is known, and why."""


@attrs.frozen
class Path:
    """Where one honest agent took its gradients, and what it reported: rows for t = 1..T.

    Both are read off its own record: y(t) = x(t) + alpha_t g(t) holds exactly on the lattice, and
    g(t) is the gradient that a receiver reads off.
    """

    points: FloatMatrix
    gradients: FloatMatrix


def path_of(parameters: ValidParameters, record: Transcript) -> Path:
    """The path of an agent from its own record.

    Implements: AN-18.
    """
    precision, schedule = parameters.lattice.precision, parameters.lattice.schedule
    unit, finer = 2.0**-precision.fraction_bits, 2.0**-precision.step_bits
    models = np.array([message.model for message in record], dtype=np.float64)
    scaled = np.array([message.scaled_gradient for message in record], dtype=np.float64)
    read = [
        message.scaled_gradient // A for message, A in zip(record, schedule.gradient, strict=True)
    ]
    return Path((models + scaled * finer) * unit, np.array(read, dtype=np.float64) * unit)


def shares_of(weights: Sequence[int]) -> FloatVector:
    """omega: the weights divided by their sum, each rounded once."""
    total = sum(weights)
    return np.array([weight / total for weight in weights])


@attrs.frozen
class Drift:
    """How far the weighted gradients of a path are from the gradient at z, noise apart.

    They differ by `linear` plus a vector of length at most `rest`.
    """

    linear: FloatVector
    rest: float

    @property
    def length(self) -> float:
        """A bound on the whole."""
        return float(np.linalg.norm(self.linear)) + self.rest


def drift(loss: Loss, path: Path, shares: FloatVector, z: FloatVector) -> Drift:
    """sum_i omega_i (G(y(i)) - G(z)), by co-coercivity.

    Each term lies within (beta - mu)/2 |y - z| of (beta + mu)/2 (y - z).

    Implements: AN-18.
    """
    mu, beta = loss.strong_convexity, loss.smoothness
    offsets = path.points - z
    lengths = np.sqrt((offsets**2).sum(axis=1))
    linear: FloatVector = (beta + mu) / 2 * (shares[:, np.newaxis] * offsets).sum(axis=0)
    rounding = FLOAT_ERROR * beta * float(np.abs(path.points).max() + np.abs(z).max())
    return Drift(linear, (beta - mu) / 2 * float((shares * lengths).sum()) + rounding)


@attrs.frozen
class Radius:
    """What the honest records certify of z, except with `probability`.

    z is admissible at `level`, and within `radius` of a model that is admissible at the level
    delta; `radius` is None where no such model is known. `promised` is the bound on `level` that
    passing the checks promises, whatever the estimates are. `nu` bounds the root of
    sum_h |ghat_h - G_h(z)|^2 over honest h and is the sum of `drift`, `noise` and `read_off`;
    `total_error` bounds |sum_h (ghat_h - G_h(z))|, and `pull` |sum_h G_h(z)|.

    Implements: AN-19.
    """

    probability: float
    weighting: str
    level: float
    radius: float | None
    promised: float
    nu: float
    drift: float
    noise: float
    read_off: float
    total_error: float
    pull: float


@attrs.frozen
class _Honest:
    """The honest agents: their losses and paths, the point that is judged, x*, and K."""

    losses: tuple[Loss, ...]
    paths: tuple[Path, ...]
    z: FloatVector
    optimum: FloatVector
    batch: int


def certified_radius(
    execution: Execution, problem: Problem, z: FloatVector, *, delta: float, probability: float
) -> Radius:
    """The radius of a run in which somebody is Byzantine; of several weightings the best.

    Each weighting has its share of the probability, so that the choice among them costs nothing
    more; each of its two noise terms has half of that.

    Implements: AN-18, AN-19.
    """
    parameters, honest = execution.parameters, execution.honest
    if not 0 < probability < 1:
        raise RadiusError(f"the probability {probability} is not between 0 and 1", clause="AN-18")
    if not execution.byzantine or not honest:
        raise RadiusError("a radius needs honest and Byzantine agents", clause="AN-19")
    if not parameters.weightings:
        raise RadiusError("no weighting, so no estimates", clause="AN-18")
    if set(parameters.reading.turned_off) - {"P27"}:
        raise RadiusError(
            f"repairs turned off: {', '.join(parameters.reading.turned_off)}", clause="VA-7"
        )
    records = [execution.states[agent].memory.fixed_transcripts.own for agent in honest]
    known = _Honest(
        tuple(problem.losses[agent] for agent in honest),
        tuple(path_of(parameters, record) for record in records),
        z,
        problem.minimiser(),
        problem.batch,
    )
    level = probability / (2 * len(parameters.weightings))
    found = [_under(parameters, weighting, known, level) for weighting in parameters.weightings]
    best = min(found, key=lambda one: one.level)
    radius = _radius(problem, honest, delta, best)
    return attrs.evolve(best, probability=probability, radius=radius)


def _under(
    parameters: ValidParameters, weighting: Weighting, known: _Honest, level: float
) -> Radius:
    """The radius from the estimates of one weighting; `level` is that of each noise term."""
    n, count = parameters.graph.agents, len(known.losses)
    b, shares = n - count, shares_of(weighting.weights)
    estimates = np.array([(shares[:, np.newaxis] * p.gradients).sum(axis=0) for p in known.paths])
    drifts = [
        drift(loss, path, shares, known.z)
        for loss, path in zip(known.losses, known.paths, strict=True)
    ]
    resting = [np.tile(known.optimum, (len(shares), 1))] * count
    expected = noise_of(known.losses, resting, shares, known.batch)
    seen = noise_of(known.losses, [path.points for path in known.paths], shares, known.batch)
    noise = noise_bound(seen, expected, level)
    slack = float((shares * np.array(read_off_errors(parameters))).sum())
    stacked = math.hypot(*(one.length for one in drifts)) * ROUND_UP
    nu = stacked + noise + math.sqrt(count) * slack
    together = float(np.linalg.norm(sum(one.linear for one in drifts)))
    error = (together + sum(one.rest for one in drifts)) * ROUND_UP + noise + count * slack
    balance = float(np.linalg.norm(estimates.sum(axis=0))) * ROUND_UP
    length = math.hypot(float(np.linalg.norm(estimates)) * ROUND_UP, balance / math.sqrt(b))
    missed = math.hypot(nu, error / math.sqrt(b))
    optimality, heterogeneity = tolerances(parameters, weighting)
    allowed = heterogeneity + optimality / math.sqrt(b)
    return Radius(
        probability=1.0,
        weighting=weighting.name,
        level=(length + missed) ** 2 / n * ROUND_UP,
        radius=None,
        promised=(allowed + missed) ** 2 / n * ROUND_UP,
        nu=nu,
        drift=stacked,
        noise=noise,
        read_off=math.sqrt(count) * slack,
        total_error=error,
        pull=balance + error,
    )


def _radius(problem: Problem, honest: Sequence[int], delta: float, found: Radius) -> float | None:
    """How far z can be from a model that is admissible at the level delta; None if none is known.

    The honest agents' own optimum is such a model if its gradients are small enough, and z is
    within |sum_h G_h(z)| / sum_h mu_h of it. Where the admissible sets are ellipsoids, that of the
    certified level reaches only so far beyond that of the level delta.

    Implements: AN-19.
    """
    reached = []
    if is_admissible(problem, honest, delta, problem.minimiser(honest)):
        curvature = sum(problem.losses[agent].strong_convexity for agent in honest)
        reached.append(found.pull / curvature)
    try:
        inner = admissible_ellipsoid(problem, honest, delta)
    except AdmissibleError:  # the losses are not quadratic
        return min(reached, default=None)
    if not inner.empty:
        outer = inner.level + len(problem.losses) * max(found.level - delta, 0.0)
        flattest = math.sqrt(float(np.linalg.eigvalsh(inner.matrix)[0]))
        reached.append((math.sqrt(outer) - math.sqrt(inner.level)) / flattest)
    return min((ROUND_UP * one for one in reached), default=None)


def tolerances(parameters: ValidParameters, weighting: Weighting) -> tuple[float, float]:
    """What passing the tests allows: |sum_u ghat_u|, and the root of sum_u |ghat_u|^2.

    One unit an agent covers the integer square roots where the test is about lengths (P27 off).

    Implements: AN-9.
    """
    bits, agents = parameters.lattice.precision.fraction_bits, parameters.graph.agents
    scale = weighting.total * 2**bits
    heterogeneity = math.sqrt(weighting.heterogeneity / scale**2)
    if not parameters.reading.P27:
        heterogeneity += math.sqrt(agents) * 2.0**-bits
    return float(weighting.optimality / scale) * ROUND_UP, heterogeneity * ROUND_UP


def read_off_errors(parameters: ValidParameters) -> tuple[float, ...]:
    """h_t for t = 1..T: how far a gradient that is read off is from the one that was drawn.

    Implements: GU-9, AR-9.
    """
    schedule, tau = parameters.lattice.schedule, float(SOURCE_ERROR)
    unit = math.sqrt(parameters.lattice.dimension) * 2.0**-schedule.precision.fraction_bits
    return tuple(
        unit * (0.5 / float(schedule.alpha(t)) + 1.5 + tau) * ROUND_UP
        for t in range(1, schedule.rounds + 1)
    )


@attrs.frozen
class EstimateNoise:
    """What bounds the noise of the estimates of one weighting, known before each round is drawn.

    The noise is a martingale: in round i every honest agent adds K terms w_i xi / (W K), drawn
    after its point y(i) is fixed. `variance` is the sum of their conditional variances along the
    paths, `step` the largest length that one of them could have had there; infinite if unbounded.
    """

    variance: float
    step: float


def noise_of(
    losses: Sequence[Loss], points: Sequence[FloatMatrix], shares: FloatVector, batch: int
) -> EstimateNoise:
    """The noise along these paths; a path is a matrix with a point for every share.

    Implements: AN-18.
    """
    found = [sample_noise(loss, path) for loss, path in zip(losses, points, strict=True)]
    variance = sum(float((shares**2 * one.variance).sum()) for one in found) / batch
    used = shares > 0
    step = max(float((shares * one.largest)[used].max()) for one in found) / batch
    return EstimateNoise(variance * ROUND_UP, step * ROUND_UP)


def noise_bound(seen: EstimateNoise, expected: EstimateNoise, level: float) -> float:
    """A length that the noise exceeds with probability at most `level`, whatever the paths do.

    `expected` was fixed before the run. A grid of pairs v, a about it, each with its share of the
    level, covers all that may be seen: stopped before the variance exceeds v or a step exceeds a,
    the martingale obeys Bernstein's inequality (Pinelis) with v and a, or Chebyshev's where steps
    are unbounded. The least pair above what was seen counts.

    Implements: AN-18.
    """
    if seen.variance == 0:
        return 0.0
    variance, share = grid_point(seen.variance, expected.variance)
    chebyshev = math.sqrt(variance / (level * share / 2))
    if not math.isfinite(seen.step):
        return chebyshev * ROUND_UP
    step, of_step = grid_point(seen.step, expected.step)
    exponent = math.log(2 / (level * share / 2 * of_step))
    term = step * exponent / 3
    bernstein = term + math.sqrt(term**2 + 2 * variance * exponent)
    return min(chebyshev, bernstein) * ROUND_UP


def grid_point(seen: float, expected: float) -> tuple[float, float]:
    """The least number of the grid about `expected` that is not below `seen`, and its share.

    The grid is expected times 3/2 to the power j, j any integer; all shares add up to 1.

    Implements: AN-18.
    """
    if not expected > 0:
        raise RadiusError("there is noise where none was expected at the optimum", clause="AN-18")
    j = math.ceil(math.log(seen / expected) / math.log(GRID))
    j += expected * GRID**j < seen
    return expected * GRID**j, 2 / 3 / ((abs(j) + 1) * (abs(j) + 2))


# What one agent can say, and what needs the losses.


def own_error(
    loss: Loss,
    path: Path,
    weights: Sequence[int],
    own: FloatVector,
    *,
    noise: float,
    read_off: Sequence[float],
) -> float:
    """A bound on |ghat_v - G_v(x_v(T))| from the own record of one agent; `noise` as it bounds it.

    Implements: AN-18.
    """
    shares = shares_of(weights)
    slack = float((shares * np.array(read_off)).sum())
    return drift(loss, path, shares, own).length * ROUND_UP + noise + slack


def spread_of_models(graph: AgentGraph, agents: Sequence[int], models: FloatMatrix) -> float:
    """A bound on sum_v |x_v - mean|^2 over these agents, from the differences along their edges.

    The differences, squared and added up, over the l_2 of the graph on these agents.

    Implements: AN-18.
    """
    places = {agent: place for place, agent in enumerate(agents)}
    edges = [(places[u], places[v]) for u, v in graph.edges if u in places and v in places]
    if len(places) == 1:
        return 0.0
    inner = AgentGraph.from_edges(len(places), edges)
    differences = sum(float(((models[u] - models[v]) ** 2).sum()) for u, v in edges)
    return differences / float(inner.laplacian_eigenvalues()[1]) * ROUND_UP


def measured_nu(execution: Execution, problem: Problem, z: FloatVector, index: int) -> float:
    """The root of sum_h |ghat_h - G_h(z)|^2 over honest h under the weighting of this index."""
    return float(np.linalg.norm(measured_errors(execution, problem, z, index)))


def measured_errors(
    execution: Execution, problem: Problem, z: FloatVector, index: int
) -> FloatMatrix:
    """ghat_h - G_h(z), a row for every honest agent: what only somebody who knows G_h can say.

    Implements: VA-5.
    """
    parameters, weighting = execution.parameters, execution.parameters.weightings[index]
    shares = np.array([float(w / weighting.total) for w in weighting.weights])
    rows = []
    for agent in execution.honest:
        path = path_of(parameters, execution.states[agent].memory.fixed_transcripts.own)
        estimate = (shares[:, np.newaxis] * path.gradients).sum(axis=0)
        rows.append(estimate - problem.losses[agent].gradient(z))
    return np.array(rows)
