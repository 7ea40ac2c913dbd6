"""The floods of lean validation: every agent's value reaches everybody by the shortest paths.

A flood compares what comes several times and adopts the first; what nobody else can see is left to
one comparison of digests at the end (`lean`). A sum along a tree may travel beside it.
"""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import attrs

from valid_ref.alarms import Alarm, Alarms, Raised
from valid_ref.machine import Addressed, Message
from valid_ref.protocols.broadcast import Tag, WellFormed
from valid_ref.protocols.routes import Routes

# Inputs.

SUM, TOTAL = "sum", "total"
"""The slots of what goes along the tree: (agent, sum) of its subtree, (root, total) of all."""

Summand = Sequence[int]
"""A vector of integers."""

Adding = Callable[[Sequence[Summand]], Summand]
"""The sum of vectors of one length, of which there is at least one."""


@attrs.frozen
class Flooded:
    """What one agent brings: its value, and what it adds to the sum, if there is one."""

    value: tuple[int, ...]
    summand: Summand | None = None


Window = tuple[int, int]
"""The first and the last round in which a value may come over an edge."""


# State.


@attrs.frozen
class FloodState:
    """What one agent holds, which values it has yet to send, and its own part of the sum."""

    agent: int
    held: Mapping[Tag, object]
    fresh: Mapping[Tag, object]
    summand: Summand | None = None
    alarms: Alarms = ()


# The machine.


@attrs.frozen
class Flood:
    """One value of every agent, forwarded once in rounds 1..`last`; with `adding` also a sum.

    `last` is D; in one round less (LE-18) some values do not arrive.

    Implements: LE-6.
    """

    # Inputs.

    routes: Routes
    phase: str
    slot: str
    well_formed: WellFormed
    last: int
    adding: Adding | None = attrs.field(default=None, eq=False, repr=False)
    tags: tuple[Tag, ...] = attrs.field(init=False, eq=False, repr=False)
    order: Mapping[Tag, int] = attrs.field(init=False, eq=False, repr=False)

    @tags.default
    def _tags(self) -> tuple[Tag, ...]:
        agents, root = range(self.routes.graph.agents), self.routes.root
        tags: list[Tag] = [(v, self.slot) for v in agents]
        if self.adding is not None:
            tags += [(v, SUM) for v in agents if v != root]
            tags.append((root, TOTAL))
        return tuple(tags)

    @order.default
    def _order(self) -> Mapping[Tag, int]:
        return {tag: position for position, tag in enumerate(self.tags)}

    @property
    def rounds(self) -> int:
        """D; where a sum travels beside the flood 2r, which is at least D.

        Implements: LE-5.
        """
        return self.routes.diameter if self.adding is None else 2 * self.routes.height

    def place(self, round_number: int) -> tuple[str, int]:
        """The phase and the round in it."""
        return self.phase, round_number

    # Start.

    def start(self, agent: int, private: Flooded) -> FloodState:
        """An agent holds its own value alone."""
        tag: Tag = (agent, self.slot)
        own = MappingProxyType({tag: private.value})
        return FloodState(agent, held=own, fresh=own, summand=private.summand)

    # Send.

    def send(self, state: FloodState, round_number: int) -> Message:
        """The values adopted in the round before; along the tree, in its round, a sum or the total.

        Implements: LE-6, LE-8.
        """
        usual = state.fresh if round_number <= self.last else MappingProxyType({})
        along = self._along_the_tree(state, round_number)
        if not along:
            return usual
        apart = {u: MappingProxyType({**usual, tag: value}) for u, tag, value in along}
        return Addressed(usual, MappingProxyType(apart))

    def _along_the_tree(
        self, state: FloodState, round_number: int
    ) -> list[tuple[int, Tag, object]]:
        """Receiver, tag and value; the total of an agent that has none goes to nobody."""
        routes, agent = self.routes, state.agent
        parent, root = routes.parents[agent], routes.root
        if self.adding is None:
            return []
        if parent is not None and round_number == routes.up(agent):
            return [(parent, (agent, SUM), self._subtree(state))]
        if round_number == routes.height + routes.depths[agent] + 1:
            total = state.held.get((root, TOTAL))
            return [(u, (root, TOTAL), total) for u in routes.children[agent] if total is not None]
        return []

    def _subtree(self, state: FloodState) -> Summand:
        """One's own part and the sums of the children; one that did not come counts as zero.

        Implements: LE-8.
        """
        children = [state.held.get((u, SUM)) for u in self.routes.children[state.agent]]
        parts = [part for part in (state.summand, *children) if isinstance(part, Sequence)]
        return () if self.adding is None else self.adding(parts)

    # Receive.

    def receive(
        self, state: FloodState, round_number: int, inbox: Mapping[int, Message]
    ) -> FloodState:
        """Adopt what was null, object to what differs, comes early, late, or not at all.

        Implements: LE-6, LE-8.
        """
        held, fresh = dict(state.held), dict[Tag, object]()
        alarms = list(state.alarms)

        def object_to(alarm: Alarm, sender: int | None, about: object = None) -> None:
            alarms.append(Raised(alarm, self.phase, round_number, sender, about))

        for sender in self.routes.graph.neighbours(state.agent):
            told = self._entries(
                inbox.get(sender),
                sender=sender,
                receiver=state.agent,
                round_number=round_number,
                held=held,
                object_to=object_to,
            )
            for tag, value, (first, last) in told:
                # What was adopted has been looked at; one's own value has not.
                known = value is held.get(tag) and tag[0] != state.agent
                if not known and not self.well_formed(tag, value):
                    object_to(Alarm.MALFORMED_VALUE, sender, tag)
                elif round_number < first:
                    object_to(Alarm.EARLY_VALUE, sender, tag)
                elif round_number > last:
                    object_to(Alarm.LATE_VALUE, sender, tag)
                elif tag not in held:
                    held[tag] = value
                    if tag[1] == self.slot:
                        fresh[tag] = value
                elif held[tag] != value:
                    object_to(Alarm.DIFFERENT_VALUE, sender, tag)
        state = FloodState(
            state.agent,
            held=MappingProxyType(held),
            fresh=MappingProxyType(fresh),
            summand=state.summand,
            alarms=tuple(alarms),
        )
        return self._end_of_round(state, round_number)

    def _entries(
        self,
        message: Message,
        sender: int,
        receiver: int,
        round_number: int,
        held: Mapping[Tag, object],
        object_to: Callable[[Alarm, int], None],
    ) -> list[tuple[Tag, object, Window]]:
        """Tags in the public order, with values and windows; the message as a whole may alarm.

        Nulls are left out, and so is the very object adopted already, if it is not early.

        Implements: LE-6, MO-8.
        """
        if type(message) is not dict and type(message) is not MappingProxyType:
            missing = message is None
            object_to(Alarm.MISSING_MESSAGE if missing else Alarm.MALFORMED_MESSAGE, sender)
            return []
        near, slot, flooding = self.routes.distances[sender], self.slot, round_number <= self.last
        told = {
            tag: value
            for tag, value in message.items()
            if value is None
            or held.get(tag) is not value
            or tag == (receiver, slot)
            or not (flooding and tag[1] == slot and near[tag[0]] < round_number)
        }
        windows = {tag: self._window(sender, receiver, tag) for tag in told}
        if None in windows.values():
            object_to(Alarm.UNKNOWN_TAG, sender)
        return sorted(
            (
                (tag, told[tag], window)
                for tag, window in windows.items()
                if window is not None and told[tag] is not None
            ),
            key=lambda entry: self.order[entry[0]],
        )

    def _window(self, sender: int, receiver: int, tag: object) -> Window | None:
        """The first and last round in which a tag may come over this edge; None if in none.

        Implements: LE-6, LE-8.
        """
        if tag not in self.order or not isinstance(tag, tuple):
            return None
        routes, (source, slot) = self.routes, tag
        if slot == self.slot:
            return routes.distances[sender][source] + 1, self.last
        if slot == SUM and source == sender and routes.parents[sender] == receiver:
            return routes.up(sender), routes.up(sender)
        if slot == TOTAL and routes.parents[receiver] == sender:
            return routes.down(receiver), routes.down(receiver)
        return None

    # Finish and alarms.

    def _end_of_round(self, state: FloodState, round_number: int) -> FloodState:
        """The root knows the total as soon as it has all sums; nulls at the end are alarms.

        Implements: LE-6, LE-8.
        """
        routes, agent = self.routes, state.agent
        if self.adding is not None and agent == routes.root and round_number == routes.height:
            held = MappingProxyType({**state.held, (agent, TOTAL): self._subtree(state)})
            state = attrs.evolve(state, held=held)
        if round_number < self.rounds:
            return state
        nulls = [tag for tag in self._expected(agent) if tag not in state.held]
        missing = (Raised(Alarm.NO_VALUE, self.phase, round_number, about=tag) for tag in nulls)
        return attrs.evolve(state, alarms=(*state.alarms, *missing))

    def _expected(self, agent: int) -> list[Tag]:
        """What the agent should hold in the end."""
        routes = self.routes
        tags: list[Tag] = [(v, self.slot) for v in range(routes.graph.agents)]
        if self.adding is not None:
            tags += [(u, SUM) for u in routes.children[agent]]
            tags.append((routes.root, TOTAL))
        return tags
