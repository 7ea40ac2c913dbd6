"""The front door: honest runs never alarm, outcomes, determinism across processes."""

import hashlib
import os
import subprocess
import sys

import attrs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from valid_ref.adversary.attack import Setting
from valid_ref.adversary.data import Benign, benign_target
from valid_ref.coins import Coins
from valid_ref.guarantees.outcome import Outcome, Truth, final_models
from valid_ref.losses import Noise
from valid_ref.oracle import recording_digest
from valid_ref.runs import run
from valid_ref.scenario import Scenario, parts, prepare, scenario_text
from valid_ref.schedule import Precision

FAMILIES = ["path:2", "path:4", "cycle:5", "star:4", "complete:4", "torus:3x3", "two-cliques:3"]
losses = st.one_of(
    st.builds(parts.RandomQuadratics, st.integers(1, 3), st.floats(1, 8), st.floats(0, 3)),
    st.builds(
        parts.RandomQuadratics,
        st.integers(1, 3),
        st.floats(1, 8),
        noise=st.just(Noise.SIGNS),
        spread=st.floats(0.01, 2),
    ),
    st.builds(parts.RandomRidge, st.integers(1, 3), st.integers(1, 6), st.floats(0.1, 1)),
    st.builds(parts.RandomLogistic, st.integers(1, 3), st.integers(1, 6), st.floats(0.1, 1)),
)
schedules = st.one_of(
    st.just(parts.Diminishing()),
    st.builds(parts.ConstantSteps, st.floats(0.001, 0.1), st.floats(0.001, 0.1)),
    st.builds(parts.ExperimentSteps, st.integers(1, 5), st.floats(0.01, 0.1)),
)
weights = st.one_of(
    st.builds(parts.Polynomial, st.integers(0, 4)),
    st.builds(parts.Exponential, st.floats(0, 1), st.integers(1, 40)),
)


@pytest.mark.checks("L1", "AN-6", "GU-8", "LV-2", "V1", "S3", "VA-2")
@given(
    graph=st.sampled_from(FAMILIES),
    loss=losses,
    schedule=schedules,
    weighting=weights,
    rounds=st.integers(1, 12),
    bits=st.tuples(st.integers(4, 30), st.integers(11, 22)),
    batch=st.integers(1, 3),
    seed=st.integers(0, 2**32),
)
def test_honest_runs_never_alarm(
    graph, loss, schedule, weighting, rounds, bits, batch, seed
) -> None:
    """The repaired reading with norm bounds active; thresholds are out of the way."""
    scenario = Scenario(
        graph=parts.Family(graph),
        loss=loss,
        schedule=schedule,
        rounds=rounds,
        batch=batch,
        precision=Precision(*bits),
        seed=seed,
        checks=(parts.Check("w", weighting, parts.ConfiguredThresholds(1e6, 1e9)),),
    )
    finished = run(scenario)
    assert finished.prepared.parameters.bounds is not None
    for agent, state in finished.execution.states.items():
        assert state.memory.alarms == (), agent
        assert finished.execution.output(agent) is not None


@pytest.mark.checks("GU-9", "L1")
@given(
    st.sampled_from(["cycle:4", "complete:4"]),
    st.integers(0, 2**32),
    st.sampled_from([parts.CalibratedThresholds(), parts.CertifiedThresholds()]),
)
@settings(max_examples=20)
def test_noiseless_honest_runs_pass_the_global_checks(graph, seed, thresholds) -> None:
    check = parts.Check("t", parts.Polynomial(), thresholds)
    loss = parts.RandomQuadratics(2)
    finished = run(
        Scenario(graph=parts.Family(graph), loss=loss, rounds=30, seed=seed, checks=(check,))
    )
    assert all(state.memory.alarms == () for state in finished.execution.states.values())


@pytest.mark.checks("VA-5", "VA-3", "AN-8")
def test_the_distance_shrinks_like_one_over_t() -> None:
    scenario = Scenario(graph=parts.Family("complete:4"), loss=parts.RandomQuadratics(2), seed=0)
    found = {}
    for T in (100, 400, 1200):
        finished = run(attrs.evolve(scenario, rounds=T))
        assert finished.outcome == "a"
        assert len(finished.execution.rounds) == T + 4 * 4 - 1
        found[T] = finished.judgement.squared_distance
    assert 0.7 < (400 * found[400]) / (100 * found[100]) < 1.3
    assert 0.8 < (1200 * found[1200]) / (400 * found[400]) < 1.2


@pytest.mark.checks("VA-5")
def test_outcomes_without_an_adversary() -> None:
    scenario = Scenario(
        graph=parts.Family("cycle:4"), loss=parts.RandomQuadratics(2), rounds=10, seed=0
    )
    assert run(attrs.evolve(scenario, eps_success=100.0)).outcome == "a"
    assert run(attrs.evolve(scenario, eps_success=1e-12)).outcome == "failed"
    broken = run(attrs.evolve(scenario, without=("P13",), eps_success=100.0))
    assert broken.outcome == "failed"
    assert broken.execution.honest_valid == ()


BENIGN = Scenario(
    graph=parts.Family("complete:5"),
    loss=parts.Quadratics(
        tuple(
            parts.QuadraticAgent(((1.0, 0.0), (0.0, 1.0)), centre)
            for centre in ((1.0, 0.0), (-1.0, 0.0), (0.0, 1.0), (0.0, -1.0), (0.0, 0.0))
        )
    ),
    rounds=800,
    delta=1.5,
    bounds=parts.DerivedBounds(loss_at_zero=50.0),
    byzantine=(4,),
    checks=(parts.Check("t^1", parts.Polynomial(), parts.ConfiguredThresholds(0.05, 1.6)),),
    eps_success=0.02,
    seed=0,
)


@pytest.mark.checks("GU-11", "AN-12", "VA-5")
@pytest.mark.parametrize("fraction", [0.0, 0.5, 0.98])
def test_benign_targets_inside_the_admissible_set_end_valid_at_the_target(fraction: float) -> None:
    finished = run(attrs.evolve(BENIGN, attack=Benign(fraction)))
    prepared, execution = finished.prepared, finished.execution
    setting = Setting(
        prepared.parameters, prepared.problem, prepared.byzantine, 1.5, Coins.of_seed(0)
    )
    target = benign_target(setting, fraction)
    assert execution.honest_valid == (0, 1, 2, 3)
    for model in final_models(execution, execution.honest_valid):
        assert np.linalg.norm(model - target) < 0.12
    assert finished.outcome == "b"
    assert finished.judgement.strong is Truth.YES
    assert finished.judgement.relaxed is Truth.YES


@pytest.mark.checks("GV-6", "AN-9")
def test_a_benign_target_beyond_the_relaxed_set_is_alarmed() -> None:
    """delta + eps is reached at fraction 1.07, the relaxed set (with nu about .05) ends at 1.15."""
    finished = run(attrs.evolve(BENIGN, attack=Benign(1.2)))
    assert finished.outcome == "c"
    reasons = {r.alarm.name for v in range(4) for r in finished.execution.states[v].memory.alarms}
    assert "TOO_HETEROGENEOUS" in reasons


@pytest.mark.checks("AN-9")
@pytest.mark.witness("A14")
def test_the_checks_certify_delta_plus_eps_not_delta() -> None:
    """Between delta and delta + eps all are valid, and T times the distance to A grows with T."""
    loose = parts.Check("t^1", parts.Polynomial(), parts.ConfiguredThresholds(0.2, 3.0))
    between = attrs.evolve(BENIGN, attack=Benign(1.3), checks=(loose,), eps_success=1e-2)
    scaled = []
    for T in (400, 800):
        finished = run(attrs.evolve(between, rounds=T))
        assert finished.execution.honest_valid == (0, 1, 2, 3)
        assert finished.judgement.outcome is Outcome.FAILED
        assert finished.judgement.strong is Truth.NO
        scaled.append(
            T * (finished.judgement.squared_distance - finished.judgement.consensus_error)
        )
    assert scaled[1] > 1.5 * scaled[0] > 0


PROGRAM = """
import sys
from pathlib import Path
from valid_ref.runs import run
from valid_ref.oracle import recording_digest
from valid_ref.oracle import record_run
from valid_ref.scenario import load_scenario
record_run(run(load_scenario(Path(sys.argv[1]))), Path(sys.argv[2]))
"""


@pytest.mark.checks("VA-8", "VA-6")
def test_two_processes_give_identical_bytes(tmp_path) -> None:
    loss = parts.RandomQuadratics(8, noise=Noise.SIGNS, spread=0.3)
    scenario = Scenario(
        graph=parts.Family("cycle:5"),
        loss=loss,
        rounds=12,
        batch=3,
        seed=7,
        byzantine=(2,),
        attack=Benign(0.3),
        bounds=parts.DerivedBounds(1e4),
        delta=1e3,
    )
    path = tmp_path / "scenario.json"
    path.write_text(scenario_text(scenario))
    records = []
    for hash_seed, threads in (("0", "1"), ("12345", "2")):
        environment = os.environ | {
            "PYTHONHASHSEED": hash_seed,
            "OPENBLAS_NUM_THREADS": threads,
            "OMP_NUM_THREADS": threads,
        }
        recording = tmp_path / f"{hash_seed}.zip"
        command = [sys.executable, "-c", PROGRAM, str(path), str(recording)]
        subprocess.run(command, env=environment, capture_output=True, check=True)
        records.append(recording.read_bytes())
    assert records[0] == records[1]
    assert hashlib.sha256(records[0]).hexdigest() == recording_digest(run(scenario))
    assert len(records[0]) > 10_000
    other = attrs.evolve(scenario, seed=8)
    assert recording_digest(run(other)) != recording_digest(run(scenario))


def test_json_has_what_machines_need() -> None:
    document = run(
        Scenario(graph=parts.Family("path:3"), loss=parts.RandomQuadratics(1), rounds=3, seed=0)
    ).as_json()
    assert document["outcome"] in {"a", "failed"}
    assert [row["agent"] for row in document["agents"]] == [0, 1, 2]
    assert document["costs"]["LearnModel"][1] == {"rounds": 3, "messages": 6, "scalars": 12}
    assert prepare(Scenario(graph=parts.Family("path:3"), rounds=3, seed=0)).delta > 0
