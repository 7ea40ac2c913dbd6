"""Parts of somebody's own for the backend that fail where they are told to."""

from typing import Any

import attrs
import numpy as np
import torch
from torch import Tensor, nn

from torch_backend.attacks import LearningAttack, LearningDeviation
from torch_backend.data import dataset_of
from torch_backend.data.partition import Iid
from torch_backend.models import ModuleModel
from torch_backend.rules import Rule
from torch_backend.rules.gossip import ValidRule


class StrangeError(BaseException):
    """No Exception."""


ERRORS: dict[str, type[BaseException]] = {
    kind.__name__: kind
    for kind in (ValueError, SystemExit, BrokenPipeError, RecursionError, MemoryError, StrangeError)
}


@attrs.frozen
class Part:
    """What all of them have: where they fail, and how."""

    fails: str = ""
    error: str = "ValueError"

    def __attrs_post_init__(self) -> None:
        self.at("making")

    def at(self, hook: str) -> None:
        """Fail, if it is here."""
        if self.fails == hook:
            raise ERRORS[self.error](0)


@attrs.frozen
class Data(Part):
    def load(self, _folder: Any) -> Any:
        self.at("load")
        draw = np.random.default_rng(0)
        images = draw.random((60, 4)).astype(np.float32)
        labels = draw.integers(0, 3, 60)
        return dataset_of("theirs", images[:40], labels[:40], images[40:], labels[40:])


@attrs.frozen
class Partition(Part):
    def split(self, dataset: Any, agents: int, seed: int) -> Any:
        self.at("split")
        return Iid().split(dataset, agents, seed)


class LateModel:
    """A model that is as it should be when it is tried, and fails in the first round."""

    def __init__(self, part: "Model", model: ModuleModel) -> None:
        self.part, self.model, self.dimension = part, model, model.dimension

    def initial(self, seed: int) -> Any:
        return self.model.initial(seed)

    def gradients(self, points: Tensor, images: Tensor, labels: Tensor) -> Any:
        if images.shape[1] > 3:
            self.part.at("gradients")
        return self.model.gradients(points, images, labels)

    def losses(self, points: Tensor, images: Tensor, labels: Tensor) -> Any:
        return self.model.losses(points, images, labels)

    def predictions(self, points: Tensor, images: Tensor) -> Any:
        if len(points) > 2:
            self.part.at("predictions")
        return self.model.predictions(points, images)


@attrs.frozen
class Model(Part):
    def build(self, features: int, classes: int) -> Any:
        self.at("build")
        return LateModel(self, ModuleModel(nn.Linear(features, classes), features))


@attrs.frozen
class Average(Part, Rule):
    @property
    def needs_losses(self) -> bool:
        self.at("needs_losses")
        return False

    def check(self, graph: Any) -> None:
        self.at("check")

    def mix(self, t: int, parameters: Any, graph: Any, received: Any, losses: Any) -> Any:
        self.at("mix")
        if self.fails == "form":
            return None
        return ValidRule().mix(t, parameters, graph, received, losses)


@attrs.frozen
class Attack(Part, LearningAttack):
    def check(self, graph: Any, byzantine: Any) -> None:
        self.at("check")

    def deviate(self, view: Any) -> Any:
        self.at("deviate")
        wrong = {"form": None, "said": LearningDeviation(said={view.byzantine[0]: 3})}
        return wrong.get(self.fails, LearningDeviation())

    def labels(self, labels: Tensor, classes: int) -> Any:
        self.at("labels")
        wrong = {"other": labels + classes, "text": "0", "short": torch.zeros(1)}
        return wrong.get(self.fails, labels)


HOOKS = {
    "data": ("Data", "making", "load"),
    "partition": ("Partition", "making", "split"),
    "model": ("Model", "making", "build", "gradients", "predictions"),
    "rule": ("Average", "making", "needs_losses", "check", "mix"),
    "attack": ("Attack", "making", "check", "deviate", "labels"),
}
