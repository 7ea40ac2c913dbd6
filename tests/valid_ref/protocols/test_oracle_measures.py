"""What an oracle computes once for everybody equals the definition."""

from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import support
from valid_ref.execution import execute
from valid_ref.graph import AgentGraph
from valid_ref.oracle.header import layouts
from valid_ref.protocols.broadcast import Tag, ValidatedBroadcast, news
from valid_ref.protocols.global_validate import is_estimate, statistics
from valid_ref.protocols.local_validate import is_report
from valid_ref.protocols.measures import Fast, Plain
from valid_ref.protocols.measures import is_estimate as is_wide_estimate
from valid_ref.protocols.parameters import CheckedKeys
from valid_ref.protocols.remembered import ESTIMATES, REPORTS, Remembered, Replayed
from valid_ref.protocols.valid import Valid
from valid_ref.reading import Reading
from valid_ref.scenario import prepare
from valid_ref.testing.strategies import adversarial_scenarios
from valid_ref.wide import WideIntegers

PATH = AgentGraph.from_edges(4, [(0, 1), (1, 2), (2, 3), (0, 3)])


def oracle_measures(parameters) -> Replayed:
    return Replayed(parameters)


def in_limbs(parameters, values) -> WideIntegers:
    """With a limb to spare, for values that are too large."""
    limbs = layouts(parameters)["estimates"].row[1] + 1
    return WideIntegers(WideIntegers.of(values).in_limbs(limbs))


OBJECTS = [None, (1, 2), (1, 3), 10**6, "x", [1]]
EQUAL = [(number, 2) for number in (1, 1)]
"""Equal to an object of these, and another object each."""


@pytest.mark.checks("VB-9")
@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_what_is_new_in_a_message_is_the_same_for_an_oracle(data) -> None:
    """Also with null, unknown tags, equal objects that are not the same, and any order."""
    parameters = support.network(PATH)
    measures = oracle_measures(parameters)
    machine = Valid(parameters, measures).stages[2].machine
    assert isinstance(machine, ValidatedBroadcast)
    tags = [*machine.tags, "unknown", (0, 0), (9, 1)]
    entries = st.dictionaries(st.sampled_from(tags), st.sampled_from([*OBJECTS, *EQUAL]))
    for message, held in data.draw(st.lists(st.tuples(entries, entries), min_size=1, max_size=3)):
        for _again in range(2):
            unknown, found = measures.news(machine, message, held)
            wanted = news(machine, message, held)
            assert (unknown, [(tag, id(value)) for tag, value in found]) == (
                wanted[0],
                [(tag, id(value)) for tag, value in wanted[1]],
            )


@pytest.mark.checks("LV-7", "LV-8", "LV-9", "LV-10", "LV-11")
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_hash_alarms_of_an_oracle_are_those_of_the_definition(data) -> None:
    """With reports that differ, are missing, or are about the agent itself; one memory for all."""
    without = data.draw(st.sampled_from([(), ("P07",), ("P08",), ("P13",), ("P15",)]))
    parameters = support.network(
        PATH,
        checked_keys=data.draw(st.sampled_from(CheckedKeys)),
        reading=Reading.without(*without),
    )
    measures, plain = oracle_measures(parameters), Plain(parameters)
    execution = support.run(parameters)
    reports: dict[Tag, object] = {}
    for spoken in execution.rounds:
        if spoken.phase == "LocalValidate.hashes" and spoken.number == 1:
            for message in spoken.said.values():
                assert isinstance(message, Mapping)
                reports |= message
    for _agent in range(3):
        agent, held = data.draw(st.integers(0, 3)), dict(reports)
        for tag in data.draw(st.lists(st.sampled_from(sorted(reports)), max_size=3)):
            place, shift = data.draw(st.integers(0, 15)), data.draw(st.integers(0, 2))
            old = reports[tag]
            new = (*old[:place], (old[place] + shift) % parameters.field.prime, *old[place + 1 :])
            held[tag] = measures.one(REPORTS, new)
        for tag in data.draw(st.lists(st.sampled_from(sorted(reports)), max_size=2)):
            held.pop(tag, None)
        own = reports[parameters.graph.neighbours(agent)[0], agent]
        assert measures.hash_alarms(agent, held, own) == plain.hash_alarms(agent, held, own)


@pytest.mark.checks("GV-2", "GV-3", "GV-5", "GV-6", "LV-2")
@settings(max_examples=20, deadline=None)
@given(scenario=adversarial_scenarios())
def test_estimates_of_an_oracle_are_those_of_the_definition(scenario) -> None:
    prepared = prepare(scenario)
    parameters = prepared.parameters
    done = execute(
        parameters, prepared.private, byzantine=prepared.byzantine, adversary=prepared.adversary
    )
    measures, plain = oracle_measures(parameters), Plain(parameters)
    found, wanted = [], []
    for state in done.states.values():
        for sender, sent in state.memory.fixed_transcripts.received.items():
            assert measures.norms(sender, sent) == plain.norms(sender, sent)
            found.append(measures.estimate(sent))
            wanted.append(plain.estimate(sent))
            assert found[-1] == wanted[-1] == tuple(found[-1])
            assert str(found[-1])[:90] == str(wanted[-1])[:90]
            assert measures.is_estimate(found[-1])
    for index in range(len(parameters.weightings)):
        expected = statistics(parameters, index, wanted)
        assert expected == Fast(parameters).statistics(index, found)
        assert expected == Fast(parameters).statistics(index, [*map(tuple, found)])


@pytest.mark.checks("GV-3")
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_the_form_of_an_estimate_in_limbs_is_the_form_of_an_estimate(data) -> None:
    parameters = support.network(PATH)
    d, largest = parameters.lattice.dimension, parameters.lattice.gradient_limit
    total = sum(parameters.weightings[0].weights)
    edge = st.sampled_from([0, 1, -1, total * largest, -total * largest, 2**63, -(2**63)])
    entry = st.builds(lambda a, b: a + b, edge, st.integers(-1, 1))
    size = len(parameters.weightings) * d + data.draw(st.sampled_from([0, 0, 0, 1, -1]))
    value = tuple(data.draw(st.lists(entry, min_size=size, max_size=size)))
    wide = in_limbs(parameters, value)
    wanted = is_estimate(parameters, value)
    assert is_wide_estimate(parameters, wide) == is_estimate(parameters, wide) == wanted
    assert is_wide_estimate(parameters, value) == wanted


@pytest.mark.checks("LV-6", "GV-3")
@pytest.mark.parametrize("kind", [Remembered, oracle_measures])
def test_no_cache_lets_a_value_of_one_form_serve_as_another(kind) -> None:
    """Both forms are asked for the same object, in both orders."""
    parameters = support.network(PATH)
    report = (1,) * (4 * parameters.graph.agents)
    estimate = (0,) * (len(parameters.weightings) * parameters.lattice.dimension)
    assert len(report) != len(estimate)
    own = in_limbs(parameters, estimate) if kind is oracle_measures else estimate
    for value in (report, own):
        for first in ("is_report", "is_estimate"):
            measures = kind(parameters)
            second = {"is_report": "is_estimate", "is_estimate": "is_report"}[first]
            getattr(measures, first)(value)
            wanted = value is report if second == "is_report" else value is own
            assert getattr(measures, second)(value) == wanted
    assert is_report(parameters, report)


def test_equal_values_of_two_forms_stay_two_objects() -> None:
    measures = Remembered(support.network(PATH))
    first, second = ((1, big) for big in (10**20, 10**20))
    assert measures.one(REPORTS, first) is first
    assert measures.one(ESTIMATES, second) is second
