"""Small rounds for attacks to look at, and plain readings of what they did."""

from collections.abc import Mapping

import numpy as np
import torch
from hypothesis import strategies as st

from torch_backend.attacks.attack import Edge, LearningDeviation, LearningView
from valid_ref.coins import Coins
from valid_ref.graph import AgentGraph
from valid_ref.graph_families import parse_family
from valid_ref.lattice import default_limits
from valid_ref.schedule import Precision, Schedule

GRAPHS = tuple(parse_family(name) for name in ("complete:4", "cycle:5", "star:5", "path:4"))


def view_of(
    graph: AgentGraph,
    byzantine: tuple[int, ...],
    models: list[list[int]],
    *,
    t: int = 1,
    seed: int = 0,
    precision: Precision | None = None,
    previous_edges: Mapping[Edge, list[int]] | None = None,
) -> LearningView:
    """A view in which previous models are half the new ones, and Y and Gamma fit them."""
    precision = Precision(6, 4) if precision is None else precision
    k = precision.step_bits
    schedule = Schedule(precision, tuple(range(1, 6)), tuple(range(1, 6)))
    parameters = default_limits(len(models[0]), schedule, graph.max_degree)
    now = torch.tensor(models, dtype=torch.int64)
    previous = now // 2
    rows = [list(graph.neighbours(v)) for v in range(graph.agents)]
    sums = torch.stack(
        [previous[near].sum(0) - len(near) * previous[v] for v, near in enumerate(rows)]
    )
    mixed = (previous << k) + schedule.a(t) * sums
    told = {edge: torch.tensor(row) for edge, row in (previous_edges or {}).items()}
    return LearningView(
        t=t,
        graph=graph,
        byzantine=byzantine,
        parameters=parameters,
        coins=Coins.of_seed(seed),
        previous=previous,
        mixed=mixed,
        models=now,
        gammas=mixed - (now << k),
        previous_edges=told,
    )


@st.composite
def views(draw: st.DrawFn, *, extreme: bool = True) -> LearningView:
    """Any small round, with equal models, models at the ends of the range, and earlier lies."""
    graph = draw(st.sampled_from(GRAPHS))
    count = draw(st.integers(1, graph.agents - 2))
    byzantine = tuple(sorted(draw(st.permutations(range(graph.agents)))[:count]))
    d = draw(st.integers(1, 3))
    precision = draw(st.sampled_from([Precision(6, 4), Precision(), Precision(2, 0)]))
    empty = view_of(graph, byzantine, [[0] * d] * graph.agents, precision=precision)
    top = empty.parameters.model_limit - 1 if extreme else 2**20
    entry = st.integers(-4, 4) | st.integers(-top, top)
    vector = st.lists(entry, min_size=d, max_size=d)
    models = draw(st.lists(vector, min_size=graph.agents, max_size=graph.agents))
    edges = [(b, u) for b in byzantine for u in graph.neighbours(b)]
    told = draw(st.dictionaries(st.sampled_from(edges), vector, max_size=2))
    return view_of(
        graph,
        byzantine,
        models,
        t=draw(st.integers(1, 5)),
        seed=draw(st.integers(0, 9)),
        precision=precision,
        previous_edges=told,
    )


def told(
    view: LearningView, deviation: LearningDeviation
) -> dict[Edge, tuple[np.ndarray, np.ndarray]]:
    """The model and Gamma on every edge that leaves a Byzantine agent."""
    found = {}
    for b in view.byzantine:
        for u in view.graph.neighbours(b):
            pair = deviation.edges.get((b, u), deviation.said.get(b))
            pair = (view.models[b], view.gammas[b]) if pair is None else pair
            found[b, u] = (pair[0].numpy(), pair[1].numpy())
    return found


def rounded(view: LearningView, values: np.ndarray) -> np.ndarray:
    """Real numbers in lattice units as a model in range."""
    limit = view.parameters.model_limit - 1
    return np.array([max(-limit, min(limit, round(float(value)))) for value in values])


def fitting_gamma(view: LearningView, edge: Edge, model: np.ndarray) -> np.ndarray:
    """Y - 2^k x with Y from what the receiver was told before, by Python's integers."""
    b, u = edge
    a, scale = view.parameters.schedule.a(view.t), 1 << view.parameters.precision.step_bits
    own = view.previous_edges.get((b, u), view.previous[b]).tolist()
    result = []
    for entry, x in enumerate(own):
        pull = sum(int(view.previous[w][entry]) - x for w in view.graph.neighbours(b))
        result.append(scale * x + a * pull - scale * int(model[entry]))
    return np.array(result)
