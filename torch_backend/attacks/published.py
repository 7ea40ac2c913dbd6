"""Attacks of the literature that send one false model, made from what honest agents send.

mu and s are mean and population deviation, entry by entry, of this round's honest models: of all
of them, or with `per_edge` of those in the receiver's neighbourhood, the receiver included.
"""

import abc
from typing import ClassVar, Literal

import attrs
from torch import Tensor

from torch_backend.attacks.attack import Deviation, View
from torch_backend.attacks.telling import (
    FalseModel,
    deviation_of,
    mean,
    on_lattice,
    require_honest,
    watched,
)
from torch_backend.options import one_of, real, truth, whole
from valid_ref.adversary.models import alie_z
from valid_ref.graph import AgentGraph


@attrs.frozen(kw_only=True)
class _Statistical(FalseModel):
    """A lie that is a function of a set of honest models."""

    per_edge: bool = attrs.field(default=False, validator=truth())

    @abc.abstractmethod
    def lie(self, view: View, rows: Tensor) -> Tensor:
        """The false model, from honest models [m, d]."""

    def lies(self, view: View) -> Deviation:
        """One lie for all, or one for every receiver; equal neighbourhoods share it."""
        if not self.per_edge:
            everybody = self.lie(view, view.models[list(view.honest)])
            return self.to_all(view, lambda _sender: everybody)
        made: dict[tuple[int, ...], Tensor] = {}

        def told(_sender: int, receiver: int) -> Tensor:
            near = watched(view, receiver, per_edge=True)
            if near not in made:
                made[near] = self.lie(view, view.models[list(near)])
            return made[near]

        return self.to_each(view, told)


@attrs.frozen
class SignFlip(_Statistical):
    """The negated model: -x_b (`of = own`), or -mu (`of = mean`)."""

    kind: ClassVar[str] = "sign-flip"
    of: Literal["own", "mean"] = attrs.field(default="own", validator=one_of("own", "mean"))

    def lies(self, view: View) -> Deviation:
        """The negated models."""
        if self.of == "own":
            return self.to_all(view, lambda sender: -view.models[sender])
        return super().lies(view)

    def lie(self, view: View, rows: Tensor) -> Tensor:
        """-mu."""
        return on_lattice(view, -mean(rows))


@attrs.frozen
class Alie(_Statistical):
    """A little is enough: mu - z s.

    z = Phi^-1((n - m - q)/(n - m)) with m Byzantine agents of n and q = floor(n/2 + 1) - m, unless
    given.
    """

    kind: ClassVar[str] = "alie"
    z: float | None = attrs.field(default=None, validator=real(optional=True))

    def check(self, graph: AgentGraph, byzantine: tuple[int, ...]) -> None:
        """Refuse numbers for which there is no z."""
        super().check(graph, byzantine)
        if self.z is None:
            alie_z(graph.agents, len(byzantine))

    def lie(self, view: View, rows: Tensor) -> Tensor:
        """mu - z s."""
        z = alie_z(view.graph.agents, len(view.byzantine)) if self.z is None else self.z
        centre = mean(rows)
        return on_lattice(view, centre - z * deviation_of(rows, centre))


@attrs.frozen
class InnerProduct(_Statistical):
    """Inner product manipulation (fall of empires): -epsilon mu."""

    kind: ClassVar[str] = "ipm"
    epsilon: float = attrs.field(default=0.5, validator=real())

    def lie(self, view: View, rows: Tensor) -> Tensor:
        """-epsilon mu."""
        return on_lattice(view, -self.epsilon * mean(rows))


@attrs.frozen
class Mimic(FalseModel):
    """The model of one honest agent in the same round; the lowest-numbered unless given."""

    kind: ClassVar[str] = "mimic"
    victim: int | None = attrs.field(default=None, validator=whole(0, optional=True))

    def check(self, graph: AgentGraph, byzantine: tuple[int, ...]) -> None:
        """Refuse a victim that is not honest."""
        super().check(graph, byzantine)
        if self.victim is not None:
            require_honest(self.kind, graph, byzantine, self.victim)

    def lies(self, view: View) -> Deviation:
        """The victim's model."""
        victim = view.honest[0] if self.victim is None else self.victim
        return self.to_all(view, lambda _sender: view.models[victim])
