"""What is played: a scenario, or a counterexample of the explorer, with moves of the adversary.

A game says what happens in every round, given the moves of the rounds before; it keeps nothing.
"""

import functools
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar

import attrs

from valid_ref.adversary.actions import Action, Flag, Nothing, Replay, Set, Swap, Text
from valid_ref.adversary.edits import Edit, Edits
from valid_ref.errors import ValidRefError
from valid_ref.execution import Execution
from valid_ref.explore.counterexample import PlayedScript, Script, replay_script
from valid_ref.explore.plain import Word
from valid_ref.explore.settings import BROADCAST_PHASE
from valid_ref.graph import AgentGraph
from valid_ref.guarantees.outcome import judge
from valid_ref.machine import Round, run_machine
from valid_ref.named_parts import name_of
from valid_ref.oracle import recording_digest
from valid_ref.protocols.agreement import PHASE as AGREEMENT
from valid_ref.protocols.parameters import ValidParameters
from valid_ref.protocols.remembered import Remembered
from valid_ref.protocols.valid import Valid
from valid_ref.runs import Run
from valid_ref.scenario import Prepared, Scenario, prepare, scenario_text
from valid_ref.scenario.parts import (
    CalibratedThresholds,
    GraphPart,
    Logistic,
    LossPart,
    PaperValidation,
    Quadratics,
    RandomLogistic,
    RandomQuadratics,
    RandomRidge,
    Ridge,
    size_of,
)
from valid_ref.scenario.scenario import opening_coins, settled

MOST_AGENTS = 10
MOST_LEARNING_ROUNDS = 60
MOST_ENTRIES = 10
MOST_DATA = 1000
MOST_REHEARSALS = 1000
MOST_CHECKS = 10
MOST_PRIME_DIGITS = 100
"""What can be played: small cases, of which every round is computed anew for every move."""


class PlayError(ValidRefError):
    """A game that cannot be played, or a move that there is not."""

    default_clause: ClassVar[str] = "AD-9"


@attrs.frozen
class Move:
    """What a Byzantine agent does to its message on one edge, in the round in which it is made.

    Implements: AD-9.
    """

    sender: int
    receiver: int
    action: Action

    def __str__(self) -> str:
        return f"{self.sender} to {self.receiver}: {self.action}"


Moves = tuple[Move, ...]
"""The moves of one round; on all other edges honest code speaks."""

Line = tuple[Moves, ...]
"""The moves of the rounds so far, one entry for every round."""


@attrs.frozen(eq=False)
class Course:
    """Every round to the end, where after the given moves no more are made.

    `states` are those before round 1 and after every round: what stands behind the rounds that
    have been played is not shown to anybody. `run` is the run of a scenario, `replay` that of a
    counterexample.
    """

    rounds: tuple[Round, ...]
    states: tuple[Mapping[int, object], ...]
    run: Run | None = None
    replay: PlayedScript | None = None


@attrs.frozen
class ScenarioGame:
    """A run of Valid. Its scenario has no attack, and its keys do not depend on the moves.

    Implements: AD-2, AD-9.
    """

    kind: ClassVar[str] = "scenario"
    scenario: Scenario

    def __attrs_post_init__(self) -> None:
        scenario = self.scenario
        if scenario.attack is not None:
            raise PlayError("the scenario of a game has no attack")
        check_scenario(scenario)
        named = (
            scenario.keys
            if isinstance(scenario.validation, PaperValidation)
            else scenario.validation.coins
        )
        if named is None:
            raise PlayError(
                "the scenario of a game names keys, or coins of openings", clause="VA-6"
            )

    @property
    def parameters(self) -> ValidParameters:
        """The parameters of the run."""
        return _prepared(self.scenario).parameters

    @property
    def graph(self) -> AgentGraph:
        """The graph."""
        return self.parameters.graph

    @property
    def byzantine(self) -> frozenset[int]:
        """B."""
        return frozenset(self.scenario.byzantine)

    @property
    def places(self) -> tuple[tuple[str, int], ...]:
        """The phase of every round, and its number in the phase."""
        return _places(self.scenario)

    def edits(self, line: Line) -> tuple[Edit, ...]:
        """The moves as edits, each in its round.

        Implements: AD-9.
        """
        _check_length(line, self.places)
        return tuple(
            Edit(*place, move.sender, move.receiver, move.action)
            for place, moves in zip(self.places, line, strict=False)
            for move in moves
        )

    def scenario_of(self, line: Line) -> Scenario:
        """The scenario that `valid-ref run` replays.

        Implements: VA-6.
        """
        edits = self.edits(line)
        return attrs.evolve(self.scenario, attack=Edits(edits) if edits else None)

    def course(self, line: Line) -> Course:
        """What happens."""
        return _course_of_scenario(self.scenario_of(line))

    def saved(self, line: Line) -> str:
        """The text of the scenario."""
        return scenario_text(self.scenario_of(line))


@attrs.frozen
class ScriptGame:
    """A counterexample of the explorer: a broadcast, an agreement, or one after the other.

    Where no move is made Byzantine agents say nothing new, and that they have no alarm.

    Implements: AD-2, AD-4.
    """

    kind: ClassVar[str] = "script"
    script: Script

    def __attrs_post_init__(self) -> None:
        if self.script.words:
            raise PlayError("the counterexample of a game has no words: they are its moves")
        if self.script.graph.agents > MOST_AGENTS:
            raise PlayError(f"{self.script.graph.agents} agents, at most {MOST_AGENTS} are played")

    @property
    def parameters(self) -> None:
        """A sub-protocol alone has none."""
        return

    @property
    def graph(self) -> AgentGraph:
        """The graph."""
        return self.script.graph

    @property
    def byzantine(self) -> frozenset[int]:
        """B."""
        return self.script.byzantine

    @property
    def places(self) -> tuple[tuple[str, int], ...]:
        """The phase of every round, and its number in the phase."""
        return tuple((spoken.phase, spoken.number) for spoken in self.course(()).rounds)

    def words(self, line: Line) -> tuple[Word, ...]:
        """The moves as words of the script; a move that is no word is refused.

        Implements: AD-4.
        """
        _check_length(line, places := self.places)
        found = [
            _word(self, place, move)
            for place, moves in zip(places, line, strict=False)
            for move in moves
        ]
        return tuple(word for word in found if word is not None)

    def course(self, line: Line) -> Course:
        """What happens."""
        words = self.words(line) if line else ()
        return _course_of_script(attrs.evolve(self.script, words=words))

    def saved(self, line: Line) -> str:
        """The text of the counterexample, which `valid-ref run` replays."""
        return script_text(attrs.evolve(self.script, words=self.words(line)))


Game = ScenarioGame | ScriptGame
"""What can be played; told apart by its kind."""


def check_scenario(scenario: Scenario) -> None:
    """Refuse what is too large to be computed again for every move, and parts of anybody's.

    Implements: AD-1, AD-9.
    """
    if not scenario.byzantine:
        raise PlayError("nobody is Byzantine: there is nothing to move", clause="AD-1")
    for field, value, admitted in (
        ("graph", scenario.graph, GraphPart),
        ("loss", scenario.loss, LossPart),
    ):
        if not isinstance(value, admitted):
            raise PlayError(f"{field}: {name_of(value)} is not of this package, and not played")
    loss, thresholds = scenario.loss, [check.thresholds for check in scenario.checks]
    calibrated = [one for one in thresholds if isinstance(one, CalibratedThresholds)]
    for found, what, most in (
        (size_of(scenario.graph) or 0, "agents", MOST_AGENTS),
        (_entries(loss), "entries of a model", MOST_ENTRIES),
        (_data(loss), "data of an agent", MOST_DATA),
        (scenario.batch, "data of a mini-batch", MOST_DATA),
        (scenario.rounds, "learning rounds", MOST_LEARNING_ROUNDS),
        (len(scenario.checks), "checks", MOST_CHECKS),
        (sum(one.runs + one.pilots for one in calibrated), "rehearsals", MOST_REHEARSALS),
    ):
        if found > most:
            raise PlayError(f"{found} {what}, at most {most} are played")


def _entries(loss: object) -> int:
    """The dimension of losses, from their document."""
    if isinstance(loss, Quadratics):
        return max((len(one.centre) for one in loss.agents), default=0)
    if isinstance(loss, Ridge | Logistic):
        return max((len(row) for one in loss.agents for row in one.features), default=0)
    return (
        loss.dimension if isinstance(loss, RandomQuadratics | RandomRidge | RandomLogistic) else 0
    )


def _data(loss: object) -> int:
    """How many data an agent has at most, from the document of the losses."""
    if isinstance(loss, Ridge | Logistic):
        return max((len(one.features) for one in loss.agents), default=0)
    return loss.samples if isinstance(loss, RandomRidge | RandomLogistic) else 0


def game_of_scenario(scenario: Scenario) -> tuple[ScenarioGame, Line]:
    """The game of a scenario, and its edits as moves; attacks other than edits are refused.

    The keys are written down as they are in this run, so that moves leave them alone.

    Implements: AD-9, LV-3.
    """
    attack = scenario.attack
    if not isinstance(attack, Edits | None):
        raise PlayError(
            f"the attack {name_of(attack)} is no list of edits: leave it out, and make its moves"
        )
    check_scenario(scenario)
    fixed = settled(scenario)
    prepared = prepare(fixed)
    if isinstance(fixed.validation, PaperValidation):
        keys = tuple(one.own_key for _agent, one in sorted(prepared.private.items()))
        fixed = attrs.evolve(fixed, keys=keys)
    elif fixed.validation.coins is None:
        coins = opening_coins(fixed).secret.hex()
        fixed = attrs.evolve(fixed, validation=attrs.evolve(fixed.validation, coins=coins))
    game = ScenarioGame(attrs.evolve(fixed, attack=None))
    return game, _line_of_edits(game, () if attack is None else attack.edits)


def game_of_script(script: Script) -> tuple[ScriptGame, Line]:
    """The game of a counterexample, and its words as moves.

    Implements: AD-4.
    """
    game = ScriptGame(attrs.evolve(script, words=()))
    by_place: dict[tuple[str, int], list[Move]] = {}
    for word in script.words:
        value = Flag(value=True) if word.says is True else Text(str(word.says))
        move = Move(word.sender, word.receiver, Set(value))
        by_place.setdefault((word.phase, word.round), []).append(move)
    unknown = [place for place in by_place if place not in game.places]
    if unknown:
        phase, number = unknown[0]
        raise PlayError(f"a word in {phase} round {number}, which this game has not")
    return game, _ended([tuple(by_place.get(place, ())) for place in game.places])


def _line_of_edits(game: ScenarioGame, edits: Iterable[Edit]) -> Line:
    """One entry for every round; an edit of every round or receiver is many moves."""
    chosen, neighbours = tuple(edits), game.graph.neighbours
    rounds = [
        tuple(
            Move(edit.sender, receiver, _in_round(edit.action, number, receiver))
            for edit in chosen
            if edit.phase == phase and edit.round in {None, number}
            for receiver in (neighbours(edit.sender) if edit.receiver is None else (edit.receiver,))
        )
        for phase, number in game.places
    ]
    return _ended(rounds)


def _in_round(action: Action, number: int, receiver: int) -> Action:
    """What an action of every round does in one: a replay of a later round leaves the message."""
    late = isinstance(action, Replay) and action.round >= number
    return Swap(receiver) if late else action


def _ended(rounds: Sequence[Moves]) -> Line:
    """The line up to its last move."""
    last = max((index + 1 for index, moves in enumerate(rounds) if moves), default=0)
    return tuple(rounds[:last])


def script_text(script: Script) -> str:
    """A counterexample as the explorer writes it."""
    return json.dumps(script.as_json(), indent=1) + "\n"


def _check_length(line: Line, places: Sequence[object]) -> None:
    if len(line) > len(places):
        raise PlayError(f"moves in {len(line)} rounds of a game with {len(places)}")


@functools.lru_cache(maxsize=32)
def _prepared(scenario: Scenario) -> Prepared:
    return prepare(scenario)


@functools.lru_cache(maxsize=32)
def _places(scenario: Scenario) -> tuple[tuple[str, int], ...]:
    machine = Valid(_prepared(scenario).parameters)
    return tuple(machine.place(number) for number in range(1, machine.rounds + 1))


@functools.lru_cache(maxsize=32)
def _course_of_scenario(scenario: Scenario) -> Course:
    """The run as `valid-ref run` runs it, with the states of every round."""
    prepared = _prepared(scenario)
    parameters = prepared.parameters
    result = run_machine(
        parameters.graph,
        Valid(parameters, Remembered(parameters)),
        prepared.private,
        byzantine=prepared.byzantine,
        adversary=prepared.adversary,
        keep_states=True,
    )
    execution = Execution(parameters, prepared.byzantine, result.rounds, result.states)
    judgement = judge(
        execution, prepared.problem, delta=prepared.delta, eps_success=prepared.eps_success
    )
    run = Run(prepared.scenario, prepared, execution, judgement)
    return Course(result.rounds, result.history, run=run)


@functools.lru_cache(maxsize=32)
def _course_of_script(script: Script) -> Course:
    replay = replay_script(script)
    rounds: tuple[Round, ...] = ()
    states: tuple[Mapping[int, object], ...] = ()
    if replay.broadcast is not None:
        rounds, states = replay.broadcast.rounds, replay.broadcast.history
    if replay.agreement is not None:
        rounds += replay.agreement.rounds
        states += replay.agreement.history[1:] if states else replay.agreement.history
    return Course(rounds, states, replay=replay)


@functools.lru_cache(maxsize=32)
def digest_of(run: Run) -> str:
    """The digest of the recording of a run, as `valid-ref run --json` prints it.

    Implements: VA-8.
    """
    return recording_digest(run)


def _word(game: ScriptGame, place: tuple[str, int], move: Move) -> Word | None:
    """A move in a counterexample: a value, or true for an alarm; None is silence."""
    phase, number = place
    sender, receiver = move.sender, move.receiver
    if sender not in game.byzantine or receiver not in game.graph.neighbours(sender):
        raise PlayError(
            f"({sender}, {receiver}) does not leave a Byzantine agent of this game", clause="AD-4"
        )
    value = move.action.value if isinstance(move.action, Set) else None
    if isinstance(value, Nothing):
        return None
    if phase == BROADCAST_PHASE and isinstance(value, Text):
        return Word(phase, number, sender, receiver, value.value)
    if phase == AGREEMENT and isinstance(value, Flag):
        return Word(phase, number, sender, receiver, says=True) if value.value else None
    raise PlayError(f"{move} in {phase}: a counterexample has values, alarms and silence only")
