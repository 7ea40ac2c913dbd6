"""The curves of a run as a picture, by matplotlib (extra `report`)."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from valid_ref.errors import ValidRefError
from valid_ref.report.view import SeriesView

FORMATS = ("png", "svg", "pdf")


class PlotError(ValidRefError):
    """A picture that cannot be drawn."""


def require_matplotlib(path: Path) -> None:
    """Refuse early, before anything is run, what cannot be drawn in the end."""
    if path.suffix.lower().removeprefix(".") not in FORMATS:
        raise PlotError(f"{path}: the name of a plot must end in .{', .'.join(FORMATS)}")
    try:
        import matplotlib  # noqa: F401 - an extra: loaded only where it is used
    except ModuleNotFoundError:
        raise PlotError("plots need matplotlib: pip install 'valid-ref[report]'") from None


def draw(series: SeriesView, title: str, path: Path) -> None:
    """Distance, consensus error and each statistic against its threshold; one panel each."""
    require_matplotlib(path)
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
    metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
    kind = path.suffix.lower().removeprefix(".")
    try:
        figure.savefig(path, dpi=150, metadata=metadata.get(kind, {}))
    except OSError as error:
        raise PlotError(f"cannot write {path}: {error.strerror}") from None


def _curve(axis: Any, rounds: list[int], course: Sequence[float | None], **style: Any) -> None:
    values = [value if value is not None and value > 0 else math.nan for value in course]
    axis.plot(rounds, values, **style)
