"""Vectors of graphs: which are admitted, and which Byzantine sets the assumptions allow."""

from collections.abc import Iterable, Sequence

from valid_ref.graph import AgentGraph, assumption_1, assumption_1_plus
from valid_ref.graph_families import complete, cycle, paper_graph, path, star
from valid_ref.vectors.document import Case, Family, Json, Operation, make
from valid_ref.vectors.schema import AGENT, EDGES, FLAG, SMALL, exactly, fields, many
from valid_ref.vectors.spoken import graph_json

OPERATIONS = {
    "graph": Operation(
        "Whether agents and undirected edges make a graph of the model, and who hears whom.",
        fields(agents=SMALL, edges=many(exactly({"type": "integer"}, {"type": "integer"}))),
        fields(neighbours=many(many(AGENT))),
    ),
    "assumptions": Operation(
        "Whether Assumption 1 and Assumption 1+ hold for a Byzantine set, and the Byzantine "
        "agents without an honest neighbour.",
        fields(agents=SMALL, edges=EDGES, byzantine=many(AGENT)),
        fields(assumption_1=FLAG, assumption_1_plus=FLAG, hidden=many(AGENT)),
    ),
}


def _graph(
    name: str, comment: str, agents: int, edges: Sequence[tuple[int, int]],
    refused: str | None = None,
) -> Case:  # fmt: skip
    def compute() -> Json:
        graph = AgentGraph.from_edges(agents, edges)
        return {"neighbours": [list(graph.neighbours(agent)) for agent in range(agents)]}

    given = {"agents": agents, "edges": [list(edge) for edge in edges]}
    return make(f"graph/graph/{name}", "MO-1 MO-2", comment, given, compute, refused=refused)


def _assumptions(name: str, comment: str, graph: AgentGraph, byzantine: Iterable[int]) -> Case:
    chosen = [*byzantine]

    def compute() -> Json:
        report = assumption_1_plus(graph, chosen)
        return {
            "assumption_1": assumption_1(graph, chosen).holds,
            "assumption_1_plus": report.holds,
            "hidden": list(report.hidden),
        }

    given = {**graph_json(graph), "byzantine": chosen}
    return make(f"graph/assumptions/{name}", "AD-5 AD-6 AD-8", comment, given, compute)


def family() -> Family:
    """All cases of graphs."""
    return Family(
        "graph",
        "Graphs (spec/model.md) and the assumptions on Byzantine sets (spec/adversary.md).",
        ("For each case, compute the operation named in `operation` from `input` and compare.",),
        OPERATIONS,
        (
            _graph("path", "three agents in a row", 3, [(0, 1), (1, 2)]),
            _graph("either-order", "an edge may be written from either end", 3, [(2, 1), (1, 0)]),
            _graph("loop-refused", "no agent is its own neighbour", 2, [(0, 1), (1, 1)], "MO-2"),
            _graph("unknown-agent-refused", "agents are 0..n-1", 2, [(0, 2)], "MO-2"),
            _graph("negative-agent-refused", "agents are 0..n-1", 2, [(-1, 0), (0, 1)], "MO-2"),
            _graph("disconnected-refused", "two parts", 4, [(0, 1), (2, 3)], "MO-2"),
            _graph("duplicate-edge-refused", "an edge that stands twice", 3,
                   [(0, 1), (1, 2), (0, 1)], "MO-2"),
            _graph("edge-both-ways-refused", "an edge and the same one from its other end", 2,
                   [(0, 1), (1, 0)], "MO-2"),
            _graph("one-agent-refused", "at least two agents", 1, [], "MO-2"),
            _assumptions("nobody", "no Byzantine agent", path(3), ()),
            _assumptions("end-of-path", "the rest is connected", path(4), (0,)),
            _assumptions("middle-of-path", "the rest falls apart", path(3), (1,)),
            _assumptions("hub", "the rest of a star falls apart", star(4), (0,)),
            _assumptions("hidden-leaf", "nobody honest hears leaf 1", star(3), (0, 1)),
            _assumptions("hidden-ends", "the path of P06: 1 holds, 1+ does not", path(6),
                         (0, 1, 4, 5)),
            _assumptions("lone-honest", "one honest agent in a complete graph", complete(4),
                         (1, 2, 3)),
            _assumptions("all", "no agent is honest", complete(2), (0, 1)),
            _assumptions("cycle-neighbours", "two neighbours on a cycle", cycle(5), (0, 1)),
            _assumptions("cycle-apart", "two others on a cycle", cycle(5), (0, 2)),
            _assumptions("paper", "the network of the experiments", paper_graph(), (4, 15)),
        ),
    )  # fmt: skip
