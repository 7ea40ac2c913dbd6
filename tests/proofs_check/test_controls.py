"""Negative controls: every universal step has a model once one hypothesis is weakened."""

import pytest

from proofs_check.engines import control
from proofs_check.framework import Step
from proofs_check.registry import load_all, steps_of

UNIVERSAL = [step for step in steps_of(load_all(), deep=True) if step.claim is not None]


@pytest.mark.parametrize("step", UNIVERSAL, ids=lambda step: step.name)
def test_without_one_hypothesis_the_solver_finds_a_model(step: Step) -> None:
    assert step.claim is not None
    finding = control(step.claim())
    assert finding.holds, f"{step.name}: {finding.detail}"
