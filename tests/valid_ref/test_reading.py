"""Readings: every repair can be turned off alone, and each one that a run can show, shows."""

import attrs
import pytest

from tests.support import all_alarms, edited, network, run
from valid_ref.alarms import Alarm
from valid_ref.execution import Execution
from valid_ref.graph_families import complete, cycle, path
from valid_ref.protocols.valid import KEYS, Valid
from valid_ref.reading import Reading, ReadingError

SWITCHES = Reading.switches()


@pytest.mark.checks("VA-7")
@pytest.mark.parametrize("erratum", SWITCHES)
def test_each_repair_can_be_turned_off_alone(erratum: str) -> None:
    reading = Reading.without(erratum)
    assert reading.turned_off == (erratum,)
    others = [name for name in SWITCHES if name != erratum]
    assert all(getattr(reading, name) for name in others)
    assert Reading.without(*others).turned_off == tuple(others)


@pytest.mark.checks("VA-7")
def test_all_on_is_the_default_and_all_off_is_as_printed() -> None:
    assert Reading() == Reading.repaired() == Reading.without()
    assert Reading().turned_off == ()
    assert Reading.as_printed().turned_off == SWITCHES
    assert len(set(SWITCHES)) == len(SWITCHES) > 0
    assert all(isinstance(getattr(Reading(), name), bool) for name in SWITCHES)
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        Reading().P07 = False


@pytest.mark.checks("VA-7")
@pytest.mark.parametrize("name", ["P02", "p07", "A01", "", "turned_off"])
def test_a_switch_that_does_not_exist_is_refused(name: str) -> None:
    with pytest.raises(ReadingError, match=rf"no switch {name}; there are P01, .*VA-7"):
        Reading.without("P07", name)


def summary(execution: Execution) -> tuple:
    """Everything in which two readings can differ in a run."""
    costs = execution.costs()
    sent = {phase: tuple(cost.scalars for cost in costs[phase]) for phase in costs}
    raised = {v: state.memory.alarms for v, state in execution.states.items()}
    return [spoken.phase for spoken in execution.rounds], sent, raised, execution.honest_valid


@pytest.mark.checks("VA-7")
@pytest.mark.parametrize("erratum", ["P01", "P05", "P09", "P11", "P13", "P14", "P15", "P17", "P22"])
def test_these_repairs_show_in_an_honest_run(erratum: str) -> None:
    graph = path(3) if erratum == "P01" else complete(4)
    usual, printed = run(network(graph)), run(network(graph, reading=Reading.without(erratum)))
    assert summary(usual) != summary(printed)


@pytest.mark.checks("VA-7")
@pytest.mark.parametrize("erratum", ["P04", "P07", "P08", "P06", "P20", "P24"])
def test_these_repairs_change_no_honest_run(erratum: str) -> None:
    """They show under attack, in the arithmetic, in the weights, or in what is asked of B."""
    usual = run(network(cycle(5)))
    assert summary(usual) == summary(run(network(cycle(5), reading=Reading.without(erratum))))


@pytest.mark.checks("VA-7")
@pytest.mark.parametrize("graph", [path(2), path(3), cycle(5), complete(4)], ids=str)
def test_the_paper_as_printed_runs_and_alarms_without_any_attack(graph) -> None:
    parameters = network(graph, reading=Reading.as_printed())
    execution = run(parameters)
    assert len(execution.rounds) == Valid(parameters).rounds
    assert all_alarms(execution) == {Alarm.BROKEN_RELATION}


@pytest.mark.checks("VA-7")
def test_the_paper_as_printed_survives_garbage_too() -> None:
    parameters = network(cycle(4), reading=Reading.as_printed())
    for word in (None, 7, {(0, "key"): True}, {(0, "key"): 2**61}):
        execution = run(parameters, edited(KEYS, lambda _said, word=word: word), byzantine=[0])
        assert len(execution.rounds) == Valid(parameters).rounds
