"""Softmax regression with a quadratic term: convex, with the constants of the theory known."""

import math
from typing import ClassVar

import attrs
import numpy as np
import numpy.typing as npt
from torch import Tensor

from torch_backend.models.mlp import MlpModel
from torch_backend.options import real
from valid_ref.guarantees.bounds import GivenConstants


@attrs.frozen
class SoftmaxRegression:
    """Cross-entropy of softmax(W a + b) plus l2/2 times the squared length of all parameters.

    Implements: MO-9, MO-10.
    """

    features: int
    classes: int
    l2: float

    @property
    def network(self) -> MlpModel:
        """The network without hidden layer whose cross-entropy it is."""
        return MlpModel((self.features, self.classes))

    @property
    def dimension(self) -> int:
        """d = (F + 1) C."""
        return self.network.dimension

    def initial(self, seed: int) -> npt.NDArray[np.float64]:
        """The start of the network of this shape."""
        return self.network.initial(seed)

    def gradients(self, points: Tensor, images: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        """Mean losses [A] and gradients [A, d], the quadratic term included."""
        loss, gradient = self.network.gradients(points, images, labels)
        return loss + self._term(points), gradient.add_(points, alpha=self.l2)

    def losses(self, points: Tensor, images: Tensor, labels: Tensor) -> Tensor:
        """Mean losses [A, M] of the candidates, the quadratic term included."""
        return self.network.losses(points, images, labels) + self._term(points)

    def predictions(self, points: Tensor, images: Tensor) -> Tensor:
        """The most probable labels [A, B]."""
        return self.network.predictions(points, images)

    def _term(self, points: Tensor) -> Tensor:
        return points.square().sum(-1) * (self.l2 / 2)

    def constants(self, images: Tensor) -> GivenConstants:
        """mu, beta and F0 of every loss whose data are among these images [N, F].

        The Hessian of the cross-entropy by the scores has eigenvalues in [0, 1/2], so that
        beta = max (|a|^2 + 1) / 2 + l2; mu = l2; at zero all labels are equally likely, F0 = log C.
        """
        longest = float(images.double().square().sum(1).max())
        return GivenConstants(
            self.dimension, self.l2, (longest + 1) / 2 + self.l2, math.log(self.classes)
        )


@attrs.frozen
class Softmax:
    """Softmax regression with l2/2 |x|^2: convex, so that the guarantees apply."""

    kind: ClassVar[str] = "softmax"
    l2: float = attrs.field(default=0.01, validator=real(0, above=True))

    def build(self, features: int, classes: int) -> SoftmaxRegression:
        """The model for images of so many pixels and so many labels."""
        return SoftmaxRegression(features, classes, self.l2)
