"""Honest runs judged by honest runs of their own: which seeds, what is counted, what is kept."""

import itertools
import json
from pathlib import Path

import attrs
import pytest

from tests.torch_backend.killing import EXPERIMENT
from torch_backend.config.experiment import DetectionOptions, Experiment
from torch_backend.config.load import load
from torch_backend.data.dataset import load_digits
from torch_backend.errors import ConfigError
from torch_backend.experiments import run_experiment
from torch_backend.false_alarms import (
    LINES,
    FalseAlarms,
    Study,
    StudyError,
    honest_statistics,
    judge,
    run_study,
)
from torch_backend.process import Options, StoppedError
from torch_backend.results import ResultsError, read_results
from valid_ref.guarantees.calibration import Statistics


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Experiment:
    path = tmp_path_factory.mktemp("tiny") / "tiny.toml"
    path.write_text(EXPERIMENT)
    return load(str(path), changes=["rounds=4", "validate=false", 'rules=[{kind="valid"}]'])


@pytest.mark.checks("EX-19")
def test_no_seed_is_used_twice() -> None:
    study = Study(Experiment("x"), 7)
    assert len(study.seeds) == len(set(study.seeds)) == 5 + 7 * 20
    assert study.seeds == list(range(1000, 1145))
    assert [len(ranked) for ranked, _own in study.sets()] == [19] * 7
    more = Study(Experiment("x"), 8)
    assert more.seeds[: len(study.seeds)] == study.seeds  # what was judged stays


def run_of(length: int) -> Statistics:
    return ((length**2, length**2),)


@pytest.mark.checks("EX-19")
def test_a_run_is_judged_by_its_own_set_alone() -> None:
    """Level 1/4: three are ranked; the first judged run is above its three, the second is not."""
    part = DetectionOptions(gammas=(0.5,), level=0.25, pilots=2, first_seed=0)
    study = Study(Experiment("x", seeds=(99,), detection=part), 2)
    lengths = [100, 104, 101, 102, 103, 110, 120, 130, 140, 139]
    known = {seed: run_of(length) for seed, length in enumerate(lengths)}
    assert judge(study, known) == FalseAlarms(2, 1, 0.25)
    assert judge(study, known | {5: run_of(103)}).alarms == 0
    assert judge(study, known | {9: run_of(141)}).alarms == 2
    assert judge(study, known | {5: run_of(1), 9: None}).alarms == 1  # who diverges has alarmed
    for seed in (0, 4):
        with pytest.raises(StudyError, match=f"seed {seed} diverged"):
            judge(study, known | {seed: None})


@pytest.mark.checks("EX-15", "EX-19")
def test_the_interval_is_printed() -> None:
    found = FalseAlarms(1000, 37, 0.05)
    assert "37 of 1000 honest runs alarm: 0.0370" in str(found)
    assert "0.0262 to 0.0506" in str(found)
    assert found.document()["high"] == pytest.approx(0.0506411)


@pytest.mark.checks("EX-10", "EX-19")
@pytest.mark.parametrize("common", [None, 3])
def test_statistics_are_those_of_calibration_runs(
    tmp_path: Path, tiny: Experiment, common: int | None
) -> None:
    """The same seeds give the same integers in an experiment, evaluated and checkpointed."""
    chosen = attrs.evolve(tiny, common_seed=common, attacks=tiny.attacks[:1])
    run_experiment(chosen, tmp_path / "run", Options())
    expected = {
        summary["seed"]: tuple((s["optimality"], s["heterogeneity"]) for s in summary["statistics"])
        for summary in read_results(tmp_path / "run").summaries
    }
    seeds = sorted(expected)
    found = dict(honest_statistics(chosen, load_digits(), Options(), seeds))
    assert found == expected
    assert {len(one) for one in found.values() if one is not None} == {2}
    assert len(set(found.values())) == len(seeds)


@pytest.mark.checks("EX-14", "EX-19")
def test_a_study_goes_on_where_it_stopped_and_can_be_extended(
    tmp_path: Path, tiny: Experiment
) -> None:
    chosen = attrs.evolve(tiny, common_seed=1)
    whole = run_study(Study(chosen, 3), tmp_path / "whole", Options())
    lines = (tmp_path / "whole" / LINES).read_text()
    assert len(lines.splitlines()) == 2 + 3 * 4
    asked = itertools.count(1)
    with pytest.raises(StoppedError):
        run_study(Study(chosen, 3), tmp_path / "run", Options(), stop=lambda: next(asked) == 5)
    path = tmp_path / "run" / LINES
    assert path.read_text() == "".join(lines.splitlines(keepends=True)[:5])
    path.write_text(path.read_text() + lines.splitlines()[5][:30])  # as a kill would leave it
    done: list[int] = []
    small = run_study(
        Study(chosen, 2), tmp_path / "run", Options(), watch=lambda now, _all: done.append(now)
    )
    assert done == [6, 7, 8, 9, 10]
    assert small.judged == 2
    assert run_study(Study(chosen, 3), tmp_path / "run", Options()) == whole
    assert path.read_text() == lines
    assert run_study(Study(chosen, 3), tmp_path / "run", Options(), watch=_computed) == whole
    assert json.loads((tmp_path / "run" / "false-alarms.json").read_text())["judged"] == 3


def _computed(*_numbers: int) -> None:
    pytest.fail("computed again")


@pytest.mark.checks("EX-14", "EX-19")
def test_several_processes_find_the_same(tmp_path: Path, tiny: Experiment) -> None:
    study = Study(tiny, 2)
    one = run_study(study, tmp_path / "one", Options())
    assert run_study(study, tmp_path / "two", Options(), processes=2) == one
    found = [sorted((tmp_path / name / LINES).read_text().splitlines()) for name in ("one", "two")]
    assert found[0] == found[1]


@pytest.mark.checks("EX-14", "EX-19")
def test_what_is_no_study_is_refused(tmp_path: Path, tiny: Experiment) -> None:
    with pytest.raises(StudyError, match="0 runs to be judged"):
        Study(tiny, 0)
    with pytest.raises(StudyError, match="0 gammas"):
        Study(attrs.evolve(tiny, detection=DetectionOptions(gammas=())), 1)
    chosen = attrs.evolve(tiny, common_seed=1)
    run_study(Study(chosen, 1), tmp_path / "run", Options())
    with pytest.raises(ConfigError, match=r"experiment\.common_seed: 1 there, 2 asked for"):
        run_study(Study(attrs.evolve(tiny, common_seed=2), 1), tmp_path / "run", Options())
    with pytest.raises(ResultsError, match="is not of the format"):
        run_experiment(chosen, tmp_path / "run", Options())
