"""Vectors of graphs and of public parameters, and the parameters of the worked example.

The worked example is that of local-validate.md and global-validate.md, with its transcripts.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction

from valid_ref.document import Json
from valid_ref.graph import AgentGraph, assumption_1, assumption_1_plus
from valid_ref.graph_families import complete, cycle, paper_graph, path, star
from valid_ref.hashing import PrimeField
from valid_ref.lattice import MERSENNE_61, default_limits
from valid_ref.protocols import global_validate, local_validate
from valid_ref.protocols.broadcast import Tag
from valid_ref.protocols.learn import LearningMessage
from valid_ref.protocols.parameters import Bounds, ValidParameters, Weighting
from valid_ref.protocols.valid import Valid
from valid_ref.reading import Reading
from valid_ref.schedule import Precision, Schedule
from valid_ref.vectors.document import (
    COMPARE,
    Operation,
    VectorCase,
    VectorFamily,
    make,
    operation,
)
from valid_ref.vectors.schema import (
    AGENT,
    EDGES,
    FLAG,
    SMALL,
    VECTOR,
    exactly,
    fields,
    integer_vector,
    many,
    ref,
    whole,
    wholes,
)
from valid_ref.vectors.spoken import graph_json
from valid_ref.wire import parameters_from_digits, parameters_in_digits

KEYS = (5, 17, 42)
WEIGHTING = Weighting("halves", (1, 2), Fraction(3), optimality=108, heterogeneity=6336)
"""gamma = 1/2, m = 1, eps_opt = 3/4, delta + eps_het = 2/3 + 1/4."""


def transcript(*rounds: tuple[int, int]) -> tuple[LearningMessage, ...]:
    """Learning messages of dimension 1 from pairs (x, Gamma)."""
    return tuple(LearningMessage(integer_vector([x]), integer_vector([g])) for x, g in rounds)


TRANSCRIPTS = (
    transcript((0, 0), (1, 4)),
    transcript((8, -32), (12, -16)),
    transcript((16, -64), (23, -36)),
)
"""What agents 0, 1 and 2 send on the path 0-1-2."""


def parameters_for(
    graph: AgentGraph,
    steps: Schedule,
    prime: int,
    weightings: Sequence[Weighting] = (),
    *,
    bounds: Bounds | None = None,
    dimension: int = 1,
    reading: Reading | None = None,
) -> ValidParameters:
    """Parameters with default limits and x_0 = 0."""
    return ValidParameters(
        graph,
        default_limits(dimension, steps, graph.max_degree, prime),
        integer_vector([0] * dimension),
        PrimeField(prime),
        bounds=bounds,
        weightings=tuple(weightings),
        reading=Reading() if reading is None else reading,
    )


def parameters(
    weightings: Sequence[Weighting] = (WEIGHTING,), reading: Reading | None = None
) -> ValidParameters:
    """Path 0-1-2, d = 1, T = 2, f = 4, k = 2, a = 1, A = 2, p = 10007."""
    steps = Schedule(Precision(4, 2), (1, 1), (2, 2))
    squares = Bounds((17**2, 26**2), (35**2, 52**2))
    return parameters_for(path(3), steps, 10007, weightings, bounds=squares, reading=reading)


def reports(
    changed: Mapping[Tag, Sequence[LearningMessage]] | None = None,
) -> dict[Tag, tuple[int, ...]]:
    """Every (reporter, agent) to the hashes of what that reporter received; `changed` first."""
    return {
        (reporter, agent): local_validate.transcript_report(
            parameters(), KEYS, (changed or {}).get((reporter, agent), TRANSCRIPTS[agent])
        )
        for agent in range(3)
        for reporter in path(3).neighbours(agent)
    }


def estimates(public: ValidParameters | None = None) -> dict[Tag, global_validate.Estimate]:
    """Every (reporter, agent) to the estimate of what the agent sent."""
    known = parameters() if public is None else public
    return {
        (reporter, agent): global_validate.estimate(known, TRANSCRIPTS[agent])
        for agent in range(3)
        for reporter in path(3).neighbours(agent)
    }


@operation(
    "graph/graph",
    fields(agents=SMALL, edges=many(exactly({"type": "integer"}, {"type": "integer"}))),
    fields(neighbours=many(many(AGENT))),
    "MO-1 MO-2",
)
def graph(agents: int, edges: Sequence[tuple[int, int]]) -> Json:
    """Whether agents and undirected edges make a graph of the model, and who hears whom."""
    graph = AgentGraph.from_edges(agents, edges)
    return {"neighbours": [graph.neighbours(agent) for agent in range(agents)]}


@operation(
    "graph/assumptions",
    fields(agents=SMALL, edges=EDGES, byzantine=many(AGENT)),
    fields(assumption_1=FLAG, assumption_1_plus=FLAG, hidden=many(AGENT)),
    "AD-5 AD-6 AD-8",
)
def assumptions(agents: int, edges: Sequence[tuple[int, int]], byzantine: Sequence[int]) -> Json:
    """Whether Assumption 1 and Assumption 1+ hold for a Byzantine set, and the Byzantine agents
    without an honest neighbour.
    """
    graph = AgentGraph.from_edges(agents, edges)
    report = assumption_1_plus(graph, byzantine)
    return {
        "assumption_1": assumption_1(graph, byzantine).holds,
        "assumption_1_plus": report.holds,
        "hidden": report.hidden,
    }


def graph_family() -> VectorFamily:
    """All cases of graphs."""

    def assume(name: str, comment: str, graph: AgentGraph, *byzantine: int) -> VectorCase:
        return assumptions(name, comment, **graph_json(graph), byzantine=byzantine)

    return VectorFamily(
        "graph",
        "Graphs (spec/model.md) and the assumptions on Byzantine sets (spec/adversary.md).",
        (COMPARE,),
        (graph, assumptions),
        (
            graph("path", "three agents in a row", 3, [(0, 1), (1, 2)]),
            graph("either-order", "an edge may be written from either end", 3, [(2, 1), (1, 0)]),
            graph(
                "loop-refused", "no agent is its own neighbour", 2, [(0, 1), (1, 1)], refused="MO-2"
            ),
            graph("unknown-agent-refused", "agents are 0..n-1", 2, [(0, 2)], refused="MO-2"),
            graph(
                "negative-agent-refused", "agents are 0..n-1", 2, [(-1, 0), (0, 1)], refused="MO-2"
            ),
            graph("disconnected-refused", "two parts", 4, [(0, 1), (2, 3)], refused="MO-2"),
            graph(
                "duplicate-edge-refused",
                "an edge that stands twice",
                3,
                [(0, 1), (1, 2), (0, 1)],
                refused="MO-2",
            ),
            graph(
                "edge-both-ways-refused",
                "an edge and the same one from its other end",
                2,
                [(0, 1), (1, 0)],
                refused="MO-2",
            ),
            graph("one-agent-refused", "at least two agents", 1, [], refused="MO-2"),
            assume("nobody", "no Byzantine agent", path(3)),
            assume("end-of-path", "the rest is connected", path(4), 0),
            assume("middle-of-path", "the rest falls apart", path(3), 1),
            assume("hub", "the rest of a star falls apart", star(4), 0),
            assume("hidden-leaf", "nobody honest hears leaf 1", star(3), 0, 1),
            assume("hidden-ends", "the path of P06: 1 holds, 1+ does not", path(6), 0, 1, 4, 5),
            assume("lone-honest", "one honest agent in a complete graph", complete(4), 1, 2, 3),
            assume("all", "no agent is honest", complete(2), 0, 1),
            assume("cycle-neighbours", "two neighbours on a cycle", cycle(5), 0, 1),
            assume("cycle-apart", "two others on a cycle", cycle(5), 0, 2),
            assume("paper", "the network of the experiments", paper_graph(), 4, 15),
        ),
    )


OPERATION = Operation(
    "parameters/parameters",
    "Whether a run with these public parameters can be begun: the number of all its rounds, "
    "and the sum W of the weights of each weighting.",
    fields(parameters=ref("parameters")),
    fields(rounds=SMALL, weight_sums=VECTOR),
)


def _parameters(
    name: str, source: str, comment: str, refused: str | None = None, **changed: Json
) -> VectorCase:
    """The worked example of local-validate.md with some fields changed."""
    given = parameters_in_digits(parameters()) | changed

    def compute() -> Json:
        public = parameters_from_digits(given)
        sums = (sum(weighting.weights) for weighting in public.weightings)
        return {"rounds": Valid(public).rounds, "weight_sums": wholes(sums)}

    identifier = f"parameters/parameters/{name}"
    return make(identifier, source, comment, {"parameters": given}, compute, refused=refused)


def _refused(name: str, clause: str, comment: str, **changed: Json) -> VectorCase:
    return _parameters(f"{name}-refused", clause, comment, clause, **changed)


def _weighting(weights: list[int], **thresholds: int) -> Json:
    """A weighting with these thresholds; others are 1 from above, and none from below."""
    known = {"optimality": 1, "heterogeneity": 1, "optimality_low": 0, "heterogeneity_low": 0}
    found = {name: whole(value) for name, value in (known | thresholds).items()}
    return {"name": "w", "weights": wholes(weights)} | found


def _squares(models: list[int], gradients: list[int]) -> Json:
    return {"model_squared": wholes(models), "gradient_squared": wholes(gradients)}


def _cases() -> tuple[VectorCase, ...]:
    tight: Json = {
        **graph_json(path(2)),
        "dimension": 6,
        "fraction_bits": 0,
        "step_bits": 0,
        "max_degree": 1,
        "model_limit": "1",
        "gradient_limit": "4",
        "start_model": ["0"] * 6,
        "bounds": None,
    }
    return (
        _parameters("worked-example", "VA-3 GV-1", "the worked example of local-validate.md"),
        _parameters("no-bounds", "LV-2", "`bounds` is null: there is no norm check", bounds=None),
        _parameters("zero-bounds", "LV-2", "a bound may be 0", bounds=_squares([0, 0], [0, 0])),
        _parameters("no-weighting", "GV-12", "there need not be a test", weightings=[]),
        _parameters("sixty-bits", "AR-1", "f = 60", fraction_bits=60),
        _parameters(
            "larger-degree", "AR-10", "made for degrees up to 5", max_degree=5, model_limit="100"
        ),
        _parameters("own-keys", "LV-10", "only the own key is checked", keys_checked="own"),
        _parameters("short-field", "HA-1", "dT = 12 is below 13", prime="13", **tight),
        _refused("length", "HA-1", "dT = 12 is not below 11", prime="11", **tight),
        _refused("composite", "HA-1", "10001 = 73 * 137", prime="10001"),
        _refused("prime-power", "HA-2", "16807 = 7^5", prime="16807"),
        _refused("duplicate-edge", "MO-2", "the edge 0-1 twice", edges=[[0, 1], [1, 2], [1, 0]]),
        _refused("fraction-bits", "AR-1", "f = 61", fraction_bits=61),
        _refused("step-bits", "AR-1", "k = 61", step_bits=61, prime=whole(MERSENNE_61)),
        _refused("no-rounds", "AR-2", "T = 0", mixing=[], gradient=[], bounds=None, weightings=[]),
        _refused("step-missing", "AR-2", "two a_t and one A_t", gradient=["2"]),
        _refused("zero-mixing", "AR-2", "a_2 = 0", mixing=["1", "0"]),
        _refused("negative-gradient-step", "AR-2", "A_1 = -2", gradient=["-2", "2"]),
        _parameters("largest-step", "AR-2", "A_t = 2^62 - 1", gradient=wholes([2**62 - 1] * 2)),
        _refused("too-large-step", "AR-2", "A_2 = 2^62", gradient=["2", whole(2**62)]),
        _refused("no-dimension", "AR-10", "d = 0", dimension=0, start_model=[]),
        _refused("degree", "AR-10", "the graph has degree 2", max_degree=1),
        _refused("range", "AR-10", "X_max one too large", model_limit="417"),
        _refused("start-on-limit", "AR-10", "|x_0| = X_max = 416", start_model=["-416"]),
        _parameters("start", "LM-1", "|x_0| = X_max - 1", start_model=["-415"]),
        _refused("start-length", "LM-1", "x_0 has two entries, d = 1", start_model=["0", "0"]),
        _refused(
            "bound-missing", "LV-2", "one C_t for two rounds", bounds=_squares([289, 676], [1225])
        ),
        _refused(
            "negative-bound",
            "LV-2",
            "no square is negative",
            bounds=_squares([289, -1], [1225, 2704]),
        ),
        _refused(
            "weight-missing", "GV-1", "one weight for two rounds", weightings=[_weighting([1])]
        ),
        _refused("no-weight", "GV-1", "the weights are all 0", weightings=[_weighting([0, 0])]),
        _refused(
            "negative-weight", "GV-1", "a weight is negative", weightings=[_weighting([-1, 3])]
        ),
        _refused(
            "zero-optimality",
            "GV-7",
            "Theta_opt = 0",
            weightings=[_weighting([1, 2], optimality=0)],
        ),
        _refused(
            "zero-heterogeneity",
            "GV-7",
            "Theta_het = 0",
            weightings=[_weighting([1, 2], heterogeneity=0)],
        ),
        _parameters(
            "lower-thresholds",
            "GV-13",
            "lower thresholds may be as large as the upper ones",
            weightings=[
                _weighting([1, 2], optimality_low=1),
                _weighting([2, 1], heterogeneity=2**70, heterogeneity_low=2**70)
                | {"name": "other"},
            ],
        ),
        *(
            _refused(
                f"{what}-lower-{test}",
                "GV-13",
                f"the lower threshold of {test} is {low}, the upper one {2**70}",
                weightings=[_weighting([1, 2], **{test: 2**70, f"{test}_low": low})],
            )
            for test in ("optimality", "heterogeneity")
            for what, low in (("negative", -1), ("too-large", 2**70 + 1))
        ),
    )


def family() -> VectorFamily:
    """All cases of public parameters."""
    return VectorFamily(
        "parameters",
        "Public parameters of a run: those that are admitted, and the clauses that refuse others.",
        ("For each case, make the parameters as for a run and compare.",),
        (OPERATION,),
        _cases(),
    )
