"""Tables of runs that respond: the level over all segments, gains, break-even, files and figure."""

import math
import xml.etree.ElementTree as ElementTree
from fractions import Fraction
from pathlib import Path
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.image import imread
from rich.console import Console

from torch_backend.config.experiment import Job, described, experiment_document, jobs
from torch_backend.config.load import load
from torch_backend.config.response import ResponseOptions
from torch_backend.plot import plot
from torch_backend.responses import (
    Gain,
    accuracies,
    gains,
    print_responses,
    responses,
    setting_of,
    sides,
    write_responses,
)
from torch_backend.results import FORMAT, CurveRow, Results
from torch_backend.segments import SegmentSetting, segment_limits
from valid_ref.guarantees.calibration import Tails, required_runs
from valid_ref.named_parts import name_of

EXPERIMENT = load("response", quick=True)


def setting(share: Any, segments: int, level: float, **others: Any) -> SegmentSetting:
    response = ResponseOptions(segments, share)
    runs = required_runs(response.level_of_each(level))
    return SegmentSetting(
        rounds=segments * 2,
        response=response,
        gammas=others.pop("gammas", (0.9, 0.99)),
        bits=16,
        level=level,
        tails=others.pop("tails", Tails.UPPER),
        pilots=2,
        runs=others.pop("runs", runs),
    )


@pytest.mark.checks("EX-22")
@given(
    segments=st.integers(1, 40),
    level=st.floats(0.001, 0.999),
    share=st.sampled_from(["joint", "split"]),
    more=st.integers(0, 50),
)
def test_the_levels_of_all_segments_add_up_to_the_level(
    segments: int, level: float, share: str, more: int
) -> None:
    found = setting(share, segments, level)
    found = attrs.evolve(found, runs=found.runs + more)
    assert 0 < found.achieved <= Fraction(repr(level))


@pytest.mark.checks("EX-21")
@given(segments=st.integers(1, 60), more=st.integers(0, 500))
def test_segments_cover_all_rounds_and_none_is_empty(segments: int, more: int) -> None:
    ends = ResponseOptions(segments).ends(segments + more)
    lengths = [end - begin for begin, end in zip((0, *ends), ends, strict=False)]
    assert ends[-1] == segments + more
    assert min(lengths) >= 1
    assert max(lengths) - min(lengths) <= 1


numbers = st.integers(0, 10**6)


@pytest.mark.checks("EX-22")
@given(data=st.data(), tails=st.sampled_from(Tails), share=st.sampled_from(["joint", "split"]))
def test_no_more_runs_alarm_than_the_rank_allows(
    data: st.DataObject, tails: Any, share: str
) -> None:
    """Of the runs that calibrate no more are beyond a limit in any segment than the rank allows."""
    found = setting(share, 3, 0.3, tails=tails, gammas=(0.9,))
    run = st.tuples(*[st.tuples(numbers, numbers)] * 3)
    pilots = data.draw(st.lists(run, min_size=2, max_size=2))
    runs = data.draw(st.lists(run, min_size=found.runs, max_size=found.runs))
    limits = [one for group in segment_limits(found, pilots, runs) for one in group]
    beyond = sum(
        any(
            not (low.optimality_low**2 <= o <= low.optimality**2)
            or not (low.heterogeneity_low <= h <= low.heterogeneity)
            for low, (o, h) in zip(limits, run, strict=True)
        )
        for run in runs
    )
    assert Fraction(beyond, found.runs + 1) <= found.achieved


@pytest.mark.checks("EX-22")
def test_a_lower_threshold_is_there_however_much_honest_runs_vary() -> None:
    """The lower side of a spread as large as the middle would be none at all."""
    found = setting("joint", 2, 0.5, tails=Tails.BOTH, gammas=(0.9,))
    pilots = [((10, 10), (10, 10)), ((40, 40), (40, 40))]
    [[first], [_second]] = segment_limits(found, pilots, [((100, 100), (100, 100))])
    assert (first.heterogeneity, first.heterogeneity_low) == (100, 6)  # 25 times and over 4
    assert (first.optimality, first.optimality_low) == (10, 2)


def accuracy(job: Job) -> float:
    rule = name_of(job.rule)
    quiet = {"valid": 0.7, "clipped-gossip": 0.6, "respond": 0.7}[rule]
    loud = {"valid": 0.2, "clipped-gossip": 0.6, "respond": 0.5}[rule]
    return (loud if job.attacked else quiet) + 0.001 * job.seed


def summary(job: Job) -> dict[str, Any]:
    measured = name_of(job.rule) != "clipped-gossip"
    found = setting_of(made_up(()))
    assert found is not None
    small = job.attacked and name_of(job.rule) == "valid"
    value = (10**6 if small else 10**9) + job.seed
    segment = {"end": 20, "lost": None, "honest": 20, "valid": 0, "alarms": [], "before": 0.3}
    alarm = {"segments": [segment], "alarm": 1, "validated": {"round": 0, "accuracy": 0.1}}
    quiet = {"segments": [], "alarm": None, "validated": {"round": 80, "accuracy": 0.7}}
    return {
        "job": job.name,
        "purpose": job.purpose,
        "rule": described(job.rule),
        "attack": described(job.attack),
        "seed": job.seed,
        "outcome": "finished",
        "final": {"accuracy": accuracy(job), "averaged": 0.9, "distance": 1},
        "statistics": [
            {"check": check, "optimality": value, "heterogeneity": 10**9}
            for check in found.checks
            if measured
        ],
        "validation": None,
    } | ({"response": alarm if job.attacked else quiet} if name_of(job.rule) == "respond" else {})


def made_up(todo: tuple[Job, ...]) -> Results:
    header = {
        "format": FORMAT,
        "experiment": experiment_document(EXPERIMENT),
        "agents": 20,
        "jobs": [job.name for job in todo],
    }
    row = CurveRow(round=1, accuracy=0.5, averaged=0.5, lowest=0, highest=1, loss=1.0, distance=1.0)
    return Results(header, tuple(map(summary, todo)), {job.name: (row,) for job in todo})


@pytest.mark.checks("EX-23")
def test_the_tables_say_who_gains_and_from_which_probability_on(
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = made_up(jobs(EXPERIMENT))
    table = {(one.rule, one.other, one.attack): one for one in gains(found)}
    attack = "sign-flip+first=41"
    ours = table["respond+then=clipped-gossip", "clipped-gossip", attack]
    assert ours.break_even == pytest.approx(0.5)
    assert ours.verdict == "below p = 0.500"
    plain = table["respond+then=clipped-gossip", "valid", attack]
    assert (plain.break_even, plain.verdict) == (None, "always")
    one = next(one for one in responses(found) if one.attack == attack)
    assert (one.runs, one.alarms, one.segments) == (1, 1, {1: 1})
    assert (one.validated, one.discarded) == (0.1, 0.3)
    print_responses(found, Console(width=200))
    printed = capsys.readouterr().out
    assert "below p = 0.500" in printed
    assert "with probability at most 1/5" in printed


@pytest.mark.checks("EX-22", "EX-23")
def test_two_sided_thresholds_see_what_is_too_small() -> None:
    found = {(one.attack, one.tails): one for one in sides(made_up(jobs(EXPERIMENT)))}
    attack = "sign-flip+first=41"
    assert found[attack, Tails.UPPER].first == {}
    assert found[attack, Tails.BOTH].first == {1: 1}
    assert found[attack, Tails.BOTH].tests == {"optimality": 1}


@pytest.mark.checks("EX-23")
@given(quiet=st.floats(-1, 1), attacked=st.floats(-1, 1))
def test_at_break_even_both_are_worth_the_same(quiet: float, attacked: float) -> None:
    gain = Gain("a", "r", "o", 1, quiet, math.nan, attacked, math.nan)
    at = gain.break_even
    if at is None:
        assert quiet * attacked >= 0
    else:
        assert 0 <= at <= 1
        assert (1 - at) * quiet + at * attacked == pytest.approx(0, abs=1e-9)


@pytest.mark.checks("EX-16", "EX-23")
def test_a_run_that_diverged_has_accuracy_0() -> None:
    found = made_up(jobs(EXPERIMENT))
    lost = [s | {"final": None, "outcome": "diverged"} for s in found.summaries]
    values = accuracies(attrs.evolve(found, summaries=tuple(lost)))
    assert {value for by_seed in values.values() for value in by_seed.values()} == {0.0}


@pytest.mark.checks("EX-23")
def test_files_and_figure_have_the_same_numbers(tmp_path: Path) -> None:
    found = made_up(jobs(EXPERIMENT))
    paths = [*write_responses(found, tmp_path)]
    assert [path.name for path in paths] == ["response.csv", "gains.csv", "sides.csv"]
    assert paths[1].read_text().count("0.5") >= 1
    assert "both" in paths[2].read_text()
    written = plot(found, tmp_path / "plots")
    assert "utility.png" in {path.name for path in written}
    for path in written:
        if path.suffix == ".png":
            assert imread(path).std() > 0
        else:
            assert ElementTree.parse(path).getroot().tag.endswith("svg")


@pytest.mark.checks("EX-23")
def test_an_experiment_without_segments_has_none_of_these_tables(tmp_path: Path) -> None:
    demo = load("demo")
    header = {"format": FORMAT, "experiment": experiment_document(demo), "agents": 20, "jobs": []}
    found = Results(header, (), {})
    assert setting_of(found) is None
    assert (gains(found), responses(found), sides(found)) == ([], [], [])
    assert [*write_responses(found, tmp_path)] == []
