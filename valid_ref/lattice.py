"""Exact arithmetic: every message after the private gradient is a vector of integers.

A model is an int64 vector `x` that stands for `x / 2^f`; step sizes are integers over `2^k`.
"""

from collections.abc import Callable, Sequence

import attrs
import numpy as np
import numpy.typing as npt

from valid_ref.errors import ValidRefError
from valid_ref.schedule import Precision, Schedule

IntVector = npt.NDArray[np.int64]
FloatVector = npt.NDArray[np.float64]

GradientSource = Callable[[int, FloatVector], FloatVector]
"""An agent's private gradient: round t and real point y give the mini-batch average at y."""

WORD_LIMIT = 2**62
"""Sums below this stay clear of the ends of a 64-bit integer (AR-10)."""

MERSENNE_61 = 2**61 - 1
"""The default prime (HA-1)."""


class LatticeError(ValidRefError):
    """A number that has no place on the lattice, or parameters that would let one overflow."""


@attrs.frozen
class LatticeParameters:
    """The public numbers of the arithmetic; refused here when they break the range rule.

    `enforce_field_range=False` drops the comparison with the prime and keeps the one with the
    word: it is the printed text, which has no range rule (erratum P20).

    Implements: AR-1, AR-10.
    """

    dimension: int
    schedule: Schedule
    max_degree: int
    prime: int = MERSENNE_61
    model_limit: int = attrs.field(kw_only=True)
    gradient_limit: int = attrs.field(kw_only=True)
    enforce_field_range: bool = attrs.field(default=True, kw_only=True)

    def __attrs_post_init__(self) -> None:
        for name in ("dimension", "max_degree", "model_limit", "gradient_limit"):
            if getattr(self, name) < 1:
                raise LatticeError(f"{name} = {getattr(self, name)} is below 1", clause="AR-10")
        largest = self.largest_intermediate
        if largest >= self.budget:
            raise LatticeError(
                f"X_max = {self.model_limit} and G_max = {self.gradient_limit} allow an "
                f"intermediate of {largest}, which reaches min(2^62, p) = {self.budget}",
                clause="AR-10",
            )

    @property
    def precision(self) -> Precision:
        """The number of fraction bits and step bits."""
        return self.schedule.precision

    @property
    def budget(self) -> int:
        """What every intermediate must stay below: min(2^62, p)."""
        return min(WORD_LIMIT, self.prime) if self.enforce_field_range else WORD_LIMIT

    @property
    def largest_intermediate(self) -> int:
        """X_max (2^(k+1) + 2 max a_t maxdeg) + G_max."""
        return self.model_limit * _growth(self.schedule, self.max_degree) + self.gradient_limit


def _growth(schedule: Schedule, max_degree: int) -> int:
    return (2 << schedule.precision.step_bits) + 2 * max(schedule.mixing) * max_degree


def default_limits(
    dimension: int,
    schedule: Schedule,
    max_degree: int,
    prime: int = MERSENNE_61,
    *,
    enforce_field_range: bool = True,
) -> LatticeParameters:
    """Split the budget of the range rule in halves: one for Gamma, one for the models.

    Implements: AR-10.
    """
    budget = min(WORD_LIMIT, prime) if enforce_field_range else WORD_LIMIT
    gradient_limit = budget // 2
    model_limit = (budget - gradient_limit - 1) // _growth(schedule, max_degree)
    if model_limit < 1:
        raise LatticeError(
            f"step bits k = {schedule.precision.step_bits}, largest a_t = {max(schedule.mixing)} "
            f"and degree {max_degree} leave no room for a model below min(2^62, p) = {budget}",
            clause="AR-10",
        )
    return LatticeParameters(
        dimension,
        schedule,
        max_degree,
        prime,
        model_limit=model_limit,
        gradient_limit=gradient_limit,
        enforce_field_range=enforce_field_range,
    )


def to_lattice(values: npt.ArrayLike, precision: Precision, limit: int = WORD_LIMIT) -> IntVector:
    """Nearest lattice point of a real vector, ties to even; entries stay below `limit`.

    Implements: AR-3.
    """
    try:
        real = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise LatticeError(f"not a vector of real numbers: {error}", clause="AR-3") from None
    if real.ndim != 1:
        raise LatticeError(f"expected a vector, got shape {real.shape}", clause="AR-3")
    finite = np.isfinite(real)
    if not finite.all():
        index = int(np.argmin(finite))
        raise LatticeError(f"entry {index} is {real[index]}, not a finite number", clause="AR-3")
    with np.errstate(over="ignore"):  # an infinity is out of range like any other
        scaled = np.rint(np.ldexp(real, precision.fraction_bits))
    inside = np.abs(scaled) < min(limit, WORD_LIMIT)
    if not inside.all():
        index = int(np.argmin(inside))
        raise LatticeError(
            f"entry {index} is {real[index]}, beyond {limit} lattice units of "
            f"2^-{precision.fraction_bits}",
            clause="AR-3",
        )
    return scaled.astype(np.int64)


def from_lattice(x: IntVector, precision: Precision) -> FloatVector:
    """The real vector that a lattice vector stands for, rounded to float64.

    Implements: AR-3.
    """
    return np.ldexp(x.astype(np.float64), -precision.fraction_bits)


def mix(
    parameters: LatticeParameters, t: int, own: IntVector, neighbours: Sequence[IntVector]
) -> IntVector:
    """Y = 2^k x_v(t-1) + a_t sum_u (x_u(t-1) - x_v(t-1)), exactly.

    Implements: AR-4.
    """
    total = np.zeros_like(own)
    for model in neighbours:
        total += model - own
    return (own << parameters.precision.step_bits) + parameters.schedule.a(t) * total


def evaluation_point(parameters: LatticeParameters, Y: IntVector) -> FloatVector:
    """The real point Y / 2^(f+k) at which the private gradient is taken.

    Implements: AR-4.
    """
    bits = parameters.precision.fraction_bits + parameters.precision.step_bits
    return np.ldexp(Y.astype(np.float64), -bits)


def step(
    parameters: LatticeParameters,
    t: int,
    Y: IntVector,
    gradient: npt.ArrayLike,
    *,
    absorb: bool = True,
) -> tuple[IntVector, IntVector]:
    """x_v(t) and Gamma_v(t) = Y - 2^k x_v(t), which absorbs the rounding.

    `absorb=False` sends the plain A_t times the gradient instead: model and gradient are then
    rounded apart, as in any arithmetic that rounds (erratum P17).

    Implements: AR-5, AR-14.
    """
    A, bits = parameters.schedule.A(t), parameters.precision.step_bits
    lattice_gradient = to_lattice(gradient, parameters.precision, gradient_bound(parameters, t))
    if lattice_gradient.shape != Y.shape:
        raise LatticeError(
            f"gradient has shape {lattice_gradient.shape}, the model {Y.shape}", clause="AR-14"
        )
    x = shift_half_even(Y - A * lattice_gradient, bits)
    check_range(x, parameters.model_limit, "model")
    gamma = Y - (x << bits) if absorb else A * lattice_gradient
    check_range(gamma, parameters.gradient_limit, "scaled gradient")
    return x, gamma


def gradient_bound(parameters: LatticeParameters, t: int) -> int:
    """What a lattice gradient must stay below, before it is multiplied with A_t.

    Implements: AR-14.
    """
    bits = parameters.precision.step_bits
    return -(-(parameters.gradient_limit + (1 << bits)) // parameters.schedule.A(t))


def shift_half_even(numerator: IntVector, bits: int) -> IntVector:
    """numerator / 2^bits, rounded to the nearest integer, ties to even, without a float.

    Implements: AR-5.
    """
    quotient = numerator >> bits
    if bits == 0:
        return quotient
    remainder = numerator & ((1 << bits) - 1)
    remainder += quotient & 1  # a tie goes up only from an odd quotient
    rounded: IntVector = quotient + (remainder > 1 << (bits - 1))
    return rounded


def residual(
    parameters: LatticeParameters,
    t: int,
    previous: IntVector,
    neighbours: Sequence[IntVector],
    x: IntVector,
    gamma: IntVector,
) -> IntVector:
    """2^k x(t) - Y + Gamma(t): zero exactly when the linear relation holds.

    Implements: AR-6.
    """
    return (x << parameters.precision.step_bits) - mix(parameters, t, previous, neighbours) + gamma


def read_gradient(parameters: LatticeParameters, t: int, gamma: IntVector) -> IntVector:
    """The gradient a receiver reads off a message: floor(Gamma(t) / A_t), scale 2^f.

    Implements: AR-8.
    """
    gradient: IntVector = gamma // parameters.schedule.A(t)
    return gradient


def squared_norm(vector: IntVector) -> int:
    """The exact sum of squares, an integer of any size.

    Implements: AR-12.
    """
    return sum(entry * entry for entry in vector.tolist())


def within(vector: IntVector, limit: int) -> bool:
    """Whether every entry lies strictly between -limit and limit."""
    return vector.size == 0 or (int(vector.max()) < limit and int(vector.min()) > -limit)


def check_range(vector: IntVector, limit: int, what: str) -> None:
    """Refuse a vector with an entry on or beyond the limit, naming the entry.

    Implements: AR-10.
    """
    if not within(vector, limit):
        index = int(np.argmin((vector < limit) & (vector > -limit)))
        raise LatticeError(
            f"entry {index} of the {what} is {int(vector[index])}, not below {limit} in magnitude",
            clause="AR-10",
        )
