"""What the engine asks of a model: gradients, losses and predictions of many agents at once."""

from typing import ClassVar, Protocol

import numpy as np
import numpy.typing as npt
from torch import Tensor


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

    kind: ClassVar[str]

    def build(self, features: int, classes: int) -> Model:
        """The model for images of so many pixels and so many labels."""
