"""The figures of the experiments, as PNG and SVG; told apart without colour too."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from torch_backend.calibrate import Detection
from torch_backend.responses import NONE, accuracies
from torch_backend.results import CurveRow, Results, ResultsError
from torch_backend.tables import Cell, cells, detection_of, outline_of

STYLE: dict[Any, Any] = {
    "font.size": 10,
    "axes.grid": True,
    "grid.color": "0.88",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "svg.hashsalt": "valid-torch",
    "svg.fonttype": "none",
}
NAMES = {"valid": "VALID", "ubar": "UBAR", "bridge-m": "BRIDGE-M", "none": "no attack"}
MARKS = (
    ("#0072B2", "-", "o"),
    ("#D55E00", "--", "s"),
    ("#009E73", "-.", "^"),
    ("#CC79A7", ":", "D"),
    ("#000000", (0, (5, 1, 1, 1, 1, 1)), "v"),
    ("#E69F00", (0, (1, 1)), "P"),
)
"""Colour (chosen for the colour-blind), line and marker, one of each for every series."""

HATCHES = ("", "///", "...", "xxx", "|||")


def plot(results: Results, folder: Path) -> list[Path]:
    """Write every figure the experiment asks for, and say which files there are now.

    Implements: EX-15.
    """
    makers = {
        "rounds": rounds_figure,
        "sigma": sigma_figure,
        "detection": detection_figure,
        "utility": utility_figure,
    }
    written = []
    with mpl.rc_context(STYLE):
        for name in outline_of(results).figures:
            if name not in makers:
                raise ResultsError(f"there is no figure {name!r}", clause="EX-15")
            figure = makers[name](results)
            written += [*_save(figure, folder / name)]
    return written


def _save(figure: Figure, stem: Path) -> Iterator[Path]:
    stem.parent.mkdir(parents=True, exist_ok=True)
    kinds: dict[str, dict[str, Any]] = {
        ".png": {"dpi": 160, "metadata": {"Software": None}},
        ".svg": {"metadata": {"Date": None}},
    }
    for suffix, options in kinds.items():
        path = stem.with_suffix(suffix)
        figure.savefig(path, **options)
        yield path


def shown(label: str) -> str:
    """A rule or an attack as a reader knows it: "gaussian+sigma=0.1" is "gaussian, sigma=0.1"."""
    kind, *options = label.split("+")
    return ", ".join((NAMES.get(kind, kind.rpartition(":")[2]), *options))


def _style(index: int) -> dict[str, Any]:
    colour, line, marker = MARKS[index % len(MARKS)]
    return {"color": colour, "linestyle": line, "marker": marker, "markersize": 4.5}


def rounds_figure(results: Results) -> Figure:
    """Accuracy over rounds: one row per attack, own models on the left, their average right."""
    measured = [s for s in results.summaries if s["purpose"] == "measure"]
    attacks = list(dict.fromkeys(s["attack"]["label"] for s in measured))
    rules = list(dict.fromkeys(s["rule"]["label"] for s in measured))
    figure = Figure(figsize=(9.2, 0.9 + 2.9 * len(attacks)), layout="constrained")
    axes = figure.subplots(len(attacks), 2, sharex=True, sharey=True, squeeze=False)
    for line, attack in zip(axes, attacks, strict=True):
        for index, rule in enumerate(rules):
            curves = [
                results.rows[s["job"]]
                for s in measured
                if (s["rule"]["label"], s["attack"]["label"]) == (rule, attack)
            ]
            for panel, field in zip(line, ("accuracy", "averaged"), strict=True):
                _band(panel, curves, field, index, shown(rule))
        for panel, text in zip(
            line, ("agents' own models, mean", "average of the agents' models"), strict=True
        ):
            panel.set_title(text if len(attacks) == 1 else f"{shown(attack)}: {text}", fontsize=10)
        line[0].set_ylabel("test accuracy of honest agents")
        line[0].yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    for panel in axes[-1]:
        panel.set_xlabel("round of learning")
    handles, labels = axes[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
    figure.suptitle(_caption(results) + _spread(results), fontsize=10)
    return figure


def _band(
    panel: Axes, curves: Sequence[Sequence[CurveRow]], field: str, index: int, label: str
) -> None:
    """The mean over seeds, and the least to the greatest as a band, as far as all curves go.

    Where no run has finished yet, or one diverged before it was evaluated, there is nothing.
    """
    if not curves:
        return
    common = sorted(set.intersection(*({row.round for row in curve} for curve in curves)))
    table = np.array(
        [[getattr(row, field) for row in curve if row.round in set(common)] for curve in curves]
    )
    if not common:
        return
    style = _style(index)
    panel.plot(common, table.mean(axis=0), label=label, markevery=_every(len(common)), **style)
    panel.fill_between(
        common, table.min(axis=0), table.max(axis=0), color=style["color"], alpha=0.15, linewidth=0
    )


def _every(count: int) -> int:
    return max(1, count // 12)


def utility_figure(results: Results) -> Figure:
    """Mean accuracy at the end against the probability of an attack, a panel for each attack.

    Implements: EX-23.
    """
    found = accuracies(results)
    rules = list(dict.fromkeys(rule for rule, _attack in found))
    attacks = [a for a in dict.fromkeys(attack for _rule, attack in found) if a != NONE]
    across = min(2, max(1, len(attacks)))
    down = max(1, -(-len(attacks) // across))
    size = 0.8 + 4.4 * across, 0.9 + 2.9 * down
    figure = Figure(figsize=size, layout="constrained")
    panels = figure.subplots(down, across, sharex=True, sharey=True, squeeze=False).flatten()
    for panel, attack in zip(panels, attacks, strict=False):
        for index, rule in enumerate(rules):
            ends = [[*found.get((rule, word), {}).values()] for word in (NONE, attack)]
            if all(ends):
                style = _style(index)
                means = [np.mean(values) for values in ends]
                panel.plot([0, 1], means, label=shown(rule), **style)
        panel.set_title(shown(attack), fontsize=10)
        panel.set_xlabel("probability of this attack")
        panel.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    for panel in panels[len(attacks) :]:
        panel.set_visible(False)
    panels[0].set_ylabel("mean accuracy at the end")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False)
    figure.suptitle(_caption(results), fontsize=10)
    return figure


def sigma_figure(results: Results) -> Figure:
    """Final accuracy against the noise, and how often VALID alarms at it."""
    found = [cell for cell in cells(results) if cell.sigma is not None]
    sigmas = sorted({cell.sigma for cell in found if cell.sigma is not None})
    measured = detection_of(results)
    figure = Figure(figsize=(7.4, 6.2 if measured else 3.8), layout="constrained")
    ratios = [3, 2] if measured else [1]
    axes = figure.subplots(len(ratios), 1, sharex=True, squeeze=False, height_ratios=ratios)
    top = axes[0][0]
    for index, rule in enumerate(dict.fromkeys(cell.rule for cell in found)):
        _accuracy_line(top, [cell for cell in found if cell.rule == rule], sigmas, index)
    top.set_ylim(0, 1)
    top.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    top.set_ylabel("final test accuracy\n(mean of honest agents)")
    top.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False, title="accuracy of")
    if measured:
        _alarm_bars(axes[1][0], measured, sigmas)
    bottom = axes[-1][0]
    bottom.set_xticks(range(len(sigmas)), [f"{sigma:g}" for sigma in sigmas])
    bottom.set_xlabel("standard deviation σ of the adversary's noise per parameter")
    figure.suptitle(_caption(results) + _spread(results), fontsize=10)
    return figure


def _accuracy_line(panel: Axes, found: Sequence[Cell], sigmas: Sequence[float], index: int) -> None:
    at = {cell.sigma: cell for cell in found}
    style = _style(index)
    places = [place for place, sigma in enumerate(sigmas) if sigma in at]
    chosen = [at[sigmas[place]] for place in places]
    mean = np.array([cell.accuracy for cell in chosen])
    spread = np.array([[c.accuracy - c.lowest, c.highest - c.accuracy] for c in chosen]).T
    label = shown(chosen[0].rule)
    panel.errorbar(places, mean, yerr=np.nan_to_num(spread), capsize=3, label=label, **style)
    for place, cell in zip(places, chosen, strict=True):
        if cell.diverged:
            panel.plot(place, 0.02, marker="x", color=style["color"], markersize=8, clip_on=False)
            note = f"{cell.diverged} of {cell.runs} diverged"
            panel.annotate(note, (place, 0.05), ha="right", fontsize=8, color=style["color"])


def _alarm_bars(panel: Axes, measured: Detection, sigmas: Sequence[float]) -> None:
    """The share of runs in which one of the two global tests alarms, for each gamma."""
    width = 0.8 / len(measured.weightings)
    for index, gamma in enumerate(measured.weightings):
        at = {rate.sigma: rate for rate in measured.rates if rate.gamma == gamma}
        places = [p for p, s in enumerate(sigmas) if s in at]
        rates = [at[sigmas[place]] for place in places]
        grey = 0.9 - 0.45 * index / max(1, len(measured.weightings) - 1)
        bars = panel.bar(
            [place - 0.4 + (index + 0.5) * width for place in places],
            [rate.either / rate.runs for rate in rates],
            width * 0.92,
            label=f"γ = {gamma:g}",
            color=str(grey),
            edgecolor="black",
            linewidth=0.7,
            hatch=HATCHES[index % len(HATCHES)],
        )
        counts = [f"{rate.either}/{rate.runs}" for rate in rates]
        panel.bar_label(bars, counts, padding=1, fontsize=8)
    panel.set_ylim(0, 1.15)
    panel.set_yticks([0, 0.25, 0.5, 0.75, 1])
    panel.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    panel.set_ylabel("runs of VALID\nwith an alarm")
    panel.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False, title="checks with")


def detection_figure(results: Results) -> Figure:
    """Alarm rates of both global tests as a table of sigma by gamma."""
    measured = detection_of(results)
    if measured is None:
        raise ResultsError("nothing is calibrated yet: no figure of detection", clause="EX-10")
    gammas = list(measured.weightings)
    attacks = list(dict.fromkeys(rate.attack for rate in measured.rates))
    at = {(rate.attack, rate.gamma): rate for rate in measured.rates}
    figure = Figure(figsize=(9.2, 2.1 + 0.42 * len(attacks)), layout="constrained")
    axes = figure.subplots(1, 2, sharey=True)
    image = None
    for panel, test in zip(axes, ("optimality", "heterogeneity"), strict=True):
        counts = np.array([[getattr(at[a, g], test) for g in gammas] for a in attacks])
        runs = np.array([[at[a, g].ended for g in gammas] for a in attacks])
        shares = counts / np.maximum(runs, 1)
        image = panel.imshow(shares, cmap="Blues", vmin=0, vmax=1, aspect="auto")
        for row, column in np.ndindex(*shares.shape):
            text = f"{counts[row, column]}/{runs[row, column]}" if runs[row, column] else "-"
            colour = "white" if shares[row, column] > 0.55 else "black"
            panel.text(column, row, text, ha="center", va="center", color=colour, fontsize=9)
        panel.grid(visible=False)
        panel.tick_params(length=0)
        panel.set_xticks(np.arange(len(gammas) + 1) - 0.5, minor=True)
        panel.set_yticks(np.arange(len(attacks) + 1) - 0.5, minor=True)
        panel.grid(visible=True, which="minor", color="white", linewidth=2)
        panel.tick_params(which="minor", length=0)
        panel.spines[:].set_visible(False)
        panel.set_title(f"{test} test", fontsize=10)
        panel.set_xticks(range(len(gammas)), [f"{gamma:g}" for gamma in gammas])
        panel.set_xlabel("γ of the exponential weights")
    sigmas = {rate.attack: rate.sigma for rate in measured.rates}
    texts = [f"{sigmas[a]:g}" if sigmas[a] is not None else shown(a) for a in attacks]
    axes[0].set_yticks(range(len(attacks)), texts)
    axes[0].set_ylabel("noise σ of the adversary")
    if image is not None:
        bar = figure.colorbar(image, ax=list(axes), format=PercentFormatter(1.0, decimals=0))
        bar.set_label("runs with an alarm")
    setting = measured.setting
    figure.suptitle(
        f"{_caption(results)}\nruns with an alarm; all thresholds together at level "
        f"{setting.level:g}, from {setting.runs} runs without attack after {setting.pilots} pilots"
        f"; largest γ without false alarm: {measured.gamma_max}",
        fontsize=10,
    )
    return figure


def _caption(results: Results) -> str:
    outline = outline_of(results)
    setting = {"rotated": "non-i.i.d.", "iid": "i.i.d."}.get(outline.partition, outline.partition)
    data = outline.data if ":" in outline.data else outline.data.upper()
    return f"{data}, {setting}, {results.header['agents']} agents, {outline.rounds} rounds"


def _spread(results: Results) -> str:
    seeds = len(outline_of(results).seeds)
    return f"; mean of {seeds} seeds, least to greatest" if seeds > 1 else "; one seed"
