"""ValidationStateAgreement for every graph, adversary and number of agents.

`near(v)` is the distance of an honest agent in G[H] from an alarmed one; Byzantine messages are
unconstrained. One-step preservation is proved by z3, induction over rounds is an axiom.

Proves: S1, S2, S3, S4.
"""

from typing import Any

from proofs_check.broadcast import (
    BOOL,
    INT,
    SYMMETRIC,
    Agent,
    alarm,
    alarm_after,
    edge,
    few_agents,
    honest,
    u,
    v,
    w,
)
from proofs_check.engines import universal, z3
from proofs_check.framework import Axiom, Claim, Finding, Method, Proof, step
from valid_ref.graph_families import complete
from valid_ref.protocols.agreement import ValidationStateAgreement
from valid_ref.reading import Reading

r = z3.Int("r")
says = z3.Function("says", Agent, Agent, BOOL)
"""says(u, v): u tells v `true`, or nothing, or what is no boolean."""
near = z3.Function("near", Agent, INT)
UNTOLD = "SA-2: honest agents tell their state"
SENDS = {
    UNTOLD: z3.ForAll([u, v], z3.Implies(z3.And(honest(u), edge(u, v)), says(u, v) == alarm(u)))
}
HEARS = {
    "SA-3: an alarm heard is an alarm": z3.ForAll(
        [u, v], z3.Implies(z3.And(honest(v), edge(u, v), says(u, v)), alarm_after(v))
    ),
    "SA-3: own alarms stay": z3.ForAll(
        [v], z3.Implies(z3.And(honest(v), alarm(v)), alarm_after(v))
    ),
}
CAUSES = {
    "alarms have a cause": z3.ForAll(
        [v],
        z3.Implies(
            z3.And(honest(v), alarm_after(v)),
            z3.Or(alarm(v), z3.Exists([u], z3.And(edge(u, v), says(u, v)))),
        ),
    )
}


@universal()
def monotone() -> Claim:
    """S1: an honest alarm stays from round to round.

    Proves: S1.
    """
    then = z3.ForAll([v], z3.Implies(z3.And(honest(v), alarm(v)), alarm_after(v)))
    return Claim(HEARS | SENDS, then, drop="SA-3: own alarms stay", small=few_agents())


@universal(needs=(monotone,))
def one_edge_a_round() -> Claim:
    """S2: an alarm passes along every edge between honest agents, whatever the others send.

    Proves: S2.
    """
    then = z3.ForAll(
        [u, v],
        z3.Implies(z3.And(honest(u), honest(v), edge(u, v), alarm(u)), alarm_after(v)),
    )
    return Claim(HEARS | SENDS, then, drop=UNTOLD, small=few_agents())


@universal(axioms=(Axiom.INDUCTION, Axiom.PATH_INDUCTION), needs=(monotone, one_edge_a_round))
def ball_of_alarms() -> Claim:
    """S2: if all honest agents within r of an alarm have one, so have all within r+1 a round later.

    In G[H] no distance exceeds |H|-1, so after |H|-1 rounds all honest agents have an alarm.

    Proves: S2.
    """
    nearer = z3.Exists([u], z3.And(honest(u), edge(u, v), near(u) == near(v) - 1))
    given = (
        HEARS
        | SENDS
        | {
            "r >= 0": r >= 0,
            "distances in G[H]": z3.ForAll(
                [v], z3.Implies(honest(v), z3.And(near(v) >= 0, z3.Implies(near(v) > 0, nearer)))
            ),
            "after r rounds": z3.ForAll([v], z3.Implies(z3.And(honest(v), near(v) <= r), alarm(v))),
        }
    )
    then = z3.ForAll([v], z3.Implies(z3.And(honest(v), near(v) <= r + 1), alarm_after(v)))
    return Claim(given, then, drop=UNTOLD, small=few_agents(r == 0))


@universal(axioms=(Axiom.INDUCTION,))
def no_false_alarm() -> Claim:
    """S3: if all are honest and nobody has an alarm, nobody has one a round later.

    Proves: S3.
    """
    given = (
        SENDS
        | CAUSES
        | {
            "all honest": z3.ForAll([v], honest(v)),
            "no alarm": z3.ForAll([v], z3.Not(alarm(v))),
        }
    )
    quiet = z3.ForAll([v], z3.Not(alarm_after(v)))
    return Claim(given, quiet, drop="all honest", small=few_agents())


lied = z3.Function("lied", Agent, BOOL)
lied_after = z3.Function("lied_after", Agent, BOOL)
first = z3.Function("first", Agent, INT)
apart = z3.Function("apart", Agent, Agent, INT)
BALLS = {
    "distances": z3.ForAll([u, v], z3.And(apart(u, v) >= 0, (apart(u, v) == 0) == (u == v))),
    "distances of edges": z3.ForAll(
        [u, v, w],
        z3.Implies(z3.And(honest(u), honest(v), edge(u, v)), apart(w, v) <= apart(w, u) + 1),
    ),
}


@universal(axioms=(Axiom.INDUCTION,), needs=(one_edge_a_round,))
def balls_are_reached() -> Claim:
    """S4: after round r everybody within r - r0 of an agent lied to in round r0 has an alarm.

    Step from r to r+1, for the lie told to w in round first(w) <= r, or in round r+1 itself.

    Proves: S4.
    """
    nearer = z3.Exists([u], z3.And(honest(u), edge(u, v), apart(w, u) == apart(w, v) - 1))
    inside = z3.And(honest(v), apart(w, v) <= r - first(w))
    given = (
        HEARS
        | SENDS
        | {
            "distances": z3.ForAll(
                [v],
                z3.Implies(
                    honest(v),
                    z3.And(
                        apart(w, v) >= 0,
                        (apart(w, v) == 0) == (v == w),
                        z3.Implies(apart(w, v) > 0, nearer),
                    ),
                ),
            ),
            "w is honest": honest(w),
            "after round r": z3.Implies(
                first(w) <= r, z3.ForAll([v], z3.Implies(inside, alarm(v)))
            ),
            "a lie in round r+1": z3.Implies(
                first(w) == r + 1, z3.Exists([u], z3.And(edge(u, w), says(u, w)))
            ),
            "told by now": first(w) <= r + 1,
        }
    )
    after = z3.And(honest(v), apart(w, v) <= r + 1 - first(w))
    then = z3.ForAll([v], z3.Implies(after, alarm_after(v)))
    return Claim(given, then, drop=UNTOLD, small=few_agents(r == 1))


@universal(axioms=(Axiom.INDUCTION,), needs=(balls_are_reached,))
def nothing_but_balls() -> Claim:
    """S4: an honest alarm after round r lies in such a ball; so does one a round later.

    Proves: S4.
    """

    def covered(agent: Any, lies: Any, number: Any) -> Any:
        inside = apart(w, agent) <= number - first(w)
        return z3.Exists([w], z3.And(honest(w), lies(w), inside))

    byzantine_lie = z3.Exists([u], z3.And(z3.Not(honest(u)), edge(u, v), says(u, v)))
    given = (
        SYMMETRIC
        | SENDS
        | CAUSES
        | BALLS
        | {
            "lies are recorded": z3.ForAll([v], z3.Implies(lied(v), lied_after(v))),
            "first lies": z3.ForAll(
                [v],
                z3.Implies(
                    z3.And(honest(v), byzantine_lie), z3.And(lied_after(v), first(v) <= r + 1)
                ),
            ),
            "after round r": z3.ForAll(
                [v], z3.Implies(z3.And(honest(v), alarm(v)), covered(v, lied, r))
            ),
        }
    )
    then = z3.ForAll(
        [v], z3.Implies(z3.And(honest(v), alarm_after(v)), covered(v, lied_after, r + 1))
    )
    return Claim(given, then, drop="distances of edges", small=few_agents(r == 1))


@step(Method.COUNTEREXAMPLE)
def printed_reset() -> Finding:
    """P04: printed, the state is set by neighbours only. On K2 one alarm changes sides for ever."""
    machine = ValidationStateAgreement(complete(2), Reading(P04=False))
    states, seen = [machine.start(0, True), machine.start(1, False)], []
    for number in range(1, 7):
        said = [machine.send(state, number) for state in states]
        states = [machine.receive(states[v], number, {1 - v: said[1 - v]}) for v in (0, 1)]
        seen.append(states[0].alarmed != states[1].alarmed)
    return Finding(all(seen), "never both alarmed in 6 rounds")


@step(Method.COUNTEREXAMPLE)
def diameter_is_too_short() -> Finding:
    """P05: printed, diam(G) rounds. A wheel with a Byzantine hub: honest paths are longer.

    Cycle of 6 honest agents, a Byzantine hub that never alarms: diameter 2, an alarm needs 3.
    """
    alarmed = {0}
    for _round in range(2):
        alarmed |= {(agent + shift) % 6 for agent in alarmed for shift in (-1, 1)}
    return Finding(len(alarmed) == 5, "after 2 rounds 5 of 6 honest agents have the alarm")


PROOF = Proof(
    "agreement",
    "ValidationStateAgreement for all n (S1 to S4)",
    (
        monotone,
        one_edge_a_round,
        ball_of_alarms,
        no_false_alarm,
        balls_are_reached,
        nothing_but_balls,
        printed_reset,
        diameter_is_too_short,
    ),
    theorems=(
        "AgreementProof.S1",
        "AgreementProof.S2",
        "AgreementProof.S3",
        "AgreementProof.S4",
    ),
)
