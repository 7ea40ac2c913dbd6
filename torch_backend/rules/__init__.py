"""How an agent combines what it received with its own model, on the lattice.

A rule of your own is a frozen attrs class with the methods of `Rule`, whose fields are its options,
and its name in the union below.
"""

from torch_backend.rules.bridge import BridgeBulyan, BridgeKrum, BridgeMedian, BridgeTrimmed
from torch_backend.rules.gossip import ClippedGossip, ValidRule
from torch_backend.rules.rule import Received, Rule
from torch_backend.rules.ubar import Ubar

RulePart = (
    ValidRule | Ubar | BridgeMedian | BridgeTrimmed | BridgeKrum | BridgeBulyan | ClippedGossip
)
"""Any named rule; told apart by its kind."""

__all__ = [
    "BridgeBulyan",
    "BridgeKrum",
    "BridgeMedian",
    "BridgeTrimmed",
    "ClippedGossip",
    "Received",
    "Rule",
    "RulePart",
    "Ubar",
    "ValidRule",
]
