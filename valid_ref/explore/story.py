"""A counterexample told round by round: who says what to whom, who adopts, who alarms."""

from collections.abc import Iterator, Mapping

from valid_ref.alarms import Alarms
from valid_ref.explore.script import Replay
from valid_ref.machine import Round
from valid_ref.protocols.agreement import AgreementState
from valid_ref.protocols.broadcast import BroadcastState


def tell(replay: Replay) -> str:
    """The whole story as text; every state is one of the real machines."""
    return "\n".join(_lines(replay))


def _lines(replay: Replay) -> Iterator[str]:
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
    yield f"so: agents {_names(replay.verdict.offenders)}: {replay.verdict.reason}"


def _said(replay: Replay, spoken: Round) -> str:
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
    replay: Replay, before: Mapping[int, BroadcastState], after: Mapping[int, BroadcastState]
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


def _honest(replay: Replay, states: Mapping[int, BroadcastState]) -> Mapping[int, BroadcastState]:
    return {v: state for v, state in states.items() if v not in replay.script.byzantine}


def _held(replay: Replay, state: BroadcastState) -> object:
    return state.held.get(replay.script.tag, "null")


def _alarmed(replay: Replay, states: Mapping[int, AgreementState]) -> str:
    alarmed = [v for v, s in states.items() if s.alarmed and v not in replay.script.byzantine]
    return f"{_names(alarmed)} alarmed" if alarmed else "no honest agent alarmed"


def _names(agents: object) -> str:
    listed = sorted(agents) if isinstance(agents, frozenset | list | tuple) else []
    return ", ".join(map(str, listed)) or "nobody"
