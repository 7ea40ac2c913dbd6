"""Forms of moves: what a person fills in for one edge, and the action of the edit language it is.

Real numbers are those of models and gradients; everything else is an integer as it is sent.
"""

import json
import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import Any

import attrs

from valid_ref.adversary.actions import (
    WHOLE,
    Action,
    Add,
    Drop,
    Flag,
    Forge,
    Integer,
    Integers,
    Nothing,
    Replay,
    Set,
    Swap,
    Text,
)
from valid_ref.document import read_json, structure, unstructure
from valid_ref.errors import ValidRefError
from valid_ref.explore.settings import BROADCAST_PHASE
from valid_ref.play.game import Game, PlayError, ScriptGame
from valid_ref.protocols.agreement import PHASE as AGREEMENT
from valid_ref.protocols.lean import COMPARE
from valid_ref.protocols.learn import PHASE as LEARNING
from valid_ref.protocols.parameters import ValidParameters

LONGEST = 20_000
"""Characters of the longest text in a form."""


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
            Way("lie", "model with .. added, and a gradient that fits", ("numbers",), _REALS),
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


def actions_of(game: Game, phase: str, choice: Choice) -> tuple[Action, ...]:
    """The actions of a form, none for no change. What is not filled in rightly is refused.

    Implements: AD-9.
    """
    ways = {way.name: way for way in ways_of(game, phase)}
    if choice.way not in ways:
        raise PlayError(f"{choice.way[:40]!r} is no way to change a message of {phase}")
    for text in (choice.numbers, choice.field, choice.text):
        if len(text) > LONGEST:
            raise PlayError(f"a text of {len(text)} characters, at most {LONGEST} are taken")
    if choice.way == HONEST:
        return ()
    if choice.way == OTHER:
        return _others(choice)
    return (_MADE[choice.way](choice, game.parameters),)


def choice_of(game: Game, phase: str, actions: tuple[Action, ...]) -> Choice:
    """The form that makes these actions on one edge.

    Implements: AD-9.
    """
    if not actions:
        return Choice(HONEST)
    for found in _candidates(actions[0], game.parameters):
        try:
            if actions_of(game, phase, found) == actions:
                return found
        except ValidRefError:
            continue
    written = unstructure(actions if len(actions) > 1 else actions[0])
    return Choice(OTHER, text=json.dumps(written))


# From forms to actions.


def _lattice(choice: Choice, parameters: ValidParameters | None, bits: int) -> tuple[int, ...]:
    """Real numbers in lattice units of so many more bits, one for each entry of a model."""
    if parameters is None:
        raise PlayError("there are no models here")
    lattice = parameters.lattice
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


def _lie(choice: Choice, parameters: ValidParameters | None) -> Action:
    """The relation Gamma = Y - 2^k x holds for the changed model too.

    Implements: AR-6.
    """
    model = _lattice(choice, parameters, 0)
    step = 0 if parameters is None else parameters.lattice.precision.step_bits
    return Add((*model, *(-(entry << step) for entry in model)))


def _gradient(choice: Choice, parameters: ValidParameters | None) -> Action:
    step = 0 if parameters is None else parameters.lattice.precision.step_bits
    return Add(_lattice(choice, parameters, step), "scaled_gradient")


def _entry(choice: Choice, _parameters: ValidParameters | None) -> Action:
    numbers = _integers(choice)
    alone = len(numbers) == 1 and "," not in choice.numbers
    return Forge(_field(choice), Integer(numbers[0]) if alone else Integers(numbers))


def _value(choice: Choice, _parameters: ValidParameters | None) -> Action:
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


_MADE: Mapping[str, Callable[[Choice, ValidParameters | None], Action]] = MappingProxyType(
    {
        "lie": _lie,
        "model": lambda choice, known: Add(_lattice(choice, known, 0), "model"),
        "gradient": _gradient,
        "drop": lambda _choice, _known: Drop(),
        "replay": lambda choice, _known: Replay(_integer(choice)),
        "swap": lambda choice, _known: Swap(_integer(choice)),
        "entry": _entry,
        "more": lambda choice, _known: Add(_integers(choice), _field(choice)),
        "null": lambda choice, _known: Forge(_field(choice), Nothing()),
        "number": lambda choice, _known: Set(Integer(_integer(choice))),
        "alarm": lambda _choice, _known: Set(Flag(value=True)),
        "quiet": lambda _choice, _known: Set(Flag(value=False)),
        "value": _value,
    }
)


# And back.


def _candidates(action: Action, parameters: ValidParameters | None) -> tuple[Choice, ...]:
    """Forms that may make an action; each is tried."""
    made: Mapping[type, Callable[[Any], tuple[Choice, ...]]] = {
        Drop: lambda _: (Choice("drop"),),
        Replay: lambda one: (Choice("replay", str(one.round)),),
        Swap: lambda one: (Choice("swap", str(one.receiver)),),
        Add: lambda one: _of_add(one, parameters),
        Forge: _of_forge,
        Set: _of_set,
    }
    return made[type(action)](action) if type(action) in made else ()


def _of_add(action: Add, parameters: ValidParameters | None) -> tuple[Choice, ...]:
    found = (Choice("more", _listed(action.vector), action.field),)
    if parameters is None:
        return found
    lattice = parameters.lattice
    model, gradient = 0, lattice.precision.step_bits
    ways = {"model": ("model", model), "scaled_gradient": ("gradient", gradient)}
    ways |= {WHOLE: ("lie", model)}
    if action.field not in ways:
        return found
    way, bits = ways[action.field]
    unit = 1 << (lattice.precision.fraction_bits + bits)
    try:
        reals = [str(entry / unit) for entry in action.vector[: lattice.dimension]]
    except OverflowError:
        return ()
    return (Choice(way, ", ".join(reals)),)


def _of_forge(action: Forge) -> tuple[Choice, ...]:
    value = action.value
    if isinstance(value, Integer):
        return (Choice("entry", str(value.value), action.field),)
    if isinstance(value, Integers):
        return (Choice("entry", _listed(value.value), action.field),)
    return (Choice("null", field=action.field),)


def _of_set(action: Set) -> tuple[Choice, ...]:
    value = action.value
    if isinstance(value, Flag):
        return (Choice("alarm" if value.value else "quiet"),)
    if isinstance(value, Integer):
        return (Choice("number", str(value.value)),)
    return (Choice("value", text=value.value),) if isinstance(value, Text) else ()


def _listed(numbers: tuple[int, ...]) -> str:
    """Integers as a form takes them; one alone with a comma behind it."""
    return ", ".join(map(str, numbers)) + ("," if len(numbers) == 1 else "")
