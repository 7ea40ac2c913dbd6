"""The study of the certificate: its fast runs are those of the machines, and it can tell."""

import attrs
import numpy as np
import pytest

from benchmarks import certificate as study
from valid_ref.protocols.parameters import polynomial_weights


@pytest.mark.checks("GU-9")
@pytest.mark.parametrize("make", [study.outlier, study.two_values, study.unequal])
@pytest.mark.parametrize("graph", ["complete:4", "path:3"])
def test_fast_runs_have_the_statistics_of_the_machines(make, graph) -> None:
    case = attrs.evolve(make(graph, 25, lambda T: polynomial_weights(T, 1)), batch=2)
    draws = study.drawn(case, 3, seed=4)
    fast = study.simulated(case, draws)
    for run in range(3):
        exact = study.by_machine(case, draws, run)
        found = [getattr(fast, test)[run] for test in study.TESTS]
        assert found == pytest.approx(exact, rel=1e-4, abs=1e-6)


@pytest.mark.checks("GU-9")
def test_levels_hold_where_chebyshev_is_nearly_an_equation() -> None:
    """1000 runs: alarms happen, at most as often as the level says; with kurtosis 3 too often."""
    tight = study.studied(study.extreme("complete:5", 0.05), 1000, seed=3)[0]
    assert min(tight.alarms[:2]) > 10  # the certificate could not be lower by much
    assert not tight.violated(1000)
    three = study.studied(study.against_three("complete:5"), 1000, seed=3)[0]
    assert not three.violated(1000)
    assert three.three is not None
    assert study.chance_of_more(three.three, 1000, 0.05) < study.SURE
    wrong = attrs.evolve(three, alarms=(three.three, 0, 0))
    assert wrong.violated(1000)


@pytest.mark.checks("GU-9")
@pytest.mark.parametrize("make", [study.outlier, study.heavy_tails, study.unequal])
def test_levels_hold_on_bad_data(make) -> None:
    """1000 runs of 30 rounds; all of the table is made by `python -m benchmarks.certificate`."""
    for weights in (lambda T: polynomial_weights(T, 1), lambda T: (0,) * (T - 1) + (1,)):
        for row in study.studied(make("path:4", 30, weights), 1000, seed=8):
            assert not row.violated(1000)


@pytest.mark.checks("GU-9")
def test_chances_of_the_study_are_those_of_the_binomial() -> None:
    """P(Bin(10, .5) >= 8) = 56/1024, and 0 of n has the upper end 1 - .05^(1/n)."""
    assert study.chance_of_more(8, 10, 0.5) == pytest.approx(56 / 1024)
    assert study.chance_of_more(0, 10, 0.5) == 1
    assert study.upper_end(0, 1000) == pytest.approx(1 - 0.05 ** (1 / 1000))
    assert study.upper_end(10, 10) == 1
    draws = study.drawn(study.two_values("path:3", 2, lambda _T: (1, 1)), 5, seed=1)
    assert np.array_equal(
        draws, study.drawn(study.two_values("path:3", 2, lambda _T: (1, 1)), 5, 1)
    )
