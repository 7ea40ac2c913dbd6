"""What Byzantine agents say in the learning phase.

An attack of your own is a frozen attrs class with the methods of `LearningAttack` (`Windowed` and
`FalseModel` have most of them), whose fields are its options, and its name in the union below.
"""

from torch_backend.attacks.attack import LearningAttack, LearningDeviation, LearningView
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
    Benign,
    DriftPush,
    GradientLie,
    InconsistentGradient,
    LabelFlip,
)

AttackPart = (
    Gaussian
    | Replacement
    | SignFlip
    | Alie
    | InnerProduct
    | Mimic
    | Dissensus
    | Isolation
    | Spectral
    | Equivocation
    | InconsistentGradient
    | GradientLie
    | DriftPush
    | LabelFlip
    | Benign
    | Silence
)
"""Any named attack; told apart by its kind."""

__all__ = [
    "Alie",
    "AttackPart",
    "Benign",
    "Dissensus",
    "DriftPush",
    "Equivocation",
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
    "Replacement",
    "SignFlip",
    "Silence",
    "Spectral",
]
