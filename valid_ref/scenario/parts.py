"""The parts of a scenario: graphs, schedules, losses, bounds and checks, as documents.

Graphs, losses and attacks may be classes of yours: `GRAPH_PARTS`, `LOSS_PARTS` and `ATTACK_PARTS`
say which.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Protocol, get_args

import attrs

from valid_ref.adversary.attack import Attack
from valid_ref.adversary.catalogue import AttackPart
from valid_ref.coins import check_hexadecimal
from valid_ref.document import DocumentError, structure, wrong
from valid_ref.graph import AgentGraph, GraphError
from valid_ref.graph_families import FAMILY_NAMES, family_size
from valid_ref.guarantees.calibration import Tails, rank, required_runs
from valid_ref.losses import Noise, OwnLoss
from valid_ref.losses.loss import check_noise
from valid_ref.named_parts import IN_A_MODULE, NamedParts, own_kind, parse_part, part_of
from valid_ref.protocols.parameters import ParameterError, check_lean
from valid_ref.scenario.numbers import plain, real, whole
from valid_ref.schedule import Precision, Schedule, ScheduleError

__all__ = [
    "AnyAttack",
    "AnyGraph",
    "AnyLoss",
    "BoundsPart",
    "CalibratedThresholds",
    "CertifiedThresholds",
    "Check",
    "ConfiguredBounds",
    "ConfiguredThresholds",
    "ConstantSteps",
    "DataAgent",
    "DerivedBounds",
    "Diminishing",
    "Edges",
    "ExperimentSteps",
    "ExplicitSteps",
    "Exponential",
    "Family",
    "GraphPart",
    "Lean",
    "Logistic",
    "LossPart",
    "NoBounds",
    "OwnGraph",
    "Paper",
    "PaperValidation",
    "Polynomial",
    "QuadraticAgent",
    "Quadratics",
    "RandomLogistic",
    "RandomQuadratics",
    "RandomRidge",
    "Ridge",
    "SchedulePart",
    "ThresholdsPart",
    "ValidationPart",
    "WeightsPart",
]


@attrs.frozen
class Family:
    """A graph of a named family: "paper", "complete:5", "torus:3x4", ..."""

    kind: ClassVar[str] = "family"
    name: str

    def __attrs_post_init__(self) -> None:
        family_size(self.name)  # refuses what is no name of a graph


@attrs.frozen
class Edges:
    """A graph given by its edges."""

    kind: ClassVar[str] = "edges"
    agents: int
    edges: tuple[tuple[int, int], ...]

    def __attrs_post_init__(self) -> None:
        AgentGraph.from_edges(self.agents, self.edges)  # refuses what is no graph


GraphPart = Family | Edges


def size_of(graph: object) -> int | None:
    """How many agents a graph has, if that can be said without building it.

    Implements: MO-2.
    """
    if isinstance(graph, Edges):
        return graph.agents
    return family_size(graph.name) if isinstance(graph, Family) else None


class OwnGraph(Protocol):
    """A graph of your own; an AgentGraph or a networkx graph needs no such class."""

    def build(self) -> AgentGraph:
        """The graph."""


@attrs.frozen
class _Graphs(NamedParts):
    """Graphs, of which a text is mostly the name of a family."""

    def read(self, value: Any, path: str) -> Any:
        """A graph from an object, or from a text."""
        name = value.partition(":")[0] if isinstance(value, str) else ""
        if not name or IN_A_MODULE.fullmatch(value) or name in self.registered():
            return super().read(value, path)
        try:
            family_size(value)
        except GraphError as error:
            raise DocumentError(f"{path}: {error.message}", clause=error.clause) from None
        return Family(value)


GRAPH_PARTS = _Graphs("graph", get_args(GraphPart), "valid_ref.graphs", ("build",))
AnyGraph = Annotated[GraphPart | OwnGraph, GRAPH_PARTS]
"""A graph of a scenario."""


STEP = real(0, open_=True, clause="AR-2")
"""A step is above zero."""


@attrs.frozen
class Diminishing:
    """alpha = a/(t+t0), eta = e0/sqrt(t+t0); a, t0, e0 from the corrected analysis if not given."""

    kind: ClassVar[str] = "diminishing"
    a: float | None = attrs.field(default=None, validator=STEP)
    t0: float | None = attrs.field(default=None, validator=real(0, clause="LM-9"))
    e0: float | None = attrs.field(default=None, validator=STEP)


@attrs.frozen
class Paper:
    """alpha = alpha0/(t+1), eta = eta0/sqrt(t+1), as in the paper's convergence theorem."""

    kind: ClassVar[str] = "paper"
    alpha0: float = attrs.field(validator=STEP)
    eta0: float = attrs.field(validator=STEP)


@attrs.frozen
class ConstantSteps:
    """The same alpha and eta in every round."""

    kind: ClassVar[str] = "constant"
    alpha: float = attrs.field(validator=STEP)
    eta: float = attrs.field(validator=STEP)


@attrs.frozen
class ExperimentSteps:
    """alpha = initial/(initial+t) and a constant eta, as in the paper's experiments."""

    kind: ClassVar[str] = "experiment"
    initial: int = attrs.field(default=5, validator=whole(1, clause="EX-6"))
    eta: float = attrs.field(default=1 / 11, validator=STEP)


@attrs.frozen
class ExplicitSteps:
    """The integers a_t and A_t themselves, over 2^k."""

    kind: ClassVar[str] = "explicit"
    a: tuple[int, ...]
    A: tuple[int, ...]

    def of(self, rounds: int, precision: Precision) -> Schedule:
        """The schedule of a run with so many rounds, if that is how many there are.

        Implements: AR-2.
        """
        if len(self.a) != rounds:
            raise ScheduleError(f"{len(self.a)} steps for {rounds} rounds", clause="AR-2")
        return Schedule(precision, self.a, self.A)


SchedulePart = Diminishing | Paper | ConstantSteps | ExperimentSteps | ExplicitSteps


COUNT = whole(1, clause="MO-9")
"""A dimension, and how many data there are."""
RIDGE = real(0, open_=True, clause="MO-10")
"""The ridge is mu."""


@attrs.frozen
class RandomQuadratics:
    """A random quadratic per agent: eigenvalues in [1, condition], centres normal times scale.

    All centres are moved by `offset` in every entry, so that agents that start at zero have a way
    to go; scale says how far they are apart.
    """

    kind: ClassVar[str] = "random-quadratic"
    dimension: int = attrs.field(default=10, validator=COUNT)
    condition: float = attrs.field(default=4.0, validator=real(1, clause="MO-10"))
    scale: float = attrs.field(default=1.0, validator=real(clause="MO-10"))
    noise: Noise = Noise.NONE
    spread: float = attrs.field(default=0.0, validator=real(0, clause="MO-10"))
    offset: float = attrs.field(default=2.0, validator=real(clause="MO-10"))

    def __attrs_post_init__(self) -> None:
        check_noise(self.noise, self.spread)


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
    spread: float = attrs.field(default=0.0, validator=real(0, clause="MO-10"))

    def __attrs_post_init__(self) -> None:
        check_noise(self.noise, self.spread)


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
    ridge: float = attrs.field(validator=RIDGE)


@attrs.frozen
class Logistic:
    """L2-regularised logistic regression on given data; targets are +1 or -1."""

    kind: ClassVar[str] = "logistic"
    agents: tuple[DataAgent, ...]
    ridge: float = attrs.field(validator=RIDGE)


@attrs.frozen
class RandomRidge:
    """Ridge least squares on random data in the unit ball."""

    kind: ClassVar[str] = "random-ridge"
    dimension: int = attrs.field(default=5, validator=COUNT)
    samples: int = attrs.field(default=20, validator=COUNT)
    ridge: float = attrs.field(default=0.5, validator=RIDGE)


@attrs.frozen
class RandomLogistic:
    """L2-regularised logistic regression on random data in the unit ball."""

    kind: ClassVar[str] = "random-logistic"
    dimension: int = attrs.field(default=5, validator=COUNT)
    samples: int = attrs.field(default=20, validator=COUNT)
    ridge: float = attrs.field(default=0.5, validator=RIDGE)


LossPart = RandomQuadratics | Quadratics | Ridge | Logistic | RandomRidge | RandomLogistic
LOSS_PARTS = NamedParts("loss", get_args(LossPart), "valid_ref.losses", ("gradient",))
AnyLoss = Annotated[LossPart | OwnLoss, LOSS_PARTS]
"""The losses of a scenario."""

ATTACK_PARTS = NamedParts("attack", get_args(AttackPart), "valid_ref.attacks", ("build",))
AnyAttack = Annotated[Attack, ATTACK_PARTS]
"""The attack of a scenario."""


@attrs.frozen
class DerivedBounds:
    """B_t and C_t of the bounded-iterates lemma; F0 may be set above that of the losses."""

    kind: ClassVar[str] = "derived"
    loss_at_zero: float | None = attrs.field(default=None, validator=real(0, clause="MO-10"))


@attrs.frozen
class ConfiguredBounds:
    """The same bounds in every round, as real numbers."""

    kind: ClassVar[str] = "configured"
    model: float = attrs.field(validator=real(0, open_=True, clause="LV-2"))
    gradient: float = attrs.field(validator=real(0, open_=True, clause="LV-2"))


@attrs.frozen
class NoBounds:
    """No norm checks."""

    kind: ClassVar[str] = "none"


BoundsPart = DerivedBounds | ConfiguredBounds | NoBounds


@attrs.frozen
class Exponential:
    """w_t = round(2^bits gamma^(T-t))."""

    kind: ClassVar[str] = "exponential"
    gamma: float = attrs.field(validator=real(0, 1, clause="GV-1"))
    bits: int = attrs.field(default=30, validator=whole(0, 60, clause="GV-1"))


@attrs.frozen
class Polynomial:
    """w_t = t^power."""

    kind: ClassVar[str] = "polynomial"
    power: int = attrs.field(default=1, validator=whole(0, 64, clause="GV-1"))


WeightsPart = Exponential | Polynomial


@attrs.frozen
class CertifiedThresholds:
    """Thresholds that honest runs pass with probability 1 - theta each, from the certificate.

    What is not given follows from F0 where F0 is finite; `kurtosis` of the noise is for the test
    of averaged lengths (P27 off) on data without bounds.
    """

    kind: ClassVar[str] = "certificate"
    theta: float = attrs.field(default=0.05, validator=real(0, 1, open_=True, clause="GU-9"))
    start_radius: float | None = attrs.field(default=None, validator=real(0, clause="GU-9"))
    model_radius: float | None = attrs.field(default=None, validator=real(0, clause="GU-9"))
    gradient_bound: float | None = attrs.field(default=None, validator=real(0, clause="GU-9"))
    kurtosis: float | None = attrs.field(default=None, validator=real(1, clause="GU-9"))


@attrs.frozen
class ConfiguredThresholds:
    """eps_opt, and delta + eps_het, as real numbers."""

    kind: ClassVar[str] = "configured"
    optimality: float = attrs.field(validator=real(0, open_=True, clause="GV-7"))
    heterogeneity: float = attrs.field(validator=real(0, open_=True, clause="GV-7"))


MOST_REHEARSALS = 10**6
"""More rehearsals than anybody runs."""


USUAL_REHEARSALS = 29


def enough_runs(level: object) -> int:
    """So many rehearsals as are usual, or more where the level needs them.

    Implements: GU-12.
    """
    if not isinstance(level, float) or not 0 < level < 1:
        return USUAL_REHEARSALS  # what is no level is refused by its own check
    if required_runs(level) > MOST_REHEARSALS:
        raise ParameterError(
            f"level = {level} needs more than {MOST_REHEARSALS} rehearsals, which nobody runs: the "
            f"least level is {1 / (MOST_REHEARSALS + 1):.3g}",
            clause="GU-12",
        )
    return max(USUAL_REHEARSALS, required_runs(level))


@attrs.frozen
class CalibratedThresholds:
    """Thresholds that all honest runs together alarm at most at the level, from rehearsals.

    `pilots` are rehearsals that only say how much each statistic varies; `runs` are those among
    which the run is ranked: with 29 a false alarm has a chance of at most 1/30. All checks of a
    scenario that are calibrated share one level. `runs` that are not given are 29, or as many as
    the level needs.
    """

    kind: ClassVar[str] = "calibrated"
    level: float = attrs.field(default=0.05, validator=real(0, 1, open_=True, clause="GU-12"))
    runs: int = attrs.field(validator=whole(1, MOST_REHEARSALS, clause="GU-12"))
    pilots: int = attrs.field(default=10, validator=whole(1, MOST_REHEARSALS, clause="GU-12"))
    tails: Tails = Tails.UPPER

    @runs.default
    def _runs(self) -> int:
        return enough_runs(self.level)

    def __attrs_post_init__(self) -> None:
        rank(self.level, self.runs)


ThresholdsPart = CertifiedThresholds | ConfiguredThresholds | CalibratedThresholds


def as_weights(value: WeightsPart | Mapping[str, Any] | str, path: str = "weights") -> WeightsPart:
    """Weights from themselves, a text such as "polynomial:power=2", or a document."""
    found: WeightsPart = part_of(WeightsPart, named("weights", value, path), path)
    return found


def as_thresholds(
    value: ThresholdsPart | Mapping[str, Any] | str, path: str = "thresholds"
) -> ThresholdsPart:
    """Thresholds from themselves, a text such as "certificate:theta=0.1", or a document."""
    found: ThresholdsPart = part_of(ThresholdsPart, named("thresholds", value, path), path)
    return found


@attrs.frozen
class Check:
    """One weighting of GlobalValidate with its thresholds."""

    name: str = "t^1"
    weights: WeightsPart = attrs.field(default=Polynomial(), converter=as_weights)
    thresholds: ThresholdsPart = attrs.field(
        default=CalibratedThresholds(), converter=as_thresholds
    )

    def __attrs_post_init__(self) -> None:
        if type(self.name) is not str or not self.name:
            raise ParameterError("a check has a name, which is a text", clause="GV-12")


@attrs.frozen
class PaperValidation:
    """The validation that the paper describes, repaired."""

    kind: ClassVar[str] = "paper"


@attrs.frozen
class Lean:
    """Lean validation with kappa common keys.

    `without` leaves necessary parts out, to show what each is for. With `coins`, 64 hexadecimal
    digits, the openings and the name of the run are made of these and not of the whole scenario.

    Implements: VA-6.
    """

    kind: ClassVar[str] = "lean"
    kappa: int = attrs.field(default=2, converter=plain)
    without: tuple[str, ...] = ()
    coins: str | None = None

    def __attrs_post_init__(self) -> None:
        check_lean(self.kappa, self.without)
        if self.coins is not None:
            check_hexadecimal(self.coins)


ValidationPart = PaperValidation | Lean


# What stands in which field.


@attrs.frozen
class _Field:
    """A field whose parts have names: what such a part is, an example, its type and classes."""

    what: str
    example: str
    admitted: Any
    union: Any
    others: frozenset[str] = frozenset()

    @property
    def classes(self) -> tuple[type, ...]:
        """The classes of the package."""
        return get_args(self.union)

    @property
    def names(self) -> frozenset[str]:
        """All names that a text can begin with."""
        return self.others | {name for part in self.classes if (name := own_kind(part))}


FIELDS: Mapping[str, _Field] = MappingProxyType(
    {
        "graph": _Field("a graph", "complete:5", AnyGraph, GraphPart, FAMILY_NAMES),
        "loss": _Field("a loss", "random-ridge:samples=30", AnyLoss, LossPart),
        "schedule": _Field("a schedule", "constant:alpha=0.1,eta=0.1", SchedulePart, SchedulePart),
        "bounds": _Field("bounds", "configured:model=9,gradient=9", BoundsPart, BoundsPart),
        "weights": _Field("weights", "polynomial:power=2", WeightsPart, WeightsPart),
        "thresholds": _Field("thresholds", "certificate:theta=0.1", ThresholdsPart, ThresholdsPart),
        "attack": _Field("an attack", "gaussian:sigma=0.3", AnyAttack, AttackPart),
        "validation": _Field("a validation", "lean:kappa=3", ValidationPart, ValidationPart),
    }
)
"""The fields of a scenario, and of its checks, that take the text of a part."""


def named(field: str, value: Any, path: str) -> Any:
    """What a text or a document names, or a part of the package itself, all held to one form.

    A part of another field is refused with the name of that field; what is none of all these is
    given back as it is.

    Implements: VA-6.
    """
    here = FIELDS[field]
    if isinstance(value, str) and not value.strip():
        raise wrong(path, f'{here.what} such as "{here.example}"', value)
    _refuse_stranger(field, value, path)
    if isinstance(value, str):
        return parse_part(here.admitted, value, path)
    if isinstance(value, Mapping):
        return structure(here.admitted, plain(value), path)
    if type(value) in here.classes:
        options = {key: item for key, item in plain(value).items() if key != "kind"}
        return structure(type(value), options, path)
    return value


def _refuse_stranger(field: str, value: Any, path: str) -> None:
    """Refuse what belongs into another field, saying into which."""
    name: object = None
    if isinstance(value, str):
        name = None if IN_A_MODULE.fullmatch(value) else value.partition(":")[0].strip()
    elif isinstance(value, Mapping):
        kind = value.get("kind")
        name = kind if isinstance(kind, str) else None
    elif any(type(value) in one.classes for one in FIELDS.values()):
        name = own_kind(type(value))
    here = FIELDS[field]
    found = {key: one for key, one in FIELDS.items() if name in one.names}
    reader = next(
        (one for one in (GRAPH_PARTS, LOSS_PARTS, ATTACK_PARTS) if one.what == field), None
    )
    if not found or field in found or (reader is not None and name in reader.registered()):
        return
    places = [f"--{key}" if path.startswith("--") else IN_CHECKS.get(key, key) for key in found]
    whats = [one.what for one in found.values()]
    raise DocumentError(
        f"{path}: {name!r} is {' or '.join(whats)}, not {here.what}: give it as "
        f"{' or '.join(dict.fromkeys(places))}",
        clause="VA-6",
    )


IN_CHECKS: Mapping[str, str] = MappingProxyType({"weights": "checks", "thresholds": "checks"})
"""Where the parts of a check stand in a scenario."""
