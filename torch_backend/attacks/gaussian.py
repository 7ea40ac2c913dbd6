"""Gaussian noise: the attack of the paper, and the one that forgets the model altogether."""

from typing import ClassVar, Literal

import attrs
import torch
from torch import Tensor

from torch_backend.attacks.attack import Deviation, View
from torch_backend.attacks.telling import (
    FalseModel,
    Windowed,
    clipped,
    on_lattice,
    own_edges,
    units,
)
from torch_backend.options import one_of, real
from torch_backend.randomness import Stream, generator


def noise(view: View, sigma: float, *keys: int) -> Tensor:
    """N(0, sigma^2) in every entry, in lattice units, drawn on the host from seed, round, keys."""
    stream = generator(view.seed, Stream.NOISE, view.t, *keys)
    drawn = torch.from_numpy(stream.standard_normal(view.parameters.dimension))
    return on_lattice(view, (units(view, sigma) * drawn).to(view.models.device))


@attrs.frozen
class Gaussian(Windowed):
    """x_b + N(0, sigma^2) in every entry, anew in every round.

    `consistent`: the noisy model becomes the agent's own and Gamma = Y - 2^k x is made from it, so
    that nothing is locally wrong. `true_gradient`: it keeps its clean model and sends its true
    gradient. `per_edge`: as `true_gradient`, with different noise for each neighbour.

    Implements: EX-8.
    """

    kind: ClassVar[str] = "gaussian"
    sigma: float = attrs.field(default=0.01, validator=real(0))
    variant: Literal["consistent", "true_gradient", "per_edge"] = attrs.field(
        default="consistent", validator=one_of("consistent", "true_gradient", "per_edge")
    )

    def lies(self, view: View) -> Deviation:
        """The noisy models."""
        if self.variant == "per_edge":
            edges = {(b, u): (self._noisy(view, b, u), view.gammas[b]) for b, u in own_edges(view)}
            return Deviation(edges=edges)
        noisy = {b: self._noisy(view, b) for b in view.byzantine}
        if self.variant == "true_gradient":
            return Deviation(said={b: (model, view.gammas[b]) for b, model in noisy.items()})
        bits = view.parameters.precision.step_bits
        said = {b: (model, view.mixed[b] - (model << bits)) for b, model in noisy.items()}
        return Deviation(said=said, keeps=noisy)

    def _noisy(self, view: View, agent: int, *receiver: int) -> Tensor:
        return clipped(view, view.models[agent] + noise(view, self.sigma, agent, *receiver))


@attrs.frozen
class Replacement(FalseModel):
    """N(0, sigma^2) in every entry in place of the model, anew in every round."""

    kind: ClassVar[str] = "gaussian-replacement"
    sigma: float = attrs.field(default=1.0, validator=real(0))

    def lies(self, view: View) -> Deviation:
        """Models of noise alone."""
        return self.to_all(view, lambda sender: noise(view, self.sigma, sender))
