"""What an attack is: a setting it knows, and what it does to the Byzantine agents."""

from collections.abc import Mapping
from typing import Protocol

import attrs

from valid_ref.errors import ValidRefError
from valid_ref.graph import AgentGraph
from valid_ref.lattice import GradientSource
from valid_ref.losses import Problem
from valid_ref.machine import Adversary, CausalView, Edge, Message, honest
from valid_ref.protocols.agreement import PHASE as AGREEMENT
from valid_ref.protocols.parameters import ValidParameters
from valid_ref.protocols.valid import Valid


class AttackError(ValidRefError):
    """An attack that cannot be built in this setting."""


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

    def phases(self) -> Mapping[str, int]:
        """The phases of the protocol in this reading, in order, and how many rounds each takes."""
        machines = [stage.machine for stage in Valid(self.parameters).stages]
        return {machine.place(1)[0]: machine.rounds for machine in machines}


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


def quiet(view: CausalView) -> Mapping[Edge, Message]:
    """In the agreement every Byzantine agent says that it has no alarm.

    Its honest code may well have one: it sees that its record is not what it sent.
    """
    return dict.fromkeys(view.own_edges, False) if view.phase == AGREEMENT else {}


def together(*adversaries: Adversary) -> Adversary:
    """Several adversaries at once; where two speak on one edge the later one counts."""

    def adversary(view: CausalView) -> Mapping[Edge, Message]:
        return {edge: said for each in adversaries for edge, said in each(view).items()}

    return adversary


def require_phase(setting: Setting, phase: str, *, among: tuple[str, ...]) -> int:
    """How many rounds the phase that an attack names has; refused where there is no such phase."""
    phases = setting.phases()
    if phase not in among or phase not in phases:
        known = ", ".join(name for name in among if name in phases)
        raise AttackError(
            f"no phase {phase!r} to attack in this reading; there are {known}", clause="AD-9"
        )
    return phases[phase]
