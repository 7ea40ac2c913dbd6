"""Byzantine agents that lie while a run is validated: the attacks of the reference, by name."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, cast

from torch_backend.errors import AttackError
from torch_backend.program import Program
from valid_ref.adversary.attack import Attack, Setting
from valid_ref.adversary.broadcasts import (
    LastRoundEquivocator,
    LateFalseAlarm,
    RelayTamperer,
    SilentSource,
)
from valid_ref.adversary.reports import EstimateLiar, FalseReport, HashLiar
from valid_ref.machine import Adversary

Liar = (
    HashLiar | FalseReport | EstimateLiar | SilentSource | LastRoundEquivocator | RelayTamperer
    | LateFalseAlarm
)  # fmt: skip
"""Attacks that need nothing of the learning phase but its parameters."""

LIARS: Mapping[str, type[Liar]] = MappingProxyType(
    {
        liar.kind: liar
        for liar in (
            HashLiar, FalseReport, EstimateLiar, SilentSource, LastRoundEquivocator,
            RelayTamperer, LateFalseAlarm,
        )
    }
)  # fmt: skip
"""Every such attack by its kind."""


def liar(program: Program, attack: Liar) -> Adversary:
    """The adversary for `validate` that makes the Byzantine agents of a run lie like this.

    Implements: AD-9.
    """
    if not program.byzantine:
        raise AttackError(f"{attack.kind}: nobody in this run is Byzantine")
    no_problem = cast("Any", None)  # losses with known constants, which a network does not have
    setting = Setting(
        program.parameters, no_problem, frozenset(program.byzantine), 0.0, program.seed
    )
    return cast("Attack", attack).build(setting).adversary
