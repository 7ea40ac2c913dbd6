"""Tools for attacks on the learning phase: what a Byzantine agent said, and consistent lies."""

import numpy as np

from valid_ref.adversary.attack import Setting
from valid_ref.lattice import IntVector, mix
from valid_ref.machine import CausalView
from valid_ref.protocols.learn import PHASE, LearningMessage


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
