"""What a report is made of, whatever it came from: a run, a recording, a sub-protocol."""

import contextlib
import re
from collections.abc import Iterable, Mapping

import attrs
import numpy as np

from valid_ref.errors import ValidRefError
from valid_ref.explore.counterexample import PlayedScript
from valid_ref.grammar import counted
from valid_ref.graph import AgentGraph
from valid_ref.guarantees.outcome import Judgement, Outcome
from valid_ref.lattice import from_lattice
from valid_ref.losses import Problem
from valid_ref.machine import Round
from valid_ref.named_parts import name_of
from valid_ref.oracle import Divergence, Recording, Status, Verdict
from valid_ref.oracle.check import recorded_problem
from valid_ref.oracle.replay import END
from valid_ref.printable import printable
from valid_ref.protocols.agreement import AgreementState
from valid_ref.protocols.broadcast import BroadcastState
from valid_ref.protocols.parameters import ValidParameters
from valid_ref.protocols.weakened import checked_less, left_out
from valid_ref.report.view import DivergenceView, Evidence, OutcomeView
from valid_ref.report.words import OUTCOMES
from valid_ref.runs import Run
from valid_ref.wire import AlarmLine, alarm_line
from valid_ref.witness.story import Played

Facts = tuple[tuple[str, str], ...]

ENTRIES = 3
"""How many entries of a vector are shown."""
TONES = {"a": "good", "b": "good", "c": "good", "right": "good", "unknown": "open"}


@attrs.frozen
class End:
    """How an agent ended: "valid", "invalid" or "" if that is not known; a sentence; alarms."""

    verdict: str
    text: str
    alarms: tuple[AlarmLine, ...] = ()


@attrs.frozen(eq=False)
class Watched:
    """A run to look at; what is not known is None or empty.

    `states` are what the machines of a sub-protocol held after each round; `clauses` are those
    whose text belongs to it beside those that alarms name.
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
    clauses: tuple[str, ...] = ()

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
    attack = None if scenario.attack is None else name_of(scenario.attack)
    facts = (
        *parameter_facts(parameters),
        ("coins", str(scenario.coins)) if scenario.seed is None else ("seed", str(scenario.seed)),
        ("Byzantine agents", _names(execution.byzantine)),
        *((("attack", attack),) if attack else ()),
    )
    return Watched(
        label=label,
        graph=parameters.graph,
        byzantine=execution.byzantine,
        rounds=execution.rounds,
        ends=tuple(ends),
        outcome=outcome_of_run(finished),
        facts=facts,
        parameters=parameters,
        problem=finished.prepared.problem,
        notes=finished.prepared.notes,
    )


def watch_recording(recording: Recording, verdict: Verdict, label: str) -> Watched:
    """A recording, and what the oracle says of it."""
    header, parameters = recording.header, recording.parameters
    byzantine = None if header.byzantine is None else frozenset(header.byzantine)
    if recording.agents is None:
        ends = (End("", "the run was cut off"),) * header.agents
    else:
        ends = tuple(
            End("valid" if end.valid else "invalid", "as recorded", _printable_alarms(end.alarms))
            for end in recording.agents
        )
    problem, losses = None, header.losses
    if losses is not None:
        with contextlib.suppress(ValidRefError, ArithmeticError, ValueError):  # the verdict has it
            problem = recorded_problem(header, losses)
    rounds = tuple(recording.rounds())
    places = {(spoken.phase, spoken.number): index for index, spoken in enumerate(rounds)}
    facts = (
        *parameter_facts(parameters),
        ("recorded by", printable(header.producer)),
        ("Byzantine agents", "not recorded" if byzantine is None else _names(byzantine)),
        ("verdict of the oracle", f"{verdict.status.value}: {verdict.reason}"),
    )
    return Watched(
        label=label,
        graph=parameters.graph,
        byzantine=byzantine,
        rounds=rounds,
        ends=ends,
        outcome=outcome_of_recording(verdict, None if losses is None else losses.eps_success),
        facts=facts,
        parameters=parameters,
        problem=problem,
        divergences=_divergences(verdict, places),
        notes=verdict.limits if verdict.divergences else (),
    )


def _divergences(
    verdict: Verdict, places: Mapping[tuple[str, int], int]
) -> tuple[DivergenceView, ...]:
    """The earliest first; in the same round messages before the alarms that follow from them."""
    found = [_divergence(one, places) for one in verdict.divergences]
    return tuple(sorted(found, key=lambda one: (one.index, not one.said, one.agent)))


def _divergence(found: Divergence, places: Mapping[tuple[str, int], int]) -> DivergenceView:
    """A divergence, in the round it happens; one of the end of a phase in the last round of it."""
    edge, different = found.edge, found.difference
    ends = [index for (phase, _number), index in places.items() if phase == found.phase]
    last = max(ends, default=len(places) - 1)
    return DivergenceView(
        agent=found.agent,
        index=places.get((found.phase, found.round), last),
        receiver=None if edge is None else edge[1],
        said=_is_of_message(found),
        where=f"{found.phase} round {found.round}"
        + (f", edge {edge[0]} to {edge[1]}" if edge else ""),
        what=different.what + ("" if different.index is None else f", entry {different.index}"),
        clause=different.clause,
        agreed=found.agreed,
        expected=printable(different.expected),
        found=printable(different.found),
    )


def _is_of_message(found: Divergence) -> bool:
    """Whether a message differs, not an alarm, the verdict or the model at the end."""
    return found.phase != END and re.search(r"alarm \d+$", found.difference.what) is None


def _printable_alarms(alarms: Iterable[AlarmLine]) -> tuple[AlarmLine, ...]:
    """Alarms of a recording, their texts escaped where a terminal or a page needs it.

    Implements: RE-17.
    """
    return tuple(
        attrs.evolve(
            alarm,
            reason=printable(alarm.reason),
            phase=printable(alarm.phase),
            about=None if alarm.about is None else printable(alarm.about),
        )
        for alarm in alarms
    )


def watch_played(played: Played, label: str, outcome: OutcomeView) -> Watched:
    """A sub-protocol alone."""
    graph = played.graph
    last = played.after[-1]
    ends = tuple(End("", belief(last[v]), _alarms(last[v])) for v in range(graph.agents))
    facts = (
        ("network", f"{counted(graph.agents, 'agent')}, {counted(graph.edge_count, 'edge')}"),
        ("rounds", str(len(played.rounds))),
        ("Byzantine agents", _names(played.byzantine)),
    )
    return Watched(
        label=label,
        graph=graph,
        byzantine=played.byzantine,
        rounds=played.rounds,
        ends=ends,
        outcome=outcome,
        facts=facts,
        states=played.after,
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
    watched = watch_played(played, label, outcome_of_replay(replay))
    return attrs.evolve(watched, clauses=(replay.script.broken,))


def parameter_facts(parameters: ValidParameters) -> Facts:
    """What is public about a run of Valid."""
    graph, lattice = parameters.graph, parameters.lattice
    missing, less = left_out(parameters), checked_less(parameters)
    lean = parameters.lean
    return (
        ("network", f"{counted(graph.agents, 'agent')}, {counted(graph.edge_count, 'edge')}"),
        ("model", f"dimension {lattice.dimension}"),
        ("learning rounds", str(lattice.schedule.rounds)),
        ("validation", "the paper's" if lean is None else f"lean, kappa = {lean.kappa}"),
        ("left out", ", ".join(missing) or "nothing"),
        *((("checked less", "; ".join(less)),) if less else ()),
    )


def _alarms(state: object) -> tuple[AlarmLine, ...]:
    return tuple(alarm_line(raised) for raised in getattr(state, "alarms", ()))


def _names(agents: frozenset[int]) -> str:
    return ", ".join(map(str, sorted(agents))) or "none"


def outcome(name: str, evidence: tuple[Evidence, ...] = (), meaning: str = "") -> OutcomeView:
    """An outcome by its name; `meaning` in place of the usual one."""
    return OutcomeView(name, TONES.get(name, "bad"), meaning or OUTCOMES[name], evidence)


def outcome_of_run(finished: Run) -> OutcomeView:
    """The outcome of a run, by somebody who knows the losses and who is Byzantine."""
    execution = finished.execution
    honest, valid = execution.honest, execution.honest_valid
    evidence = evidence_of(
        finished.judgement,
        honest=len(honest),
        valid=len(valid),
        byzantine=len(execution.byzantine),
        eps_success=finished.prepared.eps_success,
    )
    return outcome(finished.outcome, evidence)


def outcome_of_story(finished: Run, *, wrong: bool) -> OutcomeView:
    """A run that shows an erratum: whether it goes wrong, and its outcome as evidence."""
    found = outcome_of_run(finished)
    notes = [note for note in finished.prepared.notes if note.startswith("no guarantee applies")]
    if notes:
        silent = Evidence("the protocol promises nothing for this network", "yes", notes[0])
        holding = tuple(row for row in found.evidence if row.holds == "yes")
        return outcome("wrong" if wrong else "right", (silent, *holding))
    ended = Evidence(
        "the run has one of the outcomes a, b, c",
        _truth(found.outcome != "failed"),
        f"{found.outcome}: {found.meaning}",
    )
    return outcome("wrong" if wrong else "right", (ended, *found.evidence))


def outcome_of_recording(verdict: Verdict, eps_success: float | None) -> OutcomeView:
    """What the oracle found out."""
    conforms = {"conforms": "yes", "diverges": "no"}.get(verdict.status.value, "open")
    first = Evidence("every honest agent follows the specification", conforms, verdict.reason)
    findings = verdict.findings
    if verdict.status is Status.WEAKENED:
        said = Evidence("nothing necessary is left out", "no", ", ".join(verdict.left_out))
        return outcome("wrong", (first, said), "The recording leaves necessary parts out.")
    if findings is None or findings.outcome is None:
        name = "wrong" if conforms == "no" else "unknown"
        meaning = "The recording diverges from the specification." if conforms == "no" else ""
        reason = "" if findings is None else findings.reason
        more = (Evidence("the outcome is known", "open", reason),) if reason else ()
        return outcome(name, (first, *more), meaning)
    rest: tuple[Evidence, ...] = ()
    if findings.judgement is not None:
        rest = _distance(findings.judgement, eps_success)
    return outcome(findings.outcome, (first, *rest))


def outcome_of_replay(replay: PlayedScript) -> OutcomeView:
    """A counterexample: the guarantee, and who breaks it."""
    holds = replay.verdict.holds
    broken = replay.script.broken
    shown = Evidence(f"{broken} holds", _truth(holds), replay.verdict.reason)
    meaning = "" if holds else f"The promise {broken} is broken."
    return outcome("right" if holds else "wrong", (shown,), meaning)


def evidence_of(
    judgement: Judgement, honest: int, valid: int, byzantine: int, eps_success: float | None
) -> tuple[Evidence, ...]:
    """The conditions of a, b and c that matter for this run."""
    cheats = counted(byzantine, "Byzantine agent") if byzantine else ""
    rows = [Evidence("somebody cheats" if byzantine else "nobody cheats", "yes", cheats)]
    alarmed = honest - valid
    figures = f"{valid} of {honest} honest agents end valid"
    if not byzantine:
        rows.append(Evidence("every agent ends valid", _truth(alarmed == 0), figures))
    elif judgement.outcome is Outcome.C:
        rows.append(Evidence("every honest agent has an alarm", "yes", f"{alarmed} of {honest}"))
    else:
        rows.append(Evidence("some honest agents end valid", _truth(valid > 0), figures))
    return (*rows, *_distance(judgement, eps_success))


def _distance(judgement: Judgement, eps_success: float | None) -> tuple[Evidence, ...]:
    rows = []
    if judgement.squared_distance is not None and judgement.outcome is not Outcome.C:
        to = "the admissible models" if judgement.strong is not None else "the optimum"
        figures = f"mean squared distance {judgement.squared_distance:.3g}"
        near = "open"
        if eps_success is not None:
            near = _truth(judgement.squared_distance < eps_success)
            figures += f"{', below' if near == 'yes' else ', not below'} {eps_success:.3g}"
        rows.append(Evidence(f"the valid agents are near {to}", near, figures))
    if judgement.consensus_error is not None:
        figures = f"mean squared distance to their mean {judgement.consensus_error:.3g}"
        agree = "open" if eps_success is None else _truth(judgement.consensus_error < eps_success)
        rows.append(Evidence("they agree with each other", agree, figures))
    names = {"yes": "yes", "no": "no", "unknown": "open"}
    if judgement.strong is not None:
        holds = names[judgement.strong.value]
        rows.append(Evidence("admissible for all honest agents, not only the valid", holds, ""))
    if judgement.relaxed is not None:
        holds = names[judgement.relaxed.value]
        rows.append(Evidence("within the set that passing the checks certifies", holds, ""))
    if judgement.radius is not None:
        found = judgement.radius
        near = "" if found.radius is None else f", within {found.radius:.3g} of one of level delta"
        figures = f"level {found.level:.3g}{near}, except with probability {found.probability:g}"
        rows.append(Evidence("certified admissible from the honest records", "yes", figures))
    if judgement.reason:
        named = judgement.outcome in {Outcome.A, Outcome.B, Outcome.C}
        condition = "what cannot be said" if named else "why it is none of a, b, c"
        rows.append(Evidence(condition, "open", judgement.reason))
    return tuple(rows)


def belief(state: object) -> str:
    """What an agent of a sub-protocol holds."""
    if isinstance(state, BroadcastState):
        values = sorted({str(value) for value in state.held.values()})
        return f"holds {', '.join(map(repr, values))}" if values else "holds nothing"
    if isinstance(state, AgreementState):
        return "alarmed" if state.alarmed else "no alarm"
    return ""


def _truth(value: bool) -> str:
    return "yes" if value else "no"


def vector(values: np.ndarray) -> str:
    """The first entries of a vector and its length."""
    shown = ", ".join(number(entry) for entry in values[:ENTRIES])
    more = ", .." if values.size > ENTRIES else ""
    length = f" of length {number(float(np.linalg.norm(values)))}" if values.size > 1 else ""
    return f"({shown}{more}){length}"


def number(value: float) -> str:
    """Four significant digits, with a true minus sign."""
    return f"{value:.4g}".replace("-", "\u2212") if np.isfinite(value) else str(value)
