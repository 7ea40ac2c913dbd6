"""Attacks edge by edge: each receiver is told what hurts it most, or two stories, or nothing."""

import abc
from collections.abc import Callable
from typing import ClassVar

import attrs
import torch
from torch import Tensor

from torch_backend.attacks.attack import (
    FalseModel,
    LearningDeviation,
    LearningView,
    Windowed,
    byzantine_neighbours,
    honest_neighbours,
    on_lattice,
    own_edges,
    require_honest,
    units,
)
from torch_backend.kernels import rows_of
from torch_backend.options import real, whole
from valid_ref.adversary.models import fiedler_vector
from valid_ref.graph import AgentGraph, honest_agents
from valid_ref.named_parts import name_of


@attrs.frozen(kw_only=True)
class _Aimed(FalseModel):
    """A lie made for one agent i: for every receiver apart, or for the victim and told to all."""

    victim: int | None = attrs.field(default=None, validator=whole(0))

    def check(self, graph: AgentGraph, byzantine: tuple[int, ...]) -> None:
        """Refuse a victim that is not honest."""
        super().check(graph, byzantine)
        if self.victim is not None:
            require_honest(name_of(self), graph, byzantine, self.victim)

    @abc.abstractmethod
    def aimed(self, view: LearningView) -> Callable[[int, int], Tensor]:
        """The lies of this round as a function of the sender and of i."""

    def lies(self, view: LearningView) -> LearningDeviation:
        """The lies, to all alike or to each its own."""
        lie, victim = self.aimed(view), self.victim
        if victim is not None:
            return self.to_all(view, lambda sender: lie(sender, victim))
        return self.to_each(view, lie)


@attrs.frozen
class Dissensus(_Aimed):
    """x_i - epsilon sum_j (x_j - x_i) / b_i: the sum over the honest neighbours j of i.

    The b_i Byzantine neighbours of i together undo epsilon times its mixing; all mixing weights
    of a round are equal, so they cancel.
    """

    kind: ClassVar[str] = "dissensus"
    epsilon: float = attrs.field(default=1.0, validator=real())

    def aimed(self, view: LearningView) -> Callable[[int, int], Tensor]:
        """The same lie by every sender."""

        def lie(_sender: int, i: int) -> Tensor:
            own, others = view.models[i], honest_neighbours(view, i)
            pull = (rows_of(view.models, others).sum(0) - len(others) * own).double()
            gang = max(1, len(byzantine_neighbours(view, i)))
            return on_lattice(view, own.double() - self.epsilon * pull / gang)

        return lie


@attrs.frozen
class Isolation(_Aimed):
    """(deg(i) x_i - sum_j x_j) / b_i, the sum over honest neighbours: mixing leaves i where it is.

    The Byzantine neighbours of i share the integer sum evenly and the remainder goes to the
    lowest-numbered, so that the neighbours of i average to x_i exactly (unless clipped).
    """

    kind: ClassVar[str] = "isolation"

    def aimed(self, view: LearningView) -> Callable[[int, int], Tensor]:
        """Shares of one sum."""

        def lie(sender: int, i: int) -> Tensor:
            gang = byzantine_neighbours(view, i) or (sender,)
            total = view.graph.degree(i) * view.models[i]
            total = total - rows_of(view.models, honest_neighbours(view, i)).sum(0)
            share = torch.div(total, len(gang), rounding_mode="floor")
            rest = total - share * len(gang)
            rank = gang.index(sender) if sender in gang else len(gang)
            return share + (rest > rank)

        return lie


@attrs.frozen
class Spectral(_Aimed):
    """x_i + c (f.X) f_i: f the Fiedler vector of G[H], X the honest models.

    It feeds the slowest mode of the honest network, along which agents agree last.
    """

    kind: ClassVar[str] = "spectral"
    c: float = attrs.field(default=1.0, validator=real())

    def check(self, graph: AgentGraph, byzantine: tuple[int, ...]) -> None:
        """Refuse a victim that is not honest, and a network with one honest agent."""
        super().check(graph, byzantine)
        fiedler_vector(graph, honest_agents(graph, byzantine))

    def aimed(self, view: LearningView) -> Callable[[int, int], Tensor]:
        """Lies along one direction, f.X."""
        fiedler = fiedler_vector(view.graph, view.honest)
        mode = dict(zip(view.honest, fiedler.tolist(), strict=True))
        rows = (weight * view.models[u].double() for u, weight in mode.items())
        along = sum(rows, start=torch.zeros_like(view.models[0], dtype=torch.float64))

        def lie(_sender: int, i: int) -> Tensor:
            weight = self.c * mode.get(i, 0.0)
            return on_lattice(view, view.models[i].double() + weight * along)

        return lie


@attrs.frozen
class Equivocation(FalseModel):
    """x_b + size to every other neighbour, the first included, and x_b - size to the rest."""

    kind: ClassVar[str] = "equivocation"
    size: float = attrs.field(default=0.5, validator=real())

    def lies(self, view: LearningView) -> LearningDeviation:
        """The two stories."""
        step = round(units(view, self.size))

        def lie(sender: int, receiver: int) -> Tensor:
            rank = view.graph.neighbours(sender).index(receiver)
            return view.models[sender] + (step if rank % 2 == 0 else -step)

        return self.to_each(view, lie)


@attrs.frozen
class Silence(Windowed):
    """Nothing is sent from round `first` on (to `last`): receivers go on with zeros and alarm."""

    kind: ClassVar[str] = "silence"

    def lies(self, view: LearningView) -> LearningDeviation:
        """Silence on all edges of Byzantine agents."""
        return LearningDeviation(silent=frozenset(own_edges(view)))
