"""Detection by GlobalValidate: thresholds with a level from honest runs, and who alarms under them.

The statistics are the exact integers |sum_u ghat_u|^2 and sum_u |ghat_u|^2 of a run, one pair for
each gamma, as the engine keeps them during the learning phase.
"""

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import attrs

from torch_backend.errors import ConfigError
from valid_ref.guarantees.calibration import Limits, Statistics, Tails, calibrate, rank
from valid_ref.guarantees.proportion import clopper_pearson
from valid_ref.protocols.parameters import Weighting, exponential_weights

LARGEST_NOISE = 1e300
"""What an attack calls sigma is a strength of noise if it is a number below this."""


@attrs.frozen
class StatisticsSetting:
    """What the statistics of an experiment are measured with, and how they are calibrated.

    Of the calibration runs the `pilots` only say how much each statistic varies; the run is
    ranked among the `runs` others.
    """

    rounds: int
    bits: int
    gammas: tuple[float, ...]
    level: float
    tails: Tails
    pilots: int
    runs: int

    @property
    def checks(self) -> tuple[str, ...]:
        """The names of the checks, in the order of the gammas."""
        return tuple(map(weighting_name, self.gammas))

    @property
    def achieved(self) -> Fraction:
        """What an honest run alarms with, at most, in any test: the level, or somewhat less.

        Implements: EX-10, GU-12.
        """
        return 1 - Fraction(rank(self.level, self.runs), self.runs + 1)

    def describe(self) -> str:
        """How thresholds were made, in a line."""
        sides = "both tails" if self.tails is Tails.BOTH else "upper tail"
        return (
            f"all thresholds together at level {self.level:g} ({sides}): {self.runs} runs without "
            f"attack after {self.pilots} pilots; an honest run alarms with probability at most "
            f"{self.achieved}"
        )


def weighting_name(gamma: float) -> str:
    """The name of the check with this gamma."""
    return f"gamma={gamma}"


def segment_check(end: int, gamma: float) -> str:
    """The name of the check with this gamma of a segment that ends with this round."""
    return f"to round {end}, {weighting_name(gamma)}"


def weightings_of(setting: StatisticsSetting, limits: Sequence[Limits]) -> dict[float, Weighting]:
    """The weightings of all gammas with calibrated thresholds.

    Implements: EX-10, GV-13.
    """
    found = {}
    for gamma, limit in zip(setting.gammas, limits, strict=True):
        weights = exponential_weights(setting.rounds, gamma, setting.bits)
        found[gamma] = Weighting(
            weighting_name(gamma),
            weights,
            Fraction(sum(weights)),
            origin="calibrated",
            **attrs.asdict(limit),
        )
    return found


def calibrated(
    setting: StatisticsSetting, pilots: Sequence[Statistics], rehearsals: Sequence[Statistics]
) -> dict[float, Weighting]:
    """Thresholds for all gammas and tests together, so that the level holds for all of them.

    Implements: EX-10, GU-12.
    """
    limits = calibrate(pilots, rehearsals, level=setting.level, tails=setting.tails)
    return weightings_of(setting, limits)


def alarms(weighting: Weighting, statistic: tuple[int, int]) -> tuple[bool, bool]:
    """Whether the optimality and the heterogeneity test alarm, on the exact integers.

    Implements: EX-10, GV-5, GV-6, GV-13.
    """
    optimality, heterogeneity = statistic
    return (
        not weighting.optimality_low**2 <= optimality <= weighting.optimality**2,
        not weighting.heterogeneity_low <= heterogeneity <= weighting.heterogeneity,
    )


def alarmed(weightings: Mapping[float, Weighting], run: Statistics) -> bool:
    """Whether a run alarms in any test of any gamma: what the level is about.

    Implements: EX-10.
    """
    pairs = zip(weightings.values(), run, strict=True)
    return any(any(alarms(weighting, statistic)) for weighting, statistic in pairs)


@attrs.frozen
class Rate:
    """How many of the runs under one attack alarm in the checks of one gamma.

    `diverged` counts the runs in which models left the range before the end. There an honest agent
    has alarmed already (AR-14), so that they are among the `runs` and counted in `either`; but
    there are no statistics, so that `optimality` and `heterogeneity` are of the `ended` ones.

    Implements: EX-10, EX-15.
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

    @property
    def ended(self) -> int:
        """The runs that have statistics."""
        return self.runs - self.diverged


@attrs.frozen
class Joint:
    """How many of the runs under one attack alarm at all, and what that says of the probability.

    A run that diverged has alarmed (AR-14) and is counted. `low` and `high` are the ends of the
    interval of Clopper and Pearson at 95 %.

    Implements: EX-10, EX-15.
    """

    attack: str
    runs: int
    alarms: int

    @property
    def interval(self) -> tuple[float, float]:
        """The ends of the interval."""
        return clopper_pearson(self.alarms, self.runs)


@attrs.frozen
class Detection:
    """Thresholds per gamma, alarm counts per attack and gamma, and the paper's gamma_max.

    Implements: EX-10.
    """

    setting: StatisticsSetting
    weightings: Mapping[float, Weighting]
    rates: tuple[Rate, ...]
    joint: tuple[Joint, ...]

    @property
    def gamma_max(self) -> float | None:
        """The largest gamma whose heterogeneity check raises no false alarm without attack.

        Implements: EX-15.
        """
        quiet = [
            rate.gamma
            for rate in self.rates
            if rate.attack == "none" and rate.ended and not rate.heterogeneity
        ]
        return max(quiet, default=None)


def thresholds(
    setting: StatisticsSetting, summaries: Sequence[Mapping[str, Any]]
) -> dict[float, Weighting]:
    """The weightings of all gammas, from the calibration runs among these.

    Implements: EX-10.
    """
    return calibrated(
        setting,
        honest_runs(setting.checks, summaries, "pilot", setting.pilots),
        honest_runs(setting.checks, summaries, "calibrate", setting.runs),
    )


def honest_runs(
    checks: Sequence[str], summaries: Sequence[Mapping[str, Any]], purpose: str, wanted: int
) -> list[Statistics]:
    """The statistics of the runs for this purpose; fewer than wanted are refused.

    One that is left out because it diverged would make the others look better than honest runs.

    Implements: EX-10.
    """
    chosen = [summary for summary in summaries if summary["purpose"] == purpose]
    lost = [summary["job"] for summary in chosen if summary["outcome"] == "diverged"]
    if lost:
        raise ConfigError(
            f"{lost[0]} diverged: honest runs of this experiment alarm, and there are no "
            "thresholds with a level",
            clause="EX-10",
        )
    if len(chosen) != wanted:
        raise ConfigError(
            f"{len(chosen)} of {wanted} {purpose} runs have finished: no thresholds yet",
            clause="EX-10",
        )
    return [statistics_of(checks, summary) for summary in chosen]


def statistics_of(checks: Sequence[str], summary: Mapping[str, Any]) -> Statistics:
    """The statistics of a finished run, in the order of these checks."""
    found = {
        entry["check"]: (entry["optimality"], entry["heterogeneity"])
        for entry in summary["statistics"]
    }
    missing = [check for check in checks if check not in found]
    if missing:
        raise ConfigError(f"{summary['job']} has no statistics of {missing[0]}", clause="EX-10")
    return tuple(found[check] for check in checks)


def detection(setting: StatisticsSetting, summaries: Sequence[Mapping[str, Any]]) -> Detection:
    """Thresholds from the calibration runs, alarm counts from the others.

    Implements: EX-10.
    """
    weightings = thresholds(setting, summaries)
    honest = honest_runs(setting.checks, summaries, "calibrate", setting.runs)
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
        for gamma in setting.gammas
    ]
    joint = [_joint(setting, weightings, label, group) for label, group in groups.items()]
    return Detection(setting, weightings, tuple(rates), tuple(joint))


def _rate(
    setting: StatisticsSetting,
    weighting: Weighting,
    gamma: float,
    honest: Sequence[Statistics],
    group: Sequence[Mapping[str, Any]],
) -> Rate:
    place = setting.gammas.index(gamma)
    finished = [summary for summary in group if summary["outcome"] == "finished"]
    found = [statistics_of(setting.checks, summary)[place] for summary in finished]
    raised = [alarms(weighting, statistic) for statistic in found]
    quiet = _mean_heterogeneity([run[place] for run in honest])
    attack = group[0]["attack"]
    return Rate(
        attack["label"],
        sigma(attack),
        gamma,
        runs=len(group),
        optimality=sum(one for one, _two in raised),
        heterogeneity=sum(two for _one, two in raised),
        either=sum(one or two for one, two in raised) + len(group) - len(finished),
        diverged=len(group) - len(finished),
        ratio=float(_mean_heterogeneity(found) / quiet) if found and quiet else math.nan,
    )


def _joint(
    setting: StatisticsSetting,
    weightings: Mapping[float, Weighting],
    label: str,
    group: Sequence[Mapping[str, Any]],
) -> Joint:
    raised = [
        summary["outcome"] == "diverged"
        or alarmed(weightings, statistics_of(setting.checks, summary))
        for summary in group
    ]
    return Joint(label, len(group), sum(raised))


def _mean_heterogeneity(found: Sequence[tuple[int, int]]) -> Fraction:
    return Fraction(sum(heterogeneity for _optimality, heterogeneity in found), len(found) or 1)


def sigma(attack: Mapping[str, Any]) -> float | None:
    """The noise of an attack, 0 without attack, None for one that has none.

    An option `sigma` of somebody's own attack that is no number is no noise.
    """
    found: object = 0.0 if attack["label"] == "none" else attack.get("sigma")
    if isinstance(found, bool) or not isinstance(found, int | float):
        return None
    return float(found) if -LARGEST_NOISE < found < LARGEST_NOISE else None
