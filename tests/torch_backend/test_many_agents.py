"""Hundreds of agents on sparse graphs: sparse sums, and the whole protocol to its end."""

from pathlib import Path
from unittest import mock

import attrs
import numpy as np
import pytest
import torch

from tests.torch_backend.runs import AttackByFunction, keys_of, learn, per_edge, program
from tests.torch_backend.test_transcripts import write
from torch_backend import engine, kernels, lattice
from torch_backend.transcripts import open_transcripts
from torch_backend.validation import validate
from valid_ref.alarms import Alarm
from valid_ref.graph_families import parse_family
from valid_ref.machine import run_machine
from valid_ref.protocols.learn import LearningMessage, LearnModel
from valid_ref.protocols.parameters import CheckedKeys

GRAPH = parse_family("regular:300,4,seed=1")


@pytest.mark.checks("AR-4", "LM-2")
def test_three_hundred_agents_learn_as_in_the_reference() -> None:
    run = program(GRAPH, rounds=2, estimate="none")
    layout = lattice.adjacency(GRAPH, tuple(range(300)), torch.device("cpu")).layout
    assert layout is torch.sparse_coo
    found = []
    for pays_from in (0, 2**62):
        with mock.patch.object(kernels, "PAYS_FROM", pays_from):
            found.append(learn(run)[1])
    batches = {t: engine.Batches(run, t) for t in (1, 2)}
    machine = LearnModel(GRAPH, run.lattice, run.parameters.start_model)

    def source(agent: int):
        def gradient(t: int, point: np.ndarray) -> np.ndarray:
            points = torch.from_numpy(point)[None].float()
            return run.model.gradients(points, *batches[t]([agent]))[1][0].numpy()

        return gradient

    spoken = run_machine(GRAPH, machine, {agent: source(agent) for agent in range(300)}).rounds
    for said in found:
        for one, other in zip(said, spoken, strict=True):
            for agent in range(300):
                message = other.said[agent]
                assert isinstance(message, LearningMessage)
                assert np.array_equal(one.models[agent].numpy(), message.model)
                assert np.array_equal(one.gammas[agent].numpy(), message.scaled_gradient)


@pytest.mark.deep
@pytest.mark.checks("VA-1", "VA-2")
def test_three_hundred_agents_are_validated(tmp_path: Path) -> None:
    run = program(GRAPH, rounds=3, attack=AttackByFunction(per_edge), byzantine=(7,))
    own = attrs.evolve(run.parameters, checked_keys=CheckedKeys.OWN)
    run = attrs.evolve(run, parameters=own)
    states, said = learn(run)
    write(tmp_path, run, said)
    found = validate(run, states[-1], open_transcripts(tmp_path, run), keys_of(run))
    assert not any(found.valid[agent] for agent in run.honest)
    assert Alarm.INCONSISTENT_HASHES in {raised.alarm for raised in found.alarms[0]}
