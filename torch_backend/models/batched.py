"""What the models share: shapes, cross-entropy and its slope, predictions in chunks."""

from collections.abc import Callable

import torch
from torch import Tensor

from torch_backend.errors import ModelError


def checked_points(points: Tensor, dimensions: int, d: int) -> None:
    """Refuse points that are not float [.., d] with so many dimensions."""
    if points.dim() != dimensions or points.shape[-1] != d or not points.is_floating_point():
        raise ModelError(
            f"points of shape {tuple(points.shape)} and type {points.dtype}: expected floats with "
            f"{dimensions} dimensions, the last of size {d}"
        )


def checked_batch(points: Tensor, images: Tensor, labels: Tensor, features: int) -> None:
    """Refuse images that are not [A, K, F] of the points' type, or labels that are not [A, K]."""
    if images.dim() != 3 or len(images) != len(points) or images.shape[2] != features:
        raise ModelError(
            f"images of shape {tuple(images.shape)}: expected ({len(points)}, K, {features})"
        )
    if labels.shape != images.shape[:2] or images.shape[1] == 0:
        raise ModelError(
            f"labels of shape {tuple(labels.shape)} do not go with images {tuple(images.shape)}"
        )
    if images.dtype != points.dtype:
        raise ModelError(f"images are {images.dtype}, the points {points.dtype}")


def lonely(points: Tensor) -> bool:
    """Whether one agent alone would be computed otherwise than among others.

    On several threads the library cuts a single product among them, and several products not;
    the sums then differ in their last bits. Such an agent is computed twice, as two.

    Implements: EX-11.
    """
    return len(points) == 1 and points.device.type == "cpu" and torch.get_num_threads() > 1


def twice(points: Tensor, images: Tensor, labels: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The one agent and its batch, two times."""
    return points.repeat(2, *(1,) * (points.dim() - 1)), images.repeat(2, 1, 1), labels.repeat(2, 1)


def cross_entropies(scores: Tensor, labels: Tensor) -> Tensor:
    """Mean over the batch of -log softmax at the label: scores [A, K, C] give [A]."""
    logarithms = torch.log_softmax(scores, -1)
    return -logarithms.gather(-1, labels.unsqueeze(-1)).squeeze(-1).mean(-1)


def loss_and_slope(scores: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """The mean losses [A] and their derivative by the scores: (softmax - one at the label) / K."""
    logarithms = torch.log_softmax(scores, -1)
    where = labels.unsqueeze(-1)
    loss = -logarithms.gather(-1, where).squeeze(-1).mean(-1)
    slope = logarithms.exp_()
    slope.scatter_add_(-1, where, slope.new_full(where.shape, -1))
    return loss, slope.div_(labels.shape[-1])


def predicted(scores: Callable[[Tensor], Tensor], images: Tensor, count: int, chunk: int) -> Tensor:
    """The labels [A, B] with the largest scores, computed for `chunk` images at a time."""
    found = [scores(some).argmax(-1) for some in torch.split(images, chunk)]
    if not found:
        return torch.zeros((count, 0), dtype=torch.int64, device=images.device)
    return torch.cat(found, 1)
