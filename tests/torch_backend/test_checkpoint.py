"""A run that goes on from a checkpoint ends with the same bytes; other files are refused."""

from pathlib import Path
from unittest import mock

import attrs
import numpy as np
import pytest
import torch

from tests.torch_backend.runs import AttackByFunction, learn, per_edge, program, rude
from torch_backend import checkpoint, engine
from torch_backend.checkpoint import CheckpointError
from valid_ref.graph_families import parse_family


def a_program(script: object, **others: object) -> engine.Program:
    graph = parse_family("complete:4")
    return program(graph, rounds=5, attack=AttackByFunction(script), byzantine=(1,), **others)


@pytest.mark.checks("EX-11")
@pytest.mark.parametrize("script", [per_edge, rude])
@pytest.mark.parametrize("estimate", ["agents", "counted", "none"])
def test_a_run_goes_on_as_if_it_had_not_stopped(tmp_path: Path, script, estimate: str) -> None:
    run = a_program(script, estimate=estimate)
    states, _said = learn(run)
    checkpoint.save(tmp_path / "end", states[-1])
    for state in states:
        checkpoint.save(tmp_path / "there", state)
        again = checkpoint.load(tmp_path / "there", run)
        assert again.alarms == state.alarms
        while again.t < run.rounds:
            again, _words = engine.advance(run, again)
        checkpoint.save(tmp_path / "again", again)
        assert (tmp_path / "again").read_bytes() == (tmp_path / "end").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["again", "end", "there"]


@pytest.mark.checks("EX-11")
def test_files_that_are_no_checkpoint_of_the_run_are_refused(tmp_path: Path) -> None:
    run = a_program(per_edge)
    state = learn(run)[0][2]
    path = tmp_path / "file"
    checkpoint.save(path, state)
    good = path.read_bytes()
    for change in (
        program(parse_family("cycle:5")),
        attrs.evolve(run, estimate="none"),
        attrs.evolve(run, estimate="counted"),
        a_program(per_edge, dtype=torch.float64),
    ):
        with pytest.raises(CheckpointError, match="remove it to begin anew"):
            checkpoint.load(path, change)
    for bad in (b"", b"garbage", good[: len(good) // 2], good[:-1]):
        path.write_bytes(bad)
        with pytest.raises(CheckpointError):
            checkpoint.load(path, run)
    beside = torch.zeros_like(state.models[:, :-1])
    for changed in (
        {"t": run.rounds + 1},
        {"t": -1},
        {"t": True},
        {"alarms": state.alarms[1:]},
        {"models": beside},
        {"said": beside},
        {"models": state.models.double()},
    ):
        checkpoint.save(path, attrs.evolve(state, **changed))
        with pytest.raises(CheckpointError, match="no checkpoint of this run"):
            checkpoint.load(path, run)
    with mock.patch.object(checkpoint, "FORMAT", "valid-torch/checkpoint/2"):
        checkpoint.save(path, state)
    with pytest.raises(CheckpointError, match="checkpoint/2', where 'valid-torch/checkpoint/3' is"):
        checkpoint.load(path, run)
    np.savez(tmp_path / "other.npz", a=np.array(1))
    with pytest.raises(CheckpointError):
        checkpoint.load(tmp_path / "other.npz", run)
    with pytest.raises(CheckpointError):
        checkpoint.load(tmp_path / "none", run)
