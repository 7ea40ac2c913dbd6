"""Results as tables, for people and as CSV: accuracies, alarm counts and verdicts."""

import csv
import io
import math
import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from torch_backend.calibrate import Detection, Joint, StatisticsSetting, detection, sigma
from torch_backend.config.build import statistics_setting
from torch_backend.config.experiment import DetectionOptions
from torch_backend.results import RUN, Results, ResultsError, replace_file
from torch_backend.rules import ValidRule
from valid_ref.alarms import Alarm
from valid_ref.document import DocumentError, structure


@attrs.frozen
class Cell:
    """One rule against one attack: what its runs ended with.

    `accuracy` is the mean over runs of the mean over honest agents, with its deviation, least and
    greatest; runs that diverged count nowhere but in `diverged`, and leave NaN if there is no
    other.

    Implements: EX-15.
    """

    rule: str
    attack: str
    sigma: float | None
    runs: int
    diverged: int
    accuracy: float
    deviation: float
    lowest: float
    highest: float
    averaged: float
    distance: float


@attrs.frozen
class Outline:
    """What tables and figures need of an experiment, whatever rules and attacks it had.

    It is read without the classes of the parts, so that those of other people, or of another
    version, need not be there.

    Implements: EX-20.
    """

    rounds: int
    seeds: tuple[int, ...]
    data: str
    partition: str
    detection: DetectionOptions
    figures: tuple[str, ...]
    calibrated: bool

    @property
    def setting(self) -> StatisticsSetting:
        """What the statistics were measured with."""
        return statistics_setting(self.rounds, self.detection)


def outline_of(results: Results) -> Outline:
    """The outline of the experiment whose results these are."""
    try:
        document = results.header["experiment"]
        return Outline(
            rounds=structure(int, document["rounds"], "rounds"),
            seeds=structure(tuple[int, ...], document["seeds"], "seeds"),
            data=structure(str, document["data"]["kind"], "data.kind"),
            partition=structure(str, document["partition"]["kind"], "partition.kind"),
            detection=structure(DetectionOptions, document["detection"], "detection"),
            figures=structure(tuple[str, ...], document["figures"], "figures"),
            calibrated=document.get("response") is None
            and any(rule["kind"] == ValidRule.kind for rule in document["rules"]),
        )
    except (DocumentError, KeyError, TypeError) as error:
        raise ResultsError(f"the experiment in {RUN} is damaged: {error}") from None


def cells(results: Results) -> list[Cell]:
    """All rules against all attacks, in the order of the jobs.

    Implements: EX-15.
    """
    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for summary in results.summaries:
        if summary["purpose"] == "measure":
            key = summary["rule"]["label"], summary["attack"]["label"]
            groups.setdefault(key, []).append(summary)
    return [_cell(rule, attack, group) for (rule, attack), group in groups.items()]


def _cell(rule: str, attack: str, group: Sequence[Mapping[str, Any]]) -> Cell:
    final = [summary["final"] for summary in group if summary["outcome"] == "finished"]
    found = [float(row["accuracy"]) for row in final]
    return Cell(
        rule,
        attack,
        sigma(group[0]["attack"]),
        runs=len(group),
        diverged=len(group) - len(final),
        accuracy=_mean(found),
        deviation=statistics.stdev(found) if len(found) > 1 else math.nan,
        lowest=min(found, default=math.nan),
        highest=max(found, default=math.nan),
        averaged=_mean(row["averaged"] for row in final),
        distance=_mean(row["distance"] for row in final),
    )


def _mean(values: Iterable[float]) -> float:
    found = list(values)
    return math.fsum(found) / len(found) if found else math.nan


def detection_of(results: Results) -> Detection | None:
    """Alarm counts, where something was measured and all calibration runs ended.

    Implements: EX-15.
    """
    outline = outline_of(results)
    wanted = len(outline.detection.seeds) if outline.calibrated else 0
    ended = [
        summary
        for summary in results.summaries
        if summary["purpose"] != "measure" and summary["outcome"] == "finished"
    ]
    if not wanted or len(ended) < wanted:
        return None
    return detection(outline.setting, results.summaries)


@attrs.frozen
class Judged:
    """How the validation phase ended the runs under one attack.

    `valid` runs are those in which an honest agent ends valid; `reasons` counts for each check
    the runs in which an honest agent alarms by it, hearsay (NEIGHBOUR_ALARM) apart.

    Implements: EX-17.
    """

    attack: str
    runs: int
    valid: int
    reasons: Mapping[str, int]


def judged(results: Results) -> list[Judged]:
    """What the validation phase said, by attack.

    Implements: EX-17.
    """
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for summary in results.summaries:
        if summary["validation"] is not None:
            groups.setdefault(summary["attack"]["label"], []).append(summary["validation"])
    return [_judged(attack, group) for attack, group in groups.items()]


def _judged(attack: str, group: Sequence[Mapping[str, Any]]) -> Judged:
    reasons = Counter(
        reason
        for found in group
        for reason in {alarm["reason"] for alarm in found["alarms"]} - {Alarm.NEIGHBOUR_ALARM.name}
    )
    valid = sum(found["valid"] > 0 for found in group)
    return Judged(attack, len(group), valid, dict(sorted(reasons.items())))


Lines = Sequence[Sequence[str]]

NAMES = {"valid": "VALID", "ubar": "UBAR", "bridge-m": "BRIDGE-M"}


def print_tables(results: Results, console: Console, *, markdown: bool = False) -> None:
    """Final accuracies, and alarm counts and verdicts where there are any."""
    missing = len(results.header["jobs"]) - len(results.summaries)
    if missing:
        typer.echo(f"{missing} of {len(results.header['jobs'])} jobs are not finished")
    tables = {"final test accuracy of honest agents": accuracy_lines(cells(results))}
    if (measured := detection_of(results)) is not None:
        tables["runs with an alarm: optimality, heterogeneity"] = alarm_lines(measured)
    if verdicts := judged(results):
        tables["the validation phase"] = judged_lines(verdicts)
    for title, lines in tables.items():
        print_lines(title, lines, console, markdown=markdown)
    if measured is not None:
        typer.echo(measured.setting.describe())
    elif lost := [s["job"] for s in results.summaries if _lost_calibration(s)]:
        typer.echo(f"no thresholds: {lost[0]} diverged, so that honest runs alarm")
    if measured is not None and measured.gamma_max is not None:
        typer.echo(f"gamma_max = {measured.gamma_max}: the largest without a false alarm")


def _lost_calibration(summary: Mapping[str, Any]) -> bool:
    return bool(summary["purpose"] != "measure" and summary["outcome"] == "diverged")


def write_tables(results: Results, folder: Path) -> Iterator[Path]:
    """The numbers of the tables as comma-separated values.

    Implements: EX-15.
    """
    texts = {"accuracy.csv": accuracy_csv(cells(results))}
    if (measured := detection_of(results)) is not None:
        texts["detection.csv"] = detection_csv(measured)
        texts["alarms.csv"] = joint_csv(measured)
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        replace_file(folder / name, text)
        yield folder / name


def accuracy_lines(found: Sequence[Cell]) -> Lines:
    """Mean, deviation, least and greatest over runs; the averaged model; runs and diverged."""
    heading = "rule", "attack", "mean", "deviation", "from", "to", "averaged", "runs"
    return [
        heading,
        *(
            (
                shown(cell.rule),
                shown(cell.attack),
                *map(number, (cell.accuracy, cell.deviation, cell.lowest, cell.highest)),
                number(cell.averaged),
                f"{cell.runs} ({cell.diverged} diverged)" if cell.diverged else str(cell.runs),
            )
            for cell in found
        ),
    ]


def alarm_lines(measured: Detection) -> Lines:
    """One line per attack: runs that alarm in any test, with interval; by gamma and test."""
    gammas = list(measured.weightings)
    at = {(rate.attack, rate.gamma): rate for rate in measured.rates}

    def cell(attack: str, gamma: float) -> str:
        rate = at[attack, gamma]
        lost = f" ({rate.diverged} diverged)" if rate.diverged else ""
        return f"{rate.optimality}, {rate.heterogeneity} of {rate.ended}{lost}"

    def row(one: Joint) -> Sequence[str]:
        low, high = one.interval
        share = f"{one.alarms} of {one.runs} ({low:.3f} to {high:.3f})"
        return shown(one.attack), share, *(cell(one.attack, gamma) for gamma in gammas)

    heading = ("attack", "any test (95 %)", *(f"gamma {gamma:g}" for gamma in gammas))
    return [heading, *map(row, measured.joint)]


def judged_lines(found: Sequence[Judged]) -> Lines:
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


def accuracy_csv(found: Sequence[Cell]) -> str:
    """All numbers of all cells."""
    names = [field.name for field in attrs.fields(type(found[0]))] if found else []
    return csv_text([names, *([str(v) for v in attrs.astuple(cell)] for cell in found)])


def detection_csv(measured: Detection) -> str:
    """All counts, with the thresholds they were made with."""
    lines = [
        [
            rate.attack,
            _word(rate.sigma),
            str(rate.gamma),
            str(rate.runs),
            str(rate.diverged),
            str(rate.optimality),
            str(rate.heterogeneity),
            str(rate.either),
            str(rate.ratio),
            str(measured.weightings[rate.gamma].optimality),
            str(measured.weightings[rate.gamma].heterogeneity),
            str(measured.weightings[rate.gamma].optimality_low),
            str(measured.weightings[rate.gamma].heterogeneity_low),
        ]
        for rate in measured.rates
    ]
    heading = [
        "attack",
        "sigma",
        "gamma",
        "runs",
        "diverged",
        "optimality",
        "heterogeneity",
        "either",
        "ratio",
        "optimality_threshold",
        "heterogeneity_threshold",
        "optimality_low",
        "heterogeneity_low",
    ]
    return csv_text([heading, *lines])


def joint_csv(measured: Detection) -> str:
    """Runs that alarm in any test, with the ends of the interval, and the level promised."""
    lines = [
        [one.attack, str(one.runs), str(one.alarms), *map(str, one.interval), promised]
        for promised in [str(float(measured.setting.achieved))]
        for one in measured.joint
    ]
    return csv_text([["attack", "runs", "alarms", "low", "high", "level"], *lines])


def csv_text(lines: Lines) -> str:
    """Comma-separated values."""
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows(lines)
    return buffer.getvalue()


def print_lines(title: str, lines: Lines, console: Console, *, markdown: bool) -> None:
    """A table for people, or as Markdown."""
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
    return " ".join((NAMES.get(kind, kind.rpartition(":")[2]), *options))


def number(value: float) -> str:
    """Three places; a dash where there is no number."""
    return "-" if math.isnan(value) else f"{value:.3f}"


def _word(value: float | None) -> str:
    return "" if value is None else str(value)
