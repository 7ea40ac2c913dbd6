"""A model whose losses of an agent's candidates do not depend on who else is looked at."""

import attrs
import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from torch_backend.models.model import Model


@attrs.frozen(eq=False)
class Apart:
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
