"""Errata of ValidatedBroadcast and ValidationStateAgreement, on a handful of agents."""

from collections.abc import Mapping

import attrs

from valid_ref.adversary.scripted import Scripted
from valid_ref.graph import AgentGraph
from valid_ref.graph_families import complete, cycle, path, star
from valid_ref.machine import run_machine
from valid_ref.protocols.agreement import PHASE as AGREEMENT
from valid_ref.protocols.agreement import AgreementState, ValidationStateAgreement
from valid_ref.protocols.broadcast import BroadcastState, Slot, ValidatedBroadcast
from valid_ref.reading import Reading
from valid_ref.witness.story import Played, Story, Witness

Words = Mapping[tuple[int, int, int], str]
"""(round, sender, receiver) to what a Byzantine agent says there; it is silent otherwise."""


def _broadcast(
    graph: AgentGraph, byzantine: int, source: int, words: Words, reading: Reading
) -> tuple[list[str], Mapping[int, BroadcastState], Played]:
    """One broadcast of the value "m" in which one Byzantine agent says only these words."""

    def well_formed(_tag: object, value: object) -> bool:
        return isinstance(value, str)

    machine = ValidatedBroadcast(graph, "Broadcast", {source: ("m",)}, well_formed, reading)

    adversary = Scripted(
        {("Broadcast", *moment): {(source, "m"): word} for moment, word in words.items()},
        otherwise={"Broadcast": {}},
    )
    private: dict[int, Mapping[Slot, object]] = {
        v: {"m": "m"} if v == source else {} for v in range(graph.agents)
    }
    result = run_machine(
        graph,
        machine,
        private,
        byzantine=frozenset({byzantine}),
        adversary=adversary,
        keep_states=True,
    )
    edges = " ".join(f"{u}-{v}" for u, v in graph.edges)
    lines = [f"edges {edges}; agent {byzantine} is Byzantine, agent {source} the source"]
    for (number, sender, receiver), word in sorted(words.items()):
        lines.append(f"  round {number}: {sender} says {word!r} to {receiver}")
    for agent, state in result.states.items():
        if agent != byzantine:
            held = state.held.get((source, "m"), "nothing")
            alarm = f"alarms: {state.alarms[0]}" if state.alarms else "no alarm"
            lines.append(f"  agent {agent} holds {held!r}; {alarm}")
    played = Played(graph, frozenset({byzantine}), result.rounds, result.history[1:])
    return lines, result.states, played


def _equivocation(reading: Reading) -> Story:
    """Silent until the last round in which values are adopted, then two different values."""
    graph = complete(3)
    last = 2 if reading.P01 else 3
    words = {(last, 2, 0): "a", (last, 2, 1): "b"}
    lines, states, played = _broadcast(graph, 2, 2, words, reading)
    silent = not any(states[v].alarms for v in (0, 1))
    different = states[0].held != states[1].held
    return Story(tuple(lines), silent and different, played)


def _silence(reading: Reading) -> Story:
    lines, states, played = _broadcast(complete(3), 2, 2, {}, reading)
    return Story(tuple(lines), not any(states[v].alarms for v in (0, 1)), played)


def _p01(reading: Reading) -> Story:
    silent, equivocal = _silence(reading), _equivocation(reading)
    lines = ("a silent source:", *silent.lines, "a source that waits:", *equivocal.lines)
    return Story(lines, silent.wrong and equivocal.wrong, equivocal.shown)


def _p02(*, per_agent: bool) -> Story:
    """A star with hub 0; Byzantine leaf 1 forges the value before the true one arrives."""
    words = {(1, 1, 0): "forged"}
    lines, states, played = _broadcast(star(4), 1, 2, words, Reading())
    honest = (0, 2, 3)
    bad = [v for v in honest if states[v].held.get((2, "m")) != "m" and not states[v].alarms]
    somebody = any(states[v].alarms for v in honest)
    if per_agent:
        lines.append(f"  printed claim, every agent holds 'm' or alarms: broken by agents {bad}")
        return Story(tuple(lines), bool(bad), played)
    lines.append(f"  repaired claim, somebody honest alarms: {somebody}")
    return Story(tuple(lines), not somebody, played)


def _agreement(
    graph: AgentGraph, alarmed: set[int], reading: Reading, lie: tuple[int, int, int] | None = None
) -> tuple[list[str], Mapping[int, AgreementState], Played]:
    """An agreement; `lie` is (round, Byzantine agent, receiver) of a single false alarm."""
    lies = {} if lie is None else {(AGREEMENT, *lie): True}
    byzantine = frozenset[int]() if lie is None else frozenset({lie[1]})
    machine = ValidationStateAgreement(graph, reading)
    private = {v: v in alarmed for v in range(graph.agents)}
    result = run_machine(
        graph,
        machine,
        private,
        byzantine=byzantine,
        adversary=Scripted(lies, otherwise={AGREEMENT: False}),
        keep_states=True,
    )
    lines = [f"{graph.agents} agents, {len(result.rounds)} rounds; alarmed at the start: {alarmed}"]
    if lie is not None:
        lines.append(f"  round {lie[0]}: Byzantine {lie[1]} says 'alarm' to {lie[2]} only")
    for spoken in result.rounds:
        lines.append(f"  round {spoken.number} says: {dict(spoken.said)}")
    ends = {v: state.alarmed for v, state in result.states.items() if v not in byzantine}
    lines.append(f"  alarmed at the end: {[v for v, alarm in ends.items() if alarm]}")
    return lines, result.states, Played(graph, byzantine, result.rounds, result.history[1:])


def _p04(reading: Reading) -> Story:
    lines, states, played = _agreement(complete(2), {0}, reading)
    return Story(tuple(lines), not all(state.alarmed for state in states.values()), played)


def _p05(enough: int) -> Story:
    """A cycle of five without Byzantine agent 0 is a path of four: longer than the diameter."""
    graph = cycle(5)
    never = (0, 0, 1)  # there is no round 0: agent 0 denies every alarm
    lines, _states, played = _agreement(graph, {1}, Reading(), never)
    cut = attrs.evolve(played, rounds=played.rounds[:enough], after=played.after[:enough])
    last = cut.after[-1]
    alarmed = [v for v in (1, 2, 3, 4) if getattr(last[v], "alarmed", False)]
    line = f"  alarmed after {enough} rounds: {alarmed}"
    return Story((lines[0], *lines[2:-1], line), len(alarmed) < 4, cut)


def _p26(*, unanimous: bool) -> Story:
    graph = path(4)
    lines, states, played = _agreement(graph, set(), Reading(), lie=(3, 0, 1))
    alarmed = {v for v in (1, 2, 3) if states[v].alarmed}
    if unanimous:
        divided = alarmed not in ({1, 2, 3}, set())
        return Story((*lines, "  the honest agents do not agree"), divided, played)
    ball = {v for v in (1, 2, 3) if graph.distance(1, v) <= 0}
    return Story((*lines, f"  the ball of radius 0 around 1: {ball}"), alarmed != ball, played)


PRINTED, REPAIRED = Reading.without, Reading()

WITNESSES = (
    Witness(
        "P01",
        "a Byzantine source leaves honest agents with nothing, or with different values, unseen",
        lambda: _p01(PRINTED("P01")),
        lambda: _p01(REPAIRED),
    ),
    Witness(
        "P02",
        "inside a cluster that adopted a forged value only the border alarms",
        lambda: _p02(per_agent=True),
        lambda: _p02(per_agent=False),
    ),
    Witness(
        "P04",
        "an agent's own alarm is lost",
        lambda: _p04(PRINTED("P04")),
        lambda: _p04(REPAIRED),
    ),
    Witness(
        "P05",
        "as many rounds as the diameter are too few: honest paths can be longer",
        lambda: _p05(cycle(5).diameter),
        lambda: _p05(cycle(5).agents - 1),
    ),
    Witness(
        "P26",
        "a late alarm splits the honest agents; the split is exactly a ball",
        lambda: _p26(unanimous=True),
        lambda: _p26(unanimous=False),
    ),
)
