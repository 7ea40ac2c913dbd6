"""Results in numbers: final accuracies by rule and attack, alarm counts by attack and gamma."""

import math
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import attrs

from torch_backend.calibrate import Detection, detection, sigma
from torch_backend.config.build import calibration_setting
from torch_backend.config.experiment import Experiment
from torch_backend.results import Results
from valid_ref.alarms import Alarm
from valid_ref.document import structure


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


def experiment_of(results: Results) -> Experiment:
    """The experiment whose results these are."""
    found: Experiment = structure(Experiment, results.header["experiment"])
    return found


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
    """Alarm counts, where something was measured and calibrated."""
    experiment = experiment_of(results)
    part = experiment.detection
    calibrations = [s for s in results.summaries if s["purpose"] == "calibrate"]
    if not part.gammas or not any(s["statistics"] for s in calibrations):
        return None
    return detection(calibration_setting(experiment), part.gammas, results.summaries)


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
