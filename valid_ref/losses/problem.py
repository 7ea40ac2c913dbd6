"""The learning problem of a whole network: one loss per agent, and their common constants."""

from collections.abc import Iterable, Mapping, Sequence

import attrs
import numpy as np

from valid_ref.coins import Coins
from valid_ref.lattice import FloatVector, GradientSource
from valid_ref.losses.loss import (
    FloatMatrix,
    LogisticRegression,
    Loss,
    LossError,
    Noise,
    Quadratic,
    RidgeLeastSquares,
    check_integer,
    multiply,
)
from valid_ref.losses.own import AgentLoss, own_minimiser
from valid_ref.losses.refuted import require_constants

MINI_BATCHES = "mini-batches"


def _as_tuple(losses: Iterable[Loss]) -> tuple[Loss, ...]:
    return tuple(losses)


def _as_coins(coins: Coins | int | None) -> Coins | None:
    """Coins, also from a seed where a simulation has nothing else."""
    if coins is None or isinstance(coins, Coins):
        return coins
    check_integer(coins, 0, "seed")
    return Coins.of_seed(coins)


@attrs.frozen(eq=False)
class Problem:
    """The losses of agents 0..n-1, mini-batch size K and the coins of all mini-batches.

    Without coins it is what everybody may know: the distributions P_V, and no sample.

    Implements: MO-9, MO-10, AD-3.
    """

    losses: tuple[Loss, ...] = attrs.field(converter=_as_tuple)
    batch: int = 1
    coins: Coins | None = attrs.field(default=None, converter=_as_coins)

    def __attrs_post_init__(self) -> None:
        check_integer(self.batch, 1, "mini-batch size K")
        if len({loss.dimension for loss in self.losses}) != 1:
            dimensions = [loss.dimension for loss in self.losses]
            raise LossError(f"the losses have dimensions {dimensions}", clause="MO-9")
        if self.batch != 1 and any(isinstance(loss, AgentLoss) for loss in self.losses):
            raise LossError(
                f"mini-batch size K = {self.batch}: a loss of your own draws its mini-batches "
                "itself, so leave batch at 1",
                clause="MO-14",
            )

    @property
    def dimension(self) -> int:
        """d."""
        return self.losses[0].dimension

    @property
    def strong_convexity(self) -> float:
        """mu, valid for every agent."""
        return min(loss.strong_convexity for loss in self.losses)

    @property
    def smoothness(self) -> float:
        """beta, valid for every agent."""
        return max(loss.smoothness for loss in self.losses)

    @property
    def loss_at_zero(self) -> float:
        """F0, valid for every agent."""
        return max(loss.loss_at_zero for loss in self.losses)

    @property
    def noiseless(self) -> bool:
        """Whether gradients surely have no noise; of data only equal bits are sure."""
        return all(
            loss.noise is Noise.NONE
            if isinstance(loss, Quadratic)
            else not loss.noisy
            if isinstance(loss, AgentLoss)
            else isinstance(loss, RidgeLeastSquares | LogisticRegression)
            and bool((loss.features == loss.features[0]).all())
            and bool((loss.targets == loss.targets[0]).all())
            for loss in self.losses
        )

    def gradient_deviation(self, radius: float) -> float:
        """sigma_g, valid for every agent and |x| <= radius."""
        return max(loss.gradient_deviation(radius) for loss in self.losses)

    def public(self) -> "Problem":
        """The same losses without the coins: nothing that leads to a mini-batch.

        Implements: AD-3.
        """
        return attrs.evolve(self, coins=None)

    def rehearsal(self, number: int) -> "Problem":
        """The same losses with other mini-batches, independent of these and of other rehearsals.

        Implements: GU-12.
        """
        return attrs.evolve(self, coins=self._known_coins().child("rehearsal", number))

    def own_coins(self, agent: int) -> Coins:
        """The coins of one agent's mini-batches, which say nothing about those of another.

        Implements: AD-3.
        """
        self._select([agent])
        return self._known_coins().child(MINI_BATCHES, agent)

    def require_repeatable(self, point: FloatVector) -> None:
        """Refuse a loss of somebody's own that gives two gradients for the same arguments.

        Implements: MO-14.
        """
        for agent, loss in enumerate(self.losses):
            if isinstance(loss, AgentLoss):
                loss.require_repeatable(point, self.own_coins(agent))

    def require_constants(self, points: Mapping[int, Sequence[FloatVector]], looks: str) -> None:
        """Refuse constants of somebody's own loss that its gradients at an agent's points refute.

        `looks` is a name for the mini-batches that are drawn for it: one for every occasion.

        Implements: MO-10, MO-14.
        """
        own = {agent: loss for agent, loss in enumerate(self.losses) if agent in points}
        losses = [loss for loss in own.values() if isinstance(loss, AgentLoss)]
        if losses:
            seen = [points[loss.agent] for loss in losses]
            require_constants(losses, seen, self._known_coins().child("constants").child(looks))

    def gradient_source(self, agent: int) -> GradientSource:
        """The agent's private gradients: a pure function of coins, agent, round and point."""
        (loss,) = self._select([agent])
        return gradient_source(loss, self.batch, self.own_coins(agent))

    def _known_coins(self) -> Coins:
        if self.coins is None:
            raise LossError("a problem without coins has no mini-batches", clause="AD-3")
        return self.coins

    def minimiser(self, agents: Sequence[int] | None = None) -> FloatVector:
        """x*(P_V) of eq:xstar by Newton's method, to the last bits (one step for quadratics).

        Of somebody's own loss what `own_minimiser` finds.
        """
        chosen = range(len(self.losses)) if agents is None else agents
        losses = self._select(chosen)
        if isinstance(losses[0], AgentLoss):
            return own_minimiser(losses[0].own, chosen)
        point = np.zeros(self.dimension)
        gradient = _total_gradient(losses, point)
        for _iteration in range(1000):
            hessian = np.sum([loss.hessian_at(point) for loss in losses], axis=0)
            direction = _newton_direction(hessian, gradient)
            closer = _damped_step(losses, point, gradient, direction)
            if closer is None or np.linalg.norm(direction) <= 2**-53 * np.linalg.norm(point):
                return point
            point, gradient = closer
        raise LossError("Newton's method does not come to rest", clause="MO-9")

    def _select(self, agents: Sequence[int]) -> list[Loss]:
        unknown = [agent for agent in agents if agent not in range(len(self.losses))]
        if unknown or len(agents) == 0:
            raise LossError(
                f"agents {list(agents)} of a problem of {len(self.losses)} agents", clause="MO-9"
            )
        return [self.losses[agent] for agent in agents]


def gradient_source(loss: Loss, batch: int, coins: Coins) -> GradientSource:
    """Gradients of a loss over mini-batches: a pure function of coins, round and point.

    It holds one agent's own coins and nothing of anybody else.

    Implements: MO-9, AD-3.
    """

    def source(t: int, point: FloatVector) -> FloatVector:
        if isinstance(loss, AgentLoss):
            return loss.in_round(t, point, coins.generator("round", t))
        return loss.sample(point, batch, coins.generator("round", t))

    return source


def _total_gradient(losses: Sequence[Loss], point: FloatVector) -> FloatVector:
    total: FloatVector = np.sum([loss.gradient(point) for loss in losses], axis=0)
    return total


def _newton_direction(hessian: FloatMatrix, gradient: FloatVector) -> FloatVector:
    try:
        direction: FloatVector = np.linalg.solve(hessian, gradient).astype(np.float64, copy=False)
    except np.linalg.LinAlgError:
        raise LossError("the Hessian is singular in float64: mu is lost", clause="MO-9") from None
    return direction


def _damped_step(
    losses: Sequence[Loss], point: FloatVector, gradient: FloatVector, direction: FloatVector
) -> tuple[FloatVector, FloatVector] | None:
    """The longest of 1, 1/2, 1/4, ... steps that shortens the gradient; None when none does."""
    length = 1.0
    while length > 2**-30:
        there = point - length * direction
        gradient_there = _total_gradient(losses, there)
        if np.linalg.norm(gradient_there) < np.linalg.norm(gradient):
            return there, gradient_there
        length /= 2
    return None


def random_quadratics(  # noqa: PLR0913 - a scenario names each of them
    agents: int,
    dimension: int,
    seed: int,
    *,
    condition: float = 4.0,
    scale: float = 1.0,
    offset: float = 0.0,
    noise: Noise = Noise.NONE,
    spread: float = 0.0,
    batch: int = 1,
) -> Problem:
    """One random quadratic per agent: eigenvalues in [1, condition], centres normal times scale.

    `offset` is added to every entry of every centre.
    """
    for value, least, what in (
        (agents, 1, "agents"),
        (dimension, 1, "dimension"),
        (seed, 0, "seed"),
    ):
        check_integer(value, least, what)
    if not 1 <= condition < np.inf:
        raise LossError(f"condition {condition} is not a number from 1 on", clause="MO-10")
    losses: list[Loss] = []
    for agent in range(agents):
        generator = np.random.default_rng([seed, agent])
        eigenvalues = generator.uniform(1.0, condition, size=dimension)
        hessian = _randomly_reflected(np.diag(eigenvalues), generator)
        centre = offset + scale * generator.standard_normal(dimension)
        losses.append(Quadratic(hessian, centre, noise, spread))
    return Problem(tuple(losses), batch, seed)


def _randomly_reflected(matrix: FloatMatrix, generator: np.random.Generator) -> FloatMatrix:
    """The matrix after up to ten random reflections R M R: dense, and the same on any threads."""
    for _reflection in range(min(10, len(matrix))):
        normal = generator.standard_normal(len(matrix))
        normal = normal / np.sqrt((normal**2).sum())
        image = multiply(matrix, normal)
        image = 2 * image - 2 * (normal * image).sum() * normal
        matrix = matrix - (np.outer(normal, image) + np.outer(image, normal))
    return matrix
