"""What the page asks for, and the answers: a pure function from a document to a document.

The page keeps the session and sends it with every command; nothing is kept between two of them.
To the page a session is a text: integers of its document have more digits than a browser's numbers.
"""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar

import attrs

from valid_ref.document import DocumentError, read_json, structure, unstructure
from valid_ref.errors import ValidRefError
from valid_ref.explore.counterexample import FORMAT as SCRIPT_FORMAT
from valid_ref.explore.counterexample import Script
from valid_ref.foreign import in_words
from valid_ref.play.choices import is_filled
from valid_ref.play.game import PlayError, ScenarioGame
from valid_ref.play.seen import Filled, moves_of, view_of_session
from valid_ref.play.session import FORMAT, Session, read_scenario, refuse_foreign
from valid_ref.scenario import Scenario
from valid_ref.scenario.convert import as_agents, as_graph, as_validation, as_without
from valid_ref.scenario.parts import RandomQuadratics
from valid_ref.trace import Specification


@attrs.frozen
class Begin:
    """A new game, from what the form of the page says."""

    kind: ClassVar[str] = "begin"
    graph: str
    byzantine: str
    rounds: int
    dimension: int
    seed: int
    validation: str
    without: str


@attrs.frozen
class Open:
    """The text of a file: a scenario, a counterexample, or a session."""

    kind: ClassVar[str] = "open"
    text: str


@attrs.frozen
class Look:
    """What there is to see, with the forms as they are filled in; null if nobody touched them."""

    kind: ClassVar[str] = "look"
    filled: tuple[Filled, ...] | None = None


@attrs.frozen
class Play:
    """Play the next round with the forms as they are filled in."""

    kind: ClassVar[str] = "step"
    filled: tuple[Filled, ...] | None = None


@attrs.frozen
class Follow:
    """Play so many rounds with the moves that stand ready."""

    kind: ClassVar[str] = "follow"
    rounds: int


@attrs.frozen
class Undo:
    """Go back by one round."""

    kind: ClassVar[str] = "undo"


@attrs.frozen
class Go:
    """Show another node of the tree."""

    kind: ClassVar[str] = "go"
    node: int


@attrs.frozen
class Save:
    """The text of the file that `valid-ref run` replays."""

    kind: ClassVar[str] = "save"


Command = Begin | Open | Look | Play | Follow | Undo | Go | Save
"""What the page can ask for; told apart by its kind."""


def answer(text: str, specification: Specification) -> dict[str, Any]:
    """The answer to a request: a session and its view, or why it was refused; it never raises.

    Implements: VA-6.
    """
    try:
        return _answered(text, specification)
    except ValidRefError as error:
        return {"refused": {"message": error.message, "clause": error.clause}}
    except Exception as error:  # whatever it is, the page must say it and go on
        return {"refused": {"message": f"this cannot be computed: {in_words(error)}", "clause": ""}}


def _answered(text: str, specification: Specification) -> dict[str, Any]:
    request = read_json(text)
    if not isinstance(request, dict) or set(request) != {"session", "command"}:
        raise DocumentError("$: expected an object with session and command", clause="VA-6")
    command: Command = structure(Command, request["command"], "$.command")
    kept = structure(str | None, request["session"], "$.session")
    before = None if kept is None else Session.from_json(read_json(kept))
    if isinstance(command, Begin | Open):
        after = _begun(command)
    elif before is None:
        raise PlayError("no game has begun")
    else:
        after = _DONE[type(command)](before, command)
    filled = command.filled if isinstance(command, Look) else None
    moves = None if filled is None else moves_of(after, _ready(after, filled))
    found = {
        "session": text_of(after),
        "view": unstructure(view_of_session(after, specification, moves)),
    }
    return found | ({"file": file_of(after)} if isinstance(command, Save) else {})


_DONE: Mapping[type, Callable[[Session, Any], Session]] = MappingProxyType(
    {
        Look: lambda session, _command: session,
        Play: lambda session, command: session.step(
            session.ready if command.filled is None else moves_of(session, command.filled)
        ),
        Follow: lambda session, command: session.follow(command.rounds),
        Undo: lambda session, _command: session.undo(),
        Go: lambda session, command: session.go(command.node),
        Save: lambda session, _command: session,
    }
)


def _ready(session: Session, filled: tuple[Filled, ...]) -> tuple[Filled, ...]:
    """The forms that can be looked at: one that still lacks a number changes nothing yet."""
    if session.finished:
        return filled
    game, (phase, _number) = session.game, session.game.places[session.played]
    return tuple(one for one in filled if is_filled(game, phase, one.choice))


def _begun(command: Begin | Open) -> Session:
    if isinstance(command, Open):
        return session_of_text(command.text)
    refuse_foreign({"graph": command.graph}, "graph")
    try:
        scenario = Scenario(
            graph=as_graph(command.graph),
            byzantine=as_agents(command.byzantine),
            rounds=command.rounds,
            loss=RandomQuadratics(command.dimension),
            seed=command.seed,
            validation=as_validation(command.validation),
            without=as_without(command.without) if command.without.strip() else (),
        )
    except DocumentError as error:
        raise PlayError(error.message, clause=error.clause) from None
    return Session.of_scenario(scenario)


def first_session() -> Session:
    """The game with which the page opens where no file is named."""
    return Session.of_scenario(
        Scenario(
            graph="complete:5", rounds=6, byzantine=4, seed=0, loss=RandomQuadratics(dimension=2)
        )
    )


def load_session(path: Path) -> Session:
    """The session of a file.

    Implements: VA-6.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DocumentError(f"cannot read {path}: {error}", clause="VA-6") from None
    return session_of_text(text)


def session_of_text(text: str) -> Session:
    """The session of a scenario, of a counterexample of the explorer, or of a session's document.

    Implements: VA-6.
    """
    data = read_json(text)
    named = data.get("format") if isinstance(data, dict) else None
    if named == SCRIPT_FORMAT:
        return Session.of_script(Script.from_json(data))
    if named == FORMAT:
        return Session.from_json(data)
    return Session.of_scenario(read_scenario(data))


def text_of(session: Session) -> str:
    """The document of a session as the page keeps it."""
    return json.dumps(session.as_json(), separators=(",", ":"))


def file_of(session: Session) -> dict[str, str]:
    """A name and the text of what is saved."""
    scenario = isinstance(session.game, ScenarioGame)
    return {"name": "moves.json" if scenario else "script.json", "text": session.saved()}
