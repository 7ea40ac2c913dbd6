"""Attacks that leave the protocol alone: other data, or no messages."""

from typing import ClassVar

import attrs
import torch
from torch import Tensor

from torch_backend.attacks.attack import Deviation, View
from torch_backend.attacks.telling import Windowed, own_edges, require_both
from torch_backend.errors import ConfigError
from torch_backend.options import whole
from valid_ref.graph import AgentGraph


@attrs.frozen
class _OtherData:
    """Honest code on false data; it cannot be told from an agent with such data."""

    kind: ClassVar[str]

    def check(self, graph: AgentGraph, byzantine: tuple[int, ...]) -> None:
        """Refuse a network without an honest agent, or without a Byzantine one."""
        require_both(self.kind, graph, byzantine)

    def deviate(self, view: View) -> Deviation:  # noqa: ARG002 - the protocol of attacks
        """Nothing: honest code speaks."""
        return Deviation()


@attrs.frozen
class LabelFlip(_OtherData):
    """Honest code on flipped labels: y becomes classes - 1 - y."""

    kind: ClassVar[str] = "label-flip"

    def labels(self, labels: Tensor, classes: int) -> Tensor:
        """The flipped labels."""
        return classes - 1 - labels


@attrs.frozen
class Benign(_OtherData):
    """Honest code on data of its own choice: every image has the one label."""

    kind: ClassVar[str] = "benign"
    label: int = attrs.field(default=0, validator=whole(0))

    def labels(self, labels: Tensor, classes: int) -> Tensor:
        """The one label."""
        if self.label >= classes:
            raise ConfigError(f"benign: label = {self.label} is not in 0..{classes - 1}")
        return torch.full_like(labels, self.label)


@attrs.frozen
class Silence(Windowed):
    """Nothing is sent from round `first` on (to `last`): receivers go on with zeros and alarm."""

    kind: ClassVar[str] = "silence"

    def lies(self, view: View) -> Deviation:
        """Silence on all edges of Byzantine agents."""
        return Deviation(silent=frozenset(own_edges(view)))
