"""Cause and effect: what was said in place of what honest code says, and the alarms it caused.

A deviation is all that one agent does so in one phase. An alarm is traced to the deviations that
its check depends on: the message that it names, the reports that it compares, or, for an alarm
that was passed on, those behind the alarms of the agent it came from.
"""

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeGuard

import attrs
import numpy as np

from valid_ref.alarms import Alarm
from valid_ref.document import whole_number
from valid_ref.graph import AgentGraph
from valid_ref.lattice import mix, within
from valid_ref.machine import Message, Round
from valid_ref.protocols import lean
from valid_ref.protocols.agreement import PHASE as AGREEMENT
from valid_ref.protocols.learn import PHASE as LEARNING
from valid_ref.protocols.learn import LearningMessage
from valid_ref.protocols.local_validate import PHASE as LOCAL
from valid_ref.protocols.parameters import ValidParameters
from valid_ref.protocols.valid import ESTIMATES, HASHES, KEYS
from valid_ref.wire import AlarmLine, about_text, identity, is_learning, is_mapping

Edge = tuple[int, int]

NORMS = {Alarm.MODEL_NORM.name, Alarm.GRADIENT_NORM.name}
REPORTED = {Alarm.SELF_MISMATCH.name: HASHES, Alarm.SELF_ESTIMATE_MISMATCH.name: ESTIMATES}
"""Alarms about a report that its source sends in the first round of this phase.

A Byzantine agent that runs honest code raises them when its own lie is reported truly.
"""
SIZES = {
    Alarm.NOT_OPTIMAL.name,
    Alarm.TOO_OPTIMAL.name,
    Alarm.TOO_HETEROGENEOUS.name,
    Alarm.TOO_HOMOGENEOUS.name,
}


@attrs.frozen
class Deviation:
    """What an agent says in one phase in place of what honest code says.

    `first` and `last` are rounds of the whole run, `begins` the first one for each receiver.
    `about` are the tags whose values differ, or None where that cannot be said. `split` are pairs
    of neighbours that are told different things. `misfits` are receivers for which, since they
    were told something else, a learning message does not follow from its gradient and what was
    received; as in their records, what cannot be used counts as zero. `diverges` is the place in
    the list of divergences where the oracle found it.
    """

    sender: int
    phase: str
    first: int
    last: int
    rounds: int
    begins: Mapping[int, int]
    about: frozenset[str] | None
    split: frozenset[Edge]
    misfits: frozenset[int]
    diverges: int | None = None


@attrs.frozen
class Cause:
    """The message that an alarm comes from, if there is one, and the deviations behind it."""

    message: tuple[int, int, int] | None
    deviations: tuple[int, ...]


def fits(parameters: ValidParameters, before: Round | None, now: Round, edge: Edge) -> bool | None:
    """Whether a learning message follows from its gradient and what its sender received before.

    None where one of these is no learning message. "Before" is what went over this edge. Sums are
    taken modulo 2^64; entries in range are far smaller (AR-10).
    """
    words = _words(parameters, before, now, edge)
    learning = [word for word in words if is_learning(word, parameters.lattice.dimension)]
    return None if len(learning) < len(words) else _follows(parameters, now.number, learning)


def follows_in_records(
    parameters: ValidParameters, before: Round | None, now: Round, edge: Edge
) -> bool:
    """As `fits`, of what is recorded: zero in place of a message that cannot be used (LM-4)."""
    words = _words(parameters, before, now, edge)
    return _follows(parameters, now.number, [_recorded(parameters, word) for word in words])


def _words(
    parameters: ValidParameters, before: Round | None, now: Round, edge: Edge
) -> list[Message]:
    """A message, the one before it on its edge, and what its sender received before."""
    sender, receiver = edge
    neighbours = parameters.graph.neighbours(sender)
    message = now.on_edge(sender, receiver)
    if before is None:
        nothing = np.zeros(parameters.lattice.dimension, dtype=np.int64)
        start = LearningMessage(parameters.start_model, nothing)
        return [message, start, *([start] * len(neighbours))]
    heard = (before.on_edge(u, sender) for u in neighbours)
    return [message, before.on_edge(sender, receiver), *heard]


def _follows(parameters: ValidParameters, t: int, words: Sequence[LearningMessage]) -> bool:
    message, own, *heard = words
    lattice = parameters.lattice
    mixed = mix(lattice, t, own.model, [word.model for word in heard])
    shifted = message.model << lattice.precision.step_bits
    return bool(np.array_equal(mixed - message.scaled_gradient, shifted))


def _recorded(parameters: ValidParameters, message: Message) -> LearningMessage:
    """What the receiver of a message records: zero if it cannot be used."""
    lattice = parameters.lattice
    if (
        is_learning(message, lattice.dimension)
        and within(message.model, lattice.model_limit)
        and within(message.scaled_gradient, lattice.gradient_limit)
    ):
        return message
    nothing = np.zeros(lattice.dimension, dtype=np.int64)
    return LearningMessage(nothing, nothing)


def differs(usual: Message, message: Message) -> bool:
    """Whether two messages are not equal, whatever they are."""
    if usual is message:
        return False
    if _is_plain(usual) and _is_plain(message):
        return usual.keys() != message.keys() or any(
            differs(value, message[tag]) for tag, value in usual.items()
        )
    return identity(usual) != identity(message)


def _is_plain(message: Message) -> TypeGuard[Mapping[object, object]]:
    return is_mapping(message)


def deviations_of(
    graph: AgentGraph, rounds: Sequence[Round], parameters: ValidParameters | None
) -> tuple[Deviation, ...]:
    """Every deviation of a run, in the order in which they begin."""
    found: dict[tuple[str, int], _Collected] = {}
    before: Round | None = None
    for index, spoken in enumerate(rounds):
        by_sender: dict[int, dict[int, Message]] = {}
        for (sender, receiver), message in spoken.deviations.items():
            honest = spoken.addressed.get((sender, receiver), spoken.said.get(sender))
            if differs(honest, message):
                by_sender.setdefault(sender, {})[receiver] = message
        for sender, told in by_sender.items():
            collected = found.setdefault((spoken.phase, sender), _Collected(index))
            _collect(collected, index, spoken, graph.neighbours(sender), sender, told)
        if parameters is not None and spoken.phase == LEARNING:
            for (phase, sender), lie in found.items():
                if phase != LEARNING:
                    continue
                lie.misfits |= {
                    receiver
                    for receiver in lie.begins.keys() - lie.misfits
                    if not follows_in_records(parameters, before, spoken, (sender, receiver))
                }
        before = spoken
    ordered = sorted(found.items(), key=lambda item: (item[1].first, item[0][1]))
    return tuple(one.settled(sender, phase) for (phase, sender), one in ordered)


@attrs.define
class _Collected:
    """A deviation while it is collected."""

    first: int
    last: int = 0
    rounds: int = 0
    begins: dict[int, int] = attrs.field(factory=dict)
    about: set[str] | None = attrs.field(factory=set)
    split: set[Edge] = attrs.field(factory=set)
    misfits: set[int] = attrs.field(factory=set)

    def settled(self, sender: int, phase: str) -> Deviation:
        """The same, frozen."""
        about = None if self.about is None else frozenset(self.about)
        return Deviation(
            sender,
            phase,
            self.first,
            self.last,
            self.rounds,
            dict(self.begins),
            about,
            frozenset(self.split),
            frozenset(self.misfits),
        )


def _collect(
    into: _Collected,
    index: int,
    spoken: Round,
    neighbours: Sequence[int],
    sender: int,
    told: Mapping[int, Message],
) -> None:
    into.last, into.rounds = index, into.rounds + 1
    for receiver, message in told.items():
        into.begins.setdefault(receiver, index)
        tags = _changed(spoken.said.get(sender), message)
        into.about = None if tags is None or into.about is None else into.about | tags
    words = _numbered([spoken.on_edge(sender, receiver) for receiver in neighbours])
    into.split |= {
        (a, b)
        for (a, one), (b, other) in itertools.combinations(zip(neighbours, words, strict=True), 2)
        if one != other
    }


def _numbered(messages: Sequence[Message]) -> list[int]:
    """A number for each message, the same for equal ones."""
    different: list[Message] = []
    numbers = []
    for message in messages:
        known = (place for place, one in enumerate(different) if not differs(one, message))
        place = next(known, len(different))
        if place == len(different):
            different.append(message)
        numbers.append(place)
    return numbers


def _changed(usual: Message, message: Message) -> set[str] | None:
    """The tags for which two messages of a broadcast have different values, or one has none."""
    if not isinstance(usual, Mapping) or not isinstance(message, Mapping):
        return None
    tags = {*usual, *message}
    different = {
        tag
        for tag in tags
        if (tag in usual) != (tag in message)
        or (tag in usual and differs(usual[tag], message[tag]))
    }
    return {str(about_text(tag)) for tag in different}


def with_divergences(
    graph: AgentGraph,
    deviations: Sequence[Deviation],
    divergences: Sequence[tuple[int, str, int, int | None]],
) -> tuple[Deviation, ...]:
    """The deviations and the divergences that the oracle found: agent, phase, round, receiver.

    A divergence is the first item of an agent that is wrong; the one in whose phase the agent
    deviates already belongs to that deviation.
    """
    found = {(one.phase, one.sender): one for one in deviations}
    for place, (agent, phase, index, receiver) in enumerate(divergences):
        known = found.get((phase, agent))
        if known is None:
            receivers = graph.neighbours(agent) if receiver is None else (receiver,)
            others = () if receiver is None else graph.neighbours(agent)
            known = Deviation(
                agent,
                phase,
                index,
                index,
                1,
                dict.fromkeys(receivers, index),
                None,
                frozenset((min(u, v), max(u, v)) for u in receivers for v in others if u != v),
                frozenset(),
            )
        found[phase, agent] = attrs.evolve(known, diverges=place)
    return tuple(sorted(found.values(), key=lambda one: (one.first, one.sender)))


class Causes:
    """Finds what is behind the alarms of one run."""

    def __init__(
        self,
        graph: AgentGraph,
        rounds: Sequence[Round],
        deviations: Sequence[Deviation],
        alarms: Mapping[int, Iterable[tuple[int, AlarmLine]]],
    ) -> None:
        """`alarms` has for every agent its alarms with the round after which each was raised."""
        self.graph, self.deviations = graph, tuple(deviations)
        self.alarms = {agent: tuple(raised) for agent, raised in alarms.items()}
        self.places = {(r.phase, r.number): index for index, r in enumerate(rounds)}
        self.known: dict[tuple[object, ...], tuple[int, ...]] = {}
        self.checks: dict[tuple[str, str], tuple[int, ...]] = {}
        self._trace_all()

    def _trace_all(self) -> None:
        """Find what is behind every alarm, in the order in which they were raised.

        An alarm that is passed on comes from those that its sender had in the rounds before.
        """
        raised = [
            (index, agent, alarm)
            for agent, alarms in self.alarms.items()
            for index, alarm in alarms
        ]
        raised.sort(key=lambda one: one[:2])
        had: dict[int, set[int]] = defaultdict(set)
        for index, group in itertools.groupby(raised, key=lambda one: one[0]):
            found = []
            for _index, agent, alarm in group:
                roots = self._behind(agent, index, alarm)
                if not roots and alarm.reason == Alarm.NEIGHBOUR_ALARM.name:
                    roots = tuple(sorted(had.get(-1 if alarm.sender is None else alarm.sender, ())))
                self.known[_key(agent, index, alarm)] = roots
                found.append((agent, roots))
            for agent, roots in found:
                had[agent] |= set(roots)

    def of(self, agent: int, index: int, alarm: AlarmLine) -> Cause:
        """The cause of an alarm of this agent, raised after this round."""
        behind = self.behind(agent, index, alarm)
        message = self._message(agent, alarm)
        if message is None and behind:
            message = self._first_word(self.deviations[behind[0]], agent)
        return Cause(message, behind)

    def behind(self, agent: int, index: int, alarm: AlarmLine) -> tuple[int, ...]:
        """The deviations that an alarm depends on, by their place in the list."""
        return self.known[_key(agent, index, alarm)]

    def _behind(self, agent: int, index: int, alarm: AlarmLine) -> tuple[int, ...]:
        reason, sender, about = alarm.reason, alarm.sender, _subject(alarm)
        found: tuple[int, ...] = ()
        if reason in {Alarm.INCONSISTENT_HASHES.name, Alarm.BROKEN_RELATION.name}:
            if (reason, about) not in self.checks:  # the same for every agent that checks
                self.checks[reason, about] = self.behind_check(reason, about)
            found = self.checks[reason, about]
        elif reason == Alarm.INCONSISTENT_ESTIMATES.name:
            found = self._reports_differ(about, ESTIMATES)
        elif reason in SIZES or reason == Alarm.WRONG_TOTAL.name:
            found = self._where(lambda d: d.phase != AGREEMENT and d.first <= index)
        elif reason in NORMS:
            found = self._where(lambda d: d.phase == LEARNING and d.sender == sender)
        elif reason in REPORTED:
            found = self._where(
                lambda d: d.phase == LEARNING and d.sender == agent and sender in d.begins
            ) + self._lies_about(REPORTED[reason], f"{sender}/{agent}")
        elif sender is not None:
            found = self._where(
                lambda d: (
                    d.phase == alarm.phase
                    and d.sender == sender
                    and d.begins.get(agent, index + 1) <= index
                )
            )
        if "/" in (alarm.about or ""):
            tag = alarm.about or ""
            if alarm.phase == LOCAL:
                owner = tag.split("/")[1]
                found += self._lies_about(KEYS, f"{owner}/key")
            elif not found:
                found = self._lies_about(alarm.phase, tag)
        if not found and alarm.phase in {lean.OPEN, lean.REPORT, lean.COMPARE}:
            found = self._where(
                lambda d: d.phase != AGREEMENT and d.first <= index and sender in {None, d.sender}
            ) or self._where(lambda d: d.phase != AGREEMENT and d.first <= index)
        return found

    def behind_check(self, reason: str, about: str) -> tuple[int, ...]:
        """The deviations behind a failed check of the hashes of an agent.

        Reports differ where it told two reporters different things, or a reporter lies. The
        relation is computed from the report of the lowest neighbour about the agent and about
        each of its neighbours.
        """
        v = whole_number(about)
        if v is None or not 0 <= v < self.graph.agents:
            return ()
        if reason == Alarm.INCONSISTENT_HASHES.name:
            return self._reports_differ(about, HASHES)
        found: set[int] = set()
        for u in (v, *self.graph.neighbours(v)):
            reporter = self.graph.neighbours(u)[0]
            found |= set(self._lies_about(HASHES, f"{reporter}/{u}"))
            found |= set(self._broken_by(v, u, reporter))
        return tuple(sorted(found))

    def _broken_by(self, v: int, u: int, reporter: int) -> tuple[int, ...]:
        """What u said in learning that breaks the relation of v, where u is v or a neighbour.

        The relation is tested on what the reporter of u was told.
        """
        pair = min(v, reporter), max(v, reporter)

        def breaks(one: Deviation) -> bool:
            if u == v:
                return one.diverges is not None or reporter in one.misfits
            return pair in one.split

        return self._where(lambda d: d.phase == LEARNING and d.sender == u and breaks(d))

    def _lies_about(self, phase: str, tag: str) -> tuple[int, ...]:
        return self._where(lambda d: d.phase == phase and (d.about is None or tag in d.about))

    def _reports_differ(self, about: str, phase: str) -> tuple[int, ...]:
        v = whole_number(about)
        if v is None or not 0 <= v < self.graph.agents:
            return ()
        tags = [f"{reporter}/{v}" for reporter in self.graph.neighbours(v)]
        lies = self._where(
            lambda d: d.phase == LEARNING and d.sender == v and (d.split or d.diverges is not None)
        )
        reports = {place for tag in tags for place in self._lies_about(phase, tag)}
        return tuple(sorted({*lies, *reports}))

    def _message(self, agent: int, alarm: AlarmLine) -> tuple[int, int, int] | None:
        """The message that an alarm names: its round in the whole run, sender and receiver."""
        sender = alarm.sender
        if sender is None:
            return None
        if alarm.reason in NORMS:
            place = self.places.get((LEARNING, alarm.round))
        elif alarm.reason in REPORTED:
            place = self.places.get((REPORTED[alarm.reason], 1))
        else:
            place = self.places.get((alarm.phase, alarm.round))
        return None if place is None else (place, sender, agent)

    def _first_word(self, deviation: Deviation, agent: int) -> tuple[int, int, int]:
        """A message of a deviation: to this agent if there is one, else the first."""
        begins = deviation.begins
        receiver = agent if agent in begins else min(begins, key=lambda v: (begins[v], v))
        return begins[receiver], deviation.sender, receiver

    def _where(self, wanted: Callable[[Deviation], object]) -> tuple[int, ...]:
        return tuple(place for place, one in enumerate(self.deviations) if wanted(one))


def _key(agent: int, index: int, alarm: AlarmLine) -> tuple[object, ...]:
    return agent, index, alarm.reason, alarm.phase, alarm.sender, alarm.about


def _subject(alarm: AlarmLine) -> str:
    """What a check is about: of a pair of agent and key owner the agent."""
    about = alarm.about or ""
    return about.split("/")[0] if alarm.phase == LOCAL else about
