"""What Byzantine agents say in the learning phase.

An attack of your own is a frozen attrs class derived from `LearningAttack`, `Windowed` or
`FalseModel`, whose fields are its options; experiments name it `module:Name`.
"""

from typing import Annotated

from torch_backend.attacks.attack import (
    FalseModel,
    LearningAttack,
    LearningDeviation,
    LearningView,
    NoAttack,
    Windowed,
)
from torch_backend.attacks.false_models import (
    Alie,
    Gaussian,
    InnerProduct,
    Mimic,
    Replacement,
    SignFlip,
)
from torch_backend.attacks.gossip import Dissensus, Equivocation, Isolation, Silence, Spectral
from torch_backend.attacks.gradients import (
    GradientLie,
    InconsistentGradient,
    LabelFlip,
    OneLabel,
    Push,
)
from valid_ref.named_parts import NamedParts

ATTACKS = NamedParts(
    what="attack",
    known=(
        NoAttack,
        Gaussian,
        Replacement,
        SignFlip,
        Alie,
        InnerProduct,
        Mimic,
        Dissensus,
        Isolation,
        Spectral,
        Equivocation,
        InconsistentGradient,
        GradientLie,
        Push,
        LabelFlip,
        OneLabel,
        Silence,
    ),
    group="valid_torch.attacks",
    methods=("check", "deviate", "labels"),
)
"""The attacks that an experiment can name, beside those that anybody brings."""

AttackPart = Annotated[NoAttack | LearningAttack, ATTACKS]
"""Any attack of an experiment."""

__all__ = [
    "ATTACKS",
    "Alie",
    "AttackPart",
    "Dissensus",
    "Equivocation",
    "FalseModel",
    "Gaussian",
    "GradientLie",
    "InconsistentGradient",
    "InnerProduct",
    "Isolation",
    "LabelFlip",
    "LearningAttack",
    "LearningDeviation",
    "LearningView",
    "Mimic",
    "NoAttack",
    "OneLabel",
    "Push",
    "Replacement",
    "SignFlip",
    "Silence",
    "Spectral",
    "Windowed",
]
