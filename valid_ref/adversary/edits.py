"""The edit language: an attack as a list of changes to what honest code would have said.

Because the list is data, a failing run shrinks by leaving edits out.
"""

from collections.abc import Collection, Mapping
from typing import ClassVar

import attrs

from valid_ref.adversary.actions import (
    Action,
    Add,
    Drop,
    Flag,
    Forge,
    Replay,
    Scale,
    Scene,
    Set,
    Swap,
)
from valid_ref.adversary.attack import AttackError, Deviation, Setting
from valid_ref.machine import Adversary, CausalView, Edge, Message, Round
from valid_ref.protocols.agreement import PHASE as AGREEMENT
from valid_ref.protocols.broadcast import Tag, ValidatedBroadcast
from valid_ref.wire import Codec
from valid_ref.words import Again, Listed

__all__ = [
    "Action",
    "Add",
    "Drop",
    "Edit",
    "EditError",
    "Edits",
    "Forge",
    "Replay",
    "Scale",
    "Set",
    "Swap",
    "without_alarm",
]


class EditError(AttackError):
    """An edit that this network has no place for."""


@attrs.frozen
class Edit:
    """One deviation: in this phase and round, on this edge, do that to the message.

    A round or a receiver that is not given means every one.

    Implements: AD-9.
    """

    phase: str
    round: int | None
    sender: int
    receiver: int | None
    action: Action

    def __str__(self) -> str:
        when = "every round" if self.round is None else f"round {self.round}"
        to = "everybody" if self.receiver is None else str(self.receiver)
        return f"{self.phase} {when}, {self.sender} to {to}: {self.action}"


@attrs.frozen
class Edits:
    """Honest code plus edits: each changes the message on its edges, in the order of the list.

    The empty list is an honest run. An edit that does not fit the message (a vector added to
    "no alarm") sends garbage: a Byzantine agent may send anything, and the receiver alarms with
    MALFORMED_MESSAGE. Silence stays silence under add, scale and forge. An edit on an edge that
    leaves no Byzantine agent, in a phase or round that does not exist, or that replays a round
    that is not earlier, is refused with an EditError that names it.

    Byzantine agents run honest code where nothing is edited, in the agreement too: one that sees
    its own lie come back says so. `without_alarm` gives the edits that keep it quiet.

    Expected: an admissible model or an alarm, for every list, under Assumption 1+.

    Implements: AD-4, AD-9.
    """

    kind: ClassVar[str] = "edits"
    edits: tuple[Edit, ...] = ()

    def build(self, setting: Setting) -> Deviation:
        """The adversary that applies the edits."""
        phases = setting.phases()
        for edit in self.edits:
            _check(setting, phases, edit)
        by_phase: dict[str, list[Edit]] = {}
        for edit in self.edits:
            by_phase.setdefault(edit.phase, []).append(edit)
        return Deviation(adversary=_adversary(by_phase, Codec(setting.parameters).broadcasts))


def _adversary(
    by_phase: Mapping[str, list[Edit]], broadcasts: Mapping[str, ValidatedBroadcast]
) -> Adversary:
    def adversary(view: CausalView) -> Mapping[Edge, Message]:
        words: dict[Edge, Message] = {}
        for edit in by_phase.get(view.phase, ()):
            if edit.round is not None and edit.round != view.round:
                continue
            receivers = view.graph.neighbours(edit.sender)
            for receiver in receivers if edit.receiver is None else (edit.receiver,):
                edges = ((edit.sender, u) for u in receivers)
                said = {edge[1]: words.get(edge, view.on_edge(*edge)) for edge in edges}
                sent = _sent_earlier(view, edit.sender, receiver)
                message = edit.action.apply(Scene(receiver, said, sent))
                public = broadcasts[view.phase].order if view.phase in broadcasts else ()
                words[edit.sender, receiver] = _mapping(message, public)
        return words

    return adversary


def _mapping(message: Message, public: Collection[Tag]) -> Message:
    """A list of entries in which no public tag stands twice as the mapping that it is (VB-9)."""
    if not isinstance(message, Listed):
        return message
    found: dict[object, object] = {}
    for tag, value in (entry for part in message.parts for entry in part.items()):
        if tag in found and tag in public:
            return message
        found[Again(tag, len(found)) if tag in found else tag] = value
    return found


def _sent_earlier(view: CausalView, sender: int, receiver: int) -> Mapping[int, Message]:
    """What went over an edge in earlier rounds of this phase."""
    rounds: list[Round] = []
    for position in range(len(view.history) - 1, -1, -1):
        if view.history[position].phase != view.phase:
            break
        rounds.append(view.history[position])
    return {spoken.number: spoken.on_edge(sender, receiver) for spoken in rounds}


def _check(setting: Setting, phases: Mapping[str, int], edit: Edit) -> None:
    if edit.phase not in phases:
        raise EditError(
            f"edit ({edit}): no such phase; there are {', '.join(phases)}", clause="AD-9"
        )
    if edit.round is not None and not 1 <= edit.round <= phases[edit.phase]:
        raise EditError(
            f"edit ({edit}): the phase has rounds 1..{phases[edit.phase]}", clause="AD-9"
        )
    if edit.sender not in setting.byzantine:
        raise EditError(
            f"edit ({edit}): {edit.sender} is not one of the Byzantine agents "
            f"{sorted(setting.byzantine)}",
            clause="AD-4",
        )
    neighbours = setting.graph.neighbours(edit.sender)
    others = [edit.action.receiver] if isinstance(edit.action, Swap) else []
    for receiver in [*([] if edit.receiver is None else [edit.receiver]), *others]:
        if receiver not in neighbours:
            raise EditError(
                f"edit ({edit}): ({edit.sender}, {receiver}) is not an edge; {edit.sender} has "
                f"neighbours {list(neighbours)}",
                clause="AD-4",
            )
    if isinstance(edit.action, Replay):
        last = phases[edit.phase] if edit.round is None else edit.round
        if not 1 <= edit.action.round < last:
            raise EditError(f"edit ({edit}): no earlier round to replay", clause="AD-9")


def without_alarm(*agents: int) -> tuple[Edit, ...]:
    """The edits under which these agents say "no alarm" throughout the agreement."""
    return tuple(Edit(AGREEMENT, None, agent, None, Set(Flag(value=False))) for agent in agents)
