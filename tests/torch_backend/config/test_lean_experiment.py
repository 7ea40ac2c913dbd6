"""Experiments with lean validation: their range, their parameters, what is refused."""

import attrs
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.torch_backend.runs import program
from torch_backend.config.build import (
    build_program,
    job_coins,
    load_data,
    measuring_weightings,
    within_lean_range,
)
from torch_backend.config.experiment import Experiment, jobs
from torch_backend.config.load import load, presets
from torch_backend.errors import ConfigError
from valid_ref.errors import ValidRefError
from valid_ref.graph_families import parse_family
from valid_ref.protocols.parameters import (
    Bounds,
    LeanParameters,
    ParameterError,
    ValidParameters,
    exponential_weights,
    make_weighting,
)

LEAN = ("validate=true", "validation=lean")


def changed(*changes: str) -> Experiment:
    return load("demo", changes=changes)


@pytest.mark.checks("LE-3", "EX-17")
@given(
    st.sampled_from([0.0, 0.9, 1.0]),
    st.integers(1, 60),
    st.integers(1, 5),
    st.none() | st.integers(0, 2**60),
)
def test_the_range_is_the_largest_in_which_no_sum_can_wrap(
    gamma: float, bits: int, rounds: int, bound: int | None
) -> None:
    run = program(parse_family("cycle:5"), rounds=rounds)
    weights = exponential_weights(rounds, gamma, bits)
    weighting = make_weighting("w", weights, 5, 28, optimality=1.0, heterogeneity=1.0)
    bounds = None if bound is None else Bounds((1,) * rounds, (bound,) * rounds)
    whole = attrs.evolve(run.parameters, weightings=(weighting,), bounds=bounds)
    found = within_lean_range(whole)
    lean = LeanParameters(1, "00" * 32)
    assert attrs.evolve(found, lean=lean).lean == lean
    limit = found.lattice.gradient_limit
    assert attrs.evolve(found, lattice=whole.lattice) == whole
    if limit < whole.lattice.gradient_limit:
        with pytest.raises(ParameterError, match="could wrap"):
            _with_limit(found, limit + 1, lean)


def _with_limit(parameters: ValidParameters, limit: int, lean: LeanParameters) -> None:
    lattice = attrs.evolve(parameters.lattice, gradient_limit=limit)
    attrs.evolve(parameters, lattice=lattice, lean=lean)


@pytest.mark.checks("EX-17", "LE-1", "LE-4")
def test_a_job_has_the_parameters_of_its_experiment() -> None:
    experiment = changed(*LEAN, "kappa=3", "rounds=4")
    names = []
    for job in jobs(experiment)[-2:]:
        data, weightings = load_data(experiment, None), measuring_weightings(experiment)
        found = build_program(experiment, job, data, torch.device("cpu"), weightings)
        lean = found.parameters.lean
        assert lean is not None
        assert (lean.kappa, lean.without) == (3, ())
        assert lean.run == job_coins(experiment, job).child("run").secret.hex()
        names.append(lean.run)
    assert len(set(names)) == len(names)
    paper = changed("rounds=4")
    job = jobs(paper)[-1]
    assert build_program(paper, job, data, torch.device("cpu")).parameters.lean is None


@pytest.mark.checks("EX-17", "LE-1", "LE-3")
@pytest.mark.parametrize(
    ("change", "clause"),
    [
        ("kappa=0", "EX-12"),
        ("kappa=65", "LE-1"),
        ("detection.bits=17", "LE-3"),
        ("validation=leaner", "EX-12"),
    ],
)
def test_what_lean_validation_cannot_have_is_refused(change: str, clause: str) -> None:
    with pytest.raises(ValidRefError) as refused:
        changed(*LEAN, change)
    assert refused.value.clause == clause


@pytest.mark.checks("EX-17")
@pytest.mark.parametrize("name", presets())
def test_every_preset_takes_lean_validation_with_one_change(name: str) -> None:
    plain = load(name)
    assert load(name, changes=["validation=lean"]) == attrs.evolve(
        plain, validation="lean", detection=attrs.evolve(plain.detection, bits=16)
    )
    fewer = load(name, changes=["validation=lean", "detection.bits=8"])
    assert fewer.detection.bits == 8
    assert load(name, changes=["validation=lean", "detection.level=0.1"]).detection.bits == 16


def test_heavy_weights_are_refused_with_what_helps() -> None:
    with pytest.raises(ConfigError, match=r"set detection\.bits=16"):
        changed("validation=lean", "detection.bits=30")
    with pytest.raises(ConfigError, match=r"set detection\.bits=16"):
        attrs.evolve(changed(), validation="lean")
    assert changed("validation=lean", "detection.gammas=[]", "detection.bits=30").kappa == 2
