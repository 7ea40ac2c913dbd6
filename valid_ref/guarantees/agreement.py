"""What ValidationStateAgreement promises, and what a late Byzantine alarm can reach.

A history has the states of all agents before round 1 and after every round, as `run_machine`
keeps them.
"""

from collections.abc import Mapping, Sequence

from valid_ref.graph import AgentGraph, assumption_1, honest_agents
from valid_ref.guarantees.broadcast import GuaranteeVerdict
from valid_ref.machine import Round
from valid_ref.protocols.agreement import AgreementState

Agents = frozenset[int]
History = Sequence[Mapping[int, AgreementState]]


def alarms_stay(history: History) -> GuaranteeVerdict:
    """An agent that has an alarm after a round has it after every later one.

    Implements: S1.
    """
    for number in range(1, len(history)):
        before, after = history[number - 1], history[number]
        lost = [agent for agent in before if not _only_added(before[agent], after[agent])]
        if lost:
            return GuaranteeVerdict(False, tuple(lost), f"an alarm is gone after round {number}")
    return GuaranteeVerdict(True, (), "no alarm was lost")


def alarm_reaches_all(graph: AgentGraph, byzantine: Agents, history: History) -> GuaranteeVerdict:
    """An honest alarm at the start is everybody's after |H|-1 rounds, and at the end.

    Implements: S2.
    """
    honest = honest_agents(graph, byzantine)
    connected = assumption_1(graph, byzantine)
    if not connected:
        return GuaranteeVerdict.vacuous(connected.reason)
    if not alarmed_among(honest, history[0]):
        return GuaranteeVerdict.vacuous("no honest agent is alarmed at the start")
    for number in sorted({min(len(honest), len(history)) - 1, len(history) - 1}):
        without = sorted(set(honest) - alarmed_among(honest, history[number]))
        if without:
            return GuaranteeVerdict(False, tuple(without), f"not alarmed after round {number}")
    return GuaranteeVerdict(True, (), "all honest agents are alarmed")


def quiet_stays_quiet(graph: AgentGraph, byzantine: Agents, history: History) -> GuaranteeVerdict:
    """With no Byzantine agent and no alarm at the start there is none at the end.

    Implements: S3.
    """
    everyone = range(graph.agents)
    if byzantine:
        return GuaranteeVerdict.vacuous("there are Byzantine agents")
    if alarmed_among(everyone, history[0]):
        return GuaranteeVerdict.vacuous("an agent is alarmed at the start")
    alarmed = sorted(alarmed_among(everyone, history[-1]))
    return GuaranteeVerdict.of(alarmed, "nobody is alarmed", "alarmed without a cause")


def lies_spread_as_balls(
    graph: AgentGraph, byzantine: Agents, rounds: Sequence[Round], history: History
) -> GuaranteeVerdict:
    """Where no honest agent starts alarmed, exactly those end so whom the lies told can reach.

    Implements: S4.
    """
    honest = honest_agents(graph, byzantine)
    if alarmed_among(honest, history[0]):
        return GuaranteeVerdict.vacuous("an honest agent is alarmed at the start")
    expected = reached_by_lies(graph, byzantine, rounds)
    wrong = sorted(alarmed_among(honest, history[-1]) ^ expected)
    return GuaranteeVerdict.of(
        wrong, f"exactly {sorted(expected)} are alarmed", f"{sorted(expected)} ought to be alarmed"
    )


def reached_by_lies(graph: AgentGraph, byzantine: Agents, rounds: Sequence[Round]) -> Agents:
    """The honest agents that the lies of these rounds alarm by the last of them.

    A lie is anything but "no alarm" from a Byzantine neighbour. Told to h in round r of R it
    reaches the ball of G[H] about h of radius R-r; later ones to h add nothing.

    Implements: S4.
    """
    honest = frozenset(honest_agents(graph, byzantine))
    reached: set[int] = set()
    for number, spoken in enumerate(rounds, 1):
        for sender, receiver in graph.directed_edges:
            lied = sender in byzantine and spoken.on_edge(sender, receiver) is not False
            if lied and receiver in honest:
                reached |= ball(graph, honest, receiver, len(rounds) - number)
    return frozenset(reached)


def reachable_splits(
    graph: AgentGraph, byzantine: Agents, rounds: int | None = None
) -> frozenset[Agents]:
    """All sets of honest agents that Byzantine agents can make end alarmed, if none starts so.

    The unions of the balls of G[H] about honest agents with a Byzantine neighbour, of radii
    0..R-1; R is |V|-1 unless given. There may be 2^|H| of them: for small graphs only.

    Implements: S4.
    """
    splits: set[Agents] = {frozenset()}
    for reach in _balls(graph, byzantine, rounds):
        splits |= {split | reach for split in splits}
    return frozenset(splits)


def is_reachable_split(
    graph: AgentGraph, byzantine: Agents, agents: Agents, rounds: int | None = None
) -> bool:
    """Whether these are one of the `reachable_splits`, without listing them.

    Implements: S4.
    """
    inside = (reach for reach in _balls(graph, byzantine, rounds) if reach <= agents)
    return agents == frozenset().union(*inside)


def ball(graph: AgentGraph, within: Agents, centre: int, radius: int) -> Agents:
    """The agents at most `radius` hops from the centre, over agents of `within` only."""
    reached = frozenset({centre})
    for _ in range(radius):
        reached |= {v for u in reached for v in graph.neighbours(u) if v in within}
    return reached


def alarmed_among(agents: Sequence[int], states: Mapping[int, AgreementState]) -> Agents:
    """Those of the agents that are alarmed."""
    return frozenset(agent for agent in agents if states[agent].alarmed)


def _balls(graph: AgentGraph, byzantine: Agents, rounds: int | None) -> frozenset[Agents]:
    honest = frozenset(honest_agents(graph, byzantine))
    last = graph.agents - 1 if rounds is None else rounds
    centres = [h for h in honest if not byzantine.isdisjoint(graph.neighbours(h))]
    return frozenset(ball(graph, honest, h, radius) for h in centres for radius in range(last))


def _only_added(before: AgreementState, after: AgreementState) -> bool:
    kept = after.alarmed or not before.alarmed
    return kept and after.alarms[: len(before.alarms)] == before.alarms
