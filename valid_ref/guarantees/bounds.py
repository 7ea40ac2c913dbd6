"""Norm bounds B_t, C_t that no honest message breaks: exact integers, in lattice units."""

import math
from fractions import Fraction

import attrs

from valid_ref.errors import ValidRefError
from valid_ref.lattice import LatticeParameters
from valid_ref.losses.loss import Constants
from valid_ref.protocols.parameters import Bounds
from valid_ref.schedule import Precision, Schedule

SOURCE_ERROR = Fraction(1, 2)
"""tau: how far, in units an entry, a gradient source may be from the exact gradient."""


class BoundsError(ValidRefError):
    """Constants or steps from which no norm bounds follow; they must be configured."""


@attrs.frozen
class GivenConstants:
    """Constants given as numbers, where there is no Problem to ask."""

    dimension: int
    strong_convexity: float
    smoothness: float
    loss_at_zero: float


def root(value: Fraction | int) -> int:
    """The least integer m >= 0 with m^2 >= value."""
    least = math.ceil(value)
    return 0 if least <= 0 else math.isqrt(least - 1) + 1


def contraction(alpha: Fraction, mu: Fraction, beta: Fraction) -> Fraction:
    """q(alpha) = max(|1 - alpha mu|, |1 - alpha beta|).

    Implements: AN-1.
    """
    return max(abs(1 - alpha * mu), abs(1 - alpha * beta))


def derive_bounds(
    constants: Constants,
    schedule: Schedule,
    max_degree: int,
    *,
    start_squared: int = 0,
    source_error: Fraction = SOURCE_ERROR,
) -> Bounds:
    """B_t and C_t for t = 1..T by the recursion of bounded iterates, lattice slack included.

    `start_squared` is |x_0|^2 in lattice units (`squared_norm` of the start model).

    Implements: GU-8, AN-5.
    """
    _refuse_without_bounds(constants, schedule, max_degree)
    d, bits = constants.dimension, schedule.precision.fraction_bits
    mu, beta = Fraction(constants.strong_convexity), Fraction(constants.smoothness)
    loss = Fraction(constants.loss_at_zero) * 4**bits
    gradient_at_zero = root(2 * beta * loss)
    bound = root(start_squared)
    models, gradients = [], []
    for t in range(1, schedule.rounds + 1):
        alpha = schedule.alpha(t)
        read_off = root(d * (1 / (2 * alpha) + Fraction(3, 2) + source_error) ** 2)
        gradients.append(gradient_at_zero + math.ceil(beta * bound) + read_off)
        step = math.ceil(contraction(alpha, mu, beta) * bound + alpha * gradient_at_zero)
        if alpha * beta <= 1:
            step = min(step, root((1 - alpha * mu) * bound**2 + 2 * alpha * loss))
        bound = step + root(d * (Fraction(1, 2) + alpha * (Fraction(1, 2) + source_error)) ** 2)
        models.append(bound)
    return Bounds(tuple(B * B for B in models), tuple(C * C for C in gradients))


def _refuse_without_bounds(constants: Constants, schedule: Schedule, max_degree: int) -> None:
    if not math.isfinite(constants.loss_at_zero):
        raise BoundsError(
            f"F0 = {constants.loss_at_zero}: the data is unbounded, so no norm bounds follow; "
            "they must be configured",
            clause="GU-8",
        )
    mu, beta = constants.strong_convexity, constants.smoothness
    if not 0 < mu <= beta < math.inf or constants.loss_at_zero < 0:
        raise BoundsError(
            f"mu = {mu}, beta = {beta}, F0 = {constants.loss_at_zero}: bounds need "
            "0 < mu <= beta and F0 >= 0",
            clause="GU-8",
        )
    for t, a in enumerate(schedule.mixing, start=1):
        if a * max_degree > 1 << schedule.precision.step_bits:
            raise BoundsError(
                f"eta_{t} = {float(schedule.eta(t)):g} times the largest degree {max_degree} is "
                "above 1, so mixing is no convex combination; bounds must be configured",
                clause="GU-8",
            )


def configured_bounds(model: float, gradient: float, rounds: int, precision: Precision) -> Bounds:
    """The same real bounds in every round, rounded up to lattice units.

    Implements: GU-8.
    """
    for name, value in (("model", model), ("gradient", gradient)):
        if not (math.isfinite(value) and value > 0):
            raise BoundsError(f"the {name} bound {value} is not a positive number", clause="LV-2")
    squares = [
        math.ceil(Fraction(value) * 2**precision.fraction_bits) ** 2 for value in (model, gradient)
    ]
    return Bounds((squares[0],) * rounds, (squares[1],) * rounds)


def range_conflicts(
    bounds: Bounds, parameters: LatticeParameters, start_squared: int = 0
) -> tuple[str, ...]:
    """Where the bounds allow what the range rule does not; empty if nowhere.

    With no conflict an honest run under the assumptions never leaves the range.

    Implements: GU-8.
    """
    found = []
    if root(start_squared) >= parameters.model_limit:
        found.append(f"|x_0| reaches X_max = {parameters.model_limit}")
    for t, squared in enumerate(bounds.model_squared, start=1):
        if (B := root(squared)) >= parameters.model_limit:
            found.append(f"B_{t} = {B} reaches X_max = {parameters.model_limit}")
    for t, squared in enumerate(bounds.gradient_squared, start=1):
        if (scaled := parameters.schedule.A(t) * root(squared)) >= parameters.gradient_limit:
            found.append(f"A_{t} C_{t} = {scaled} reaches G_max = {parameters.gradient_limit}")
    return tuple(found)
