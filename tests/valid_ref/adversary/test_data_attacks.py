"""Attacks through the data: honest code, other gradients."""

import attrs
import numpy as np
import pytest

from tests.support import learned
from valid_ref.adversary.attack import AttackError, Setting
from valid_ref.adversary.data import Benign, DeltaPlusEpsilon, LabelFlip, flipped
from valid_ref.coins import Coins
from valid_ref.guarantees.admissible import phi
from valid_ref.guarantees.outcome import Truth, final_models
from valid_ref.losses import LogisticRegression, Loss, Quadratic, RidgeLeastSquares
from valid_ref.runs import Run, run
from valid_ref.scenario import Scenario, parts

BASE = Scenario(
    graph=parts.Family("complete:5"),
    loss=parts.Quadratics(
        tuple(
            parts.QuadraticAgent(((1.0, 0.0), (0.0, 1.0)), centre)
            for centre in ((1.0, 0.0), (-1.0, 0.0), (0.0, 1.0), (0.0, -1.0), (0.5, 0.0))
        )
    ),
    rounds=300,
    delta=1.5,
    bounds=parts.DerivedBounds(loss_at_zero=50.0),
    byzantine=(4,),
    checks=(parts.Check("t^1", parts.Polynomial(), parts.ConfiguredThresholds(0.2, 3.0)),),
    eps_success=1e-2,
    seed=0,
)


def reasons(finished: Run) -> set[str]:
    states = finished.execution.states
    return {
        raised.alarm.name for v in finished.execution.honest for raised in states[v].memory.alarms
    }


@pytest.mark.checks("GU-11", "AN-9")
@pytest.mark.witness("A14")
def test_between_delta_and_the_threshold_nobody_notices() -> None:
    """phi of the target is n (delta + eps/2); T times the squared distance to A grows with T."""
    attack, scaled = DeltaPlusEpsilon(0.5), []
    for T in (150, 300):
        finished = run(attrs.evolve(BASE, rounds=T, attack=attack))
        prepared, judgement = finished.prepared, finished.judgement
        setting = Setting(
            prepared.parameters, prepared.problem, prepared.byzantine, 1.5, Coins.of_seed(0)
        )
        target = attack.target(setting)
        assert phi(prepared.problem, (0, 1, 2, 3), target) == pytest.approx(5 * 2.25)
        assert finished.execution.honest_valid == (0, 1, 2, 3)
        assert judgement.strong is Truth.NO
        for model in final_models(finished.execution, (0, 1, 2, 3)):
            assert np.linalg.norm(model - target) < 0.2
        scaled.append(T * (judgement.squared_distance - judgement.consensus_error))
    assert scaled[1] > 1.5 * scaled[0] > 0


@pytest.mark.checks("GU-11", "GV-6")
def test_above_the_threshold_everybody_notices() -> None:
    finished = run(attrs.evolve(BASE, attack=DeltaPlusEpsilon(2.0)))
    assert finished.outcome == "c"
    assert "TOO_HETEROGENEOUS" in reasons(finished)
    with pytest.raises(AttackError, match="no room above delta"):
        run(attrs.evolve(BASE, delta=3.0, attack=DeltaPlusEpsilon()))
    with pytest.raises(AttackError, match="more heterogeneous than delta"):
        run(attrs.evolve(BASE, delta=0.1, attack=Benign()))


@pytest.mark.checks("AD-9")
@pytest.mark.parametrize(
    ("attack", "seen"),
    [
        (LabelFlip(), set()),
        (LabelFlip(total=9.0), {"TOO_HETEROGENEOUS"}),
        (LabelFlip(ascend=True), set()),
    ],
    ids=str,
)
def test_flipped_labels_are_other_data_and_no_more(attack, seen) -> None:
    check = parts.Check("t", parts.Polynomial(), parts.ConfiguredThresholds(0.1, 1.5))
    finished = run(attrs.evolve(BASE, attack=attack, checks=(check,), rounds=100, eps_success=0.1))
    assert reasons(finished) & {"NOT_OPTIMAL", "TOO_HETEROGENEOUS"} <= seen
    assert bool(reasons(finished)) == bool(seen)
    assert finished.outcome == ("c" if seen else "b")


@pytest.mark.checks("AD-9", "LV-2")
def test_climbing_agents_run_away_when_they_are_many() -> None:
    """Curvature 2 against 3: nobody honest is left valid."""
    finished = run(attrs.evolve(BASE, attack=LabelFlip(ascend=True), byzantine=(2, 3, 4)))
    assert finished.outcome == "c"
    norms = {"MODEL_NORM", "GRADIENT_NORM"}
    assert reasons(finished) & (norms | {"TOO_HETEROGENEOUS", "NOT_OPTIMAL"})


def targets(loss: Loss) -> list[float]:
    assert isinstance(loss, RidgeLeastSquares | LogisticRegression)
    return loss.targets.tolist()


@pytest.mark.checks("AD-9")
def test_what_a_flip_does_to_each_loss() -> None:
    features, point = np.array([[1.0, 0.0], [0.6, 0.8]]), np.array([0.3, -0.2])
    ridge = RidgeLeastSquares(features, np.array([2.0, 5.0]), 0.5)
    assert targets(flipped(ridge, 9.0)) == [7.0, 4.0]
    logistic = LogisticRegression(features, np.array([1.0, -1.0]), 0.5)
    assert targets(flipped(logistic, 0.0)) == [-1.0, 1.0]
    quadratic = Quadratic(np.eye(2), np.array([1.0, 2.0]))
    assert flipped(quadratic, 0.0).gradient(point).tolist() == [1.3, 1.8]
    with pytest.raises(AttackError, match="total = 0"):
        flipped(logistic, 9.0)
    with pytest.raises(AttackError, match="use ascend"):
        flipped(object(), 0.0)


@pytest.mark.checks("AD-9")
@pytest.mark.parametrize("loss", [parts.RandomRidge(2, 6), parts.RandomLogistic(2, 6)])
def test_flipped_regression_runs_and_ends_as_it_should(loss) -> None:
    finished = run(attrs.evolve(BASE, loss=loss, rounds=20, attack=LabelFlip(), batch=2))
    assert reasons(finished) == set()
    honest = run(attrs.evolve(BASE, loss=loss, rounds=20, byzantine=(), batch=2))
    assert learned(honest.execution.rounds[0], 4).model.tolist() != (
        learned(finished.execution.rounds[0], 4).model.tolist()
    )
    assert not finished.execution.rounds[0].deviations
