"""Vectors of ValidatedBroadcast: the keys of a small network, with Byzantine words on its edges."""

from collections.abc import Mapping
from typing import Any

from valid_ref.adversary.scripted import Scripted
from valid_ref.graph import AgentGraph
from valid_ref.graph_families import complete, path, star
from valid_ref.machine import Message, run_machine
from valid_ref.protocols.valid import KEYS, Valid
from valid_ref.reading import Reading
from valid_ref.schedule import Precision, Schedule
from valid_ref.vectors.document import Operation, VectorCase, VectorFamily
from valid_ref.vectors.sample import parameters_for
from valid_ref.vectors.schema import (
    AGENT,
    ALARMS,
    COMMON,
    EDGES,
    INTEGER,
    SMALL,
    Json,
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
OPERATION = Operation(
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


def key(source: int, value: object) -> dict[tuple[int, str], object]:
    """A message with one entry."""
    return {(source, "key"): value}


def _broadcast(
    name: str,
    source: str,
    comment: str,
    graph: AgentGraph,
    *,
    byzantine: tuple[int, ...] = (),
    words: Words | None = None,
    honest_else: bool = False,
    without: tuple[str, ...] = (),
) -> VectorCase:
    steps = Schedule(Precision(2, 1), (1,), (1,))
    reading = Reading.without(*without)
    public = parameters_for(graph, steps, PRIME, reading=reading)
    [machine] = [s.machine for s in Valid(public).stages if s.machine.place(1)[0] == KEYS]
    keys = {agent: 100 + agent for agent in range(graph.agents)}
    result = run_machine(
        graph,
        machine,
        {agent: {"key": keys[agent]} for agent in keys},
        byzantine=frozenset(byzantine),
        adversary=Scripted(
            {(KEYS, *moment): message for moment, message in (words or {}).items()},
            {} if honest_else else {KEYS: {}},
        ),
    )
    honest = [agent for agent in keys if agent not in byzantine]
    scribe = Scribe(public)
    ends = [
        {
            "agent": agent,
            "held": [
                [owner, whole(value)]
                for (owner, _slot), value in sorted(result.states[agent].held.items())
            ],
            "alarms": alarms_as_json(result.states[agent].alarms),
        }
        for agent in honest
    ]
    given: Json = {
        **graph_json(graph),
        "prime": whole(PRIME),
        "keys": [[agent, whole(keys[agent])] for agent in honest],
        "byzantine": list(byzantine),
        "words": scribe.words(result.rounds, graph, byzantine),
        "without": list(without),
    }
    expected = {"said": scribe.said(result.rounds, honest), "ends": ends}
    return VectorCase(f"broadcast/keys/{name}", tuple(source.split()), comment, given, expected)


def _from_two(rounds: Mapping[int, Message], receivers: tuple[int, ...] = (0, 1)) -> Words:
    """Agent 2 says the same to all these receivers in these rounds."""
    return {(number, 2, u): said for number, said in rounds.items() for u in receivers}


def _cases() -> tuple[VectorCase, ...]:
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


def family() -> VectorFamily:
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
        (OPERATION,),
        _cases(),
    )
