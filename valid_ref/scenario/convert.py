"""What people have, as the parts of a scenario: one converter for Python and the command line.

Every function takes a part itself, the text by which the command line names it, its document, or
an object from which it can be made; whatever else is refused by the name of its field.
"""

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from typing import Any, Protocol, get_args

import attrs
import numpy as np

from valid_ref.adversary.attack import Attack
from valid_ref.document import DocumentError, schema, structure, wrong
from valid_ref.foreign import place_of, refusing
from valid_ref.graph import AgentGraph
from valid_ref.losses import LogisticRegression, Loss, OwnLoss, Quadratic, RidgeLeastSquares
from valid_ref.losses.own import check_own_loss
from valid_ref.named_parts import NamedParts, part_of, refuse_class
from valid_ref.protocols.parameters import CheckedKeys
from valid_ref.reading import Reading, ReadingError
from valid_ref.scenario.numbers import plain
from valid_ref.scenario.parts import (
    FIELDS,
    BoundsPart,
    Check,
    DataAgent,
    Edges,
    GraphPart,
    Logistic,
    LossPart,
    OwnGraph,
    QuadraticAgent,
    Quadratics,
    Ridge,
    SchedulePart,
    ValidationPart,
    as_thresholds,
    as_weights,
    named,
)
from valid_ref.schedule import Precision

Document = Mapping[str, Any]


@attrs.frozen
class TextOr:
    """Stands in `Annotated` beside a type whose values are read by one of these functions.

    So other documents take what a scenario takes: `Annotated[GraphPart, TextOr(GraphPart,
    as_graph)]`. Of a union its own classes alone are admitted, or with `parts` also those that
    anybody may bring there.

    With `number`, one whole number may stand for a list of one.

    Implements: VA-6, EX-12.
    """

    kind: Any
    convert: Callable[[Any, str], Any]
    parts: NamedParts | None = None
    number: bool = False

    def read(self, value: Any, path: str) -> Any:
        """A value from its text or its document."""
        found = self.convert(value, path)
        if self.parts is not None or isinstance(found, tuple):
            return found
        return part_of(self.kind, found, path)

    def name_of(self, value: Any) -> str:
        """The kind of a part."""
        return str(value.kind) if self.parts is None else self.parts.name_of(value)

    def schema(self) -> dict[str, Any]:
        """The type, or a text."""
        if self.parts is not None:
            return self.parts.schema()
        text = {"type": "string", "description": "As the command line of valid-ref takes it."}
        numbers = [{"type": "integer"}] if self.number else []
        return {"anyOf": [schema(self.kind), *numbers, text]}


class NetworkxGraph(Protocol):
    """A graph of networkx."""

    def is_directed(self) -> bool:
        """Whether edges have a direction: such a graph is refused."""

    def is_multigraph(self) -> bool:
        """Whether there may be several edges between two nodes: such a graph is refused."""


def as_graph(
    value: GraphPart | OwnGraph | AgentGraph | NetworkxGraph | Document | str, path: str = "graph"
) -> GraphPart | OwnGraph:
    """A graph: "complete:5", an AgentGraph, a graph of networkx, a class of yours with `build`.

    Implements: VA-6, VA-10.
    """
    value = named("graph", value, path)
    refuse_class(value, path)
    with refusing(DocumentError, f"{path}: {place_of(type(value))} raises"):
        if callable(getattr(value, "is_multigraph", None)):
            value = AgentGraph.from_networkx(value)
        built = callable(getattr(value, "build", None))
    if isinstance(value, AgentGraph):
        return Edges(value.agents, value.edges)
    if isinstance(value, get_args(GraphPart)) or built:
        own: Any = value
        checked: GraphPart | OwnGraph = own
        return checked
    raise wrong(path, 'a name like "complete:5", an AgentGraph or a graph of networkx', value)


def as_loss(
    value: LossPart | OwnLoss | Sequence[Loss] | Document | str, path: str = "loss"
) -> LossPart | OwnLoss:
    """Losses: "random-ridge:samples=30", one loss of the reference for every agent, or your own.

    Implements: VA-6, VA-10, MO-14.
    """
    value = named("loss", value, path)
    refuse_class(value, path)
    if isinstance(value, get_args(LossPart)):
        part: Any = value
        known: LossPart = part
        return known
    if isinstance(value, Sequence):
        return _of_agents(value, path)
    if isinstance(value, Quadratic | RidgeLeastSquares | LogisticRegression):
        raise DocumentError(
            f"{path}: a {type(value).__name__} is the loss of one agent: give a list, one for each",
            clause="VA-10",
        )
    with refusing(DocumentError, f"{path}: gradient of {place_of(type(value))} raises"):
        differentiated = hasattr(value, "gradient")
    if not differentiated:
        raise wrong(
            path,
            'a name like "random-ridge", a list of losses, or an object with dimension and '
            "gradient(agent, round, point)",
            value,
        )
    check_own_loss(value, path)
    own: Any = value
    checked: OwnLoss = own
    return checked


def _of_agents(losses: Sequence[Any], path: str) -> LossPart:
    """The document of losses of the reference, one for every agent, all of a kind."""
    kinds = {type(loss) for loss in losses}
    if len(kinds) == 1 and kinds <= {Quadratic, RidgeLeastSquares, LogisticRegression}:
        (kind,) = kinds
        if kind is Quadratic and len({(q.noise, q.spread) for q in losses}) == 1:
            centres = [
                QuadraticAgent(_rows(loss.hessian), tuple(loss.centre.tolist())) for loss in losses
            ]
            return Quadratics(tuple(centres), losses[0].noise, losses[0].spread)
        if kind is not Quadratic and len({loss.ridge for loss in losses}) == 1:
            data = [
                DataAgent(_rows(loss.features), tuple(loss.targets.tolist())) for loss in losses
            ]
            make = Ridge if kind is RidgeLeastSquares else Logistic
            return make(tuple(data), float(losses[0].ridge))
    raise DocumentError(
        f"{path}: a list has a loss for every agent: all Quadratic with one noise and spread, or "
        "all RidgeLeastSquares, or all LogisticRegression, with one ridge",
        clause="VA-10",
    )


def _rows(matrix: np.ndarray) -> tuple[tuple[float, ...], ...]:
    return tuple(map(tuple, matrix.tolist()))


def as_attack(value: Attack | Document | str | None, path: str = "attack") -> Attack | None:
    """An attack: "equivocation", "gaussian:sigma=0.3", or an object with `build(setting)`.

    Implements: VA-6, VA-10.
    """
    if value is None:
        return None
    value = named("attack", value, path)
    refuse_class(value, path)
    with refusing(DocumentError, f"{path}: build of {place_of(type(value))} raises"):
        built = callable(getattr(value, "build", None))
    if not built:
        raise wrong(path, 'a name like "equivocation", or an object with build(setting)', value)
    found: Any = value
    attack: Attack = found
    return attack


def as_schedule(value: SchedulePart | Document | str, path: str = "schedule") -> SchedulePart:
    """Steps: "diminishing", "constant:alpha=0.1,eta=0.1"."""
    found: SchedulePart = part_of(SchedulePart, named("schedule", value, path), path)
    return found


def as_bounds(value: BoundsPart | Document | str, path: str = "bounds") -> BoundsPart:
    """Norm bounds: "derived", "none", "configured:model=9,gradient=9"."""
    found: BoundsPart = part_of(BoundsPart, named("bounds", value, path), path)
    return found


def as_validation(
    value: ValidationPart | Document | str, path: str = "validation"
) -> ValidationPart:
    """How a run is validated: "paper", "lean", "lean:kappa=3"."""
    found: ValidationPart = part_of(ValidationPart, named("validation", value, path), path)
    return found


def as_precision(value: Precision | Document, path: str = "precision") -> Precision:
    """f and k."""
    found: Precision = structure(Precision, plain(value), path)
    return found


def as_checks(
    value: Check | Document | str | Iterable[Check | Document | str], path: str = "checks"
) -> tuple[Check, ...]:
    """Checks: one or several, each a Check, or the text of its weights or of its thresholds."""
    several = [value] if isinstance(value, Check | Mapping | str) else value
    _refuse_set(several, path)
    return tuple(_check(one, f"{path}[{index}]") for index, one in enumerate(_items(several, path)))


def _check(value: object, path: str) -> Check:
    if isinstance(value, str):
        if value.partition(":")[0] in FIELDS["thresholds"].names:
            return Check(thresholds=as_thresholds(value, path))
        return Check(value, weights=as_weights(value, path))
    if isinstance(value, Mapping | Check):
        found: Check = structure(Check, plain(value), path)
        return found
    raise wrong(path, 'a Check, or a text like "polynomial:power=2"', value)


def as_keys_checked(value: CheckedKeys | str, path: str = "keys_checked") -> CheckedKeys:
    """Which keys are checked: "all" or "own"."""
    if isinstance(value, CheckedKeys):
        return value
    found: CheckedKeys = structure(CheckedKeys, value, path)
    return found


def as_without(value: str | Iterable[str], path: str = "without") -> tuple[str, ...]:
    """Errata whose repairs are turned off: "P07,P14", "as-printed" for all, or a list.

    Implements: VA-7.
    """
    if isinstance(value, str):
        if value == "as-printed":
            return Reading.switches()
        value = [item.upper() for item in _between_commas(value, "errata such as P07,P14", path)]
    found: tuple[str, ...] = structure(tuple[str, ...], _items(value, path), path)
    _refuse_doubles(found, path)
    try:
        Reading.without(*found)
    except ReadingError as error:
        raise ReadingError(f"{path}: {error.message}", clause=error.clause) from None
    return found


def as_agents(value: int | str | Iterable[int], path: str = "byzantine") -> tuple[int, ...]:
    """Agents: 4, "3,4" or a list."""
    found = _integers(value, "agents such as 3,4", path)
    for index, agent in enumerate(found):
        if agent < 0:
            raise DocumentError(f"{path}[{index}] = {agent} is not an agent", clause="AD-1")
    _refuse_doubles(found, path)
    return found


def as_keys(value: str | Iterable[int] | None, path: str = "keys") -> tuple[int, ...] | None:
    """The keys of all agents: "7,8,9" or a list."""
    if value is None:
        return None
    _refuse_set(value, path)
    found = _integers(value, "a key for every agent", path)
    if not found:
        raise wrong(path, "a key for every agent", [])
    return found


def _integers(value: object, expected: str, path: str) -> tuple[int, ...]:
    """One integer, those of a text, or those of a list."""
    value = value.tolist() if isinstance(value, np.ndarray | np.generic) else value
    if isinstance(value, str):
        return parse_integers(value, path, expected)
    several = _items(value, path) if isinstance(value, Iterable) else [value]
    found: tuple[int, ...] = structure(tuple[int, ...], plain(several), path)
    return found


def as_start(value: Iterable[float] | None, path: str = "start") -> tuple[float, ...] | None:
    """x_0: a list or an array."""
    if value is None:
        return None
    _refuse_set(value, path)
    found: tuple[float, ...] = structure(tuple[float, ...], plain(_items(value, path)), path)
    return found


def as_number(value: Any) -> Any:
    """A number of numpy as one of Python; anything else is left to its check."""
    return plain(value)


def as_real(value: Any) -> Any:
    """An integer, or a real number of numpy, as a real number; the rest is left to its check."""
    value = plain(value)
    if isinstance(value, bool) or not isinstance(value, int):
        return value
    try:
        return float(value)
    except OverflowError:
        return math.inf


def parse_integers(text: str, path: str = "", expected: str = "integers") -> tuple[int, ...]:
    """Integers between commas."""
    items = _between_commas(text, expected, path)
    return tuple(
        structure(
            int, int(item) if re.fullmatch("-?[0-9]{1,18}", item) else item, f"{path}[{index}]"
        )
        for index, item in enumerate(items)
    )


def _between_commas(text: str, expected: str, path: str) -> list[str]:
    """The items of a text, none of which is empty; a comma at its end is nothing."""
    items = [item.strip() for item in text.strip().removesuffix(",").split(",")]
    if not all(items):
        raise wrong(path, expected, text)
    return items


def _items(value: object, path: str) -> list[Any]:
    """The items of a list, an array, a set (sorted), or whatever can be gone through; no text's."""
    if isinstance(value, Set):
        return sorted(value, key=lambda one: (len(str(one)), str(one)))
    if isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping):
        found: object = value.tolist() if isinstance(value, np.ndarray) else list(value)
        if isinstance(found, list):
            return found
    raise wrong(path, "a list", value)


def _refuse_set(value: object, path: str) -> None:
    """Refuse a set where the order of what is in it counts."""
    if isinstance(value, Set):
        raise wrong(path, "a list, since a set has no order", value)


def _refuse_doubles(items: tuple[Any, ...], path: str) -> None:
    """Refuse a list in which something stands twice."""
    doubles = [item for index, item in enumerate(items) if item in items[:index]]
    if doubles:
        raise DocumentError(f"{path}: {doubles[0]} stands twice in the list", clause="VA-6")
