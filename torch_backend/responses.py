"""What came of responding to alarms: accuracies before and after, who gains when, one side or two.

The utility of a rule at the probability p of an attack is (1 - p) times its mean accuracy at the
end without the attack plus p times that under it; a run that diverged has accuracy 0.
"""

import math
import statistics
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
import typer
from rich.console import Console

from torch_backend.config.experiment import DetectionOptions
from torch_backend.config.response import ResponseOptions
from torch_backend.results import RUN, Results, ResultsError, replace_file
from torch_backend.rules import Respond, ValidRule
from torch_backend.segments import SegmentSetting, first_alarm, segment_thresholds
from torch_backend.tables import Lines, csv_text, number, print_lines, shown
from valid_ref.document import DocumentError, structure
from valid_ref.guarantees.calibration import Tails
from valid_ref.guarantees.proportion import clopper_pearson

NONE = "none"
"""The label of no attack."""


def setting_of(results: Results) -> SegmentSetting | None:
    """What segments were judged with; None where there are none.

    Implements: EX-23.
    """
    document = results.header["experiment"]
    if document.get("response") is None:
        return None
    try:
        part = structure(DetectionOptions, document["detection"], "detection")
        return SegmentSetting(
            rounds=structure(int, document["rounds"], "rounds"),
            response=structure(ResponseOptions, document["response"], "response"),
            gammas=part.gammas,
            bits=part.bits,
            level=part.level,
            tails=part.tails,
            pilots=part.pilots,
            runs=part.rehearsals,
        )
    except (DocumentError, KeyError, TypeError) as error:
        raise ResultsError(f"the experiment in {RUN} is damaged: {error}") from None


@attrs.frozen
class Response:
    """One rule that responds, under one attack: its alarms, and accuracies by when they were.

    `segments` counts the runs by the segment of their alarm, from 1. `validated` is the accuracy
    of the last validated models, `discarded` that of the models that an alarm discards, both over
    the runs that alarm; `final` is over all runs, diverged ones as 0.

    Implements: EX-23.
    """

    attack: str
    rule: str
    runs: int
    alarms: int
    segments: Mapping[int, int]
    validated: float
    discarded: float
    final: float

    @property
    def interval(self) -> tuple[float, float]:
        """Of the probability of an alarm, by Clopper and Pearson at 95 %."""
        return clopper_pearson(self.alarms, self.runs)


def responses(results: Results) -> list[Response]:
    """Every rule that responds under every attack.

    Implements: EX-23.
    """
    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for summary in results.summaries:
        if summary.get("response") is not None:
            key = summary["attack"]["label"], summary["rule"]["label"]
            groups.setdefault(key, []).append(summary)
    return [_response(*key, group) for key, group in groups.items()]


def _response(attack: str, rule: str, group: Sequence[Mapping[str, Any]]) -> Response:
    alarmed = [s["response"] for s in group if s["response"]["alarm"] is not None]
    before = [one["segments"][-1]["before"] for one in alarmed]
    return Response(
        attack=attack,
        rule=rule,
        runs=len(group),
        alarms=len(alarmed),
        segments=dict(sorted(Counter(one["alarm"] for one in alarmed).items())),
        validated=_mean([one["validated"]["accuracy"] for one in alarmed]),
        discarded=_mean([value for value in before if value is not None]),
        final=_mean([accuracy_of(s) for s in group]),
    )


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values) if values else math.nan


def accuracy_of(summary: Mapping[str, Any]) -> float:
    """The accuracy at the end; 0 for a run that diverged, which has no models.

    Implements: EX-23.
    """
    return 0.0 if summary["final"] is None else float(summary["final"]["accuracy"])


def accuracies(results: Results) -> dict[tuple[str, str], dict[int, float]]:
    """By rule and attack, and then by seed.

    Implements: EX-23.
    """
    found: dict[tuple[str, str], dict[int, float]] = {}
    for summary in results.summaries:
        if summary["purpose"] == "measure":
            key = summary["rule"]["label"], summary["attack"]["label"]
            found.setdefault(key, {})[summary["seed"]] = accuracy_of(summary)
    return found


@attrs.frozen
class Gain:
    """What a rule that responds gains over another, without and under an attack, and break-even.

    The gains are means over the seeds that both have, with the standard error of the differences.

    Implements: EX-23.
    """

    attack: str
    rule: str
    other: str
    seeds: int
    quiet: float
    quiet_error: float
    attacked: float
    attacked_error: float

    @property
    def break_even(self) -> float | None:
        """The probability of an attack at which both are worth the same; None if there is none.

        Implements: EX-23.
        """
        if self.quiet * self.attacked >= 0:
            return None
        return self.quiet / (self.quiet - self.attacked)

    @property
    def verdict(self) -> str:
        """When the rule that responds is worth more."""
        at = self.break_even
        if at is None:
            best = self.quiet + self.attacked
            return "always" if best > 0 else "never" if best < 0 else "equal"
        side = "below" if self.quiet > self.attacked else "above"
        return f"{side} p = {at:.3f}"


def gains(results: Results) -> list[Gain]:
    """Every rule that responds beside every rule that does not, for every attack.

    Implements: EX-23.
    """
    found = accuracies(results)
    rules = list(dict.fromkeys(rule for rule, _attack in found))
    attacks = [a for a in dict.fromkeys(attack for _rule, attack in found) if a != NONE]
    ours = [rule for rule in rules if rule.split("+")[0] == Respond.kind]
    pairs = [(rule, other) for rule in ours for other in rules if other not in ours]
    cells = ((attack, *pair) for attack in attacks for pair in pairs)
    return [one for cell in cells if (one := _gain(found, *cell)) is not None]


def _gain(
    found: Mapping[tuple[str, str], Mapping[int, float]], attack: str, rule: str, other: str
) -> Gain | None:
    differences = []
    for word in (NONE, attack):
        ours, theirs = found.get((rule, word), {}), found.get((other, word), {})
        differences.append([ours[seed] - theirs[seed] for seed in ours if seed in theirs])
    quiet, attacked = differences
    if not quiet or not attacked:
        return None
    return Gain(
        attack=attack,
        rule=rule,
        other=other,
        seeds=min(len(quiet), len(attacked)),
        quiet=_mean(quiet),
        quiet_error=_error(quiet),
        attacked=_mean(attacked),
        attacked_error=_error(attacked),
    )


def _error(values: Sequence[float]) -> float:
    return statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else math.nan


@attrs.frozen
class Sides:
    """In how many plain runs the statistics alarm, and in which segment first, by the tails.

    `first` counts the runs by segment, `tests` by the test that alarms there.

    Implements: EX-23.
    """

    attack: str
    tails: Tails
    runs: int
    first: Mapping[int, int]
    tests: Mapping[str, int]


def sides(results: Results) -> list[Sides]:
    """One-sided and two-sided thresholds on the statistics of plain runs of VALID.

    Runs that diverged have no statistics and are left out.

    Implements: EX-22, EX-23.
    """
    setting = setting_of(results)
    summaries = results.summaries
    wanted = 0 if setting is None else setting.pilots + setting.runs
    calibration = [s for s in summaries if s["purpose"] != "measure" and _ended(s)]
    if setting is None or len(calibration) < wanted:
        return []
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for summary in summaries:
        if summary["purpose"] == "measure" and summary["rule"]["kind"] == ValidRule.kind:
            groups.setdefault(summary["attack"]["label"], []).append(summary)
    found = []
    for tails in Tails:
        one = attrs.evolve(setting, tails=tails)
        limits = segment_thresholds(one, summaries)
        for attack, group in groups.items():
            ended = [summary for summary in group if _ended(summary)]
            alarms = [first_alarm(one, limits, summary) for summary in ended]
            raised = [alarm for alarm in alarms if alarm is not None]
            first = Counter(place for place, _tests in raised)
            tests = Counter(test for _place, names in raised for test in names)
            found.append(
                Sides(
                    attack,
                    tails,
                    len(ended),
                    dict(sorted(first.items())),
                    dict(sorted(tests.items())),
                )
            )
    return found


def _ended(summary: Mapping[str, Any]) -> bool:
    return bool(summary["outcome"] == "finished")


def print_responses(results: Results, console: Console, *, markdown: bool = False) -> None:
    """The tables of an experiment with segments; nothing for another.

    Implements: EX-23.
    """
    setting = setting_of(results)
    if setting is None:
        return
    tables = {
        "after an alarm: accuracy of honest agents": response_lines(responses(results)),
        "who gains: accuracy at the end by seed": gain_lines(gains(results)),
        "plain runs by the segment of their first alarm": sides_lines(sides(results)),
    }
    for title, lines in tables.items():
        if len(lines) > 1:
            print_lines(title, lines, console, markdown=markdown)
    typer.echo(setting.describe())


def write_responses(results: Results, folder: Path) -> Iterator[Path]:
    """The numbers of the tables as comma-separated values.

    Implements: EX-23.
    """
    if setting_of(results) is None:
        return
    texts = {
        "response.csv": [_names(Response), *map(_values, responses(results))],
        "gains.csv": [
            [*_names(Gain), "break_even"],
            *([*_values(one), _text(one.break_even)] for one in gains(results)),
        ],
        "sides.csv": [_names(Sides), *map(_values, sides(results))],
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name, lines in texts.items():
        replace_file(folder / name, csv_text(lines))
        yield folder / name


def _names(kind: type[Any]) -> list[str]:
    return [field.name for field in attrs.fields(kind)]


def _values(one: Any) -> list[str]:
    return [_text(getattr(one, name)) for name in _names(type(one))]


def _text(value: Any) -> str:
    if isinstance(value, Mapping):
        return " ".join(f"{key}:{count}" for key, count in value.items())
    if isinstance(value, Tails):
        return value.value
    return "" if value is None else str(value)


def _counted(counts: Mapping[int, int]) -> str:
    return ", ".join(f"{place}: {count}" for place, count in counts.items()) or "none"


def response_lines(found: Sequence[Response]) -> Lines:
    """One line for each rule that responds and each attack."""
    heading = ("rule", "attack", "alarms (95 %)", "in segment", "validated", "discarded", "at end")

    def row(one: Response) -> Sequence[str]:
        low, high = one.interval
        return (
            shown(one.rule),
            shown(one.attack),
            f"{one.alarms} of {one.runs} ({low:.3f} to {high:.3f})",
            _counted(one.segments),
            *map(number, (one.validated, one.discarded, one.final)),
        )

    return [heading, *map(row, found)]


def gain_lines(found: Sequence[Gain]) -> Lines:
    """One line for each pair of rules and each attack."""
    heading = ("rule", "beside", "attack", "without attack", "under attack", "seeds", "worth more")

    def row(one: Gain) -> Sequence[str]:
        return (
            shown(one.rule),
            shown(one.other),
            shown(one.attack),
            _with_error(one.quiet, one.quiet_error),
            _with_error(one.attacked, one.attacked_error),
            str(one.seeds),
            one.verdict,
        )

    return [heading, *map(row, found)]


def _with_error(value: float, error: float) -> str:
    return f"{value:+.3f}" if math.isnan(error) else f"{value:+.3f} ± {error:.3f}"


def sides_lines(found: Sequence[Sides]) -> Lines:
    """One line for each attack and tails."""
    heading = ("attack", "thresholds", "runs", "alarm", "in segment", "by test")

    def row(one: Sides) -> Sequence[str]:
        word = "two-sided" if one.tails is Tails.BOTH else "one-sided"
        tests = ", ".join(f"{name} {count}" for name, count in one.tests.items()) or "none"
        count = sum(one.first.values())
        return (shown(one.attack), word, str(one.runs), str(count), _counted(one.first), tests)

    return [heading, *map(row, sorted(found, key=lambda one: one.attack))]
