"""The curves of a run: distance to the optimum, consensus error, statistics against thresholds.

`draw` makes a picture of them with matplotlib (extra `report`).
"""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from valid_ref.errors import ValidRefError
from valid_ref.history import Array, LearningHistory, history_of, mean_of_known
from valid_ref.power import Found
from valid_ref.printable import printable
from valid_ref.protocols.global_validate import Estimates, agreed_estimates
from valid_ref.protocols.measures import Fast, is_estimate
from valid_ref.protocols.parameters import ValidParameters, Weighting
from valid_ref.protocols.valid import ESTIMATES
from valid_ref.report.view import SeriesView, StatisticView
from valid_ref.report.watched import Watched

SIGNIFICANT = 5
"""Digits of the numbers in a view."""
MOST_POINTS_OF_PLOT = 10_000
"""Points of a curve in a picture."""
FORMATS = ("png", "svg", "pdf")


def series_of(watched: Watched, most_points: int) -> SeriesView | None:
    """The course of learning, thinned to so many points; None where nothing is learned."""
    parameters = watched.parameters
    if parameters is None:
        return None
    history = history_of(watched.rounds, parameters, watched.honest, watched.problem)
    count, honest = len(history.rounds), list(history.honest)
    if count == 0:
        return None
    step = max(1, math.ceil(count / most_points))
    kept = sorted({*range(0, count, step), count - 1})
    means = courses = None
    if (everybody := history.squared_distances) is not None:
        distances = everybody[:, honest]
        means = numbers(mean_of_known(distances)[kept])
        courses = tuple(numbers(course) for course in distances[kept].T)
    return SeriesView(
        rounds=tuple(int(number) for number in history.rounds[kept]),
        goal=history.goal,
        distance=means,
        distances=courses,
        consensus=numbers(history.consensus_errors[kept]),
        statistics=tuple(_statistics(watched, parameters, history, kept)),
    )


def _statistics(
    watched: Watched, parameters: ValidParameters, history: LearningHistory, kept: list[int]
) -> list[StatisticView]:
    """Both statistics of every weighting: what they would be had the run stopped after t."""
    n = parameters.graph.agents
    gradients = np.nan_to_num(history.gradients)
    agreed = _agreed(watched, parameters)
    views = []
    for index, weighting in enumerate(parameters.weightings):
        weights = _shares(weighting)[: len(history.rounds)]
        total = np.maximum(np.cumsum(weights), np.finfo(float).tiny)
        scale = float(sum(weighting.weights) / weighting.total)
        unit = float(weighting.total) * 2.0**parameters.lattice.precision.fraction_bits
        sums = np.cumsum(weights[:, None] * gradients.sum(axis=1), axis=0) / total[:, None]
        norms = _norms(parameters, weights, gradients) / total[:, None]
        final = None if agreed is None else Fast(parameters).statistics(index, agreed)
        optimality = scale * np.linalg.norm(sums, axis=1) / n
        heterogeneity = scale**2 * np.sum(norms**2, axis=1) / n
        views += [
            StatisticView(
                name=f"optimality, weights {printable(weighting.name)}",
                title="length of the mean gradient estimate",
                course=numbers(optimality[kept]),
                final=None if final is None else exactly(math.sqrt(final[0]) / (n * unit)),
                threshold=weighting.optimality / (n * unit),
                clause="GV-5",
            ),
            StatisticView(
                name=f"heterogeneity, weights {printable(weighting.name)}",
                title="mean squared length of the gradient estimates",
                course=numbers(heterogeneity[kept]),
                final=None if final is None else exactly(final[1] / (n * unit**2)),
                threshold=weighting.heterogeneity / (n * unit**2),
                clause="GV-6",
            ),
        ]
    return views


def _norms(parameters: ValidParameters, weights: Array, gradients: Array) -> Array:
    """[rounds, agents]: lengths of weighted sums so far; as printed, weighted sums of lengths."""
    if parameters.reading.P27:
        sums = np.cumsum(weights[:, None, None] * gradients, axis=0)
        lengths: Array = np.sqrt((sums**2).sum(axis=2))
        return lengths
    return np.cumsum(weights[:, None] * np.linalg.norm(gradients, axis=2), axis=0)


def _shares(weighting: Weighting) -> Array:
    """The weights as numbers of at most 1; integers of any size are divided exactly first."""
    largest = max(weighting.weights)
    return np.array([weight / largest for weight in weighting.weights])


def _agreed(watched: Watched, parameters: ValidParameters) -> Estimates | None:
    """One estimate per agent, as the first honest agent holds them when the broadcast ends."""
    last = [spoken for spoken in watched.rounds if spoken.phase == ESTIMATES]
    if not last or not watched.honest:
        return None
    held = last[-1].said.get(watched.honest[0])
    if not isinstance(held, Mapping):
        return None
    real = {tag: value for tag, value in held.items() if is_estimate(parameters, value)}
    return agreed_estimates(parameters, real)


def numbers(values: Array) -> tuple[float | None, ...]:
    """Rounded numbers; None for what is not finite."""
    return tuple(number(float(value)) for value in values)


def number(value: float) -> float | None:
    """A number with few digits; None if it is not finite."""
    return float(f"{value:.{SIGNIFICANT}g}") if math.isfinite(value) else None


def exactly(value: float) -> float | None:
    """All digits, as a comparison needs them; None if it is not finite."""
    return value if math.isfinite(value) else None


class PlotError(ValidRefError):
    """A picture that cannot be drawn."""


def require_matplotlib(path: Path | None = None) -> None:
    """Refuse early, before anything is run, what cannot be drawn in the end."""
    if path is not None and path.suffix.lower().removeprefix(".") not in FORMATS:
        raise PlotError(f"{path}: the name of a plot must end in .{', .'.join(FORMATS)}")
    try:
        import matplotlib  # noqa: F401 - an extra: loaded only where it is used
    except ModuleNotFoundError:
        raise PlotError("plots need matplotlib: pip install matplotlib") from None


def draw(series: SeriesView, title: str, path: Path) -> None:
    """Distance, consensus error and each statistic against its threshold; one panel each."""
    require_matplotlib(path)
    _save(figure_of(series, title), path)


def figure_of(series: SeriesView, title: str) -> Any:
    """The same as a figure of matplotlib."""
    require_matplotlib()
    from matplotlib.figure import Figure

    panels = 1 + len(series.statistics)
    figure: Any = Figure(figsize=(4.6 * panels, 3.6), layout="constrained")
    axes = figure.subplots(1, panels, squeeze=False)[0]
    rounds = list(series.rounds)
    for course in series.distances or ():
        _curve(axes[0], rounds, course, color="0.75", linewidth=0.6)
    if series.distance is not None:
        _curve(axes[0], rounds, series.distance, linewidth=1.8, label="mean squared distance")
    _curve(
        axes[0], rounds, series.consensus, linewidth=1.8, linestyle="--", label="consensus error"
    )
    axes[0].set_title(f"to the {series.goal}" if series.distance else "consensus")
    for axis, statistic in zip(axes[1:], series.statistics, strict=True):
        _curve(axis, rounds, statistic.course, linewidth=1.8, label="statistic")
        axis.axhline(statistic.threshold, color="C3", linestyle=":", label="threshold")
        axis.set_title(statistic.name)
    for axis in axes:
        axis.set_xlabel("learning round")
        axis.set_yscale("log")
        axis.grid(visible=True, alpha=0.3)
        axis.legend(fontsize="small")
    figure.suptitle(title)
    return figure


def draw_harm(found: Sequence[Found], limits: Mapping[str, float], path: Path) -> None:
    """For every course of an attack the most harm that nobody sees; limits as lines across."""
    require_matplotlib(path)
    from matplotlib.figure import Figure

    figure: Any = Figure(figsize=(7, 3.8), layout="constrained")
    axis = figure.subplots()
    axis.bar([one.course.value for one in found], [max(one.harm, 1e-12) for one in found])
    for index, (name, value) in enumerate(limits.items()):
        axis.axhline(value, color=f"C{index + 1}", linestyle=":", label=name)
    axis.set_yscale("log")
    axis.set_ylabel("squared distance to A(H)")
    axis.tick_params(axis="x", rotation=30)
    axis.grid(visible=True, axis="y", alpha=0.3)
    if limits:
        axis.legend(fontsize="small")
    axis.set_title("the most harm that no check sees, by the course of the attack")
    _save(figure, path)


def _save(figure: Any, path: Path) -> None:
    metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
    kind = path.suffix.lower().removeprefix(".")
    try:
        figure.savefig(path, dpi=150, metadata=metadata.get(kind, {}))
    except OSError as error:
        raise PlotError(f"cannot write {path}: {error.strerror}") from None


def _curve(axis: Any, rounds: list[int], course: Sequence[float | None], **style: Any) -> None:
    values = [value if value is not None and value > 0 else math.nan for value in course]
    axis.plot(rounds, values, **style)
