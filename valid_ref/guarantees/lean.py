"""What lean validation costs and promises: exact traffic, and lies that nobody saw."""

import attrs

from valid_ref.execution import Execution
from valid_ref.guarantees.local import broken_relations, common_transcripts, equivocations
from valid_ref.machine import Message
from valid_ref.protocols import lean
from valid_ref.protocols.agreement import PHASE as AGREEMENT
from valid_ref.protocols.broadcast import Tag
from valid_ref.protocols.flood import TOTAL
from valid_ref.protocols.measures import Fast
from valid_ref.protocols.parameters import ValidParameters, estimate_limit
from valid_ref.protocols.routes import Routes

DIGEST = 32
"""Bytes of a commitment, a nonce and a digest."""


@attrs.frozen
class Traffic:
    """What one agent sends, and computes, in lean validation if all are honest.

    Implements: LE-14.
    """

    size: int
    """Bytes of all messages."""
    scalars: int
    evaluations: int
    """Polynomials of d terms, beside those of x_0."""


def traffic(parameters: ValidParameters) -> tuple[Traffic, ...]:
    """The formulas of LE-14, for every agent.

    Implements: LE-14.
    """
    graph, routes, kappa = (
        parameters.graph,
        Routes(parameters.graph),
        lean.lean_of(parameters).kappa,
    )
    n, m, d = graph.agents, len(parameters.weightings), parameters.lattice.dimension
    T, residue = parameters.lattice.schedule.rounds, bytes_of(parameters.field.prime - 1)
    flooded = 2 * DIGEST + sum(square_sizes(parameters)) + kappa * residue * (5 + m)
    found = []
    for v in range(n):
        degree, passed = graph.degree(v), len(routes.children[v]) + (v != routes.root)
        forwarded = degree * sum(hops < routes.diameter for hops in routes.distances[v])
        agreement = (n - 1) * degree
        found.append(
            Traffic(
                size=forwarded * flooded + DIGEST * degree + m * d * residue * passed + agreement,
                scalars=forwarded * (2 + m + kappa * (5 + m)) + degree + m * d * passed + agreement,
                evaluations=kappa * (2 * T * (degree + 1) + m * (degree + 2)),
            )
        )
    return tuple(found)


def bytes_of(largest: int) -> int:
    """How many bytes hold the integers from 0 to this."""
    return (largest.bit_length() + 7) // 8


def square_sizes(parameters: ValidParameters) -> tuple[int, ...]:
    """The bytes of q for each weighting."""
    limits = (estimate_limit(parameters, weighting) for weighting in parameters.weightings)
    return tuple(bytes_of(parameters.lattice.dimension * limit**2) for limit in limits)


def measured_traffic(execution: Execution) -> tuple[int, ...]:
    """The bytes that every agent sent after the learning, counted message by message.

    Implements: LE-14.
    """
    parameters, graph = execution.parameters, execution.parameters.graph
    totals = [0] * graph.agents
    for spoken in execution.rounds:
        sizes: dict[int, int] = {}  # what is said to all is one object, which `spoken` keeps
        for sender, receiver in graph.directed_edges:
            message = spoken.on_edge(sender, receiver)
            if id(message) not in sizes:
                sizes[id(message)] = size_of(parameters, spoken.phase, message)
            totals[sender] += sizes[id(message)]
    return tuple(totals)


def size_of(parameters: ValidParameters, phase: str, message: Message) -> int:
    """The bytes of a well-formed message of lean validation; 0 of any other phase.

    Implements: LE-14.
    """
    if phase == AGREEMENT:
        return 1
    if phase == lean.COMPARE:
        return DIGEST
    if phase not in {lean.FIX, lean.OPEN, lean.REPORT} or not hasattr(message, "items"):
        return 0
    return sum(_value_size(parameters, tag, value) for tag, value in message.items())


def _value_size(parameters: ValidParameters, tag: Tag, value: tuple[int, ...]) -> int:
    residue = bytes_of(parameters.field.prime - 1)
    if tag[1] == lean.FIXED:
        return DIGEST + sum(square_sizes(parameters))
    if tag[1] == lean.OPENING:
        return DIGEST + residue * (len(value) - 1)
    return residue * len(value)


def wrong_totals(execution: Execution) -> tuple[int, ...]:
    """The honest agents whose total is not the sum of the ghat of all common transcripts.

    Nobody, if an agent has no common transcript.
    """
    parameters, measures = execution.parameters, Fast(execution.parameters)
    common = common_transcripts(execution)
    if len(common) < parameters.graph.agents:
        return ()
    estimates = [measures.estimate(common[v]) for v in range(parameters.graph.agents)]
    right, total = tuple(measures.added(estimates)), (Routes(parameters.graph).root, TOTAL)
    held = {v: execution.states[v].memory.held.get(total) for v in execution.honest}
    return tuple(v for v, found in held.items() if found is None or tuple(found) != right)


def unseen_lies(execution: Execution) -> tuple[int, ...]:
    """Who equivocated or broke its relation, or holds a wrong total, though no honest agent alarms.

    Counted before the agreement; thresholds count as alarms. Under Assumption 1+ at most
    (dT-1)^kappa p^(kappa(|H|-1)) of the tuples of honest shares make this nonempty.

    Implements: LE-15.
    """
    alarms = (raised for v in execution.honest for raised in execution.states[v].memory.alarms)
    if any(raised.phase != AGREEMENT for raised in alarms):
        return ()
    found = equivocations(execution) or broken_relations(execution)
    return found or wrong_totals(execution)
