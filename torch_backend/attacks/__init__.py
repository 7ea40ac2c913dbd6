"""What Byzantine agents say in the learning phase.

An attack of your own is a frozen attrs class with the methods of `Attack` (`Windowed` and
`FalseModel` have most of them), whose fields are its options, and its name in the union below.
"""

from torch_backend.attacks.attack import Attack, Deviation, View
from torch_backend.attacks.data import Benign, LabelFlip, Silence
from torch_backend.attacks.gaussian import Gaussian, Replacement
from torch_backend.attacks.gossip import Dissensus, Equivocation, Isolation, Spectral
from torch_backend.attacks.gradients import DriftPush, GradientLie, InconsistentGradient
from torch_backend.attacks.published import Alie, InnerProduct, Mimic, SignFlip

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
    "Attack",
    "AttackPart",
    "Benign",
    "Deviation",
    "Dissensus",
    "DriftPush",
    "Equivocation",
    "Gaussian",
    "GradientLie",
    "InconsistentGradient",
    "InnerProduct",
    "Isolation",
    "LabelFlip",
    "Mimic",
    "Replacement",
    "SignFlip",
    "Silence",
    "Spectral",
    "View",
]
