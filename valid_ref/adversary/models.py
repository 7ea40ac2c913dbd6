"""Attacks by false models, made from what honest agents send; per receiver, or the same to all."""

import enum
import statistics
from collections.abc import Sequence
from typing import ClassVar

import attrs
import numpy as np

from valid_ref.adversary.attack import (
    AttackError,
    Deviation,
    Gradient,
    Setting,
    byzantine_neighbours,
    honest_message,
    honest_neighbours,
    lying,
    models_said,
    observed_agents,
    on_lattice,
    units,
)
from valid_ref.graph import AgentGraph
from valid_ref.lattice import FloatVector, IntVector
from valid_ref.machine import CausalView


@attrs.frozen
class Gaussian:
    """Additive Gaussian noise: x_b + N(0, sigma^2) in every entry, anew in every round.

    With the consistent gradient g = (y - x)/alpha and one noise for all receivers nothing is
    locally wrong; the gradient is then of size sigma sqrt(d)/alpha, which grows with T. In the
    averages of GlobalValidate most of it cancels out (P27), so a test or the norm bound sees it
    unless sigma is small.

    Expected: consistent, one noise: NOT_OPTIMAL or TOO_HETEROGENEOUS at every honest agent when
    sigma sqrt(d sum_t w_t^2)/(alpha W) exceeds the threshold, else valid. Honest gradient:
    BROKEN_RELATION at every honest agent. Per edge: INCONSISTENT_HASHES at every honest agent.
    """

    kind: ClassVar[str] = "gaussian"
    sigma: float = 1.0
    per_edge: bool = False
    gradient: Gradient = Gradient.CONSISTENT

    def __attrs_post_init__(self) -> None:
        if not self.sigma >= 0:
            raise AttackError(f"gaussian: sigma = {self.sigma} is no number from 0 on")

    def build(self, setting: Setting) -> Deviation:
        """The adversary."""

        def lie(view: CausalView, sender: int, receiver: int) -> IntVector:
            stream = receiver if self.per_edge else setting.graph.agents
            generator = setting.coins.generator("noise", sender, view.round, stream)
            noise = generator.standard_normal(setting.parameters.lattice.dimension)
            own = honest_message(setting, view, sender).model
            return own + on_lattice(setting, units(setting, self.sigma) * noise)

        return Deviation(lying(setting, lie, self.gradient))


class Flipped(enum.Enum):
    """Whose model a sign flip negates."""

    OWN = "own"
    """The model that honest code would send."""
    MEAN = "mean"
    """The mean of the honest models."""


@attrs.frozen
class SignFlip:
    """The negated model: -x_b, or -mu with mu the mean of this round's honest models.

    Expected: TOO_HETEROGENEOUS or NOT_OPTIMAL at every honest agent when the models are not near
    zero: to stand at -mu against the mixing takes a gradient of size 2 (eta/alpha) deg |mu|. With
    the honest gradient BROKEN_RELATION; per edge (with `mean`) INCONSISTENT_HASHES where two
    honest receivers have different neighbourhoods.
    """

    kind: ClassVar[str] = "sign-flip"
    of: Flipped = Flipped.OWN
    per_edge: bool = False
    gradient: Gradient = Gradient.CONSISTENT

    def build(self, setting: Setting) -> Deviation:
        """The adversary."""

        def lie(view: CausalView, sender: int, receiver: int) -> IntVector:
            if self.of is Flipped.OWN:
                return -honest_message(setting, view, sender).model
            near = observed_agents(setting, receiver, per_edge=self.per_edge)
            return on_lattice(setting, -models_said(setting, view, near).mean(axis=0))

        return Deviation(lying(setting, lie, self.gradient))


@attrs.frozen
class Alie:
    """A little is enough: mu - z s, mu and s mean and deviation of this round's honest models.

    z = Phi^-1((n - m - q)/(n - m)) with m Byzantine agents and q = floor(n/2 + 1) - m, unless
    given; s is the population deviation, entry by entry. Per edge, mu and s are those of the
    receiver's neighbourhood.

    Expected: as the models agree, s vanishes and so does the lie: valid and admissible when the
    thresholds allow for one more agent's gradient, else TOO_HETEROGENEOUS. With the honest
    gradient BROKEN_RELATION at every honest agent, and per edge INCONSISTENT_HASHES where two
    honest receivers have different neighbourhoods.
    """

    kind: ClassVar[str] = "alie"
    z: float | None = None
    per_edge: bool = False
    gradient: Gradient = Gradient.CONSISTENT

    def build(self, setting: Setting) -> Deviation:
        """The adversary."""
        z = alie_z(setting.graph.agents, len(setting.byzantine)) if self.z is None else self.z

        def lie(view: CausalView, _sender: int, receiver: int) -> IntVector:
            near = models_said(
                setting, view, observed_agents(setting, receiver, per_edge=self.per_edge)
            )
            return on_lattice(setting, near.mean(axis=0) - z * near.std(axis=0))

        return Deviation(lying(setting, lie, self.gradient))


def alie_z(agents: int, byzantine: int) -> float:
    """z of ALIE: Phi^-1((n - m - q)/(n - m)), q = floor(n/2 + 1) - m."""
    q = agents // 2 + 1 - byzantine
    share = (agents - byzantine - q) / (agents - byzantine)
    if not 0 < share < 1:
        raise AttackError(
            f"ALIE has no z for {byzantine} Byzantine agents of {agents}: Phi^-1({share:g}); "
            "give z",
            clause="AD-9",
        )
    return statistics.NormalDist().inv_cdf(share)


@attrs.frozen
class InnerProduct:
    """Inner product manipulation (fall of empires): -epsilon mu, mu the mean of honest models.

    Expected: as for the sign flip of the mean; with a small epsilon the model is held near zero,
    which takes a gradient of size (1 + epsilon) (eta/alpha) deg |mu|.
    """

    kind: ClassVar[str] = "ipm"
    epsilon: float = 0.5
    per_edge: bool = False
    gradient: Gradient = Gradient.CONSISTENT

    def build(self, setting: Setting) -> Deviation:
        """The adversary."""

        def lie(view: CausalView, _sender: int, receiver: int) -> IntVector:
            near = observed_agents(setting, receiver, per_edge=self.per_edge)
            return on_lattice(
                setting, -self.epsilon * models_said(setting, view, near).mean(axis=0)
            )

        return Deviation(lying(setting, lie, self.gradient))


@attrs.frozen
class Mimic:
    """The model of one honest agent, the lowest-numbered unless given, in the same round.

    Expected: valid. In a complete graph mixing point and gradient are those of the victim, bit
    for bit, so that nothing can tell the mimic from an agent with the victim's data; the outcome
    is admissible as long as the heterogeneity with the victim's data counted twice stays below
    the threshold. With the honest gradient BROKEN_RELATION at every honest agent.
    """

    kind: ClassVar[str] = "mimic"
    victim: int | None = None
    gradient: Gradient = Gradient.CONSISTENT

    def build(self, setting: Setting) -> Deviation:
        """The adversary."""
        victim = require_honest(setting, self.victim)

        def lie(view: CausalView, _sender: int, _receiver: int) -> IntVector:
            return honest_message(setting, view, victim).model

        return Deviation(lying(setting, lie, self.gradient))


def require_honest(setting: Setting, agent: int | None) -> int:
    """An honest agent that an attack names; the lowest-numbered if it names none."""
    if agent is None:
        return setting.honest[0]
    if agent not in setting.honest:
        raise AttackError(
            f"the victim {agent} is not one of the honest agents {list(setting.honest)}",
            clause="AD-9",
        )
    return agent


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
            own = models_said(setting, view, [i])[0]
            others = models_said(setting, view, honest_neighbours(setting, i))
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
            total = setting.graph.degree(i) * honest_message(setting, view, i).model
            for u in honest_neighbours(setting, i):
                total = total - honest_message(setting, view, u).model
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
                for u, row in zip(mode, models_said(setting, view, setting.honest), strict=True)
            )
            own = models_said(setting, view, [i])[0]
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
            own = honest_message(setting, view, sender).model
            step = np.full(len(own), size if rank % 2 == 0 else -size)
            return own + on_lattice(setting, step)

        return Deviation(lying(setting, lie, self.gradient))
