"""The parts of a scenario: graphs, schedules, losses, bounds and checks, as documents."""

from typing import ClassVar

import attrs

from valid_ref.guarantees.calibration import Tails, rank
from valid_ref.losses import Noise
from valid_ref.protocols.parameters import ParameterError, check_lean


@attrs.frozen
class Family:
    """A graph of a named family: "paper", "complete:5", "torus:3x4", ..."""

    kind: ClassVar[str] = "family"
    name: str


@attrs.frozen
class Edges:
    """A graph given by its edges."""

    kind: ClassVar[str] = "edges"
    agents: int
    edges: tuple[tuple[int, int], ...]


GraphPart = Family | Edges


@attrs.frozen
class Diminishing:
    """alpha = a/(t+t0), eta = e0/sqrt(t+t0); a, t0, e0 from the corrected analysis if not given."""

    kind: ClassVar[str] = "diminishing"
    a: float | None = None
    t0: float | None = None
    e0: float | None = None


@attrs.frozen
class Paper:
    """alpha = alpha0/(t+1), eta = eta0/sqrt(t+1), as in the paper's convergence theorem."""

    kind: ClassVar[str] = "paper"
    alpha0: float
    eta0: float


@attrs.frozen
class ConstantSteps:
    """The same alpha and eta in every round."""

    kind: ClassVar[str] = "constant"
    alpha: float
    eta: float


@attrs.frozen
class ExperimentSteps:
    """alpha = initial/(initial+t) and a constant eta, as in the paper's experiments."""

    kind: ClassVar[str] = "experiment"
    initial: int = 5
    eta: float = 1 / 11


@attrs.frozen
class ExplicitSteps:
    """The integers a_t and A_t themselves, over 2^k."""

    kind: ClassVar[str] = "explicit"
    a: tuple[int, ...]
    A: tuple[int, ...]


SchedulePart = Diminishing | Paper | ConstantSteps | ExperimentSteps | ExplicitSteps


@attrs.frozen
class RandomQuadratics:
    """A random quadratic per agent: eigenvalues in [1, condition], centres normal times scale.

    All centres are moved by `offset` in every entry, so that agents that start at zero have a way
    to go; scale says how far they are apart.
    """

    kind: ClassVar[str] = "random-quadratic"
    dimension: int = 10
    condition: float = 4.0
    scale: float = 1.0
    noise: Noise = Noise.NONE
    spread: float = 0.0
    offset: float = 2.0


@attrs.frozen
class QuadraticAgent:
    """One agent's Hessian and centre."""

    hessian: tuple[tuple[float, ...], ...]
    centre: tuple[float, ...]


@attrs.frozen
class Quadratics:
    """Quadratics given one by one, with common noise."""

    kind: ClassVar[str] = "quadratic"
    agents: tuple[QuadraticAgent, ...]
    noise: Noise = Noise.NONE
    spread: float = 0.0


@attrs.frozen
class DataAgent:
    """One agent's data: rows of features, and a target for each."""

    features: tuple[tuple[float, ...], ...]
    targets: tuple[float, ...]


@attrs.frozen
class Ridge:
    """Ridge least squares on given data."""

    kind: ClassVar[str] = "ridge"
    agents: tuple[DataAgent, ...]
    ridge: float


@attrs.frozen
class Logistic:
    """L2-regularised logistic regression on given data; targets are +1 or -1."""

    kind: ClassVar[str] = "logistic"
    agents: tuple[DataAgent, ...]
    ridge: float


@attrs.frozen
class RandomRidge:
    """Ridge least squares on random data in the unit ball."""

    kind: ClassVar[str] = "random-ridge"
    dimension: int = 5
    samples: int = 20
    ridge: float = 0.5


@attrs.frozen
class RandomLogistic:
    """L2-regularised logistic regression on random data in the unit ball."""

    kind: ClassVar[str] = "random-logistic"
    dimension: int = 5
    samples: int = 20
    ridge: float = 0.5


LossPart = RandomQuadratics | Quadratics | Ridge | Logistic | RandomRidge | RandomLogistic


@attrs.frozen
class DerivedBounds:
    """B_t and C_t of the bounded-iterates lemma; F0 may be set above that of the losses."""

    kind: ClassVar[str] = "derived"
    loss_at_zero: float | None = None


@attrs.frozen
class ConfiguredBounds:
    """The same bounds in every round, as real numbers."""

    kind: ClassVar[str] = "configured"
    model: float
    gradient: float


@attrs.frozen
class NoBounds:
    """No norm checks."""

    kind: ClassVar[str] = "none"


BoundsPart = DerivedBounds | ConfiguredBounds | NoBounds


@attrs.frozen
class Exponential:
    """w_t = round(2^bits gamma^(T-t))."""

    kind: ClassVar[str] = "exponential"
    gamma: float
    bits: int = 30

    def __attrs_post_init__(self) -> None:
        if not 0 <= self.gamma <= 1 or not 0 <= self.bits <= 60:
            raise ParameterError(
                f"gamma = {self.gamma}, bits = {self.bits}: outside 0..1 or 0..60", clause="GV-1"
            )


@attrs.frozen
class Polynomial:
    """w_t = t^power."""

    kind: ClassVar[str] = "polynomial"
    power: int = 1

    def __attrs_post_init__(self) -> None:
        if not 0 <= self.power <= 64:
            raise ParameterError(f"power = {self.power}: outside 0..64", clause="GV-1")


WeightsPart = Exponential | Polynomial


@attrs.frozen
class CertifiedThresholds:
    """Thresholds that honest runs pass with probability 1 - theta each, from the certificate.

    What is not given follows from F0 where F0 is finite; `kurtosis` of the noise is for the test
    of averaged lengths (P27 off) on data without bounds.
    """

    kind: ClassVar[str] = "certificate"
    theta: float = 0.05
    start_radius: float | None = None
    model_radius: float | None = None
    gradient_bound: float | None = None
    kurtosis: float | None = None


@attrs.frozen
class ConfiguredThresholds:
    """eps_opt, and delta + eps_het, as real numbers."""

    kind: ClassVar[str] = "configured"
    optimality: float
    heterogeneity: float


MOST_REHEARSALS = 10**6
"""More rehearsals than anybody runs."""


@attrs.frozen
class CalibratedThresholds:
    """Thresholds that all honest runs together alarm at most at the level, from rehearsals.

    `pilots` are rehearsals that only say how much each statistic varies; `runs` are those among
    which the run is ranked: with 29 a false alarm has a chance of at most 1/30. All checks of a
    scenario that are calibrated share one level.
    """

    kind: ClassVar[str] = "calibrated"
    level: float = 0.05
    runs: int = 29
    pilots: int = 10
    tails: Tails = Tails.UPPER

    def __attrs_post_init__(self) -> None:
        if not 1 <= self.pilots <= MOST_REHEARSALS or self.runs > MOST_REHEARSALS:
            raise ParameterError(
                f"pilots = {self.pilots}, runs = {self.runs}: not within 1..{MOST_REHEARSALS}",
                clause="GU-12",
            )
        rank(self.level, self.runs)


ThresholdsPart = CertifiedThresholds | ConfiguredThresholds | CalibratedThresholds


@attrs.frozen
class Check:
    """One weighting of GlobalValidate with its thresholds."""

    name: str = "t^1"
    weights: WeightsPart = Polynomial()
    thresholds: ThresholdsPart = CalibratedThresholds()


@attrs.frozen
class PaperValidation:
    """The validation that the paper describes, repaired."""

    kind: ClassVar[str] = "paper"


@attrs.frozen
class Lean:
    """Lean validation with kappa common keys.

    `without` leaves necessary parts out, to show what each is for.
    """

    kind: ClassVar[str] = "lean"
    kappa: int = 2
    without: tuple[str, ...] = ()

    def __attrs_post_init__(self) -> None:
        check_lean(self.kappa, self.without)


ValidationPart = PaperValidation | Lean
