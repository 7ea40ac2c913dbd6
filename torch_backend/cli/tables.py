"""Tables of results, for people, for spreadsheets and for Markdown."""

import csv
import io
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import attrs
import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from torch_backend.calibrate import Detection
    from torch_backend.results import Results
    from torch_backend.tables import Cell, Judged

Lines = Sequence[Sequence[str]]

NAMES = {"valid": "VALID", "ubar": "UBAR", "bridge-m": "BRIDGE-M"}


def print_tables(results: "Results", console: Console, *, markdown: bool = False) -> None:
    """Final accuracies, and alarm counts and verdicts where there are any."""
    from torch_backend.tables import cells, detection_of, judged

    missing = len(results.header["jobs"]) - len(results.summaries)
    if missing:
        typer.echo(f"{missing} of {len(results.header['jobs'])} jobs are not finished")
    tables = {"final test accuracy of honest agents": accuracy_lines(cells(results))}
    if (measured := detection_of(results)) is not None:
        tables["runs with an alarm: optimality, heterogeneity"] = alarm_lines(measured)
    if verdicts := judged(results):
        tables["the validation phase"] = judged_lines(verdicts)
    for title, lines in tables.items():
        _print(title, lines, console, markdown=markdown)
    if measured is not None and measured.gamma_max is not None:
        typer.echo(f"gamma_max = {measured.gamma_max}: the largest without a false alarm")


def write_tables(results: "Results", folder: Path) -> Iterator[Path]:
    """The numbers of the tables as comma-separated values.

    Implements: EX-15.
    """
    from torch_backend.results import replace_file
    from torch_backend.tables import cells, detection_of

    texts = {"accuracy.csv": accuracy_csv(cells(results))}
    if (measured := detection_of(results)) is not None:
        texts["detection.csv"] = detection_csv(measured)
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        replace_file(folder / name, text)
        yield folder / name


def accuracy_lines(found: Sequence["Cell"]) -> Lines:
    """Mean, deviation, least and greatest over runs; the averaged model; runs and diverged."""
    heading = "rule", "attack", "mean", "deviation", "from", "to", "averaged", "runs"
    return [
        heading,
        *(
            (
                shown(cell.rule),
                shown(cell.attack),
                *map(_number, (cell.accuracy, cell.deviation, cell.lowest, cell.highest)),
                _number(cell.averaged),
                f"{cell.runs} ({cell.diverged} diverged)" if cell.diverged else str(cell.runs),
            )
            for cell in found
        ),
    ]


def alarm_lines(measured: "Detection") -> Lines:
    """One line per attack, one column per gamma: how many of the runs alarm in each test."""
    gammas = list(measured.weightings)
    attacks = list(dict.fromkeys(rate.attack for rate in measured.rates))
    at = {(rate.attack, rate.gamma): rate for rate in measured.rates}

    def cell(attack: str, gamma: float) -> str:
        rate = at[attack, gamma]
        lost = f" ({rate.diverged} diverged)" if rate.diverged else ""
        return f"{rate.optimality}, {rate.heterogeneity} of {rate.runs}{lost}"

    return [
        ("attack", *(f"gamma {gamma:g}" for gamma in gammas)),
        *((shown(attack), *(cell(attack, gamma) for gamma in gammas)) for attack in attacks),
    ]


def judged_lines(found: Sequence["Judged"]) -> Lines:
    """One line per attack: runs that end valid, and which checks alarm in how many runs."""
    return [
        ("attack", "runs", "valid", "runs with an alarm, by check"),
        *(
            (
                shown(one.attack),
                str(one.runs),
                str(one.valid),
                ", ".join(f"{reason} {count}" for reason, count in one.reasons.items()) or "none",
            )
            for one in found
        ),
    ]


def accuracy_csv(found: Sequence["Cell"]) -> str:
    """All numbers of all cells."""
    names = [field.name for field in attrs.fields(type(found[0]))] if found else []
    return _csv([names, *([str(v) for v in attrs.astuple(cell)] for cell in found)])


def detection_csv(measured: "Detection") -> str:
    """All counts, with the thresholds they were made with."""
    lines = [
        [
            rate.attack, _word(rate.sigma), str(rate.gamma), str(rate.runs), str(rate.diverged),
            str(rate.optimality), str(rate.heterogeneity), str(rate.either), str(rate.ratio),
            str(measured.weightings[rate.gamma].optimality),
            str(measured.weightings[rate.gamma].heterogeneity),
        ]
        for rate in measured.rates
    ]  # fmt: skip
    heading = [
        "attack", "sigma", "gamma", "runs", "diverged", "optimality", "heterogeneity", "either",
        "ratio", "optimality_threshold", "heterogeneity_threshold",
    ]  # fmt: skip
    return _csv([heading, *lines])


def _csv(lines: Lines) -> str:
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows(lines)
    return buffer.getvalue()


def _print(title: str, lines: Lines, console: Console, *, markdown: bool) -> None:
    heading, *rows = lines
    if markdown:
        typer.echo(f"{title}\n\n| {' | '.join(heading)} |\n|{'---|' * len(heading)}")
        for row in rows:
            typer.echo(f"| {' | '.join(row)} |")
        typer.echo("")
        return
    shown = Table(title=title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    for name in heading:
        shown.add_column(name, overflow="fold")
    for row in rows:
        shown.add_row(*row)
    console.print(shown)


def shown(label: str) -> str:
    """A rule or an attack as a reader knows it: "gaussian+sigma=0.1" is "gaussian sigma=0.1"."""
    kind, *options = label.split("+")
    return " ".join((NAMES.get(kind, kind), *options))


def _number(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.3f}"


def _word(value: float | None) -> str:
    return "" if value is None else str(value)
