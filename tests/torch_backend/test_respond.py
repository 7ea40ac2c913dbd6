"""Runs that respond to alarms: what is discarded, what goes on, and that a stop changes nothing."""

import errno
import json
import os
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from unittest import mock

import attrs
import pytest
import torch

from tests.torch_backend.killing import contents
from torch_backend.calibrate import alarms
from torch_backend.config.build import build_program, load_data, measuring_weightings
from torch_backend.config.experiment import Experiment, Job, jobs
from torch_backend.config.load import load
from torch_backend.distributed import Alone, Team
from torch_backend.engine import Said, State, advance, start
from torch_backend.errors import ConfigError
from torch_backend.estimates import statistics
from torch_backend.experiments import run_experiment
from torch_backend.false_alarms import LINES, Study, run_study
from torch_backend.job import summary_of
from torch_backend.process import Options, StoppedError
from torch_backend.program import Program
from torch_backend.respond import ResponseError, back, require_alone
from torch_backend.responses import setting_of
from torch_backend.results import SEGMENTS, Results, read_results
from torch_backend.rules import ClippedGossip, Respond, ValidRule
from torch_backend.segments import (
    first_alarm,
    prefix,
    prefix_state,
    segment_groups,
    segment_setting,
    segment_thresholds,
)
from valid_ref.alarms import Alarm, Raised

TINY = """
about = "tiny"
data = { kind = "digits" }
graph = { kind = "family", name = "complete:4" }
model = { kind = "softmax" }
partition = { kind = "iid" }
batch = 8
rounds = 12
seeds = [3]
rules = ["valid", "clipped-gossip", "respond:then=clipped-gossip"]
attacks = ["none", "gaussian:sigma=1,keeps=true,first=5,last=8"]
byzantine = [3]
validation = "lean"
response = { segments = 3 }
evaluation = { every = 3 }
detection = { gammas = [0.5, 0.9], level = 0.1, pilots = 2, tails = "both" }
"""
CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("tiny") / "tiny.toml"
    path.write_text(TINY)
    return str(path)


@pytest.fixture(scope="module")
def cache(tiny: str) -> Options:
    """Calibration runs are made once for all tests of this file."""
    return Options(cache=Path(tiny).parent / "cache", checkpoint_every=3)


@pytest.fixture(scope="module")
def whole(tiny: str, cache: Options) -> Path:
    directory = Path(tiny).parent / "whole"
    run_experiment(load(tiny), directory, cache)
    return directory


def one(found: Results, rule: str, attack: str) -> dict[str, Any]:
    [summary] = [
        s
        for s in found.summaries
        if s["purpose"] == "measure" and (s["rule"]["kind"], s["attack"]["kind"]) == (rule, attack)
    ]
    return summary


def program_of(experiment: Experiment, rule: Any, attack: int, estimate: Any = "none") -> Program:
    job = Job("measure", rule, experiment.attacks[attack], experiment.seeds[0])
    data = load_data(experiment, None)
    program = build_program(experiment, job, data, CPU, measuring_weightings(experiment))
    return attrs.evolve(program, estimate=estimate, chunk=1)


def reached(program: Program, state: State, t: int) -> State:
    while state.t < t:
        state, _said = advance(program, state)
    return state


@pytest.mark.checks("EX-21")
def test_without_an_alarm_a_run_that_responds_has_the_bits_of_a_plain_one(whole: Path) -> None:
    found = read_results(whole)
    plain, ours = one(found, "valid", "none"), one(found, "respond", "none")
    assert ours["response"]["alarm"] is None
    assert [s["valid"] for s in ours["response"]["segments"]] == [4, 4, 4]
    assert ours["models"] == plain["models"]
    assert ours["final"] == plain["final"]
    assert found.rows[ours["job"]] == found.rows[plain["job"]]


@pytest.mark.checks("EX-21")
def test_a_discarded_segment_leaves_no_trace(tiny: str, whole: Path, cache: Options) -> None:
    ours = one(read_results(whole), "respond", "gaussian")
    response = ours["response"]
    assert (response["alarm"], response["validated"]["round"]) == (2, 4)
    assert [segment["end"] for segment in response["segments"]] == [4, 8]
    experiment = load(tiny)
    before = program_of(experiment, ValidRule(), 1)
    kept = reached(before, start(before), 4)
    after = program_of(experiment, ClippedGossip(), 1)
    last = reached(after, back(kept, after, 8), 12)
    job = Job("measure", experiment.rules[2], experiment.attacks[1], 3)
    assert summary_of(unmeasured(after), job, last)["models"] == ours["models"]
    louder = 'attacks=["gaussian:sigma=7,keeps=true,first=5,last=8"]'
    other = run_experiment(
        load(tiny, changes=[louder, 'rules=["respond:then=clipped-gossip"]']),
        whole.parent / "louder",
        cache,
    )
    again = one(other, "respond", "gaussian")
    assert again["response"]["alarm"] == 2
    assert again["models"] == ours["models"]
    plain = one(read_results(whole), "valid", "gaussian")
    assert plain["models"] != ours["models"]


def unmeasured(program: Program) -> Program:
    return attrs.evolve(program, parameters=attrs.evolve(program.parameters, weightings=()))


@pytest.mark.checks("EX-21")
def test_training_stops_at_the_last_validated_models_or_goes_on_plain(
    tiny: str, whole: Path, cache: Options
) -> None:
    changes = [
        'rules=["respond:then=stop", "respond:then=plain"]',
        'attacks=["gaussian:sigma=1,keeps=true,first=5,last=8"]',
    ]
    found = run_experiment(load(tiny, changes=changes), whole.parent / "stop", cache)
    stopped, plain = [s for s in found.summaries if s["purpose"] == "measure"]
    experiment = load(tiny)
    program = program_of(experiment, ValidRule(), 1)
    kept = reached(program, start(program), 4)
    job = Job("measure", experiment.rules[2], experiment.attacks[1], 3)
    assert stopped["models"] == summary_of(unmeasured(program), job, kept)["models"]
    assert stopped["final"]["accuracy"] == stopped["response"]["validated"]["accuracy"]
    assert stopped["rounds"] == 12
    last = reached(program, back(kept, program, 8), 12)
    assert plain["models"] == summary_of(unmeasured(program), job, last)["models"]


@pytest.fixture(scope="module", params=[0, 1])
def alone(request: pytest.FixtureRequest, tiny: str, cache: Options) -> tuple[Experiment, Path]:
    """One run that responds, without and with the attack, and its results."""
    experiment = load(tiny, changes=['rules=["respond:then=clipped-gossip"]'])
    found = attrs.evolve(experiment, attacks=(experiment.attacks[request.param],))
    directory = Path(tiny).parent / f"alone-{request.param}"
    run_experiment(found, directory, cache)
    return found, directory


def stopped(experiment: Experiment, directory: Path, options: Options, rounds: int) -> None:
    """Begin, and stop when it has been asked so often."""
    asked = iter(range(1000))
    with pytest.raises(StoppedError):
        run_experiment(experiment, directory, options, stop=lambda: next(asked) >= rounds)


@pytest.mark.checks("EX-14", "EX-21")
@pytest.mark.parametrize("rounds", [1, 3, 4, 5, 7, 8, 9, 11])
def test_a_run_stopped_anywhere_ends_with_the_same_bytes(
    tmp_path: Path, alone: tuple[Experiment, Path], cache: Options, rounds: int
) -> None:
    experiment, whole = alone
    stopped(experiment, tmp_path, cache, rounds)
    run_experiment(experiment, tmp_path, cache)
    assert contents(tmp_path) == contents(whole)
    assert not [*tmp_path.rglob("*.npz")]


@pytest.mark.checks("EX-14", "EX-21")
@pytest.mark.parametrize("written", [22, 25, 27, 30, 33, 36, 38, 41, 44, 47])
def test_a_full_disk_costs_no_result(
    tmp_path: Path, alone: tuple[Experiment, Path], cache: Options, written: int
) -> None:
    """Of so many files the last cannot be brought to the disk; the same call then goes on."""
    experiment, whole = alone
    stopped(experiment, tmp_path, cache, 0)  # calibration is done
    room, sync = iter(range(written)), os.fsync

    def fsync(handle: int) -> None:
        if next(room, None) is None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        sync(handle)

    with mock.patch.object(os, "fsync", fsync), pytest.raises(OSError, match="No space left"):
        run_experiment(experiment, tmp_path, cache)
    run_experiment(experiment, tmp_path, cache)
    assert contents(tmp_path) == contents(whole)


@pytest.mark.checks("EX-21")
@pytest.mark.parametrize("name", ["curve.csv", "validated.npz", "segments.jsonl"])
def test_files_that_do_not_belong_together_begin_the_job_anew(
    tmp_path: Path, alone: tuple[Experiment, Path], cache: Options, name: str
) -> None:
    experiment, whole = alone
    stopped(experiment, tmp_path, cache, 10)
    [path] = (tmp_path / "jobs").glob(f"*respond*/{name}")
    path.unlink()
    run_experiment(experiment, tmp_path, cache)
    assert contents(tmp_path) == contents(whole)


@pytest.mark.checks("EX-21")
def test_a_damaged_line_of_a_segment_is_refused_by_name(
    tmp_path: Path, tiny: str, cache: Options
) -> None:
    experiment = load(tiny, changes=['rules=["respond:then=stop"]', 'attacks=["none"]'])
    stopped(experiment, tmp_path / "run", cache, 6)
    [path] = (tmp_path / "run").rglob(SEGMENTS)
    path.write_text('{"end": 4}\n')
    with pytest.raises(ResponseError, match=r"segments\.jsonl is damaged .*; remove it"):
        run_experiment(experiment, tmp_path / "run", cache)


@pytest.mark.checks("EX-21", "EX-22")
def test_the_alarm_is_in_the_segment_where_the_statistics_of_the_plain_run_have_it(
    whole: Path,
) -> None:
    found = read_results(whole)
    setting = setting_of(found)
    assert setting is not None
    groups = segment_thresholds(setting, found.summaries)
    for attack in ("none", "gaussian"):
        alarm = first_alarm(setting, groups, one(found, "valid", attack))
        assert one(found, "respond", attack)["response"]["alarm"] == (alarm and alarm[0])
    assert setting.achieved <= Fraction(1, 10)


@pytest.mark.checks("EX-21")
@pytest.mark.parametrize("estimate", ["agents", "counted"])
def test_a_segment_is_judged_as_a_run_that_was_planned_to_end_there(
    tiny: str, estimate: str
) -> None:
    experiment = load(tiny)
    program = program_of(experiment, ValidRule(), 1, estimate)
    state = reached(program, start(program), 8)
    setting_groups = measuring_weightings(load(tiny, changes=["rounds=8", "response.segments=1"]))
    short = prefix(program, 8, 1, setting_groups)
    planned = attrs.evolve(short, coins=program.coins)
    assert planned.rounds == 8
    own = reached(planned, start(planned), 8)
    assert torch.equal(own.models, state.models)
    assert statistics(short, prefix_state(short, state, slice(2, 4))) == statistics(planned, own)
    assert short.coins != program.coins
    assert short.parameters.lean != program.parameters.lean


@pytest.mark.checks("AR-14", "EX-16", "EX-21")
def test_an_honest_agent_that_leaves_the_range_is_an_alarm_of_its_segment(
    tmp_path: Path, tiny: str, cache: Options
) -> None:
    raised = Raised(Alarm.OWN_UPDATE_OUT_OF_RANGE, "LearnModel", 7, about=0)

    def losing(program: Program, state: State) -> tuple[State, Said]:
        """As the engine does it, but that agent 0 is lost in round 7."""
        found, said = advance(program, state)
        if found.t != 7:
            return found, said
        own = ((raised,), *found.alarms[1:])
        return attrs.evolve(found, silent=frozenset({0}), alarms=own), said

    changes = ['rules=["respond:then=clipped-gossip"]']
    with mock.patch("torch_backend.respond.advance", losing):
        found = run_experiment(load(tiny, changes=changes), tmp_path / "run", cache)
    ours = one(found, "respond", "gaussian")
    last = ours["response"]["segments"][-1]
    assert (last["end"], last["lost"], last["valid"], last["before"]) == (8, 7, 0, None)
    assert "OWN_UPDATE_OUT_OF_RANGE" in {alarm["reason"] for alarm in last["alarms"]}
    assert ours["outcome"] == "finished"
    assert [row.round for row in found.rows[ours["job"]]] == [1, 3, 6, 9, 12]


@pytest.mark.checks("EX-21")
def test_the_paper_s_validation_judges_segments_too(
    tmp_path: Path, tiny: str, cache: Options
) -> None:
    changes = ['validation="paper"', 'rules=["respond:then=stop"]']
    found = run_experiment(load(tiny, changes=changes), tmp_path / "run", cache)
    assert one(found, "respond", "none")["response"]["alarm"] is None
    assert one(found, "respond", "gaussian")["response"]["alarm"] == 2


@pytest.mark.checks("EX-21", "EX-22")
@pytest.mark.parametrize(
    ("change", "words"),
    [
        ('rules=["respond:then=valid"]', "clipped-gossip"),
        ('rules=["respond:then=respond"]', "respond"),
        ("response.segments=13", "13 segments of 12 rounds"),
        ("response.segments=0", "an integer from 1 on"),
        ("validate=true", "leave out validate"),
        ("detection.gammas=[]", "name a gamma"),
        ('response.share="split"', "needs 30"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_run(
    tiny: str, change: str, words: str
) -> None:
    with pytest.raises(ConfigError, match=words):
        load(tiny, changes=[change])


@pytest.mark.checks("EX-21")
def test_a_rule_that_responds_needs_segments_and_one_process(tiny: str) -> None:
    with pytest.raises(ConfigError, match="say after how many"):
        Experiment("x", rules=(Respond("stop"),))

    experiment = load(tiny)
    require_alone(Alone(), experiment.rules)
    with pytest.raises(ConfigError, match="without torchrun"):
        require_alone(cast("Team", SimpleNamespace(processes=2)), experiment.rules)


@pytest.mark.checks("EX-19", "EX-22")
@pytest.mark.parametrize("share", ["joint", "split"])
def test_honest_runs_are_judged_in_all_segments(tmp_path: Path, tiny: str, share: str) -> None:
    changes = [
        f'response={{segments=2, share="{share}"}}',
        "detection.level=0.5",
        "rounds=4",
        'attacks=["none"]',
    ]
    study = Study(load(tiny, changes=[*changes, "detection.runs=3"]), 3)
    found = run_study(study, tmp_path / "study", Options())
    setting = segment_setting(study.experiment)
    known = {
        entry["seed"]: tuple(map(tuple, entry["statistics"]))
        for entry in map(json.loads, (tmp_path / "study" / LINES).read_text().splitlines())
    }
    pilots, count = [known[seed] for seed in study.pilots], 0
    for ranked, own in study.sets():
        groups = segment_groups(setting, pilots, [known[seed] for seed in ranked])
        checks = [weighting for group in groups for weighting in group]
        count += any(any(alarms(c, s)) for c, s in zip(checks, known[own], strict=True))
    assert (found.judged, found.alarms) == (3, count)
    assert found.level == float(setting.achieved) <= 0.5


@pytest.mark.checks("EX-22")
def test_calibration_runs_are_measured_in_every_segment(tiny: str, whole: Path) -> None:
    named = {job.name for job in jobs(load(tiny)) if job.purpose != "measure"}
    for summary in read_results(whole).summaries:
        if summary["job"] in named:
            assert len(summary["statistics"]) == 6


@pytest.mark.checks("EX-21")
def test_the_lines_of_the_segments_are_those_of_the_summary(whole: Path) -> None:
    for path in whole.rglob(SEGMENTS):
        summary = json.loads((path.parent / "summary.json").read_text())
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        assert lines == summary["response"]["segments"]
