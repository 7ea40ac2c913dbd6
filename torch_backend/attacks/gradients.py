"""Attacks through the gradient: false ones, or honest ones of false labels."""

import math
from typing import ClassVar

import attrs
import torch
from torch import Tensor

from torch_backend.attacks.attack import (
    FalseModel,
    Gradient,
    LearningAttack,
    LearningDeviation,
    LearningView,
    Windowed,
    clipped,
    on_lattice,
    units,
)
from torch_backend.errors import ConfigError
from torch_backend.lattice import shift_half_even
from torch_backend.options import real, whole


@attrs.frozen
class InconsistentGradient(Windowed):
    """The honest model with Gamma + units in its first entry: 2^k x = Y - Gamma fails by that."""

    kind: ClassVar[str] = "inconsistent-gradient"
    units: int = attrs.field(default=1, validator=whole(1))

    def lies(self, view: LearningView) -> LearningDeviation:
        """The false gradients."""
        said = {}
        for b in view.byzantine:
            gamma = view.gammas[b].clone()
            gamma[0] += self.units
            said[b] = (view.models[b], gamma)
        return LearningDeviation(said=said)


@attrs.frozen
class GradientLie(FalseModel):
    """The model stays at `target` in every entry, whatever the data say; g = (y - x)/alpha.

    To hold a model against the others takes |g| = (eta/alpha) |sum (x_u - x)|.
    """

    kind: ClassVar[str] = "consistent-gradient-lie"
    target: float = attrs.field(default=1.0, validator=real())
    gradient: Gradient = attrs.field(default="consistent", init=False)

    def lies(self, view: LearningView) -> LearningDeviation:
        """The constant models."""
        like = view.models[0]
        wanted = torch.full_like(like, units(view, self.target), dtype=torch.float64)
        model = on_lattice(view, wanted)
        return self.to_all(view, lambda _sender: model)


@attrs.frozen
class Push(Windowed):
    """In every round the gradient -size u, u the unit vector along (1, 1, .., 1).

    Each of its entries is rounded to the lattice and x = round((Y - A_t g) / 2^k). The pushed
    model becomes the agent's own, and Gamma = Y - 2^k x explains it, so that only the global
    tests can see it.
    """

    kind: ClassVar[str] = "push"
    size: float = attrs.field(default=1.0, validator=real())

    def lies(self, view: LearningView) -> LearningDeviation:
        """The pushed models."""
        bits, A = view.parameters.precision.step_bits, view.parameters.schedule.A(view.t)
        most = view.parameters.gradient_limit // A
        entry = units(view, self.size) / math.sqrt(view.parameters.dimension)
        push = A * round(max(-most, min(most, entry)))
        said, keeps = {}, {}
        for b in view.byzantine:
            model = clipped(view, shift_half_even(view.mixed[b] + push, bits))
            said[b], keeps[b] = (model, view.mixed[b] - (model << bits)), model
        return LearningDeviation(said=said, keeps=keeps)


@attrs.frozen
class _OtherData(LearningAttack):
    """Honest code on false data; it cannot be told from an agent with such data."""

    def deviate(self, view: LearningView) -> LearningDeviation:  # noqa: ARG002 - the protocol of attacks
        """Nothing: honest code speaks."""
        return LearningDeviation()


@attrs.frozen
class LabelFlip(_OtherData):
    """Honest code on flipped labels, y becomes classes - 1 - y; valid-ref's has real labels.

    That attack of the same name has the options `total` and `ascend` in place of classes.
    """

    kind: ClassVar[str] = "label-flip"

    def labels(self, labels: Tensor, classes: int) -> Tensor:
        """The flipped labels."""
        return classes - 1 - labels


@attrs.frozen
class OneLabel(_OtherData):
    """Honest code on data of its own choice: every image has the one label."""

    kind: ClassVar[str] = "one-label"
    label: int = attrs.field(default=0, validator=whole(0))

    def labels(self, labels: Tensor, classes: int) -> Tensor:
        """The one label."""
        if self.label >= classes:
            raise ConfigError(f"one-label: label = {self.label} is not in 0..{classes - 1}")
        return torch.full_like(labels, self.label)
