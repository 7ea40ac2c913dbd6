"""How good the models of a round are: accuracies on the whole test set, and disagreement."""

import torch
from torch import Tensor

from torch_backend.engine import State
from torch_backend.program import Program
from torch_backend.results import Row


def evaluate(program: Program, state: State) -> Row:
    """Accuracy of every honest agent's model and of their average, on the whole test set.

    The state must have the losses of all agents.

    Implements: EX-5.
    """
    honest = list(program.honest)
    scale = 2.0**-program.lattice.precision.fraction_bits
    points = state.models.cpu()[honest].double() * scale  # not every device has doubles
    average = points.mean(dim=0, keepdim=True)
    distance = (points - average).square().sum(dim=1).mean().sqrt()
    right = _right(program, torch.cat([points, average]).to(program.dtype).to(program.device))
    own, images = right[:-1], len(program.data.test_labels)
    return Row(
        state.t,
        accuracy=sum(own) / (len(own) * images),
        averaged=right[-1] / images,
        lowest=min(own) / images,
        highest=max(own) / images,
        loss=float(state.losses.cpu().double()[honest].mean()),
        distance=float(distance),
    )


def _right(program: Program, points: Tensor) -> list[int]:
    """How many test images each model labels rightly."""
    data = program.data
    labels = program.model.predictions(points, data.test_images.to(program.dtype))
    counts: list[int] = (labels == data.test_labels).sum(dim=1).tolist()
    return counts
