"""A torch.nn.Module as a model: its parameters in one flat vector, agents by vmap."""

import copy
import math
from collections.abc import Mapping
from typing import Any, ClassVar

import attrs
import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.func import functional_call, grad_and_value, vmap

from torch_backend.errors import ConfigError, ModelError
from torch_backend.models.model import checked_batch, checked_points, cross_entropies, predicted
from torch_backend.options import whole
from torch_backend.randomness import Stream, generator

EVALUATED = 1 << 22
"""Pixels of test images, over all agents, that are looked at together."""


STATISTICS = (nn.modules.batchnorm._BatchNorm,)
"""Layers whose output for one image depends on the others of its batch, or on batches before."""


DROPPING = (nn.modules.dropout._DropoutNd,)


def _checked(module: nn.Module) -> nn.Module:
    """A copy; a module that is no function of parameters and one image is refused.

    Implements: EX-20.
    """
    for name, part in module.named_modules():
        place = f"the module {name or type(part).__name__} ({type(part).__name__})"
        if isinstance(part, STATISTICS):
            raise ModelError(
                f"{place} has statistics of batches; take GroupNorm or LayerNorm instead"
            )
        share = part.p if isinstance(part, DROPPING) else getattr(part, "dropout", 0)
        if isinstance(share, int | float) and share > 0:
            raise ModelError(f"{place} draws at random in every call; set its dropout to 0")
    buffers = [name for name, _ in module.named_buffers()]
    if buffers:
        raise ModelError(
            f"the module has buffers, {', '.join(buffers)}: what it computes must depend on its "
            "parameters alone; make constants plain attributes"
        )
    parameters = dict(module.named_parameters())
    if not parameters:
        raise ModelError("the module has no parameters")
    for name, value in parameters.items():
        if isinstance(value, nn.UninitializedParameter):
            raise ModelError(f"the parameter {name} has no shape yet: use no lazy layers")
        if value.is_complex() or not value.is_floating_point():
            raise ModelError(f"the parameter {name} is {value.dtype}: real numbers are needed")
    return copy.deepcopy(module).eval().requires_grad_(False)


@attrs.frozen(eq=False)
class ModuleModel:
    """A module that maps images [K, F] to scores [K, C], with softmax cross-entropy.

    Its scores are a function of its parameters and of one image, the same in every call, so that
    there are no statistics of batches (BatchNorm), no dropout, no buffers, and no flow of control
    that depends on values (vmap runs all agents at once). The parameters are those of the module in
    the order of `named_parameters`, each flattened; a shared one counts once.

    Implements: EX-20.
    """

    module: nn.Module = attrs.field(converter=_checked)
    features: int

    @property
    def shapes(self) -> Mapping[str, torch.Size]:
        """The names and shapes of the parameters, in their order."""
        return {name: value.shape for name, value in self.module.named_parameters()}

    @property
    def dimension(self) -> int:
        """d."""
        return sum(math.prod(shape) for shape in self.shapes.values())

    def initial(self, seed: int) -> npt.NDArray[np.float64]:
        """Uniform in +-1/sqrt(fan-in), by the weights of the same submodule; else 1 and 0.

        A submodule without a weight of two or more dimensions (a normalisation) gets weights 1
        and other parameters 0.

        Implements: EX-7.
        """
        stream, pieces = generator(seed, Stream.START), []
        shapes = self.shapes
        for name, shape in shapes.items():
            owner, _, last = name.rpartition(".")
            weight = shapes.get(f"{owner}.weight" if owner else "weight", torch.Size())
            count = math.prod(shape)
            if len(weight) > 1:
                pieces.append(stream.uniform(-1, 1, count) / math.sqrt(math.prod(weight[1:])))
            else:
                pieces.append(np.full(count, float(last == "weight")))
        return np.concatenate(pieces)

    def _parameters(self, point: Tensor) -> dict[str, Tensor]:
        pieces = torch.split(point, [math.prod(shape) for shape in self.shapes.values()])
        return {
            name: piece.reshape(shape)
            for piece, (name, shape) in zip(pieces, self.shapes.items(), strict=True)
        }

    def _scores(self, point: Tensor, images: Tensor) -> Tensor:
        scores: Tensor = functional_call(self.module, self._parameters(point), (images,))
        return scores

    def _loss(self, point: Tensor, images: Tensor, labels: Tensor) -> Tensor:
        return cross_entropies(self._scores(point, images), labels)

    def gradients(self, points: Tensor, images: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        """Mean losses [A] and gradients [A, d] by automatic differentiation."""
        checked_points(points, 2, self.dimension)
        checked_batch(points, images, labels, self.features)
        gradient, loss = vmap(grad_and_value(self._loss))(points, images, labels)
        return loss.detach(), gradient.detach()

    def losses(self, points: Tensor, images: Tensor, labels: Tensor) -> Tensor:
        """Mean losses [A, M] of the candidates."""
        checked_points(points, 3, self.dimension)
        checked_batch(points, images, labels, self.features)
        over_candidates = vmap(self._loss, in_dims=(0, None, None))
        found: Tensor = vmap(over_candidates)(points, images, labels)
        return found

    def predictions(self, points: Tensor, images: Tensor) -> Tensor:
        """The most probable labels [A, B], images in chunks."""
        checked_points(points, 2, self.dimension)
        chunk = max(1, EVALUATED // (max(1, len(points)) * self.features))
        scores: Any = vmap(self._scores, in_dims=(0, None))
        return predicted(lambda some: scores(points, some), images, len(points), chunk)


@attrs.frozen
class Cnn:
    """A small convolutional network: two convolutions with pooling, then one linear layer."""

    kind: ClassVar[str] = "cnn"
    channels: tuple[int, ...] = (8, 16)
    kernel: int = attrs.field(default=3, validator=whole(1))

    def __attrs_post_init__(self) -> None:
        if not self.channels or min(self.channels) < 1:
            raise ConfigError(f"cnn: channels {self.channels} must be integers from 1 on")
        if self.kernel % 2 == 0:
            raise ConfigError(f"cnn: the kernel {self.kernel} must be odd")

    def build(self, features: int, classes: int) -> ModuleModel:
        """The network for square images of so many pixels and so many labels."""
        side, size = math.isqrt(features), 1 << len(self.channels)
        if side * side != features or side < size:
            raise ModelError(
                f"cnn: images of {features} pixels are not squares of {size} by {size} or more"
            )
        parts: list[nn.Module] = [nn.Unflatten(-1, (1, side, side))]
        for inputs, outputs in zip((1, *self.channels), self.channels, strict=False):
            convolution = nn.Conv2d(inputs, outputs, self.kernel, padding="same")
            parts += [convolution, nn.ReLU(), nn.AvgPool2d(2)]
        left = side // size
        parts += [nn.Flatten(-3), nn.Linear(self.channels[-1] * left * left, classes)]
        return ModuleModel(nn.Sequential(*parts), features)
