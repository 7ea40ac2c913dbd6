"""Attacks on the learning: each formula in numbers worked out by hand, and how each one ends."""

import math
import statistics

import attrs
import numpy as np
import pytest

from tests.support import learned
from valid_ref.adversary.attack import AttackError, Gradient
from valid_ref.adversary.edits import Edits
from valid_ref.adversary.gradients import ConsistentGradientLie, DriftPush, InconsistentGradient
from valid_ref.adversary.models import (
    Alie,
    Dissensus,
    Equivocation,
    Flipped,
    Gaussian,
    InnerProduct,
    Isolation,
    Mimic,
    SignFlip,
    SpectralHeterogeneity,
    alie_z,
)
from valid_ref.guarantees.local import broken_relations, equivocations, undetected
from valid_ref.lattice import mix, squared_norm
from valid_ref.runs import Run, run
from valid_ref.scenario import Scenario, parts
from valid_ref.schedule import Precision

HONEST, AGREEMENT = Gradient.HONEST, "ValidationStateAgreement"
CENTRES = ((1.0, 0.0), (0.0, 1.0), (1.0, 1.0), (0.5, 0.5), (0.0, 0.0))


def scenario(graph: str, attack, **changes) -> Scenario:
    n = int(graph.partition(":")[2])
    agents = tuple(parts.QuadraticAgent(((1.0, 0.0), (0.0, 1.0)), c) for c in CENTRES[:n])
    usual = {
        "loss": parts.Quadratics(agents),
        "rounds": 6,
        "bounds": parts.ConfiguredBounds(1e3, 1e4),
        "checks": (parts.Check("t", parts.Polynomial(), parts.ConfiguredThresholds(1e3, 1e9)),),
        "byzantine": (n - 1,),
        "delta": 2.0,
        "eps_success": 0.2,
    }
    return Scenario(graph=parts.Family(graph), attack=attack, **({"seed": 0} | usual | changes))


def tight(attack, **changes) -> Run:
    """Four agents, 60 rounds, thresholds of about twice what honest runs show (.004 and .27)."""
    check = parts.Check("t", parts.Polynomial(), parts.ConfiguredThresholds(0.04, 0.6))
    return run(scenario("complete:4", attack, rounds=60, delta=0.5, checks=(check,), **changes))


def reasons(finished: Run, agent: int) -> set[str]:
    alarms = finished.execution.states[agent].memory.alarms
    return {raised.alarm.name for raised in alarms if raised.phase != AGREEMENT}


def sent(finished: Run, t: int, sender: int, receiver: int) -> np.ndarray:
    """A model of round t as real numbers."""
    spoken = finished.execution.rounds[t - 1]
    bits = finished.prepared.parameters.lattice.precision.fraction_bits
    return learned(spoken, sender, receiver).model / 2.0**bits


LOCAL = [
    Gaussian(),
    SignFlip(),
    SignFlip(Flipped.MEAN),
    Alie(),
    InnerProduct(),
    Mimic(),
    Dissensus(victim=0),
    Isolation(victim=0),
    SpectralHeterogeneity(victim=0),
]


@pytest.mark.checks("AD-9", "L2", "AR-6")
@pytest.mark.parametrize("graph", ["complete:4", "cycle:5"])
@pytest.mark.parametrize("attack", [*LOCAL, ConsistentGradientLie(), DriftPush()], ids=str)
def test_a_consistent_lie_told_to_all_is_locally_right(graph: str, attack) -> None:
    """Nobody equivocates, every relation holds, nobody has an alarm: only global tests are left."""
    finished = run(scenario(graph, attack))
    execution = finished.execution
    assert equivocations(execution) == broken_relations(execution) == ()
    assert all(reasons(finished, v) == set() for v in execution.honest)
    assert execution.honest_valid == execution.honest


@pytest.mark.checks("AD-9", "L2", "LV-8")
@pytest.mark.parametrize("graph", ["complete:4", "cycle:5"])
@pytest.mark.parametrize(
    "attack",
    [attrs.evolve(a, gradient=HONEST) for a in LOCAL]
    + [InconsistentGradient(), InconsistentGradient(first=6, last=6)],
    ids=str,
)
def test_with_the_honest_gradient_everybody_sees_a_broken_relation(graph: str, attack) -> None:
    finished = run(scenario(graph, attack))
    liar = finished.scenario.byzantine[0]
    assert broken_relations(finished.execution) == (liar,)
    for agent in finished.execution.honest:
        named = {
            raised.about[0]
            for raised in finished.execution.states[agent].memory.alarms
            if raised.alarm.name == "BROKEN_RELATION"
        }
        assert named == {liar}
        assert reasons(finished, agent) == {"BROKEN_RELATION"}
    assert finished.outcome == "c"


@pytest.mark.checks("AD-9", "L2", "LV-7")
@pytest.mark.parametrize(
    "attack",
    [
        Gaussian(per_edge=True),
        SignFlip(Flipped.MEAN, per_edge=True),
        Alie(per_edge=True),
        InnerProduct(per_edge=True),
        Dissensus(),
        Isolation(),
        SpectralHeterogeneity(),
        Equivocation(),
        Equivocation(size=2.0**-28),
    ],
    ids=str,
)
def test_different_words_to_different_neighbours_are_seen_by_everybody(attack) -> None:
    """The neighbours of agent 4 of the cycle, 0 and 3, are no neighbours of each other."""
    finished = run(scenario("cycle:5", attack))
    assert equivocations(finished.execution) == (4,)
    for agent in finished.execution.honest:
        assert "INCONSISTENT_HASHES" in reasons(finished, agent)
    assert finished.outcome == "c"


@pytest.mark.checks("AD-9")
def test_one_honest_neighbour_alone_cannot_be_told_two_things() -> None:
    """Path 0-1-2-3: 2 and 3 are Byzantine, 1 is the only honest neighbour of 2."""
    finished = run(scenario("path:4", Equivocation(), byzantine=(2, 3)))
    assert equivocations(finished.execution) == undetected(finished.execution) == ()


@pytest.mark.checks("AD-9", "GV-5", "GV-6")
@pytest.mark.parametrize(
    ("attack", "seen"),
    [
        (Gaussian(0.02), set()),
        (Gaussian(1.0), {"NOT_OPTIMAL"}),  # the noise averages out (P27), not all of it
        (SignFlip(), {"TOO_HETEROGENEOUS"}),
        (SignFlip(Flipped.MEAN), {"TOO_HETEROGENEOUS"}),
        (InnerProduct(), {"TOO_HETEROGENEOUS"}),
        (Alie(), set()),
        (Alie(1.5), set()),
        (Alie(6.0), {"TOO_HETEROGENEOUS"}),
        (Mimic(), set()),
        (Dissensus(victim=0), {"TOO_HETEROGENEOUS"}),
        (Isolation(victim=0), {"TOO_HETEROGENEOUS"}),
        (SpectralHeterogeneity(victim=0), set()),
        (SpectralHeterogeneity(c=-6.0, victim=0), {"TOO_HETEROGENEOUS"}),
        (ConsistentGradientLie(1.0), set()),
        (ConsistentGradientLie(3.0), {"TOO_HETEROGENEOUS", "NOT_OPTIMAL"}),
        (DriftPush(), {"TOO_HETEROGENEOUS", "NOT_OPTIMAL"}),
        (Edits(), set()),
    ],
    ids=lambda value: str(sorted(value)) if isinstance(value, set) else str(value),
)
def test_the_global_tests_decide_about_consistent_lies(attack, seen: set[str]) -> None:
    """Either everybody honest sees it, or everybody honest ends with an admissible model."""
    finished = tight(attack)
    for agent in (0, 1, 2):
        assert seen <= reasons(finished, agent) <= {"TOO_HETEROGENEOUS", "NOT_OPTIMAL"}
        assert bool(seen) == bool(reasons(finished, agent))
    assert finished.outcome == ("c" if seen else "b")


@pytest.mark.checks("GV-11", "LV-2")
def test_a_push_at_the_bound_is_within_the_bounds_and_uses_them() -> None:
    """Derived bounds; no norm alarm, and some gradient is within a percent of C_t."""
    finished = run(scenario("complete:4", DriftPush(), rounds=40, bounds=parts.DerivedBounds(8.0)))
    parameters = finished.prepared.parameters
    assert all(reasons(finished, v) == set() for v in (0, 1, 2))
    used = []
    for t, spoken in enumerate(finished.execution.rounds[:40], start=1):
        gamma = learned(spoken, 3, 0).scaled_gradient
        squared = squared_norm(gamma // parameters.lattice.schedule.A(t))
        used.append(squared / parameters.bounds.gradient_squared[t - 1])
        assert used[-1] <= 1
    assert max(used) > 0.98
    with pytest.raises(AttackError, match="norm bounds"):
        run(scenario("complete:4", DriftPush(), bounds=parts.NoBounds()))


@pytest.mark.checks("AD-9")
def test_the_formulas_in_numbers() -> None:
    """Cycle 0-..-4, Byzantine 4, t = 1: every lie from the honest models of that round."""
    plain = run(scenario("cycle:5", Edits()))
    x = {v: sent(plain, 1, v, (v + 1) % 5) for v in range(5)}
    honest = np.array([x[v] for v in range(4)])
    near_0 = np.array([x[0], x[1]])
    z = statistics.NormalDist().inv_cdf(0.5)
    fiedler = np.array([-math.cos(math.pi * (2 * i + 1) / 8) for i in range(4)]) / math.sqrt(2)
    expected = {
        SignFlip(): (-x[4], -x[4]),
        SignFlip(Flipped.MEAN): (-honest.mean(0),) * 2,
        SignFlip(Flipped.MEAN, per_edge=True): (-near_0.mean(0), -(x[2] + x[3]) / 2),
        Alie(): (honest.mean(0) - z * honest.std(0),) * 2,
        Alie(z=1.5): (honest.mean(0) - 1.5 * honest.std(0),) * 2,
        Alie(z=1.5, per_edge=True): (
            near_0.mean(0) - 1.5 * np.abs(x[0] - x[1]) / 2,
            (x[2] + x[3]) / 2 - 1.5 * np.abs(x[2] - x[3]) / 2,
        ),
        InnerProduct(0.25): (-honest.mean(0) / 4,) * 2,
        Mimic(2): (x[2], x[2]),
        Dissensus(0.5): (x[0] - (x[1] - x[0]) / 2, x[3] - (x[2] - x[3]) / 2),
        Dissensus(0.5, victim=3): (x[3] - (x[2] - x[3]) / 2,) * 2,
        Isolation(): (2 * x[0] - x[1], 2 * x[3] - x[2]),
        SpectralHeterogeneity(2.0): (
            x[0] + 2 * fiedler[0] * (fiedler @ honest),
            x[3] + 2 * fiedler[3] * (fiedler @ honest),
        ),
        Equivocation(0.5): (x[4] + 0.5, x[4] - 0.5),
        ConsistentGradientLie(0.75): (np.full(2, 0.75),) * 2,
    }
    for attack, models in expected.items():
        finished = run(scenario("cycle:5", attack))
        for receiver, model in zip((0, 3), models, strict=True):
            assert np.allclose(sent(finished, 1, 4, receiver), model, atol=1e-8), attack


@pytest.mark.checks("AD-9")
def test_z_of_a_little_is_enough() -> None:
    """n = 10, m = 3: q = 3 and z = Phi^-1(4/7) = 0.18; n = 50, m = 12: Phi^-1(24/38) = 0.34."""
    assert round(alie_z(10, 3), 4) == 0.1800
    assert round(alie_z(50, 12), 4) == 0.3360
    for agents, byzantine in ((2, 1), (4, 3)):
        with pytest.raises(AttackError, match="give z"):
            alie_z(agents, byzantine)


@pytest.mark.checks("AD-9")
def test_gaussian_noise_has_its_deviation_and_is_drawn_anew() -> None:
    plain = run(scenario("complete:4", Edits(), rounds=1))
    draws = []
    for seed in range(60):
        finished = run(scenario("complete:4", Gaussian(0.5), rounds=1, seed=seed))
        assert np.array_equal(sent(finished, 1, 3, 0), sent(finished, 1, 3, 2))
        draws += (sent(finished, 1, 3, 0) - sent(plain, 1, 3, 0)).tolist()
    assert abs(np.mean(draws)) < 0.15
    assert abs(np.std(draws) - 0.5) < 0.12
    assert len(set(draws)) == 120


@pytest.mark.checks("AD-9", "AR-4")
@pytest.mark.parametrize("byzantine", [(4,), (2, 4)])
def test_isolation_leaves_its_victim_exactly_where_it_is(byzantine) -> None:
    """Y of the victim is 2^k times its own model, to the last bit."""
    attack = Isolation(victim=0)
    finished = run(scenario("complete:5", attack, byzantine=byzantine, precision=Precision(9, 7)))
    lattice = finished.prepared.parameters.lattice
    for t, spoken in enumerate(finished.execution.rounds[:5], start=1):
        heard = [learned(spoken, u, 0).model for u in range(1, 5)]
        own = learned(spoken, 0).model
        assert np.array_equal(mix(lattice, t + 1, own, heard), own << 7)


@pytest.mark.checks("AD-9", "GU-11")
def test_in_a_complete_graph_a_mimic_is_its_victim() -> None:
    finished = run(scenario("complete:4", Mimic(1)))
    for spoken in finished.execution.rounds[:6]:
        mimicked, victim = learned(spoken, 3, 0), learned(spoken, 1)
        assert np.array_equal(mimicked.model, victim.model)
        assert np.array_equal(mimicked.scaled_gradient, victim.scaled_gradient)


@pytest.mark.checks("AR-10", "AR-11")
@pytest.mark.parametrize(
    "attack", [Gaussian(1e300), ConsistentGradientLie(1e30), Equivocation(1e99)]
)
def test_lies_are_clipped_to_the_range(attack) -> None:
    finished = run(scenario("complete:4", attack, bounds=parts.NoBounds()))
    assert "OUT_OF_RANGE" not in reasons(finished, 0)


@pytest.mark.checks("AD-9")
def test_what_cannot_be_built_is_refused() -> None:
    for attack in (Mimic(3), Dissensus(victim=3), Isolation(victim=9), Mimic(-1)):
        with pytest.raises(AttackError, match="victim"):
            run(scenario("complete:4", attack))
    with pytest.raises(AttackError, match="Fiedler"):
        run(scenario("path:2", SpectralHeterogeneity()))
