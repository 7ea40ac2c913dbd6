"""Hidden Byzantine agents: everybody valid without consensus under Assumption 1 alone (P06)."""

import attrs
import numpy as np
import pytest

from tests.support import learned
from valid_ref.adversary.attack import AttackError
from valid_ref.adversary.hidden import HiddenHashes, HiddenTranscripts
from valid_ref.graph import assumption_1, assumption_1_plus
from valid_ref.guarantees.local import broken_relations, equivocations
from valid_ref.guarantees.outcome import final_models
from valid_ref.runs import Run, run
from valid_ref.scenario import Scenario, parts

PATH = Scenario(
    graph=parts.Family("path:6"),
    loss=parts.Quadratics((parts.QuadraticAgent(((1.0,),), (0.0,)),) * 6),
    schedule=parts.Diminishing(a=0.5, t0=0.0, e0=0.25),
    bounds=parts.ConfiguredBounds(4.0, 8.0),
    checks=(parts.Check("t", parts.Polynomial(), parts.ConfiguredThresholds(0.05, 1.0)),),
    byzantine=(0, 1, 4, 5),
    delta=1.0,
    eps_success=0.1,
    seed=0,
)
"""w1-v1-h1-h2-v2-w2; every loss is x^2/2, so the optimum is 0 whatever the weights."""

GROWTH = {50: 82, 200: 363, 800: 1526, 3200: 6250, 12800: 25299}
ATTACKS = [HiddenHashes(), HiddenTranscripts()]


def apart(finished: Run) -> float:
    """T sum_h |x_h - mean|^2 over the honest agents."""
    execution = finished.execution
    models = np.array(final_models(execution, execution.honest_valid))
    return finished.scenario.rounds * float(((models - models.mean(axis=0)) ** 2).sum())


def check(T: int, attack) -> None:
    finished = run(attrs.evolve(PATH, rounds=T, attack=attack))
    execution, graph = finished.execution, finished.prepared.parameters.graph
    assert execution.honest_valid == (2, 3)
    assert all(execution.states[v].memory.alarms == () for v in (2, 3))
    assert finished.outcome == "failed"
    assert abs(apart(finished) - GROWTH[T]) < 1
    assert assumption_1(graph, PATH.byzantine)
    assert not assumption_1_plus(graph, PATH.byzantine)
    assert any("without an honest neighbour: [0, 5]" in note for note in finished.prepared.notes)
    assert equivocations(execution) == ()
    assert broken_relations(execution) == ()


@pytest.mark.witness("P06")
@pytest.mark.checks("AD-6", "AD-9")
@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.kind)
@pytest.mark.parametrize("T", [50, 200])
def test_hidden_agents_keep_honest_ones_apart(T: int, attack) -> None:
    check(T, attack)


@pytest.mark.deep
@pytest.mark.witness("P06")
@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.kind)
@pytest.mark.parametrize("T", [800, 3200, 12800])
def test_hidden_agents_keep_honest_ones_apart_for_as_long_as_they_like(T: int, attack) -> None:
    check(T, attack)


@pytest.mark.witness("P06")
def test_the_hidden_transcripts_are_real_and_older_than_the_keys() -> None:
    """Every Byzantine message fits; the hashes are those of honest code; only estimates lie."""
    finished = run(attrs.evolve(PATH, rounds=20, attack=HiddenTranscripts()))
    deviating = {
        s.phase
        for s in finished.execution.rounds
        for e, m in s.deviations.items()
        if s.phase != "LearnModel" and m != s.said[e[0]]
    }
    assert deviating == {"GlobalValidate", "ValidationStateAgreement"}
    lattice = finished.prepared.parameters.lattice
    front = [learned(s, 1, 2).scaled_gradient for s in finished.execution.rounds[:20]]
    assert all(abs(int(gamma[0])) < max(lattice.schedule.mixing) for gamma in front)


@pytest.mark.checks("AD-6", "AD-7")
@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.kind)
@pytest.mark.parametrize(
    ("edges", "byzantine"),
    [
        (((0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (0, 2), (3, 5)), (0, 1, 4, 5)),
        (((0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (0, 4)), (0, 1, 4)),
    ],
)
def test_with_an_honest_neighbour_each_or_a_shared_hidden_one_it_is_refused(
    attack, edges, byzantine
) -> None:
    """The second is the cycle: agent 0 is hidden, but it would have to serve two fronts."""
    graph = parts.Edges(6, edges)
    with pytest.raises(AttackError, match="hidden neighbour of its own"):
        run(attrs.evolve(PATH, graph=graph, byzantine=byzantine, rounds=4, attack=attack))


@pytest.mark.witness("P06")
@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.kind)
def test_more_than_one_hidden_agent_and_more_than_one_dimension(attack) -> None:
    """w0-w1-v2-h3-h4: w1 hides behind v2, w0 behind w1; d = 2, two weightings."""
    scenario = attrs.evolve(
        PATH,
        graph=parts.Family("path:5"),
        byzantine=(0, 1, 2),
        rounds=40,
        attack=attack,
        loss=parts.Quadratics((parts.QuadraticAgent(((1.0, 0.0), (0.0, 2.0)), (0.0, 0.0)),) * 5),
        bounds=parts.ConfiguredBounds(10.0, 20.0),
        checks=(*PATH.checks, parts.Check("g", parts.Exponential(0.9), PATH.checks[0].thresholds)),
    )
    finished = run(attrs.evolve(scenario, attack=attrs.evolve(attack, size=1.0)))
    assert finished.execution.honest_valid == (3, 4)
    assert min(final_models(finished.execution, (3,))[0]) > 0.4
