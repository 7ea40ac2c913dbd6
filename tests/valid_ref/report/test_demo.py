"""The demo: learning that can be seen, an attack that harms, checks that see it, and the tour."""

import pytest

from valid_ref.report.demo import CHEAT, demo_scenarios, demo_view, harm_view
from valid_ref.runs import run
from valid_ref.trace import load_specification

PARTS = {"", "network", "rounds", "learning", "harm", "checks", "alarms", "outcome"}


@pytest.fixture(scope="module")
def runs():
    return tuple(run(scenario) for scenario in demo_scenarios(200))


def test_the_honest_run_learns_a_hundredfold_and_well_below_the_criterion(runs) -> None:
    _attacked, honest = runs
    course = honest.history.squared_distances.mean(axis=1)
    start = float((honest.history.optimum**2).sum())
    assert honest.outcome == "a"
    assert course[0] / course[-1] > 100
    assert honest.prepared.eps_success < start / 100
    assert honest.prepared.eps_success < course[0] / 100
    assert course[-1] < honest.prepared.eps_success / 2


def test_the_attack_harms_without_validation_and_is_caught_with_it(runs) -> None:
    attacked, honest = runs
    harm = harm_view(attacked, honest)
    assert harm.attacked[-1] > 10 * harm.honest[-1]
    assert harm.attacked[-1] > harm.criterion > harm.honest[-1]
    assert [side.tone for side in harm.sides] == ["bad", "good"]
    assert "It is missed, and nobody knows" in harm.sides[0].text
    assert attacked.outcome == "c"
    assert harm.sides[0].ends == harm.sides[1].ends
    ends = {end.agent: end.model for end in harm.sides[0].ends}
    assert set(ends) == set(range(8)) - {CHEAT}
    mean = sum((model - harm.optimum) ** 2 for model in ends.values()) / 7
    assert mean == pytest.approx(harm.attacked[-1], rel=1e-3)


def test_the_tour_says_what_the_run_says(runs) -> None:
    attacked, honest = runs
    view = demo_view(attacked, honest, load_specification())
    shown = view.runs[0]
    text = " ".join(line for step in view.tour for line in step.text)
    for phase in ("learning", "keys", "hashes", "estimates", "agreement"):
        assert any(phase in step.title for step in view.tour)
    for name in "abc":
        assert f"Outcome {name}:" in text
    assert {step.part for step in view.tour} <= PARTS
    assert all(0 <= step.index < view.runs[step.run].total_rounds for step in view.tour)
    lie = next(step for step in view.tour if step.title == "The lie")
    told = {edge.receiver: edge.message for edge in shown.rounds[lie.index].edges}
    for message in set(told.values()):
        assert shown.messages[message].word in lie.text[0]
    who = next(step for step in view.tour if "Who notices" in step.title)
    noticed = {alarm.agent for alarm in shown.alarms if alarm.reason == "INCONSISTENT_HASHES"}
    assert who.agent in noticed
    assert "agents 0 and 3 report A and agent 1 reports B" in who.text[0]
    assert view.tour[-1].text[0].startswith("Outcome c")


@pytest.mark.parametrize("rounds", [1, 2])
def test_a_short_demo_has_a_tour_too(rounds: int) -> None:
    attacked, honest = demo_scenarios(rounds)
    view = demo_view(run(attacked), run(honest), load_specification())
    assert len(view.tour) > 8
    assert all(step.text for step in view.tour)
