"""What an attack is: a setting it knows, and what it does to the Byzantine agents."""

from collections.abc import Mapping
from typing import Protocol

import attrs

from valid_ref.graph import AgentGraph
from valid_ref.lattice import GradientSource
from valid_ref.losses import Problem
from valid_ref.machine import Adversary, honest
from valid_ref.protocols.parameters import ValidParameters


@attrs.frozen
class Setting:
    """What an adversary knows before the first round: everything but honest keys.

    Implements: AD-3.
    """

    parameters: ValidParameters
    problem: Problem
    byzantine: frozenset[int]
    delta: float
    seed: int

    @property
    def graph(self) -> AgentGraph:
        """The graph."""
        return self.parameters.graph

    @property
    def honest(self) -> tuple[int, ...]:
        """H, in order."""
        return tuple(v for v in range(self.graph.agents) if v not in self.byzantine)


@attrs.frozen
class Deviation:
    """How the Byzantine agents depart from honest code.

    `adversary` replaces messages; `gradient_sources` replaces the private gradients of Byzantine
    agents that otherwise run honest code.
    """

    adversary: Adversary = honest
    gradient_sources: Mapping[int, GradientSource] = attrs.field(factory=dict)


class Attack(Protocol):
    """A named attack with its options; frozen, so that a scenario can hold it."""

    def build(self, setting: Setting) -> Deviation:
        """The deviation in a given setting."""
