"""Any module as a model: the same numbers as the network written by hand."""

import numpy as np
import pytest
import torch
from torch import nn

from torch_backend.errors import ConfigError, ModelError
from torch_backend.models import Cnn, Mlp, ModuleModel


def sequential() -> nn.Module:
    return nn.Sequential(nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 3))


def batch(features: int, agents: int = 3) -> tuple[torch.Tensor, torch.Tensor]:
    generator = np.random.default_rng(0)
    images = torch.from_numpy(generator.normal(size=(agents, 4, features)))
    return images, torch.from_numpy(generator.integers(0, 3, (agents, 4)))


def test_a_module_of_linear_layers_is_the_network_written_by_hand() -> None:
    model, by_hand = ModuleModel(sequential().double(), 6), Mlp((5,)).build(6, 3)
    assert model.dimension == by_hand.dimension
    points = torch.from_numpy(np.random.default_rng(1).normal(size=(3, model.dimension)))
    images, labels = batch(6)
    for found, expected in zip(
        model.gradients(points, images, labels),
        by_hand.gradients(points, images, labels),
        strict=True,
    ):
        assert torch.allclose(found, expected, rtol=1e-10, atol=1e-12)
        assert not found.requires_grad
    candidates = torch.stack([points, -points], 1)
    assert torch.allclose(
        model.losses(candidates, images, labels), by_hand.losses(candidates, images, labels)
    )
    assert torch.equal(model.predictions(points, images[0]), by_hand.predictions(points, images[0]))


def test_the_module_itself_is_left_alone() -> None:
    module = sequential()
    before = [value.clone() for value in module.parameters()]
    model = ModuleModel(module, 6)
    images, labels = batch(6)
    model.gradients(torch.zeros(3, model.dimension), images.float(), labels)
    assert all(torch.equal(a, b) for a, b in zip(before, module.parameters(), strict=True))
    assert all(value.requires_grad for value in module.parameters())


@pytest.mark.checks("EX-7")
def test_the_start_is_bounded_by_the_fan_in_and_normalisations_begin_neutral() -> None:
    module = nn.Sequential(nn.Linear(400, 20), nn.LayerNorm(20), nn.Linear(20, 3))
    model = ModuleModel(module, 400)
    start = model.initial(3)
    assert np.array_equal(start, model.initial(3))
    assert not np.array_equal(start, model.initial(4))
    pieces = np.split(start, np.cumsum([8000, 20, 20, 20, 60]))
    for piece, bound in zip(pieces, (1 / 20, 1 / 20, None, None, 20**-0.5, 20**-0.5), strict=True):
        if bound is not None:
            assert 0.3 * bound < np.abs(piece).max() <= bound
    assert np.array_equal(pieces[2], np.ones(20))
    assert np.array_equal(pieces[3], np.zeros(20))


def test_a_convolutional_network_follows_its_gradient_downhill() -> None:
    model = Cnn(channels=(2, 3)).build(64, 3)
    points = torch.from_numpy(model.initial(0)).repeat(2, 1)
    images, labels = batch(64, agents=2)
    losses, gradients = model.gradients(points, images, labels)
    after, _ = model.gradients(points - 0.05 * gradients, images, labels)
    assert bool((after < losses).all())
    h, direction = 1e-6, torch.ones_like(points)
    ends = torch.stack([points + h * direction, points - h * direction], 1)
    above, below = model.losses(ends, images, labels).unbind(1)
    assert torch.allclose((above - below) / (2 * h), gradients.sum(1), rtol=1e-5, atol=1e-8)
    assert model.predictions(points, images[0]).shape == (2, 4)


@pytest.mark.checks("EX-11")
def test_agents_in_chunks_agree_to_rounding() -> None:
    """The library does not promise equal bits here; hand-written products do better."""
    model = Cnn(channels=(2, 3)).build(64, 3)
    points = torch.from_numpy(model.initial(0)).repeat(4, 1)
    images, labels = batch(64, agents=4)
    whole = model.gradients(points, images, labels)[1]
    for i in range(4):
        one = slice(i, i + 1)
        apart = model.gradients(points[one], images[one], labels[one])[1]
        assert torch.allclose(apart, whole[one], rtol=1e-12, atol=1e-14)


def test_modules_that_are_no_function_of_parameters_are_refused() -> None:
    with pytest.raises(
        ModelError, match=r"the module 1 \(BatchNorm1d\) has statistics of batches; take GroupNorm"
    ):
        ModuleModel(nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2)), 2)
    with pytest.raises(ModelError, match="no parameters"):
        ModuleModel(nn.ReLU(), 2)


def test_options_of_the_convolutional_network() -> None:
    for features in (63, 4):
        with pytest.raises(ModelError, match="squares"):
            Cnn().build(features, 3)
    for options in ({"channels": ()}, {"channels": (0,)}, {"kernel": 2}, {"kernel": 0}):
        with pytest.raises(ConfigError):
            Cnn(**options)
