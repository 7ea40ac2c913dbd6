"""How an agent combines what it received with its own model, on the lattice.

A rule of your own is a frozen attrs class derived from `Rule`, whose fields are its options;
experiments name it `module:Name`.
"""

from typing import Annotated

from torch_backend.rules.bridge import BridgeBulyan, BridgeKrum, BridgeMedian, BridgeTrimmed
from torch_backend.rules.gossip import ClippedGossip, ValidRule
from torch_backend.rules.respond import ROBUST, Respond
from torch_backend.rules.rule import Losses, Received, Rule
from torch_backend.rules.ubar import Ubar
from valid_ref.named_parts import NamedParts

RULES = NamedParts(
    what="rule",
    known=(ValidRule, *ROBUST.known, Respond),
    group="valid_torch.rules",
    methods=("check", "mix", "needs_losses"),
)
"""The rules that an experiment can name, beside those that anybody brings."""

RulePart = Annotated[Rule, RULES]
"""Any rule of an experiment."""

__all__ = [
    "ROBUST",
    "RULES",
    "BridgeBulyan",
    "BridgeKrum",
    "BridgeMedian",
    "BridgeTrimmed",
    "ClippedGossip",
    "Losses",
    "Received",
    "Respond",
    "Rule",
    "RulePart",
    "Ubar",
    "ValidRule",
]
