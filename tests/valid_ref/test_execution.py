"""The record of a run: who ends how, and what every agent sent, against the formulas."""

import numpy as np
import pytest

from tests.support import edited, network, quietly, run, silence, weighting
from valid_ref.execution import Cost, Execution, execute
from valid_ref.graph import AgentGraph
from valid_ref.graph_families import (
    complete,
    connected_graphs,
    cycle,
    paper_graph,
    path,
    star,
    two_cliques,
)
from valid_ref.protocols.learn import LearningMessage
from valid_ref.protocols.valid import ESTIMATES, HASHES, KEYS, Valid
from valid_ref.reading import Reading

LEARN, AGREEMENT = "LearnModel", "ValidationStateAgreement"


def formulas(graph: AgentGraph, v: int, d: int, T: int, weightings: int = 1) -> dict[str, int]:
    """LM-7, LV-12, GV-10, SA-5, with the exception of VB-10 for the two ends of a path."""
    n, edges, degree = graph.agents, graph.edge_count, graph.degree(v)
    far = [u for u in range(n) if graph.distance(v, u) == n - 1]
    estimate = d * weightings
    return {
        "learn": 2 * d * T * degree,
        "local": 2 * degree * (8 * edges * n + n)
        - degree * sum(1 + 4 * n * graph.degree(u) for u in far),
        "global": 4 * degree * edges * estimate - degree * estimate * sum(map(graph.degree, far)),
        "agreement": (n - 1) * degree,
    }


def measured(execution: Execution, v: int) -> dict[str, int]:
    costs = execution.costs()
    assert set(costs) == {LEARN, KEYS, HASHES, ESTIMATES, AGREEMENT}
    return {
        "learn": costs[LEARN][v].scalars,
        "local": costs[KEYS][v].scalars + costs[HASHES][v].scalars,
        "global": costs[ESTIMATES][v].scalars,
        "agreement": costs[AGREEMENT][v].scalars,
    }


SMALL = [graph for n in (2, 3, 4, 5) for graph in connected_graphs(n)]
LARGER = [path(7), cycle(6), star(6), complete(6), two_cliques(3)]


@pytest.mark.checks("VA-4", "LM-7", "LV-12", "GV-10", "SA-5", "VB-10", "VA-3", "GV-12")
@pytest.mark.witness("P22")
@pytest.mark.parametrize("graph", [*SMALL, *LARGER], ids=lambda graph: f"n{graph.agents}")
def test_every_agent_sends_what_the_formulas_say(graph: AgentGraph) -> None:
    d, T = 1 + graph.agents % 3, 1 + graph.edge_count % 2
    many = (weighting((1,) * T),) * (1 + graph.edge_count % 3)
    execution = run(network(graph, d=d, T=T, weightings=many))
    n = graph.agents
    for v in range(n):
        assert measured(execution, v) == formulas(graph, v, d, T, len(many))
        for phase, costs in execution.costs().items():
            rounds = {LEARN: T, AGREEMENT: n - 1}.get(phase, n)
            assert (costs[v].rounds, costs[v].messages) == (rounds, rounds * graph.degree(v))


@pytest.mark.checks("VA-4", "VA-3")
def test_the_figures_of_the_experiment() -> None:
    graph, T = paper_graph(), 400
    assert (graph.agents, graph.edge_count, graph.degree(0)) == (20, 92, 9)
    assert list(formulas(graph, 0, 109386, T).values()) == [787579200, 265320, 362286432, 171]
    assert Valid(network(graph, d=1, T=T)).rounds == 479


def local_when_sent_again(n: int) -> int:
    """On the complete graph: one's own values once, then all values in n-1 rounds."""
    own, everything = 1 + 4 * n * (n - 1), n + 4 * n * n * (n - 1)
    return (n - 1) * (own + (n - 1) * everything)


@pytest.mark.checks("LV-12", "VB-4")
@pytest.mark.witness("P22")
def test_sending_held_values_again_in_every_round_costs_much_more() -> None:
    """Scalars of LocalValidate over |E|^2: 146, 305, 624 on K10, K20, K40; sent once about 32."""
    graph = complete(5)
    once = run(network(graph, d=1, T=1))
    again = run(network(graph, d=1, T=1, reading=Reading.without("P22")))
    for v in range(5):
        left, right = once.states[v].memory, again.states[v].memory
        assert (left.alarms, left.keys, left.invalid) == (right.alarms, right.keys, right.invalid)
        assert measured(again, v)["local"] == local_when_sent_again(5)
        assert measured(again, v)["learn"] == measured(once, v)["learn"]
    sizes = [(n, (n * (n - 1) // 2) ** 2) for n in (10, 20, 40)]
    assert [local_when_sent_again(n) // square for n, square in sizes] == [146, 305, 624]
    sent_once = [formulas(complete(n), 0, 1, 1)["local"] / square for n, square in sizes]
    assert [round(ratio) for ratio in sent_once] == [32, 32, 32]


@pytest.mark.checks("VA-4")
def test_costs_count_what_was_really_said_on_every_edge() -> None:
    """Agent 0 of a triangle: silent to 1, and five numbers to 2, in round 1 of learning."""
    parameters = network(complete(3), d=2, T=2)
    five = LearningMessage(np.zeros(2, np.int64), np.zeros(3, np.int64))

    def adversary(view):
        return {(0, 1): None, (0, 2): five} if view.phase == LEARN and view.round == 1 else {}

    costs = run(parameters, adversary, byzantine=[0]).costs()[LEARN]
    assert costs == (Cost(2, 3, 5 + 8), Cost(2, 4, 16), Cost(2, 4, 16))
    mute = run(parameters, edited(LEARN, silence), byzantine=[0]).costs()[LEARN]
    assert mute[0] == Cost(2, 0, 0)


@pytest.mark.checks("VA-4", "AR-14", "LM-7")
def test_an_agent_that_fell_silent_sent_less() -> None:
    from tests.support import privates
    from valid_ref.protocols.valid import Private

    parameters = network(path(2), d=1, T=3)
    private = privates(parameters)
    private[0] = Private(lambda t, point: point if t < 2 else point + np.nan, 3)
    execution = run(parameters, private=private)
    assert execution.costs()[LEARN] == (Cost(3, 1, 2), Cost(3, 3, 6))


@pytest.mark.checks("VA-2", "AD-1")
def test_honest_valid_and_output_leave_byzantine_agents_out() -> None:
    execution = run(network(path(3)), quietly(), byzantine=[1])
    assert execution.honest == (0, 2)
    assert execution.honest_valid == (0, 2)
    split = run(network(path(4)), edited(AGREEMENT, lambda _said: True, rounds=[3]), byzantine=[0])
    assert split.honest_valid == (2, 3)
    assert split.output(1) is None
    final = split.states[3].memory.fixed_transcripts.own[-1].model
    assert split.output(3) is final


@pytest.mark.checks("VA-1", "MO-5")
def test_running_again_gives_the_same_record_and_watching_changes_nothing() -> None:
    from tests.support import privates, same_message

    parameters = network(cycle(4))
    seen: list[int] = []
    left = execute(parameters, privates(parameters), watch=seen.append)
    right = execute(parameters, privates(parameters))
    assert seen == list(range(1, Valid(parameters).rounds + 1))
    for one, other in zip(left.rounds, right.rounds, strict=True):
        assert (one.phase, one.number) == (other.phase, other.number)
        assert all(same_message(one.said[v], other.said[v]) for v in range(4))
