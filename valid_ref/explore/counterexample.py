"""Counterexamples: the smallest is searched, replayed through the real machines, and told.

A counterexample is a script: what the adversary says, edge by edge.
"""

from collections.abc import Iterator, Mapping
from itertools import combinations, islice
from typing import TYPE_CHECKING, Any, Final, Literal

import attrs

from valid_ref.adversary.scripted import Moment, Scripted
from valid_ref.alarms import Alarm, Alarms, Raised
from valid_ref.document import DocumentError, structure, unstructure
from valid_ref.explore.plain import Joint, PlainBroadcast, Word, cheapest_lies, cheapest_words
from valid_ref.explore.results import Exploration
from valid_ref.explore.settings import (
    BROADCAST_PHASE,
    SLOT,
    AgreementVariant,
    BroadcastVariant,
    ExploreError,
    Settings,
)
from valid_ref.grammar import agents_named
from valid_ref.graph import AgentGraph, honest_agents
from valid_ref.guarantees.agreement import alarm_reaches_all, alarms_stay, lies_spread_as_balls
from valid_ref.guarantees.broadcast import (
    BroadcastOutcome,
    GuaranteeVerdict,
    common_values_or_all_alarmed,
    common_values_unless_alarm,
    quiet_neighbours_agree,
    source_value_or_own_alarm,
)
from valid_ref.machine import Message, PhaseResult, Round, run_machine
from valid_ref.protocols.agreement import PHASE as AGREEMENT_PHASE
from valid_ref.protocols.agreement import AgreementState
from valid_ref.protocols.broadcast import BroadcastState, Tag

if TYPE_CHECKING:
    from valid_ref.explore.cases import ExploredCase


FORMAT: Final = "valid-ref adversary script 1"


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
        document = _ScriptDocument(
            format=FORMAT,
            breaks=self.broken,
            graph=self.graph,
            byzantine=tuple(sorted(self.byzantine)),
            broadcast=self.broadcast,
            agreement=self.agreement,
            source=self.source,
            value=self.value,
            alarmed=tuple(sorted(self.alarmed)),
            script=self.words,
        )
        written: dict[str, object] = unstructure(document)
        return written

    @classmethod
    def from_json(cls, data: Any) -> "Script":
        """The script that `as_json` wrote; anything else is refused."""
        try:
            found: _ScriptDocument = structure(_ScriptDocument, data)
        except DocumentError as error:
            raise ExploreError(f"not an adversary script: {error.message}", clause="AD-4") from None
        script = cls(
            found.breaks,
            found.graph,
            frozenset(found.byzantine),
            found.script,
            broadcast=found.broadcast,
            agreement=found.agreement,
            source=found.source,
            value=found.value,
            alarmed=frozenset(found.alarmed),
        )
        if script.as_json() != data:
            raise ExploreError("not an adversary script as `as_json` writes it", clause="AD-4")
        return script


@attrs.frozen
class _ScriptDocument:
    """The JSON form of a script."""

    format: Literal["valid-ref adversary script 1"]
    breaks: str
    graph: AgentGraph
    byzantine: tuple[int, ...]
    broadcast: BroadcastVariant | None
    agreement: AgreementVariant | None
    source: int
    value: str
    alarmed: tuple[int, ...]
    script: tuple[Word, ...]


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
class PlayedScript:
    """A script as the real machines played it, with every state, and the guarantee's verdict."""

    script: Script
    broadcast: PhaseResult[BroadcastState] | None
    agreement: PhaseResult[AgreementState] | None
    verdict: GuaranteeVerdict


def replay_script(script: Script) -> PlayedScript:
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
    return PlayedScript(script, told, agreed, _verdict(script, told, agreed))


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
) -> GuaranteeVerdict:
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


CANDIDATES = 60
"""How many of the smallest violating cases are searched for the one with the fewest words."""


def smallest_counterexample(exploration: Exploration, name: str) -> Script | None:
    """A script that violates a property, judged by the guarantee in a replay; None if none does.

    Of the violating cases with the fewest agents, the script with the fewest words, then that
    on the graph with the fewest edges; a word is a Byzantine message that is not null.
    """
    cases = exploration.violating.get(name, ())
    scripts = [
        script
        for case in islice(cases, CANDIDATES)
        for script in islice(_scripts(exploration.settings, case, name), 1)
    ]
    if cases and not scripts:
        raise ExploreError(f"{name} is violated, but no script shows it", clause=name)
    return min(scripts, key=lambda s: (len(s.words), s.graph.edge_count), default=None)


def _scripts(settings: Settings, case: "ExploredCase", name: str) -> Iterator[Script]:
    """Scripts of one case that break the property, the fewest words first."""
    if name in BROADCAST_GUARANTEES:
        candidates = _broadcast_scripts(settings, case, name)
    elif name == "VS1":
        candidates = _joint_scripts(settings, case, name)
    else:
        candidates = _agreement_scripts(settings, case, name)
    for script in sorted(candidates, key=lambda script: len(script.words)):
        if not replay_script(script).verdict:
            yield script


def _broadcast_scripts(settings: Settings, case: "ExploredCase", name: str) -> Iterator[Script]:
    """The final states that violate the property, each by its cheapest script."""
    plain = PlainBroadcast(case, settings.broadcast, len(settings.values))
    for joint, step in cheapest_words(plain, settings.values).items():
        script = _script(settings, case, name, broadcast=settings.broadcast, words=step.words)
        states = states_of(script, joint, settings.values)
        if not BROADCAST_GUARANTEES[name](outcome_of(script, states)):
            yield script


def _joint_scripts(settings: Settings, case: "ExploredCase", name: str) -> Iterator[Script]:
    """Every end of the broadcast, followed by every end of the agreement that is not unanimous."""
    plain = PlainBroadcast(case, settings.broadcast, len(settings.values))
    for joint, step in cheapest_words(plain, settings.values).items():
        alarmed = frozenset(a for a, s in zip(case.honest, joint, strict=True) if s[2])
        for ends, lies in cheapest_lies(case, settings.agreement, alarmed).items():
            if len(ends) < len(case.honest):
                yield _script(
                    settings,
                    case,
                    name,
                    broadcast=settings.broadcast,
                    agreement=settings.agreement,
                    words=step.words + lies,
                )


def _agreement_scripts(settings: Settings, case: "ExploredCase", name: str) -> Iterator[Script]:
    """Every start and every end of the agreement; small starts first."""
    sizes = range(1) if name == "S4" else range(1, len(case.honest) + 1)
    for alarmed in (frozenset(some) for k in sizes for some in combinations(case.honest, k)):
        for lies in cheapest_lies(case, settings.agreement, alarmed).values():
            script = Script(name, case.graph, case.byzantine, lies, agreement=settings.agreement)
            yield attrs.evolve(script, alarmed=alarmed)


def _script(settings: Settings, case: "ExploredCase", name: str, **fields: Any) -> Script:
    script = Script(
        name, case.graph, case.byzantine, (), source=case.named_source, value=settings.values[0]
    )
    return attrs.evolve(script, **fields)


def states_of(script: Script, joint: Joint, values: tuple[str, ...]) -> dict[int, BroadcastState]:
    """A joint honest state in the form that the guarantees judge; which alarm does not matter."""
    objection = Raised(Alarm.DIFFERENT_VALUE, BROADCAST_PHASE, 0, None, script.tag)
    honest = [v for v in range(script.graph.agents) if v not in script.byzantine]
    return {
        agent: BroadcastState(
            agent, {script.tag: values[held - 1]} if held else {}, {}, (objection,) * alarmed
        )
        for agent, (held, _, alarmed) in zip(honest, joint, strict=True)
    }


def tell(replay: PlayedScript) -> str:
    """The whole story as text; every state is one of the real machines."""
    return "\n".join(_lines(replay))


def _lines(replay: PlayedScript) -> Iterator[str]:
    script = replay.script
    edges = " ".join(f"{u}-{v}" for u, v in script.graph.edges)
    yield f"{script.broken} is violated: {script.graph.agents} agents, edges {edges}"
    yield f"Byzantine: {_names(script.byzantine)}; words of theirs: {len(script.words)}"
    if replay.broadcast is not None:
        kind = "Byzantine" if script.source in script.byzantine else "honest"
        holds = "" if kind == "Byzantine" else f", and holds {script.value}"
        yield f"broadcast: agent {script.source} is the source, {kind}{holds}"
        for number, spoken in enumerate(replay.broadcast.rounds, 1):
            yield f"  round {number}: {_said(replay, spoken)}"
            before, after = replay.broadcast.history[number - 1 : number + 1]
            yield from _changes(replay, before, after)
        yield "  end: " + "; ".join(
            f"{agent} holds {_held(replay, state)}{', alarmed' if state.alarms else ''}"
            for agent, state in _honest(replay, replay.broadcast.states).items()
        )
    if replay.agreement is not None:
        yield f"agreement: {_alarmed(replay, replay.agreement.history[0])} at the start"
        for number, spoken in enumerate(replay.agreement.rounds, 1):
            ends = _alarmed(replay, replay.agreement.history[number])
            yield f"  round {number}: {_said(replay, spoken)}; then {ends}"
    offenders = sorted(replay.verdict.offenders)
    yield f"so: {agents_named(offenders)}: {replay.verdict.reason}"


def _said(replay: PlayedScript, spoken: Round) -> str:
    """What was said to honest agents, but for null and "no alarm"."""
    script = replay.script
    words: dict[tuple[int, str], list[int]] = {}
    for sender, receiver in script.graph.directed_edges:
        message = spoken.on_edge(sender, receiver)
        word = message.get(script.tag) if isinstance(message, Mapping) else message
        if receiver not in script.byzantine and word is not None and word is not False:
            said = "alarm" if word is True else str(word)
            words.setdefault((sender, said), []).append(receiver)
    said_by = [
        f"{sender}{' (Byzantine)' if sender in script.byzantine else ''} says {word} to "
        f"{_names(receivers)}"
        for (sender, word), receivers in words.items()
    ]
    return "; ".join(said_by) or "nothing"


def _changes(
    replay: PlayedScript, before: Mapping[int, BroadcastState], after: Mapping[int, BroadcastState]
) -> Iterator[str]:
    for agent, state in _honest(replay, after).items():
        if state.held != before[agent].held:
            yield f"    {agent} adopts {_held(replay, state)}"
        for raised in _new(before[agent].alarms, state.alarms):
            yield f"    {agent} alarms: {raised}"


def _new(before: Alarms, after: Alarms) -> Iterator[str]:
    for raised in after[len(before) :]:
        place = "" if raised.sender is None else f" from {raised.sender}"
        yield f"{raised.alarm.name}{place} [{raised.alarm.clause}]"


def _honest(
    replay: PlayedScript, states: Mapping[int, BroadcastState]
) -> Mapping[int, BroadcastState]:
    return {v: state for v, state in states.items() if v not in replay.script.byzantine}


def _held(replay: PlayedScript, state: BroadcastState) -> object:
    return state.held.get(replay.script.tag, "null")


def _alarmed(replay: PlayedScript, states: Mapping[int, AgreementState]) -> str:
    alarmed = [v for v, s in states.items() if s.alarmed and v not in replay.script.byzantine]
    return f"{_names(alarmed)} alarmed" if alarmed else "no honest agent alarmed"


def _names(agents: object) -> str:
    listed = sorted(agents) if isinstance(agents, frozenset | list | tuple) else []
    return ", ".join(map(str, listed)) or "nobody"
