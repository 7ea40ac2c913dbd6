"""Thresholds from attack-free runs, and the counts of alarms under them."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torch_backend.calibrate import Statistic, StatisticsSetting, alarms, calibrated, detection
from torch_backend.errors import ConfigError
from valid_ref.graph_families import path
from valid_ref.hashing import PrimeField
from valid_ref.lattice import default_limits, to_lattice
from valid_ref.protocols.global_validate import estimate_alarms
from valid_ref.protocols.parameters import ValidParameters, exponential_weights
from valid_ref.schedule import constant, make_schedule

SETTING = StatisticsSetting(rounds=4, agents=3, fraction_bits=28, bits=30, factor=1.1)


def statistic(length: int, gamma: float = 0.5) -> Statistic:
    """A run in which one agent has ghat = (length) and lhat = length, the others zero."""
    total = sum(exponential_weights(4, gamma, 30))
    return Statistic(f"gamma={gamma}", total, length**2, length**2)


def summary(
    length: int | None, *, attack: str = "none", purpose: str = "measure", **lengths: int
) -> Any:
    """`small` is the length under gamma = 0.25, if there is one."""
    found = [] if length is None else [statistic(length)]
    found += [statistic(lengths["small"], 0.25)] if "small" in lengths else []
    return {
        "purpose": purpose,
        "rule": {"kind": "valid", "label": "valid"},
        "attack": {"label": attack} if attack == "none" else {"label": attack, "sigma": 0.1},
        "outcome": "diverged" if length is None else "finished",
        "statistics": [
            {
                "check": s.check,
                "total": s.total,
                "optimality": s.optimality,
                "heterogeneity": s.heterogeneity,
            }
            for s in found
        ],
    }


@pytest.mark.checks("EX-10", "GU-9")
@given(
    st.lists(st.integers(1, 10**12), min_size=1, max_size=5),
    st.integers(1, 2 * 10**12),
)
def test_alarms_are_those_of_the_protocol(honest: list[int], length: int) -> None:
    """On the same integers the checks of GlobalValidate say the same, thresholds included."""
    weighting = calibrated(SETTING, 0.5, [statistic(one) for one in honest])
    graph, schedule = path(3), make_schedule(4, constant(1.0), constant(0.25))
    lattice = default_limits(1, schedule, 2)
    start = to_lattice([0.0], lattice.precision)
    parameters = ValidParameters(
        graph=graph,
        lattice=lattice,
        start_model=start,
        field=PrimeField(lattice.prime),
        bounds=None,
        weightings=(weighting,),
    )
    zero, loud = (0, 0), (length, length)
    tags = {(v, u): loud if u == 0 else zero for u in range(3) for v in graph.neighbours(u)}
    raised = {one.alarm.name for one in estimate_alarms(parameters, 0, tags, loud)}
    optimality, heterogeneity = alarms(weighting, statistic(length))
    assert optimality == ("NOT_OPTIMAL" in raised)
    assert heterogeneity == ("TOO_HETEROGENEOUS" in raised)


@pytest.mark.checks("EX-10")
@pytest.mark.parametrize(
    ("length", "raised"),
    [(109, (False, False)), (110, (False, True)), (111, (True, True))],
)
def test_the_threshold_is_a_factor_above_the_largest(
    length: int, raised: tuple[bool, bool]
) -> None:
    """Norms are compared for optimality, squares for heterogeneity: 1.1 there is 1.049 here."""
    scale = 10**9
    weighting = calibrated(SETTING, 0.5, [statistic(one * scale) for one in (100, 99)])
    assert alarms(weighting, statistic(length * scale)) == (raised[0], length >= 105)


@pytest.mark.checks("EX-10", "EX-15", "EX-16")
def test_counts_by_attack_and_gamma() -> None:
    measured = detection(
        SETTING,
        (0.5,),
        [
            *(summary(10**9 + i, purpose="calibrate") for i in range(5)),
            summary(10**9),
            summary(11 * 10**8),  # a false alarm of the heterogeneity test
            summary(2 * 10**9, attack="gaussian+sigma=0.1"),
            summary(10**9, attack="gaussian+sigma=0.1"),
            summary(None, attack="gaussian+sigma=0.1"),
        ],
    )
    quiet, loud = measured.rates
    assert (quiet.attack, quiet.sigma, quiet.runs, quiet.diverged) == ("none", 0.0, 2, 0)
    assert (quiet.optimality, quiet.heterogeneity, quiet.either) == (0, 1, 1)
    assert (loud.sigma, loud.runs, loud.diverged) == (0.1, 2, 1)
    assert (loud.optimality, loud.heterogeneity, loud.either) == (1, 1, 1)
    assert math.isclose(loud.ratio, 2.5, rel_tol=1e-6)
    assert measured.gamma_max is None


@pytest.mark.checks("EX-15")
def test_gamma_max_is_the_largest_gamma_without_a_false_alarm() -> None:
    found = [summary(10**9, purpose="calibrate"), summary(10**9)]
    assert detection(SETTING, (0.5,), found).gamma_max == 0.5


@pytest.mark.checks("EX-10")
def test_without_calibration_there_are_no_thresholds() -> None:
    with pytest.raises(ConfigError, match="no calibration run"):
        detection(SETTING, (0.5,), [summary(1)])


@pytest.mark.checks("EX-10", "EX-15")
def test_every_gamma_has_its_own_thresholds_and_counts() -> None:
    """Under one gamma the statistics are a thousand times those under the other."""
    runs = [
        summary(10**12, small=10**9, purpose="calibrate"),
        summary(10**12, small=2 * 10**9),
        summary(10**12, small=10**9, attack="gaussian+sigma=0.1"),
    ]
    found = detection(SETTING, (0.25, 0.5), runs)
    assert found.weightings[0.25].heterogeneity < found.weightings[0.5].heterogeneity / 10**5
    counts = {(r.attack == "none", r.gamma): (r.runs, r.heterogeneity) for r in found.rates}
    assert counts == {
        (True, 0.25): (1, 1),
        (True, 0.5): (1, 0),
        (False, 0.25): (1, 0),
        (False, 0.5): (1, 0),
    }
    assert found.gamma_max == 0.5


@pytest.mark.checks("EX-15")
def test_gamma_max_looks_at_runs_without_attack_that_ended() -> None:
    """A false alarm without attack is one, however quiet runs under attack are."""
    calibration = summary(10**9, purpose="calibrate")
    loud, calm = summary(2 * 10**9), summary(10**9, attack="gaussian+sigma=0.1")
    assert detection(SETTING, (0.5,), [calibration, loud, calm]).gamma_max is None
    assert detection(SETTING, (0.5,), [calibration, summary(None), calm]).gamma_max is None
