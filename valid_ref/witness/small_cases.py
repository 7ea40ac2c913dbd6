"""Errata shown without a whole run: broadcasts and agreements of a few agents, and counting."""

import itertools
from collections.abc import Mapping
from fractions import Fraction

import attrs
import numpy as np

from valid_ref.adversary.scripted import Scripted
from valid_ref.grammar import counted
from valid_ref.graph import AgentGraph, assumption_1, assumption_1_plus
from valid_ref.graph_families import complete, connected_graphs, cycle, path, star
from valid_ref.hashing import FieldError, PrimeField, colliding_keys, collision_bound
from valid_ref.lattice import default_limits
from valid_ref.machine import count_scalars, run_machine
from valid_ref.protocols.agreement import PHASE as AGREEMENT
from valid_ref.protocols.agreement import AgreementState, ValidationStateAgreement
from valid_ref.protocols.broadcast import BroadcastState, Slot, ValidatedBroadcast
from valid_ref.reading import Reading
from valid_ref.schedule import Precision, Schedule
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


def _p01(printed: bool) -> Story:
    reading = Reading.without("P01") if printed else Reading()
    silent, equivocal = _silence(reading), _equivocation(reading)
    lines = ("a silent source:", *silent.lines, "a source that waits:", *equivocal.lines)
    return Story(lines, silent.wrong and equivocal.wrong, equivocal.shown)


def _p02(printed: bool) -> Story:
    """A star with hub 0; Byzantine leaf 1 forges the value before the true one arrives."""
    words = {(1, 1, 0): "forged"}
    lines, states, played = _broadcast(star(4), 1, 2, words, Reading())
    honest = (0, 2, 3)
    bad = [v for v in honest if states[v].held.get((2, "m")) != "m" and not states[v].alarms]
    somebody = any(states[v].alarms for v in honest)
    if printed:
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
    rounds = counted(len(result.rounds), "round")
    lines = [f"{graph.agents} agents, {rounds}; alarmed at the start: {alarmed}"]
    if lie is not None:
        lines.append(f"  round {lie[0]}: Byzantine {lie[1]} says 'alarm' to {lie[2]} only")
    for spoken in result.rounds:
        lines.append(f"  round {spoken.number} says: {dict(spoken.said)}")
    ends = {v: state.alarmed for v, state in result.states.items() if v not in byzantine}
    lines.append(f"  alarmed at the end: {[v for v, alarm in ends.items() if alarm]}")
    return lines, result.states, Played(graph, byzantine, result.rounds, result.history[1:])


def _p04(printed: bool) -> Story:
    reading = Reading.without("P04") if printed else Reading()
    lines, states, played = _agreement(complete(2), {0}, reading)
    return Story(tuple(lines), not all(state.alarmed for state in states.values()), played)


def _p05(printed: bool) -> Story:
    """A cycle of five without Byzantine agent 0 is a path of four: longer than the diameter."""
    graph = cycle(5)
    enough = graph.diameter if printed else graph.agents - 1
    never = (0, 0, 1)  # there is no round 0: agent 0 denies every alarm
    lines, _states, played = _agreement(graph, {1}, Reading(), never)
    cut = attrs.evolve(played, rounds=played.rounds[:enough], after=played.after[:enough])
    last = cut.after[-1]
    alarmed = [v for v in (1, 2, 3, 4) if getattr(last[v], "alarmed", False)]
    line = f"  alarmed after {enough} rounds: {alarmed}"
    return Story((lines[0], *lines[2:-1], line), len(alarmed) < 4, cut)


def _p26(printed: bool) -> Story:
    graph = path(4)
    lines, states, played = _agreement(graph, set(), Reading(), lie=(3, 0, 1))
    alarmed = {v for v in (1, 2, 3) if states[v].alarmed}
    if printed:
        divided = alarmed not in ({1, 2, 3}, set())
        return Story((*lines, "  the honest agents do not agree"), divided, played)
    ball = {v for v in (1, 2, 3) if graph.distance(1, v) <= 0}
    return Story((*lines, f"  the ball of radius 0 around 1: {ball}"), alarmed != ball, played)


def _p18(printed: bool) -> Story:
    field, difference = PrimeField(13), np.array([-1, 0, -1, 1, 0, 1])
    keys = colliding_keys(field, difference)
    missed = Fraction(len(keys), 13) ** 2
    bound = Fraction(1, 13) if printed else collision_bound(field, 6, 2)
    lines = (
        f"p = 13, difference {difference.tolist()}: missed by the keys {list(keys)}",
        f"  two honest keys both miss it with probability {missed} = {float(missed):.3f}",
        f"  bound {'1/|F|^(|H|-1)' if printed else '((n-1)/p)^|H|'} = {float(bound):.3f}",
    )
    return Story(lines, wrong=missed > bound)


def _p19(printed: bool) -> Story:
    difference = np.zeros(14, dtype=np.int64)
    difference[1], difference[13] = 1, -1
    keys = len(colliding_keys(PrimeField(13), difference))
    lines = [f"p = 13, n = 14, difference e_2 - e_14: invisible to {keys} of 13 keys"]
    refusals = []
    if printed:
        return Story(tuple(lines), wrong=keys == 13)
    for make in (lambda: PrimeField(13).check_length(14), lambda: PrimeField(8)):
        try:
            make()
        except FieldError as error:
            refusals.append(str(error))
    lines += [f"  refused: {error}" for error in refusals]
    return Story(tuple(lines), wrong=len(refusals) < 2, refusals=tuple(refusals))


def _p20(printed: bool) -> Story:
    shift = np.array([101, 0, 0], dtype=np.int64)
    keys = len(colliding_keys(PrimeField(101), shift))
    lines = [f"p = 101: adding p to an entry is invisible to {keys} of 101 keys"]
    if printed:
        lines.append("  no range rule: the entry is accepted")
        return Story(tuple(lines), wrong=keys == 101)
    schedule = Schedule(Precision(0, 0), mixing=(1,), gradient=(1,))
    limits = default_limits(3, schedule, 2, prime=101)
    lines.append(f"  range rule: no intermediate exceeds {limits.largest_intermediate} < 101")
    return Story(tuple(lines), wrong=limits.largest_intermediate >= 101)


def _p21(printed: bool) -> Story:
    pairs = satisfied = majority = hidden = 0
    for graph in connected_graphs(5):
        for size in range(1, 5):
            for byzantine in itertools.combinations(range(5), size):
                pairs += 1
                if not assumption_1(graph, byzantine):
                    continue
                report = assumption_1_plus(graph, byzantine)
                if not printed and not report.holds:
                    continue
                satisfied += 1
                majority += 2 * size >= 5
                hidden += bool(report.hidden)
    name = "Assumption 1" if printed else "Assumption 1+"
    line = (
        f"n = 5: {name} admits {satisfied} of {pairs} pairs, {majority} with half or more "
        f"Byzantine agents, {hidden} with agents that nobody honest hears"
    )
    return Story((line,), wrong=hidden > 0)


def _scalars(agents: int, reading: Reading) -> int:
    """What one agent of a complete graph sends when every agent broadcasts one number."""
    graph = complete(agents)
    slots: dict[int, tuple[Slot, ...]] = dict.fromkeys(range(agents), ("m",))

    def well_formed(_tag: object, value: object) -> bool:
        return isinstance(value, int)

    machine = ValidatedBroadcast(graph, "Broadcast", slots, well_formed, reading)
    private: dict[int, dict[Slot, object]] = {v: {"m": v} for v in range(agents)}
    result = run_machine(graph, machine, private)
    sent = sum(count_scalars(spoken.said[0]) for spoken in result.rounds)
    return sent * graph.degree(0)


def _p22(printed: bool) -> Story:
    reading = Reading.without("P22") if printed else Reading()
    ratios = [_scalars(n, reading) / (n * (n - 1)) for n in (5, 10, 20)]
    what = "re-sending in every round" if printed else "sending once and comparing once"
    lines = (
        f"K5, K10, K20, one broadcast each, {what}:",
        f"  scalars per agent over n (n-1): {[round(ratio, 1) for ratio in ratios]}",
    )
    return Story(lines, wrong=ratios[-1] > 2 * ratios[0])


def _p23(printed: bool) -> Story:
    n, edges = 20, 92
    broadcasts = 2 * edges + n + 2 * edges * (n - 1) + 2 * edges
    rounds = (broadcasts * n + edges) if printed else 4 * n - 1
    how = "one broadcast after the other" if printed else "all instances of a stage in parallel"
    line = f"two K10 joined by two edges, {how}: {rounds} rounds of validation"
    return Story((line,), wrong=rounds > 10 * n)


WITNESSES = (
    Witness(
        "P01",
        "a Byzantine source leaves honest agents with nothing, or with different values, unseen",
        _p01,
    ),
    Witness("P02", "inside a cluster that adopted a forged value only the border alarms", _p02),
    Witness("P04", "an agent's own alarm is lost", _p04),
    Witness("P05", "as many rounds as the diameter are too few: honest paths can be longer", _p05),
    Witness("P18", "the printed collision probability is exceeded", _p18),
    Witness("P19", "a field that is too small, or no prime field, leaves lies invisible", _p19),
    Witness("P20", "adding p to an entry is invisible modulo p", _p20),
    Witness("P21", "Assumption 1 admits agents that nobody honest hears", _p21),
    Witness("P22", "flooding costs more than the theorem says", _p22),
    Witness("P23", "validation rounds are not counted", _p23),
    Witness("P26", "a late alarm splits the honest agents; the split is exactly a ball", _p26),
)
