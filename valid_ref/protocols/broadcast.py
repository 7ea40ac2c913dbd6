"""ValidatedBroadcast: every source tells everybody, or somebody objects (alg:validatedbroadcast).

All sources and slots run in parallel. Values are flooded for |V|-1 rounds; then one round only
compares.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType

import attrs

from valid_ref.alarms import Alarm, Alarms, Raised
from valid_ref.graph import AgentGraph
from valid_ref.machine import Message
from valid_ref.protocols.parameters import ParameterError
from valid_ref.reading import Reading

# Inputs: tags, and the form of their values.

Slot = int | str

Tag = tuple[int, Slot]
"""(source, slot): what a value is about."""

WellFormed = Callable[[Tag, object], bool]
"""Whether a value has the form that its tag demands; must not raise on any object."""

Entries = list[tuple[Tag, object]]

News = Callable[
    ["ValidatedBroadcast", Mapping[Tag, object], Mapping[Tag, object]], tuple[bool, Entries]
]
"""Whether a message has unknown tags, and what it has besides nulls and objects held already."""


def news(
    machine: "ValidatedBroadcast", message: Mapping[Tag, object], held: Mapping[Tag, object]
) -> tuple[bool, Entries]:
    """Whether there are tags that do not exist, and the other entries in the public order.

    Nulls are left out, and so is what is the very object held already.

    Implements: VB-9.
    """
    order = machine.order
    found = {order[tag]: value for tag, value in message.items() if tag in order}
    told = ((machine.tags[position], found[position]) for position in sorted(found))
    entries = [
        (tag, value) for tag, value in told if value is not None and value is not held.get(tag)
    ]
    return len(found) < len(message), entries


# State.


@attrs.frozen
class BroadcastState:
    """What one agent holds: at most one value per tag, and which values it has yet to send.

    Implements: VB-3.
    """

    agent: int
    held: Mapping[Tag, object]
    fresh: Mapping[Tag, object]
    alarms: Alarms = ()


# The machine.


@attrs.frozen
class ValidatedBroadcast:
    """The machine of ValidatedBroadcast for a public set of tags.

    Implements: VB-1, VB-2.
    """

    # Inputs.

    graph: AgentGraph
    phase: str
    slots: Mapping[int, tuple[Slot, ...]]
    well_formed: WellFormed
    reading: Reading = attrs.field(factory=Reading)
    news: News = attrs.field(default=news, eq=False, repr=False)
    tags: tuple[Tag, ...] = attrs.field(init=False, eq=False, repr=False)
    order: Mapping[Tag, int] = attrs.field(init=False, eq=False, repr=False)

    @tags.default
    def _tags(self) -> tuple[Tag, ...]:
        return tuple((source, slot) for source in sorted(self.slots) for slot in self.slots[source])

    @order.default
    def _order(self) -> Mapping[Tag, int]:
        return {tag: position for position, tag in enumerate(self.tags)}

    @property
    def rounds(self) -> int:
        """|V|, of which the last compares only; as printed min(|V|, |E|), all adopting.

        Implements: VB-2.
        """
        n = self.graph.agents
        return n if self.reading.P01 else min(n, self.graph.edge_count)

    def place(self, round_number: int) -> tuple[str, int]:
        """The phase and the round in it."""
        return self.phase, round_number

    # Start.

    def start(self, agent: int, private: Mapping[Slot, object]) -> BroadcastState:
        """A source holds its own values; every other tag is null.

        Implements: VB-3.
        """
        if set(private) != set(self.slots.get(agent, ())):
            raise ParameterError(
                f"agent {agent} brings values for slots {sorted(map(str, private))} to {self.phase}"
                f", which has {sorted(map(str, self.slots.get(agent, ())))}",
                clause="VB-1",
            )
        own = MappingProxyType({(agent, slot): private[slot] for slot in self.slots.get(agent, ())})
        return BroadcastState(agent, held=own, fresh=own)

    # Send.

    def send(self, state: BroadcastState, round_number: int) -> Message:
        """What became known since the last round; in the compare round everything held.

        Implements: VB-4, VB-7.
        """
        if self._compares(round_number) or not self.reading.P22:
            return state.held
        return state.fresh

    # Receive.

    def receive(
        self, state: BroadcastState, round_number: int, inbox: Mapping[int, Message]
    ) -> BroadcastState:
        """Adopt what was null, object to what differs, and at the end to what is still null.

        Implements: VB-5, VB-6, VB-7.
        """
        held, fresh = state.held, dict[Tag, object]()
        own: dict[Tag, object] = {}
        alarms = list(state.alarms)

        def object_to(alarm: Alarm, sender: int | None, about: object = None) -> None:
            alarms.append(Raised(alarm, self.phase, round_number, sender, about))

        for sender in self.graph.neighbours(state.agent):
            for tag, value in self._entries(inbox.get(sender), sender, state.held, object_to):
                if tag in held:
                    if held[tag] != value:
                        object_to(Alarm.DIFFERENT_VALUE, sender, tag)
                elif not self._compares(round_number):
                    if not fresh:
                        own = dict(held)
                        held = MappingProxyType(own)
                    own[tag] = fresh[tag] = value
        if round_number == self.rounds and self.reading.P01:
            self._object_to_nulls(held, object_to)
        return BroadcastState(state.agent, held, MappingProxyType(fresh), tuple(alarms))

    def _compares(self, round_number: int) -> bool:
        """Whether this is the round in which nobody adopts.

        Implements: VB-7.
        """
        return self.reading.P01 and round_number == self.graph.agents

    def _entries(
        self,
        message: Message,
        sender: int,
        held: Mapping[Tag, object],
        object_to: Callable[[Alarm, int, object], None],
    ) -> Entries:
        """The well-formed entries of a message in the public order; the rest are alarms.

        An entry that is the very object held already was checked when it was adopted.

        Implements: VB-9, MO-8.
        """
        if message is None:
            object_to(Alarm.MISSING_MESSAGE, sender, None)
            return []
        if type(message) not in {dict, MappingProxyType} or not isinstance(message, Mapping):
            object_to(Alarm.MALFORMED_MESSAGE, sender, None)
            return []
        unknown, told = self.news(self, message, held)
        if unknown:
            object_to(Alarm.UNKNOWN_TAG, sender, None)
        entries = []
        for tag, value in told:
            if self.well_formed(tag, value):
                entries.append((tag, value))
            else:
                object_to(Alarm.MALFORMED_VALUE, sender, tag)
        return entries

    # Finish and alarms.

    def _object_to_nulls(
        self, held: Mapping[Tag, object], object_to: Callable[[Alarm, None, object], None]
    ) -> None:
        """A tag that is null after the last round is an alarm.

        Implements: VB-8.
        """
        for tag in self.order:
            if tag not in held:
                object_to(Alarm.NO_VALUE, None, tag)
