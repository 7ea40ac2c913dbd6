"""VA-5: success that means something, and what is said before a run that has too few rounds."""

import math

import attrs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from valid_ref.adversary.data import Benign
from valid_ref.cli import app
from valid_ref.guarantees.outcome import Outcome, final_models, too_few_rounds
from valid_ref.runs import run
from valid_ref.scenario import Scenario, parts, prepare
from valid_ref.scenario.success import (
    default_success,
    distances_without_noise,
    start_distance,
)

FAMILIES = [
    "path:2",
    "path:6",
    "cycle:6",
    "star:6",
    "complete:4",
    "torus:3x3",
    "two-cliques:3",
    "regular:6,3,seed=1",
    "erdos-renyi:6,0.6,seed=1",
]
SMALL = Scenario(
    graph=parts.Family("complete:4"), loss=parts.RandomQuadratics(2), rounds=30, seed=0
)


@pytest.mark.checks("VA-5")
def test_the_default_is_a_tenth_of_the_squared_starting_distance() -> None:
    for scenario in (SMALL, attrs.evolve(SMALL, start=(5.0, -1.0))):
        prepared = prepare(scenario)
        start = np.zeros(2) if scenario.start is None else np.array(scenario.start)
        squared = float(((start - prepared.problem.minimiser()) ** 2).sum())
        assert prepared.eps_success == pytest.approx(squared / 10)


@pytest.mark.checks("VA-5")
def test_at_the_optimum_the_lattice_is_the_floor() -> None:
    same = parts.Quadratics((parts.QuadraticAgent(((1.0,),), (0.0,)),) * 3)
    prepared = prepare(Scenario(graph=parts.Family("path:3"), loss=same, rounds=3, seed=0))
    assert prepared.eps_success == 4.0**-prepared.parameters.lattice.precision.fraction_bits
    assert not any("success holds before" in note for note in prepared.notes)


@pytest.mark.checks("VA-5")
def test_one_that_holds_at_the_start_is_noted() -> None:
    start = start_distance(prepare(SMALL).parameters, prepare(SMALL).problem)
    for given_success, noted in ((start, True), (start / 2, False)):
        notes = prepare(attrs.evolve(SMALL, eps_success=given_success)).notes
        assert any("success holds before the first round" in note for note in notes) is noted


@pytest.mark.checks("VA-5")
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("rounds", [3, 30, 200])
def test_honest_runs_without_noise_end_a_or_it_was_said_before(family: str, rounds: int) -> None:
    finished = run(attrs.evolve(SMALL, graph=parts.Family(family), rounds=rounds))
    foretold = [note for note in finished.prepared.notes if "too few rounds" in note]
    assert finished.outcome == ("failed" if foretold else "a")
    if foretold:
        assert finished.judgement.reason.startswith("too few rounds")


@pytest.mark.checks("VA-5")
def test_what_is_foretold_is_what_happens() -> None:
    prepared = prepare(SMALL)
    parameters, problem = prepared.parameters, prepared.problem
    halfway, last = distances_without_noise(
        parameters.graph, parameters.lattice.schedule, problem, np.zeros(2)
    )
    found = run(SMALL).judgement
    assert found.squared_distance == pytest.approx(last, rel=1e-5)
    shorter = run(attrs.evolve(SMALL, rounds=15)).judgement
    assert shorter.squared_distance == pytest.approx(halfway, rel=1e-5)


@pytest.mark.checks("VA-5")
def test_steps_that_diverge_are_foretold_too() -> None:
    steps = parts.ConstantSteps(alpha=50.0, eta=0.1)
    scenario = attrs.evolve(SMALL, schedule=steps, rounds=300, bounds=parts.NoBounds(), checks=())
    assert any("hardly falls" in note for note in prepare(scenario).notes)


@pytest.mark.checks("VA-5")
@given(st.integers(1, 1000), st.floats(1e-3, 1e3), st.floats(1e-3, 1e3), st.floats(1e-6, 1e3))
def test_the_trend_asks_for_more_rounds_than_there_were(rounds, distance, halfway, eps) -> None:
    said = too_few_rounds(rounds, distance, halfway, eps)
    assert said.startswith("too few rounds")
    if "about T = " in said:
        assert int(said.split("about T = ")[1].split()[0]) > rounds


@pytest.mark.checks("VA-5")
def test_the_trend_of_one_over_t() -> None:
    said = too_few_rounds(100, distance=1.0, halfway=2.0, eps_success=0.1)
    assert "about T = 1000 would do" in said
    assert "hardly falls" in too_few_rounds(100, distance=1.0, halfway=1.01, eps_success=0.1)
    assert "hardly falls" in too_few_rounds(100, math.inf, math.inf, 0.1)


@pytest.mark.checks("VA-5")
def test_the_default_scenario_visibly_learns() -> None:
    finished = run(Scenario(seed=0))
    before = start_distance(finished.prepared.parameters, finished.prepared.problem)
    after = finished.judgement.squared_distance
    assert finished.outcome == "a"
    assert after is not None
    assert before > 100 * after


@pytest.mark.checks("VA-5")
def test_one_round_is_no_success() -> None:
    for graph in ("paper", "complete:5", "star:4"):
        found = CliRunner().invoke(app, ["run", "--rounds", "1", "--graph", graph, "-q"])
        assert found.stdout.strip() == "failed"
        assert found.exit_code == 1


@pytest.mark.checks("VA-5")
def test_the_reason_names_who_alarmed() -> None:
    broken = run(attrs.evolve(SMALL, rounds=5, without=("P13",)))
    assert broken.judgement.outcome is Outcome.FAILED
    assert broken.judgement.reason == "nobody is Byzantine, and agents 0, 1, 2 and 3 have an alarm"


LOOSE = attrs.evolve(
    SMALL,
    rounds=60,
    byzantine=(3,),
    attack=Benign(4.0),
    bounds=parts.DerivedBounds(1e4),
    checks=(parts.Check("t^1", parts.Polynomial(), parts.ConfiguredThresholds(1e3, 1e6)),),
)


@pytest.mark.checks("VA-5")
def test_passing_a_model_that_is_not_admissible_is_a_failure_with_a_reason() -> None:
    finished = run(attrs.evolve(LOOSE, eps_success=1e-6))
    assert finished.outcome == "failed"
    assert "too few rounds" in finished.judgement.reason  # they do not agree so well yet
    spread = finished.judgement.consensus_error
    assert spread is not None
    finished = run(attrs.evolve(LOOSE, eps_success=2 * spread))
    assert finished.outcome == "failed"
    assert "not near an admissible one" in finished.judgement.reason


@pytest.mark.checks("VA-5")
def test_what_cannot_be_decided_is_unknown() -> None:
    """Logistic losses, delta = 0: no admissible model is found, and there may be one."""
    logistic = attrs.evolve(
        LOOSE, loss=parts.RandomLogistic(2), delta=0.0, attack=None, eps_success=1e-2
    )
    finished = run(logistic)
    assert finished.judgement.outcome is Outcome.UNKNOWN
    assert "cannot be decided" in finished.judgement.reason


@pytest.mark.checks("VA-5", "AN-19")
def test_every_b_says_how_far_it_can_be_from_an_admissible_model() -> None:
    command = ["run", "--graph", "complete:5", "--loss", "random-ridge", "--seed", "0"]
    command += ["--byzantine", "2,3,4", "--attack", "delta-plus-epsilon:share=0.9"]
    found = CliRunner().invoke(app, command)
    said = " ".join(found.stdout.split())
    assert "outcome b" in said
    assert "certified except with probability 0.05: the mean of the valid models is" in said
    assert "of a model admissible at level delta" in said
    finished = run(attrs.evolve(SMALL, byzantine=(3,), rounds=60))
    document = finished.as_json()["judgement"]
    assert document["reason"] == ""
    assert document["radius"]["probability"] == 0.05
    assert document["radius"]["level"] > 0
    mean = np.mean(final_models(finished.execution, finished.execution.honest_valid), axis=0)
    assert mean.shape == (2,)


def test_default_success_is_positive() -> None:
    prepared = prepare(SMALL)
    assert default_success(prepared.parameters, prepared.problem) > 0


@pytest.mark.checks("VA-5")
def test_what_holds_before_the_first_round_is_said() -> None:
    """With many Byzantine agents x_0 may be admissible; an eps_success of choice may be large."""
    still = Scenario(
        graph=parts.Family("complete:6"),
        loss=parts.RandomQuadratics(offset=0.0),
        rounds=1,
        byzantine=(2, 3, 4, 5),
        schedule=parts.ConstantSteps(alpha=1e-6, eta=0.1),
        seed=1,
    )
    finished = run(still)
    early = "outcome b holds before the first round"
    assert finished.outcome == "b"
    assert any(early in note for note in finished.prepared.notes)
    assert not any(early in note for note in prepare(SMALL).notes)
    before = start_distance(prepare(SMALL).parameters, prepare(SMALL).problem)
    for share, words in ((0.3, "more than a tenth"), (1.5, "before the first round")):
        notes = prepare(attrs.evolve(SMALL, eps_success=share * before)).notes
        assert any(words in note for note in notes)
    assert not any("tenth" in note for note in prepare(SMALL).notes)
