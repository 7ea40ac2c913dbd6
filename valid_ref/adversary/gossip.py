"""Attacks that tell each receiver what hurts it most; told to all alike they are consistent."""

from collections.abc import Sequence
from typing import ClassVar

import attrs
import numpy as np

from valid_ref.adversary.attack import AttackError, Deviation, Setting
from valid_ref.adversary.learning import (
    Gradient,
    byzantine_neighbours,
    honest_neighbours,
    lying,
    models,
    on_lattice,
    units,
    usual,
)
from valid_ref.adversary.published import require_honest
from valid_ref.graph import AgentGraph
from valid_ref.lattice import FloatVector, IntVector
from valid_ref.machine import CausalView


def _aim(setting: Setting, victim: int | None, receiver: int) -> int:
    """For whom the lie is made: the receiver, or one victim whoever receives it."""
    return receiver if victim is None else require_honest(setting, victim)


@attrs.frozen
class Dissensus:
    """x_i - epsilon sum_j (x_j - x_i) / b_i for receiver i: the sum over its honest neighbours j.

    b_i Byzantine neighbours together undo epsilon times the mixing of i; all mixing weights of a
    round are equal, so they cancel. With `victim` everybody is told what is meant for the victim.

    Expected: INCONSISTENT_HASHES at every honest agent when a Byzantine agent has two honest
    neighbours. With a victim nothing is locally wrong, and the two global tests decide. With the
    honest gradient BROKEN_RELATION as well.
    """

    kind: ClassVar[str] = "dissensus"
    epsilon: float = 1.0
    victim: int | None = None
    gradient: Gradient = Gradient.CONSISTENT

    def build(self, setting: Setting) -> Deviation:
        """The adversary."""
        _aim(setting, self.victim, 0)

        def lie(view: CausalView, _sender: int, receiver: int) -> IntVector:
            i = _aim(setting, self.victim, receiver)
            own = models(setting, view, [i])[0]
            others = models(setting, view, honest_neighbours(setting, i))
            pull = (others - own).sum(axis=0) / max(1, len(byzantine_neighbours(setting, i)))
            return on_lattice(setting, own - self.epsilon * pull)

        return Deviation(lying(setting, lie, self.gradient))


@attrs.frozen
class Isolation:
    """The Byzantine neighbours of i send what makes all its neighbours average to x_i, exactly.

    Together they send |N(i)| x_i - sum_j x_j, the sum over honest neighbours, split evenly and
    the remainder of the integer division given to the lowest-numbered; mixing then leaves i where
    it is, and it descends on its own loss. Per receiver, or for one victim and told to all.

    Expected: per receiver INCONSISTENT_HASHES at every honest agent when a Byzantine agent has
    two honest neighbours; for one victim nothing is locally wrong, and the global tests decide:
    the gradient that it takes does not fall while the victim stays away from the rest.
    """

    kind: ClassVar[str] = "isolation"
    victim: int | None = None
    gradient: Gradient = Gradient.CONSISTENT

    def build(self, setting: Setting) -> Deviation:
        """The adversary."""
        _aim(setting, self.victim, 0)

        def lie(view: CausalView, sender: int, receiver: int) -> IntVector:
            i = _aim(setting, self.victim, receiver)
            gang = byzantine_neighbours(setting, i) or (sender,)
            total = setting.graph.degree(i) * usual(setting, view, i).model
            for u in honest_neighbours(setting, i):
                total = total - usual(setting, view, u).model
            share, rest = np.divmod(total, len(gang))
            rank = gang.index(sender) if sender in gang else len(gang)
            lowest: IntVector = share + (rest > rank)
            return lowest

        return Deviation(lying(setting, lie, self.gradient))


@attrs.frozen
class SpectralHeterogeneity:
    """x_i + c (f.X) f_i for receiver i: f the Fiedler vector of G[H], X the honest models.

    It feeds the slowest mode of the honest network, along which agents agree last. With `victim`
    everybody is told what is meant for the victim.

    Expected: as for dissensus.
    """

    kind: ClassVar[str] = "spectral"
    c: float = 1.0
    victim: int | None = None
    gradient: Gradient = Gradient.CONSISTENT

    def build(self, setting: Setting) -> Deviation:
        """The adversary."""
        _aim(setting, self.victim, 0)
        fiedler = fiedler_vector(setting.graph, setting.honest)
        mode = dict(zip(setting.honest, fiedler, strict=True))

        def lie(view: CausalView, _sender: int, receiver: int) -> IntVector:
            i = _aim(setting, self.victim, receiver)
            along = sum(
                mode[u] * row
                for u, row in zip(mode, models(setting, view, setting.honest), strict=True)
            )
            own = models(setting, view, [i])[0]
            return on_lattice(setting, own + self.c * mode.get(i, 0.0) * along)

        return Deviation(lying(setting, lie, self.gradient))


def fiedler_vector(graph: AgentGraph, honest: Sequence[int]) -> FloatVector:
    """A unit eigenvector of G[H] for the second smallest eigenvalue, whatever the eigensolver.

    Where the eigenvalue is multiple, the projection of (0, 1, 2, ..) on its eigenspace, or of the
    first unit vector that has one.
    """
    if len(honest) < 2:
        raise AttackError("one honest agent alone has no Fiedler vector", clause="AD-9")
    inside = graph.laplacian()[np.ix_(honest, honest)].astype(np.float64)
    np.fill_diagonal(inside, 0)
    laplacian = inside - np.diag(inside.sum(axis=1))
    eigenvalues, vectors = np.linalg.eigh(laplacian)
    space = vectors[:, np.abs(eigenvalues - eigenvalues[1]) < 1e-9 * len(honest)]
    for start in (np.arange(len(honest), dtype=np.float64), *np.eye(len(honest))):
        found: FloatVector = space @ (space.T @ start)
        if (length := float(np.linalg.norm(found))) > 1e-6:
            return found / length
    raise AttackError("no Fiedler vector found", clause="AD-9")


@attrs.frozen
class Equivocation:
    """x_b + size to every other receiver, x_b - size to the rest, each with a fitting gradient.

    On every edge the relation holds with what went over that edge, so only the comparison of
    reporters can see it.

    Expected: INCONSISTENT_HASHES at every honest agent, naming each Byzantine agent that told two
    honest neighbours different things (L2); none that has one honest neighbour only.
    """

    kind: ClassVar[str] = "equivocation"
    size: float = 0.5
    gradient: Gradient = Gradient.CONSISTENT

    def build(self, setting: Setting) -> Deviation:
        """The adversary."""
        size = units(setting, self.size)

        def lie(view: CausalView, sender: int, receiver: int) -> IntVector:
            rank = setting.graph.neighbours(sender).index(receiver)
            own = usual(setting, view, sender).model
            step = np.full(len(own), size if rank % 2 == 0 else -size)
            return own + on_lattice(setting, step)

        return Deviation(lying(setting, lie, self.gradient))
