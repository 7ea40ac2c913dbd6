"""Thresholds with a level from attack-free runs, and the counts of alarms under them."""

import itertools
import math
from fractions import Fraction
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from torch_backend.calibrate import (
    StatisticsSetting,
    alarmed,
    alarms,
    calibrated,
    detection,
    statistics_of,
    thresholds,
)
from torch_backend.errors import ConfigError
from valid_ref.graph_families import path
from valid_ref.guarantees.calibration import Statistics, Tails
from valid_ref.hashing import PrimeField
from valid_ref.lattice import default_limits, to_lattice
from valid_ref.protocols.global_validate import estimate_alarms
from valid_ref.protocols.parameters import ValidParameters
from valid_ref.schedule import constant, make_schedule

SETTING = StatisticsSetting(
    rounds=4, bits=30, gammas=(0.5,), level=0.25, tails=Tails.UPPER, pilots=2, runs=3
)
TWO = attrs.evolve(SETTING, gammas=(0.25, 0.5))
HONEST = (100, 104, 101, 102, 103)
"""Two pilots and three runs to be ranked; the largest score is that of 103."""


def run_of(*lengths: int) -> Statistics:
    """One agent has ghat = (length) under each weighting, the others zero."""
    return tuple((length**2, length**2) for length in lengths)


def summary(
    *lengths: int,
    attack: str = "none",
    purpose: str = "measure",
    setting: StatisticsSetting = SETTING,
) -> Any:
    """Without a length the run diverged."""
    return {
        "job": f"{purpose}_{lengths}",
        "purpose": purpose,
        "rule": {"kind": "valid", "label": "valid"},
        "attack": {"label": attack} if attack == "none" else {"label": attack, "sigma": 0.1},
        "outcome": "finished" if lengths else "diverged",
        "statistics": [
            {
                "check": f"gamma={gamma}",
                "total": 1,
                "optimality": length**2,
                "heterogeneity": length**2,
            }
            for gamma, length in zip(setting.gammas, lengths, strict=bool(lengths))
        ],
    }


def calibration(*runs: tuple[int, ...], setting: StatisticsSetting = SETTING) -> list[Any]:
    """The first two are the pilots."""
    purposes = ["pilot"] * 2 + ["calibrate"] * (len(runs) - 2)
    return [
        summary(*lengths, purpose=purpose, setting=setting)
        for lengths, purpose in zip(runs, purposes, strict=True)
    ]


SUMMARIES = calibration(*((length,) for length in HONEST))


@pytest.mark.checks("EX-10", "GU-12", "GV-13")
@given(
    st.lists(st.integers(1, 10**12), min_size=5, max_size=5),
    st.integers(1, 2 * 10**12),
    st.sampled_from(Tails),
)
def test_alarms_are_those_of_the_protocol(honest: list[int], length: int, tails: Tails) -> None:
    """On the same integers the checks of GlobalValidate say the same, thresholds included."""
    runs = [run_of(one) for one in honest]
    setting = attrs.evolve(SETTING, tails=tails)
    [weighting] = calibrated(setting, runs[:2], runs[2:]).values()
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
    zero, loud = (0,), (length,)
    tags = {(v, u): loud if u == 0 else zero for u in range(3) for v in graph.neighbours(u)}
    raised = {one.alarm.name for one in estimate_alarms(parameters, 0, tags, loud)}
    optimality, heterogeneity = alarms(weighting, run_of(length)[0])
    assert optimality == bool(raised & {"NOT_OPTIMAL", "TOO_OPTIMAL"})
    assert heterogeneity == bool(raised & {"TOO_HETEROGENEOUS", "TOO_HOMOGENEOUS"})
    assert alarmed({0.5: weighting}, run_of(length)) == bool(raised)
    assert tails is Tails.BOTH or not raised & {"TOO_OPTIMAL", "TOO_HOMOGENEOUS"}


@pytest.mark.checks("EX-10", "GU-12")
@given(
    st.lists(st.tuples(st.integers(1, 30), st.integers(1, 30)), min_size=6, max_size=6),
    st.sampled_from(Tails),
)
def test_of_every_four_exchanged_runs_at_most_one_alarms(
    lengths: list[tuple[int, int]], tails: Tails
) -> None:
    """The level as a count: in all orders of the runs at most a quarter of the last ones alarm."""
    setting = attrs.evolve(TWO, tails=tails)
    pilots, others = [run_of(*one) for one in lengths[:2]], [run_of(*one) for one in lengths[2:]]
    found = [
        alarmed(calibrated(setting, pilots, order[:3]), order[3])
        for order in itertools.permutations(others)
    ]
    assert Fraction(sum(found), len(found)) <= setting.achieved == Fraction(1, 4)


@pytest.mark.checks("EX-10")
@pytest.mark.parametrize(("length", "alarm"), [(103, False), (104, True), (1, False)])
def test_the_threshold_is_that_of_the_ranked_run_and_not_of_a_pilot(
    length: int, alarm: bool
) -> None:
    weightings = thresholds(SETTING, SUMMARIES)
    assert alarmed(weightings, run_of(length)) == alarm
    assert weightings[0.5].optimality == 103
    assert weightings[0.5].origin == "calibrated"


@pytest.mark.checks("EX-10", "GV-13")
def test_both_tails_see_what_is_too_small() -> None:
    weightings = thresholds(attrs.evolve(SETTING, tails=Tails.BOTH), SUMMARIES)
    [weighting] = weightings.values()
    assert alarms(weighting, run_of(50)[0]) == (True, True)
    assert alarmed(weightings, run_of(50))
    assert not any(alarmed(weightings, run_of(length)) for length in (101, 102, 103))


@pytest.mark.checks("EX-10")
def test_all_gammas_share_one_level() -> None:
    """A run is ranked by its worst test: the threshold of one gamma gives way to another's."""
    runs = ((100, 100), (104, 104), (102, 140), (102, 102), (102, 102))
    weightings = thresholds(TWO, calibration(*runs, setting=TWO))
    assert weightings[0.5].optimality == 140
    assert weightings[0.25].optimality == pytest.approx(140, abs=1)
    assert not alarmed(weightings, run_of(139, 102))


@pytest.mark.checks("EX-10", "EX-15", "EX-16")
def test_counts_by_attack_and_gamma() -> None:
    measured = detection(
        SETTING,
        [
            *SUMMARIES,
            summary(100),
            summary(110),
            summary(200, attack="gaussian+sigma=0.1"),
            summary(100, attack="gaussian+sigma=0.1"),
            summary(attack="gaussian+sigma=0.1"),
        ],
    )
    quiet, loud = measured.rates
    assert (quiet.attack, quiet.sigma, quiet.runs, quiet.diverged) == ("none", 0.0, 2, 0)
    assert (quiet.optimality, quiet.heterogeneity, quiet.either) == (1, 1, 1)
    assert (loud.sigma, loud.runs, loud.diverged, loud.ended) == (0.1, 3, 1, 2)
    assert (loud.optimality, loud.heterogeneity, loud.either) == (1, 1, 2)
    honest = (101**2 + 102**2 + 103**2) / 3
    assert math.isclose(loud.ratio, (200**2 + 100**2) / 2 / honest, rel_tol=1e-9)
    assert measured.gamma_max is None
    calm, attacked = measured.joint
    assert (calm.attack, calm.runs, calm.alarms) == ("none", 2, 1)
    assert (attacked.runs, attacked.alarms) == (3, 2)  # who diverges has alarmed
    low, high = attacked.interval
    assert low == pytest.approx(0.0943, abs=1e-4)
    assert high == pytest.approx(0.9916, abs=1e-4)


@pytest.mark.checks("EX-15")
def test_gamma_max_is_the_largest_gamma_without_a_false_alarm() -> None:
    assert detection(SETTING, [*SUMMARIES, summary(102)]).gamma_max == 0.5


@pytest.mark.checks("EX-10")
@pytest.mark.parametrize("kept", [0, 1, 2, 4])
def test_without_all_calibration_runs_there_are_no_thresholds(kept: int) -> None:
    with pytest.raises(ConfigError, match="runs have finished: no thresholds yet"):
        detection(SETTING, [*SUMMARIES[:kept], summary(1)])


@pytest.mark.checks("EX-10")
@pytest.mark.parametrize("place", range(5))
def test_a_calibration_run_that_diverged_leaves_no_thresholds(place: int) -> None:
    """Without it the others would look better than honest runs are."""
    runs = list(SUMMARIES)
    runs[place] = summary(purpose=runs[place]["purpose"])
    with pytest.raises(ConfigError, match="diverged: honest runs of this experiment alarm"):
        thresholds(SETTING, runs)


@pytest.mark.checks("EX-10", "EX-15")
def test_every_gamma_has_its_own_thresholds_and_counts() -> None:
    """Under one gamma the statistics are a thousand times those under the other."""
    runs = [
        *calibration(*((one, 1000 * one) for one in HONEST), setting=TWO),
        summary(200, 102_000, setting=TWO),
        summary(102, 102_000, attack="gaussian+sigma=0.1", setting=TWO),
    ]
    found = detection(TWO, runs)
    assert found.weightings[0.25].optimality == 103
    assert found.weightings[0.5].optimality == 103_000
    counts = {(r.attack == "none", r.gamma): (r.runs, r.heterogeneity) for r in found.rates}
    assert counts == {
        (True, 0.25): (1, 1),
        (True, 0.5): (1, 0),
        (False, 0.25): (1, 0),
        (False, 0.5): (1, 0),
    }
    assert found.gamma_max == 0.5
    assert [one.alarms for one in found.joint] == [1, 0]


@pytest.mark.checks("EX-15")
def test_gamma_max_looks_at_runs_without_attack_that_ended() -> None:
    """A false alarm without attack is one, however quiet runs under attack are."""
    loud, calm = summary(200), summary(102, attack="gaussian+sigma=0.1")
    assert detection(SETTING, [*SUMMARIES, loud, calm]).gamma_max is None
    assert detection(SETTING, [*SUMMARIES, summary(), calm]).gamma_max is None


@pytest.mark.checks("EX-10")
def test_what_is_promised_is_said() -> None:
    """More runs than the level needs give somewhat less than the level."""
    setting = attrs.evolve(SETTING, level=0.05, runs=30, tails=Tails.BOTH)
    assert setting.achieved == Fraction(1, 31)
    assert setting.describe().endswith("probability at most 1/31")
    assert "both tails" in setting.describe()


def test_statistics_are_in_the_order_of_the_gammas() -> None:
    found = summary(1, 2, setting=TWO)
    found["statistics"].reverse()
    assert statistics_of(TWO.checks, found) == run_of(1, 2)
