"""A loss on arrays, an attack and a graph of one's own, outside of valid_ref."""

import attrs
import numpy as np
from numpy.typing import ArrayLike, NDArray

from valid_ref import AgentGraph, Deviation, Setting
from valid_ref.adversary import honest_message, lying
from valid_ref.machine import CausalView

DATA = np.random.default_rng(0).uniform(-0.5, 0.5, size=(6, 20, 3))  # agent, datum, feature


@attrs.frozen
class LeastSquares:
    """Towards the model (1, 1, 1), with a ridge."""

    dimension: int = 3
    mu: float = 0.5
    beta: float = 1.25

    def gradient(self, agent: int, round: int, point: NDArray[np.float64]) -> ArrayLike:
        errors = DATA[agent] @ (point - 1)
        return np.asarray(errors @ DATA[agent] / len(errors) + self.mu * point, dtype=np.float64)


@attrs.frozen
class Shrink:
    """Byzantine agents say their models times a factor, with gradients that explain it."""

    factor: float = 0.9

    def build(self, setting: Setting) -> Deviation:
        def lie(view: CausalView, sender: int, receiver: int) -> NDArray[np.int64]:
            return (self.factor * honest_message(setting, view, sender).model).astype(np.int64)

        return Deviation(lying(setting, lie))


@attrs.frozen
class Wheel:
    """A ring of agents, and one in the middle that everybody knows."""

    rim: int = 5

    def build(self) -> AgentGraph:
        ring = [(v, (v + 1) % self.rim) for v in range(self.rim)]
        return AgentGraph(self.rim + 1, [*ring, *((v, self.rim) for v, _next in ring)])
