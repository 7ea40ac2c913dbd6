"""Measuring: interleaved, repeated, reported as medians with their spread."""

import math
import statistics
import time
from collections.abc import Callable, Mapping, Sequence

import attrs
import numpy as np


@attrs.frozen
class Sample:
    """Repeated measurements of one quantity."""

    values: tuple[float, ...]

    @property
    def median(self) -> float:
        """The median."""
        return statistics.median(self.values)

    @property
    def spread(self) -> float:
        """Half the distance between the quartiles, as a fraction of the median."""
        if len(self.values) < 2:
            return 0.0
        low, _middle, high = statistics.quantiles(self.values, n=4, method="inclusive")
        return (high - low) / 2 / self.median

    def __str__(self) -> str:
        return f"{self.median:.4g} ± {100 * self.spread:.0f} %"


def interleaved(
    actions: Mapping[str, Callable[[], object]],
    repeats: int,
    clock: Callable[[], float] = time.process_time,
    burst: int = 1,
) -> dict[str, Sample]:
    """Seconds of every action: all of them in turn, `repeats` times, after one unmeasured turn.

    In each turn an action runs `burst` times in a row and its shortest time counts, so that it
    finds the caches as it left them. Processor time by default, so that other processes disturb
    little; wall-clock time for what runs on several processors.
    """
    for action in actions.values():
        action()
    seconds: dict[str, list[float]] = {name: [] for name in actions}
    for _repeat in range(repeats):
        for name, action in actions.items():
            seconds[name].append(min(_seconds(action, clock) for _run in range(burst)))
    return {name: Sample(tuple(values)) for name, values in seconds.items()}


def _seconds(action: Callable[[], object], clock: Callable[[], float]) -> float:
    begin = clock()
    action()
    return clock() - begin


def ratio(numerator: Sample, denominator: Sample) -> Sample:
    """The ratios of measurements made in the same turn."""
    pairs = zip(numerator.values, denominator.values, strict=True)
    return Sample(tuple(above / below for above, below in pairs))


def scaled(sample: Sample, factor: float) -> Sample:
    """Every measurement times a number."""
    return Sample(tuple(factor * value for value in sample.values))


def exponent(sizes: Sequence[float], values: Sequence[float]) -> tuple[float, float]:
    """The slope of log(value) over log(size) by least squares, and its standard error."""
    x, y = np.log(np.array(sizes, dtype=float)), np.log(np.array(values, dtype=float))
    x = x - x.mean()
    slope = float(x @ (y - y.mean()) / (x @ x))
    residuals = y - y.mean() - slope * x
    freedom = len(x) - 2
    error = math.sqrt(float(residuals @ residuals) / freedom / float(x @ x)) if freedom else 0.0
    return slope, error
