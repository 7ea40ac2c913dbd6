"""Sometimes: every outcome and every alarm is reached by what the strategies generate."""

from collections.abc import Sequence

import pytest

from valid_ref.alarms import Alarm
from valid_ref.guarantees.outcome import Outcome
from valid_ref.runs import run
from valid_ref.testing.coverage import (
    GOALS,
    ReachedGoal,
    coverage,
    generate,
    missing,
    reached,
    sweep,
)


@pytest.fixture(scope="module")
def table() -> Sequence[ReachedGoal]:
    return coverage(sweep())


@pytest.mark.checks("VA-5", "MO-7")
def test_every_outcome_and_every_alarm_is_reached(table: Sequence[ReachedGoal]) -> None:
    assert missing(table) == (), "\n".join(map(str, table))
    assert [row.goal for row in table] == [Outcome.A, Outcome.B, Outcome.C, *Alarm] == list(GOALS)


def test_the_scenarios_of_the_table_reach_what_it_says(table: Sequence[ReachedGoal]) -> None:
    for row in table:
        assert row.scenario is not None
        assert row.goal in reached(run(row.scenario)), row
        assert row.name in str(row)
        assert "never" not in str(row)


def test_the_sweep_is_the_same_every_time() -> None:
    assert generate(honest=False, count=10) == generate(honest=False, count=10)


def test_a_goal_that_is_never_reached_is_missing() -> None:
    table = coverage(generate(honest=True, count=2))
    assert missing(table)[:2] == ("outcome b", "outcome c")
    assert "never" in str(table[1])
