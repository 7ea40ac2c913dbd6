"""What a report is made of, whatever it came from: a run, a recording, a sub-protocol."""

from collections.abc import Mapping

import attrs

from valid_ref.errors import ValidRefError
from valid_ref.explore.counterexample import PlayedScript
from valid_ref.front import Run
from valid_ref.graph import AgentGraph
from valid_ref.lattice import from_lattice
from valid_ref.losses import Problem
from valid_ref.machine import Round
from valid_ref.oracle import Divergence, Recording, Verdict
from valid_ref.oracle.check import recorded_problem
from valid_ref.printable import printable
from valid_ref.protocols.parameters import ValidParameters
from valid_ref.report import outcomes
from valid_ref.report.messages import vector
from valid_ref.report.view import DivergenceView, OutcomeView
from valid_ref.wire import AlarmLine, alarm_line
from valid_ref.witness.story import Played

Facts = tuple[tuple[str, str], ...]


@attrs.frozen
class End:
    """How an agent ended: "valid", "invalid" or "" if that is not known; a sentence; alarms."""

    verdict: str
    text: str
    alarms: tuple[AlarmLine, ...] = ()


@attrs.frozen(eq=False)
class Watched:
    """A run to look at; what is not known is None or empty.

    `states` are what the machines of a sub-protocol held after each round.
    """

    label: str
    graph: AgentGraph
    byzantine: frozenset[int] | None
    rounds: tuple[Round, ...]
    ends: tuple[End, ...]
    outcome: OutcomeView
    facts: Facts
    parameters: ValidParameters | None = None
    problem: Problem | None = None
    states: tuple[Mapping[int, object], ...] = ()
    divergences: tuple[DivergenceView, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def honest(self) -> tuple[int, ...]:
        """The agents not known to be Byzantine."""
        return tuple(v for v in range(self.graph.agents) if v not in (self.byzantine or ()))


def watch_run(finished: Run, label: str) -> Watched:
    """A run of a scenario."""
    execution = finished.execution
    parameters = execution.parameters
    ends = []
    for agent, state in sorted(execution.states.items()):
        model = execution.output(agent)
        verdict = "invalid" if state.memory.invalid else "valid"
        real = None if model is None else from_lattice(model, parameters.lattice.precision)
        text = "no model" if real is None else f"model {vector(real)}"
        ends.append(End(verdict, text, tuple(map(alarm_line, state.memory.alarms))))
    scenario = finished.scenario
    attack = getattr(scenario.attack, "kind", None)
    facts = (
        *parameter_facts(parameters),
        ("seed", str(scenario.seed)),
        ("Byzantine agents", _names(execution.byzantine)),
        *((("attack", str(attack)),) if attack else ()),
    )
    return Watched(
        label, parameters.graph, execution.byzantine, execution.rounds, tuple(ends),
        outcomes.of_run(finished), facts, parameters, finished.prepared.problem,
        notes=finished.prepared.notes,
    )  # fmt: skip


def watch_recording(recording: Recording, verdict: Verdict, label: str) -> Watched:
    """A recording, and what the oracle says of it."""
    header, parameters = recording.header, recording.parameters
    byzantine = None if header.byzantine is None else frozenset(header.byzantine)
    recorded = recording.agents
    cut = End("", "the run was cut off")
    ends = (cut,) * header.agents if recorded is None else tuple(
        End("valid" if end.valid else "invalid", "as recorded", tuple(map(_legible, end.alarms)))
        for end in recorded
    )  # fmt: skip
    problem, losses = None, header.losses
    if losses is not None:
        try:
            problem = recorded_problem(header, losses)
        except (ValidRefError, ArithmeticError, ValueError):  # the verdict says why
            problem = None
    facts = (
        *parameter_facts(parameters),
        ("recorded by", printable(header.producer)),
        ("Byzantine agents", "not recorded" if byzantine is None else _names(byzantine)),
        ("verdict of the oracle", f"{verdict.status.value}: {verdict.reason}"),
    )
    notes = verdict.limits if verdict.divergences else ()
    return Watched(
        label, parameters.graph, byzantine, tuple(recording.rounds()), ends,
        outcomes.of_recording(verdict, None if losses is None else losses.eps_success),
        facts, parameters, problem,
        divergences=tuple(map(_divergence, verdict.divergences)), notes=notes,
    )  # fmt: skip


def _divergence(found: Divergence) -> DivergenceView:
    edge, different = found.edge, found.difference
    return DivergenceView(
        found.agent,
        f"{found.phase} round {found.round}" + (f", edge {edge[0]} to {edge[1]}" if edge else ""),
        different.what + ("" if different.index is None else f", entry {different.index}"),
        different.clause, found.agreed, printable(different.expected), printable(different.found),
    )  # fmt: skip


def _legible(alarm: AlarmLine) -> AlarmLine:
    """An alarm of a recording whose texts are fit to be shown.

    Implements: RE-17.
    """
    about = None if alarm.about is None else printable(alarm.about)
    return attrs.evolve(
        alarm, reason=printable(alarm.reason), phase=printable(alarm.phase), about=about
    )


def watch_played(played: Played, label: str, outcome: OutcomeView) -> Watched:
    """A sub-protocol alone."""
    graph = played.graph
    last = played.after[-1]
    ends = tuple(End("", outcomes.belief(last[v]), _alarms(last[v])) for v in range(graph.agents))
    facts = (
        ("network", f"{graph.agents} agents, {graph.edge_count} edges"),
        ("rounds", str(len(played.rounds))),
        ("Byzantine agents", _names(played.byzantine)),
    )
    return Watched(
        label, graph, played.byzantine, played.rounds, ends, outcome, facts, states=played.after
    )


def watch_replay(replay: PlayedScript, label: str) -> Watched:
    """A counterexample of the explorer, played through the real machines."""
    rounds: tuple[Round, ...] = ()
    after: tuple[Mapping[int, object], ...] = ()
    if replay.broadcast is not None:
        rounds, after = rounds + replay.broadcast.rounds, after + replay.broadcast.history[1:]
    if replay.agreement is not None:
        rounds, after = rounds + replay.agreement.rounds, after + replay.agreement.history[1:]
    played = Played(replay.script.graph, replay.script.byzantine, rounds, after)
    return watch_played(played, label, outcomes.of_replay(replay))


def parameter_facts(parameters: ValidParameters) -> Facts:
    """What is public about a run of Valid."""
    graph, lattice = parameters.graph, parameters.lattice
    off = parameters.reading.turned_off
    return (
        ("network", f"{graph.agents} agents, {graph.edge_count} edges"),
        ("model", f"dimension {lattice.dimension}"),
        ("learning rounds", str(lattice.schedule.rounds)),
        ("repairs turned off", ", ".join(off) if off else "none"),
    )


def _alarms(state: object) -> tuple[AlarmLine, ...]:
    return tuple(alarm_line(raised) for raised in getattr(state, "alarms", ()))


def _names(agents: frozenset[int]) -> str:
    return ", ".join(map(str, sorted(agents))) or "none"
