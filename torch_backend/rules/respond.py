"""Training that is validated now and then, and what is done after an alarm."""

from typing import ClassVar

import attrs
from torch import Tensor

from torch_backend.errors import ConfigError
from torch_backend.options import declared
from torch_backend.rules.bridge import BridgeBulyan, BridgeKrum, BridgeMedian, BridgeTrimmed
from torch_backend.rules.gossip import ClippedGossip, ValidRule
from torch_backend.rules.rule import Losses, Received, Rule, asks_for_losses, check_rule
from torch_backend.rules.ubar import Ubar
from valid_ref.document import DocumentError
from valid_ref.graph import AgentGraph
from valid_ref.lattice import LatticeParameters
from valid_ref.named_parts import NamedParts

STOP, PLAIN = "stop", "plain"

ROBUST = NamedParts(
    what="rule after an alarm",
    known=(Ubar, BridgeMedian, BridgeTrimmed, BridgeKrum, BridgeBulyan, ClippedGossip),
    group="valid_torch.rules",
    methods=("check", "mix", "needs_losses"),
)
"""The rules that training can go on with after an alarm."""


@attrs.frozen
class Respond(Rule):
    """VALID with validation after every segment; after an alarm `then`: a rule, stop or plain.

    `then` is a rule as texts name it (`clipped-gossip:tau=0.5`), or "stop", or "plain" for the
    rule of VALID without further validation.

    Implements: EX-21.
    """

    kind: ClassVar[str] = "respond"
    then: str = attrs.field(validator=declared)

    def __attrs_post_init__(self) -> None:
        _ = self.after  # refuses what is no rule

    @property
    def after(self) -> Rule | None:
        """The rule after an alarm; None where training stops.

        Implements: EX-21.
        """
        if self.then == STOP:
            return None
        if self.then == PLAIN:
            return ValidRule()
        try:
            found: Rule = ROBUST.read(self.then, "then")
        except DocumentError as error:
            raise ConfigError(
                f"respond: {error.message} (or {STOP}, or {PLAIN})", clause="EX-21"
            ) from None
        return found

    @property
    def needs_losses(self) -> bool:
        """Whether the rule after an alarm evaluates candidates."""
        return self.after is not None and asks_for_losses(self.after)

    def check(self, graph: AgentGraph) -> None:
        """Refuse a graph that the rule after an alarm refuses."""
        if self.after is not None:
            check_rule(self.after, graph)

    def mix(
        self,
        t: int,
        parameters: LatticeParameters,
        graph: AgentGraph,
        received: Received,
        losses: Losses | None,
    ) -> tuple[Tensor, Tensor]:
        """As VALID mixes, until there is an alarm."""
        return ValidRule().mix(t, parameters, graph, received, losses)
