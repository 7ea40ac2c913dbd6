"""The constants of somebody's loss held against its own gradients.

No number of gradients proves a constant, but one pair of points can refute it.
"""

import itertools
import math
from collections.abc import Sequence

import numpy as np

from valid_ref.coins import Coins
from valid_ref.foreign import place_of
from valid_ref.lattice import FloatVector
from valid_ref.losses.loss import LossError
from valid_ref.losses.own import AgentLoss, if_known

ROUNDING = 2.0**-16
"""What gradients may be off by, against their lengths: many are computed in float32."""
DRAWS = 8
"""Mini-batches that an agent draws for a look at sigma."""
UNLIKELY = 1e9
"""Draws that are so much likelier beyond sigma refute it: by chance once in a billion looks."""


class RefutedError(LossError):
    """A constant of a loss that its own gradients contradict."""


def require_constants(
    losses: Sequence[AgentLoss], points: Sequence[Sequence[FloatVector]], coins: Coins
) -> None:
    """Refuse mu, beta, F0 or sigma of a loss where its gradients at these points contradict them.

    There is one list of points for every loss. With noise mini-batches are drawn at the first.

    Implements: MO-10, MO-14.
    """
    for loss, own in zip(losses, points, strict=True):
        _require_length_at_zero(loss)
        if _known(loss, "mu") is None and _known(loss, "beta") is None:
            continue
        found = [(point, loss.gradient(point)) for point in own]
        for one, other in itertools.combinations(found, 2):
            _require_slopes(loss, one, other)
    _require_deviation(losses, points, coins)


Tangent = tuple[FloatVector, FloatVector]
"""A point and the gradient there."""


def _require_slopes(loss: AgentLoss, one: Tangent, other: Tangent) -> None:
    """Between two points: mu |x-y|^2 <= (G(x) - G(y)).(x - y), and |G(x) - G(y)| <= beta |x-y|."""
    step, change = one[0] - other[0], one[1] - other[1]
    with np.errstate(all="ignore"):
        far = float(np.linalg.norm(step))
        rounding = ROUNDING * float(np.linalg.norm(one[1]) + np.linalg.norm(other[1]))
        length, along = float(np.linalg.norm(change)), float(change @ step)
    if far == 0 or not math.isfinite(far * far):
        return
    mu, beta = _known(loss, "mu"), _known(loss, "beta")
    if mu is not None and along < (1 - ROUNDING) * mu * far**2 - rounding * far:
        raise _refuted(
            loss,
            f"mu = {mu:g}: between two points at a distance of {far:.3g} its gradients rise by "
            f"{along / far**2:.3g} for each unit only, so that mu is at most {along / far**2:.3g}",
        )
    if beta is not None and length > (1 + ROUNDING) * beta * far + rounding:
        raise _refuted(
            loss,
            f"beta = {beta:g}: between two points at a distance of {far:.3g} its gradients differ "
            f"by {length:.3g}, so that beta is at least {length / far:.3g}",
        )


def _require_length_at_zero(loss: AgentLoss) -> None:
    """A loss that is not negative has |G(0)|^2 <= 2 beta F0."""
    beta, F0 = _known(loss, "beta"), _known(loss, "F0")
    if beta is None or F0 is None:
        return
    length = float(np.linalg.norm(loss.gradient(np.zeros(loss.dimension))))
    if length * (1 - ROUNDING) > math.sqrt(2 * beta * F0):
        raise _refuted(
            loss,
            f"F0 = {F0:g}: its gradient at zero has the length {length:.3g}, so that with beta = "
            f"{beta:g} F0 is at least {length**2 / (2 * beta):.3g}",
        )


def _require_deviation(
    losses: Sequence[AgentLoss], points: Sequence[Sequence[FloatVector]], coins: Coins
) -> None:
    """The squared deviations of mini-batches have a mean of at most sigma^2.

    While that is so, the product of 1 + (z - 1)/2 over the draws, z the squared deviation over
    sigma^2, has a mean of at most 1, and passes a bound B with a chance of at most 1/B.
    """
    evidence, squares = 0.0, list[float]()
    for loss, own in zip(losses, points, strict=True):
        sigma = _known(loss, "sigma") if loss.noisy else None
        if sigma is None:
            continue
        point = own[0]
        mean = loss.gradient(point)
        slack = ROUNDING * float(np.linalg.norm(mean))
        for draw in range(DRAWS):
            generator = coins.generator("deviation", loss.agent, draw)
            drawn = loss.in_round(0, point, generator)
            length = max(0.0, float(np.linalg.norm(drawn - mean)) - slack)
            squares.append(length**2)
            if length > 0:
                evidence += math.log((1 + (length / sigma) ** 2) / 2) if sigma else math.inf
            else:
                evidence += math.log(0.5)
        if evidence > math.log(UNLIKELY):
            raise _refuted(
                loss,
                f"sigma = {sigma:g}: {len(squares)} gradients of sample have a mean squared "
                f"distance of {np.mean(squares):.3g} from gradient; either sigma is too small, or "
                "gradient is not the mean of sample",
            )


def _known(loss: AgentLoss, constant: str) -> float | None:
    """A constant, if the loss gives it."""
    values = {
        "mu": lambda: loss.strong_convexity,
        "beta": lambda: loss.smoothness,
        "F0": lambda: loss.loss_at_zero,
        "sigma": lambda: loss.gradient_deviation(0.0),
    }
    return if_known(values[constant])[0]


def _refuted(loss: AgentLoss, said: str) -> RefutedError:
    return RefutedError(
        f"{place_of(type(loss.own))}: agent {loss.agent} refutes {said}", clause="MO-10"
    )
