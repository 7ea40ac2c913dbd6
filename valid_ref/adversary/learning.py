"""Tools for attacks on the learning phase: what a Byzantine agent said, and consistent lies."""

import enum
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from valid_ref.adversary.attack import Setting, quiet, together
from valid_ref.lattice import WORD_LIMIT, FloatVector, IntVector, mix
from valid_ref.losses.loss import FloatMatrix
from valid_ref.machine import Adversary, CausalView, Edge, Message
from valid_ref.protocols.learn import PHASE, LearningMessage

Lie = Callable[[CausalView, int, int], IntVector]
"""The model that a Byzantine agent claims on one edge: view, sender, receiver."""


class Gradient(enum.Enum):
    """Which scaled gradient goes with a false model."""

    CONSISTENT = "consistent"
    """g = (y - x)/alpha, that is Gamma = Y - 2^k x: the relation AR-6 holds on every edge."""
    HONEST = "honest"
    """What honest code would have sent: the relation breaks."""


def in_learning(view: CausalView) -> bool:
    """Whether this is a round of LearnModel."""
    return view.phase == PHASE


def sent_model(setting: Setting, view: CausalView, sender: int, receiver: int) -> IntVector:
    """The model that went over an edge in the round before; x_0 before round 1, else zero."""
    if view.round == 1:
        return setting.parameters.start_model
    message = view.history[-1].on_edge(sender, receiver)
    if isinstance(message, LearningMessage):
        return message.model
    return np.zeros(setting.parameters.lattice.dimension, dtype=np.int64)


def mixing_point(setting: Setting, view: CausalView, agent: int, towards: int) -> IntVector:
    """Y of this round for an agent that told `towards` its models, from what it received."""
    neighbours = [sent_model(setting, view, u, agent) for u in setting.graph.neighbours(agent)]
    own = sent_model(setting, view, agent, towards)
    return mix(setting.parameters.lattice, view.round, own, neighbours)


def consistent_message(
    setting: Setting, view: CausalView, agent: int, towards: int, model: IntVector
) -> LearningMessage:
    """A model and the scaled gradient that satisfies the relation: Gamma = Y - 2^k x."""
    Y = mixing_point(setting, view, agent, towards)
    return LearningMessage(model, Y - (model << setting.parameters.lattice.precision.step_bits))


def clip_model(setting: Setting, model: IntVector) -> IntVector:
    """The nearest model that the range rule admits."""
    limit = setting.parameters.lattice.model_limit - 1
    return np.clip(model, -limit, limit)


def on_lattice(setting: Setting, values: FloatVector) -> IntVector:
    """The nearest lattice model, in range, of a vector in lattice units."""
    limit = float(setting.parameters.lattice.model_limit)
    return clip_model(setting, np.clip(np.rint(values), -limit, limit).astype(np.int64))


def units(setting: Setting, value: float) -> float:
    """A real number in lattice units, cut off where no model can be."""
    scaled = value * 2.0**setting.parameters.lattice.precision.fraction_bits
    return max(-float(WORD_LIMIT), min(float(WORD_LIMIT), scaled))


def usual(setting: Setting, view: CausalView, agent: int) -> LearningMessage:
    """What honest code says in this round; zeros where it has fallen silent."""
    message = view.said[agent]
    if isinstance(message, LearningMessage):
        return message
    zero = np.zeros(setting.parameters.lattice.dimension, dtype=np.int64)
    return LearningMessage(zero, zero)


def models(setting: Setting, view: CausalView, agents: Sequence[int]) -> FloatMatrix:
    """This round's models of these agents, one per row, in lattice units."""
    rows = [usual(setting, view, agent).model for agent in agents]
    d = setting.parameters.lattice.dimension
    return np.array(rows, dtype=np.float64).reshape(len(rows), d)


def honest_neighbours(setting: Setting, agent: int) -> tuple[int, ...]:
    """N(agent) without the Byzantine agents."""
    return tuple(u for u in setting.graph.neighbours(agent) if u not in setting.byzantine)


def byzantine_neighbours(setting: Setting, agent: int) -> tuple[int, ...]:
    """The Byzantine agents of N(agent)."""
    return tuple(u for u in setting.graph.neighbours(agent) if u in setting.byzantine)


def watched(setting: Setting, receiver: int, *, per_edge: bool) -> tuple[int, ...]:
    """The honest agents whose models a statistic is about: all, or those near the receiver."""
    near = sorted({receiver, *setting.graph.neighbours(receiver)} - setting.byzantine)
    return tuple(near) if per_edge and near else setting.honest


def lying(setting: Setting, lie: Lie, gradient: Gradient = Gradient.CONSISTENT) -> Adversary:
    """Byzantine agents send the models of a lie, clipped to the range, and never alarm."""

    def adversary(view: CausalView) -> Mapping[Edge, Message]:
        if not in_learning(view):
            return {}
        return {
            (sender, receiver): _message(setting, view, (sender, receiver), lie, gradient)
            for sender, receiver in view.own_edges
        }

    return together(adversary, quiet)


def _message(
    setting: Setting, view: CausalView, edge: Edge, lie: Lie, gradient: Gradient
) -> LearningMessage:
    model = clip_model(setting, lie(view, *edge))
    if gradient is Gradient.CONSISTENT:
        return consistent_message(setting, view, *edge, model)
    return LearningMessage(model, usual(setting, view, edge[0]).scaled_gradient)
