"""A session: a game, and the tree of all that was tried in it. Nothing in it changes.

Every node of the tree is a moment between two rounds; what leads to it are the moves on the way
from the start. To step makes a new node, to undo goes back to the one before; nothing is lost.
"""

from collections.abc import Iterable
from typing import Final, Literal

import attrs

from valid_ref.document import DocumentError, shown, structure, suggestion, unstructure
from valid_ref.explore.counterexample import Script
from valid_ref.named_parts import IN_A_MODULE
from valid_ref.play.game import (
    MOST_PRIME_DIGITS,
    Course,
    Game,
    Line,
    Move,
    Moves,
    PlayError,
    ScenarioGame,
    ScriptGame,
    game_of_scenario,
    game_of_script,
)
from valid_ref.scenario import Scenario, scenario_as_json
from valid_ref.scenario.parts import FIELDS
from valid_ref.scenario.scenario import OPEN

FORMAT: Final = "valid-ref/session/1"
MOST_NODES = 2000


@attrs.frozen
class Step:
    """A round that was played: from which node, and the moves in it."""

    parent: int
    moves: Moves = ()


@attrs.frozen
class Session:
    """A game, the nodes that were reached, and the one that is shown.

    Node 0 is the start; node i is what `steps[i - 1]` leads to.

    Implements: AD-2, AD-9.
    """

    game: Game
    steps: tuple[Step, ...] = ()
    here: int = 0

    def __attrs_post_init__(self) -> None:
        if len(self.steps) >= MOST_NODES:
            raise PlayError(f"a session has at most {MOST_NODES} rounds: save and begin again")
        for number, step in enumerate(self.steps):
            if not 0 <= step.parent <= number:
                raise PlayError(f"step {number} goes on from {step.parent}, which is not before it")
        self._require(self.here)

    @classmethod
    def of_scenario(cls, scenario: Scenario) -> "Session":
        """A session at the start of a scenario; its edits stand ready as moves.

        Implements: AD-9.
        """
        game, line = game_of_scenario(scenario)
        return cls(game)._laid_out(line)

    @classmethod
    def of_script(cls, script: Script) -> "Session":
        """A session at the start of a counterexample; its words stand ready as moves.

        Implements: AD-4.
        """
        game, line = game_of_script(script)
        return cls(game)._laid_out(line)

    def _laid_out(self, line: Line) -> "Session":
        session = self
        for moves in line:
            session = session.step(moves)
        return session.go(0)

    # What there is.

    def _require(self, node: int) -> None:
        if not 0 <= node <= len(self.steps):
            raise PlayError(f"there is no node {node}: there are 0..{len(self.steps)}")

    def children(self, node: int) -> tuple[int, ...]:
        """The nodes that go on from one, in the order in which they were made."""
        return tuple(i for i, step in enumerate(self.steps, 1) if step.parent == node)

    def way(self, node: int) -> tuple[int, ...]:
        """The nodes from the start to one, without the start."""
        self._require(node)
        found = []
        while node:
            found.append(node)
            node = self.steps[node - 1].parent
        return tuple(reversed(found))

    def line(self, node: int | None = None) -> Line:
        """The moves that lead to a node; to the one that is shown if none is named."""
        way = self.way(self.here if node is None else node)
        return tuple(self.steps[number - 1].moves for number in way)

    @property
    def played(self) -> int:
        """How many rounds have been played."""
        return len(self.way(self.here))

    @property
    def finished(self) -> bool:
        """Whether no round is left."""
        return self.played == len(self.game.places)

    @property
    def ready(self) -> Moves:
        """The moves with which the first child was reached, if there is one."""
        children = self.children(self.here)
        return self.steps[children[0] - 1].moves if children else ()

    def course(self) -> Course:
        """The rounds played, and those that follow if no more moves are made."""
        return self.game.course(self.line())

    def tried(self, moves: Iterable[Move]) -> Course:
        """The same, with these moves in the next round.

        Implements: AD-2, AD-4.
        """
        if self.finished:
            raise PlayError("the run is over: there is no round to move in")
        return self.game.course((*self.line(), tuple(moves)))

    # What can be done.

    def step(self, moves: Iterable[Move] = ()) -> "Session":
        """Play the next round; the same moves lead to the same node, others to a branch.

        Implements: AD-4, AD-9.
        """
        chosen = tuple(moves)
        self.tried(chosen)  # refuses what is no move
        for child in self.children(self.here):
            if self.steps[child - 1].moves == chosen:
                return attrs.evolve(self, here=child)
        steps = (*self.steps, Step(self.here, chosen))
        return attrs.evolve(self, steps=steps, here=len(steps))

    def follow(self, rounds: int) -> "Session":
        """Play rounds with the moves that stand ready, up to the end."""
        session = self
        for _ in range(rounds):
            if session.finished:
                break
            session = session.step(session.ready)
        return session

    def undo(self) -> "Session":
        """Go back by one round; what was played stays in the tree."""
        if self.here == 0:
            raise PlayError("this is the start: there is nothing to undo")
        return self.go(self.steps[self.here - 1].parent)

    def go(self, node: int) -> "Session":
        """Show another node."""
        return attrs.evolve(self, here=node)

    def saved(self) -> str:
        """The text of a file that `valid-ref run` replays: all moves up to the node shown.

        Implements: VA-6.
        """
        return self.game.saved(self.line())

    # The document.

    def as_json(self) -> dict[str, object]:
        """The session as plain JSON data."""
        game = self.game
        own: dict[str, object] = unstructure(_Document(FORMAT, self.steps, self.here))
        if isinstance(game, ScriptGame):
            return own | {"script": game.script.as_json()}
        return own | {"scenario": scenario_as_json(game.scenario)}

    @classmethod
    def from_json(cls, data: object) -> "Session":
        """The session that `as_json` wrote; anything else is refused.

        Implements: VA-6.
        """
        rest = dict(data) if isinstance(data, dict) else {}
        game = rest.pop("script", None), rest.pop("scenario", None)
        if (game[0] is None) == (game[1] is None):
            raise DocumentError("$: a session has a scenario or a script", clause="VA-6")
        found: _Document = structure(_Document, rest)
        if game[0] is not None:
            return cls(ScriptGame(Script.from_json(game[0])), found.steps, found.here)
        return cls(ScenarioGame(read_scenario(game[1])), found.steps, found.here)


def read_scenario(data: object) -> Scenario:
    """A scenario of parts of this package: nothing is imported that a document names.

    Implements: VA-6.
    """
    for field in ("graph", "loss", "attack"):
        refuse_foreign(data, field)
    prime = data.get("prime") if isinstance(data, dict) else None
    if isinstance(prime, int) and abs(prime) >= 10**MOST_PRIME_DIGITS:  # before it is factored
        raise PlayError(f"$.prime: more than {MOST_PRIME_DIGITS} digits, which are not played")
    found: Scenario = structure(Scenario, data)
    return found


def refuse_foreign(data: object, field: str) -> None:
    """Refuse a part that would be found by a module or an entry point.

    Implements: VA-6.
    """
    value = data.get(field) if isinstance(data, dict) else None
    named = value.get("kind") if isinstance(value, dict) else value
    if not isinstance(named, str):
        return
    name, parts = named.partition(":")[0], FIELDS[field]
    brought = IN_A_MODULE.fullmatch(named) is not None or name in OPEN[field].registered()
    if (brought and name not in OPEN[field].kinds) or name not in parts.names:
        raise PlayError(
            f"$.{field}: {shown(named)} is no part of this package, and not played"
            f"{suggestion(name, dict.fromkeys(sorted(parts.names)))}",
            clause="VA-6",
        )


@attrs.frozen
class _Document:
    """The JSON form of a session: a scenario or a script as their own documents say."""

    format: Literal["valid-ref/session/1"]
    steps: tuple[Step, ...]
    here: int
