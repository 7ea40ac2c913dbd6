"""Learning, estimates and whole runs of Valid, answered by `valid_ref` for `Oracle.v`."""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from types import MappingProxyType

import attrs
import numpy as np

from proofs_check.coq.rows import (
    Row,
    every_state,
    read_edge,
    write_alarms,
    write_option,
    write_vector,
)
from valid_ref.alarms import Alarm, Alarms
from valid_ref.graph import AgentGraph
from valid_ref.hashing import PrimeField
from valid_ref.lattice import FloatVector, GradientSource, IntVector, LatticeParameters
from valid_ref.machine import Message
from valid_ref.protocols import global_validate, local_validate
from valid_ref.protocols.agreement import AgreementState
from valid_ref.protocols.broadcast import BroadcastState, Tag
from valid_ref.protocols.learn import LearningMessage, LearnModel, LearnState
from valid_ref.protocols.memory import Memory, Private
from valid_ref.protocols.parameters import Bounds, CheckedKeys, ValidParameters, Weighting
from valid_ref.protocols.valid import Valid, ValidState
from valid_ref.reading import Reading
from valid_ref.schedule import Precision, Schedule

FRACTION_BITS = 8
"""Coq knows gradients on the lattice; here they are divided by this power of two, exactly."""


@attrs.frozen
class Learning:
    """What a case says about the learning phase."""

    graph: AgentGraph
    honest: Sequence[bool]
    lattice: LatticeParameters
    start: IntVector
    gradients: Sequence[GradientSource]
    bounds: Bounds | None


@lru_cache
def prime_field(prime: int) -> PrimeField:
    """The field of a prime, tested once."""
    return PrimeField(prime)


def _read_learning(row: Row) -> Learning:
    graph, honest = row.graph(), row.items(row.flag)
    dimension, bits = row.number(), row.number()
    mixing, rates = tuple(row.items(row.number)), tuple(row.items(row.number))
    model_limit, gradient_limit = row.number(), row.number()
    start = row.vector()
    tables = row.items(lambda: row.items(lambda: (row.number(), row.vector())))
    bounds = [tuple(row.items(row.number)) for _ in range(2)] if row.flag() else None
    lattice = LatticeParameters(
        dimension,
        Schedule(Precision(FRACTION_BITS, bits), mixing, rates),
        graph.max_degree,
        model_limit=model_limit,
        gradient_limit=gradient_limit,
        enforce_field_range=False,
    )
    gradients = [_gradient(table) for table in tables]
    return Learning(graph, honest, lattice, start, gradients, Bounds(*bounds) if bounds else None)


def _gradient(table: Sequence[tuple[int, IntVector]]) -> GradientSource:
    """In round t a vector and a multiple of the point; exact in floats."""

    def at(t: int, point: FloatVector) -> FloatVector:
        factor, constant = table[t - 1]
        whole = np.floor(np.ldexp(point, FRACTION_BITS))[: len(constant)]
        gradient: FloatVector = np.ldexp(constant + factor * whole, -FRACTION_BITS)
        return gradient

    return at


def _read_pair(row: Row) -> LearningMessage:
    return LearningMessage(row.vector(), row.vector())


def _write_pair(message: LearningMessage) -> list[int]:
    return write_vector(message.model) + write_vector(message.scaled_gradient)


def _write_transcript(transcript: Sequence[LearningMessage]) -> list[int]:
    return [len(transcript), *(n for message in transcript for n in _write_pair(message))]


def _write_learn_state(state: LearnState) -> list[int]:
    message = [0] if state.message is None else [1, *_write_pair(state.message)]
    return message + write_alarms(state.alarms, {v: v for v in range(state.agent + 1)})


def answer_learn(row: Row) -> list[int]:
    """Every state of LearnModel, then all transcripts and the alarms of the norm checks."""
    case = _read_learning(row)

    def message() -> Message:
        kind = row.number()
        return _read_pair(row) if kind == 2 else "no pair" if kind else None

    said = dict(row.items(lambda: read_edge(row, message)))
    machine = LearnModel(case.graph, case.lattice, case.start)
    states = every_state(case.graph, machine, dict(enumerate(case.gradients)), case.honest, said)
    answer = [number for state in states for number in _write_learn_state(state)]
    parameters = _parameters(case, 2**61 - 1, ())
    for state in states[-case.graph.agents :]:
        transcripts = machine.transcripts(state)
        answer += _write_transcript(transcripts.own)
        for sender, received in transcripts.received.items():
            only = attrs.evolve(transcripts, received={sender: received})
            alarms = tuple(local_validate.norm_alarms(parameters, only))
            answer += _write_transcript(received) + write_alarms(alarms, {})
    return answer


def _parameters(case: Learning, prime: int, weightings: Sequence[Weighting]) -> ValidParameters:
    return ValidParameters(
        graph=case.graph,
        lattice=attrs.evolve(case.lattice, prime=prime),
        start_model=case.start,
        field=prime_field(prime),
        bounds=case.bounds,
        weightings=tuple(weightings),
    )


def _read_weightings(row: Row) -> list[Weighting]:
    found = row.items(lambda: (tuple(row.items(row.number)), [row.number() for _ in range(4)]))
    return [
        Weighting(
            str(index),
            weights,
            Fraction(1),
            optimality=optimality,
            optimality_low=optimality_low,
            heterogeneity=heterogeneity,
            heterogeneity_low=heterogeneity_low,
        )
        for index, (weights, (optimality, optimality_low, heterogeneity, heterogeneity_low)) in (
            enumerate(found)
        )
    ]


def answer_estimates(row: Row) -> list[int]:
    """The estimate of a transcript, the form of some values, and all alarms over them."""
    dimension, rates = row.number(), tuple(row.items(row.number))
    gradient_limit, weightings = row.number(), _read_weightings(row)
    transcript = row.items(lambda: _read_pair(row))
    candidates = row.items(lambda: tuple(row.items(row.number)))
    graph, agent, own = row.graph(), row.number(), tuple(row.items(row.number))
    values: dict[Tag, tuple[int, ...]] = dict(
        row.items(lambda: ((row.number(), row.number()), tuple(row.items(row.number))))
    )
    lattice = LatticeParameters(
        dimension,
        Schedule(Precision(0, 0), (1,) * len(rates), rates),
        graph.max_degree,
        model_limit=1,
        gradient_limit=gradient_limit,
        enforce_field_range=False,
    )
    start = np.zeros(dimension, dtype=np.int64)
    case = Learning(graph, (), lattice, start, (), None)
    parameters = _parameters(case, 2**61 - 1, weightings)
    alarms = tuple(global_validate.estimate_alarms(parameters, agent, values, own))
    entries = [*global_validate.estimate(parameters, transcript)]
    forms = [int(global_validate.is_estimate(parameters, value)) for value in candidates]
    return [
        len(entries),
        *entries,
        *forms,
        *write_alarms(alarms, _positions(graph, len(weightings))),
    ]


HASH_CHECKS = {Alarm.INCONSISTENT_HASHES, Alarm.BROKEN_RELATION, Alarm.SELF_MISMATCH}


def _positions(graph: AgentGraph, weightings: int) -> dict[object, int]:
    """Agents and weightings by their number."""
    n = graph.agents
    return {**{v: v for v in range(n)}, **{str(i): i for i in range(weightings)}}


@attrs.frozen
class Tags:
    """How alarms of a whole run say what they are about, by number."""

    graph: AgentGraph
    weightings: int

    @property
    def keys(self) -> list[Tag]:
        """The tags of the broadcast of keys."""
        return [(v, "key") for v in range(self.graph.agents)]

    @property
    def slots(self) -> list[Tag]:
        """The tags of the other two broadcasts: reporter and agent reported on."""
        return [(u, v) for u in range(self.graph.agents) for v in self.graph.neighbours(u)]

    def write(self, alarms: Alarms) -> list[int]:
        """Alarms; a check of hashes is about agent and owner of the key."""
        n = self.graph.agents
        plain: dict[object, int] = dict(_positions(self.graph, self.weightings))
        for tags in (self.keys, self.slots):
            plain |= {tag: position for position, tag in enumerate(tags)}
        checked: dict[object, int] = {(v, w): v * n + w for v in range(n) for w in range(n)}
        row = [len(alarms)]
        for raised in alarms:
            position = checked if raised.alarm in HASH_CHECKS else plain
            row += write_alarms((raised,), position)[1:]
        return row


@attrs.frozen
class Run:
    """A whole run but for what Byzantine agents say."""

    honest: Sequence[bool]
    machine: Valid
    private: Mapping[int, Private]
    tags: Tags


def read_run(row: Row) -> Run:
    """The public parameters and the private inputs of a whole run."""
    case = _read_learning(row)
    prime, keys, weightings = row.number(), row.items(row.number), _read_weightings(row)
    once, all_keys = row.flag(), row.flag()
    parameters = attrs.evolve(
        _parameters(case, prime, weightings),
        reading=Reading(P22=once),
        checked_keys=CheckedKeys.ALL if all_keys else CheckedKeys.OWN,
    )
    private = {
        v: Private(gradient, key)
        for v, (gradient, key) in enumerate(zip(case.gradients, keys, strict=True))
    }
    return Run(case.honest, Valid(parameters), private, Tags(case.graph, len(weightings)))


def answer_valid(row: Row) -> list[int]:
    """Every state of a whole run, and at its end the memory of all agents."""
    run = read_run(row)
    graph, tags = run.machine.parameters.graph, run.tags
    said = dict(row.items(lambda: read_edge(row, lambda: read_message(row, tags))))
    states = every_state(graph, run.machine, run.private, run.honest, said)
    begin = len(states) - graph.agents
    return [n for i, state in enumerate(states) for n in _write_state(tags, state, last=i >= begin)]


def write_message(tags: Tags, stage: int, message: Message) -> list[int]:
    """What honest code says in the phase of this index, as `read_message` reads it."""
    if isinstance(message, LearningMessage):
        return [2, *_write_pair(message)]
    if isinstance(message, bool):
        return [5, int(message)]
    if not isinstance(message, Mapping):
        return [0]
    if stage == 1:
        return [3, 0, len(tags.keys), *(n for t in tags.keys for n in write_option(message.get(t)))]
    values = [_write_list(message.get(tag)) for tag in tags.slots]
    return [4, 0, len(values), *(n for value in values for n in value)]


def read_message(row: Row, tags: Tags) -> Message:
    """Silence, something of no form, or a message of one of the phases."""
    kind = row.number()
    if kind < 2:
        return "no message" if kind else None
    if kind == 2:
        return _read_pair(row)
    if kind == 5:
        return row.flag()
    unknown = row.flag()
    if kind == 3:
        return _mapping(unknown, tags.keys, row.items(row.maybe))

    def value() -> tuple[int, ...] | None:
        return tuple(row.items(row.number)) if row.flag() else None

    return _mapping(unknown, tags.slots, row.items(value))


def _mapping(unknown: bool, tags: Sequence[Tag], values: Sequence[object]) -> Message:
    told: dict[object, object] = {
        tag: value
        for index, (tag, value) in enumerate(zip(tags, values, strict=True))
        if value is not None or index % 2  # a null may be written or left out
    }
    return MappingProxyType({**told, "unknown": 0} if unknown else told)


def _write_state(tags: Tags, state: ValidState, *, last: bool) -> list[int]:
    memory = state.memory
    inner = _write_memory(tags, memory) if last else _write_inner(tags, state)
    own = () if memory.transcripts is None else memory.transcripts.own
    counts = [len(memory.alarms), len(own), len(memory.keys), int(memory.invalid)]
    return [6 if last else state.stage + 1, *inner, *counts]


def _write_inner(tags: Tags, state: ValidState) -> list[int]:
    inner = state.inner
    if isinstance(inner, LearnState):
        return _write_learn_state(inner)
    if isinstance(inner, AgreementState):
        return [int(inner.alarmed), *tags.write(inner.alarms)]
    if state.stage == 1:
        return _write_broadcast(tags, inner, tags.keys, write_option)
    return _write_broadcast(tags, inner, tags.slots, _write_list)


def _write_broadcast(
    tags: Tags, state: BroadcastState, known: Sequence[Tag], write: Callable[[object], list[int]]
) -> list[int]:
    mappings: tuple[Mapping[Tag, object], ...] = (state.held, state.fresh)
    values = [n for held in mappings for tag in known for n in write(held.get(tag))]
    return values + tags.write(state.alarms)


def _write_list(value: object) -> list[int]:
    if value is None:
        return [0]
    entries = [*value] if isinstance(value, Sequence) else []
    return [1, len(entries), *entries]


def _write_memory(tags: Tags, memory: Memory) -> list[int]:
    transcripts = memory.fixed_transcripts
    received = [n for tr in transcripts.received.values() for n in _write_transcript(tr)]
    return [
        *tags.write(memory.alarms),
        *_write_transcript(transcripts.own),
        *received,
        len(memory.keys),
        *memory.keys,
    ]
