"""An experiment: every choice that determines its results, as one document."""

from typing import Any, Literal

import attrs

from torch_backend.attacks import AttackPart
from torch_backend.config.parts import (
    BoundsPart,
    DataPart,
    Detection,
    Evaluation,
    Mnist,
    NoAttack,
    RandomStart,
    StartPart,
    Steps,
)
from torch_backend.data.partition import PartitionPart, Rotated
from torch_backend.errors import ConfigError
from torch_backend.models import Mlp, ModelPart
from torch_backend.options import whole
from torch_backend.rules import Plain, RulePart
from valid_ref.document import unstructure
from valid_ref.lattice import MERSENNE_61
from valid_ref.scenario.parts import Family, GraphPart, NoBounds
from valid_ref.schedule import Precision

FORMAT = "valid-torch/experiment/1"


@attrs.frozen
class Experiment:
    """Network, data, model, steps, start, and the rules, attacks and seeds to be run.

    Every rule is run against every attack with every seed. `byzantine` are the agents that attack;
    with the attack "none" there are none. `validate` runs the validation phase on the transcripts
    of every run of the rule "valid"; `figures` are the plots to be made.

    Implements: EX-12.
    """

    about: str
    format: str = FORMAT
    data: DataPart = Mnist()
    pixels: Literal["standardised", "unit"] = "standardised"
    partition: PartitionPart = Rotated()
    graph: GraphPart = Family("paper")
    model: ModelPart = Mlp()
    batch: int = attrs.field(default=300, validator=whole(1))
    rounds: int = attrs.field(default=400, validator=whole(1))
    steps: Steps = Steps()
    precision: Precision = Precision()
    prime: int = MERSENNE_61
    start: StartPart = RandomStart()
    rules: tuple[RulePart, ...] = (Plain(),)
    attacks: tuple[NoAttack | AttackPart, ...] = (NoAttack(),)
    byzantine: tuple[int, ...] = (4,)
    seeds: tuple[int, ...] = (1, 2, 3)
    evaluation: Evaluation = Evaluation()
    detection: Detection = Detection()
    bounds: BoundsPart = NoBounds()
    validate: bool = False
    figures: tuple[Literal["rounds", "sigma", "detection"], ...] = ("rounds",)

    def __attrs_post_init__(self) -> None:
        if self.format != FORMAT:
            raise ConfigError(f"format {self.format!r} is not {FORMAT!r}")
        for name in ("rules", "attacks", "seeds"):
            values = getattr(self, name)
            if not values:
                raise ConfigError(f"{name}: at least one is needed")
            if len(set(values)) < len(values):
                raise ConfigError(f"{name}: one stands twice in the list")
        if min(self.seeds) < 0:
            raise ConfigError(f"seeds: {min(self.seeds)} is negative")
        shared = sorted(set(self.seeds) & set(self.detection.seeds))
        if shared:
            raise ConfigError(
                f"seeds: {shared[0]} is also a seed of calibration; move detection.first_seed",
                clause="EX-10",
            )
        attacked = any(not isinstance(attack, NoAttack) for attack in self.attacks)
        if attacked and not self.byzantine:
            raise ConfigError("an attack needs Byzantine agents", clause="EX-8")

    def measures(self, rule: RulePart) -> bool:
        """Whether runs of this rule have statistics: GlobalValidate is of VALID alone."""
        return isinstance(rule, Plain) and bool(self.detection.gammas)

    def validates(self, rule: RulePart) -> bool:
        """Whether the validation phase is run on this rule.

        Implements: EX-17.
        """
        return isinstance(rule, Plain) and self.validate


def experiment_document(experiment: Experiment) -> dict[str, Any]:
    """The document of an experiment, with every default written out.

    Implements: EX-12.
    """
    document: dict[str, Any] = unstructure(experiment)
    return document
