"""What must hold in a run: the laws of every round, and the main claim about the end.

The laws are the guarantees of broadcast and agreement, asked of two successive states or of a
phase that has just ended. The main claim is the corrected, relaxed form: everybody valid if nobody
is Byzantine; else all honest agents alarmed, or their models near a point of the relaxed set that
the checks certify.
"""

import math
from collections.abc import Iterator, Mapping

import attrs
import numpy as np

from valid_ref.execution import Execution
from valid_ref.graph import AgentGraph, assumption_1, assumption_1_plus
from valid_ref.guarantees.agreement import (
    alarm_reaches_all,
    alarms_stay,
    lies_spread_as_balls,
    quiet_stays_quiet,
)
from valid_ref.guarantees.broadcast import (
    BroadcastOutcome,
    GuaranteeVerdict,
    common_values_unless_alarm,
    delivered_to_all,
    quiet_neighbours_agree,
    written_once,
)
from valid_ref.guarantees.lean import unseen_lies
from valid_ref.guarantees.local import undetected
from valid_ref.guarantees.outcome import Truth
from valid_ref.machine import Edge, Message, Round, by_edge
from valid_ref.protocols.agreement import PHASE as AGREEMENT
from valid_ref.protocols.agreement import AgreementState
from valid_ref.protocols.broadcast import BroadcastState, Tag
from valid_ref.protocols.flood import TOTAL, FloodState
from valid_ref.protocols.lean import CompareState
from valid_ref.protocols.valid import Stage, Valid, ValidState
from valid_ref.runs import Run
from valid_ref.scenario import Prepared
from valid_ref.scenario.parts import DerivedBounds

__all__ = [
    "Position",
    "advance",
    "broken_laws",
    "broken_promises",
    "early_alarms",
    "largest_spread",
    "opening",
]


@attrs.frozen
class Position:
    """Where a run stands: all states, the rounds so far, and the course of the phase.

    `inner` has, for the phase that the last round belonged to, the states of its machine at all
    agents before its first round and after each of its rounds so far.
    """

    machine: Valid
    byzantine: frozenset[int]
    states: Mapping[int, ValidState]
    rounds: tuple[Round, ...] = ()
    inner: tuple[Mapping[int, object], ...] = ()

    @property
    def graph(self) -> AgentGraph:
        """The graph."""
        return self.machine.parameters.graph

    @property
    def finished(self) -> bool:
        """Whether the last round has been played."""
        return len(self.rounds) == self.machine.rounds

    @property
    def next_phase(self) -> str:
        """The phase of the round that comes next."""
        return self.machine.place(len(self.rounds) + 1)[0]

    @property
    def said(self) -> Mapping[int, Message]:
        """What honest code would say to all its neighbours in the round that comes next."""
        return self._spoken()[0]

    def on_edge(self, sender: int, receiver: int) -> Message:
        """What honest code would say on an edge in the round that comes next."""
        said, addressed = self._spoken()
        edge = sender, receiver
        return addressed[edge] if edge in addressed else said[sender]

    def _spoken(self) -> tuple[Mapping[int, Message], Mapping[Edge, Message]]:
        number = len(self.rounds) + 1
        return by_edge({v: self.machine.send(state, number) for v, state in self.states.items()})

    @property
    def execution(self) -> Execution:
        """The record so far, as the guarantees read it."""
        return Execution(self.machine.parameters, self.byzantine, self.rounds, self.states)


def opening(prepared: Prepared) -> Position:
    """Before the first round."""
    machine = Valid(prepared.parameters)
    states = {agent: machine.start(agent, private) for agent, private in prepared.private.items()}
    return Position(machine, prepared.byzantine, states)


def advance(position: Position, deviations: Mapping[Edge, Message]) -> Position:
    """One round, in which Byzantine agents say this on their edges and honest code the rest."""
    machine, number = position.machine, len(position.rounds) + 1
    phase, within = machine.place(number)
    said, addressed = position._spoken()
    spoken = Round(phase, within, said, dict(deviations), addressed)
    heard = {agent: spoken.inbox(position.graph, agent) for agent in position.states}
    before = {agent: state.inner for agent, state in position.states.items()}
    after = {
        agent: _stage(position).machine.receive(state.inner, within, heard[agent])
        for agent, state in position.states.items()
    }
    states = {
        agent: machine.receive(state, number, heard[agent])
        for agent, state in position.states.items()
    }
    earlier = position.inner if within > 1 else (before,)
    return attrs.evolve(
        position, states=states, rounds=(*position.rounds, spoken), inner=(*earlier, after)
    )


def _stage(position: Position) -> Stage:
    """The phase that the coming round belongs to; all agents are in the same."""
    return position.machine.stages[position.states[0].stage]


def broken_laws(before: Position, after: Position) -> tuple[str, ...]:
    """What the last round broke of the laws that hold for honest agents in every run."""
    found = [
        f"agent {agent} took an alarm back"
        for agent in after.execution.honest
        if not _only_added(before.states[agent], after.states[agent])
    ]
    for law, verdict in _verdicts(after):
        if not verdict:
            found.append(f"{law}, agents {list(verdict.offenders)}: {verdict.reason}")
    return tuple(found)


def _only_added(before: ValidState, after: ValidState) -> bool:
    kept, now = before.memory, after.memory
    return now.alarms[: len(kept.alarms)] == kept.alarms and now.invalid >= kept.invalid


def _verdicts(position: Position) -> Iterator[tuple[str, GuaranteeVerdict]]:
    honest = position.execution.honest
    kinds = {type(state) for state in position.inner[-1].values()}
    ended = position.finished or position.next_phase != position.rounds[-1].phase
    if kinds == {BroadcastState}:
        broadcasts = [_broadcasts(states) for states in position.inner]
        yield "V3", written_once([{v: states[v] for v in honest} for states in broadcasts[-2:]])
        if ended:
            held = [state.held for state in broadcasts[0].values()]
            values = {tag: own[tag] for own in held for tag in own}
            outcome = BroadcastOutcome(position.graph, position.byzantine, values, broadcasts[-1])
            yield "V1", delivered_to_all(outcome)
            yield "V2", common_values_unless_alarm(outcome)
            yield "V4", quiet_neighbours_agree(outcome)
    if kinds == {FloodState}:
        yield "LE-6", _held_values_stay(position)
    if kinds == {CompareState}:
        yield "LE-17", _one_value_unless_alarm(position)
    if kinds == {AgreementState}:
        history = [_agreements(states) for states in position.inner]
        yield "S1", alarms_stay([{v: states[v] for v in honest} for states in history[-2:]])
        if ended:
            graph, byzantine = position.graph, position.byzantine
            yield "S2", alarm_reaches_all(graph, byzantine, history)
            yield "S3", quiet_stays_quiet(graph, byzantine, history)
            rounds = _rounds_of_phase(position)
            yield "S4", lies_spread_as_balls(graph, byzantine, rounds, history)


def _held_values_stay(position: Position) -> GuaranteeVerdict:
    """What a flood has brought an honest agent is not replaced."""
    before, after = position.inner[-2:]
    changed = [
        v
        for v in position.execution.honest
        if not _held(before[v]).items() <= _held(after[v]).items()
    ]
    return GuaranteeVerdict.of(changed, "no held value changes", "hold another value than before")


def _held(state: object) -> Mapping[Tag, object]:
    return state.held if isinstance(state, FloodState) else {}


def _one_value_unless_alarm(position: Position) -> GuaranteeVerdict:
    """If no honest agent has alarmed by the end of the comparison, all hold the same values."""
    states = {v: position.states[v].memory for v in position.execution.honest}
    connected = assumption_1(position.graph, position.byzantine)
    if not connected or any(memory.alarms for memory in states.values()):
        return GuaranteeVerdict.vacuous("somebody alarms, or the honest agents are not connected")
    flooded = {v: {t: x for t, x in m.held.items() if t[1] != TOTAL} for v, m in states.items()}
    first = next(iter(flooded.values()))
    other = [v for v, held in flooded.items() if held != first]
    return GuaranteeVerdict.of(other, "all hold the same values", "hold other values, unseen")


def _rounds_of_phase(position: Position) -> tuple[Round, ...]:
    last = position.rounds[-1]
    return position.rounds[-last.number :]


def _broadcasts(states: Mapping[int, object]) -> dict[int, BroadcastState]:
    return {agent: state for agent, state in states.items() if isinstance(state, BroadcastState)}


def _agreements(states: Mapping[int, object]) -> dict[int, AgreementState]:
    return {agent: state for agent, state in states.items() if isinstance(state, AgreementState)}


def broken_promises(finished: Run) -> tuple[str, ...]:
    """What a run of the repaired reading promised and did not keep; nothing, if all is well.

    With thresholds that honest runs pass, nothing here is a matter of luck but the hash: a lie
    goes undetected with probability at most ((dT-1)/p)^|H| < 10^-17 for p = 2^61 - 1 and dT <= 8.
    """
    execution, lean = finished.execution, finished.execution.parameters.lean
    if not execution.byzantine:
        return _broken_without_adversary(execution)
    if not assumption_1_plus(execution.parameters.graph, execution.byzantine):
        return ()
    liars = undetected(execution) or (() if lean is None else unseen_lies(execution))
    found = [f"agents {list(liars)} lied and nobody alarmed"] if liars else []
    if execution.honest_valid:
        found += _broken_by_valid_agents(finished)
    return tuple(found)


def _broken_without_adversary(execution: Execution) -> tuple[str, ...]:
    return tuple(
        f"agent {agent} is honest among honest agents and has {raised}"
        for agent, state in execution.states.items()
        for raised in state.memory.alarms
    )


def _broken_by_valid_agents(finished: Run) -> list[str]:
    """What must hold as soon as one honest agent ends valid."""
    execution, judgement = finished.execution, finished.judgement
    found = [
        f"agent {agent} alarmed before the agreement and {list(execution.honest_valid)} are valid"
        for agent in early_alarms(execution)
    ]
    if judgement.relaxed is not Truth.YES:
        found.append(f"valid, but not in the relaxed set: {judgement}")
    spread = judgement.consensus_error
    if spread is not None and isinstance(finished.scenario.bounds, DerivedBounds):
        total, limit = spread * len(execution.honest_valid), largest_spread(execution)
        if total > limit * (1 + 1e-9):
            found.append(f"the valid models are {total:g} apart, and {limit:g} is certified")
    return found


def early_alarms(execution: Execution) -> tuple[int, ...]:
    """The honest agents that alarmed before the agreement."""
    return tuple(
        agent
        for agent in execution.honest
        if any(raised.phase != AGREEMENT for raised in execution.states[agent].memory.alarms)
    )


def largest_spread(execution: Execution) -> float:
    """D_T^2: how far the models of agents that all keep the relation and the bounds can be apart.

    D_t = max(|1 - eta_t l_2|, |1 - eta_t l_M|) D_(t-1) + alpha_t sqrt(n) C; infinite without
    norm bounds.
    """
    parameters = execution.parameters
    if parameters.bounds is None:
        return math.inf
    schedule, n = parameters.lattice.schedule, parameters.graph.agents
    longest = math.sqrt(max(parameters.bounds.gradient_squared))
    C = (longest + math.sqrt(parameters.lattice.dimension)) / 2**schedule.precision.fraction_bits
    eigenvalues = parameters.graph.laplacian_eigenvalues()[[1, -1]]
    D = 0.0
    for t in range(1, schedule.rounds + 1):
        factor = float(np.abs(1 - float(schedule.eta(t)) * eigenvalues).max())
        D = factor * D + float(schedule.alpha(t)) * math.sqrt(n) * C
    return D * D
