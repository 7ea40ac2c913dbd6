"""Fully connected networks for many agents at once, and softmax regression."""

import itertools
import math
from typing import ClassVar

import attrs
import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from torch_backend.errors import ConfigError
from torch_backend.kernels import empty_tensor
from torch_backend.models.model import (
    checked_batch,
    checked_points,
    cross_entropies,
    lonely,
    loss_and_slope,
    predicted,
    twice,
)
from torch_backend.options import real
from torch_backend.randomness import Stream, generator
from valid_ref.guarantees.bounds import GivenConstants

EVALUATED = 1 << 24
"""Entries of the widest layer that are made at once when test images are looked at."""


@attrs.frozen
class MlpModel:
    """Layers of the given sizes: ReLU after all but the last, softmax cross-entropy on it.

    The parameters are, layer by layer, the weights [outputs, inputs] and the biases [outputs].

    Implements: EX-2.
    """

    sizes: tuple[int, ...]

    @property
    def dimension(self) -> int:
        """d."""
        return sum((inputs + 1) * outputs for inputs, outputs in itertools.pairwise(self.sizes))

    def initial(self, seed: int) -> npt.NDArray[np.float64]:
        """Uniform in +-1/sqrt(inputs) for weights and biases, as linear layers usually start.

        Implements: EX-7.
        """
        stream = generator(seed, Stream.START)
        layers = [
            stream.uniform(-1, 1, (inputs + 1) * outputs) / math.sqrt(inputs)
            for inputs, outputs in itertools.pairwise(self.sizes)
        ]
        return np.concatenate(layers)

    def layers(self, points: Tensor) -> list[tuple[Tensor, Tensor]]:
        """Weights [.., outputs, inputs] and biases [.., outputs] of every layer, as views."""
        found, start = [], 0
        for inputs, outputs in itertools.pairwise(self.sizes):
            middle, end = start + inputs * outputs, start + (inputs + 1) * outputs
            weights = points[..., start:middle].view(*points.shape[:-1], outputs, inputs)
            found.append((weights, points[..., middle:end]))
            start = end
        return found

    def gradients(self, points: Tensor, images: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        """Mean losses [A] and gradients [A, d]: the chain rule written out, layer by layer."""
        if lonely(points):
            loss, gradient = self.gradients(*twice(points, images, labels))
            return loss[:1], gradient[:1]
        checked_points(points, 2, self.dimension)
        checked_batch(points, images, labels, self.sizes[0])
        layers = self.layers(points)
        inputs = _activations(layers, images)
        loss, slope = loss_and_slope(inputs.pop(), labels)
        gradient = empty_tensor(points.shape, points.dtype, points.device)
        written = self.layers(gradient)
        for (weights, _), (into, into_bias) in zip(
            reversed(layers), reversed(written), strict=True
        ):
            below = inputs.pop()
            into.copy_(torch.bmm(slope.transpose(1, 2), below))
            into_bias.copy_(slope.sum(1))
            if inputs:
                # ReLU is flat where its output is zero.
                slope = torch.ops.aten.threshold_backward(torch.bmm(slope, weights), below, 0)
        return loss, gradient

    def losses(self, points: Tensor, images: Tensor, labels: Tensor) -> Tensor:
        """Mean losses [A, M] of M candidates an agent, one candidate of all agents at a time."""
        if lonely(points):
            return self.losses(*twice(points, images, labels))[:1]
        checked_points(points, 3, self.dimension)
        checked_batch(points, images, labels, self.sizes[0])
        count, candidates, _ = points.shape
        rows = [
            cross_entropies(_activations(self.layers(points[:, j]), images)[-1], labels)
            for j in range(candidates)
        ]
        return torch.stack(rows, 1) if rows else points.new_zeros((count, 0))

    def predictions(self, points: Tensor, images: Tensor) -> Tensor:
        """The most probable labels [A, B], the smallest of equals; images in chunks."""
        checked_points(points, 2, self.dimension)
        layers = self.layers(points)
        chunk = max(1, EVALUATED // (max(1, len(points)) * max(self.sizes[1:])))

        def scores(some: Tensor) -> Tensor:
            return _activations(layers, some.expand(len(points), -1, -1))[-1]

        return predicted(scores, images, len(points), chunk)


def _activations(layers: list[tuple[Tensor, Tensor]], images: Tensor) -> list[Tensor]:
    """The input of every layer, and at the end the output of the last, [A, K, size]."""
    values = [images]
    for number, (weights, bias) in enumerate(layers, start=1):
        value = torch.baddbmm(bias.unsqueeze(1), values[-1], weights.transpose(1, 2))
        values.append(value.relu_() if number < len(layers) else value)
    return values


@attrs.frozen
class Mlp:
    """A fully connected ReLU network with the given hidden sizes.

    Implements: EX-2.
    """

    kind: ClassVar[str] = "mlp"
    hidden: tuple[int, ...] = (128, 64)

    def __attrs_post_init__(self) -> None:
        for size in self.hidden:
            if isinstance(size, bool) or not isinstance(size, int) or size < 1:
                raise ConfigError(f"mlp: hidden size {size!r} is not an integer from 1 on")

    def build(self, features: int, classes: int) -> MlpModel:
        """The network for images of so many pixels and so many labels."""
        return MlpModel((features, *self.hidden, classes))


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
