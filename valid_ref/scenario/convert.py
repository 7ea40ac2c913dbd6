"""What people have, as the parts of a scenario: one converter for Python and the command line.

Every function takes a part itself, the text by which the command line names it, its document, or
an object from which it can be made; whatever else is refused by the name of its field.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol, get_args

import numpy as np

from valid_ref.adversary.attack import Attack
from valid_ref.document import DocumentError, structure, wrong
from valid_ref.foreign import place_of, refusing
from valid_ref.graph import AgentGraph
from valid_ref.losses import LogisticRegression, Loss, OwnLoss, Quadratic, RidgeLeastSquares
from valid_ref.losses.own import check_own_loss
from valid_ref.named_parts import part_of, refuse_class
from valid_ref.protocols.parameters import CheckedKeys
from valid_ref.reading import Reading
from valid_ref.scenario.parts import (
    AnyAttack,
    AnyGraph,
    AnyLoss,
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
    ThresholdsPart,
    ValidationPart,
)
from valid_ref.schedule import Precision

Document = Mapping[str, Any]


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
    if isinstance(value, str | Mapping):
        found: GraphPart | OwnGraph = structure(AnyGraph, value, path)
        return found
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
    if isinstance(value, str | Mapping):
        value = structure(AnyLoss, value, path)
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
    if isinstance(value, str | Mapping):
        named: Attack = structure(AnyAttack, value, path)
        return named
    refuse_class(value, path)
    with refusing(DocumentError, f"{path}: build of {place_of(type(value))} raises"):
        built = callable(getattr(value, "build", None))
    if not built:
        raise wrong(path, 'a name like "equivocation", or an object with build(setting)', value)
    return value


def as_schedule(value: SchedulePart | Document | str, path: str = "schedule") -> SchedulePart:
    """Steps: "diminishing", "constant:alpha=0.1,eta=0.1"."""
    found: SchedulePart = part_of(SchedulePart, value, path)
    return found


def as_bounds(value: BoundsPart | Document | str, path: str = "bounds") -> BoundsPart:
    """Norm bounds: "derived", "none", "configured:model=9,gradient=9"."""
    found: BoundsPart = part_of(BoundsPart, value, path)
    return found


def as_validation(
    value: ValidationPart | Document | str, path: str = "validation"
) -> ValidationPart:
    """How a run is validated: "paper", "lean", "lean:kappa=3"."""
    found: ValidationPart = part_of(ValidationPart, value, path)
    return found


def as_precision(value: Precision | Document, path: str = "precision") -> Precision:
    """f and k."""
    if isinstance(value, Precision):
        return value
    found: Precision = structure(Precision, value, path)
    return found


def as_checks(
    value: Check | Document | str | Iterable[Check | Document | str], path: str = "checks"
) -> tuple[Check, ...]:
    """Checks: one or several, each a Check, or the text of its weights or of its thresholds."""
    several = [value] if isinstance(value, Check | Mapping | str) else value
    return tuple(_check(one, f"{path}[{index}]") for index, one in enumerate(_items(several, path)))


def _check(value: object, path: str) -> Check:
    if isinstance(value, str):
        kinds = {part.kind for part in get_args(ThresholdsPart)}
        if value.partition(":")[0] in kinds:
            return Check(thresholds=value)
        return Check(value, weights=value)
    if isinstance(value, Mapping):
        found: Check = structure(Check, value, path)
        return found
    if isinstance(value, Check):
        return value
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
        value = [item.strip().upper() for item in value.split(",") if item.strip()]
    found: tuple[str, ...] = structure(tuple[str, ...], _items(value, path), path)
    return found


def as_agents(value: int | str | Iterable[int], path: str = "byzantine") -> tuple[int, ...]:
    """Agents: 4, "3,4" or a list."""
    if isinstance(value, str):
        return parse_integers(value, path)
    several = _items(value, path) if isinstance(value, Iterable) else [value]
    found: tuple[int, ...] = structure(tuple[int, ...], [as_integer(one) for one in several], path)
    return found


def as_keys(value: Iterable[int] | None, path: str = "keys") -> tuple[int, ...] | None:
    """The keys of all agents."""
    return None if value is None else as_agents(value, path)


def as_start(value: Iterable[float] | None, path: str = "start") -> tuple[float, ...] | None:
    """x_0: a list or an array."""
    if value is None:
        return None
    numbers = [one.item() if isinstance(one, np.generic) else one for one in _items(value, path)]
    found: tuple[float, ...] = structure(tuple[float, ...], numbers, path)
    return found


def as_integer(value: int) -> int:
    """An integer of numpy as one of Python; anything else is left to its check."""
    found: object = value
    return int(found) if isinstance(found, np.integer) else value


def as_real(value: float | None) -> float | None:
    """An integer, or a real number of numpy, as a real number; the rest is left to its check."""
    if value is None or isinstance(value, bool) or not isinstance(value, int | np.number):
        return value
    try:
        return float(value)
    except OverflowError:
        return math.inf


def parse_integers(text: str, path: str = "") -> tuple[int, ...]:
    """Integers between commas."""
    items = [item.strip() for item in text.split(",") if item.strip()]
    return tuple(
        structure(
            int, int(item) if re.fullmatch("-?[0-9]{1,18}", item) else item, f"{path}[{index}]"
        )
        for index, item in enumerate(items)
    )


def _items(value: object, path: str) -> list[Any]:
    """The items of a list, of an array, or of whatever else can be gone through; not of a text."""
    if isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping):
        return list(value)
    raise wrong(path, "a list", value)
