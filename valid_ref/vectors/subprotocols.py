"""Vectors of ValidatedBroadcast and of ValidationStateAgreement alone, on small networks."""

from collections.abc import Mapping
from typing import Any

from valid_ref.adversary.scripted import Scripted
from valid_ref.document import Json
from valid_ref.graph import AgentGraph
from valid_ref.graph_families import complete, cycle, path, star
from valid_ref.machine import Message, run_machine
from valid_ref.protocols.agreement import PHASE
from valid_ref.protocols.valid import KEYS, Valid
from valid_ref.reading import Reading
from valid_ref.schedule import Precision, Schedule
from valid_ref.vectors.document import Operation, VectorCase, VectorFamily
from valid_ref.vectors.parameters import parameters_for
from valid_ref.vectors.schema import (
    AGENT,
    ALARMS,
    COMMON,
    EDGES,
    FLAG,
    INTEGER,
    SMALL,
    exactly,
    fields,
    many,
    whole,
)
from valid_ref.vectors.spoken import SAID, WORDS, Scribe, graph_json
from valid_ref.wire import alarms_as_json
from valid_ref.words import Listed

PRIME = 10007
Words = Mapping[tuple[int, int, int], Message]
"""(round, sender, receiver) to what a Byzantine agent says there."""

WITHOUT = COMMON["parameters"]["properties"]["without"]
KEY = exactly(AGENT, INTEGER)
BROADCAST = Operation(
    "broadcast/keys",
    "A broadcast of one key per agent (slot -1, an integer in 0..prime-1): what every honest "
    "agent says, holds at the end as [source, key], and objects to.",
    fields(
        agents=SMALL,
        edges=EDGES,
        prime=INTEGER,
        keys=many(KEY),
        byzantine=many(AGENT),
        words=WORDS,
        without=WITHOUT,
    ),
    fields(said=SAID, ends=many(fields(agent=AGENT, held=many(KEY), alarms=ALARMS))),
)
AGREEMENT = Operation(
    "agreement/states",
    "The agreement: what every honest agent says, whether it ends alarmed, and the alarms "
    "that the agreement itself brought it.",
    fields(
        agents=SMALL,
        edges=EDGES,
        alarmed=many(AGENT),
        byzantine=many(AGENT),
        words=WORDS,
        without=WITHOUT,
    ),
    fields(said=SAID, ends=many(fields(agent=AGENT, alarmed=FLAG, alarms=ALARMS))),
)


def _play(
    graph: AgentGraph,
    phase: str,
    private: Mapping[int, Any],
    otherwise: Mapping[str, Message],
    *,
    byzantine: tuple[int, ...] = (),
    words: Words | None = None,
    without: tuple[str, ...] = (),
) -> tuple[Json, Json, Mapping[int, Any]]:
    """One phase of Valid, played alone from these private inputs.

    Byzantine agents say the words, and on other edges `otherwise`, as `Scripted` has it. Gives the
    fields of the input that say so, what honest agents said, and the states in which they end.
    """
    steps = Schedule(Precision(2, 1), (1,), (1,))
    public = parameters_for(graph, steps, PRIME, reading=Reading.without(*without))
    [machine] = [s.machine for s in Valid(public).stages if s.machine.place(1)[0] == phase]
    script = {(phase, *moment): message for moment, message in (words or {}).items()}
    adversary = Scripted(script, otherwise)
    result = run_machine(
        graph, machine, private, byzantine=frozenset(byzantine), adversary=adversary
    )
    honest = [agent for agent in range(graph.agents) if agent not in byzantine]
    scribe = Scribe(public)
    given = {
        "byzantine": list(byzantine),
        "words": scribe.words(result.rounds, graph, byzantine),
        "without": list(without),
    }
    said = scribe.said(result.rounds, honest)
    return given, said, {agent: result.states[agent] for agent in honest}


def _broadcast(
    name: str,
    source: str,
    comment: str,
    graph: AgentGraph,
    *,
    honest_else: bool = False,
    **options: Any,
) -> VectorCase:
    """The key of agent v is 100 + v; Byzantine agents are honest elsewhere, or say nothing new."""
    private = {agent: {"key": 100 + agent} for agent in range(graph.agents)}
    otherwise: Mapping[str, Message] = {} if honest_else else {KEYS: {}}
    others, said, states = _play(graph, KEYS, private, otherwise, **options)
    keys = [[agent, whole(private[agent]["key"])] for agent in states]
    ends = [
        {
            "agent": agent,
            "held": [[owner, whole(key)] for (owner, _slot), key in sorted(state.held.items())],
            "alarms": alarms_as_json(state.alarms),
        }
        for agent, state in states.items()
    ]
    given = {**graph_json(graph), "prime": whole(PRIME), "keys": keys, **others}
    return BROADCAST.case(name, source, comment, given, {"said": said, "ends": ends})


def _from_two(rounds: Mapping[int, Message], receivers: tuple[int, ...] = (0, 1)) -> Words:
    """Agent 2 says the same to all these receivers in these rounds."""
    return {(number, 2, u): said for number, said in rounds.items() for u in receivers}


def key(source: int, value: object) -> dict[tuple[int, str], object]:
    """A message with one entry."""
    return {(source, "key"): value}


def _broadcasts() -> tuple[VectorCase, ...]:
    k3, forged = complete(3), {**key(1, 9), **key(2, 102)}

    def changed(name: str, source: str, comment: str, words: Words) -> VectorCase:
        """Agent 2 of a triangle says these words, and elsewhere what honest code says."""
        return _broadcast(name, source, comment, k3, byzantine=(2,), words=words, honest_else=True)

    def alone(name: str, source: str, comment: str, words: Words, **options: Any) -> VectorCase:
        """Agent 2 of a triangle says these words and otherwise empty mappings."""
        return _broadcast(name, source, comment, k3, byzantine=(2,), words=words, **options)

    late = {(2, 2, 0): key(2, 1), (2, 2, 1): key(2, 2)}
    last = {(3, 2, 0): key(2, 1), (3, 2, 1): key(2, 2)}
    return (
        _broadcast("honest-pair", "VB-4 VB-5 V1", "two agents: one flood, one comparison", path(2)),
        _broadcast("honest-triangle", "VB-4 VB-5 V1", "everybody hears everybody", k3),
        _broadcast("honest-path", "VB-4 VB-10 V1", "the far end adopts in the last flood round",
                   path(4)),
        _broadcast("resent", "VB-11 P22", "without P22 everything held is sent in every round",
                   path(3), without=("P22",)),
        alone("silent-source", "VB-8 P01", "a source that says nothing but empty mappings", {}),
        alone("silent-source-printed", "VB-8 P01", "as printed nobody notices", {},
              without=("P01",)),
        alone("late-equivocation", "VB-6 VB-7 P01",
              "two values in the last flood round: found by comparing", late),
        alone("last-round-equivocation", "VB-7 VB-8 P01",
              "two values in the compare round: nobody adopts", last),
        alone("last-round-equivocation-printed", "P01", "as printed both are adopted unseen", last,
              without=("P01",)),
        changed("first-round-equivocation", "VB-6", "two values at once",
                {(1, 2, 0): key(2, 1), (1, 2, 1): key(2, 2)}),
        _broadcast("forged-relay", "VB-5 VB-6 P02",
                   "a leaf forges the value of another before it arrives; only the border alarms",
                   star(4), byzantine=(1,), words={(1, 1, 0): key(2, 7)}),
        _broadcast("two-values-in-one-round", "VB-5 VB-6",
                   "the lower sender's value is adopted, the other one alarms", star(3),
                   byzantine=(1, 2), words={(1, 1, 0): key(1, 4), (1, 2, 0): key(1, 5)}),
        changed("changed-later", "VB-6", "a held value never changes", _from_two({2: key(2, 55)})),
        changed("compared-falsely", "VB-7", "a false word in the compare round only",
                {(3, 2, 0): forged}),
        changed("missing", "VB-9 MO-8", "no message at all in round 1", _from_two({1: None})),
        changed("not-a-mapping", "VB-9 MO-8", "a text in round 1", _from_two({1: "garbage"})),
        changed("unknown-tag", "VB-9", "an agent that does not exist",
                {(1, 2, 0): {**key(2, 102), **key(9, 1)}}),
        changed("null-value", "VB-4", "null counts as not said", {(1, 2, 0): key(2, None)}),
        changed("malformed-once", "VB-9 LV-4", "to one receiver, in round 1: counts as null",
                {(1, 2, 0): key(2, PRIME)}),
        changed("null-later", "VB-3 VB-6", "null does not take a held value away",
                _from_two({2: key(2, None), 3: {**key(2, None), **key(0, None)}})),
        changed("rest-counts", "VB-9", "a malformed value and an unknown tag beside good values",
                _from_two({1: {**key(0, "text"), **key(9, 1), **key(2, 102)}})),
        changed("tag-twice", "VB-9 MO-8",
                "two values of one tag: not a mapping, nothing of it counts",
                {(1, 2, 0): Listed((key(2, 1), key(2, 2)))}),
        changed("tag-twice-alike", "VB-9 MO-8", "the same value twice is no better",
                {(1, 2, 0): Listed((key(2, 102), key(2, 102))),
                 (3, 2, 1): Listed((key(2, 102), key(0, 100), key(1, 101), key(0, 100)))}),
        changed("tag-twice-with-null", "VB-9 MO-8",
                "a value and null, and an unknown tag: one alarm for the message",
                {(1, 2, 0): Listed((key(2, 102), key(2, None), key(9, 1)))}),
        alone("malformed-throughout", "VB-8 VB-9", "a key of no form in every round",
              _from_two(dict.fromkeys((1, 2, 3), key(2, "text")))),
    )  # fmt: skip


def _agreement(
    name: str,
    source: str,
    comment: str,
    graph: AgentGraph,
    alarmed: tuple[int, ...] = (),
    **options: Any,
) -> VectorCase:
    """Byzantine agents say "no alarm" where the words do not say otherwise."""
    private = {agent: agent in alarmed for agent in range(graph.agents)}
    others, said, states = _play(graph, PHASE, private, {PHASE: False}, **options)
    ends = [
        {"agent": agent, "alarmed": state.alarmed, "alarms": alarms_as_json(state.alarms)}
        for agent, state in states.items()
    ]
    given = {**graph_json(graph), "alarmed": list(alarmed), **others}
    return AGREEMENT.case(name, source, comment, given, {"said": said, "ends": ends})


def _agreements() -> tuple[VectorCase, ...]:
    return (
        _agreement("nobody", "SA-2 S3", "no alarm stays none", path(3)),
        _agreement("one-of-two", "SA-3 S2 P04", "one's own alarm persists", complete(2), (0,)),
        _agreement("one-of-two-printed", "P04", "as printed the alarm is lost", complete(2), (0,),
                   without=("P04",)),
        _agreement("end-of-a-path", "SA-1 S2", "an alarm needs |V| - 1 rounds", path(5), (0,)),
        _agreement("denied", "S2 P05",
                   "Byzantine 0 denies; the honest way round is longer than the diameter", cycle(5),
                   (1,), byzantine=(0,)),
        _agreement("edge-count-rounds", "P05", "as printed |E| rounds", path(3), (0,),
                   without=("P05",)),
        _agreement("late-false-alarm", "S4 P26", "an alarm in the last round reaches one agent",
                   path(4), byzantine=(0,), words={(3, 0, 1): True}),
        _agreement("false-alarm", "S4 P26", "an alarm in round 2 reaches two", path(4),
                   byzantine=(0,), words={(2, 0, 1): True}),
        _agreement("early-false-alarm", "S4", "an alarm in round 1 reaches all", path(4),
                   byzantine=(0,), words={(1, 0, 1): True}),
        _agreement("silent", "SA-4 MO-8", "silence is an alarm", complete(3), byzantine=(2,),
                   words={(1, 2, 0): None}),
        _agreement("malformed", "SA-4 MO-8", "a number is no alarm state", complete(3),
                   byzantine=(2,), words={(1, 2, 0): 1}),
        _agreement("each-reason-once", "SA-3 SA-4 MO-8",
                   "silence, a number and an alarm, each twice", path(7), byzantine=(1,),
                   words={(1, 1, 0): None, (2, 1, 0): 1, (3, 1, 0): True, (4, 1, 0): None,
                          (5, 1, 0): 0, (6, 1, 0): True}),
        _agreement("repeated", "SA-3", "each reason and sender once", complete(3), byzantine=(2,),
                   words={(1, 2, 0): True, (2, 2, 0): True, (2, 2, 1): None}),
    )  # fmt: skip


def broadcast_family() -> VectorFamily:
    """All cases of the broadcast."""
    return VectorFamily(
        "broadcast",
        "ValidatedBroadcast (spec/validated-broadcast.md) on small graphs.",
        (
            "Start every honest agent with its key.",
            "In every round deliver on each directed edge what the sender says: for an honest "
            "sender what your implementation sends, for a Byzantine one the message in `words` "
            "with this phase, round, sender and receiver, and silence where there is none.",
            "Compare every honest message with `said` and, after the last round, every honest "
            "agent with `ends`. An implementation without switches skips the cases whose `without` "
            "is not empty: they show the text as printed.",
        ),
        (BROADCAST,),
        _broadcasts(),
    )


def agreement_family() -> VectorFamily:
    """All cases of the agreement."""
    return VectorFamily(
        "agreement",
        "ValidationStateAgreement (spec/validation-state-agreement.md) on small graphs.",
        (
            "Start every honest agent with whether it is in `alarmed`.",
            "Deliver on each directed edge, in every round, what an honest sender of your "
            "implementation says, and for a Byzantine one the message in `words` with this phase, "
            "round, sender and receiver, and silence where there is none.",
            "Compare every honest message with `said` and, in the end, every honest agent with "
            "`ends`. Skip cases with a switch in `without` that you do not have: they show the "
            "text as printed.",
        ),
        (AGREEMENT,),
        _agreements(),
    )
