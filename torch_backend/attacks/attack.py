"""What an attack sees in a round of learning and may change; and tools to write one."""

import abc
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import ClassVar, Literal, Protocol

import attrs
import torch
from torch import Tensor

from torch_backend.errors import BackendAttackError, ConfigError
from torch_backend.options import declared, whole
from valid_ref.coins import Coins
from valid_ref.graph import AgentGraph, honest_agents
from valid_ref.lattice import LatticeParameters
from valid_ref.named_parts import asking, name_of

Edge = tuple[int, int]
"""Sender and receiver."""


@attrs.frozen(eq=False)
class LearningView:
    """Round t before it is delivered: the adversary sees what everybody's honest code says.

    All tensors are int64 [n, d]. `previous` are the models with which everybody's code entered
    the round; `previous_edges` what went over a Byzantine agent's edge in round t-1 where that
    was not `previous` of the sender. `mixed` is Y, needed in the rows of Byzantine agents only;
    `models` and `gammas` are the messages of round t that honest code makes of it. `coins` are the
    adversary's own and lead to nobody's mini-batches or keys.
    """

    t: int
    graph: AgentGraph
    byzantine: tuple[int, ...]
    parameters: LatticeParameters
    coins: Coins
    previous: Tensor
    mixed: Tensor
    models: Tensor
    gammas: Tensor
    previous_edges: Mapping[Edge, Tensor] = attrs.field(factory=dict)

    @property
    def honest(self) -> tuple[int, ...]:
        """The other agents, sorted."""
        return honest_agents(self.graph, self.byzantine)


@attrs.frozen(eq=False)
class LearningDeviation:
    """What Byzantine agents do instead; whatever is not named here stays as honest code has it.

    `said` is (model, Gamma) to all neighbours, `edges` to one of them, and `silent` are edges on
    which nothing is sent: the receiver goes on with zeros and alarms (LM-4, MO-8). `keeps` is the
    model with which an agent's own code enters the next round. Everything is in range (AR-10).
    """

    said: Mapping[int, tuple[Tensor, Tensor]] = attrs.field(factory=dict)
    edges: Mapping[Edge, tuple[Tensor, Tensor]] = attrs.field(factory=dict)
    keeps: Mapping[int, Tensor] = attrs.field(factory=dict)
    silent: frozenset[Edge] = frozenset()


class LearningAttack(Protocol):
    """A way to deviate; the fields are the options. A class derived from this writes `deviate`."""

    def check(self, graph: AgentGraph, byzantine: tuple[int, ...]) -> None:
        """Refuse what the attack cannot use: here a network without an honest agent, or a liar."""
        require_both(name_of(self), graph, byzantine)

    @abc.abstractmethod
    def deviate(self, view: LearningView) -> LearningDeviation:
        """What the Byzantine agents do in this round: a pure function of the view."""

    def labels(self, labels: Tensor, classes: int) -> Tensor:  # noqa: ARG002 - for other attacks
        """The labels on which a Byzantine agent trains; the true ones for most attacks."""
        return labels


@attrs.frozen
class NoAttack:
    """Nobody is Byzantine."""

    kind: ClassVar[str] = "none"


def check_attack(attack: LearningAttack, graph: AgentGraph, byzantine: tuple[int, ...]) -> None:
    """Let an attack refuse a network.

    Implements: EX-20.
    """
    with asking(attack, "check(graph, byzantine)", BackendAttackError, clause="EX-20"):
        attack.check(graph, byzantine)


def deviation_in(attack: LearningAttack, view: LearningView) -> LearningDeviation:
    """What an attack does in a round, of the form that it must have but for edges and vectors.

    Implements: EX-20.
    """
    with asking(attack, f"deviate in round {view.t}", BackendAttackError, clause="EX-20"):
        found: object = attack.deviate(view)
    if not isinstance(found, LearningDeviation):
        raise BackendAttackError(
            f"{name_of(attack)}: deviate gives a {type(found).__name__}, not a LearningDeviation",
            clause="EX-20",
        )
    return found


def labels_of(attack: LearningAttack, labels: Tensor, classes: int) -> tuple[Tensor, Tensor]:
    """The labels on which Byzantine agents train, and a flag: whether one of them is no label.

    Tensors of another form are refused at once. To look at the flag is left to the caller, so that
    it need not wait for the device; until then the labels are drawn into the range.

    Implements: EX-20.
    """
    with asking(attack, "labels(labels, classes)", BackendAttackError, clause="EX-20"):
        found: object = attack.labels(labels, classes)
    if not isinstance(found, Tensor) or (found.shape, found.dtype) != (labels.shape, torch.int64):
        given = (
            f"{found.dtype} of shape {tuple(found.shape)}"
            if isinstance(found, Tensor)
            else f"a {type(found).__name__}"
        )
        raise BackendAttackError(
            f"{name_of(attack)}: labels gives {given}; needed are torch.int64 of shape "
            f"{tuple(labels.shape)}",
            clause="EX-20",
        )
    drawn_in = found.clamp(0, classes - 1)
    return drawn_in, (found != drawn_in).any()


def require_labels(attack: LearningAttack, classes: int, wrong: Sequence[bool]) -> None:
    """Refuse an attack one of whose labels is none.

    Implements: EX-20.
    """
    if any(wrong):
        raise BackendAttackError(
            f"{name_of(attack)}: labels gives one that is not in 0..{classes - 1}", clause="EX-20"
        )


Gradient = Literal["consistent", "honest"]


@attrs.frozen(kw_only=True)
class Windowed(LearningAttack):
    """An attack in the rounds from `first` to `last`, both included; honest code in the others."""

    first: int = attrs.field(default=1, validator=whole(1))
    last: int | None = attrs.field(default=None, validator=whole(1))

    def __attrs_post_init__(self) -> None:
        if self.last is not None and self.last < self.first:
            raise ConfigError(f"{name_of(self)}: last = {self.last} is before first = {self.first}")

    def deviate(self, view: LearningView) -> LearningDeviation:
        """The lies of this round; none outside the window."""
        active = self.first <= view.t and (self.last is None or view.t <= self.last)
        return self.lies(view) if active else LearningDeviation()

    @abc.abstractmethod
    def lies(self, view: LearningView) -> LearningDeviation:
        """What the Byzantine agents do in a round of the window."""


@attrs.frozen(kw_only=True)
class FalseModel(Windowed):
    """An attack by a false model, with the gradient that explains it or the honest one.

    `consistent`: Gamma = Y - 2^k x with Y made from what this receiver was told before, so that
    the relation AR-6 holds on every edge (under the plain rule). `honest`: what honest code says,
    and the relation breaks. The agent's own code goes on with its honest model.
    """

    gradient: Gradient = attrs.field(default="consistent", validator=declared)

    def to_all(self, view: LearningView, lie: Callable[[int], Tensor]) -> LearningDeviation:
        """Every Byzantine agent says one false model, given by the lie, to all."""
        said = {}
        for sender in view.byzantine:
            receiver = view.graph.neighbours(sender)[0]
            said[sender] = self._message(view, (sender, receiver), lie(sender))
        return LearningDeviation(said=said)

    def to_each(self, view: LearningView, lie: Callable[[int, int], Tensor]) -> LearningDeviation:
        """Every Byzantine agent says each neighbour what the lie gives for sender and receiver."""
        edges = {edge: self._message(view, edge, lie(*edge)) for edge in own_edges(view)}
        return LearningDeviation(edges=edges)

    def _message(self, view: LearningView, edge: Edge, model: Tensor) -> tuple[Tensor, Tensor]:
        model = clipped(view, model)
        if self.gradient == "consistent":
            return model, explaining(view, edge, model)
        return model, view.gammas[edge[0]]


def own_edges(view: LearningView) -> Iterable[Edge]:
    """The directed edges that leave a Byzantine agent."""
    return [(b, u) for b in view.byzantine for u in view.graph.neighbours(b)]


def explaining(view: LearningView, edge: Edge, model: Tensor) -> Tensor:
    """Gamma = Y - 2^k x, Y being that of an agent with the model that this receiver was told.

    Y is linear in the own model: 2^k x + a_t sum_u (x_u - x) changes by 2^k - a_t deg times the
    change of x.
    """
    sender, bits = edge[0], view.parameters.precision.step_bits
    Y = view.mixed[sender]
    if edge in view.previous_edges:
        change = view.previous_edges[edge] - view.previous[sender]
        weight = (1 << bits) - view.parameters.schedule.a(view.t) * view.graph.degree(sender)
        Y = Y + weight * change
    return Y - (model << bits)


def clipped(view: LearningView, model: Tensor) -> Tensor:
    """The nearest model that the range rule admits (AR-10)."""
    limit = view.parameters.model_limit - 1
    return model.clamp(-limit, limit)


def on_lattice(view: LearningView, values: Tensor) -> Tensor:
    """The nearest lattice model, in range, of a float64 vector in lattice units."""
    limit = float(view.parameters.model_limit)
    return clipped(view, values.clamp(-limit, limit).round().long())


def units(view: LearningView, value: float) -> float:
    """A real number in lattice units."""
    return value * 2.0**view.parameters.precision.fraction_bits


def mean(rows: Tensor) -> Tensor:
    """The mean of integer rows [m, d] in float64; the sum is exact."""
    return rows.sum(0).double() / len(rows)


def deviation_of(rows: Tensor, centre: Tensor) -> Tensor:
    """The population deviation of integer rows [m, d] about their mean, entry by entry."""
    total = torch.zeros_like(centre)
    for row in rows:
        total += (row.double() - centre).square_()
    return (total / len(rows)).sqrt_()


def watched(view: LearningView, receiver: int, *, per_edge: bool) -> tuple[int, ...]:
    """The honest agents whose models a statistic is about: all, or those near the receiver."""
    near = sorted({receiver, *view.graph.neighbours(receiver)}.difference(view.byzantine))
    return tuple(near) if per_edge and near else view.honest


def honest_neighbours(view: LearningView, agent: int) -> tuple[int, ...]:
    """N(agent) without the Byzantine agents."""
    return tuple(u for u in view.graph.neighbours(agent) if u not in view.byzantine)


def byzantine_neighbours(view: LearningView, agent: int) -> tuple[int, ...]:
    """The Byzantine agents of N(agent)."""
    return tuple(u for u in view.graph.neighbours(agent) if u in view.byzantine)


def require_both(kind: str, graph: AgentGraph, byzantine: tuple[int, ...]) -> None:
    """Refuse a network in which nobody is honest, or nobody Byzantine."""
    if not byzantine or not honest_agents(graph, byzantine):
        raise BackendAttackError(f"{kind}: {len(byzantine)} of {graph.agents} agents are Byzantine")


def require_honest(kind: str, graph: AgentGraph, byzantine: tuple[int, ...], victim: int) -> None:
    """Refuse a victim that is no honest agent."""
    if victim >= graph.agents or victim in byzantine:
        raise BackendAttackError(f"{kind}: the victim {victim} is not one of the honest agents")
