"""Cases as rows of integers, answered by `valid_ref`.

`Oracle.v` reads the same rows and answers them with the definitions of the theorems. A row
begins with the number of its kind; a list begins with its length.
"""

from collections.abc import Mapping, Sequence
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
from proofs_check.coq.run_answers import answer_estimates, answer_learn, answer_valid, prime_field
from valid_ref.alarms import Alarm
from valid_ref.graph import AgentGraph
from valid_ref.hashing import hash_integers, hash_vector
from valid_ref.lattice import (
    IntVector,
    LatticeError,
    LatticeParameters,
    mix,
    read_gradient,
    residual,
    squared_norm,
    step,
)
from valid_ref.machine import Message
from valid_ref.protocols.agreement import AgreementState, ValidationStateAgreement
from valid_ref.protocols.broadcast import BroadcastState, Slot, Tag, ValidatedBroadcast
from valid_ref.protocols.learn import LearningMessage
from valid_ref.protocols.local_validate import hash_alarms, transcript_report
from valid_ref.protocols.parameters import CheckedKeys, ValidParameters
from valid_ref.reading import Reading
from valid_ref.schedule import Precision, Schedule

BROADCAST, AGREEMENT, HASH, TRANSCRIPT, LATTICE, CHECKS, LEARN, ESTIMATES, VALID = range(1, 10)
KINDS = {
    BROADCAST: "broadcast",
    AGREEMENT: "agreement",
    HASH: "hash",
    TRANSCRIPT: "transcript",
    LATTICE: "lattice step",
    CHECKS: "checks of hashes",
    LEARN: "LearnModel and norm checks",
    ESTIMATES: "estimates and statistics",
    VALID: "whole run",
}


def _answer_broadcast(row: Row) -> list[int]:
    graph = row.graph()
    honest, sources = row.items(row.flag), row.items(row.number)
    values, once, repaired = row.items(row.number), row.flag(), row.flag()
    slots = {v: tuple(t for t, s in enumerate(sources) if s == v) for v in set(sources)}
    tags: list[Tag] = [(source, t) for t, source in enumerate(sources)]
    reading = Reading(P01=repaired, P22=once)
    machine = ValidatedBroadcast(graph, "case", slots, _natural, reading)
    if row.number() != machine.rounds:
        raise ValueError("the case has another number of rounds than the machine")
    said = dict(row.items(lambda: read_edge(row, lambda: _packet(row, tags))))
    private: dict[int, Mapping[Slot, object]] = {
        v: {t: values[t] for t in slots.get(v, ())} for v in range(graph.agents)
    }
    position: dict[object, int] = {tag: t for t, tag in enumerate(tags)}

    def write(state: BroadcastState) -> list[int]:
        mappings = (state.held, state.fresh)
        known = [n for held in mappings for tag in tags for n in write_option(held.get(tag))]
        return known + write_alarms(state.alarms, position)

    states = every_state(graph, machine, private, honest, said)
    return [number for state in states for number in write(state)]


def _natural(_tag: Tag, value: object) -> bool:
    return type(value) is int and value >= 0


def _packet(row: Row, tags: Sequence[Tag]) -> Message:
    kind = row.number()
    if kind < 2:
        return "no mapping" if kind else None
    unknown, entries = row.flag(), row.items(row.maybe)
    packet: dict[object, object] = {
        tag: value
        for tag, value in zip(tags, entries, strict=True)
        if value is not None or tag[1] == 0  # a null may be written or left out
    }
    return MappingProxyType({**packet, "unknown": 0} if unknown else packet)


def _answer_agreement(row: Row) -> list[int]:
    graph = row.graph()
    honest, already = row.items(row.flag), row.items(row.flag)
    persist, rounds = row.flag(), row.number()
    words: tuple[Message, ...] = (None, "no boolean", False, True)
    said = dict(row.items(lambda: read_edge(row, lambda: words[row.number()])))
    reading = Reading(P04=persist, P05=rounds == graph.agents - 1)
    machine = ValidationStateAgreement(graph, reading)
    if rounds != machine.rounds:
        raise ValueError("the case has another number of rounds than the machine")

    def write(state: AgreementState) -> list[int]:
        return [int(state.alarmed), *write_alarms(state.alarms, {})]

    states = every_state(graph, machine, dict(enumerate(already)), honest, said)
    return [number for state in states for number in write(state)]


def _answer_hash(row: Row) -> list[int]:
    field, key, vector = prime_field(row.number()), row.number(), row.vector()
    return [hash_vector(field, key, vector), hash_integers(field, key, vector)]


def _parameters(
    graph: AgentGraph, prime: int, bits: int, mixing: Sequence[int], start: IntVector
) -> ValidParameters:
    schedule = Schedule(Precision(0, bits), tuple(mixing), (1,) * len(mixing))
    lattice = LatticeParameters(
        max(1, len(start)),
        schedule,
        graph.max_degree,
        prime,
        model_limit=1,
        gradient_limit=1,
        enforce_field_range=False,
    )
    return ValidParameters(
        graph=graph,
        lattice=lattice,
        start_model=start,
        field=prime_field(prime),
        bounds=None,
        weightings=(),
    )


def _answer_transcript(row: Row) -> list[int]:
    prime, keys, _d, start = row.number(), row.items(row.number), row.number(), row.vector()
    mixing = row.items(row.number)
    transcript = row.items(lambda: LearningMessage(row.vector(), row.vector()))
    pair = AgentGraph.from_edges(2, [(0, 1)])
    return [*transcript_report(_parameters(pair, prime, 0, mixing, start), keys, transcript)]


def _answer_lattice(row: Row) -> list[int]:
    bits, a, A, xmax, gmax = (row.number() for _ in range(5))
    own, neighbours, gradient = row.vector(), row.items(row.vector), row.vector()
    x, gamma = row.vector(), row.vector()
    schedule = Schedule(Precision(0, bits), (a,), (A,))
    parameters = LatticeParameters(
        len(own), schedule, max(1, len(neighbours)), model_limit=xmax, gradient_limit=gmax
    )
    Y = mix(parameters, 1, own, neighbours)
    try:
        stepped = [1, *(n for v in step(parameters, 1, Y, gradient * 1.0) for n in write_vector(v))]
    except LatticeError:
        stepped = [0]
    rest = (
        residual(parameters, 1, previous=own, neighbours=neighbours, x=x, gamma=gamma),
        read_gradient(parameters, 1, gamma),
    )
    return [
        *write_vector(Y),
        *stepped,
        *(n for v in rest for n in write_vector(v)),
        squared_norm(gamma),
    ]


def _answer_checks(row: Row) -> list[int]:
    prime, bits, graph = row.number(), row.number(), row.graph()
    agent, own = row.number(), tuple(row.items(row.number))
    reports: dict[Tag, tuple[int, ...]] = dict(
        row.items(lambda: ((row.number(), row.number()), tuple(row.items(row.number))))
    )
    n = graph.agents
    everything = _parameters(graph, prime, bits, (1,), np.zeros(1, dtype=np.int64))
    own_only = attrs.evolve(everything, checked_keys=CheckedKeys.OWN)
    raised = {(alarm.alarm, alarm.about) for alarm in hash_alarms(everything, agent, reports, own)}
    answer = []
    for w in range(n):
        for alarm in (Alarm.INCONSISTENT_HASHES, Alarm.BROKEN_RELATION):
            answer += [int((alarm, (v, w)) in raised) for v in range(n)]
        answer.append(int((Alarm.SELF_MISMATCH, (agent, w)) in raised))
    return [*answer, int(bool(raised)), int(bool(hash_alarms(own_only, agent, reports, own)))]


def answer(row: Sequence[int]) -> list[int]:
    """What `valid_ref` makes of a case: every state of every agent in every round."""
    reader = Row(row)
    machines = {
        BROADCAST: _answer_broadcast,
        AGREEMENT: _answer_agreement,
        HASH: _answer_hash,
        TRANSCRIPT: _answer_transcript,
        LATTICE: _answer_lattice,
        CHECKS: _answer_checks,
        LEARN: answer_learn,
        ESTIMATES: answer_estimates,
        VALID: answer_valid,
    }
    return machines[reader.number()](reader)
