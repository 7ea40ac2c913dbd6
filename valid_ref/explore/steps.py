"""What needs no strategy: single steps and runs without Byzantine agents, by the real machines."""

from collections.abc import Iterator, Mapping
from itertools import product

from valid_ref.alarms import Alarm, Raised
from valid_ref.explore.cases import graphs
from valid_ref.explore.results import Tally
from valid_ref.explore.settings import BROADCAST_PHASE, SLOT, Settings
from valid_ref.graph import AgentGraph
from valid_ref.graph_families import star
from valid_ref.guarantees.agreement import alarms_stay, quiet_stays_quiet
from valid_ref.guarantees.broadcast import (
    BroadcastOutcome,
    GuaranteeVerdict,
    delivered_to_all,
    values_of,
    written_once,
)
from valid_ref.machine import Message, run_machine
from valid_ref.protocols.agreement import AgreementState
from valid_ref.protocols.broadcast import BroadcastState, ValidatedBroadcast

HUB, SOURCE = 0, 1
"""One step is taken by the hub of a star; what it hears is about its first leaf."""

EARLIER = (Raised(Alarm.DIFFERENT_VALUE, BROADCAST_PHASE, 0, SOURCE, (SOURCE, SLOT)),)


def fault_free_broadcasts(settings: Settings) -> Tally:
    """Every graph with every source and no Byzantine agent, run once.

    Explores: V1.
    """
    return _tally(
        _fault_free(settings, graph, source)
        for graph in _graphs(settings)
        for source in range(graph.agents)
    )


def broadcast_steps(settings: Settings) -> Tally:
    """Every state of an agent, every inbox over the alphabet: nothing held or raised is lost.

    Explores: V3.
    """
    return _tally(
        written_once([{HUB: state}, {HUB: machine.receive(state, number, inbox)}])
        for machine, number, state, inbox in broadcast_contexts(settings)
    )


def agreement_steps(settings: Settings) -> Tally:
    """Alarmed or not, and every inbox of states, silence and nonsense: no alarm is lost.

    Explores: S1.
    """
    return _tally(_agreement_step(settings))


def quiet_agreements(settings: Settings) -> Tally:
    """Every graph without Byzantine agents and alarms, run once.

    Explores: S3.
    """
    return _tally(_quiet(settings, graph) for graph in _graphs(settings))


def broadcast_contexts(
    settings: Settings,
) -> Iterator[tuple[ValidatedBroadcast, int, BroadcastState, Mapping[int, Message]]]:
    """All that one agent can be in and hear: machine, round (first or last), state, inbox."""
    tag = (SOURCE, SLOT)
    states = [BroadcastState(HUB, {}, {})]
    for value in settings.values:
        for fresh, alarms in product(({}, {tag: value}), ((), EARLIER)):
            states.append(BroadcastState(HUB, {tag: value}, fresh, alarms))
    for degree in range(1, settings.max_agents):
        machine = settings.broadcast.machine(star(degree + 1), SOURCE)
        for number in sorted({1, machine.rounds}):
            for state, words in product(states, product((None, *settings.values), repeat=degree)):
                inbox = {v: {} if w is None else {tag: w} for v, w in enumerate(words, 1)}
                yield machine, number, state, inbox


def _fault_free(settings: Settings, graph: AgentGraph, source: int) -> GuaranteeVerdict:
    machine = settings.broadcast.machine(graph, source)
    private: dict[int, Mapping[int | str, object]] = {
        agent: {SLOT: settings.values[0]} if agent == source else {}
        for agent in range(graph.agents)
    }
    states = run_machine(graph, machine, private).states
    return delivered_to_all(BroadcastOutcome(graph, frozenset(), values_of(private), states))


def _agreement_step(settings: Settings) -> Iterator[GuaranteeVerdict]:
    for degree in range(1, settings.max_agents):
        machine = settings.agreement.machine(star(degree + 1), degree + 1)
        for alarmed, words in product(
            (False, True), product((False, True, None, "nonsense"), repeat=degree)
        ):
            before = AgreementState(HUB, alarmed)
            inbox = {v: word for v, word in enumerate(words, 1) if word is not None}
            yield alarms_stay([{HUB: before}, {HUB: machine.receive(before, 1, inbox)}])


def _quiet(settings: Settings, graph: AgentGraph) -> GuaranteeVerdict:
    machine = settings.agreement.machine(graph, graph.agents)
    private = dict.fromkeys(range(graph.agents), False)
    result = run_machine(graph, machine, private, keep_states=True)
    return quiet_stays_quiet(graph, frozenset(), result.history)


def _graphs(settings: Settings) -> Iterator[AgentGraph]:
    for agents in range(settings.min_agents, settings.max_agents + 1):
        yield from graphs(agents)


def _tally(verdicts: Iterator[GuaranteeVerdict]) -> Tally:
    instances = violations = 0
    for verdict in verdicts:
        instances += 1
        violations += not verdict
    return Tally(instances, violations)
