"""Whole runs: the attacks here and those of the reference say the same, word by word."""

from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
import pytest
import torch

from tests.torch_backend.runs import keys_of, learn, on_edge, program
from torch_backend import attacks, engine
from torch_backend.attacks import LearningAttack
from valid_ref.adversary import gradients, models
from valid_ref.adversary.attack import Gradient, Setting
from valid_ref.adversary.catalogue import ATTACKS
from valid_ref.coins import Coins
from valid_ref.document import unstructure
from valid_ref.execution import execute
from valid_ref.graph_families import parse_family
from valid_ref.lattice import FloatVector
from valid_ref.protocols.learn import LearningMessage
from valid_ref.protocols.valid import Private

HONEST = {"gradient": Gradient.HONEST}
PAIRS: dict[str, tuple[LearningAttack, Any]] = {
    "sign flip": (attacks.SignFlip(), models.SignFlip()),
    "sign flip of the mean": (
        attacks.SignFlip(of="mean", per_edge=True),
        models.SignFlip(of=models.Flipped.MEAN, per_edge=True),
    ),
    "alie": (attacks.Alie(), models.Alie()),
    "alie, per edge": (attacks.Alie(z=2.0, per_edge=True), models.Alie(z=2.0, per_edge=True)),
    "ipm": (attacks.InnerProduct(), models.InnerProduct()),
    "ipm, honest gradient": (
        attacks.InnerProduct(gradient="honest"),
        models.InnerProduct(**HONEST),
    ),
    "mimic": (attacks.Mimic(victim=4), models.Mimic(victim=4)),
    "dissensus": (attacks.Dissensus(), models.Dissensus()),
    "dissensus of one": (attacks.Dissensus(victim=0), models.Dissensus(victim=0)),
    "isolation": (attacks.Isolation(), models.Isolation()),
    "spectral": (attacks.Spectral(), models.SpectralHeterogeneity()),
    "equivocation": (attacks.Equivocation(), models.Equivocation()),
    "gradient lie": (attacks.GradientLie(), gradients.ConsistentGradientLie()),
    "inconsistent gradient": (
        attacks.InconsistentGradient(units=7),
        gradients.InconsistentGradient(units=7),
    ),
    "inconsistent gradient in one round": (
        attacks.InconsistentGradient(first=2, last=2),
        gradients.InconsistentGradient(first=2, last=2),
    ),
}


def options_of(attack: type) -> dict[str, object]:
    """The options of an attack and their defaults, as documents have them."""
    defaults = {field.name: field.default for field in attrs.fields(attack) if field.init}
    return {name: unstructure(default) for name, default in defaults.items()}


@pytest.mark.checks("EX-8")
def test_both_catalogues_have_one_vocabulary() -> None:
    both = attacks.ATTACKS.kinds.keys() & ATTACKS.keys()
    assert len(both) >= 12
    more = {"gaussian": {"keeps": False}}
    for kind in both - {"label-flip"}:
        here, there = options_of(attacks.ATTACKS.kinds[kind]), options_of(ATTACKS[kind])
        window = {"first": 1, "last": None}
        assert here == {**window, **there, **more.get(kind, {})}, kind
        assert window.items() <= there.items() or not window.keys() & there.keys()
    here, there = (table["label-flip"] for table in (attacks.ATTACKS.kinds, ATTACKS))
    assert (options_of(here), options_of(there)) == ({}, {"total": 0.0, "ascend": False})
    assert "valid-ref's has real labels" in here.__doc__.splitlines()[0]  # as `valid-torch list`
    assert "valid-torch's attack of this name" in there.__doc__  # as `valid-ref run --attacks`


def source_of(run: engine.Program, agent: int) -> Callable[[int, FloatVector], FloatVector]:
    def gradient(t: int, point: FloatVector) -> FloatVector:
        batch = engine.Batches(run, t)([agent])
        points = torch.from_numpy(point)[None].to(run.dtype)
        return run.model.gradients(points, *batch)[1][0].double().numpy()

    return gradient


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("graph", ["complete:5", "two-cliques:3"])
def test_a_run_under_attack_is_that_of_the_reference(name: str, graph: str) -> None:
    here, there = PAIRS[name]
    byzantine = (1, 2)
    run = program(parse_family(graph), attack=here, byzantine=byzantine, rounds=3)
    _, said = learn(run)
    # Attacks on the learning phase use nothing of the problem.
    setting = Setting(run.parameters, None, frozenset(byzantine), 0.0, Coins.of_seed(0))
    keys = keys_of(run)
    private = {v: Private(source_of(run, v), keys[v]) for v in range(run.graph.agents)}
    execution = execute(
        run.parameters,
        private,
        byzantine=frozenset(byzantine),
        adversary=there.build(setting).adversary,
    )
    lies = 0
    for spoken, expected in zip(said, execution.rounds, strict=False):
        for sender, receiver in run.graph.directed_edges:
            one, other = on_edge(spoken, sender, receiver), expected.on_edge(sender, receiver)
            assert isinstance(one, LearningMessage)
            assert isinstance(other, LearningMessage)
            assert np.array_equal(one.model, other.model)
            assert np.array_equal(one.scaled_gradient, other.scaled_gradient)
        lies += len(expected.deviations)
    assert lies
