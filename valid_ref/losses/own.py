"""A loss of your own: gradients, and whatever else is known of it.

Only `dimension` and `gradient` are needed. What more a loss may have, each by its name:

- `sample(agent, round, point, generator)`: the gradient of a mini-batch that is drawn with this
  generator, and with nothing else. A loss without it has no noise.
- `mu`, `beta`, `F0`, `sigma`: the constants of MO-10, each valid for every agent: strong convexity
  and smoothness of every datum, the largest loss of a datum at zero, and the deviation of one
  sampled gradient. From mu and beta follow steps, norm bounds, certificates and the optimum.
- `minimiser(agents)`: the model at which the gradients of these agents add up to zero.
"""

import math
import numbers
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from types import MappingProxyType
from typing import Any, Protocol, TypeVar

import attrs
import numpy as np
import numpy.typing as npt

from valid_ref.coins import Coins
from valid_ref.foreign import place_of, refusing
from valid_ref.lattice import FloatVector
from valid_ref.losses.loss import FloatMatrix, LossError, check_integer, check_point

T = TypeVar("T")


class OwnLoss(Protocol):
    """What a scenario takes as `loss`: the local losses of all agents in one object.

    `gradient` is the gradient G_v of the agent's mean loss F_v at a point; it must be a function
    of its arguments alone. Gradients may differ by round; where the loss is judged outside a run,
    `round` is 0, and the gradient of the mean loss is meant. Everybody knows this function, the
    adversary too: what it may not know belongs into `sample`, whose generator differs by run,
    agent and round.

    Implements: MO-9, MO-14.
    """

    @property
    def dimension(self) -> int:
        """d, the length of a model."""

    def gradient(self, agent: int, round: int, point: FloatVector, /) -> npt.ArrayLike:  # noqa: A002 - its name
        """The gradient of an agent at a point, d real numbers."""


class NoisyOwnLoss(OwnLoss, Protocol):
    """A loss whose agents learn from mini-batches.

    Implements: MO-9, MO-14.
    """

    def sample(
        self,
        agent: int,
        round: int,  # noqa: A002 - its name
        point: FloatVector,
        generator: np.random.Generator,
        /,
    ) -> npt.ArrayLike:
        """The gradient of a mini-batch; every draw is made with the generator."""


class UnknownError(LossError):
    """Something that does not follow from what a loss says of itself."""


class GradientError(LossError):
    """A gradient of somebody's loss that is none."""


def if_known(compute: Callable[[], T]) -> tuple[T | None, str]:
    """What can be computed from a loss; or None, and why it is not known."""
    try:
        return compute(), ""
    except UnknownError as error:
        return None, error.message


METHODS: Mapping[str, str] = MappingProxyType(
    {
        "gradient": "agent, round, point",
        "sample": "agent, round, point, generator",
        "minimiser": "agents",
    }
)
"""The methods that a loss of one's own may have, and their arguments."""


def check_own_loss(loss: object, place: str) -> None:
    """Refuse an object that is no loss, or whose constants cannot be any.

    Implements: MO-10, MO-14.
    """
    name = type(loss).__name__
    for method, arguments in METHODS.items():
        found = _attribute(loss, method)
        if not callable(found) and (found is not None or method == "gradient"):
            raise LossError(
                f"{place}: {name} has no method {method}({arguments}): see "
                "valid_ref.losses.OwnLoss",
                clause="MO-14",
            )
    dimension = _attribute(loss, "dimension")
    if dimension is None:
        raise LossError(f"{place}: {name} has no dimension, the length of a model", clause="MO-14")
    check_integer(dimension, 1, f"{place}: dimension")
    limits = {"mu": 0.0, "beta": _constant(loss, "mu") or 0.0, "F0": 0.0, "sigma": 0.0}
    for constant, least in limits.items():
        value = _constant(loss, constant)
        if value is None:
            continue
        most = math.inf if constant == "F0" else np.finfo(np.float64).max
        if not least <= value <= most or (constant == "mu" and value == 0):
            raise LossError(
                f"{place}: {constant} = {value} is not a number from {least:g} on", clause="MO-10"
            )


def _attribute(loss: object, name: str) -> Any:
    """An attribute of somebody's loss, which may be a property; None if there is none."""
    with refusing(LossError, f"{place_of(type(loss))}: {name} raises", clause="MO-14", typed=True):
        return getattr(loss, name, None)


def _constant(loss: object, name: str) -> float | None:
    value = _attribute(loss, name)
    if value is None:
        return None
    called = f"{place_of(type(loss))}: {name} raises"
    with refusing(LossError, called, clause="MO-10", typed=True):
        found = real_numbers(value)
    if found is None or found.size != 1:
        raise LossError(f"{name} = {value!r} is not a number", clause="MO-10")
    return float(found.item())


def real_numbers(value: npt.ArrayLike) -> npt.NDArray[np.float64] | None:
    """An array of its own; None where not all entries are real numbers.

    Truth values, texts and complex numbers are none.

    Implements: MO-14.
    """
    found = np.asarray(value)
    known = found.dtype.kind in "iuf"
    if not known and not (found.dtype.kind == "O" and all(map(_is_real, found.flat))):
        return None
    return np.array(found, dtype=np.float64)


def _is_real(value: object) -> bool:
    return isinstance(value, numbers.Real | Decimal) and not isinstance(value, bool)


@attrs.frozen(eq=False)
class AgentLoss:
    """One agent's part of somebody's loss, with the methods of `Loss`.

    A constant that the loss does not give raises an UnknownError that names it.

    Implements: MO-9, MO-10, MO-14.
    """

    own: OwnLoss
    agent: int
    dimension: int = attrs.field(init=False)
    """d; asked for once."""
    noisy: bool = attrs.field(init=False)
    """Whether mini-batches are drawn."""

    @dimension.default
    def _dimension(self) -> int:
        return int(_attribute(self.own, "dimension"))

    @noisy.default
    def _noisy(self) -> bool:
        return _attribute(self.own, "sample") is not None

    @property
    def strong_convexity(self) -> float:
        """mu."""
        return self._given("mu")

    @property
    def smoothness(self) -> float:
        """beta."""
        return self._given("beta")

    @property
    def loss_at_zero(self) -> float:
        """F0."""
        return self._given("F0")

    def gradient_deviation(self, radius: float) -> float:  # noqa: ARG002 - the same everywhere
        """sigma; 0 without mini-batches."""
        return self._given("sigma") if self.noisy else 0.0

    def value(self, point: FloatVector) -> float:  # noqa: ARG002 - never known
        """Refused: a loss of one's own says gradients only."""
        raise UnknownError("the loss gives gradients, not values", clause="MO-14")

    def hessian_at(self, point: FloatVector) -> FloatMatrix:  # noqa: ARG002 - never known
        """Refused: a loss of one's own says gradients only."""
        raise UnknownError("the loss gives gradients, not Hessians", clause="MO-14")

    def gradient(self, point: FloatVector) -> FloatVector:
        """G_v, outside any round."""
        return self._checked(0, point, lambda x: self.own.gradient(self.agent, 0, x))

    def sample(self, point: FloatVector, batch: int, generator: np.random.Generator) -> FloatVector:  # noqa: ARG002 - the loss knows its own
        """A mini-batch outside any round."""
        return self.in_round(0, point, generator)

    def in_round(self, t: int, point: FloatVector, generator: np.random.Generator) -> FloatVector:
        """The gradient that the agent takes in round t."""
        own: Any = self.own
        if self.noisy:
            return self._checked(t, point, lambda x: own.sample(self.agent, t, x, generator))
        return self._checked(t, point, lambda x: own.gradient(self.agent, t, x))

    def require_repeatable(self, point: FloatVector, coins: Coins) -> None:
        """Refuse a loss that gives two gradients for the same arguments, those of the first round.

        Implements: MO-14.
        """
        first, second = (self.in_round(1, point, coins.generator("round", 1)) for _time in range(2))
        if not np.array_equal(first, second):
            raise GradientError(
                f"{place_of(type(self.own))}: the gradient of agent {self.agent} in round 1 is "
                "asked for twice and gives two results: it must depend on its arguments alone, so "
                "keep no state, and draw with the generator of sample only",
                clause="MO-14",
            )

    def _given(self, name: str) -> float:
        value = _constant(self.own, name)
        if value is None:
            raise UnknownError(f"the loss gives no {name}", clause="MO-14")
        return value

    def _checked(
        self, t: int, point: FloatVector, compute: Callable[[FloatVector], npt.ArrayLike]
    ) -> FloatVector:
        """What the loss says, as d finite float64; refused by agent and round if it is not.

        Implements: MO-14.
        """
        check_point(point, self.dimension)
        loss = place_of(type(self.own))
        where = f"{loss}: the gradient of agent {self.agent} in round {t}"
        with refusing(GradientError, f"{where} raises", clause="MO-14", typed=True):
            found = real_numbers(compute(point.copy()))
        if found is None:
            raise GradientError(f"{where} is no array of real numbers", clause="MO-14")
        if found.shape != (self.dimension,):
            raise GradientError(
                f"{where} has shape {found.shape}, not ({self.dimension},)", clause="MO-14"
            )
        if not np.isfinite(found).all():
            entry = int(np.argmin(np.isfinite(found)))
            raise GradientError(f"{where} has {found[entry]} in entry {entry}", clause="MO-14")
        return found


MOST_STEPS = 20_000
"""Steps of gradient descent after which an optimum is not looked for any longer."""
FAR = 1e60
"""Where descent has lost its way: beta is not that of the gradients."""
NEAR, NEAR_ENOUGH = 2.0**-44, 2.0**-24
"""The sum of gradients at an optimum, against the gradients themselves: what is aimed at, and what
is taken."""


def own_minimiser(own: OwnLoss, agents: Sequence[int]) -> FloatVector:
    """x* of these agents: as the loss says, or by accelerated descent with its mu and beta.

    Either is taken only if the gradients there add up to nothing, nearly.

    Implements: MO-9, MO-14.
    """
    losses = [AgentLoss(own, agent) for agent in agents]
    given: Any = _attribute(own, "minimiser")
    if given is None:
        if None in (_constant(own, "mu"), _constant(own, "beta")):
            raise UnknownError(
                "the optimum is not known: the loss gives neither a minimiser nor mu and beta",
                clause="MO-14",
            )
        point, balance = _descended(losses)
        if not balance <= NEAR_ENOUGH:
            raise LossError(
                f"no optimum of agents {list(agents)} is found: at the nearest point the gradients "
                f"add up to {balance:.3g} of their lengths; are mu, beta and gradients of one "
                "loss?",
                clause="MO-14",
            )
    else:
        called = f"{place_of(type(own))}: minimiser({list(agents)})"
        with refusing(LossError, f"{called} raises", clause="MO-14", typed=True):
            found = real_numbers(given(tuple(agents)))
        if found is None:
            raise LossError(f"{called} gives no array of real numbers", clause="MO-14")
        point = found
        dimension = losses[0].dimension
        if point.shape != (dimension,):
            raise LossError(f"{called} has shape {point.shape}, not ({dimension},)", clause="MO-14")
        if not np.isfinite(point).all():
            entry = int(np.argmin(np.isfinite(point)))
            raise LossError(f"{called} has {point[entry]} in entry {entry}", clause="MO-14")
        balance = _balance(losses, point)
        if not balance <= NEAR_ENOUGH:
            raise LossError(
                f"{called} is no minimiser: there the gradients of these agents add up to "
                f"{balance:.3g} of their lengths, not to zero",
                clause="MO-14",
            )
    return point


def _balance(losses: Sequence[AgentLoss], point: FloatVector) -> float:
    """|sum G_v| against the lengths of the gradients here and at zero."""
    here = np.array([loss.gradient(point) for loss in losses])
    start = np.array([loss.gradient(np.zeros_like(point)) for loss in losses])
    with np.errstate(all="ignore"):
        scale = float(np.linalg.norm(here, axis=1).sum() + np.linalg.norm(start, axis=1).sum())
        total = float(np.linalg.norm(here.sum(axis=0)))
    return total / scale if scale else 0.0


def _descended(losses: Sequence[AgentLoss]) -> tuple[FloatVector, float]:
    """The best point of accelerated gradient descent, and its balance."""
    mu, beta = losses[0].strong_convexity, losses[0].smoothness
    ratio = math.sqrt(mu / beta)
    momentum = (1 - ratio) / (1 + ratio)
    point = ahead = np.zeros(losses[0].dimension)
    starts = np.array([loss.gradient(point) for loss in losses])
    scale = float(np.linalg.norm(starts, axis=1).sum())
    best, least = point, math.inf
    for _step in range(MOST_STEPS):
        gradients = np.array([loss.gradient(ahead) for loss in losses])
        total = gradients.sum(axis=0)
        lengths = scale + float(np.linalg.norm(gradients, axis=1).sum())
        balance = float(np.linalg.norm(total)) / lengths if lengths else 0.0
        if balance < least:
            best, least = ahead, balance
        if balance <= NEAR or not np.abs(ahead).max() < FAR:
            break
        following = ahead - total / (len(losses) * beta)
        point, ahead = following, following + momentum * (following - point)
    return best, least
