"""Vectors of lean validation: routes, encodings, keys, what an agent says of itself; whole runs."""

from collections.abc import Mapping

import attrs

from valid_ref.adversary.catalogue import AttackPart
from valid_ref.adversary.lean_attacks import (
    AdaptiveOpening,
    CopiedCommitment,
    EarlyValue,
    FalseNumber,
    FalseOwnReport,
    SilentBranch,
    SplitOpening,
    WrappedTotal,
    WrongDigest,
    WrongSum,
    WrongTotal,
)
from valid_ref.adversary.models import Equivocation
from valid_ref.adversary.scripted import Scripted
from valid_ref.document import Json
from valid_ref.graph import AgentGraph
from valid_ref.graph_families import complete, cycle, path, star, torus
from valid_ref.lattice import MERSENNE_61
from valid_ref.machine import Message
from valid_ref.protocols import global_validate, lean, local_validate
from valid_ref.protocols.agreement import PHASE as AGREEMENT
from valid_ref.protocols.flood import SUM, TOTAL
from valid_ref.protocols.lean import COMPARE, FIX, FIXED, OPEN, OPENING, REPORT, REPORTED
from valid_ref.protocols.local_validate import Transcript
from valid_ref.protocols.parameters import LeanParameters, ValidParameters
from valid_ref.protocols.routes import Routes
from valid_ref.scenario import Scenario, parts, prepare
from valid_ref.scenario.build import Prepared
from valid_ref.schedule import Precision, Schedule
from valid_ref.vectors.document import COMPARE as COMPUTE
from valid_ref.vectors.document import Operation, VectorCase, VectorFamily, operation
from valid_ref.vectors.parameters import TRANSCRIPTS, parameters, parameters_for
from valid_ref.vectors.runs import HARNESS, NO_SWITCHES, attacked, lean_run_case, small
from valid_ref.vectors.schema import (
    AGENT,
    ALARMS,
    EDGES,
    FLAG,
    INTEGER,
    NULL,
    SMALL,
    TEXT,
    VECTOR,
    either,
    fields,
    many,
    ref,
)
from valid_ref.vectors.spoken import LEAN_SAID, LEAN_WORDS
from valid_ref.words import Listed

RUN = "11" * 32
"""The name of the run in the worked example of lean-validation.md."""


def _public(graph: AgentGraph, prime: int, kappa: int, run: str) -> ValidParameters:
    """Parameters of which only these matter here."""
    made = parameters_for(graph, Schedule(Precision(2, 1), (1,), (1,)), prime)
    return attrs.evolve(made, lean=LeanParameters(kappa, run))


@operation(
    "lean/routes",
    fields(agents=SMALL, edges=EDGES),
    fields(
        diameter=SMALL,
        root=AGENT,
        height=SMALL,
        parents=many(either(AGENT, NULL)),
        sizes=many(SMALL),
        up=many(SMALL),
        down=many(SMALL),
    ),
    "LE-2 LE-8",
)
def _routes(agents: int, edges: list[tuple[int, int]]) -> Mapping[str, Json]:
    """Diameter D, root, r as `height`; for every agent its parent (null for the root) and the
    number of agents of its subtree; for all but the root, in increasing order, the round in which
    it sends its sum and the round in which it receives the total.
    """
    routes = Routes(AgentGraph.from_edges(agents, edges))
    others = [v for v in range(agents) if v != routes.root]
    return {
        "diameter": routes.diameter,
        "root": routes.root,
        "height": routes.height,
        "parents": list(routes.parents),
        "sizes": list(routes.sizes),
        "up": [routes.up(v) for v in others],
        "down": [routes.down(v) for v in others],
    }


@operation(
    "lean/commitment",
    fields(run=TEXT, agent=AGENT, nonce=INTEGER, shares=VECTOR),
    fields(commitment=INTEGER),
    "LE-9",
)
def _commitment(run: str, agent: int, nonce: int, shares: list[int]) -> Mapping[str, Json]:
    """What an agent commits to its opening with; `run` is the name of the run."""
    public = _public(path(2), MERSENNE_61, len(shares), run)
    return {"commitment": lean.commitment(public, agent, (nonce, *shares))}


HELD = either(VECTOR, NULL)


@operation(
    "lean/digest",
    fields(run=TEXT, fixed=many(HELD), openings=many(HELD), reports=many(HELD)),
    fields(digest=INTEGER),
    "LE-13",
)
def _digest(
    run: str,
    fixed: list[list[int] | None],
    openings: list[list[int] | None],
    reports: list[list[int] | None],
) -> Mapping[str, Json]:
    """The digest of the values held of every agent, for each slot by agent; null is none."""
    public = _public(complete(len(fixed)), MERSENNE_61, 1, run)
    slots = zip((FIXED, OPENING, REPORTED), (fixed, openings, reports), strict=True)
    held: lean.Held = {
        (v, slot): tuple(value)
        for slot, values in slots
        for v, value in enumerate(values)
        if value is not None
    }
    return {"digest": lean.digest(public, held)}


@operation(
    "lean/common-keys",
    fields(prime=INTEGER, openings=many(HELD)),
    fields(keys=VECTOR),
    "LE-10",
)
def _common_keys(prime: int, openings: list[list[int] | None]) -> Mapping[str, Json]:
    """The common keys from the openings (nonce, shares) of all agents; null is one that did not
    come.
    """
    kappa = max(len(value) for value in openings if value is not None) - 1
    public = _public(complete(len(openings)), prime, kappa, RUN)
    pairs = enumerate(openings)
    held: lean.Held = {(v, OPENING): tuple(value) for v, value in pairs if value is not None}
    return {"keys": lean.common_keys(public, held)}


@operation(
    "lean/own-words",
    fields(parameters=ref("lean-parameters"), keys=VECTOR, transcript=ref("transcript")),
    fields(numbers=VECTOR, estimate=VECTOR, report=VECTOR),
    "LE-7 LE-11",
)
def _own_words(
    parameters: ValidParameters, keys: list[int], transcript: Transcript
) -> Mapping[str, Json]:
    """What an agent with this record says of itself: q for each weighting, its ghat, its report."""
    estimate = global_validate.estimate(parameters, transcript)
    d, m = parameters.lattice.dimension, len(parameters.weightings)
    hashes = local_validate.transcript_report(parameters, keys, transcript)
    return {
        "numbers": [sum(e * e for e in estimate[i * d : (i + 1) * d]) for i in range(m)],
        "estimate": estimate,
        "report": lean.report_of(
            parameters, hashes, lean.vector_hashes(parameters, keys, estimate)
        ),
    }


@operation(
    "lean/lean-parameters",
    fields(parameters=ref("lean-parameters")),
    fields(rounds=SMALL, limits=VECTOR),
    "LE-1 LE-3 LE-5",
)
def _lean_parameters(parameters: ValidParameters) -> Mapping[str, Json]:
    """Parameters that are admitted: the number of all rounds, and for each of the three floods in
    turn what each integer of a value is below.
    """
    routes, limits = Routes(parameters.graph), lean.limits_of(parameters)
    after = 2 * routes.height + 2 * routes.diameter + parameters.graph.agents
    rounds = parameters.lattice.schedule.rounds + after
    return {"rounds": rounds, "limits": [n for slot in limits.values() for n in slot]}


def _graph(name: str, comment: str, graph: AgentGraph) -> VectorCase:
    return _routes(name, comment, graph.agents, [[*edge] for edge in graph.edges])


def _example(kappa: int = 1) -> ValidParameters:
    """The network of the worked example."""
    return attrs.evolve(parameters(), lean=LeanParameters(kappa, RUN))


def unit_family() -> VectorFamily:
    """Routes, encodings, keys, own words."""
    openings = [[1, 5], [256, 17], [2**255, 42]]
    reports = [[64, 0, 0, 256, 4], [776, 512, 512, 8951, 9975], [1488, 1024, 1024, 7639, 9939]]
    committed = [
        lean.commitment(_example(), v, tuple(opening)) for v, opening in enumerate(openings)
    ]
    squares = (16, 1024, 4624)
    fixed = [[c, q] for c, q in zip(committed, squares, strict=True)]
    barbell = AgentGraph.from_edges(7, [(0, 1), (1, 2), (0, 2), (2, 3), (3, 4), (4, 5), (4, 6)])
    return VectorFamily(
        "lean",
        "Lean validation piece by piece: routes, commitments, keys, reports, digests.",
        (COMPUTE,),
        (_routes, _commitment, _digest, _common_keys, _own_words, _lean_parameters),
        (
            _graph("pair", "two agents", path(2)),
            _graph("path", "four in a row: two centres, the smaller one is the root", path(4)),
            _graph("cycle", "agent 4 has two neighbours nearer to the root", cycle(6)),
            _graph("star", "the centre is the root", star(5)),
            _graph("complete", "r = 1 and D = 1", complete(4)),
            _graph("torus", "3 x 4", torus(3, 4)),
            _graph("barbell", "2r is more than D", barbell),
            _commitment("worked-example-0", "agent 0", run=RUN, agent=0, nonce=1, shares=[5]),
            _commitment("worked-example-1", "agent 1", run=RUN, agent=1, nonce=256, shares=[17]),
            _commitment(
                "worked-example-2",
                "agent 2, with a long nonce",
                run=RUN,
                agent=2,
                nonce=2**255,
                shares=[42],
            ),
            _commitment("zeros", "0 has no byte", run="00" * 32, agent=0, nonce=0, shares=[0, 0]),
            _commitment(
                "largest",
                "three shares, agent 300",
                run="0123456789abcdef" * 4,
                agent=300,
                nonce=2**256 - 1,
                shares=[MERSENNE_61 - 1, 0, 255],
            ),
            _digest(
                "worked-example",
                "everything is there",
                run=RUN,
                fixed=fixed,
                openings=openings,
                reports=reports,
            ),
            _digest(
                "nulls",
                "values that did not come",
                run=RUN,
                fixed=[fixed[0], None, fixed[2]],
                openings=[None] * 3,
                reports=[None, reports[1], None],
            ),
            _digest(
                "zeros",
                "a value of zeros is not null",
                run=RUN,
                fixed=[[0, 0]] * 2,
                openings=[[0, 0], None],
                reports=[[0] * 5, None],
            ),
            _common_keys("worked-example", "5 + 17 + 42", 10007, openings),
            _common_keys(
                "wraps",
                "modulo p, and one that did not come",
                101,
                [[0, 100, 7], None, [9, 100, 99]],
            ),
            *(
                _own_words(f"worked-example-{v}", f"agent {v}", _example(), [64], TRANSCRIPTS[v])
                for v in range(3)
            ),
            _own_words(
                "two-keys",
                "for each key its hashes, then that of ghat",
                _example(2),
                [64, 3],
                TRANSCRIPTS[1],
            ),
            _lean_parameters("worked-example", "path of three, kappa = 1", _example()),
            _lean_parameters("two-keys", "kappa = 2", _example(2)),
        ),
    )


LEAN_RUN = Operation(
    "runs-lean/lean-run",
    "A whole run with lean validation: every honest message, and how every honest agent ends.",
    fields(
        parameters=ref("lean-parameters"),
        byzantine=many(AGENT),
        openings=many(either(VECTOR, NULL)),
        gradients=many(many(either(VECTOR, NULL))),
        tables=fields(reports=many(VECTOR), estimates=many(VECTOR)),
        words=LEAN_WORDS,
    ),
    fields(
        said=LEAN_SAID,
        addressed=LEAN_WORDS,
        ends=many(fields(agent=AGENT, valid=FLAG, model=either(VECTOR, NULL), alarms=ALARMS)),
    ),
)

LEAN_HARNESS = (
    "As for the runs of the paper's validation, but every honest agent v brings the opening "
    "`openings[v]`, the nonce and then the shares, in place of a key.",
    "`said` is what an honest agent says to all its neighbours but those of `addressed`, which "
    "has the messages along the tree (LE-8), each with sender and receivers.",
    "The slots of flooded values are written as numbers: fixed -2, opening -3, report -4, sum -5, "
    "total -6. Rows of fixed values, openings and reports stand in the table `reports`, those of "
    "sums and totals in `estimates`.",
    *(words for words in HARNESS[1:] if words not in {HARNESS[2], NO_SWITCHES}),
    "Compare `said` and `addressed`, in the order of rounds, and in the end every honest agent "
    "with `ends`.",
)


def _lean(scenario: Scenario, kappa: int = 2) -> Scenario:
    return attrs.evolve(scenario, keys=None, validation=parts.Lean(kappa=kappa))


def _run(name: str, source: str, comment: str, setup: Scenario | Prepared) -> VectorCase:
    return lean_run_case(f"runs-lean/lean-run/{name}", source, comment, setup)


def _attack(
    comment: str, attack: AttackPart, graph: str = "path:4", byzantine: int = 2
) -> VectorCase:
    scenario = _lean(attacked(attack, graph, (byzantine,)))
    return _run(attack.kind, "AD-9 LE-12", comment, scenario)


def _saying(
    name: str, source: str, comment: str, words: Mapping[tuple[str, int, int], Message]
) -> VectorCase:
    """Path 0-1-2-3, root 1: agent 2 says this in a phase and round on an edge; else it is honest.

    In the agreement it has no alarm.
    """
    prepared = prepare(_lean(attacked(WrongDigest(), "path:4", (2,))))
    script = {(phase, t, 2, u): word for (phase, t, u), word in words.items()}
    quiet = {AGREEMENT: False}
    return _run(name, source, comment, attrs.evolve(prepared, adversary=Scripted(script, quiet)))


def run_lean_family() -> VectorFamily:
    """All runs with lean validation."""
    strict = parts.Check("t", parts.Polynomial(), parts.ConfiguredThresholds(2.0**-6, 2.0**-6))
    two = parts.Check(
        "gamma = 3/4", parts.Exponential(0.75, 10), parts.ConfiguredThresholds(64.0, 8e3)
    )
    open_, small_path = small("path:3", 1).checks[0], small("path:3", 1)
    nothing: Message = {}
    zeros = {(2, FIXED): (0, 0)}
    return VectorFamily(
        "runs-lean",
        "Whole runs with lean validation, honest and attacked.",
        LEAN_HARNESS,
        (LEAN_RUN,),
        (
            _run("pair", "LE-5", "two agents", _lean(small("path:2", 1))),
            _run("path", "LE-5 LE-8", "four agents in a row, d = 1", _lean(small("path:4", 1))),
            _run("triangle", "LE-5", "three agents, d = 2", _lean(small())),
            _run("star", "LE-8", "the total comes one round later", _lean(small("star:4", 1))),
            _run("cycle", "LE-6", "values come along two paths", _lean(small("cycle:5", 1))),
            _run("one-key", "LE-1", "kappa = 1", _lean(small_path, 1)),
            _run(
                "two-weightings",
                "LE-7 LE-11",
                "two tests, kappa = 3",
                _lean(attrs.evolve(small("path:3", 2), checks=(two, open_)), 3),
            ),
            _run(
                "no-checks",
                "LE-7",
                "no weighting: no sum has an entry",
                _lean(attrs.evolve(small_path, checks=())),
            ),
            _run(
                "thresholds-too-low",
                "LE-12",
                "everybody alarms",
                _lean(attrs.evolve(small_path, checks=(strict,))),
            ),
            _attack("another model for every neighbour", Equivocation()),
            _attack("shares that it chose after those of others", AdaptiveOpening()),
            _attack("the commitment of another", CopiedCommitment()),
            _attack("another opening for every neighbour", SplitOpening()),
            _attack("a partial sum that is none", WrongSum()),
            _attack("a total that is none", WrongTotal(), byzantine=1),
            _attack("a total that is another by p", WrappedTotal(), byzantine=1),
            _attack("neither sum nor total", SilentBranch()),
            _attack("a value before it can have come", EarlyValue()),
            _attack("another number q", FalseNumber()),
            _attack("a report of what it did not say", FalseOwnReport()),
            _attack("another digest", WrongDigest()),
            _saying(
                "silent-in-fix",
                "MO-8",
                "no message, and no mapping",
                {(FIX, 1, 1): None, (FIX, 1, 3): 7},
            ),
            _saying(
                "tag-twice",
                "VB-9",
                "a public tag stands twice: the message is no mapping",
                {(FIX, 1, 1): Listed((zeros, zeros))},
            ),
            _saying(
                "late-value",
                "LE-6",
                "its number comes after the flood; D = 3, 2r = 4",
                {(FIX, t, u): nothing for t in (1, 2, 3) for u in (1, 3)}
                | {(FIX, 4, 1): {(2, FIXED): (0, 0)}},
            ),
            _saying(
                "another-value",
                "VB-6",
                "agent 1 hears its own number changed",
                {(FIX, 2, 1): {(1, FIXED): (0, 0)}},
            ),
            _saying(
                "sum-late",
                "LE-8",
                "its sum comes a round late",
                {(FIX, 2, 1): nothing, (FIX, 3, 1): {(2, SUM): (1,)}},
            ),
            _saying(
                "total-beside-the-tree",
                "LE-6",
                "a sum, a total and a number that nobody may send there",
                {
                    (FIX, 2, 3): {(2, SUM): (1,)},
                    (FIX, 3, 1): {(1, TOTAL): (1,)},
                    (OPEN, 1, 3): {(2, FIXED): (0, 0)},
                },
            ),
            _saying(
                "malformed-values",
                "VB-9",
                "too long, negative, beyond their limits, null",
                {
                    (FIX, 1, 1): {(2, FIXED): (2**256, 0)},
                    (FIX, 1, 3): {(2, FIXED): (0, -1)},
                    (OPEN, 1, 1): {(2, OPENING): (0, 0)},
                    (OPEN, 1, 3): {(2, OPENING): None},
                    (REPORT, 1, 1): {(2, REPORTED): (MERSENNE_61,) * 10},
                },
            ),
            _saying(
                "large-sum",
                "LE-8",
                "beyond what two agents can add up to",
                {(FIX, 2, 1): {(2, SUM): (2**40,)}},
            ),
            _saying(
                "malformed-digests",
                "LE-13",
                "2^256, and an alarm state",
                {(COMPARE, 1, 1): 2**256, (COMPARE, 1, 3): True},
            ),
            _saying("no-digest", "LE-13", "silence in the compare round", {(COMPARE, 1, 1): None}),
        ),
    )
