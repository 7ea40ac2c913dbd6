"""What there is to see of a session: the next messages, states, alarms, the tree, the outcome."""

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal

import attrs
import numpy as np

from valid_ref.adversary.actions import Action, Add, Drop, Forge, Replay, Scale, Set, Swap
from valid_ref.alarms import Alarms, Raised
from valid_ref.errors import ValidRefError
from valid_ref.explore.settings import BROADCAST_PHASE
from valid_ref.machine import Edge, Message
from valid_ref.markdown import html_of
from valid_ref.play.choices import Choice, Spot, Way, actions_of, choice_of, ways_of
from valid_ref.play.game import Course, Move, Moves, PlayError, ScriptGame, digest_of
from valid_ref.play.session import Session
from valid_ref.protocols.agreement import AgreementState
from valid_ref.protocols.learn import LearningMessage, LearnState
from valid_ref.protocols.parameters import ValidParameters
from valid_ref.protocols.valid import ValidState
from valid_ref.report.layout import positions
from valid_ref.report.watched import outcome_of_replay, outcome_of_run
from valid_ref.report.words import alarm_words, phase_words
from valid_ref.schedule import Precision
from valid_ref.trace import Specification
from valid_ref.wire import about_text, safe_repr

LONGEST = 240
"""Characters of the longest text of a message."""
DIGITS = 6
"""Significant digits of a real number."""


@attrs.frozen
class Filled:
    """A form as it is filled in for one edge."""

    sender: int
    receiver: int
    choice: Choice


@attrs.frozen
class NextView:
    """The next message on one edge: what honest code says, and what is said with the moves.

    `fields` are the entries of the message that can be changed; only edges that leave a Byzantine
    agent have `choice`.
    """

    sender: int
    receiver: int
    usual: str
    says: str
    changed: bool
    fields: tuple[str, ...] = ()
    choice: Choice | None = None


@attrs.frozen
class AgentSeen:
    """An agent: where it is drawn, its part, what it holds, how many alarms it has."""

    agent: int
    byzantine: bool
    x: float
    y: float
    holds: str
    alarms: int
    verdict: str


@attrs.frozen
class AlarmSeen:
    """An alarm of an honest agent; `after` is the number of rounds played when it was raised."""

    agent: int
    reason: str
    meaning: str
    clause: str
    place: str
    sender: int | None
    about: str
    after: int
    count: int = 1


@attrs.frozen
class NodeView:
    """A node of the tree: its parent, the round that led to it, and the moves in that round."""

    node: int
    parent: int
    phase: str
    number: int
    moves: tuple[str, ...]


@attrs.frozen
class ClauseSeen:
    """A clause that the page names."""

    clause: str
    html: str


@attrs.frozen
class EndView:
    """How it ended, once it has: in words, the evidence, and the digest that a replay has too."""

    name: str
    tone: str
    meaning: str
    evidence: tuple[tuple[str, str, str], ...]
    digest: str | None


@attrs.frozen
class SessionView:
    """Everything that the page shows of a session."""

    title: str
    facts: tuple[tuple[str, str], ...]
    breaks: str
    agents: tuple[AgentSeen, ...]
    edges: tuple[Edge, ...]
    played: int
    total: int
    phase: str
    phase_title: str
    phase_text: str
    number: int
    phase_rounds: int
    ways: tuple[Way, ...]
    next: tuple[NextView, ...]
    alarms: tuple[AlarmSeen, ...]
    nodes: tuple[NodeView, ...]
    here: int
    end: EndView | None
    clauses: tuple[ClauseSeen, ...]


def moves_of(session: Session, filled: Iterable[Filled]) -> Moves:
    """The moves that are filled in for the next round; a wrong form is refused by its edge.

    Implements: AD-9.
    """
    if session.finished:
        raise PlayError("the run is over: there is no round to move in")
    game, course, found = session.game, session.course(), list[Move]()
    for one in filled:
        edge = one.sender, one.receiver
        if edge not in game.graph.directed_edges or one.sender not in game.byzantine:
            raise PlayError(f"{one.sender} to {one.receiver} is no edge of yours", clause="AD-4")
        spot = Spot(game, course, session.played, *edge)
        try:
            actions = actions_of(spot, one.choice)
        except ValidRefError as error:
            raise PlayError(
                f"{one.sender} to {one.receiver}: {error.message}", clause=error.clause
            ) from None
        found += [Move(one.sender, one.receiver, action) for action in actions]
    return tuple(found)


def view_of_session(
    session: Session, specification: Specification, moves: Moves | None = None
) -> SessionView:
    """What there is to see, with these moves in the next round; those that stand ready if none.

    Implements: AD-2.
    """
    game, played = session.game, session.played
    places, course = game.places, session.course()
    finished = played == len(places)
    phase, number = ("", 0) if finished else places[played]
    title, text = words_of_phase(phase) if phase else ("The end", "")
    alarms = _alarms(session, course)
    breaks = game.script.broken if isinstance(game, ScriptGame) else ""
    return SessionView(
        title=f"Counterexample to {breaks}" if breaks else "A run of VALID",
        facts=_facts(session),
        breaks=breaks,
        agents=_agents(session, course, alarms),
        edges=game.graph.edges,
        played=played,
        total=len(places),
        phase=phase,
        phase_title=title,
        phase_text=text,
        number=number,
        phase_rounds=sum(one == phase for one, _number in places),
        ways=() if finished else ways_of(game, phase),
        next=() if finished else _next(session, course, session.ready if moves is None else moves),
        alarms=alarms,
        nodes=_nodes(session),
        here=session.here,
        end=_end(course) if finished else None,
        clauses=_clauses(specification, {*(alarm.clause for alarm in alarms), breaks, "AD-2"}),
    )


def words_of_phase(phase: str) -> tuple[str, str]:
    """Title and explanation of a phase."""
    return phase_words("Broadcast" if phase == BROADCAST_PHASE else phase)


def _facts(session: Session) -> tuple[tuple[str, str], ...]:
    game = session.game
    graph = game.graph
    shared = (
        (
            "network",
            f"{graph.agents} agents, {graph.edge_count} edge{'s' * (graph.edge_count > 1)}",
        ),
        ("Byzantine", ", ".join(map(str, sorted(game.byzantine)))),
    )
    if isinstance(game, ScriptGame):
        script = game.script
        told = script.broadcast is not None
        source = (("source", f"agent {script.source}, value {script.value}"),) if told else ()
        return (*shared, *source)
    scenario = game.scenario
    return (
        *shared,
        ("learning rounds", str(scenario.rounds)),
        ("entries of a model", str(game.parameters.lattice.dimension)),
        ("validation", scenario.validation.kind),
        ("repairs turned off", ", ".join(scenario.without) or "none"),
    )


# The next round.


def _next(session: Session, course: Course, moves: Moves) -> tuple[NextView, ...]:
    """All that will be said: of honest agents before the adversary speaks, then its own words.

    Implements: AD-2.
    """
    game, played = session.game, session.played
    usual = course.rounds[played]
    said = session.tried(moves).rounds[played] if moves else usual
    chosen = by_edge(moves)
    found = []
    for edge in game.graph.directed_edges:
        before, after = usual.on_edge(*edge), said.on_edge(*edge)
        own = edge[0] in game.byzantine
        found.append(
            NextView(
                sender=edge[0],
                receiver=edge[1],
                usual=spoken(before, game.parameters),
                says=spoken(after, game.parameters),
                changed=bool(moves) and edge in chosen and before is not after,
                fields=fields_of(before) if own else (),
                choice=choice_of(Spot(game, course, played, *edge), chosen.get(edge, ()))
                if own
                else None,
            )
        )
    return tuple(found)


def fields_of(message: Message) -> tuple[str, ...]:
    """The entries of a broadcast message, as edits name them."""
    if not isinstance(message, Mapping):
        return ()
    return tuple(str(about_text(tag)) for tag in message if isinstance(tag, tuple))


def spoken(message: Message, parameters: ValidParameters | None) -> str:
    """A message in words, with its numbers."""
    if message is None:
        return "nothing"
    if message is True or message is False:
        return "I have an alarm" if message else "no alarm"
    if isinstance(message, LearningMessage) and parameters is not None:
        precision = parameters.lattice.precision
        model = _reals(message.model, precision, 0)
        gradient = _reals(message.scaled_gradient, precision, precision.step_bits)
        if model and gradient:
            return f"model {model}, scaled gradient {gradient}"
    if isinstance(message, Mapping):
        entries = [f"{about_text(tag)} = {_value(value)}" for tag, value in message.items()]
        return _cut("; ".join(entries)) or "nothing new"
    return _cut(_value(message))


def _reals(vector: object, precision: Precision, more: int) -> str:
    """The entries as real numbers; empty where it is no vector of integers."""
    if not isinstance(vector, np.ndarray) or vector.dtype != np.int64 or vector.ndim != 1:
        return ""
    unit = 2.0 ** (precision.fraction_bits + more)
    return f"({', '.join(f'{entry / unit:.{DIGITS}g}' for entry in vector.tolist())})"


def _value(value: object) -> str:
    if isinstance(value, Sequence) and not isinstance(value, str):
        return f"({', '.join(map(str, value))})"
    return str(value) if isinstance(value, int | str) else safe_repr(value)


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."


# Agents and alarms.


def _agents(session: Session, course: Course, alarms: Sequence[AlarmSeen]) -> tuple[AgentSeen, ...]:
    game, played = session.game, session.played
    states, finished = course.states[played], played == len(game.places)
    found = []
    for agent, (x, y) in enumerate(positions(game.graph)):
        byzantine = agent in game.byzantine
        state = states[agent]
        verdict = ""
        if finished and not byzantine and isinstance(state, ValidState):
            verdict = "invalid" if state.memory.invalid else "valid"
        found.append(
            AgentSeen(
                agent=agent,
                byzantine=byzantine,
                x=round(x, 4),
                y=round(y, 4),
                holds=held_by(state, game.parameters),
                alarms=sum(alarm.count for alarm in alarms if alarm.agent == agent),
                verdict=verdict,
            )
        )
    return tuple(found)


def held_by(state: object, parameters: ValidParameters | None) -> str:
    """What an agent holds, in words."""
    inner = state.inner if isinstance(state, ValidState) else state
    if isinstance(inner, AgreementState):
        return "alarmed" if inner.alarmed else "no alarm"
    if isinstance(inner, LearnState) and parameters is not None:
        if inner.message is None:
            return "silent"
        return f"model {_reals(inner.message.model, parameters.lattice.precision, 0)}"
    held = getattr(inner, "held", None)
    if isinstance(held, Mapping):
        entries = [f"{about_text(tag)} = {_value(value)}" for tag, value in held.items()]
        return _cut("; ".join(entries)) or "nothing"
    return f"digest {getattr(inner, 'digest', '')}"


def _alarms(session: Session, course: Course) -> tuple[AlarmSeen, ...]:
    """The alarms of honest agents as they came, equal ones of a round about several things as one.

    Implements: MO-7.
    """
    found: dict[tuple[object, ...], AlarmSeen] = {}
    honest = [v for v in range(session.game.graph.agents) if v not in session.game.byzantine]
    for after in range(session.played + 1):
        for agent in honest:
            before = alarms_of(course, after - 1, agent) if after else ()
            for raised in _new(before, alarms_of(course, after, agent)):
                key = (agent, after, raised.alarm, raised.phase, raised.round, raised.sender)
                if key in found:
                    found[key] = attrs.evolve(found[key], count=found[key].count + 1)
                else:
                    found[key] = _seen(agent, after, raised)
    return tuple(found.values())


def alarms_of(course: Course, after: int, agent: int) -> Alarms:
    """The alarms of an agent after so many rounds, in their order.

    Implements: MO-7.
    """
    state = course.states[after][agent]
    if not isinstance(state, ValidState):
        return tuple(getattr(state, "alarms", ()))
    ended = after == len(course.rounds)
    inner: Alarms = () if ended else tuple(getattr(state.inner, "alarms", ()))
    return state.memory.alarms + inner


def _new(before: Alarms, after: Alarms) -> Alarms:
    """What was added; everything where another protocol has begun."""
    same = after[: len(before)] == before
    return after[len(before) :] if same else after


def _seen(agent: int, after: int, raised: Raised) -> AlarmSeen:
    meaning, clause = alarm_words(raised.alarm.name)
    return AlarmSeen(
        agent=agent,
        reason=raised.alarm.name,
        meaning=meaning,
        clause=clause,
        place=f"{words_of_phase(raised.phase)[0]} round {raised.round}",
        sender=raised.sender,
        about=about_text(raised.about) or "",
        after=after,
    )


# The tree, the end, the clauses.


def _nodes(session: Session) -> tuple[NodeView, ...]:
    places = session.game.places
    depth, found = [0], [NodeView(0, 0, "", 0, ())]
    for node, step in enumerate(session.steps, 1):
        depth.append(depth[step.parent] + 1)
        if depth[node] > len(places):
            raise PlayError(f"node {node} is behind the last of {len(places)} rounds")
        phase, number = places[depth[node] - 1]
        words = move_words(step.moves, session.game.parameters)
        found.append(NodeView(node, step.parent, words_of_phase(phase)[0], number, words))
    return tuple(found)


def move_words(moves: Moves, parameters: ValidParameters | None) -> tuple[str, ...]:
    """The moves of a round, edge by edge, in words."""
    return tuple(
        _cut(f"{u} to {v}: {', '.join(action_words(one, parameters) for one in actions)}")
        for (u, v), actions in by_edge(moves).items()
    )


def action_words(action: Action, parameters: ValidParameters | None) -> str:
    """An edit in words; numbers are integers as they are sent, but for models and gradients."""
    match action:
        case Drop():
            words = "nothing"
        case Replay():
            words = f"what was sent in round {action.round}"
        case Swap():
            words = f"what goes to {action.receiver}"
        case Set():
            words = spoken(action.value.plain(), parameters)
        case Forge():
            words = _value(action.value.plain())
        case Scale():
            words = f"{action.c:g} times the usual"
        case Add():
            words = f"{_added(action, parameters)} more"
    field = getattr(action, "field", "")
    return f"{words} in {field}" if field else words


def _added(action: Add, parameters: ValidParameters | None) -> str:
    """What is added, as real numbers if it is added to a model or a gradient."""
    if parameters is None or action.field not in {"model", "scaled_gradient"}:
        return _value(action.vector)
    precision = parameters.lattice.precision
    bits = precision.fraction_bits + (0 if action.field == "model" else precision.step_bits)
    return _value([f"{Decimal(entry) / (1 << bits):.{DIGITS}g}" for entry in action.vector])


def by_edge(moves: Moves) -> dict[Edge, tuple[Action, ...]]:
    """The actions on every edge, in their order."""
    found: dict[Edge, tuple[Action, ...]] = {}
    for move in moves:
        edge = move.sender, move.receiver
        found[edge] = (*found.get(edge, ()), move.action)
    return found


def _end(course: Course) -> EndView:
    if course.replay is not None:
        told = outcome_of_replay(course.replay)
    elif course.run is not None:
        told = outcome_of_run(course.run)
    else:
        raise PlayError("this game has no end")
    return EndView(
        name=told.outcome,
        tone=told.tone,
        meaning=told.meaning,
        evidence=tuple((row.condition, row.holds, row.figures) for row in told.evidence),
        digest=None if course.run is None else digest_of(course.run),
    )


def _clauses(specification: Specification, wanted: Iterable[str]) -> tuple[ClauseSeen, ...]:
    found = (specification.clauses.get(name) for name in sorted(wanted))
    return tuple(
        ClauseSeen(clause.identifier, html_of(clause.text))
        for clause in found
        if clause is not None
    )
