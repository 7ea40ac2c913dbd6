"""A counterexample is what the adversary says, edge by edge; replayed through the real machines."""

from collections.abc import Mapping
from typing import Any

import attrs

from valid_ref.adversary.scripted import Moment, Scripted
from valid_ref.explore.settings import (
    agreement_as_json,
    agreement_from_json,
    broadcast_as_json,
    broadcast_from_json,
)
from valid_ref.explore.variants import (
    BROADCAST_PHASE,
    SLOT,
    AgreementVariant,
    BroadcastVariant,
    ExploreError,
)
from valid_ref.graph import AgentGraph, honest_agents
from valid_ref.guarantees.agreement import alarm_reaches_all, alarms_stay, lies_spread_as_balls
from valid_ref.guarantees.broadcast import (
    BroadcastOutcome,
    Verdict,
    common_values_or_all_alarmed,
    common_values_unless_alarm,
    quiet_neighbours_agree,
    source_value_or_own_alarm,
)
from valid_ref.machine import Message, PhaseResult, run_machine
from valid_ref.protocols.agreement import PHASE as AGREEMENT_PHASE
from valid_ref.protocols.agreement import AgreementState
from valid_ref.protocols.broadcast import BroadcastState, Tag

FORMAT = "valid-ref adversary script 1"


@attrs.frozen
class Word:
    """What a Byzantine agent says on one edge in one round: a value, or true for "I am alarmed"."""

    phase: str
    round: int
    sender: int
    receiver: int
    says: str | bool


@attrs.frozen
class Script:
    """An adversary that says these words and nothing else: null in a broadcast, no alarm after it.

    `broadcast` and `agreement` say which protocols run and how; `source` broadcasts `value`;
    `alarmed` are the honest agents that enter an agreement without a broadcast already alarmed.
    """

    broken: str
    graph: AgentGraph
    byzantine: frozenset[int]
    words: tuple[Word, ...]
    broadcast: BroadcastVariant | None = None
    agreement: AgreementVariant | None = None
    source: int = 0
    value: str = "a"
    alarmed: frozenset[int] = frozenset()

    @property
    def tag(self) -> Tag:
        """What the broadcast is about."""
        return self.source, SLOT

    def as_json(self) -> dict[str, object]:
        """The script as plain JSON data."""
        return {
            "format": FORMAT,
            "breaks": self.broken,
            "graph": self.graph.as_json(),
            "byzantine": sorted(self.byzantine),
            "broadcast": self.broadcast and broadcast_as_json(self.broadcast),
            "agreement": self.agreement and agreement_as_json(self.agreement),
            "source": self.source,
            "value": self.value,
            "alarmed": sorted(self.alarmed),
            "script": [
                {"phase": w.phase, "round": w.round, "from": w.sender, "to": w.receiver,
                 "says": w.says} for w in self.words
            ],
        }  # fmt: skip

    @classmethod
    def from_json(cls, data: object) -> "Script":
        """The script that `as_json` wrote; anything else is refused."""
        try:
            return _read(data)
        except (KeyError, TypeError, ValueError) as error:
            raise ExploreError(f"not an adversary script: {error!r}", clause="AD-4") from None


def _read(data: Any) -> Script:
    words = tuple(
        Word(str(w["phase"]), int(w["round"]), int(w["from"]), int(w["to"]), w["says"])
        for w in data["script"]
    )
    script = Script(
        str(data["breaks"]),
        AgentGraph.from_json(data["graph"]),
        frozenset(map(int, data["byzantine"])),
        words,
        broadcast_from_json(data["broadcast"]) if data["broadcast"] else None,
        agreement_from_json(data["agreement"]) if data["agreement"] else None,
        int(data["source"]),
        str(data["value"]),
        frozenset(map(int, data["alarmed"])),
    )
    if script.as_json() != data:
        raise ValueError("fields that do not belong there")
    return script


def script_adversary(script: Script) -> Scripted:
    """The adversary that follows the script, in the phases that the script is about."""
    messages: dict[Moment, Message] = {
        (w.phase, w.round, w.sender, w.receiver): (
            {script.tag: w.says} if w.phase == BROADCAST_PHASE else w.says is True
        )
        for w in script.words
    }
    return Scripted(messages, otherwise={BROADCAST_PHASE: {}, AGREEMENT_PHASE: False})


@attrs.frozen
class Replay:
    """A script as the real machines played it, with every state, and the guarantee's verdict."""

    script: Script
    broadcast: PhaseResult[BroadcastState] | None
    agreement: PhaseResult[AgreementState] | None
    verdict: Verdict


def replay_script(script: Script) -> Replay:
    """Play the script through the machines of the protocol and judge it by the guarantee."""
    adversary, byzantine = script_adversary(script), script.byzantine
    honest = honest_agents(script.graph, byzantine)
    told = agreed = None
    alarmed = {agent: agent in script.alarmed for agent in range(script.graph.agents)}
    if script.broadcast is not None:
        first = script.broadcast.machine(script.graph, script.source)
        private: dict[int, Mapping[int | str, object]] = {
            agent: {SLOT: script.value} if agent == script.source else {}
            for agent in range(script.graph.agents)
        }
        told = run_machine(
            script.graph,
            first,
            private,
            byzantine=byzantine,
            adversary=adversary,
            keep_states=True,
        )
        alarmed = {agent: bool(state.alarms) for agent, state in told.states.items()}
    if script.agreement is not None:
        second = script.agreement.machine(script.graph, len(honest))
        agreed = run_machine(
            script.graph,
            second,
            alarmed,
            byzantine=byzantine,
            adversary=adversary,
            keep_states=True,
        )
    return Replay(script, told, agreed, _verdict(script, told, agreed))


def outcome_of(script: Script, states: Mapping[int, BroadcastState]) -> BroadcastOutcome:
    """How a broadcast of the script's source ended, for the guarantees."""
    return BroadcastOutcome(script.graph, script.byzantine, {script.tag: script.value}, states)


BROADCAST_GUARANTEES = {
    "V2": common_values_unless_alarm,
    "V4": quiet_neighbours_agree,
    "V5": source_value_or_own_alarm,
}
"""The guarantees of a finished broadcast that the explorer judges, by clause."""


def _verdict(
    script: Script,
    told: PhaseResult[BroadcastState] | None,
    agreed: PhaseResult[AgreementState] | None,
) -> Verdict:
    if told is not None and script.broken in BROADCAST_GUARANTEES:
        return BROADCAST_GUARANTEES[script.broken](outcome_of(script, told.states))
    if told is not None and agreed is not None and script.broken == "VS1":
        return common_values_or_all_alarmed(outcome_of(script, told.states), agreed.states)
    if agreed is not None and script.broken in {"S1", "S2", "S4"}:
        honest = frozenset(honest_agents(script.graph, script.byzantine))
        kept = [{agent: states[agent] for agent in honest} for states in agreed.history]
        if script.broken == "S1":
            return alarms_stay(kept)
        if script.broken == "S2":
            return alarm_reaches_all(script.graph, script.byzantine, kept)
        return lies_spread_as_balls(script.graph, script.byzantine, agreed.rounds, kept)
    raise ExploreError(f"no script can be judged by {script.broken!r}", clause="AD-4")
