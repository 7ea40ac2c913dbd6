"""Losses of candidates that do not depend on which agents are looked at together."""

import pytest
import torch

from torch_backend.models import Cnn, Mlp, Softmax
from torch_backend.models.model import ModelOptions, PerAgentLosses


@pytest.mark.checks("EX-18")
@pytest.mark.parametrize("options", [Mlp((7,)), Softmax(), Cnn()])
def test_the_losses_of_an_agent_do_not_depend_on_its_company(options: ModelOptions) -> None:
    model = options.build(64, 3)
    generator = torch.Generator().manual_seed(3)
    points = torch.randn((5, 4, model.dimension), generator=generator)
    images = torch.rand((5, 9, 64), generator=generator)
    labels = torch.randint(0, 3, (5, 9), generator=generator)
    apart = PerAgentLosses(model)
    losses = apart.losses(points, images, labels)
    torch.testing.assert_close(losses, model.losses(points, images, labels))
    for some in ([0], [1, 4], [2, 0, 3]):
        assert torch.equal(apart.losses(points[some], images[some], labels[some]), losses[some])
    assert apart.losses(points[:0], images[:0], labels[:0]).shape == (0, 4)


@pytest.mark.checks("EX-18")
def test_everything_else_is_that_of_the_model() -> None:
    model = Softmax().build(4, 2)
    apart = PerAgentLosses(model)
    assert apart.dimension == model.dimension
    assert apart.initial(5).tolist() == model.initial(5).tolist()
    points, images = torch.ones((2, model.dimension)), torch.rand((2, 3, 4))
    labels = torch.zeros((2, 3), dtype=torch.int64)
    for one, two in zip(
        apart.gradients(points, images, labels),
        model.gradients(points, images, labels),
        strict=True,
    ):
        assert torch.equal(one, two)
    assert torch.equal(apart.predictions(points, images[0]), model.predictions(points, images[0]))
