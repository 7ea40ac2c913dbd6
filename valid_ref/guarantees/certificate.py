"""How far an honest run can be from the optimum and from consensus, in root mean square.

Two numbers per round bound the run. R_t bounds the distance of the mean model from x*, P_t the
Frobenius norm of the models minus their mean. Off the mean, only the part of the gradient that
differs from (beta + mu)/2 times the displacement acts on the mean, since displacements sum to
zero; noise of mean zero adds in squares; rounding, which may follow the noise, adds in full.
"""

import math
from fractions import Fraction

import attrs

from valid_ref.errors import ValidRefError
from valid_ref.graph import AgentGraph
from valid_ref.guarantees.bounds import SOURCE_ERROR, contraction
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
