"""Small networks, their private inputs, and adversaries that edit single messages."""

from collections.abc import Callable, Collection, Mapping
from fractions import Fraction
from typing import Any

import attrs
import numpy as np
from hypothesis import strategies as st

from valid_ref.alarms import Alarm, Raised
from valid_ref.execution import Execution, execute
from valid_ref.graph import AgentGraph
from valid_ref.hashing import PrimeField
from valid_ref.lattice import MERSENNE_61, default_limits
from valid_ref.machine import (
    Adversary,
    CausalView,
    Edge,
    Message,
    PhaseResult,
    Round,
    honest,
    run_machine,
)
from valid_ref.protocols.broadcast import Tag
from valid_ref.protocols.learn import LearningMessage
from valid_ref.protocols.local_validate import Reports, transcript_report
from valid_ref.protocols.parameters import Bounds, CheckedKeys, ValidParameters, Weighting
from valid_ref.protocols.valid import Private, Valid, ValidState
from valid_ref.reading import Reading
from valid_ref.schedule import Precision, Schedule

LOOSE = 10**60
"""A threshold or a squared bound that nothing reaches."""

Change = Callable[[Any], Message]


class Pretender(tuple):
    """A tuple that is equal to whatever it is compared with."""

    __slots__ = ()
    __hash__ = tuple.__hash__

    def __eq__(self, other: object) -> bool:
        return True

    def __ne__(self, other: object) -> bool:
        return False


def weighting(
    weights: tuple[int, ...],
    optimality: int = LOOSE,
    heterogeneity: int = LOOSE,
    optimality_low: int = 0,
    heterogeneity_low: int = 0,
):
    return Weighting(
        "-".join(map(str, weights)),
        weights,
        Fraction(sum(weights)),
        optimality,
        heterogeneity,
        optimality_low=optimality_low,
        heterogeneity_low=heterogeneity_low,
    )


def network(
    graph: AgentGraph,
    *,
    d: int = 2,
    T: int = 3,
    precision: Precision | None = None,
    mixing: tuple[int, ...] | None = None,
    gradient: tuple[int, ...] | None = None,
    prime: int = MERSENNE_61,
    start: tuple[int, ...] | None = None,
    bounds: Bounds | None = None,
    weightings: tuple[Weighting, ...] | None = None,
    checked_keys: CheckedKeys = CheckedKeys.ALL,
    reading: Reading | None = None,
    field_range: bool = True,
) -> ValidParameters:
    """Steps that change from round to round, thresholds that nothing reaches, unless given."""
    schedule = Schedule(
        Precision(6, 4) if precision is None else precision,
        tuple(1 + t % 3 for t in range(T)) if mixing is None else mixing,
        tuple(8 - t % 4 for t in range(T)) if gradient is None else gradient,
    )
    limits = default_limits(d, schedule, graph.max_degree, prime, enforce_field_range=field_range)
    return ValidParameters(
        graph,
        limits,
        np.array((0,) * d if start is None else start, dtype=np.int64),
        PrimeField(prime),
        bounds,
        (weighting((1,) * T),) if weightings is None else weightings,
        checked_keys,
        Reading() if reading is None else reading,
    )


def random_gradients(seed: int, agent: int, d: int, size: float = 1.0):
    def gradient(t: int, point: np.ndarray) -> np.ndarray:
        noise = np.random.default_rng([seed, agent, t]).normal(size=d)
        return size * (noise + 0.25 * np.tanh(point))

    return gradient


def random_key(seed: int, agent: int, prime: int) -> int:
    return int(np.random.default_rng([seed, agent]).integers(prime))


def privates(
    parameters: ValidParameters,
    *,
    seed: int = 0,
    keys: Collection[int] | None = None,
    size: float = 1.0,
) -> dict[int, Private]:
    agents, prime = range(parameters.graph.agents), parameters.field.prime
    chosen = [random_key(seed, v, prime) for v in agents] if keys is None else list(keys)
    d = parameters.lattice.dimension
    return {v: Private(random_gradients(seed, v, d, size), chosen[v]) for v in agents}


def run(
    parameters: ValidParameters,
    adversary: Adversary = honest,
    *,
    byzantine: Collection[int] = (),
    private: Mapping[int, Private] | None = None,
) -> Execution:
    return execute(
        parameters,
        privates(parameters) if private is None else private,
        byzantine=frozenset(byzantine),
        adversary=adversary,
    )


def edited(
    phase: str,
    change: Change,
    *,
    rounds: Collection[int] | None = None,
    edges: Collection[Edge] | None = None,
) -> Adversary:
    """Byzantine agents change what honest code would say, in one phase, in these rounds."""

    def adversary(view: CausalView) -> dict[Edge, Message]:
        if view.phase != phase or not (rounds is None or view.round in rounds):
            return {}
        own = [(b, u) for b in sorted(view.byzantine) for u in view.graph.neighbours(b)]
        chosen = own if edges is None else [edge for edge in own if edge in edges]
        return {edge: change(view.said[edge[0]]) for edge in chosen}

    return adversary


def both(*adversaries: Adversary) -> Adversary:
    return lambda view: {edge: m for each in adversaries for edge, m in each(view).items()}


def quietly(*adversaries: Adversary) -> Adversary:
    """Together; and in the agreement Byzantine agents say that they have no alarm."""
    return both(*adversaries, edited("ValidationStateAgreement", lambda _message: False))


def learned(spoken: Round, sender: int, receiver: int | None = None) -> LearningMessage:
    """What an agent said in a round of learning: to all, or to one of its neighbours."""
    message = spoken.said[sender] if receiver is None else spoken.on_edge(sender, receiver)
    assert isinstance(message, LearningMessage)
    return message


def silence(_message: Message) -> Message:
    return None


def shifted(*, model: int = 0, gamma: int = 0, entry: int = 0) -> Change:
    """A learning message with these many units added to one entry."""

    def change(message: LearningMessage) -> Message:
        unit = np.eye(len(message.model), dtype=np.int64)[entry]
        return LearningMessage(message.model + model * unit, message.scaled_gradient + gamma * unit)

    return change


def revalued(tag: Tag, change: Callable[[tuple], object]) -> Change:
    """A broadcast message in which the value of one tag, where it occurs, is changed."""
    return lambda said: {key: change(v) if key == tag else v for key, v in said.items()}


def bumped(value: tuple[int, ...], index: int, by: int = 1, prime: int = MERSENNE_61):
    """A tuple with one entry changed modulo p."""
    return tuple((e + by) % prime if i == index else e for i, e in enumerate(value))


def alarms(execution: Execution, agent: int) -> list[Raised]:
    """The alarms of an agent before the agreement."""
    raised = execution.states[agent].memory.alarms
    return [r for r in raised if r.phase != "ValidationStateAgreement"]


def reasons(execution: Execution, agent: int) -> set[Alarm]:
    return {raised.alarm for raised in alarms(execution, agent)}


def all_alarms(execution: Execution) -> set[Alarm]:
    """Of all honest agents, before the agreement."""
    return {alarm for agent in execution.honest for alarm in reasons(execution, agent)}


def true_reports(execution: Execution, keys: tuple[int, ...]) -> Reports:
    """What an all-honest network reports about the transcripts of a run."""
    memories = {v: execution.states[v].memory for v in range(execution.parameters.graph.agents)}
    return {
        (reporter, sender): transcript_report(execution.parameters, keys, transcript)
        for reporter, memory in memories.items()
        for sender, transcript in memory.fixed_transcripts.received.items()
    }


def own_report(execution: Execution, keys: tuple[int, ...], agent: int) -> tuple[int, ...]:
    own = execution.states[agent].memory.fixed_transcripts.own
    return transcript_report(execution.parameters, keys, own)


@st.composite
def graphs(draw: st.DrawFn, largest: int = 6) -> AgentGraph:
    n = draw(st.integers(2, largest))
    tree = {(draw(st.integers(0, v - 1)), v) for v in range(1, n)}
    pairs = [(u, v) for u in range(n) for v in range(u + 1, n)]
    return AgentGraph.from_edges(n, tree | set(draw(st.lists(st.sampled_from(pairs)))))


def messages(d: int, size: int = 1000) -> st.SearchStrategy[LearningMessage]:
    vectors = st.lists(st.integers(-size, size), min_size=d, max_size=d).map(
        lambda entries: np.array(entries, dtype=np.int64)
    )
    return st.builds(LearningMessage, vectors, vectors)


def transcripts(d: int, T: int, size: int = 1000) -> st.SearchStrategy[list[LearningMessage]]:
    return st.lists(messages(d, size), min_size=T, max_size=T)


def same_message(left: Message, right: Message) -> bool:
    if isinstance(left, LearningMessage) and isinstance(right, LearningMessage):
        pairs = zip(attrs.astuple(left), attrs.astuple(right), strict=True)
        return all(np.array_equal(one, other) for one, other in pairs)
    return left == right


def run_machine_of(
    machine: Valid,
    private: Mapping[int, Private],
    adversary: Adversary = honest,
    byzantine: Collection[int] = (),
) -> PhaseResult[ValidState]:
    graph = machine.parameters.graph
    return run_machine(graph, machine, private, byzantine=frozenset(byzantine), adversary=adversary)
