"""Attacks by one false model: Gaussian noise, and those of the literature.

mu and s are mean and population deviation, entry by entry, of this round's honest models: of all
of them, or with `per_edge` of those in the receiver's neighbourhood, the receiver included.
"""

import abc
from typing import ClassVar, Literal

import attrs
import torch
from torch import Tensor

from torch_backend.attacks.attack import (
    FalseModel,
    LearningDeviation,
    LearningView,
    deviation_of,
    mean,
    on_lattice,
    require_honest,
    units,
    watched,
)
from torch_backend.errors import ConfigError
from torch_backend.kernels import rows_of, sent
from torch_backend.options import declared, real, whole
from valid_ref.adversary.models import alie_z
from valid_ref.graph import AgentGraph
from valid_ref.named_parts import name_of


def noise(view: LearningView, sigma: float, *keys: int) -> Tensor:
    """N(0, sigma^2) in every entry, in lattice units, drawn on the host from coins, round, keys."""
    stream = view.coins.generator("noise", view.t, *keys)
    drawn = torch.from_numpy(stream.standard_normal(view.parameters.dimension))
    return on_lattice(view, sent(units(view, sigma) * drawn, view.models.device))


@attrs.frozen
class Gaussian(FalseModel):
    """x_b + N(0, sigma^2) in every entry, anew in every round; with `per_edge` for every receiver.

    With `keeps` the noisy model becomes the agent's own, so that noise adds up and, with the
    consistent gradient, nothing is locally wrong; else it goes on with its honest model.

    Implements: EX-8.
    """

    kind: ClassVar[str] = "gaussian"
    sigma: float = attrs.field(default=1.0, validator=real(0))
    per_edge: bool = attrs.field(default=False, validator=declared)
    keeps: bool = attrs.field(default=False, validator=declared)

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        if self.per_edge and self.keeps:
            raise ConfigError("gaussian: per_edge tells many models, and an agent keeps one")

    def lies(self, view: LearningView) -> LearningDeviation:
        """The noisy models."""
        if self.per_edge:
            return self.to_each(view, lambda b, u: self._noisy(view, b, u))
        found = self.to_all(view, lambda b: self._noisy(view, b))
        noisy = {b: model for b, (model, _gamma) in found.said.items()}
        return attrs.evolve(found, keeps=noisy) if self.keeps else found

    def _noisy(self, view: LearningView, agent: int, *receiver: int) -> Tensor:
        return view.models[agent] + noise(view, self.sigma, agent, *receiver)


@attrs.frozen
class Replacement(FalseModel):
    """N(0, sigma^2) in every entry in place of the model, anew in every round."""

    kind: ClassVar[str] = "gaussian-replacement"
    sigma: float = attrs.field(default=1.0, validator=real(0))

    def lies(self, view: LearningView) -> LearningDeviation:
        """Models of noise alone."""
        return self.to_all(view, lambda sender: noise(view, self.sigma, sender))


@attrs.frozen(kw_only=True)
class _Statistical(FalseModel):
    """A lie that is a function of a set of honest models."""

    per_edge: bool = attrs.field(default=False, validator=declared)

    @abc.abstractmethod
    def lie(self, view: LearningView, rows: Tensor) -> Tensor:
        """The false model, from honest models [m, d]."""

    def lies(self, view: LearningView) -> LearningDeviation:
        """One lie for all, or one for every receiver; equal neighbourhoods share it."""
        if not self.per_edge:
            everybody = self.lie(view, rows_of(view.models, view.honest))
            return self.to_all(view, lambda _sender: everybody)
        made: dict[tuple[int, ...], Tensor] = {}

        def told(_sender: int, receiver: int) -> Tensor:
            near = watched(view, receiver, per_edge=True)
            if near not in made:
                made[near] = self.lie(view, rows_of(view.models, near))
            return made[near]

        return self.to_each(view, told)


@attrs.frozen
class SignFlip(_Statistical):
    """The negated model: -x_b (`of = own`), or -mu (`of = mean`)."""

    kind: ClassVar[str] = "sign-flip"
    of: Literal["own", "mean"] = attrs.field(default="own", validator=declared)

    def lies(self, view: LearningView) -> LearningDeviation:
        """The negated models."""
        if self.of == "own":
            return self.to_all(view, lambda sender: -view.models[sender])
        return super().lies(view)

    def lie(self, view: LearningView, rows: Tensor) -> Tensor:
        """-mu."""
        return on_lattice(view, -mean(rows))


@attrs.frozen
class Alie(_Statistical):
    """A little is enough: mu - z s.

    z = Phi^-1((n - m - q)/(n - m)) with m Byzantine agents of n and q = floor(n/2 + 1) - m, unless
    given.
    """

    kind: ClassVar[str] = "alie"
    z: float | None = attrs.field(default=None, validator=real())

    def check(self, graph: AgentGraph, byzantine: tuple[int, ...]) -> None:
        """Refuse numbers for which there is no z."""
        super().check(graph, byzantine)
        if self.z is None:
            alie_z(graph.agents, len(byzantine))

    def lie(self, view: LearningView, rows: Tensor) -> Tensor:
        """mu - z s."""
        z = alie_z(view.graph.agents, len(view.byzantine)) if self.z is None else self.z
        centre = mean(rows)
        return on_lattice(view, centre - z * deviation_of(rows, centre))


@attrs.frozen
class InnerProduct(_Statistical):
    """Inner product manipulation (fall of empires): -epsilon mu."""

    kind: ClassVar[str] = "ipm"
    epsilon: float = attrs.field(default=0.5, validator=real())

    def lie(self, view: LearningView, rows: Tensor) -> Tensor:
        """-epsilon mu."""
        return on_lattice(view, -self.epsilon * mean(rows))


@attrs.frozen
class Mimic(FalseModel):
    """The model of one honest agent in the same round; the lowest-numbered unless given."""

    kind: ClassVar[str] = "mimic"
    victim: int | None = attrs.field(default=None, validator=whole(0))

    def check(self, graph: AgentGraph, byzantine: tuple[int, ...]) -> None:
        """Refuse a victim that is not honest."""
        super().check(graph, byzantine)
        if self.victim is not None:
            require_honest(name_of(self), graph, byzantine, self.victim)

    def lies(self, view: LearningView) -> LearningDeviation:
        """The victim's model."""
        victim = view.honest[0] if self.victim is None else self.victim
        return self.to_all(view, lambda _sender: view.models[victim])
