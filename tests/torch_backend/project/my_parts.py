"""A project outside the tree: a data set, a model, a rule and an attack."""

from pathlib import Path

import attrs
import numpy as np
import torch
from torch import Tensor, nn

from torch_backend.attacks import FalseModel, LearningDeviation, LearningView
from torch_backend.data import Dataset, dataset_of
from torch_backend.models import ModuleModel
from torch_backend.rules import Losses, Received, Rule
from valid_ref.graph import AgentGraph
from valid_ref.lattice import LatticeParameters


@attrs.frozen
class Waves:
    noise: float = 0.5

    def load(self, folder: Path | None) -> Dataset:
        draw = np.random.default_rng(0)
        labels = draw.integers(0, 3, 400)
        waves = np.sin(np.outer(labels + 1, np.arange(12))) + draw.normal(0, self.noise, (400, 12))
        return dataset_of("waves", waves[:300], labels[:300], waves[300:], labels[300:])


@attrs.frozen
class Net:
    width: int = 8

    def build(self, features: int, classes: int) -> ModuleModel:
        layers = nn.Linear(features, self.width), nn.Tanh(), nn.Linear(self.width, classes)
        return ModuleModel(nn.Sequential(*layers), features)


@attrs.frozen
class Halfway(Rule):
    share: float = 0.5

    def mix(
        self,
        t: int,
        parameters: LatticeParameters,
        graph: AgentGraph,
        received: Received,
        losses: Losses | None,
    ) -> tuple[Tensor, Tensor]:
        heard = [torch.stack(received.rows(graph, i)) for i in range(len(received.agents))]
        means = torch.stack([models.double().mean(0) for models in heard])
        mixed = received.own * (1 - self.share) + means * self.share
        Y = (mixed * 2.0**parameters.precision.step_bits).round().long()
        return Y, Y


@attrs.frozen
class Shout(FalseModel):
    factor: int = 3

    def lies(self, view: LearningView) -> LearningDeviation:
        return self.to_all(view, lambda sender: view.models[sender] * self.factor)
