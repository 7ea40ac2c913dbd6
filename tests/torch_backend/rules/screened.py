"""Small networks of integer models for the rules, and what the rules see of them."""

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from hypothesis import strategies as st

from torch_backend.rules.rule import Received
from valid_ref.graph import AgentGraph
from valid_ref.graph_families import parse_family
from valid_ref.lattice import LatticeParameters, default_limits
from valid_ref.schedule import Precision, Schedule

GRAPHS = tuple(
    parse_family(name) for name in ("complete:5", "cycle:6", "star:5", "path:4", "complete:9")
)
PRECISIONS = (Precision(), Precision(2, 1), Precision(4, 0), Precision(6, 3))


def parameters_of(graph: AgentGraph, d: int, precision: Precision) -> LatticeParameters:
    return default_limits(d, Schedule(precision, (1,), (1,)), graph.max_degree)


def received(
    models: Sequence[Sequence[int]],
    *,
    agents: Sequence[int] | None = None,
    own: Mapping[int, Sequence[int]] | None = None,
    edges: Mapping[tuple[int, int], Sequence[int]] | None = None,
) -> Received:
    said = torch.tensor(models, dtype=torch.int64)
    chosen = tuple(range(len(said)) if agents is None else agents)
    rows = said[list(chosen)].clone()
    for agent, row in (own or {}).items():
        rows[chosen.index(agent)] = torch.tensor(row)
    other = {edge: torch.tensor(row) for edge, row in (edges or {}).items()}
    return Received(chosen, rows, said, other)


@st.composite
def situations(draw: st.DrawFn, least: int = 1) -> tuple[AgentGraph, LatticeParameters, Received]:
    """A graph, its arithmetic, and models with ties, extremes, lies on edges, other own models."""
    fitting = [g for g in GRAPHS if min(map(g.degree, range(g.agents))) + 1 >= least]
    graph = draw(st.sampled_from(fitting))
    d = draw(st.integers(1, 3))
    parameters = parameters_of(graph, d, draw(st.sampled_from(PRECISIONS)))
    top = parameters.model_limit - 1
    entry = st.integers(-3, 3) | st.integers(-top, top) | st.sampled_from([top, -top])
    vector = st.lists(entry, min_size=d, max_size=d)
    models = draw(st.lists(vector, min_size=graph.agents, max_size=graph.agents))
    edges = draw(st.dictionaries(st.sampled_from(graph.directed_edges), vector, max_size=3))
    agents = draw(st.permutations(range(graph.agents)))[: draw(st.integers(1, graph.agents))]
    own = draw(st.dictionaries(st.sampled_from(agents), vector, max_size=1))
    return graph, parameters, received(models, agents=agents, own=own, edges=edges)


def screened_rows(graph: AgentGraph, seen: Received, position: int, own: bool) -> np.ndarray:
    """The models that a receiver screens, one a row, by a plain loop."""
    receiver = seen.agents[position]
    rows = []
    for agent in range(graph.agents):
        if agent == receiver and own:
            rows.append(seen.own[position])
        elif agent in graph.neighbours(receiver):
            rows.append(seen.edges.get((agent, receiver), seen.said[agent]))
    return torch.stack(rows).numpy()
