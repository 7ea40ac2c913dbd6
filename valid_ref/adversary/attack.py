"""What an attack is, what it knows, and what attacks on the learning share."""

import copy
import enum
import math
from collections.abc import Callable, Mapping, Sequence
from types import NoneType
from typing import Protocol

import attrs
import numpy as np

from valid_ref.arguments import is_a, require_function, require_type
from valid_ref.coins import Coins
from valid_ref.errors import ValidRefError
from valid_ref.graph import AgentGraph, require_agent
from valid_ref.lattice import WORD_LIMIT, FloatVector, GradientSource, IntVector, mix
from valid_ref.losses import Loss, Problem
from valid_ref.losses.loss import FloatMatrix
from valid_ref.losses.own import real_numbers
from valid_ref.losses.problem import gradient_source
from valid_ref.machine import Adversary, CausalView, Edge, Message, honest
from valid_ref.named_parts import asking, name_of
from valid_ref.protocols.agreement import PHASE as AGREEMENT
from valid_ref.protocols.learn import PHASE as LEARNING
from valid_ref.protocols.learn import LearningMessage
from valid_ref.protocols.parameters import ValidParameters
from valid_ref.protocols.valid import Valid


class AttackError(ValidRefError):
    """An attack that cannot be built in this setting."""


@attrs.frozen
class Setting:
    """What an adversary knows before the first round: everything but honest keys and samples.

    `problem` has the losses of all agents and no coins; `coins` are the adversary's own, for
    noise; `samples` those of each Byzantine agent's own mini-batches. None of them leads to a
    key, to an honest mini-batch or to a seed. `delta` is not a number where it is not known.

    Implements: AD-3.
    """

    parameters: ValidParameters = attrs.field(validator=is_a(ValidParameters, "ValidParameters"))
    problem: Problem = attrs.field(validator=is_a((Problem, NoneType), "a Problem"))
    byzantine: frozenset[int] = attrs.field(validator=is_a(frozenset, "a frozenset", each=int))
    delta: float = attrs.field(validator=is_a((int, float), "a number"))
    coins: Coins = attrs.field(validator=is_a(Coins, "Coins"))
    samples: Mapping[int, Coins] = attrs.field(
        factory=dict, validator=is_a(Mapping, "a mapping from agents to Coins", each=Coins)
    )

    @classmethod
    def of(
        cls,
        parameters: ValidParameters,
        problem: Problem,
        byzantine: frozenset[int],
        delta: float | None,
        coins: Coins,
    ) -> "Setting":
        """The setting of a run whose problem still has the coins of all: they are left out.

        Implements: AD-3.
        """
        require_type(parameters, ValidParameters, "parameters", "ValidParameters")
        require_type(problem, Problem, "problem", "a Problem")
        require_type(byzantine, frozenset, "byzantine", "a frozenset")
        samples = {agent: problem.own_coins(agent) for agent in sorted(byzantine)}
        own = copy.deepcopy(parameters)
        known = math.nan if delta is None else delta
        return cls(
            parameters=own,
            problem=problem.public(),
            byzantine=byzantine,
            delta=known,
            coins=coins,
            samples=samples,
        )

    def gradient_source(self, agent: int, loss: Loss | None = None) -> GradientSource:
        """The gradients of a Byzantine agent over its own mini-batches, of any loss it likes."""
        if require_agent(self.graph.agents, agent) not in self.samples:
            raise AttackError(f"agent {agent}'s samples are not the adversary's", clause="AD-3")
        own = self.problem.losses[agent] if loss is None else loss
        require_function(getattr(own, "sample", None), "sample of loss")
        return gradient_source(own, self.problem.batch, self.samples[agent])

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
    agents that otherwise run honest code; `tell` is what they say of themselves in lean validation
    (`own_words`), what they sent if it is not given.
    """

    adversary: Adversary = honest
    gradient_sources: Mapping[int, GradientSource] = attrs.field(factory=dict)
    tell: "Tell | None" = None

    def __attrs_post_init__(self) -> None:
        if not isinstance(self.gradient_sources, Mapping):
            raise AttackError("gradient_sources of a Deviation is no mapping", clause="VA-10")
        for name, value in (
            ("adversary", self.adversary),
            *((f"gradient_sources[{v!r}]", one) for v, one in self.gradient_sources.items()),
            ("tell", honest if self.tell is None else self.tell),
        ):
            if not callable(value):
                raise AttackError(
                    f"{name} of a Deviation is a {type(value).__name__}, not a function",
                    clause="VA-10",
                )


@attrs.frozen
class Account:
    """What an agent says that it did: the transcript that it hashes, its ghat, and its numbers q.

    The estimate need not be that of the transcript.
    """

    transcript: Sequence[LearningMessage]
    estimate: tuple[int, ...]
    numbers: tuple[int, ...]


Tell = Callable[[CausalView, int], Account]
"""What a Byzantine agent says of itself, from what is known after the learning."""


class Attack(Protocol):
    """What a scenario takes as `attack`; a frozen attrs class, its fields the options.

    Implements: VA-10.
    """

    def build(self, setting: Setting) -> Deviation:
        """The deviation in a given setting."""


def deviation_of(attack: Attack, setting: Setting) -> Deviation:
    """What an attack makes of a setting, ready to be called: whatever it raises is refused.

    An attack may be anybody's, so that its build may give anything, and so may what it builds.

    Implements: VA-10, AD-1.
    """
    with asking(attack, "build(setting)", AttackError):
        found: object = attack.build(setting)
    if not isinstance(found, Deviation):
        raise AttackError(
            f"build of {name_of(attack)} gives a {type(found).__name__}, not a Deviation",
            clause="VA-10",
        )
    for agent in found.gradient_sources:
        if agent not in setting.byzantine:
            raise AttackError(
                f"build of {name_of(attack)} gives gradients of {agent!r}, which is no Byzantine "
                "agent",
                clause="AD-1",
            )
    sources = {
        agent: _source_of(attack, source, agent) for agent, source in found.gradient_sources.items()
    }
    tell = None if found.tell is None else _tell_of(attack, found.tell)
    return Deviation(_adversary_of(attack, found.adversary), sources, tell)


def _adversary_of(attack: Attack, adversary: Adversary) -> Adversary:
    def asked(view: CausalView) -> Mapping[Edge, Message]:
        called = f"its adversary, in round {view.round} of {view.phase},"
        with asking(attack, called, AttackError):
            return adversary(view)

    return asked


def _source_of(attack: Attack, source: GradientSource, agent: int) -> GradientSource:
    def asked(t: int, point: FloatVector) -> FloatVector:
        called = f"its gradient of agent {agent} in round {t}"
        with asking(attack, called, AttackError):
            found = real_numbers(source(t, point))
        if found is None:
            raise AttackError(
                f"{name_of(attack)}: {called} is no array of real numbers", clause="VA-10"
            )
        return found

    return asked


def _tell_of(attack: Attack, tell: Tell) -> Tell:
    def asked(view: CausalView, agent: int) -> Account:
        with asking(attack, f"its tell of agent {agent}", AttackError):
            found: object = tell(view, agent)
        if not isinstance(found, Account):
            raise AttackError(
                f"{name_of(attack)}: tell gives a {type(found).__name__}, not an Account",
                clause="VA-10",
            )
        return found

    return asked


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
        known = [name for name in among if name in phases] or [*phases]
        raise AttackError(
            f"no phase {phase!r} to attack in this run; there are {', '.join(known)}",
            clause="AD-9",
        )
    return phases[phase]


def require_paper(setting: Setting) -> None:
    """Refuse an attack on the paper's validation where a run has the lean one."""
    if setting.parameters.lean is not None:
        raise AttackError(
            "an attack on the paper's validation needs --validation paper; lean validation has "
            "attacks of its own",
            clause="AD-9",
        )


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
    return view.phase == LEARNING


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


def honest_message(setting: Setting, view: CausalView, agent: int) -> LearningMessage:
    """What honest code says in this round; zeros where it has fallen silent."""
    message = view.said[agent]
    if isinstance(message, LearningMessage):
        return message
    zero = np.zeros(setting.parameters.lattice.dimension, dtype=np.int64)
    return LearningMessage(zero, zero)


def models_said(setting: Setting, view: CausalView, agents: Sequence[int]) -> FloatMatrix:
    """This round's models of these agents, one per row, in lattice units."""
    rows = [honest_message(setting, view, agent).model for agent in agents]
    d = setting.parameters.lattice.dimension
    return np.array(rows, dtype=np.float64).reshape(len(rows), d)


def honest_neighbours(setting: Setting, agent: int) -> tuple[int, ...]:
    """N(agent) without the Byzantine agents."""
    return tuple(u for u in setting.graph.neighbours(agent) if u not in setting.byzantine)


def byzantine_neighbours(setting: Setting, agent: int) -> tuple[int, ...]:
    """The Byzantine agents of N(agent)."""
    return tuple(u for u in setting.graph.neighbours(agent) if u in setting.byzantine)


def observed_agents(setting: Setting, receiver: int, *, per_edge: bool) -> tuple[int, ...]:
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
    return LearningMessage(model, honest_message(setting, view, edge[0]).scaled_gradient)
