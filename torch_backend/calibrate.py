"""Detection by GlobalValidate: thresholds from attack-free runs, and who alarms under them.

The statistics are the exact integers |sum_u ghat_u|^2 and sum_u lhat_u^2 of a run, one pair for
each gamma, as the engine keeps them during the learning phase.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from torch_backend.errors import ConfigError
from valid_ref.guarantees.thresholds import calibrated_weighting, thresholds_from_runs
from valid_ref.protocols.parameters import Weighting, exponential_weights


@attrs.frozen
class Statistic:
    """What GlobalValidate tests in one check; `total` is W.

    Implements: EX-10, GV-5, GV-6.
    """

    check: str
    total: int
    optimality: int
    heterogeneity: int

    def real(self, agents: int, fraction_bits: int) -> tuple[float, float]:
        """|sum ghat| / (n W 2^f) and sum lhat^2 / (n W^2 4^f)."""
        scale = float(self.total) * 2.0**fraction_bits
        return (
            math.sqrt(self.optimality) / (agents * scale),
            float(self.heterogeneity) / (agents * scale**2),
        )


@attrs.frozen
class StatisticsSetting:
    """What the statistics of an experiment are measured with."""

    rounds: int
    agents: int
    fraction_bits: int
    bits: int
    factor: float


def weighting_name(gamma: float) -> str:
    """The name of the check with this gamma."""
    return f"gamma={gamma}"


def calibrated(setting: StatisticsSetting, gamma: float, honest: Sequence[Statistic]) -> Weighting:
    """The weighting whose thresholds are a factor above the largest of attack-free runs.

    Implements: EX-10, GU-9.
    """
    name = weighting_name(gamma)
    found = [s.real(setting.agents, setting.fraction_bits) for s in honest if s.check == name]
    largest = thresholds_from_runs(found, setting.factor)
    weights = exponential_weights(setting.rounds, gamma, setting.bits)
    return calibrated_weighting(name, weights, largest, setting.agents, setting.fraction_bits)


def alarms(weighting: Weighting, statistic: Statistic) -> tuple[bool, bool]:
    """Whether the optimality and the heterogeneity test alarm, on the exact integers.

    Implements: EX-10, GV-5, GV-6.
    """
    return (
        statistic.optimality > weighting.optimality**2,
        statistic.heterogeneity > weighting.heterogeneity,
    )


@attrs.frozen
class Rate:
    """How many of the runs under one attack alarm in the checks of one gamma.

    `diverged` counts runs in which models left the range before the end: there an honest agent
    has alarmed already (AR-14) and there are no statistics; they are not among the `runs`.

    Implements: EX-10.
    """

    attack: str
    sigma: float | None
    gamma: float
    runs: int
    optimality: int
    heterogeneity: int
    either: int
    diverged: int
    ratio: float
    """The mean heterogeneity statistic over that of the calibration runs."""


@attrs.frozen
class Detection:
    """Thresholds per gamma, alarm counts per attack and gamma, and the paper's gamma_max.

    Implements: EX-10.
    """

    weightings: Mapping[float, Weighting]
    rates: tuple[Rate, ...]

    @property
    def gamma_max(self) -> float | None:
        """The largest gamma whose heterogeneity check raises no false alarm without attack.

        Implements: EX-15.
        """
        quiet = [
            rate.gamma
            for rate in self.rates
            if rate.attack == "none" and rate.runs and not rate.heterogeneity
        ]
        return max(quiet, default=None)


def thresholds(
    setting: StatisticsSetting, gammas: Sequence[float], summaries: Sequence[Mapping[str, Any]]
) -> dict[float, Weighting]:
    """The weightings of all gammas, from the calibration runs among these.

    Implements: EX-10.
    """
    honest = _honest(summaries)
    if not honest:
        raise ConfigError("no calibration run has finished: no thresholds", clause="EX-10")
    return {gamma: calibrated(setting, gamma, honest) for gamma in gammas}


def _honest(summaries: Sequence[Mapping[str, Any]]) -> list[Statistic]:
    return [s for summary in summaries if summary["purpose"] == "calibrate" for s in _of(summary)]


def detection(
    setting: StatisticsSetting, gammas: Sequence[float], summaries: Sequence[Mapping[str, Any]]
) -> Detection:
    """Thresholds from the calibration runs, alarm counts from the others.

    Implements: EX-10.
    """
    weightings, honest = thresholds(setting, gammas, summaries), _honest(summaries)
    measured = [
        summary
        for summary in summaries
        if summary["purpose"] == "measure" and summary["rule"]["kind"] == "valid"
    ]
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for summary in measured:
        groups.setdefault(summary["attack"]["label"], []).append(summary)
    rates = [
        _rate(setting, weightings[gamma], gamma, honest, group)
        for group in groups.values()
        for gamma in gammas
    ]
    return Detection(weightings, tuple(rates))


def _rate(
    setting: StatisticsSetting,
    weighting: Weighting,
    gamma: float,
    honest: Sequence[Statistic],
    group: Sequence[Mapping[str, Any]],
) -> Rate:
    found = [s for summary in group for s in _of(summary) if s.check == weighting.name]
    raised = [alarms(weighting, statistic) for statistic in found]
    quiet = _mean_heterogeneity(setting, [s for s in honest if s.check == weighting.name])
    attack = group[0]["attack"]
    return Rate(
        attack["label"],
        sigma(attack),
        gamma,
        runs=len(found),
        optimality=sum(one for one, _two in raised),
        heterogeneity=sum(two for _one, two in raised),
        either=sum(one or two for one, two in raised),
        diverged=sum(summary["outcome"] == "diverged" for summary in group),
        ratio=_mean_heterogeneity(setting, found) / quiet if found else math.nan,
    )


def _mean_heterogeneity(setting: StatisticsSetting, found: Sequence[Statistic]) -> float:
    values = [s.real(setting.agents, setting.fraction_bits)[1] for s in found]
    return math.fsum(values) / len(values)


def _of(summary: Mapping[str, Any]) -> list[Statistic]:
    return [Statistic(**entry) for entry in summary["statistics"]]


def sigma(attack: Mapping[str, Any]) -> float | None:
    """The noise of an attack, 0 without attack, None for one that has none."""
    return 0.0 if attack["label"] == "none" else attack.get("sigma")
