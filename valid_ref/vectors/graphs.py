"""Vectors of graphs: which are admitted, and which Byzantine sets the assumptions allow."""

from collections.abc import Sequence

from valid_ref.graph import AgentGraph, assumption_1, assumption_1_plus
from valid_ref.graph_families import complete, cycle, paper_graph, path, star
from valid_ref.vectors.document import COMPARE, VectorCase, VectorFamily, operation
from valid_ref.vectors.schema import AGENT, EDGES, FLAG, SMALL, Json, exactly, fields, many
from valid_ref.vectors.spoken import graph_json

Edges = Sequence[tuple[int, int]]


@operation(
    "graph/graph",
    fields(agents=SMALL, edges=many(exactly({"type": "integer"}, {"type": "integer"}))),
    fields(neighbours=many(many(AGENT))),
    "MO-1 MO-2",
)
def graph(agents: int, edges: Edges) -> Json:
    """Whether agents and undirected edges make a graph of the model, and who hears whom."""
    graph = AgentGraph.from_edges(agents, edges)
    return {"neighbours": [graph.neighbours(agent) for agent in range(agents)]}


@operation(
    "graph/assumptions",
    fields(agents=SMALL, edges=EDGES, byzantine=many(AGENT)),
    fields(assumption_1=FLAG, assumption_1_plus=FLAG, hidden=many(AGENT)),
    "AD-5 AD-6 AD-8",
)
def assumptions(agents: int, edges: Edges, byzantine: Sequence[int]) -> Json:
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


OPERATIONS = (graph, assumptions)


def family() -> VectorFamily:
    """All cases of graphs."""

    def assume(name: str, comment: str, graph: AgentGraph, *byzantine: int) -> VectorCase:
        return assumptions(name, comment, **graph_json(graph), byzantine=byzantine)

    return VectorFamily(
        "graph",
        "Graphs (spec/model.md) and the assumptions on Byzantine sets (spec/adversary.md).",
        (COMPARE,),
        OPERATIONS,
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
