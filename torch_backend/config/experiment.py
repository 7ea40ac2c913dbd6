"""An experiment: every choice that determines its results as one document, and its jobs."""

import hashlib
import re
from typing import Annotated, Any, ClassVar, Literal

import attrs

from torch_backend.attacks import ATTACKS, AttackPart, NoAttack
from torch_backend.config.response import ResponseOptions
from torch_backend.data import DATA, DataPart, Mnist
from torch_backend.data.partition import PARTITIONS, PartitionPart, Rotated
from torch_backend.errors import ConfigError
from torch_backend.models import MODELS, Mlp, ModelPart
from torch_backend.options import real, whole
from torch_backend.rules import ROBUST, RULES, Respond, RulePart, ValidRule
from valid_ref.document import DocumentError, unstructure
from valid_ref.graph import honest_among
from valid_ref.guarantees.calibration import Tails, rank, required_runs
from valid_ref.hashing import FieldError, PrimeField
from valid_ref.lattice import MERSENNE_61
from valid_ref.named_parts import NamedParts, name_of
from valid_ref.protocols.parameters import check_lean
from valid_ref.scenario.convert import TextOr, as_agents, as_bounds, as_graph
from valid_ref.scenario.parts import (
    GRAPH_PARTS,
    ConfiguredBounds,
    Family,
    GraphPart,
    NoBounds,
    OwnGraph,
    size_of,
)
from valid_ref.schedule import MOST_ROUNDS, Precision

BoundsPart = ConfiguredBounds | NoBounds
ReadGraph = Annotated[GraphPart | OwnGraph, TextOr(GraphPart, as_graph, GRAPH_PARTS)]
ReadBounds = Annotated[BoundsPart, TextOr(BoundsPart, as_bounds)]
Agents = Annotated[tuple[int, ...], TextOr(tuple[int, ...], as_agents, number=True)]
"""What is read as a scenario reads it, texts too."""


@attrs.frozen
class ConstantMixing:
    """The same mixing step eta in every round."""

    kind: ClassVar[str] = "constant"
    eta: float = attrs.field(default=1 / 11, validator=real(0, above=True))


@attrs.frozen
class RootMixing:
    """eta0 / sqrt(t + 1), the decaying mixing step of the theory."""

    kind: ClassVar[str] = "inverse-root"
    eta0: float = attrs.field(default=1 / 11, validator=real(0, above=True))


MixingPart = ConstantMixing | RootMixing


@attrs.frozen
class Steps:
    """alpha = initial / (initial + t), and the mixing step.

    `counts`: t is the round, from 1, or the number of passes over the data before the round.

    Implements: EX-6.
    """

    initial: int = attrs.field(default=5, validator=whole(1))
    counts: Literal["round", "epoch"] = "round"
    mixing: MixingPart = ConstantMixing()


@attrs.frozen
class RandomStart:
    """One random model for all agents, drawn from the seed by the model's own initialisation."""

    kind: ClassVar[str] = "random"


@attrs.frozen
class ZeroStart:
    """All parameters zero, as printed; a ReLU network does not train from there."""

    kind: ClassVar[str] = "zero"


@attrs.frozen
class GivenStart:
    """The vector of real numbers in an NPY file."""

    kind: ClassVar[str] = "given"
    file: str


StartPart = RandomStart | ZeroStart | GivenStart


@attrs.frozen
class Evaluation:
    """When models are evaluated: in every `every`-th round, in the first and in the last.

    Implements: EX-5.
    """

    every: int = attrs.field(default=20, validator=whole(1))

    def rounds(self, rounds: int) -> tuple[int, ...]:
        """The rounds that are evaluated, of so many."""
        return tuple(sorted({1, rounds, *range(self.every, rounds, self.every)}))


@attrs.frozen
class DetectionOptions:
    """The weightings of GlobalValidate, and how their thresholds are calibrated.

    An honest run alarms at most with probability `level` in any test of any gamma, on the upper
    side or, with `tails` = "both", on either. Calibration takes attack-free runs with the seeds
    from `first_seed` on: first the `pilots`, which only say how much each statistic varies, then
    the `runs` among which a run is ranked, by default as few as the level needs. No gammas:
    nothing is measured.

    Implements: EX-10.
    """

    gammas: tuple[float, ...] = (0.9, 0.99)
    bits: int = attrs.field(default=30, validator=whole(1))
    level: float = attrs.field(default=0.05, validator=real(0, 1, above=True))
    tails: Tails = Tails.UPPER
    pilots: int = attrs.field(default=5, validator=whole(1))
    runs: int | None = attrs.field(default=None, validator=whole(1))
    first_seed: int = attrs.field(default=1000, validator=whole(0))

    def __attrs_post_init__(self) -> None:
        for gamma in self.gammas:
            if not 0 <= gamma <= 1:
                raise ConfigError(f"gamma = {gamma} is outside 0..1", clause="GV-1")
        if len(set(self.gammas)) < len(self.gammas):
            raise ConfigError("a gamma stands twice in the list", clause="GV-12")
        rank(self.level, self.rehearsals)  # refuses too few, before anything is run

    @property
    def rehearsals(self) -> int:
        """How many runs a run is ranked among.

        Implements: EX-10.
        """
        return required_runs(self.level) if self.runs is None else self.runs

    @property
    def pilot_seeds(self) -> tuple[int, ...]:
        """The seeds of the pilots; none where nothing is measured."""
        return tuple(range(self.first_seed, self.first_seed + self.pilots)) if self.gammas else ()

    @property
    def ranked_seeds(self) -> tuple[int, ...]:
        """The seeds of the runs among which a run is ranked; none where nothing is measured."""
        first = self.first_seed + self.pilots
        return tuple(range(first, first + self.rehearsals)) if self.gammas else ()

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds of all calibration runs."""
        return self.pilot_seeds + self.ranked_seeds


LEAN_BITS = 16
"""Heavier weights would leave no room for gradients in lean validation."""

FORMAT = "valid-torch/experiment/2"


@attrs.frozen
class Experiment:
    """Network, data, model, steps, start, and the rules, attacks and seeds to be run.

    Every rule is run against every attack with every seed. With a `common_seed` partition and start
    are drawn from it for all runs, calibration included, and the seed of a run draws its batches
    and the noise of its attack alone; without, the seed of a run draws everything. `byzantine` are
    the agents that attack; with the attack "none" there are none. `validate` runs the validation
    phase on the transcripts of every run of the rule "valid": the one of the paper or, with
    `kappa` common keys, lean `validation`. With a `response` runs are measured at the end of every
    segment, and those of the rule "respond" validated there. `figures` are the plots to be made.

    Implements: EX-12, EX-21.
    """

    about: str
    format: str = FORMAT
    data: DataPart = Mnist()
    pixels: Literal["standardised", "unit"] = "standardised"
    partition: PartitionPart = Rotated()
    graph: ReadGraph = attrs.field(default=Family("paper"), converter=as_graph)
    model: ModelPart = Mlp()
    batch: int = attrs.field(default=300, validator=whole(1))
    rounds: int = attrs.field(default=400, validator=whole(1, MOST_ROUNDS))
    steps: Steps = Steps()
    precision: Precision = Precision()
    prime: int = MERSENNE_61
    start: StartPart = RandomStart()
    rules: tuple[RulePart, ...] = (ValidRule(),)
    attacks: tuple[AttackPart, ...] = (NoAttack(),)
    byzantine: Agents = (4,)
    seeds: tuple[int, ...] = (1, 2, 3)
    common_seed: int | None = attrs.field(default=None, validator=whole(0))
    evaluation: Evaluation = Evaluation()
    detection: DetectionOptions = DetectionOptions()
    bounds: ReadBounds = NoBounds()
    validate: bool = False
    validation: Literal["paper", "lean"] = "paper"
    kappa: int = attrs.field(default=2, validator=whole(1))
    response: ResponseOptions | None = None
    figures: tuple[Literal["rounds", "sigma", "detection", "utility"], ...] = ("rounds",)

    def __attrs_post_init__(self) -> None:
        if self.format != FORMAT:
            raise ConfigError(f"format {self.format!r} is not {FORMAT!r}")
        try:
            PrimeField(self.prime)
        except FieldError as error:
            raise ConfigError(f"prime: {error.message}", clause=error.clause) from None
        for place, part, parts in self.parts():
            try:
                parts.require(type(part), place)
            except DocumentError as error:
                raise ConfigError(error.message) from None
        self._require_lists()
        shared = sorted(set(self.seeds) & set(self.detection.seeds))
        if shared:
            raise ConfigError(
                f"seeds: {shared[0]} is also a seed of calibration; move detection.first_seed",
                clause="EX-10",
            )
        if self.validation == "lean":
            self._require_lean()
        self._require_response()
        attacked = any(not isinstance(attack, NoAttack) for attack in self.attacks)
        if attacked and not self.byzantine:
            raise ConfigError("an attack needs Byzantine agents", clause="EX-8")
        agents = size_of(self.graph)
        if attacked and agents is not None and not honest_among(agents, self.byzantine):
            raise ConfigError(
                f"byzantine: all {agents} agents; at least one must be honest", clause="AD-1"
            )

    def _require_lists(self) -> None:
        """Rules, attacks and seeds: at least one of each, none twice."""
        if len(set(self.figures)) < len(self.figures):
            raise ConfigError("figures: one stands twice in the list")
        for place, attack in enumerate(self.attacks):
            first = getattr(attack, "first", 1) if type(attack) in ATTACKS.known else 1
            if first > self.rounds:
                raise ConfigError(
                    f"attacks[{place}]: first = {first} is after the last round, {self.rounds}"
                )
        for name in ("rules", "attacks", "seeds"):
            values = getattr(self, name)
            if not values:
                raise ConfigError(f"{name}: at least one is needed")
            words = [value if name == "seeds" else label(value) for value in values]
            if len(set(words)) < len(words):
                raise ConfigError(f"{name}: one stands twice in the list")
        if min(self.seeds) < 0:
            raise ConfigError(f"seeds: {min(self.seeds)} is negative")

    def _require_response(self) -> None:
        """Segments where a rule responds, thresholds for all of them, and no other validation.

        Implements: EX-21, EX-22.
        """
        responds = any(isinstance(rule, Respond) for rule in self.rules)
        part = self.response
        if part is None:
            if responds:
                raise ConfigError(
                    "rules: respond validates after every segment; say after how many: "
                    "response = { segments = 8 }",
                    clause="EX-21",
                )
            return
        if part.segments > self.rounds:
            raise ConfigError(
                f"response: {part.segments} segments of {self.rounds} rounds", clause="EX-21"
            )
        if self.validate or not self.detection.gammas:
            raise ConfigError(
                "response: runs are validated after every segment by the gammas of detection; "
                "leave out validate (and --record), and name a gamma",
                clause="EX-21",
            )
        rank(part.level_of_each(self.detection.level), self.detection.rehearsals)

    def _require_lean(self) -> None:
        """Keys and weights with which no sum of lean validation wraps.

        Implements: LE-1, LE-3.
        """
        check_lean(self.kappa, ())
        if self.detection.gammas and self.detection.bits > LEAN_BITS:
            raise ConfigError(
                f"lean validation takes weights of at most {LEAN_BITS} bits, not "
                f"{self.detection.bits}: a sum could wrap; set detection.bits={LEAN_BITS}",
                clause="LE-3",
            )

    def parts(self) -> tuple[tuple[str, object, NamedParts], ...]:
        """Whatever anybody may bring: where it stands, the part, and those that are known there."""
        return (
            ("graph", self.graph, GRAPH_PARTS),
            ("data", self.data, DATA),
            ("partition", self.partition, PARTITIONS),
            ("model", self.model, MODELS),
            *((f"rules[{i}]", rule, RULES) for i, rule in enumerate(self.rules)),
            *((f"attacks[{i}]", attack, ATTACKS) for i, attack in enumerate(self.attacks)),
            *(
                (f"rules[{i}].then", rule.after, ROBUST)
                for i, rule in enumerate(self.rules)
                if isinstance(rule, Respond) and not isinstance(rule.after, ValidRule | None)
            ),
        )

    def drawn_from(self, seed: int) -> int:
        """The seed of partition and start of a run with this seed.

        Implements: EX-10.
        """
        return seed if self.common_seed is None else self.common_seed

    def measures(self, rule: RulePart) -> bool:
        """Whether runs of this rule have statistics: GlobalValidate is of VALID alone."""
        return isinstance(rule, ValidRule | Respond) and bool(self.detection.gammas)

    def validates(self, rule: RulePart) -> bool:
        """Whether the validation phase is run on this rule.

        Implements: EX-17.
        """
        return isinstance(rule, ValidRule) and self.validate


def experiment_document(experiment: Experiment) -> dict[str, Any]:
    """The document of an experiment, with every default written out.

    Implements: EX-12.
    """
    document: dict[str, Any] = unstructure(experiment)
    return document


Purpose = Literal["pilot", "calibrate", "measure"]


@attrs.frozen
class Job:
    """One run: its rule, its attack (or none), its seed, and what it is for."""

    purpose: Purpose
    rule: RulePart
    attack: AttackPart
    seed: int

    @property
    def name(self) -> str:
        """A name that tells the jobs of an experiment apart, fit for a file."""
        words = (label(self.rule), label(self.attack), f"seed={self.seed}")
        prefix = "" if self.purpose == "measure" else f"{self.purpose}_"
        return prefix + fit_for_a_file("_".join(words))

    @property
    def attacked(self) -> bool:
        """Whether anybody is Byzantine in it."""
        return not isinstance(self.attack, NoAttack)


def jobs(experiment: Experiment) -> tuple[Job, ...]:
    """All jobs in their order: those that calibrate thresholds first.

    Implements: EX-10, EX-14.
    """
    measured = any(experiment.measures(rule) for rule in experiment.rules)
    part, plain = experiment.detection, (ValidRule(), NoAttack())
    pilots = [Job("pilot", *plain, seed) for seed in part.pilot_seeds]
    ranked = [Job("calibrate", *plain, seed) for seed in part.ranked_seeds]
    calibration = [*pilots, *ranked] if measured else []
    return (
        *calibration,
        *(
            Job("measure", rule, attack, seed)
            for attack in experiment.attacks
            for rule in experiment.rules
            for seed in experiment.seeds
        ),
    )


def label(part: Any) -> str:
    """The name of a part and its options that are not at their default: "gaussian+sigma=0.1".

    The strength of noise is named in any case.
    """
    chosen = [
        _word(field.name, getattr(part, field.name))
        for field in attrs.fields(type(part))
        if getattr(part, field.name) != field.default or field.name == "sigma"
    ]
    return "+".join((name_of(part), *chosen))


def described(part: Any) -> dict[str, Any]:
    """The label of a part, then its options; an option called `label` too is seen in the label."""
    return {"label": "", "kind": name_of(part), **unstructure(part)} | {"label": label(part)}


def _word(name: str, value: Any) -> str:
    plain = unstructure(value)
    if plain is True:
        return name
    return f"{name}={'x'.join(map(str, plain)) if isinstance(plain, list) else plain}"


def fit_for_a_file(text: str) -> str:
    """The text with points for the colons of names, if it is then a name that every system has.

    Of any other text a part, and the beginning of its SHA-256.
    """
    name = text.replace(":", ".")
    if re.fullmatch(r"[\w.+=-]{1,180}", name, re.ASCII):
        return name
    digest = hashlib.sha256(text.encode()).hexdigest()[:12]
    return f"{re.sub(r'[^A-Za-z0-9_.+=-]', '.', name)[:120]}~{digest}"
