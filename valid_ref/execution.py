"""An execution of Valid: everything that was said, and how every agent ended."""

from collections.abc import Callable, Iterable, Mapping, Set
from types import MappingProxyType

import attrs

from valid_ref.arguments import is_a, require_function, require_type
from valid_ref.graph import require_agent
from valid_ref.lattice import IntVector
from valid_ref.machine import Adversary, Message, Round, count_scalars, honest, run_machine
from valid_ref.protocols.lean import Opening, check_openings
from valid_ref.protocols.parameters import ValidParameters
from valid_ref.protocols.remembered import Remembered
from valid_ref.protocols.valid import Private, Valid, ValidState
from valid_ref.protocols.validation import Validation, ValidationInput

MAPPINGS = {dict, MappingProxyType}
"""The mappings that runs and recordings have; other classes may do anything."""


@attrs.frozen
class Cost:
    """What one agent sent in one phase, to all its neighbours together."""

    rounds: int = 0
    messages: int = 0
    scalars: int = 0


@attrs.frozen
class Execution:
    """The record of a whole run; guarantees are predicates over it."""

    parameters: ValidParameters = attrs.field(validator=is_a(ValidParameters, "ValidParameters"))
    byzantine: frozenset[int] = attrs.field(validator=is_a(frozenset, "a frozenset", each=int))
    rounds: tuple[Round, ...] = attrs.field(validator=is_a(tuple, "a tuple of rounds", each=Round))
    states: Mapping[int, ValidState] = attrs.field(
        validator=is_a(Mapping, "a mapping from agents to states", each=ValidState)
    )

    @property
    def honest(self) -> tuple[int, ...]:
        """H, in order."""
        agents = range(self.parameters.graph.agents)
        return tuple(agent for agent in agents if agent not in self.byzantine)

    @property
    def honest_valid(self) -> tuple[int, ...]:
        """The honest agents that end valid."""
        return tuple(agent for agent in self.honest if not self.states[agent].memory.invalid)

    def output(self, agent: int) -> IntVector | None:
        """The model that an agent outputs; None if it ends invalid."""
        known = require_agent(self.parameters.graph.agents, agent)
        return Valid(self.parameters).output(self.states[known])

    def costs(self) -> Mapping[str, tuple[Cost, ...]]:
        """Rounds, messages and scalars of every agent by phase, counted off the record.

        Implements: VA-4, LM-7, LV-12, GV-10, SA-5.
        """
        graph = self.parameters.graph
        counted: dict[int, int] = {}

        def scalars(message: Message) -> int:
            """Values are sent on and on: each is counted once."""
            # Sound without a Memo, which would cost more than it saves in this inner loop: the
            # record keeps every value alive until this method ends, so no id is used again.
            if type(message) not in MAPPINGS or not isinstance(message, Mapping):
                return count_scalars(message)
            for value in message.values():
                if id(value) not in counted:
                    counted[id(value)] = count_scalars(value)
            return sum(counted[id(value)] for value in message.values())

        totals: dict[str, list[Cost]] = {}
        for spoken in self.rounds:
            costs = totals.setdefault(spoken.phase, [Cost()] * graph.agents)
            for agent in range(graph.agents):
                costs[agent] = _add(costs[agent], spoken, agent, graph.neighbours(agent), scalars)
        return {phase: tuple(costs) for phase, costs in totals.items()}


def _add(
    cost: Cost,
    spoken: Round,
    sender: int,
    receivers: tuple[int, ...],
    scalars: Callable[[Message], int],
) -> Cost:
    apart = (spoken.deviations, spoken.addressed)
    changed = [u for u in receivers if any((sender, u) in edges for edges in apart)]
    usual = spoken.said[sender]
    same = (len(receivers) - len(changed)) * (usual is not None)
    numbers = same * scalars(usual) if same else 0
    messages = same
    for receiver in changed:
        message = spoken.on_edge(sender, receiver)
        messages += message is not None
        numbers += scalars(message)
    return Cost(cost.rounds + 1, cost.messages + messages, cost.scalars + numbers)


def execute(
    parameters: ValidParameters,
    private: Mapping[int, Private],
    *,
    byzantine: frozenset[int] = frozenset(),
    adversary: Adversary = honest,
    watch: Callable[[int], None] | None = None,
) -> Execution:
    """Run Valid from the first gradient to the verdict.

    Implements: VA-1.
    """
    _check_arguments(parameters, private, byzantine, adversary, watch)
    _check_openings(one.key for one in private.values())
    result = run_machine(
        parameters.graph,
        Valid(parameters, Remembered(parameters)),
        private,
        byzantine=byzantine,
        adversary=adversary,
        watch=watch,
    )
    return Execution(parameters, byzantine, result.rounds, result.states)


def validate(
    parameters: ValidParameters,
    fixed: Mapping[int, ValidationInput],
    *,
    byzantine: frozenset[int] = frozenset(),
    adversary: Adversary = honest,
    watch: Callable[[int], None] | None = None,
) -> Execution:
    """Run the validation phase on transcripts of a learning phase that ran elsewhere.

    The execution has the rounds after learning only, and so has what the adversary sees.

    Implements: VA-1.
    """
    _check_openings(one.key for one in fixed.values())
    machine = Validation(Valid(parameters, Remembered(parameters)))
    result = run_machine(
        parameters.graph, machine, fixed, byzantine=byzantine, adversary=adversary, watch=watch
    )
    return Execution(parameters, byzantine, result.rounds, result.states)


def _check_arguments(
    parameters: object, private: object, byzantine: object, adversary: object, watch: object
) -> None:
    """Refuse arguments of other types, and private inputs that are not one for each agent."""
    require_type(parameters, ValidParameters, "parameters", "ValidParameters")
    require_type(private, Mapping, "private", "a mapping from agents to Private")
    require_type(byzantine, Set, "byzantine", "a set of agents")
    require_function(adversary, "adversary")
    if watch is not None:
        require_function(watch, "watch")
    agents = parameters.graph.agents if isinstance(parameters, ValidParameters) else 0
    inputs = private if isinstance(private, Mapping) else {}
    for agent in range(agents):
        require_type(inputs.get(agent), Private, f"private[{agent}]", "Private")


def _check_openings(keys: Iterable[int | Opening]) -> None:
    """Refuse a coin source that gave two agents one nonce.

    Implements: LE-4.
    """
    check_openings(key for key in keys if isinstance(key, Opening))
