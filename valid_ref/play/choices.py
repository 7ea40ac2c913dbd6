"""Forms of moves: what a person fills in for one edge, and the action of the edit language it is.

Real numbers are those of models and gradients; everything else is an integer as it is sent.
"""

import json
import math
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import Any

import attrs
import numpy as np

from valid_ref.adversary.actions import (
    Action,
    Add,
    Drop,
    Flag,
    Forge,
    Integer,
    Integers,
    Learning,
    Nothing,
    Replay,
    Set,
    Swap,
    Text,
    Value,
)
from valid_ref.adversary.attack import Setting, consistent_message
from valid_ref.coins import Coins
from valid_ref.document import read_json, structure, unstructure
from valid_ref.errors import ValidRefError
from valid_ref.explore.settings import BROADCAST_PHASE
from valid_ref.machine import CausalView, Message
from valid_ref.play.game import Course, Game, PlayError, ScriptGame
from valid_ref.protocols.agreement import PHASE as AGREEMENT
from valid_ref.protocols.lean import COMPARE
from valid_ref.protocols.learn import PHASE as LEARNING
from valid_ref.protocols.learn import LearningMessage
from valid_ref.protocols.parameters import ValidParameters

LONGEST = 20_000
"""Characters of the longest text in a form."""


@attrs.frozen(eq=False)
class Spot:
    """Where a form stands: an edge of a Byzantine agent in the next round, and what came before.

    Implements: AD-2.
    """

    game: Game
    course: Course
    played: int
    sender: int
    receiver: int

    @property
    def phase(self) -> str:
        """The phase of the next round."""
        return self.game.places[self.played][0]

    @property
    def parameters(self) -> ValidParameters:
        """The parameters of the run; refused where a sub-protocol is played alone."""
        if self.game.parameters is None:
            raise PlayError("there are no models here")
        return self.game.parameters

    @property
    def usual(self) -> Message:
        """What honest code says here."""
        return self.course.rounds[self.played].on_edge(self.sender, self.receiver)


@attrs.frozen
class Choice:
    """One filled-in form: which way to change a message, and what that way needs."""

    way: str
    numbers: str = ""
    field: str = ""
    text: str = ""


@attrs.frozen
class Way:
    """One way to change a message: its name, its words, and the inputs that it needs."""

    name: str
    label: str
    needs: tuple[str, ...] = ()
    hint: str = ""


HONEST = "honest"
"""No change."""
OTHER = "other"
"""Edits as they are written in documents."""

_REALS = "real numbers, one for each entry, such as 0.5, -1"
_WHOLE = "an integer such as 5; several as 5, 6; one alone in a list as 5,"
_ANY = (
    Way("drop", "says nothing"),
    Way("replay", "what went here in round ..", ("numbers",), "an earlier round of the phase"),
    Way("swap", "what goes to agent ..", ("numbers",), "the number of another neighbour"),
    Way(
        OTHER,
        "any edits, as JSON",
        ("text",),
        'such as {"kind": "scale", "c": 2, "field": "model"}',
    ),
)
_SPOKEN = (
    Way("entry", "one entry set to ..", ("field", "numbers"), _WHOLE),
    Way("more", "one entry, with .. added", ("field", "numbers"), "integers such as 1, 0"),
    Way("null", "one entry set to null", ("field",)),
)
WAYS: Mapping[str, tuple[Way, ...]] = MappingProxyType(
    {
        LEARNING: (
            Way(
                "lie",
                "model with .. added, and the gradient that fits what you told before",
                ("numbers",),
                f"{_REALS}; 0 to stay with earlier lies",
            ),
            Way("model", "model with .. added, gradient unchanged", ("numbers",), _REALS),
            Way("gradient", "scaled gradient with .. added", ("numbers",), _REALS),
            *_ANY,
        ),
        AGREEMENT: (Way("alarm", "says: I have an alarm"), Way("quiet", "says: no alarm"), *_ANY),
        COMPARE: (Way("number", "another digest", ("numbers",), "an integer"), *_ANY),
    }
)
"""By phase; every other phase is a broadcast or a flood of entries."""

SCRIPT_WAYS: Mapping[str, tuple[Way, ...]] = MappingProxyType(
    {
        BROADCAST_PHASE: (Way("value", "says the value ..", ("text",), "such as a"),),
        AGREEMENT: (Way("alarm", "says: I have an alarm"),),
    }
)
"""Of a counterexample, which has words only."""


def ways_of(game: Game, phase: str) -> tuple[Way, ...]:
    """The ways to change a message of a phase; the first leaves it as it is.

    Implements: AD-9.
    """
    if isinstance(game, ScriptGame):
        usual = "no alarm" if phase == AGREEMENT else "nothing new"
        return (Way(HONEST, f"says {usual}"), *SCRIPT_WAYS[phase])
    return (Way(HONEST, "what honest code says"), *WAYS.get(phase, (*_SPOKEN, *_ANY)))


def actions_of(spot: Spot, choice: Choice) -> tuple[Action, ...]:
    """The actions of a form, none for no change. What is not filled in rightly is refused.

    Implements: AD-9.
    """
    if choice.way not in {way.name for way in ways_of(spot.game, spot.phase)}:
        raise PlayError(f"{choice.way[:40]!r} is no way to change a message of {spot.phase}")
    for text in (choice.numbers, choice.field, choice.text):
        if len(text) > LONGEST:
            raise PlayError(f"a text of {len(text)} characters, at most {LONGEST} are taken")
    if choice.way == HONEST:
        return ()
    if choice.way == OTHER:
        return _others(choice)
    return (_MADE[choice.way](choice, spot),)


def is_filled(game: Game, phase: str, choice: Choice) -> bool:
    """Whether everything that a way needs stands in its form; an unknown way needs nothing.

    Implements: AD-9.
    """
    needs = {way.name: way.needs for way in ways_of(game, phase)}.get(choice.way, ())
    texts = {"numbers": choice.numbers, "field": choice.field, "text": choice.text}
    return all(texts[need].strip() for need in needs)


def choice_of(spot: Spot, actions: tuple[Action, ...]) -> Choice:
    """The form that makes these actions on one edge.

    Implements: AD-9.
    """
    if not actions:
        return Choice(HONEST)
    for found in _candidates(spot, actions[0]):
        try:
            if actions_of(spot, found) == actions:
                return found
        except ValidRefError:
            continue
    written = unstructure(actions if len(actions) > 1 else actions[0])
    return Choice(OTHER, text=json.dumps(written))


# From forms to actions.


def _lattice(choice: Choice, spot: Spot, bits: int) -> tuple[int, ...]:
    """Real numbers in lattice units of so many more bits, one for each entry of a model."""
    lattice = spot.parameters.lattice
    found = []
    for text in filter(None, map(str.strip, choice.numbers.split(","))):
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise PlayError(f"{text[:40]!r} is no real number")
        unit = 1 << (lattice.precision.fraction_bits + bits)
        found.append(round(Fraction(value) * unit))
    if not 1 <= len(found) <= lattice.dimension:
        raise PlayError(f"{len(found)} numbers for a model of {lattice.dimension} entries")
    return (*found, *(0,) * (lattice.dimension - len(found)))


def _integers(choice: Choice) -> tuple[int, ...]:
    found = []
    for text in filter(None, map(str.strip, choice.numbers.split(","))):
        try:
            found.append(int(text))
        except ValueError:
            raise PlayError(f"{text[:40]!r} is no integer") from None
    if not found:
        raise PlayError("no number is filled in")
    return tuple(found)


def _integer(choice: Choice) -> int:
    found = _integers(choice)
    if len(found) > 1:
        raise PlayError(f"{len(found)} numbers where one is asked for")
    return found[0]


def _field(choice: Choice) -> str:
    if not choice.field:
        raise PlayError("no entry is chosen")
    return choice.field


def _lie(choice: Choice, spot: Spot) -> Action:
    """The message that keeps the relation of AR-6 with all that went over this edge before.

    Implements: AR-6.
    """
    usual, parameters = spot.usual, spot.parameters
    added = _lattice(choice, spot, 0)
    if not isinstance(usual, LearningMessage):
        raise PlayError("honest code says no model here")
    model = [int(entry) + more for entry, more in zip(usual.model.tolist(), added, strict=True)]
    limit = parameters.lattice.model_limit
    if not all(abs(entry) < limit for entry in model):
        raise PlayError("no model is that large: it is out of range", clause="AR-11")
    message = consistent_message(
        _setting(spot), _view(spot), spot.sender, spot.receiver, np.array(model, dtype=np.int64)
    )
    return Set(Learning(tuple(model), tuple(message.scaled_gradient.tolist())))


def _setting(spot: Spot) -> Setting:
    """What an attack is told, but for coins: nothing is drawn here."""
    run = spot.course.run
    if run is None:
        raise PlayError("there are no models here")
    return Setting(
        parameters=spot.parameters,
        problem=run.prepared.problem.public(),
        byzantine=spot.game.byzantine,
        delta=math.nan,
        coins=Coins.of_seed(0),
    )


def _view(spot: Spot) -> CausalView:
    """The next round as the adversary sees it.

    Implements: AD-2.
    """
    spoken = spot.course.rounds[spot.played]
    return CausalView(
        graph=spot.game.graph,
        byzantine=spot.game.byzantine,
        phase=spoken.phase,
        round=spoken.number,
        said=spoken.said,
        history=spot.course.rounds[: spot.played],
        byzantine_states={},
        addressed=spoken.addressed,
    )


def _gradient(choice: Choice, spot: Spot) -> Action:
    step = spot.parameters.lattice.precision.step_bits
    return Add(_lattice(choice, spot, step), "scaled_gradient")


def _entry(choice: Choice, _spot: Spot) -> Action:
    numbers = _integers(choice)
    alone = len(numbers) == 1 and "," not in choice.numbers
    return Forge(_field(choice), Integer(numbers[0]) if alone else Integers(numbers))


def _value(choice: Choice, _spot: Spot) -> Action:
    if not choice.text:
        raise PlayError("no value is filled in")
    return Set(Text(choice.text))


def _others(choice: Choice) -> tuple[Action, ...]:
    """Any edit of the language, or several, which are done one after the other."""
    data = read_json(choice.text)
    found: tuple[Action, ...] = structure(
        tuple[Action, ...], data if isinstance(data, list) else [data]
    )
    return found


_MADE: Mapping[str, Callable[[Choice, Spot], Action]] = MappingProxyType(
    {
        "lie": _lie,
        "model": lambda choice, spot: Add(_lattice(choice, spot, 0), "model"),
        "gradient": _gradient,
        "drop": lambda _choice, _spot: Drop(),
        "replay": lambda choice, _spot: Replay(_integer(choice)),
        "swap": lambda choice, _spot: Swap(_integer(choice)),
        "entry": _entry,
        "more": lambda choice, _spot: Add(_integers(choice), _field(choice)),
        "null": lambda choice, _spot: Forge(_field(choice), Nothing()),
        "number": lambda choice, _spot: Set(Integer(_integer(choice))),
        "alarm": lambda _choice, _spot: Set(Flag(value=True)),
        "quiet": lambda _choice, _spot: Set(Flag(value=False)),
        "value": _value,
    }
)


# And back.


def _candidates(spot: Spot, action: Action) -> tuple[Choice, ...]:
    """Forms that may make an action; each is tried."""
    made: Mapping[type, Callable[[Any], tuple[Choice, ...]]] = {
        Drop: lambda _: (Choice("drop"),),
        Replay: lambda one: (Choice("replay", str(one.round)),),
        Swap: lambda one: (Choice("swap", str(one.receiver)),),
        Add: lambda one: _of_add(spot, one),
        Forge: _of_forge,
        Set: lambda one: _of_set(spot, one.value),
    }
    return made[type(action)](action) if type(action) in made else ()


def _of_add(spot: Spot, action: Add) -> tuple[Choice, ...]:
    found = (Choice("more", _listed(action.vector), action.field),)
    if spot.game.parameters is None:
        return found
    bits = spot.parameters.lattice.precision.step_bits
    ways = {"model": ("model", 0), "scaled_gradient": ("gradient", bits)}
    if action.field not in ways:
        return found
    way, more = ways[action.field]
    return (*found, *_real_choice(spot, way, action.vector, more))


def _real_choice(spot: Spot, way: str, entries: Iterable[int], bits: int) -> tuple[Choice, ...]:
    """A form with integers as real numbers, if they are any."""
    unit = 1 << (spot.parameters.lattice.precision.fraction_bits + bits)
    try:
        return (Choice(way, ", ".join(f"{entry / unit:.17g}" for entry in entries)),)
    except OverflowError:
        return ()


def _of_forge(action: Forge) -> tuple[Choice, ...]:
    value = action.value
    if isinstance(value, Integer):
        return (Choice("entry", str(value.value), action.field),)
    if isinstance(value, Integers):
        return (Choice("entry", _listed(value.value), action.field),)
    return (Choice("null", field=action.field),)


def _of_set(spot: Spot, value: Value) -> tuple[Choice, ...]:
    if isinstance(value, Flag):
        return (Choice("alarm" if value.value else "quiet"),)
    if isinstance(value, Integer):
        return (Choice("number", str(value.value)),)
    if isinstance(value, Learning) and isinstance(spot.usual, LearningMessage):
        changes = zip(value.model, spot.usual.model.tolist(), strict=False)
        return _real_choice(spot, "lie", [said - usual for said, usual in changes], 0)
    return (Choice("value", text=value.value),) if isinstance(value, Text) else ()


def _listed(numbers: tuple[int, ...]) -> str:
    """Integers as a form takes them; one alone with a comma behind it."""
    return ", ".join(map(str, numbers)) + ("," if len(numbers) == 1 else "")
