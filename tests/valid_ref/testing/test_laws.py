"""The main claim: whatever the adversary does, an admissible model or an alarm.

In the corrected, relaxed sense; p = 2^61 - 1, so that a lie escapes the hashes of a run with
probability at most ((dT-1)/p)^|H| < 10^-17.
"""

import attrs
import pytest
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis import strategies as st

from valid_ref.adversary.reports import LoneVictim
from valid_ref.graph_families import complete, path
from valid_ref.guarantees.outcome import Outcome
from valid_ref.runs import run
from valid_ref.scenario import Scenario
from valid_ref.testing.laws import broken_promises
from valid_ref.testing.strategies import adversarial_scenarios, scenarios


@pytest.mark.checks("L1", "V1", "S3", "VA-2", "GU-9")
@given(scenarios())
@settings(max_examples=60)
def test_without_an_adversary_everybody_ends_valid(scenario: Scenario) -> None:
    finished = run(scenario)
    assert broken_promises(finished) == ()
    assert finished.judgement.outcome is Outcome.A


@pytest.mark.checks("VA-5", "AN-9", "L2", "L3", "S2", "MO-8", "VB-9")
@given(adversarial_scenarios())
@settings(max_examples=150)
def test_with_an_adversary_a_model_that_the_checks_certify_or_an_alarm(scenario: Scenario) -> None:
    assert broken_promises(run(scenario)) == ()


@pytest.mark.deep
@pytest.mark.checks("VA-5", "AN-9", "L2", "L3", "S2")
@given(adversarial_scenarios(max_agents=7, max_rounds=4, max_dimension=3))
@settings(max_examples=5000)
def test_with_an_adversary_on_larger_networks(scenario: Scenario) -> None:
    assert broken_promises(run(scenario)) == ()


@st.composite
def lone_victims(draw: st.DrawFn) -> Scenario:
    """One honest agent, of whom all the others report that it did as they did."""
    graph, byzantine = draw(st.sampled_from([(path(2), (1,)), (complete(3), (1, 2))]))
    peaceful = draw(scenarios(graph, max_rounds=2, max_dimension=1))
    attack = LoneVictim(target=draw(st.sampled_from([0.0, 0.25, 0.5, 1.0])))
    return attrs.evolve(peaceful, byzantine=byzantine, attack=attack)


ATTACKED = {
    "P04": adversarial_scenarios(max_agents=4, max_rounds=2, max_dimension=1),
    "P07": lone_victims(),
}


def smallest_failure(erratum: str, phases: list[Phase]) -> Scenario:
    """A scenario that breaks a promise when one repair is turned off."""

    def fails(scenario: Scenario) -> bool:
        return broken_promises(run(scenario)) != ()

    broken = ATTACKED[erratum].map(lambda scenario: attrs.evolve(scenario, without=(erratum,)))
    search = settings(
        max_examples=1500,
        database=None,
        derandomize=True,
        deadline=None,
        phases=phases,
        suppress_health_check=list(HealthCheck),
    )
    return find(broken, fails, settings=search)


@pytest.mark.checks("L2", "LV-9", "GV-4")
@given(lone_victims())
@settings(max_examples=20)
def test_a_lone_honest_agent_is_not_drawn_away(scenario: Scenario) -> None:
    assert broken_promises(run(scenario)) == ()


@pytest.mark.parametrize("erratum", ["P04", "P07"])
def test_without_a_repair_the_claim_fails(erratum: str) -> None:
    """The property can fail: `find` raises where nothing is found."""
    assert smallest_failure(erratum, [Phase.generate]).without == (erratum,)


@pytest.mark.deep
@pytest.mark.parametrize(("erratum", "agents"), [("P04", 3), ("P07", 2)])
def test_without_a_repair_the_claim_fails_on_a_small_network(erratum: str, agents: int) -> None:
    found = smallest_failure(erratum, [Phase.generate, Phase.shrink])
    assert found.graph.agents <= agents
