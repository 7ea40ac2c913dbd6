"""What the engine asks of a model, what the models share, and losses taken agent by agent."""

from collections.abc import Callable
from typing import Protocol

import attrs
import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from torch_backend.errors import ModelError
from valid_ref.foreign import refusing


class Model(Protocol):
    """A family of functions of a flat vector of d parameters; it holds no parameters itself.

    A is the number of agents, K the batch, F the pixels of an image, M the candidates per agent.
    All floats are float32 unless points come as float64, and then everything is.
    """

    @property
    def dimension(self) -> int:
        """d."""

    def initial(self, seed: int) -> npt.NDArray[np.float64]:
        """The shared random start x_0 (EX-7), drawn on the host."""

    def gradients(self, points: Tensor, images: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        """Mean losses [A] and their gradients [A, d] at points [A, d], each on its own batch."""

    def losses(self, points: Tensor, images: Tensor, labels: Tensor) -> Tensor:
        """Mean losses [A, M] of candidates [A, M, d] on the batch [A, K, F] of each agent."""

    def predictions(self, points: Tensor, images: Tensor) -> Tensor:
        """Labels [A, B] that the models [A, d] give to the same images [B, F]."""


class ModelOptions(Protocol):
    """The options of a model, which become a model once the data are known."""

    def build(self, features: int, classes: int) -> Model:
        """The model for images of so many pixels and so many labels."""


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


@attrs.frozen(eq=False)
class OwnModel:
    """A model that somebody brought: whatever it raises in a run is refused by its name.

    Implements: EX-20.
    """

    name: str
    model: Model
    dimension: int = attrs.field(init=False)
    """d; asked for once."""

    @dimension.default
    def _dimension(self) -> int:
        with self._asked("dimension"):
            found: object = self.model.dimension
        if type(found) is not int or found < 1:
            raise ModelError(
                f"{self.name}: dimension = {found!r} is no integer from 1 on", clause="EX-20"
            )
        return found

    def _asked(self, called: str) -> refusing:
        return refusing(ModelError, f"{self.name}: {called} raises", clause="EX-20")

    def initial(self, seed: int) -> npt.NDArray[np.float64]:
        """The start of the model."""
        with self._asked("initial(seed)"):
            return self.model.initial(seed)

    def gradients(self, points: Tensor, images: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        """Those of the model."""
        with self._asked("gradients(points, images, labels)"):
            return self.model.gradients(points, images, labels)

    def losses(self, points: Tensor, images: Tensor, labels: Tensor) -> Tensor:
        """Those of the model."""
        with self._asked("losses(points, images, labels)"):
            return self.model.losses(points, images, labels)

    def predictions(self, points: Tensor, images: Tensor) -> Tensor:
        """Those of the model."""
        with self._asked("predictions(points, images)"):
            return self.model.predictions(points, images)


@attrs.frozen(eq=False)
class PerAgentLosses:
    """The same model, but the candidates of every agent in a call of their own.

    A rule that asks for losses looks at the agents of its process together, and in another shape
    a library may round otherwise; gradients are taken in chunks that are the same in any case.

    Implements: EX-18.
    """

    model: Model

    @property
    def dimension(self) -> int:
        """d."""
        return self.model.dimension

    def initial(self, seed: int) -> npt.NDArray[np.float64]:
        """The start of the model."""
        return self.model.initial(seed)

    def gradients(self, points: Tensor, images: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        """Those of the model."""
        return self.model.gradients(points, images, labels)

    def losses(self, points: Tensor, images: Tensor, labels: Tensor) -> Tensor:
        """Mean losses [A, M]: one agent after the other, its candidates as so many agents.

        What the model gets are fresh copies, so that they begin alike in memory.
        """
        count = points.shape[1]
        found = [
            self.model.losses(
                own.unsqueeze(1).clone(), image.repeat(count, 1, 1), label.repeat(count, 1)
            )
            for own, image, label in zip(points, images, labels, strict=True)
        ]
        return torch.stack(found).squeeze(-1) if found else points.new_zeros(points.shape[:2])

    def predictions(self, points: Tensor, images: Tensor) -> Tensor:
        """Those of the model."""
        return self.model.predictions(points, images)
