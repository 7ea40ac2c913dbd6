"""Every fast step of every proof comes out as it must, and as the manifest says."""

import pytest

from proofs_check.framework import Step
from proofs_check.manifest import read_manifest
from proofs_check.registry import load, load_all, steps_of
from proofs_check.runner import run_step

RECORDED = read_manifest()


def check(steps: tuple[Step, ...]) -> None:
    for step in steps:
        outcome = run_step(step)
        assert outcome.as_expected, f"{step.name}: {outcome.result.value}, {outcome.detail}"
        assert outcome.result.value == RECORDED[step.name]["result"]


def fast(name: str) -> tuple[Step, ...]:
    return steps_of((load(name),), deep=False)


@pytest.mark.checks("HA-5", "HA-6", "HA-7", "HA-8", "HA-10", "HA-11", "AR-13")
def test_hash() -> None:
    check(fast("hash"))


@pytest.mark.checks("V1", "V2", "V3", "V4", "V5", "VS1")
def test_broadcast() -> None:
    check(fast("broadcast"))


@pytest.mark.checks("S1", "S2", "S3", "S4")
def test_agreement() -> None:
    check(fast("agreement"))


@pytest.mark.checks("AN-1")
def test_contraction() -> None:
    check(fast("contraction"))


@pytest.mark.checks("AN-4")
def test_mixing() -> None:
    check(fast("mixing"))


@pytest.mark.checks("AN-2", "AN-3")
def test_perturbation() -> None:
    check(fast("perturbation"))


@pytest.mark.checks("AN-5", "AN-6")
def test_bounded() -> None:
    check(fast("bounded"))


@pytest.mark.checks("AN-7")
def test_consensus() -> None:
    check(fast("consensus"))


@pytest.mark.checks("AN-8")
def test_theorem_3() -> None:
    check(fast("theorem3"))


@pytest.mark.checks("AN-16", "GV-1")
def test_weights() -> None:
    check(fast("weights"))


@pytest.mark.checks("GV-11", "AR-7")
def test_drift() -> None:
    check(fast("drift"))


@pytest.mark.checks("AN-15")
def test_heterogeneity() -> None:
    check(fast("heterogeneity"))


@pytest.mark.checks("GU-3", "GU-4", "GU-5", "GU-6", "GU-7")
def test_admissible() -> None:
    check(fast("admissible"))


@pytest.mark.checks("AN-9", "AN-10")
def test_theorem_1() -> None:
    check(fast("theorem1"))


@pytest.mark.checks("AN-18", "AN-19")
def test_radius() -> None:
    check(fast("radius"))


@pytest.mark.checks("AN-10", "GU-9")
def test_calibration() -> None:
    check(fast("calibration"))


@pytest.mark.checks("GU-12", "AN-17")
def test_level() -> None:
    check(fast("level"))


@pytest.mark.checks("AN-11", "VA-3", "VA-4", "VB-10")
def test_cost() -> None:
    check(fast("cost"))


@pytest.mark.checks("AN-12", "GU-11")
def test_theorem_2() -> None:
    check(fast("theorem2"))


@pytest.mark.checks("AN-13", "AN-14")
def test_remarks() -> None:
    check(fast("remarks"))


@pytest.mark.deep
@pytest.mark.parametrize("name", [proof.name for proof in load_all()])
def test_deep_steps(name: str) -> None:
    check(tuple(step for step in load(name).steps if step.deep))
