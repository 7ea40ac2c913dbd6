"""The jobs of an experiment: all combinations, calibration first, names that are files."""

import re

import pytest

from torch_backend.attacks import Gaussian
from torch_backend.config.experiment import (
    DetectionOptions,
    Experiment,
    fit_for_a_file,
    jobs,
    label,
)
from torch_backend.config.load import load, presets
from torch_backend.rules import BridgeMedian, Ubar, ValidRule


@pytest.mark.checks("EX-14")
@pytest.mark.parametrize("name", sorted(presets()))
def test_jobs_are_all_combinations_with_names_of_their_own(name: str) -> None:
    experiment = load(name)
    found = jobs(experiment)
    calibration = [job for job in found if job.purpose != "measure"]
    assert found[: len(calibration)] == tuple(calibration)
    combinations = len(experiment.rules) * len(experiment.attacks) * len(experiment.seeds)
    assert len(found) == len(calibration) + combinations
    names = [job.name for job in found]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[a-zA-Z0-9_.=+-]+", name) for name in names)


@pytest.mark.checks("EX-10")
def test_calibration_is_of_the_plain_rule_with_seeds_of_its_own() -> None:
    found = [job for job in jobs(load("detection")) if job.purpose != "measure"]
    assert [job.seed for job in found] == list(range(1000, 1024))
    assert [job.purpose for job in found] == ["pilot"] * 5 + ["calibrate"] * 19
    assert {(job.rule, job.attacked) for job in found} == {(ValidRule(), False)}
    for experiment in (
        Experiment("x", detection=DetectionOptions(gammas=())),
        Experiment("x", rules=(Ubar(), BridgeMedian())),
    ):
        assert not [job for job in jobs(experiment) if job.purpose != "measure"]


@pytest.mark.checks("EX-10")
def test_by_default_there_are_as_many_calibration_runs_as_the_level_needs() -> None:
    for level, runs in ((0.05, 19), (0.01, 99), (0.2, 4), (0.3, 3), (0.5, 1)):
        part = DetectionOptions(level=level, pilots=3)
        assert (len(part.pilot_seeds), len(part.ranked_seeds)) == (3, runs)
        assert part.seeds == tuple(range(1000, 1003 + runs))
    assert len(DetectionOptions(runs=40).ranked_seeds) == 40


def test_a_label_names_what_is_not_at_its_default() -> None:
    assert label(Ubar()) == "ubar"
    assert label(Gaussian()) == "gaussian+sigma=1.0"
    assert label(Gaussian(sigma=0.1, keeps=True)) == "gaussian+sigma=0.1+keeps"
    assert label(Ubar(rho=0.5, count="floor")) == "ubar+rho=0.5+count=floor"


@pytest.mark.checks("EX-14")
def test_the_name_of_a_file_is_short_plain_and_tells_texts_apart() -> None:
    assert fit_for_a_file("my_rules:Mean+share=0.5_none") == "my_rules.Mean+share=0.5_none"
    texts = ["a+file=x/y", "a+file=x.y", "a+file=x y", "a+file=../x", "b" * 400, "b" * 401, "ä"]
    names = [fit_for_a_file(text) for text in texts]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[a-zA-Z0-9_.=+~-]{1,180}", name) for name in names)
