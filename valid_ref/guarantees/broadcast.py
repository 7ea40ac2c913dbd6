"""What ValidatedBroadcast promises, as predicates over a finished broadcast.

A guarantee of the form "if ... then ..." holds where its premise fails; the reason says so.
"""

from collections.abc import Mapping, Sequence

import attrs

from valid_ref.graph import AgentGraph, assumption_1, honest_agents
from valid_ref.protocols.agreement import AgreementState
from valid_ref.protocols.broadcast import BroadcastState, Slot, Tag


@attrs.frozen
class GuaranteeVerdict:
    """Whether a guarantee holds in a run, and the agents that break it; true exactly if it does."""

    holds: bool
    offenders: tuple[int, ...]
    reason: str

    def __bool__(self) -> bool:
        return self.holds

    @classmethod
    def of(cls, offenders: Sequence[int], kept: str, broken: str) -> "GuaranteeVerdict":
        """Holds exactly if nobody offends."""
        return cls(not offenders, tuple(offenders), broken if offenders else kept)

    @classmethod
    def vacuous(cls, premise: str) -> "GuaranteeVerdict":
        """Holds because its premise does not."""
        return cls(True, (), f"nothing is promised: {premise}")


@attrs.frozen
class BroadcastOutcome:
    """How a broadcast ended: `values` has every public tag with the value its source started with.

    The value of a Byzantine source binds nobody, and no state of a Byzantine agent is read.
    """

    graph: AgentGraph
    byzantine: frozenset[int]
    values: Mapping[Tag, object]
    states: Mapping[int, BroadcastState]

    @property
    def honest(self) -> tuple[int, ...]:
        """H, in order."""
        return honest_agents(self.graph, self.byzantine)

    @property
    def alarmed(self) -> tuple[int, ...]:
        """The honest agents that have alarmed."""
        return tuple(agent for agent in self.honest if self.states[agent].alarms)

    def holds(self, agent: int, tag: Tag) -> object:
        """The value that an agent ends with; None for null."""
        return self.states[agent].held.get(tag)

    def dissenters(self, tag: Tag, value: object) -> tuple[int, ...]:
        """The honest agents that end with null or with another value than this one."""
        ends = ((agent, self.holds(agent, tag)) for agent in self.honest)
        return tuple(agent for agent, end in ends if end is None or end != value)

    def divided(self, tag: Tag) -> tuple[int, ...]:
        """The honest agents that do not hold what the first of them holds, or hold null."""
        return self.dissenters(tag, self.holds(self.honest[0], tag))


def values_of(private: Mapping[int, Mapping[Slot, object]]) -> Mapping[Tag, object]:
    """The values by tag, from the private inputs of the agents."""
    return {(source, slot): own[slot] for source, own in private.items() for slot in own}


def delivered_to_all(outcome: BroadcastOutcome) -> GuaranteeVerdict:
    """With no Byzantine agent all agents end with the values of the sources, without alarms.

    Implements: V1.
    """
    if outcome.byzantine:
        return GuaranteeVerdict.vacuous("there are Byzantine agents")
    if outcome.alarmed:
        return GuaranteeVerdict(False, outcome.alarmed, "alarms although everybody is honest")
    return _everywhere(outcome, outcome.values)


def common_values_unless_alarm(outcome: BroadcastOutcome) -> GuaranteeVerdict:
    """Without an honest alarm all honest agents hold one non-null value a tag, their source's.

    Implements: V2.
    """
    connected = assumption_1(outcome.graph, outcome.byzantine)
    if not connected:
        return GuaranteeVerdict.vacuous(connected.reason)
    if outcome.alarmed:
        return GuaranteeVerdict.vacuous(f"honest agents {list(outcome.alarmed)} have alarmed")
    for tag in outcome.values:
        divided = outcome.divided(tag)
        if divided:
            return GuaranteeVerdict(False, divided, f"no common value of {tag}, and no alarm")
    return _everywhere(outcome, _of_honest_sources(outcome))


def written_once(history: Sequence[Mapping[int, BroadcastState]]) -> GuaranteeVerdict:
    """Over all rounds of a broadcast: a value once held stays, and an alarm once raised stays.

    Implements: V3.
    """
    for number in range(1, len(history)):
        before, after = history[number - 1], history[number]
        changed = [agent for agent in before if not _only_added(before[agent], after[agent])]
        if changed:
            return GuaranteeVerdict(
                False, tuple(changed), f"taken back or overwritten in round {number}"
            )
    return GuaranteeVerdict(True, (), "values and alarms were only added")


def quiet_neighbours_agree(outcome: BroadcastOutcome) -> GuaranteeVerdict:
    """Two adjacent honest agents without an alarm hold equal non-null values for every tag.

    Implements: V4.
    """
    quiet = set(outcome.honest) - set(outcome.alarmed)
    for u, v in outcome.graph.edges:
        for tag in outcome.values if {u, v} <= quiet else ():
            first, second = outcome.holds(u, tag), outcome.holds(v, tag)
            if first is None or second is None or first != second:
                return GuaranteeVerdict(
                    False, (u, v), f"{first!r} and {second!r} for {tag}, and no alarm"
                )
    return GuaranteeVerdict(True, (), "adjacent honest agents without an alarm agree")


def source_value_or_own_alarm(outcome: BroadcastOutcome) -> GuaranteeVerdict:
    """The printed claim, false: each honest agent holds an honest source's value or has alarmed.

    Implements: V5.
    """
    for tag, value in _of_honest_sources(outcome).items():
        wrong = set(outcome.dissenters(tag, value)) - set(outcome.alarmed)
        if wrong:
            return GuaranteeVerdict(
                False, tuple(sorted(wrong)), f"not the value of {tag}, and no own alarm"
            )
    return GuaranteeVerdict(True, (), "every honest agent holds the values or has itself alarmed")


def common_values_or_all_alarmed(
    outcome: BroadcastOutcome, agreement: Mapping[int, AgreementState]
) -> GuaranteeVerdict:
    """After the agreement all honest agents are alarmed, or all hold one non-null value a tag.

    Implements: VS1.
    """
    connected = assumption_1(outcome.graph, outcome.byzantine)
    if not connected:
        return GuaranteeVerdict.vacuous(connected.reason)
    if all(agreement[agent].alarmed for agent in outcome.honest):
        return GuaranteeVerdict(True, (), "all honest agents are alarmed")
    for tag in outcome.values:
        divided = outcome.divided(tag)
        if divided:
            return GuaranteeVerdict(
                False, divided, f"no common value of {tag}, and some end without alarm"
            )
    return GuaranteeVerdict(True, (), "all honest agents hold the same values")


def _everywhere(outcome: BroadcastOutcome, values: Mapping[Tag, object]) -> GuaranteeVerdict:
    for tag, value in values.items():
        dissenters = outcome.dissenters(tag, value)
        if dissenters:
            return GuaranteeVerdict(False, dissenters, f"not the value {value!r} of {tag}")
    return GuaranteeVerdict(True, (), "all honest agents hold the values")


def _of_honest_sources(outcome: BroadcastOutcome) -> Mapping[Tag, object]:
    return {tag: v for tag, v in outcome.values.items() if tag[0] not in outcome.byzantine}


def _only_added(before: BroadcastState, after: BroadcastState) -> bool:
    kept = all(after.held.get(tag) == value for tag, value in before.held.items())
    return kept and after.alarms[: len(before.alarms)] == before.alarms
