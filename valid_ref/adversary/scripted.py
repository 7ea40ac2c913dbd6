"""The adversary that plays a script: given messages on given edges in given rounds."""

from collections.abc import Iterable, Mapping

import attrs

from valid_ref.machine import CausalView, Edge, Message, Round

Moment = tuple[str, int, int, int]
"""(phase, round, sender, receiver)."""


@attrs.frozen
class Scripted:
    """Sends the given messages; on all other edges `otherwise`, by phase.

    In a phase that `otherwise` does not name the rest is what honest code says.

    Implements: AD-4.
    """

    messages: Mapping[Moment, Message]
    otherwise: Mapping[str, Message] = attrs.field(factory=dict)

    @classmethod
    def of(cls, rounds: Iterable[Round]) -> "Scripted":
        """The script that deviates as the Byzantine agents did in recorded rounds."""
        return cls(
            {
                (spoken.phase, spoken.number, *edge): message
                for spoken in rounds
                for edge, message in spoken.deviations.items()
            }
        )

    def __call__(self, view: CausalView) -> Mapping[Edge, Message]:
        """What the Byzantine agents send in this round."""
        sent: dict[Edge, Message] = {}
        for edge in view.own_edges:
            moment = (view.phase, view.round, *edge)
            if moment in self.messages:
                sent[edge] = self.messages[moment]
            elif view.phase in self.otherwise:
                sent[edge] = self.otherwise[view.phase]
        return sent
