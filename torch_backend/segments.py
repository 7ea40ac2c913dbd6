"""Validation of a run that still goes on: the first rounds as a run of their own, and thresholds.

After a segment the transcripts of all rounds so far are validated, as if learning had been planned
to end there. The statistics of all segments of an honest run are calibrated together.
"""

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import attrs

from torch_backend.calibrate import alarms, honest_runs, segment_check, statistics_of
from torch_backend.config.experiment import Experiment
from torch_backend.config.response import ResponseOptions
from torch_backend.engine import State
from torch_backend.errors import ConfigError
from torch_backend.program import Program
from torch_backend.transcripts import StoredTranscripts
from valid_ref.guarantees.bounds import root
from valid_ref.guarantees.calibration import Limits, Statistics, Tails, rank
from valid_ref.protocols.parameters import Bounds, ValidParameters, Weighting, exponential_weights
from valid_ref.schedule import Schedule


@attrs.frozen
class SegmentSetting:
    """What the segments of an experiment are judged with; read without the parts of the experiment.

    `level` holds for all tests of all gammas and segments together.

    Implements: EX-22.
    """

    rounds: int
    response: ResponseOptions
    gammas: tuple[float, ...]
    bits: int
    level: float
    tails: Tails
    pilots: int
    runs: int

    @property
    def ends(self) -> tuple[int, ...]:
        """The last round of every segment."""
        return self.response.ends(self.rounds)

    @property
    def checks(self) -> tuple[str, ...]:
        """The names of the checks: segment by segment, gamma by gamma."""
        return tuple(segment_check(end, gamma) for end in self.ends for gamma in self.gammas)

    @property
    def achieved(self) -> Fraction:
        """What an honest run alarms with, at most, in any segment.

        Implements: EX-22.
        """
        each = self.response.level_of_each(self.level)
        one = 1 - Fraction(rank(each, self.runs), self.runs + 1)
        return one if self.response.share == "joint" else one * len(self.ends)

    def describe(self) -> str:
        """How thresholds were made, in a line."""
        sides = "both tails" if self.tails is Tails.BOTH else "upper tail"
        how = "together" if self.response.share == "joint" else "each with its part of the level"
        return (
            f"thresholds of {len(self.ends)} segments at level {self.level:g} ({sides}), {how}: "
            f"{self.runs} runs without attack after {self.pilots} pilots; an honest run alarms in "
            f"any segment with probability at most {self.achieved}"
        )


def segment_setting(experiment: Experiment) -> SegmentSetting:
    """The setting of an experiment that has segments."""
    part = experiment.detection
    if experiment.response is None:
        raise ConfigError("this experiment has no segments", clause="EX-21")
    return SegmentSetting(
        rounds=experiment.rounds,
        response=experiment.response,
        gammas=part.gammas,
        bits=part.bits,
        level=part.level,
        tails=part.tails,
        pilots=part.pilots,
        runs=part.rehearsals,
    )


Groups = tuple[tuple[Weighting, ...], ...]
"""For every segment its checks, with the weights of the rounds up to its end."""


def segment_limits(
    setting: SegmentSetting, pilots: Sequence[Statistics], runs: Sequence[Statistics]
) -> tuple[tuple[Limits, ...], ...]:
    """The limits of every segment, in order, from statistics of all segments of honest runs.

    Implements: EX-22, GU-12.
    """
    size, count = len(setting.gammas), len(setting.ends)
    k = rank(setting.response.level_of_each(setting.level), len(runs))
    width = size if setting.response.share == "split" else size * count
    measured = segment_scales(setting, pilots)
    found: list[Limits] = []
    for begin in range(0, size * count, width):
        part = slice(begin, begin + width)
        worst = (max(scores(run[part], measured[part], setting.tails)) for run in runs)
        allowed = sorted(worst)[k - 1]
        found += [_limits(pair, allowed, setting.tails) for pair in measured[part]]
    return tuple(tuple(found[i : i + size]) for i in range(0, size * count, size))


@attrs.frozen
class Scale:
    """The middle of a statistic in the pilots, and how far they are from theirs, as a part of it.

    `spread` is the mean over the pilots and over all segments of the same gamma and test, so that
    few pilots are enough.

    Implements: EX-22.
    """

    centre: Fraction
    spread: Fraction


def segment_scales(
    setting: SegmentSetting, pilots: Sequence[Statistics]
) -> tuple[tuple[Scale, Scale], ...]:
    """The scales of both tests of every check.

    Implements: EX-22.
    """
    size, checks = len(setting.gammas), range(len(setting.checks))
    values = [[[max(1, run[i][test]) for run in pilots] for test in (0, 1)] for i in checks]
    centres = [[_middle(values[i][test]) for test in (0, 1)] for i in checks]

    def spread(gamma: int, test: int) -> Fraction:
        parts = [
            abs(value - centres[i][test]) / centres[i][test]
            for i in checks[gamma::size]
            for value in values[i][test]
        ]
        return sum(parts, Fraction(0)) / len(parts) or Fraction(1)

    spreads = [[spread(gamma, test) for test in (0, 1)] for gamma in range(size)]
    return tuple(
        (
            Scale(centres[i][0], spreads[i % size][0]),
            Scale(centres[i][1], spreads[i % size][1]),
        )
        for i in checks
    )


def _middle(values: Sequence[int]) -> Fraction:
    ordered = sorted(values)
    return Fraction(ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2], 2)


def scores(
    run: Statistics, measured: Sequence[tuple[Scale, Scale]], tails: Tails
) -> list[Fraction]:
    """By what factor every statistic is beyond the middle, in units of the spread.

    With both tails a statistic that is too small counts by the inverse factor; 0 counts as 1.

    Implements: EX-22.
    """
    found = []
    for pair, both in zip(run, measured, strict=True):
        for statistic, scale in zip(pair, both, strict=True):
            factor = max(1, statistic) / scale.centre
            if tails is Tails.BOTH and factor < 1:
                factor = 1 / factor
            found.append((factor - 1) / scale.spread)
    return found


def _limits(pair: tuple[Scale, Scale], allowed: Fraction, tails: Tails) -> Limits:
    """What passes has every score up to the one that is allowed; rounding goes outward.

    Implements: EX-22, GV-13.
    """
    factors = [1 + allowed * scale.spread for scale in pair]
    optimality, heterogeneity = (s.centre * f for s, f in zip(pair, factors, strict=True))
    low = [s.centre / f for s, f in zip(pair, factors, strict=True)]
    both = [tails is Tails.BOTH and value > 1 for value in low]
    return Limits(
        optimality=max(1, root(optimality)),
        heterogeneity=max(1, math.ceil(heterogeneity)),
        optimality_low=math.isqrt(math.floor(low[0])) if both[0] else 0,
        heterogeneity_low=math.floor(low[1]) if both[1] else 0,
    )


def segment_thresholds(setting: SegmentSetting, summaries: Sequence[Mapping[str, Any]]) -> Groups:
    """The checks of every segment with thresholds from the calibration runs among these.

    Implements: EX-22.
    """
    return segment_groups(
        setting,
        honest_runs(setting.checks, summaries, "pilot", setting.pilots),
        honest_runs(setting.checks, summaries, "calibrate", setting.runs),
    )


def segment_groups(
    setting: SegmentSetting, pilots: Sequence[Statistics], runs: Sequence[Statistics]
) -> Groups:
    """The checks of every segment with thresholds from these runs.

    Implements: EX-22.
    """
    limits = segment_limits(setting, pilots, runs)
    return tuple(
        tuple(
            _weighting(setting, end, gamma, limit)
            for gamma, limit in zip(setting.gammas, group, strict=True)
        )
        for end, group in zip(setting.ends, limits, strict=True)
    )


def _weighting(setting: SegmentSetting, end: int, gamma: float, limit: Limits) -> Weighting:
    weights = exponential_weights(end, gamma, setting.bits)
    return Weighting(
        segment_check(end, gamma),
        weights,
        Fraction(sum(weights)),
        origin="calibrated",
        **attrs.asdict(limit),
    )


def first_alarm(
    setting: SegmentSetting, groups: Groups, summary: Mapping[str, Any]
) -> tuple[int, tuple[str, ...]] | None:
    """The first segment, from 1, in which the statistics of a finished run alarm, and the tests.

    Implements: EX-22.
    """
    found = statistics_of(setting.checks, summary)
    size = len(setting.gammas)
    for place, group in enumerate(groups):
        pairs = zip(group, found[place * size : (place + 1) * size], strict=True)
        raised = [alarms(weighting, statistic) for weighting, statistic in pairs]
        names = ("optimality", "heterogeneity")
        tests = [name for i, name in enumerate(names) if any(one[i] for one in raised)]
        if tests:
            return place + 1, tuple(tests)
    return None


def prefix(program: Program, end: int, segment: int, checks: tuple[Weighting, ...]) -> Program:
    """The program whose T is the end of a segment, with keys or openings of its own.

    Implements: EX-21.
    """
    parameters, coins = program.parameters, program.coins.child("segment", segment)
    schedule = parameters.lattice.schedule
    short = Schedule(schedule.precision, schedule.mixing[:end], schedule.gradient[:end])
    lean = parameters.lean
    if lean is not None:
        lean = attrs.evolve(lean, run=coins.child("run").secret.hex())
    cut: ValidParameters = attrs.evolve(
        parameters,
        lattice=attrs.evolve(parameters.lattice, schedule=short),
        bounds=_cut(parameters.bounds, end),
        weightings=checks,
        lean=lean,
    )
    return attrs.evolve(program, parameters=cut, coins=coins)


def _cut(bounds: Bounds | None, end: int) -> Bounds | None:
    if bounds is None:
        return None
    return Bounds(bounds.model_squared[:end], bounds.gradient_squared[:end])


def prefix_state(short: Program, state: State, places: slice) -> State:
    """The state at the end of a segment with the estimates of the checks of this segment alone.

    Implements: EX-21, GV-2.
    """
    if state.estimates is None:
        raise ConfigError("a segment is validated by its estimates", clause="GV-2")
    whole = state.estimates.flushed()
    mine = attrs.evolve(whole, parameters=short.parameters, sums=whole.sums[places])
    return attrs.evolve(state, estimates=mine)


def prefix_transcripts(short: Program, transcripts: StoredTranscripts) -> StoredTranscripts:
    """The transcripts so far as those of the shorter run."""
    return attrs.evolve(transcripts, program=short)
