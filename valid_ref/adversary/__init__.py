"""Adversaries: what Byzantine agents do instead of what they should.

`Attack` is what a scenario takes; the classes beside it are the named attacks. The functions are
tools to write one: `lying` turns a function that gives false models into an adversary, `together`
joins adversaries, and `quiet` keeps Byzantine agents from reporting their own alarms.
"""

from valid_ref.adversary.attack import (
    Attack,
    AttackError,
    Deviation,
    Gradient,
    Setting,
    byzantine_neighbours,
    clip_model,
    consistent_message,
    honest_message,
    honest_neighbours,
    in_learning,
    lying,
    mixing_point,
    models,
    on_lattice,
    quiet,
    sent_model,
    together,
    units,
)
from valid_ref.adversary.broadcasts import (
    LastRoundEquivocator,
    LateFalseAlarm,
    RelayTamperer,
    SilentSource,
)
from valid_ref.adversary.catalogue import ATTACKS, Description, describe
from valid_ref.adversary.data import Benign, DeltaPlusEpsilon, LabelFlip
from valid_ref.adversary.early_keys import EarlyKeys
from valid_ref.adversary.edits import Edit, Edits
from valid_ref.adversary.gradients import ConsistentGradientLie, DriftPush, InconsistentGradient
from valid_ref.adversary.hidden import HiddenHashes, HiddenTranscripts
from valid_ref.adversary.models import (
    Alie,
    Dissensus,
    Equivocation,
    Gaussian,
    InnerProduct,
    Isolation,
    Mimic,
    SignFlip,
    SpectralHeterogeneity,
)
from valid_ref.adversary.reports import (
    BalancedReport,
    EstimateLiar,
    FalseReport,
    HashLiar,
    LoneVictim,
)

__all__ = [
    "ATTACKS",
    "Alie",
    "Attack",
    "AttackError",
    "BalancedReport",
    "Benign",
    "ConsistentGradientLie",
    "DeltaPlusEpsilon",
    "Description",
    "Deviation",
    "Dissensus",
    "DriftPush",
    "EarlyKeys",
    "Edit",
    "Edits",
    "Equivocation",
    "EstimateLiar",
    "FalseReport",
    "Gaussian",
    "Gradient",
    "HashLiar",
    "HiddenHashes",
    "HiddenTranscripts",
    "InconsistentGradient",
    "InnerProduct",
    "Isolation",
    "LabelFlip",
    "LastRoundEquivocator",
    "LateFalseAlarm",
    "LoneVictim",
    "Mimic",
    "RelayTamperer",
    "Setting",
    "SignFlip",
    "SilentSource",
    "SpectralHeterogeneity",
    "byzantine_neighbours",
    "clip_model",
    "consistent_message",
    "describe",
    "honest_message",
    "honest_neighbours",
    "in_learning",
    "lying",
    "mixing_point",
    "models",
    "on_lattice",
    "quiet",
    "sent_model",
    "together",
    "units",
]
