"""The named attacks, as a scenario names them."""

import inspect
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, get_args

import attrs

from valid_ref.adversary import lean_attacks
from valid_ref.adversary.broadcasts import (
    LastRoundEquivocator,
    LateFalseAlarm,
    RelayTamperer,
    SilentSource,
)
from valid_ref.adversary.data import Benign, DeltaPlusEpsilon, LabelFlip
from valid_ref.adversary.early_keys import EarlyKeys
from valid_ref.adversary.edits import Edits
from valid_ref.adversary.gradients import ConsistentGradientLie, DriftPush, InconsistentGradient
from valid_ref.adversary.hidden import HiddenHashes, HiddenTranscripts
from valid_ref.adversary.lean_attacks import (
    AdaptiveOpening,
    CopiedCommitment,
    EarlyValue,
    FalseNumber,
    FalseOwnReport,
    GuessedShares,
    LateTotal,
    SilentBranch,
    SplitOpening,
    WrappedTotal,
    WrongDigest,
    WrongSum,
    WrongTotal,
)
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

AttackPart = (
    Edits
    | Benign
    | DeltaPlusEpsilon
    | LabelFlip
    | Gaussian
    | SignFlip
    | Alie
    | InnerProduct
    | Mimic
    | Dissensus
    | Isolation
    | SpectralHeterogeneity
    | Equivocation
    | InconsistentGradient
    | ConsistentGradientLie
    | DriftPush
    | EarlyKeys
    | HashLiar
    | FalseReport
    | EstimateLiar
    | BalancedReport
    | LoneVictim
    | SilentSource
    | LastRoundEquivocator
    | RelayTamperer
    | LateFalseAlarm
    | HiddenHashes
    | HiddenTranscripts
    | AdaptiveOpening
    | GuessedShares
    | CopiedCommitment
    | SplitOpening
    | WrongSum
    | WrongTotal
    | WrappedTotal
    | LateTotal
    | SilentBranch
    | EarlyValue
    | FalseNumber
    | FalseOwnReport
    | WrongDigest
)
"""Any named attack; told apart by its kind."""

ATTACKS: Mapping[str, type[AttackPart]] = MappingProxyType(
    {attack.kind: attack for attack in get_args(AttackPart)}
)
"""Every named attack by its kind."""

LEAN_ATTACKS: tuple[str, ...] = tuple(
    kind for kind, attack in ATTACKS.items() if attack.__module__ == lean_attacks.__name__
)
"""Those on lean validation, which need it."""


@attrs.frozen
class Description:
    """One attack for a list: its name, its options with their defaults, and its text."""

    kind: str
    options: Mapping[str, Any]
    summary: str
    text: str

    @property
    def expected(self) -> str:
        """What the attack should end with, in one line."""
        _before, _colon, rest = self.text.partition("Expected: ")
        return " ".join(rest.split("\n\n")[0].split())


def describe() -> tuple[Description, ...]:
    """All named attacks in the order of the catalogue."""
    found = []
    for kind, attack in ATTACKS.items():
        text = inspect.getdoc(attack) or ""
        options = {field.name: field.default for field in attrs.fields(attack)}
        found.append(Description(kind, options, text.splitlines()[0], text))
    return tuple(found)
