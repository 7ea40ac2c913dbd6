"""From an experiment to a program: steps, start, graph, data, and what all rules share."""

from fractions import Fraction
from pathlib import Path

import attrs
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from torch_backend.config.build import (
    build_graph,
    build_program,
    build_schedule,
    data_digest,
    job_coins,
    load_data,
    measuring_weightings,
)
from torch_backend.config.experiment import (
    Experiment,
    GivenStart,
    RootMixing,
    Steps,
    ZeroStart,
    jobs,
)
from torch_backend.config.load import load
from torch_backend.data.batches import batch_indices
from torch_backend.data.dataset import load_digits
from torch_backend.engine import advance, start
from torch_backend.errors import ConfigError
from torch_backend.job import evaluate
from torch_backend.program import Program
from torch_backend.validation import fresh_keys
from valid_ref.graph_families import paper_graph
from valid_ref.scenario.parts import ConfiguredBounds, Edges

CPU = torch.device("cpu")
DIGITS = load_digits()


def program(**changes: object) -> Program:
    chosen = attrs.evolve(load("demo", quick=True), **changes)
    job = next(job for job in jobs(chosen) if job.purpose == "measure")
    return build_program(chosen, job, DIGITS, CPU, measuring_weightings(chosen))


@pytest.mark.checks("EX-6")
@given(st.integers(1, 60), st.integers(1, 400), st.integers(1, 4000), st.integers(1, 9))
def test_the_gradient_step_counts_rounds_or_passes_over_the_data(
    rounds: int, batch: int, images: int, initial: int
) -> None:
    for counts in ("round", "epoch"):
        experiment = Experiment("x", rounds=rounds, batch=batch, steps=Steps(initial, counts))
        schedule = build_schedule(experiment, images)
        seen = 0
        for t in range(1, rounds + 1):
            passes = seen // images  # completed before the round
            count = t if counts == "round" else passes
            assert schedule.A(t) == round(Fraction(initial, initial + count) * 2**20)
            assert schedule.a(t) == 95325
            seen += batch


@pytest.mark.checks("EX-6")
def test_presets_a_and_b() -> None:
    """With 3000 images and batches of 300 an epoch is ten rounds."""
    a, b = load("fig-noniid"), Experiment("x")
    assert (a.pixels, b.pixels) == ("unit", "standardised")
    found = [build_schedule(experiment, 3000) for experiment in (a, b)]
    assert [float(found[0].alpha(t)) for t in (1, 10)] == [1.0, 1.0]
    assert float(found[0].alpha(11)) == pytest.approx(5 / 6, abs=2**-21)
    assert float(found[1].alpha(1)) == pytest.approx(5 / 6, abs=2**-21)
    root = build_schedule(Experiment("x", steps=Steps(mixing=RootMixing(0.5))), 3000)
    assert float(root.eta(3)) == pytest.approx(0.25, abs=2**-21)


@pytest.mark.checks("EX-1")
def test_graphs_by_name_or_by_edges() -> None:
    assert build_graph(Experiment("x")) == paper_graph()
    edges = ((0, 1), (1, 2), (0, 2))
    assert build_graph(Experiment("x", graph=Edges(3, edges))).edges == tuple(sorted(edges))


@pytest.mark.checks("EX-7", "EX-12")
def test_starts(tmp_path: Path) -> None:
    random = program().parameters.start_model
    assert random.any()
    assert not program(start=ZeroStart()).parameters.start_model.any()
    given_values = np.linspace(-1, 1, len(random))
    np.save(tmp_path / "start.npy", given_values)
    found = program(start=GivenStart(str(tmp_path / "start.npy"))).parameters.start_model
    assert np.array_equal(found, np.rint(given_values * 2**28).astype(np.int64))
    np.save(tmp_path / "short.npy", given_values[1:])
    np.save(tmp_path / "objects.npy", np.array([None], dtype=object), allow_pickle=True)
    for name, words in (
        ("short.npy", "has shape"),
        ("objects.npy", "cannot read"),
        ("none.npy", "cannot read"),
    ):
        with pytest.raises(ConfigError, match=words):
            program(start=GivenStart(str(tmp_path / name)))


@pytest.mark.checks("EX-10")
def test_with_a_common_seed_only_batches_differ_from_run_to_run() -> None:
    experiment = load("demo", quick=True, changes=["common_seed=3"])
    found = [build_program(experiment, job, DIGITS, CPU) for job in jobs(experiment)]
    redrawn = build_program(load("demo", quick=True), jobs(experiment)[0], DIGITS, CPU)
    first, second = found[:2]
    assert first.seed != second.seed
    for other in found[1:]:
        assert np.array_equal(other.parameters.start_model, first.parameters.start_model)
        assert torch.equal(other.data.images, first.data.images)
        assert all(map(np.array_equal, other.split.parts, first.split.parts))
    drawn = [batch_indices(p.split, p.seed, 3, 7, p.batch) for p in (first, second)]
    assert not np.array_equal(*drawn)
    assert not np.array_equal(redrawn.parameters.start_model, first.parameters.start_model)
    assert not torch.equal(redrawn.data.images, first.data.images)


@pytest.mark.checks("EX-9")
def test_all_rules_have_the_same_data_batches_steps_and_start() -> None:
    experiment = load("demo", quick=True)
    found = [
        build_program(experiment, job, DIGITS, CPU)
        for job in jobs(experiment)
        if job.purpose == "measure" and not job.attacked
    ]
    assert len(found) == 3
    for other in found[1:]:
        first = found[0]
        assert np.array_equal(other.parameters.start_model, first.parameters.start_model)
        assert other.lattice.schedule == first.lattice.schedule
        assert torch.equal(other.data.images, first.data.images)
        drawn = [batch_indices(p.split, p.seed, 3, 7, p.batch) for p in (other, first)]
        assert np.array_equal(*drawn)


@pytest.mark.checks("LV-3", "EX-11")
def test_no_two_jobs_share_a_key() -> None:
    experiment = load("demo", quick=True)
    longer = attrs.evolve(experiment, rounds=experiment.rounds + 1)
    found = [job_coins(chosen, job) for chosen in (experiment, longer) for job in jobs(chosen)]
    assert len({coins.secret for coins in found}) == 2 * len(jobs(experiment))
    fewer = attrs.evolve(experiment, seeds=experiment.seeds[:1], rules=experiment.rules[:1])
    assert {job_coins(fewer, job) for job in jobs(fewer)} <= {*found}
    job = next(job for job in jobs(experiment) if job.purpose == "measure")
    built = build_program(experiment, job, DIGITS, CPU)
    assert built.coins == job_coins(experiment, job)
    keys = fresh_keys(built)
    assert len({*keys}) == built.graph.agents
    assert keys == fresh_keys(build_program(experiment, job, DIGITS, CPU))
    assert not {*keys} & {*fresh_keys(build_program(longer, job, DIGITS, CPU))}


def test_bounds_are_passed_on() -> None:
    assert program().parameters.bounds is None
    bounds = program(bounds=ConfiguredBounds(2.0, 3.0)).parameters.bounds
    assert bounds is not None
    assert bounds.model_squared[0] == (2 << 28) ** 2


@pytest.mark.checks("EX-5")
def test_accuracies_are_those_of_honest_models_on_all_test_images() -> None:
    """By one model at a time, counted in Python; the Byzantine agent is left out."""
    experiment = load("demo", quick=True)
    job = next(job for job in jobs(experiment) if job.attacked)
    run = build_program(experiment, job, DIGITS, CPU)
    state = start(run)
    for _ in range(3):
        state, _said = advance(run, state)
    row = evaluate(run, state)
    assert run.byzantine == (4,)
    points = state.models.double().numpy()[[v for v in range(20) if v != 4]] / 2**28
    pixels, labels = run.data.test_images, DIGITS.test_labels.tolist()
    shares = []
    for point in [*points, points.mean(axis=0)]:
        one = run.model.predictions(torch.tensor(point[None]).float(), pixels)[0].tolist()
        right = sum(a == b for a, b in zip(one, labels, strict=True))
        shares.append(right / len(labels))
    assert row.accuracy == pytest.approx(sum(shares[:-1]) / 19, abs=1e-12)
    assert (row.lowest, row.highest) == (min(shares[:-1]), max(shares[:-1]))
    assert row.averaged == shares[-1]
    apart = ((points - points.mean(axis=0)) ** 2).sum(axis=1).mean() ** 0.5
    assert row.distance == pytest.approx(apart, rel=1e-9)
    honest = np.delete(state.losses.numpy().astype(float), 4)
    assert row.loss == pytest.approx(honest.mean(), rel=1e-9)


@pytest.mark.checks("EX-5")
def test_first_and_last_rounds_are_evaluated() -> None:
    evaluation = Experiment("x").evaluation
    assert evaluation.rounds(45) == (1, 20, 40, 45)
    assert evaluation.rounds(1) == (1,)
    assert evaluation.rounds(40) == (1, 20, 40)


def test_the_digest_of_the_data_sees_every_pixel() -> None:
    again = load_data(load("demo"), None)
    assert data_digest(again) == data_digest(DIGITS)
    images = DIGITS.test_images.copy()
    images[-1, -1, -1] ^= 1
    assert data_digest(attrs.evolve(DIGITS, test_images=images)) != data_digest(DIGITS)
