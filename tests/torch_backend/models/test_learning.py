"""Data, batches and models together: plain gradient descent learns to read digits."""

import os
from pathlib import Path

import numpy as np
import pytest
import torch

from torch_backend.data import mnist
from torch_backend.data.batches import batch_indices, device_data
from torch_backend.data.dataset import Dataset, load_digits
from torch_backend.data.partition import Iid, Rotated
from torch_backend.models import Mlp, Softmax
from torch_backend.models.model import ModelOptions

REAL = os.environ.get(mnist.VARIABLE, "")


def accuracies(
    dataset: Dataset, options: ModelOptions, partition: Iid | Rotated, rounds: int, size: int
) -> list[float]:
    """Two agents, each alone with its half of the data, from a shared random start."""
    model = options.build(dataset.features, dataset.classes)
    split = partition.split(dataset, 2, 0)
    data = device_data(dataset, split, "standardised", torch.device("cpu"))
    points = torch.from_numpy(model.initial(0)).float().repeat(2, 1)
    for t in range(1, rounds + 1):
        indices = np.stack([batch_indices(split, 0, agent, t, size) for agent in range(2)])
        _, gradients = model.gradients(points, *data.batch(torch.from_numpy(indices)))
        points = points - 0.2 * gradients
    right = model.predictions(points, data.test_images) == data.test_labels
    return right.double().mean(1).tolist()


@pytest.mark.checks("EX-2", "EX-3")
@pytest.mark.parametrize("options", [Mlp((32, 32)), Softmax(l2=0.001)], ids=lambda o: o.kind)
def test_half_of_the_digits_teach_to_read_nine_of_ten(options: ModelOptions) -> None:
    assert min(accuracies(load_digits(), options, Iid(), 150, 64)) > 0.9


@pytest.mark.checks("EX-4", "EX-5")
def test_an_agent_reads_badly_what_it_never_saw_upright_or_turned() -> None:
    """Each of the two turns the labels of one half only, and the test set mixes both."""
    turned = accuracies(load_digits(), Mlp((32, 32)), Rotated(), 150, 64)
    assert max(turned) < 0.85
    assert min(turned) > 0.4


@pytest.mark.mnist
@pytest.mark.checks("EX-2", "EX-3")
@pytest.mark.skipif(not REAL, reason=f"{mnist.VARIABLE} does not name a directory with MNIST")
def test_the_network_of_the_paper_learns_mnist() -> None:
    dataset = mnist.load_mnist(Path(REAL))
    assert min(accuracies(dataset, Mlp(), Iid(), 100, 300)) > 0.9
