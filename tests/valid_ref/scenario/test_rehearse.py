"""Rehearsals: the batched form gives the machine's integers, and none is run twice."""

import json
import math

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from valid_ref.guarantees.calibration import CalibrationError, Limits, Tails, calibrate
from valid_ref.losses import Noise
from valid_ref.protocols.parameters import ParameterError
from valid_ref.scenario import Scenario, parts, prepare
from valid_ref.scenario.build import kept_rehearsals, rehearse_document, without_checks
from valid_ref.scenario.rehearse import rehearse, rehearse_one
from valid_ref.scenario.weightings import with_weights

NOISY = Scenario(
    graph=parts.Family("star:4"),
    loss=parts.RandomRidge(dimension=2, samples=6),
    rounds=5,
    seed=3,
    checks=(
        parts.Check("t", parts.Polynomial(1)),
        parts.Check("late", parts.Exponential(0.5, bits=60)),
    ),
)


def ready(scenario: Scenario):
    parameters, problem, _notes = without_checks(scenario)
    return with_weights(scenario, parameters), problem


@pytest.mark.checks("GU-12", "GV-9")
@settings(max_examples=20)
@given(
    st.sampled_from(["path:2", "star:5", "complete:4", "cycle:5"]),
    st.sampled_from(
        [
            parts.RandomRidge(dimension=3, samples=4),
            parts.RandomLogistic(dimension=2, samples=5),
            parts.RandomQuadratics(dimension=1, noise=Noise.SIGNS, spread=0.5),
        ]
    ),
    st.integers(1, 6),
    st.integers(1, 3),
    st.lists(st.integers(0, 99), min_size=1, max_size=20),
    st.sampled_from([(), ("P27",)]),
)
def test_many_rehearsals_at_a_time_are_those_of_the_machine(
    graph, loss, rounds, batch, indices, without
) -> None:
    scenario = attrs.evolve(
        NOISY,
        graph=parts.Family(graph),
        loss=loss,
        rounds=rounds,
        batch=batch,
        without=without,
    )
    parameters, problem = ready(scenario)
    expected = [rehearse_one(parameters, problem, index) for index in indices]
    assert rehearse(parameters, problem, indices) == expected


@pytest.mark.checks("GU-12")
@pytest.mark.parametrize("without", ["P27", "P17"])
def test_in_other_readings_the_machine_itself_rehearses(without: str) -> None:
    parameters, problem = ready(attrs.evolve(NOISY, without=(without,)))
    assert rehearse(parameters, problem, [0, 1]) == [
        rehearse_one(parameters, problem, index) for index in (0, 1)
    ]


@pytest.mark.checks("GU-12")
def test_rehearsals_differ_from_each_other_and_from_the_run() -> None:
    parameters, problem = ready(NOISY)
    found = rehearse(parameters, problem, range(10))
    assert len(set(found)) == 10
    source, other = problem.gradient_source(0), problem.rehearsal(0).gradient_source(0)
    point = parameters.start_model.astype(float)
    assert any((source(t, point) != other(t, point)).any() for t in range(1, 6))


@pytest.mark.checks("GU-12")
@pytest.mark.parametrize("form", [rehearse, lambda *a: [rehearse_one(a[0], a[1], i) for i in a[2]]])
def test_a_rehearsal_that_leaves_the_range_is_refused(form) -> None:
    steps = parts.ConstantSteps(alpha=900.0, eta=0.1)
    scenario = attrs.evolve(NOISY, schedule=steps, rounds=30, bounds=parts.NoBounds())
    parameters, problem = ready(scenario)
    with pytest.raises(CalibrationError, match="left the range"):
        form(parameters, problem, [0])


@pytest.mark.checks("GU-12", "GV-7")
def test_all_calibrated_checks_share_one_level() -> None:
    late = parts.Check("x", parts.Polynomial(2), parts.CalibratedThresholds(level=0.2))
    with pytest.raises(ParameterError, match="calibrated together"):
        prepare(attrs.evolve(NOISY, checks=(*NOISY.checks, late)))


@pytest.mark.checks("GU-12")
def test_too_few_rehearsals_for_a_level_are_refused_with_what_they_give() -> None:
    with pytest.raises(CalibrationError, match="10 rehearsals give a level of 1/11 at best"):
        parts.CalibratedThresholds(runs=10)
    with pytest.raises(ParameterError, match="pilots = 0 is not an integer from 1 to"):
        parts.CalibratedThresholds(pilots=0)


@pytest.mark.checks("GU-12")
def test_a_single_rehearsal_stands_for_all_where_there_is_no_noise() -> None:
    asked = []

    def counted(parameters, problem, indices):
        asked.append(list(indices))
        return rehearse(parameters, problem, indices)

    quiet = attrs.evolve(NOISY, loss=parts.RandomQuadratics(dimension=2))
    parameters, problem = ready(quiet)
    prepared = prepare(quiet, counted)
    prepare(NOISY, counted)
    assert asked == [[0], list(range(39))]
    (statistics,) = rehearse(parameters, problem, [0])
    for weighting, (first, second) in zip(prepared.parameters.weightings, statistics, strict=True):
        assert weighting.optimality == math.isqrt(first - 1) + 1
        assert weighting.heterogeneity == second


@pytest.mark.checks("GU-12")
def test_kept_rehearsals_are_not_run_again_and_a_torn_line_is(tmp_path) -> None:
    parameters, problem = ready(NOISY)
    seen = []
    kept = kept_rehearsals(NOISY, tmp_path, watch=lambda done, total: seen.append((done, total)))
    found = kept(parameters, problem, range(20))
    assert found == rehearse(parameters, problem, range(20))
    assert seen == [(16, 20), (20, 20)]
    seen.clear()
    attacked = attrs.evolve(NOISY, byzantine=(1,), attack=None, eps_success=None, keys=None)
    again = kept_rehearsals(attacked, tmp_path, watch=lambda *done: seen.append(done))
    assert again(parameters, problem, range(20)) == found
    assert seen == []
    lines = kept.path.read_text().splitlines()
    kept.path.write_text("\n".join([*lines[:7], lines[7][:-3]]))
    assert again(parameters, problem, range(20)) == found
    assert seen == [(20, 20)]


@pytest.mark.checks("GU-12")
def test_another_problem_never_finds_these_lines(tmp_path) -> None:
    path = kept_rehearsals(NOISY, tmp_path).path
    for change in (
        {"seed": 4},
        {"rounds": 6},
        {"batch": 2},
        {"graph": parts.Family("path:4")},
        {"checks": NOISY.checks[:1]},
        {"without": ("P27",)},
    ):
        assert kept_rehearsals(attrs.evolve(NOISY, **change), tmp_path).path != path


@pytest.mark.checks("GU-12")
def test_rehearsals_in_two_processes_are_the_same(tmp_path) -> None:
    parameters, problem = ready(NOISY)
    kept = kept_rehearsals(NOISY, tmp_path, jobs=2)
    assert kept(parameters, problem, range(20)) == rehearse(parameters, problem, range(20))
    assert rehearse_document(kept.document, [5]) == rehearse(parameters, problem, [5])


@pytest.mark.checks("GU-12")
def test_a_cache_that_cannot_be_written_or_holds_nonsense_costs_only_time(tmp_path) -> None:
    parameters, problem = ready(NOISY)
    blocked = tmp_path / "file"
    blocked.write_text("x")
    expected = rehearse(parameters, problem, [0])
    assert kept_rehearsals(NOISY, blocked)(parameters, problem, [0]) == expected
    kept = kept_rehearsals(NOISY, tmp_path)
    nonsense = [{"index": 0, "statistics": [[1, 1]]}, {"index": "0"}, 7, {"statistics": []}]
    kept.path.write_text("\n".join(map(json.dumps, nonsense)) + "\n")
    assert kept(parameters, problem, [0]) == expected


@pytest.mark.checks("GU-12", "AN-17")
@pytest.mark.parametrize(("mean", "apart"), [(100.0, 5e-7), (30.0, 1e-7), (1000.0, 1e-6)])
def test_noise_that_a_variance_in_floats_misses_is_rehearsed(mean: float, apart: float) -> None:
    """The variance of these targets cancels to zero in floats; the noise is there all the same."""
    asked = []

    def counted(parameters, problem, indices):
        asked.append(len(indices))
        return rehearse(parameters, problem, indices)

    one = parts.DataAgent(((1.0,), (1.0,)), (mean + apart, mean - apart))
    loss = parts.Ridge((one,) * 4, 0.5)
    scenario = Scenario(graph=parts.Family("complete:4"), loss=loss, rounds=8, seed=0)
    prepared = prepare(scenario, counted)
    assert asked == [39]
    assert not prepared.problem.noiseless
    same = parts.DataAgent(((1.0,), (1.0,)), (mean, mean))
    quiet = attrs.evolve(scenario, loss=parts.Ridge((same,) * 4, 0.5))
    assert prepare(quiet).problem.noiseless


@pytest.mark.checks("GU-12")
@pytest.mark.parametrize("runs", [10**6 + 1, 10**21])
def test_more_rehearsals_than_anybody_runs_are_refused(runs: int) -> None:
    with pytest.raises(ParameterError, match="is not an integer from 1 to 1000000"):
        parts.CalibratedThresholds(runs=runs)


@pytest.mark.checks("GU-12")
@pytest.mark.parametrize(
    "line", ["1" * 5000, "[" * 100_000, '{"index": 0, "statistics": [[-5, 1], [1, 1]]}']
)
def test_whatever_lies_in_the_cache_is_not_believed_if_it_cannot_be(tmp_path, line: str) -> None:
    parameters, problem = ready(NOISY)
    kept = kept_rehearsals(NOISY, tmp_path)
    kept.path.write_text(line + "\n")
    assert kept(parameters, problem, [0]) == rehearse(parameters, problem, [0])


@pytest.mark.checks("GU-12")
def test_without_a_directory_nothing_is_kept() -> None:
    parameters, problem = ready(NOISY)
    kept = kept_rehearsals(NOISY, None)
    assert kept.path is None
    assert kept(parameters, problem, [0]) == rehearse(parameters, problem, [0])


@pytest.mark.checks("GU-12", "GV-7")
@pytest.mark.parametrize("tails", Tails)
def test_thresholds_come_from_the_pilots_and_the_runs_after_them(tails: Tails) -> None:
    part = parts.CalibratedThresholds(level=0.5, runs=9, pilots=4, tails=tails)
    checks = tuple(attrs.evolve(check, thresholds=part) for check in NOISY.checks)
    scenario = attrs.evolve(NOISY, checks=checks)
    parameters, problem = ready(scenario)
    runs = rehearse(parameters, problem, range(13))
    expected = calibrate(runs[:4], runs[4:], level=0.5, tails=tails)
    found = prepare(scenario).parameters.weightings
    names = [field.name for field in attrs.fields(Limits)]
    assert [[getattr(one, name) for name in names] for one in found] == [
        [getattr(one, name) for name in names] for one in expected
    ]
    assert expected != calibrate(runs[:4], runs, level=0.5, tails=tails)
