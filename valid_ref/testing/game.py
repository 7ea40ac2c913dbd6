"""A game: Hypothesis plays the adversary against the network, round by round.

The simplest game is an edge with one Byzantine agent that behaves. A failing game shrinks to few
moves before few rounds; the rest of the run is then honest.
"""

from collections.abc import Mapping

import numpy as np
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from valid_ref.adversary.scripted import Scripted
from valid_ref.alarms import Alarms
from valid_ref.execution import execute
from valid_ref.guarantees.outcome import judge
from valid_ref.machine import Edge, Message
from valid_ref.protocols import lean
from valid_ref.protocols.agreement import PHASE as AGREEMENT
from valid_ref.protocols.broadcast import BroadcastState
from valid_ref.protocols.flood import FloodState
from valid_ref.protocols.learn import PHASE as LEARN
from valid_ref.protocols.learn import LearningMessage
from valid_ref.protocols.valid import KEYS, ValidState
from valid_ref.runs import Run
from valid_ref.scenario import Prepared, Scenario, parts, prepare
from valid_ref.schedule import Precision
from valid_ref.testing import problems
from valid_ref.testing.attacks import GARBAGE, numbers
from valid_ref.testing.laws import Position, advance, broken_laws, broken_promises, opening
from valid_ref.testing.problems import Network, networks
from valid_ref.testing.strategies import GENEROUS
from valid_ref.wide import WideIntegers

__all__ = ["Game", "GameError"]


class GameError(AssertionError):
    """The network broke a law or a promise; the message says which."""


VALIDATIONS: st.SearchStrategy[parts.ValidationPart] = st.sampled_from(
    [parts.PaperValidation(), parts.Lean(1)]
)


@st.composite
def _boards(draw: st.DrawFn) -> Scenario:
    network: Network = draw(networks(max_agents=4))
    graph, byzantine = network
    return Scenario(
        graph=parts.Edges(graph.agents, graph.edges),
        loss=draw(problems.quadratics(graph.agents, 1)),
        rounds=draw(st.integers(1, 3)),
        schedule=parts.ConstantSteps(0.5, 1 / (2 * graph.max_degree)),
        precision=Precision(8, 6),
        checks=(parts.Check("t^1", parts.Polynomial(), problems.FAIR),),
        eps_success=GENEROUS,
        byzantine=tuple(sorted(byzantine)),
        seed=0,
        validation=draw(VALIDATIONS),
    )


class Game(RuleBasedStateMachine):
    """The adversary's moves of one round are collected, then `step` plays the round.

    After every round the laws of `laws` are asked of the honest agents, at the end its promises;
    and the whole run is repeated by `execute` with the same words.

    Explores: V1, V2, V3, V4, S1, S2, S4, L2, AN-9, LE-6, LE-15, LE-17.
    """

    scenario: Scenario
    prepared: Prepared
    position: Position
    words: dict[Edge, Message]
    quiet: bool
    failed: bool = False

    edges = st.runner().flatmap(lambda game: st.sampled_from(game.own_edges))
    tags = st.runner().flatmap(lambda game: st.sampled_from(game.known_tags))

    @initialize(board=_boards(), first=st.integers(0, 16), quiet=st.booleans())
    def begin(self, board: Scenario, first: int, quiet: bool) -> None:
        """Set the board; the adversary lets the first rounds pass.

        If quiet, Byzantine agents say "no alarm" in the agreement unless a move says otherwise:
        their honest code may well have one, since it sees that its record is not what it sent.
        """
        self.scenario, self.prepared = board, prepare(board)
        self.position, self.words, self.quiet = opening(self.prepared), {}, quiet
        for _round in range(min(first, self.position.machine.rounds - 1)):
            self.play()

    @property
    def own_edges(self) -> list[Edge]:
        """The edges on which the adversary speaks."""
        graph, senders = self.position.graph, self.scenario.byzantine
        return [(sender, receiver) for sender in senders for receiver in graph.neighbours(sender)]

    @property
    def known_tags(self) -> list[tuple[int, int | str]]:
        """The tags of the coming broadcast, those of Byzantine sources first."""
        graph = self.position.graph
        order = sorted(range(graph.agents), key=lambda v: (v not in self.scenario.byzantine, v))
        named = {KEYS: "key", lean.FIX: lean.FIXED, lean.OPEN: lean.OPENING}
        named[lean.REPORT] = lean.REPORTED
        if self.position.next_phase in named:
            return [(v, named[self.position.next_phase]) for v in order]
        return [(v, u) for v in order for u in graph.neighbours(v)]

    def current(self, edge: Edge) -> Message:
        """What would be said on an edge by now."""
        return self.words.get(edge, self.position.on_edge(*edge))

    def playing(self) -> bool:
        """Whether there are rounds left."""
        return not self.position.finished

    def in_phase(self, *phases: str) -> bool:
        """Whether the coming round belongs to one of these phases."""
        return self.playing() and self.position.next_phase in phases

    def broadcasting(self) -> bool:
        """Whether the coming round is one of a broadcast."""
        return self.playing() and self.position.next_phase not in {LEARN, AGREEMENT}

    @rule()
    def step(self) -> None:
        """Play the round with the words collected; after the last round there is none."""
        if self.playing():
            self.play()

    @precondition(playing)
    @rule(edge=edges)
    def speak_honestly(self, edge: Edge) -> None:
        """Take back what was planned on an edge."""
        self.words.pop(edge, None)

    @precondition(playing)
    @rule(edge=edges)
    def drop(self, edge: Edge) -> None:
        """Say nothing."""
        self.words[edge] = None

    @precondition(playing)
    @rule(edge=edges, value=st.sampled_from(GARBAGE))
    def send_garbage(self, edge: Edge, value: object) -> None:
        """Say something that hardly fits."""
        plain = getattr(value, "plain", None)
        self.words[edge] = plain() if callable(plain) else value

    @precondition(lambda game: game.in_phase(LEARN))
    @rule(edge=edges, units=numbers(), consistent=st.booleans(), to_all=st.booleans())
    def add_to_model(self, edge: Edge, units: int, consistent: bool, to_all: bool) -> None:
        """Add to the model; if consistent, take 2^k times as much off the scaled gradient."""
        for other in self.own_edges if to_all else [edge]:
            message = self.current(other)
            if other[0] == edge[0] and isinstance(message, LearningMessage):
                self.words[other] = self.pushed(message, units, consistent)

    def pushed(self, message: LearningMessage, units: int, consistent: bool) -> Message:
        """A learning message moved by lattice units; garbage where that needs more than 64 bits."""
        scale = 1 << self.scenario.precision.step_bits
        model = [int(entry) + units for entry in message.model.tolist()]
        gamma = [int(entry) - scale * units * consistent for entry in message.scaled_gradient]
        if any(not -(2**63) <= entry < 2**63 for entry in (*model, *gamma)):
            return tuple(model)
        return LearningMessage(np.array(model, dtype=np.int64), np.array(gamma, dtype=np.int64))

    @precondition(broadcasting)
    @rule(edge=edges, tag=tags, by=st.integers(-1, 3), to_all=st.booleans())
    def lie_in_a_broadcast(
        self, edge: Edge, tag: tuple[int, int | str], by: int, to_all: bool
    ) -> None:
        """Say another value for a tag than the one held, or one where none is held yet."""
        for other in self.own_edges if to_all else [edge]:
            message = self.current(other)
            if other[0] == edge[0] and isinstance(message, Mapping):
                held = self.held(edge[0], tag)
                self.words[other] = {**message, tag: _moved(held, by)}

    def held(self, agent: int, tag: tuple[int, int | str]) -> object:
        """What the honest code of a Byzantine agent holds for a tag; something like it for null."""
        state = self.position.states[agent].inner
        held = state.held if isinstance(state, BroadcastState | FloodState) else {}
        return held.get(tag, next(iter(held.values()), 0))

    @precondition(lambda game: game.in_phase(AGREEMENT))
    @rule(edge=edges, alarm=st.booleans())
    def claim_an_alarm(self, edge: Edge, alarm: bool) -> None:
        """Say that there is an alarm, or none."""
        self.words[edge] = alarm

    def play(self) -> None:
        """One round of the network, and its laws."""
        self.failed = True
        before, denies = self.position, self.quiet and self.in_phase(AGREEMENT)
        words: dict[Edge, Message] = dict.fromkeys(self.own_edges, False) if denies else {}
        self.position, self.words = advance(before, {**words, **self.words}), {}
        _demand(broken_laws(before, self.position))
        self.failed = False

    def teardown(self) -> None:
        """Play the run to its end without further moves, and ask for what was promised."""
        if self.failed or not hasattr(self, "position"):
            return
        while not self.position.finished:
            self.play()
        execution = self.position.execution
        judgement = judge(
            execution,
            self.prepared.problem,
            delta=self.prepared.delta,
            eps_success=self.prepared.eps_success,
        )
        _demand(broken_promises(Run(self.scenario, self.prepared, execution, judgement)))
        self.repeat()

    def repeat(self) -> None:
        """The same words said through `execute` end in the same alarms."""
        again = execute(
            self.prepared.parameters,
            self.prepared.private,
            byzantine=self.prepared.byzantine,
            adversary=Scripted.of(self.position.rounds),
        )
        if _alarms(again.states) != _alarms(self.position.states):
            raise GameError("the same words end differently")


def _moved(value: object, by: int) -> object:
    if isinstance(value, int):
        return value + by
    return (value[0] + by, *value[1:]) if isinstance(value, tuple | WideIntegers) else value


def _alarms(states: Mapping[int, ValidState]) -> dict[int, Alarms]:
    return {agent: state.memory.alarms for agent, state in states.items()}


def _demand(broken: tuple[str, ...]) -> None:
    if broken:
        raise GameError("; ".join(broken))
