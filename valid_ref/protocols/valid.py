"""Valid: the phases in order, as one machine (alg:valid, alg:validationphase)."""

import functools
from bisect import bisect_left
from collections.abc import Mapping
from itertools import accumulate, chain
from typing import Any

import attrs

from valid_ref.lattice import GradientSource, IntVector
from valid_ref.machine import Message
from valid_ref.protocols import local_validate
from valid_ref.protocols.agreement import AgreementState, ValidationStateAgreement
from valid_ref.protocols.broadcast import BroadcastState, Slot, ValidatedBroadcast
from valid_ref.protocols.lean_stages import lean_stages
from valid_ref.protocols.learn import LearnModel, LearnState
from valid_ref.protocols.measures import Fast, Plain
from valid_ref.protocols.memory import Learned, Memory, Private, Stage
from valid_ref.protocols.parameters import ValidParameters

__all__ = [
    "COMMITMENTS",
    "ESTIMATES",
    "HASHES",
    "KEYS",
    "LearnStage",
    "Learned",
    "Memory",
    "Private",
    "Stage",
    "Valid",
    "ValidState",
]

# Inputs.

KEYS, COMMITMENTS = "LocalValidate.keys", "LocalValidate.commitments"

HASHES, ESTIMATES = "LocalValidate.hashes", "GlobalValidate"


# State.


@attrs.frozen
class ValidState:
    """Where an agent is in the protocol: its memory, the phase, and the state in the phase."""

    memory: Memory
    stage: int
    inner: Any


# The phases: what each begins with, and what its end means for the memory.


@attrs.frozen
class LearnStage:
    """LearnModel, then the norm checks of what was received.

    Implements: VA-1, LV-2.
    """

    measures: Plain
    machine: LearnModel

    def enter(self, memory: Memory) -> GradientSource:
        """The private gradients."""
        return memory.private.gradient

    def leave(self, memory: Memory, state: LearnState) -> Memory:
        """Fix the transcripts.

        Implements: LM-5, LV-1.
        """
        return self.fix(memory, Learned(self.machine.transcripts(state), state.alarms))

    def fix(self, memory: Memory, state: Learned) -> Memory:
        """The memory with which validation begins.

        Implements: LV-2.
        """
        received = state.transcripts.received.items()
        norms = chain.from_iterable(self.measures.norms(*sent) for sent in received)
        memory = attrs.evolve(memory, transcripts=state.transcripts)
        return memory.alarmed_by(state.alarms + tuple(norms))


@attrs.frozen
class KeyStage:
    """The broadcast of the keys.

    Implements: LV-3, LV-4.
    """

    parameters: ValidParameters
    machine: ValidatedBroadcast

    def enter(self, memory: Memory) -> Mapping[Slot, object]:
        """One's own key."""
        key = memory.private.own_key
        self.parameters.field.check_key(key)
        return {"key": key}

    def leave(self, memory: Memory, state: BroadcastState) -> Memory:
        """The keys of all; 0 in place of one that never came."""
        agents = range(self.parameters.graph.agents)
        held = (state.held.get((agent, "key"), 0) for agent in agents)
        keys = tuple(key for key in held if isinstance(key, int))
        return attrs.evolve(memory, keys=keys).alarmed_by(state.alarms)


@attrs.frozen
class CommitmentStage:
    """As printed: hashes under one's own key, before the keys; nobody reads them (P09)."""

    measures: Plain
    machine: ValidatedBroadcast

    def enter(self, memory: Memory) -> Mapping[Slot, object]:
        """The hashes of everything received, all under one's own key."""
        keys = (memory.private.own_key,) * self.machine.graph.agents
        return _reports(self.measures, memory, keys)

    def leave(self, memory: Memory, state: BroadcastState) -> Memory:
        """Only the alarms of the broadcast matter."""
        return memory.alarmed_by(state.alarms)


@attrs.frozen
class HashStage:
    """The broadcast of the hashes, then all checks of LocalValidate on them.

    Implements: LV-6, LV-7, LV-8, LV-9.
    """

    measures: Plain
    machine: ValidatedBroadcast

    def enter(self, memory: Memory) -> Mapping[Slot, object]:
        """The hashes of everything received, under the keys of all."""
        return _reports(self.measures, memory, memory.keys)

    def leave(self, memory: Memory, state: BroadcastState) -> Memory:
        """Check every agent."""
        own = self.measures.report(memory.keys, memory.fixed_transcripts.own)
        raised = self.measures.hash_alarms(memory.agent, state.held, own)
        return memory.alarmed_by(state.alarms + raised)


@attrs.frozen
class EstimateStage:
    """The broadcast of the estimates, then the checks of GlobalValidate.

    Implements: GV-3, GV-4, GV-5, GV-6.
    """

    measures: Plain
    machine: ValidatedBroadcast

    def enter(self, memory: Memory) -> Mapping[Slot, object]:
        """The estimates of everything received."""
        received = memory.fixed_transcripts.received
        return {sender: self.measures.estimate(sent) for sender, sent in received.items()}

    def leave(self, memory: Memory, state: BroadcastState) -> Memory:
        """Check the network."""
        own = self.measures.estimate(memory.fixed_transcripts.own)
        raised = self.measures.estimate_alarms(memory.agent, state.held, own)
        return memory.alarmed_by(state.alarms + raised)


@attrs.frozen
class AgreementStage:
    """ValidationStateAgreement; what it ends with is the verdict.

    Implements: VA-2.
    """

    machine: ValidationStateAgreement

    def enter(self, memory: Memory) -> bool:
        """Whether there is an alarm so far."""
        return bool(memory.alarms)

    def leave(self, memory: Memory, state: AgreementState) -> Memory:
        """Invalid iff alarmed."""
        return attrs.evolve(memory.alarmed_by(state.alarms), invalid=state.alarmed)


def _reports(measures: Plain, memory: Memory, keys: tuple[int, ...]) -> Mapping[Slot, object]:
    """One report per neighbour.

    Implements: LV-5.
    """
    received = memory.fixed_transcripts.received
    return {sender: measures.report(keys, sent) for sender, sent in received.items()}


def _phases(parameters: ValidParameters, measures: Plain) -> tuple[Stage, ...]:
    """LearnModel, LocalValidate, GlobalValidate, ValidationStateAgreement; or lean validation.

    Implements: VA-1, LV-1, LE-5.
    """
    graph, reading = parameters.graph, parameters.reading
    own_slot: dict[int, tuple[Slot, ...]] = dict.fromkeys(range(graph.agents), ("key",))
    neighbour_slots: dict[int, tuple[Slot, ...]] = {
        v: graph.neighbours(v) for v in range(graph.agents)
    }

    def is_report(_tag: object, value: object) -> bool:
        return measures.is_report(value)

    def is_key(_tag: object, value: object) -> bool:
        return local_validate.is_key(parameters, value)

    def is_estimate(_tag: object, value: object) -> bool:
        return measures.is_estimate(value)

    def broadcast(name: str, slots: Mapping[int, tuple[Slot, ...]], form: Any) -> Any:
        return ValidatedBroadcast(graph, name, slots, form, reading=reading, news=measures.news)

    learn: Stage = LearnStage(
        measures,
        LearnModel(
            graph,
            parameters.lattice,
            parameters.start_model,
            reading,
            arithmetic=measures.arithmetic,
        ),
    )
    keys: Stage = KeyStage(parameters, broadcast(KEYS, own_slot, is_key))
    commitments: Stage = CommitmentStage(
        measures, broadcast(COMMITMENTS, neighbour_slots, is_report)
    )
    hashes: Stage = HashStage(measures, broadcast(HASHES, neighbour_slots, is_report))
    estimates: Stage = EstimateStage(measures, broadcast(ESTIMATES, neighbour_slots, is_estimate))
    agreement: Stage = AgreementStage(ValidationStateAgreement(graph, reading))
    if parameters.lean is not None:
        return (learn, *lean_stages(parameters, measures), agreement)
    before = () if reading.P09 else (commitments,)
    first = (learn, *before, keys) if reading.P11 else (keys, learn, *before)
    return (*first, hashes, estimates, agreement)


# The machine.


@attrs.frozen
class Valid:
    """The whole protocol as one machine; whoever shares results brings other measures.

    Implements: VA-1.
    """

    # Inputs.

    parameters: ValidParameters
    measures: Plain = attrs.field(eq=False, repr=False)
    stages: tuple[Stage, ...] = attrs.field(init=False, eq=False, repr=False)

    @measures.default
    def _measures(self) -> Plain:
        return Fast(self.parameters)

    @stages.default
    def _stages(self) -> tuple[Stage, ...]:
        return _phases(self.parameters, self.measures)

    @functools.cached_property
    def _ends(self) -> tuple[int, ...]:
        """The last round of every phase, counted from the first round of all."""
        return tuple(accumulate(stage.machine.rounds for stage in self.stages))

    @property
    def rounds(self) -> int:
        """T + 4|V| - 1; with lean validation T + 2r + 2D + |V|."""
        return self._ends[-1]

    def place(self, round_number: int) -> tuple[str, int]:
        """The phase that a round belongs to, and its number in that phase."""
        index = min(bisect_left(self._ends, round_number), len(self.stages) - 1)
        return self.stages[index].machine.place(self._within(index, round_number))

    def _within(self, stage: int, round_number: int) -> int:
        """The number of a round in the phase of this index."""
        return round_number - (self._ends[stage - 1] if stage else 0)

    # Start.

    def start(self, agent: int, private: Private) -> ValidState:
        """Enter the first phase."""
        return self.enter(Memory(agent, private), 0)

    # Send.

    def send(self, state: ValidState, round_number: int) -> Message:
        """What the current phase sends."""
        within = self._within(state.stage, round_number)
        return self.stages[state.stage].machine.send(state.inner, within)

    # Receive.

    def receive(
        self, state: ValidState, round_number: int, inbox: Mapping[int, Message]
    ) -> ValidState:
        """One round of the current phase; after its last the next one begins.

        Implements: VA-1.
        """
        stage = self.stages[state.stage]
        within = self._within(state.stage, round_number)
        inner = stage.machine.receive(state.inner, within, inbox)
        if within < stage.machine.rounds:
            return state if inner is state.inner else attrs.evolve(state, inner=inner)
        memory = stage.leave(state.memory, inner)
        if state.stage + 1 == len(self.stages):
            return ValidState(memory, state.stage, inner)
        return self.enter(memory, state.stage + 1)

    def enter(self, memory: Memory, index: int) -> ValidState:
        """Begin the phase of this index."""
        stage = self.stages[index]
        return ValidState(memory, index, stage.machine.start(memory.agent, stage.enter(memory)))

    # Finish.

    def output(self, state: ValidState) -> IntVector | None:
        """x_v(T) of a valid agent; nothing of an invalid one.

        Implements: VA-2, LM-6.
        """
        own = state.memory.fixed_transcripts.own
        return None if state.memory.invalid or not own else own[-1].model
