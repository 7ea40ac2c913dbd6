"""Vectors of ValidationStateAgreement: who is alarmed in the end."""

from valid_ref.adversary.scripted import Scripted
from valid_ref.graph import AgentGraph
from valid_ref.graph_families import complete, cycle, path
from valid_ref.machine import run_machine
from valid_ref.protocols.agreement import PHASE, ValidationStateAgreement
from valid_ref.reading import Reading
from valid_ref.schedule import Precision, Schedule
from valid_ref.vectors.broadcasts import WITHOUT, Words
from valid_ref.vectors.document import Operation, VectorCase, VectorFamily
from valid_ref.vectors.sample import parameters_for
from valid_ref.vectors.schema import AGENT, ALARMS, EDGES, FLAG, SMALL, fields, many
from valid_ref.vectors.spoken import SAID, WORDS, Scribe, graph_json
from valid_ref.wire import alarms_as_json

OPERATION = Operation(
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


def _agreement(
    name: str,
    source: str,
    comment: str,
    graph: AgentGraph,
    alarmed: tuple[int, ...] = (),
    *,
    byzantine: tuple[int, ...] = (),
    words: Words | None = None,
    without: tuple[str, ...] = (),
) -> VectorCase:
    """Byzantine agents say "no alarm" where the words do not say otherwise."""
    said = {(PHASE, *moment): message for moment, message in (words or {}).items()}
    reading = Reading.without(*without)
    result = run_machine(
        graph,
        ValidationStateAgreement(graph, reading),
        {agent: agent in alarmed for agent in range(graph.agents)},
        byzantine=frozenset(byzantine),
        adversary=Scripted(said, {PHASE: False}),
    )
    honest = [agent for agent in range(graph.agents) if agent not in byzantine]
    public = parameters_for(graph, Schedule(Precision(2, 1), (1,), (1,)), 10007, reading=reading)
    scribe = Scribe(public)
    given = {
        **graph_json(graph),
        "alarmed": list(alarmed),
        "byzantine": list(byzantine),
        "words": scribe.words(result.rounds, graph, byzantine),
        "without": list(without),
    }
    expected = {
        "said": scribe.said(result.rounds, honest),
        "ends": [
            {
                "agent": agent,
                "alarmed": result.states[agent].alarmed,
                "alarms": alarms_as_json(result.states[agent].alarms),
            }
            for agent in honest
        ],
    }
    return VectorCase(f"agreement/states/{name}", tuple(source.split()), comment, given, expected)


def _cases() -> tuple[VectorCase, ...]:
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


def family() -> VectorFamily:
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
        (OPERATION,),
        _cases(),
    )
