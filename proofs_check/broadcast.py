"""ValidatedBroadcast for every graph, adversary and number of agents.

Agents and values are sorts without a size, a round relates the states before and after it, and
Byzantine messages are free. z3 proves one step; induction over rounds and paths are axioms.

Proves: V1, V2, V3, V4, VS1.
"""

from typing import Any

from proofs_check.engines import universal, z3
from proofs_check.framework import Axiom, Claim, Finding, Method, Proof, step
from valid_ref.graph import AgentGraph
from valid_ref.graph_families import complete, star
from valid_ref.protocols.broadcast import ValidatedBroadcast
from valid_ref.reading import Reading

Agent, Value = z3.DeclareSort("Agent"), z3.DeclareSort("Value")
BOOL, INT = z3.BoolSort(), z3.IntSort()
u, v, w = z3.Consts("u v w", Agent)
null, value = z3.Consts("null value", Value)
honest = z3.Function("honest", Agent, BOOL)
edge = z3.Function("edge", Agent, Agent, BOOL)
held, held_after = (z3.Function(name, Agent, Value) for name in ("held", "held_after"))
alarm, alarm_after = (z3.Function(name, Agent, BOOL) for name in ("alarm", "alarm_after"))
message = z3.Function("message", Agent, Agent, Value)
"""message(u, v): what u sends to v in the round."""

SYMMETRIC = {"edges": z3.ForAll([u, v], edge(u, v) == edge(v, u))}
COMPARE = {
    "honest agents send what they hold": z3.ForAll(
        [u, v], z3.Implies(z3.And(honest(u), edge(u, v)), message(u, v) == held(u))
    ),
    "a different value alarms": z3.ForAll(
        [u, v],
        z3.Implies(
            z3.And(
                honest(v),
                edge(u, v),
                message(u, v) != null,
                held(v) != null,
                message(u, v) != held(v),
            ),
            alarm_after(v),
        ),
    ),
    "null alarms": z3.ForAll([v], z3.Implies(z3.And(honest(v), held(v) == null), alarm_after(v))),
}
ADOPT = {
    "VB-5: null adopts what arrived, or stays": z3.ForAll(
        [v],
        z3.Implies(
            z3.And(honest(v), held(v) == null),
            z3.Or(
                held_after(v) == null,
                z3.Exists([u], z3.And(edge(u, v), held_after(v) == message(u, v))),
            ),
        ),
    ),
    "VB-5: a held value stays": z3.ForAll(
        [v], z3.Implies(z3.And(honest(v), held(v) != null), held_after(v) == held(v))
    ),
}


def few_agents(*more: Any) -> tuple[Any, ...]:
    """Narrow a search for models to three agents."""
    some = z3.Consts("first second third", Agent)
    return (z3.ForAll([v], z3.Or([v == one for one in some])), *more)


@universal()
def written_once() -> Claim:
    """V3: in a flood round an honest agent that holds a value keeps it; alarms are only appended.

    Proves: V3.
    """
    kept = z3.ForAll([v], z3.Implies(alarm(v), alarm_after(v)))
    given = ADOPT | {"alarms are appended": kept}
    then = z3.ForAll(
        [v],
        z3.And(
            z3.Implies(z3.And(honest(v), held(v) != null), held_after(v) == held(v)),
            z3.Implies(alarm(v), alarm_after(v)),
        ),
    )
    return Claim(given, then, drop="VB-5: a held value stays", small=few_agents())


def _agree(a: Any, b: Any) -> Any:
    return z3.And(held(a) == held(b), held(a) != null)


def _quiet(a: Any) -> Any:
    return z3.And(honest(a), z3.Not(alarm_after(a)))


@universal()
def adjacent_agree() -> Claim:
    """V4: after the compare round two adjacent honest agents without an alarm agree, not on null.

    For every graph, set B and Byzantine message: nothing is assumed about the flood.

    Proves: V4.
    """
    then = z3.ForAll([u, v], z3.Implies(z3.And(_quiet(u), _quiet(v), edge(u, v)), _agree(u, v)))
    drop = "honest agents send what they hold"
    return Claim(SYMMETRIC | COMPARE, then, drop=drop, small=few_agents())


@universal(axioms=(Axiom.PATH_INDUCTION,), needs=(adjacent_agree,))
def all_honest_agree() -> Claim:
    """V2: if G[H] is connected and no honest agent has alarmed, all honest agents hold one value.

    Connectivity enters as path induction for the property "holds what agent w holds".

    Proves: V2.
    """
    passes = z3.ForAll(
        [u, v],
        z3.Implies(
            z3.And(honest(u), honest(v), edge(u, v), held(u) == held(w)), held(v) == held(w)
        ),
    )
    reached = z3.ForAll([v], z3.Implies(honest(v), held(v) == held(w)))
    given = (
        SYMMETRIC
        | COMPARE
        | {
            "nobody honest alarmed": z3.ForAll([v], z3.Implies(honest(v), z3.Not(alarm_after(v)))),
            "w is honest": honest(w),
            "G[H] is connected": z3.Implies(passes, reached),
        }
    )
    then = z3.ForAll([v], z3.Implies(honest(v), _agree(v, w)))
    return Claim(given, then, drop="G[H] is connected", small=few_agents())


@universal(axioms=(Axiom.INDUCTION,), needs=(written_once,))
def honest_source() -> Claim:
    """V2: an honest source holds its own value before and after every round.

    Proves: V2.
    """
    given = ADOPT | {
        "w is an honest source": z3.And(honest(w), value != null),
        "it holds its value": held(w) == value,
    }
    then = held_after(w) == value
    return Claim(given, then, drop="it holds its value", small=few_agents())


r = z3.Int("r")
far = z3.Function("far", Agent, INT)
DISTANCES = {
    "distances": z3.ForAll([v], far(v) >= 0),
    "edges change distance by one": z3.ForAll([u, v], z3.Implies(edge(u, v), far(v) <= far(u) + 1)),
    "somebody is nearer": z3.ForAll(
        [v], z3.Implies(far(v) > 0, z3.Exists([u], z3.And(edge(u, v), far(u) == far(v) - 1)))
    ),
}


@universal(axioms=(Axiom.INDUCTION, Axiom.PATH_INDUCTION))
def flood_without_adversary() -> Claim:
    """V1: if after r rounds exactly the agents within r hold the value, so after r+1 rounds.

    Everybody is honest and sends once: in round r+1 those at distance r send. No distance exceeds
    |V|-1, so after |V|-1 rounds all hold it.

    Proves: V1.
    """
    holds = z3.ForAll([v], held(v) == z3.If(far(v) <= r, value, null))
    spoken = message(u, v) == z3.If(far(u) == r, value, null)
    sends = z3.ForAll([u, v], z3.Implies(edge(u, v), spoken))
    something = z3.Exists([u], z3.And(edge(u, v), message(u, v) != null))
    adopts = z3.ForAll(
        [v],
        z3.If(
            held(v) != null,
            held_after(v) == held(v),
            z3.If(something, held_after(v) == value, held_after(v) == null),
        ),
    )
    given = (
        SYMMETRIC
        | DISTANCES
        | {
            "values": value != null,
            "r >= 0": r >= 0,
            "after r rounds": holds,
            "sent once": sends,
            "adopted": adopts,
        }
    )
    then = z3.ForAll([v], held_after(v) == z3.If(far(v) <= r + 1, value, null))
    alone = z3.ForAll([u, v], z3.And(u == v, z3.Not(edge(u, v))))
    at_source = z3.ForAll([v], far(v) == 0)
    return Claim(
        given, then, drop="somebody is nearer", small=(alone, r == 0), example=(at_source,)
    )


@universal(needs=(flood_without_adversary,))
def quiet_without_adversary() -> Claim:
    """V1: with one value about, nothing that arrives differs and nobody holds null: no alarm.

    Proves: V1.
    """
    only = z3.ForAll([u, v], z3.Or(message(u, v) == null, message(u, v) == value))
    cause = z3.Or(
        held(v) == null,
        z3.Exists([u], z3.And(edge(u, v), message(u, v) != null, message(u, v) != held(v))),
    )
    given = {
        "one value": only,
        "all hold it": z3.ForAll([v], held(v) == value),
        "not null": value != null,
        "alarms have a cause": z3.ForAll([v], z3.Implies(alarm_after(v), cause)),
    }
    quiet = z3.ForAll([v], z3.Not(alarm_after(v)))
    return Claim(given, quiet, drop="one value", small=few_agents())


def play(machine: ValidatedBroadcast, liar: int, source: int, lies: Any) -> dict[int, Any]:
    """The states of the honest agents; lies(round, receiver) is what the liar sends."""
    others = [agent for agent in range(machine.graph.agents) if agent != liar]
    states = {
        agent: machine.start(agent, {"x": "a"} if agent == source else {}) for agent in others
    }
    for number in range(1, machine.rounds + 1):
        said = {agent: machine.send(state, number) for agent, state in states.items()}
        for agent, state in list(states.items()):
            around = machine.graph.neighbours(agent)
            inbox = {u: lies(number, agent) if u == liar else said[u] for u in around}
            states[agent] = machine.receive(state, number, inbox)
    return states


def _machine(graph: AgentGraph, source: int, reading: Reading) -> ValidatedBroadcast:
    return ValidatedBroadcast(
        graph, "b", {source: ("x",)}, lambda _tag, found: found in ("a", "b"), reading
    )


@step(Method.COUNTEREXAMPLE)
def printed_last_round() -> Finding:
    """P01: printed, every round adopts. A value adopted last is never compared: a triangle.

    Agent 0 is the Byzantine source, silent until the last round; then it sends two values.
    """
    tag = (0, "x")
    final = {1: {tag: "a"}, 2: {tag: "b"}}
    printed = _machine(complete(3), 0, Reading(P01=False))
    states = play(printed, 0, 0, lambda number, v: final[v] if number == 3 else {})
    ends = [states[agent].held.get(tag) for agent in (1, 2)]
    quiet = not any(state.alarms for state in states.values())
    return Finding(ends == ["a", "b"] and quiet, "agents 1 and 2 end with a and b, no alarm")


@step(Method.COUNTEREXAMPLE)
def printed_every_agent() -> Finding:
    """P02: printed (V5), each honest agent holds the source's value or has alarmed: a star of 4.

    Honest hub 0, Byzantine leaf 1, source 2 with a, honest leaf 3 that ends with b, unalarmed.
    """
    tag = (2, "x")
    states = play(_machine(star(4), 2, Reading()), 1, 2, lambda _number, _v: {tag: "b"})
    wrong = states[3].held.get(tag) == "b" and not states[3].alarms
    someone = bool(states[0].alarms) and bool(states[2].alarms)
    return Finding(wrong and someone, "agent 3 holds b without an alarm; agents 0 and 2 alarmed")


PROOF = Proof(
    "broadcast",
    "ValidatedBroadcast for all n (V1 to V4, VS1)",
    (
        written_once,
        adjacent_agree,
        all_honest_agree,
        honest_source,
        flood_without_adversary,
        quiet_without_adversary,
        printed_last_round,
        printed_every_agent,
    ),
    theorems=(
        "BroadcastProof.V1",
        "BroadcastProof.V2",
        "BroadcastProof.V3_written_once",
        "BroadcastProof.V3_alarms_stay",
        "BroadcastProof.V4",
        "BroadcastProof.send_once_is_enough",
        "AgreementProof.VS1",
    ),
)
