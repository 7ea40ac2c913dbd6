"""Softmax regression: its gradient, and constants that really bound its curvature."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from torch_backend.errors import ConfigError
from torch_backend.models import Softmax, SoftmaxRegression

MODEL = SoftmaxRegression(4, 3, 0.1)


def batch(seed: int, count: int = 6) -> tuple[torch.Tensor, torch.Tensor]:
    generator = np.random.default_rng(seed)
    images = torch.from_numpy(generator.normal(size=(1, count, 4)))
    return images, torch.from_numpy(generator.integers(0, 3, (1, count)))


@given(seed=st.integers(0, 999), size=st.floats(0.1, 5))
def test_gradient_and_losses_include_the_quadratic_term(seed: int, size: float) -> None:
    images, labels = batch(seed)
    point = size * torch.from_numpy(np.random.default_rng(seed + 1).normal(size=(1, 15)))
    weights, bias = point[0, :12].reshape(3, 4), point[0, 12:]

    def loss(values: torch.Tensor) -> torch.Tensor:
        scores = images[0] @ values[:12].reshape(3, 4).T + values[12:]
        entropy = torch.nn.functional.cross_entropy(scores, labels[0])
        return entropy + 0.05 * values.square().sum()

    inner = point[0].clone().requires_grad_()
    value = loss(inner)
    (expected,) = torch.autograd.grad(value, inner)
    found, gradient = MODEL.gradients(point, images, labels)
    assert torch.allclose(found[0], value.detach(), rtol=1e-12)
    assert torch.allclose(gradient[0], expected, rtol=1e-9, atol=1e-12)
    assert torch.allclose(MODEL.losses(point[:, None], images, labels)[0, 0], value.detach())
    scores = images[0] @ weights.T + bias
    assert torch.equal(MODEL.predictions(point, images[0])[0], scores.argmax(1))


@pytest.mark.checks("MO-10")
@given(seed=st.integers(0, 999), size=st.floats(0, 5))
def test_curvature_lies_between_the_constants(seed: int, size: float) -> None:
    images, labels = batch(seed, count=1)
    known = MODEL.constants(images[0])
    point = size * torch.from_numpy(np.random.default_rng(seed).normal(size=15))

    def loss(values: torch.Tensor) -> torch.Tensor:
        scores = images[0] @ values[:12].reshape(3, 4).T + values[12:]
        entropy = torch.nn.functional.cross_entropy(scores, labels[0])
        return entropy + 0.05 * values.square().sum()

    eigenvalues = torch.linalg.eigvalsh(torch.autograd.functional.hessian(loss, point))
    assert known.strong_convexity == 0.1
    assert float(eigenvalues[0]) >= known.strong_convexity - 1e-9
    assert float(eigenvalues[-1]) <= known.smoothness + 1e-9
    zero, _ = MODEL.gradients(torch.zeros(1, 15, dtype=torch.float64), images, labels)
    assert float(zero) == pytest.approx(known.loss_at_zero)
    assert known.loss_at_zero == math.log(3)
    assert known.dimension == MODEL.dimension == 15


def test_beta_is_attained_by_two_equal_scores() -> None:
    model = SoftmaxRegression(1, 2, 0.5)
    image = torch.tensor([[2.0]], dtype=torch.float64)

    def loss(values: torch.Tensor) -> torch.Tensor:
        scores = image @ values[:2].reshape(2, 1).T + values[2:]
        entropy = torch.nn.functional.cross_entropy(scores, torch.tensor([0]))
        return entropy + 0.25 * values.square().sum()

    hessian = torch.autograd.functional.hessian(loss, torch.zeros(4, dtype=torch.float64))
    top = float(torch.linalg.eigvalsh(hessian)[-1])
    assert top == pytest.approx(model.constants(image).smoothness)


def test_the_start_and_the_options() -> None:
    built = Softmax(l2=0.2).build(4, 3)
    assert built == SoftmaxRegression(4, 3, 0.2)
    assert np.array_equal(built.initial(1), built.initial(1))
    assert built.initial(1).shape == (15,)
    for l2 in (0, -1, float("inf")):
        with pytest.raises(ConfigError):
            Softmax(l2=l2)
