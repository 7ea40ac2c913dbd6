"""The gradients written by hand are those of automatic and of numerical differentiation."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from torch_backend.errors import ConfigError, ModelError
from torch_backend.models import Mlp, MlpModel

SIZES = st.lists(st.integers(1, 6), min_size=0, max_size=3).map(tuple)


def problem(
    model: MlpModel, agents: int, batch: int, seed: int, dtype: torch.dtype = torch.float64
) -> tuple[Tensor, Tensor, Tensor]:
    generator = np.random.default_rng(seed)
    points = generator.normal(size=(agents, model.dimension))
    images = generator.normal(size=(agents, batch, model.sizes[0]))
    labels = generator.integers(0, model.sizes[-1], (agents, batch))
    return (
        torch.from_numpy(points).to(dtype),
        torch.from_numpy(images).to(dtype),
        torch.from_numpy(labels),
    )


def plain_loss(model: MlpModel, point: Tensor, images: Tensor, labels: Tensor) -> Tensor:
    """The mean cross-entropy of one agent, by the library's own layers."""
    layers = model.layers(point)
    value = images
    for number, (weights, bias) in enumerate(layers, start=1):
        value = torch.nn.functional.linear(value, weights, bias)
        value = value if number == len(layers) else value.relu()
    return torch.nn.functional.cross_entropy(value, labels)


@pytest.mark.checks("EX-2")
@given(hidden=SIZES, agents=st.integers(1, 3), batch=st.integers(1, 4), seed=st.integers(0, 99))
def test_losses_and_gradients_are_those_of_autograd(
    hidden: tuple[int, ...], agents: int, batch: int, seed: int
) -> None:
    model = Mlp(hidden).build(5, 3)
    points, images, labels = problem(model, agents, batch, seed)
    losses, gradients = model.gradients(points, images, labels)
    for agent in range(agents):
        point = points[agent].clone().requires_grad_()
        loss = plain_loss(model, point, images[agent], labels[agent])
        (expected,) = torch.autograd.grad(loss, point)
        assert torch.allclose(losses[agent], loss.detach(), rtol=1e-12, atol=1e-13)
        assert torch.allclose(gradients[agent], expected, rtol=1e-10, atol=1e-13)


@pytest.mark.checks("EX-2")
@pytest.mark.parametrize("hidden", [(), (7,), (6, 5), (4, 4, 4)])
def test_gradients_are_finite_differences_of_the_losses(hidden: tuple[int, ...]) -> None:
    model = Mlp(hidden).build(6, 4)
    points, images, labels = problem(model, 2, 5, seed=1)
    _, gradients = model.gradients(points, images, labels)
    direction = torch.from_numpy(np.random.default_rng(2).normal(size=points.shape))
    h = 1e-6
    ends = torch.stack([points + h * direction, points - h * direction], 1)
    above, below = model.losses(ends, images, labels).unbind(1)
    assert torch.allclose((above - below) / (2 * h), (gradients * direction).sum(1), rtol=1e-6)


@pytest.mark.checks("EX-2")
def test_dimensions_are_those_of_the_experiments() -> None:
    assert Mlp().build(784, 10).dimension == 109386
    assert Mlp((32, 32)).build(784, 10).dimension == 26506


@pytest.mark.checks("EX-7")
def test_the_start_is_a_function_of_the_seed_and_fills_its_range() -> None:
    model = Mlp().build(784, 10)
    start = model.initial(4)
    assert start.dtype == np.float64
    assert start.shape == (model.dimension,)
    assert np.array_equal(start, model.initial(4))
    assert not np.array_equal(start, model.initial(5))
    for (weights, bias), inputs in zip(
        model.layers(torch.from_numpy(start)), model.sizes, strict=False
    ):
        bound = inputs**-0.5
        assert 0.99 * bound < float(weights.abs().max()) <= bound
        assert float(bias.abs().max()) <= bound
        assert abs(float(weights.mean())) < 0.05 * bound


@pytest.mark.checks("EX-7")
def test_from_zero_a_network_with_hidden_layers_moves_only_its_last_biases() -> None:
    model = Mlp((3,)).build(4, 2)
    points, images, labels = problem(model, 1, 6, 0)
    _, gradients = model.gradients(torch.zeros_like(points), images, labels)
    assert torch.count_nonzero(gradients[:, :-2]) == 0


@pytest.mark.checks("EX-11")
@pytest.mark.parametrize("threads", [1, 2])
def test_the_result_of_an_agent_does_not_depend_on_its_company(threads: int) -> None:
    """Bit for bit, in float32, on one thread and on two."""
    model = Mlp((64, 32)).build(144, 10)
    points, images, labels = problem(model, 4, 60, 0, torch.float32)
    candidates = points.unsqueeze(1) + torch.tensor([[[0.0], [0.01]]])
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        losses, gradients = model.gradients(points, images, labels)
        scores = model.losses(candidates, images, labels)
        for size in (1, 2, 3):
            for i in range(0, 4, size):
                chunk = slice(i, i + size)
                some, steep = model.gradients(points[chunk], images[chunk], labels[chunk])
                assert torch.equal(some, losses[chunk])
                assert torch.equal(steep, gradients[chunk])
                again = model.losses(candidates[chunk], images[chunk], labels[chunk])
                assert torch.equal(again, scores[chunk])
    finally:
        torch.set_num_threads(before)


def test_the_loss_of_a_candidate_is_the_loss_at_the_point() -> None:
    model = Mlp((4,)).build(5, 3)
    points, images, labels = problem(model, 3, 4, 0)
    found = model.losses(torch.stack([points, points + 1], 1), images, labels)
    assert torch.equal(found[:, 0], model.gradients(points, images, labels)[0])
    assert torch.equal(found[:, 1], model.gradients(points + 1, images, labels)[0])
    assert model.losses(points[:, None][:, :0], images, labels).shape == (3, 0)


def test_predictions_are_the_largest_scores_in_any_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    model = Mlp((4,)).build(5, 3)
    points, images, _ = problem(model, 2, 11, 0)
    test = images[0]
    expected = []
    for point in points:
        (w1, b1), (w2, b2) = model.layers(point)
        expected.append((((test @ w1.T + b1).relu()) @ w2.T + b2).argmax(1))
    found = model.predictions(points, test)
    assert torch.equal(found, torch.stack(expected))
    monkeypatch.setattr("torch_backend.models.mlp.EVALUATED", 1)
    assert torch.equal(model.predictions(points, test), found)
    assert model.predictions(points, test[:0]).shape == (2, 0)


def test_shapes_that_do_not_fit_are_refused() -> None:
    model = Mlp((4,)).build(5, 3)
    points, images, labels = problem(model, 2, 3, 0)
    for bad in (
        (points[:, 1:], images, labels),
        (points.long(), images, labels),
        (points, images[:1], labels),
        (points, images[..., 1:], labels),
        (points, images, labels[:, 1:]),
        (points, images[:, :0], labels[:, :0]),
        (points, images.float(), labels),
    ):
        with pytest.raises(ModelError):
            model.gradients(*bad)
    with pytest.raises(ModelError):
        model.losses(points, images, labels)
    with pytest.raises(ModelError):
        model.predictions(points[0], images[0])
    for hidden in ((0,), (True,), (2.0,)):
        with pytest.raises(ConfigError):
            Mlp(hidden)
