"""Precision and step sizes: rationals over 2^k, rounded once and public ever after."""

import math
from collections.abc import Callable
from fractions import Fraction

import attrs

from valid_ref.errors import ValidRefError

StepSize = Callable[[int], Fraction | float | int]
"""A step size as a function of the round t = 1, 2, ..., T."""

MOST_ROUNDS = 10**6
"""The most learning rounds that a scenario or an experiment can ask for."""

_BEYOND = 1 << 62
"""No step reaches this, so that it stays a 64-bit integer."""


class ScheduleError(ValidRefError):
    """A precision or a step size that the arithmetic cannot use."""


@attrs.frozen
class Precision:
    """f fraction bits for models, k bits for step sizes.

    Implements: AR-1.
    """

    fraction_bits: int = 28
    step_bits: int = 20

    def __attrs_post_init__(self) -> None:
        for name, bits in (("f", self.fraction_bits), ("k", self.step_bits)):
            if not 0 <= bits <= 60:
                raise ScheduleError(f"{name} = {bits} bits, outside 0..60", clause="AR-1")


@attrs.frozen
class Schedule:
    """The integers a_t (mixing, eta_t = a_t / 2^k) and A_t (gradient, alpha_t = A_t / 2^k).

    Implements: AR-2.
    """

    precision: Precision
    mixing: tuple[int, ...]
    gradient: tuple[int, ...]

    def __attrs_post_init__(self) -> None:
        if len(self.mixing) != len(self.gradient) or not self.mixing:
            raise ScheduleError(
                f"{len(self.mixing)} mixing and {len(self.gradient)} gradient steps: both must "
                "have one step for each of T >= 1 rounds",
                clause="AR-2",
            )
        for name, steps in (("a", self.mixing), ("A", self.gradient)):
            for t, step in enumerate(steps, start=1):
                if step < 1:
                    raise ScheduleError(f"{name}_{t} = {step} is below 1", clause="AR-2")
                if step >= _BEYOND:
                    raise ScheduleError(
                        f"{name}_{t} has {step.bit_length()} bits; a step is below 2^62",
                        clause="AR-2",
                    )

    @property
    def rounds(self) -> int:
        """T, the number of learning rounds."""
        return len(self.mixing)

    def a(self, t: int) -> int:
        """a_t, the mixing step of round t = 1..T."""
        return self.mixing[t - 1]

    def A(self, t: int) -> int:  # noqa: N802 - the letter of the specification
        """A_t, the gradient step of round t = 1..T."""
        return self.gradient[t - 1]

    def eta(self, t: int) -> Fraction:
        """The mixing step as the rational it is."""
        return Fraction(self.a(t), 2**self.precision.step_bits)

    def alpha(self, t: int) -> Fraction:
        """The gradient step as the rational it is."""
        return Fraction(self.A(t), 2**self.precision.step_bits)


def make_schedule(
    rounds: int, alpha: StepSize, eta: StepSize, precision: Precision | None = None
) -> Schedule:
    """Round alpha(t) and eta(t) to multiples of 2^-k, ties to even; refuse one that becomes 0.

    Implements: AR-2.
    """
    precision = Precision() if precision is None else precision
    if rounds < 1:
        raise ScheduleError(f"T = {rounds} rounds, below 1", clause="LM-1")
    return Schedule(
        precision,
        mixing=tuple(_step("eta", t, eta(t), precision) for t in range(1, rounds + 1)),
        gradient=tuple(_step("alpha", t, alpha(t), precision) for t in range(1, rounds + 1)),
    )


def _step(name: str, t: int, value: Fraction | float | int, precision: Precision) -> int:
    if isinstance(value, float) and not math.isfinite(value):
        raise ScheduleError(f"{name}({t}) = {value} is not a finite number", clause="AR-2")
    rounded = round(Fraction(value) * (1 << precision.step_bits))
    if rounded < 1:
        raise ScheduleError(
            f"{name}({t}) = {float(value):g} rounds to {rounded} multiples of "
            f"2^-{precision.step_bits}; it must be at least 1",
            clause="AR-2",
        )
    return rounded


def constant(value: Fraction | float) -> StepSize:
    """The same step in every round.

    Implements: LM-9.
    """
    return lambda _t: value


def harmonic(numerator: Fraction | float, offset: Fraction | float) -> StepSize:
    """numerator / (t + offset): the shifted gradient step, the paper's with offset 1.

    Implements: LM-9.
    """
    return lambda t: Fraction(numerator) / (t + Fraction(offset))


def inverse_root(numerator: float, offset: float) -> StepSize:
    """numerator / sqrt(t + offset): the diminishing mixing step.

    Implements: LM-9.
    """
    return lambda t: numerator / math.sqrt(t + offset)


def experiment(initial: int = 5) -> StepSize:
    """initial / (initial + t), the learning rate of the experiments.

    Implements: LM-9, EX-6.
    """
    return harmonic(initial, initial)
