"""Results that are remembered are the results; validation alone is the end of the whole run."""

import gc
import math
import weakref
from collections.abc import Sequence

import attrs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import support
from valid_ref.execution import execute, validate
from valid_ref.graph import AgentGraph
from valid_ref.graph_families import cycle
from valid_ref.machine import run_machine
from valid_ref.protocols import broadcast, global_validate
from valid_ref.protocols.broadcast import ValidatedBroadcast
from valid_ref.protocols.learn import LearningMessage
from valid_ref.protocols.measures import Fast, Plain
from valid_ref.protocols.parameters import Bounds, CheckedKeys, ParameterError
from valid_ref.protocols.remembered import ESTIMATES, REPORTS, Remembered, Replayed
from valid_ref.protocols.valid import HASHES, Learned, Valid
from valid_ref.protocols.validation import ValidationInput
from valid_ref.reading import Reading
from valid_ref.scenario import prepare
from valid_ref.testing.strategies import adversarial_scenarios
from valid_ref.wide import WideIntegers

PATH = AgentGraph.from_edges(4, [(0, 1), (1, 2), (2, 3), (0, 3)])


def same_rounds(left, right) -> bool:
    return len(left) == len(right) and all(
        attrs.evolve(a, said={}, deviations={}) == attrs.evolve(b, said={}, deviations={})
        and all(support.same_message(a.said[v], b.said[v]) for v in a.said)
        for a, b in zip(left, right, strict=True)
    )


def plainly(parameters, private, **options):
    """The run of the definition: every agent computes everything itself."""
    return run_machine(parameters.graph, Valid(parameters, Plain(parameters)), private, **options)


@pytest.mark.checks("VA-1", "LV-5", "LV-7", "LV-9", "GV-2", "GV-4")
@settings(max_examples=30, deadline=None)
@given(scenario=adversarial_scenarios())
def test_remembering_changes_nothing(scenario) -> None:
    prepared = prepare(scenario)
    options = {"byzantine": prepared.byzantine, "adversary": prepared.adversary}
    shared = execute(prepared.parameters, prepared.private, **options)
    plain = plainly(prepared.parameters, prepared.private, **options)
    assert same_rounds(shared.rounds, plain.rounds)
    for agent, state in plain.states.items():
        assert shared.states[agent].memory.alarms == state.memory.alarms
        assert shared.states[agent].memory.invalid == state.memory.invalid


@pytest.mark.parametrize("keys", CheckedKeys)
@pytest.mark.parametrize("without", [(), ("P07",), ("P08",)])
@pytest.mark.parametrize("phase", ["LocalValidate.hashes", "GlobalValidate"])
def test_a_report_about_one_agent_alarms_as_defined(keys, without, phase) -> None:
    """The agent that a false report is about sees more than the others; so do key owners.

    The false value is one object for all, so that what is made of it could be shared.
    """
    made: dict[tuple, tuple] = {}
    reading = Reading.without(*without)
    parameters = support.network(PATH, checked_keys=keys, reading=reading)
    lie = support.edited(
        phase, support.revalued((0, 1), lambda v: made.setdefault(v, (v[0] ^ 1, *v[1:])))
    )
    options = {"byzantine": frozenset([0]), "adversary": lie}
    shared = execute(parameters, support.privates(parameters), **options)
    plain = plainly(parameters, support.privates(parameters), **options)
    for agent, state in plain.states.items():
        assert shared.states[agent].memory.alarms == state.memory.alarms
    assert any(state.memory.alarms for state in plain.states.values())


def test_each_transcript_is_measured_once(monkeypatch) -> None:
    calls = []
    for name in ("report", "estimate", "norms", "hash_alarms", "estimate_alarms"):
        plain = getattr(Fast, name)
        monkeypatch.setattr(
            Fast,
            name,
            lambda self, *rest, name=name, plain=plain: calls.append(name) or plain(self, *rest),
        )
    support.run(support.network(PATH))
    assert sorted(calls) == sorted(
        ["report", "estimate", "norms"] * 4 + ["hash_alarms", "estimate_alarms"]
    )


@pytest.mark.checks("GV-3", "LV-6")
@pytest.mark.parametrize("first", ["is_report", "is_estimate"])
def test_having_one_form_does_not_give_the_other(first) -> None:
    """The same objects are asked for both forms, in either order, twice."""
    light = (support.weighting((1, 0, 0)),)
    parameters = support.network(PATH, d=16, weightings=light)  # 16 numbers have either form
    report, estimate = (parameters.field.prime - 1,) * 16, (-1,) * 16
    measures, plain = Remembered(parameters), Plain(parameters)
    assert plain.is_report(report) > plain.is_estimate(report)
    assert plain.is_estimate(estimate) > plain.is_report(estimate)
    names = sorted(("is_report", "is_estimate"), key=lambda name: name != first)
    for name in (*names, *names):
        for value in (report, estimate, (0,) * 16, (0,)):
            assert getattr(measures, name)(value) is getattr(plain, name)(value), (name, value)


def test_equal_tuples_are_one_object() -> None:
    measures = Remembered(support.network(PATH))
    first, second = ((big, 1) for big in (10**20, 10**20))
    assert first is not second
    assert measures.one("reports", first) is measures.one("reports", second) is first


def a_transcript(entry: int, T: int = 3, d: int = 2) -> tuple[LearningMessage, ...]:
    vector = np.full(d, entry, dtype=np.int64)
    return tuple(LearningMessage(vector, vector) for _ in range(T))


@pytest.mark.checks("LV-6", "GV-3")
@pytest.mark.parametrize("first", ["is_report", "is_estimate"])
def test_a_value_has_the_form_of_its_phase_whatever_it_was_before(first) -> None:
    """Reports and estimates of one length: each is looked at in both phases, in either order."""
    parameters = support.network(PATH, d=16, weightings=(support.weighting((1, 0, 0)),))
    report, estimate = (parameters.field.prime - 1,) * 16, (-1,) * 16
    names = sorted(["is_report", "is_estimate"], reverse=first == "is_report")
    for value, form in ((report, "is_report"), (estimate, "is_estimate")):
        measures = Remembered(parameters)
        for name in names:
            assert getattr(measures, name)(value) == (name == form)


@pytest.mark.checks("LV-2", "LV-5")
def test_what_is_remembered_belongs_to_its_keys_and_to_its_sender() -> None:
    """One transcript object under other keys, and from two senders, as a copycat would send it."""
    parameters = support.network(PATH, bounds=Bounds((1,) * 3, (1,) * 3))
    measures, plain, said = Remembered(parameters), Plain(parameters), a_transcript(9)
    for keys in ((1, 2, 3, 4), (1, 2, 3, 5), (4, 3, 2, 1)):
        assert measures.report(keys, said) == plain.report(keys, said)
    for sender in (1, 3, 1):
        assert measures.norms(sender, said) == plain.norms(sender, said)
        assert {raised.sender for raised in measures.norms(sender, said)} == {sender}


@pytest.mark.checks("LV-7", "GV-4")
@pytest.mark.parametrize("kind", ["hash_alarms", "estimate_alarms"])
def test_equal_values_about_other_agents_are_checked_anew(kind) -> None:
    """The same two values: once both about one agent, which differ, once about two agents."""
    parameters = support.network(PATH)
    measures, plain = Remembered(parameters), Plain(parameters)
    one, other = ((entry,) * (16 if kind == "hash_alarms" else 3) for entry in (1, 2))
    for held in ({(1, 2): one, (3, 2): other}, {(0, 1): one, (2, 3): other}):
        found = getattr(measures, kind)(0, held, one)
        assert found == getattr(plain, kind)(0, held, one)
        assert bool(found) == ((3, 2) in held)


@pytest.mark.checks("LV-5", "GV-2", "GV-3")
def test_results_are_never_those_of_an_object_that_is_gone() -> None:
    """Objects that live for one call only: the next one may lie where the last one lay."""
    parameters = support.network(PATH)
    measures, plain, keys = Remembered(parameters), Plain(parameters), (1, 2, 3, 4)
    for entry in range(50):
        said = a_transcript(entry)
        assert measures.report(keys, said) == plain.report(keys, said)
        said = a_transcript(-entry)
        assert measures.estimate(said) == plain.estimate(said)
    for entry in range(50):
        good = entry % 2 == 0
        assert measures.is_report(tuple([entry if good else -1] * 16)) == good
        assert measures.is_estimate(tuple([entry if good else 10**40] * 2)) == good


@pytest.mark.checks("VA-1", "LM-5")
@settings(max_examples=20, deadline=None)
@given(scenario=adversarial_scenarios())
def test_validation_alone_is_the_end_of_the_run(scenario) -> None:
    prepared = prepare(scenario)
    parameters, T = prepared.parameters, prepared.parameters.lattice.schedule.rounds
    whole = execute(parameters, prepared.private, byzantine=prepared.byzantine)
    fixed = {
        agent: ValidationInput(
            state.memory.private.key,
            Learned(
                state.memory.fixed_transcripts,
                tuple(r for r in state.memory.alarms if r.phase == "LearnModel"),
            ),
        )
        for agent, state in whole.states.items()
    }
    if not parameters.reading.P11:
        with pytest.raises(ParameterError):
            validate(parameters, fixed)
        return
    alone = validate(parameters, fixed, byzantine=prepared.byzantine)
    assert same_rounds(alone.rounds, whole.rounds[T:])
    for agent, state in whole.states.items():
        assert alone.states[agent].memory.alarms == state.memory.alarms
        left, right = alone.output(agent), whole.output(agent)
        assert (left is None) == (right is None)
        assert left is None or (left == right).all()


@pytest.mark.checks("LV-1")
def test_validation_alone_needs_keys_that_come_after_learning() -> None:
    parameters = support.network(PATH, reading=Reading.without("P11"))
    whole = support.run(parameters)
    fixed = {
        agent: ValidationInput(state.memory.private.key, Learned(state.memory.fixed_transcripts))
        for agent, state in whole.states.items()
    }
    with pytest.raises(ParameterError, match="before learning") as refused:
        validate(parameters, fixed)
    assert refused.value.clause == "LV-1"


LIMBS = 3
wide = st.integers(-(2 ** (64 * LIMBS - 1)), 2 ** (64 * LIMBS - 1) - 1) | st.sampled_from(
    [0, -1, 2**63, -(2**63), 2**64, -(2**64), 2**127, -(2**127)]
)


def in_limbs(values: Sequence[int]) -> WideIntegers:
    return WideIntegers(WideIntegers.of(values).in_limbs(LIMBS))


@pytest.mark.checks("RE-3", "GV-3")
@given(values=st.lists(wide, min_size=1, max_size=6))
def test_integers_in_limbs_are_the_integers(values) -> None:
    found = in_limbs(values)
    assert [*found] == values == [found[i] for i in range(len(values))]
    assert found.extremes(slice(None)) == (min(values), max(values))
    assert list(found.entries(slice(None))) == values
    assert found == in_limbs(values) == WideIntegers.of(values)
    assert found == tuple(values) == found
    assert hash(found) == hash(WideIntegers.of(values)) == hash(tuple(values))
    assert repr(found) == repr(tuple(values))
    changed = [*values[:-1], values[-1] ^ 1]
    for other in (in_limbs(changed), WideIntegers.of(changed), tuple(changed), values, None):
        assert found != other


@pytest.mark.checks("GV-2", "GV-3")
@given(
    entries=st.lists(st.integers(-(2**50), 2**50), min_size=6, max_size=6),
    heavy=st.sampled_from([1, 2**40, 2**100]),
    outside=st.sampled_from([0, 1, 2, 3, 4]),
    without=st.sampled_from([(), ("P27",)]),
)
def test_estimates_in_limbs_are_the_estimates(entries, heavy, outside, without) -> None:
    """Also their form, to the last unit, with lhat (as printed) and without."""
    used, printed = (support.weighting((heavy, 0, 1)),), bool(without)
    parameters = support.network(PATH, weightings=used, reading=Reading.without(*without))
    rows = np.array(entries, dtype=np.int64).reshape(3, 2)
    said = tuple(LearningMessage(row, row) for row in rows)
    plain, measures = Plain(parameters), Replayed(parameters)
    assert measures.estimate(said) == plain.estimate(said) == tuple(plain.estimate(said))
    total, largest = heavy + 1, parameters.lattice.gradient_limit
    most = total * largest, total * math.isqrt(2 * largest**2)
    value = {
        0: (most[0], -most[0], most[1]),
        1: (most[0] + 1, 0, 0),
        2: (0, -most[0] - 1, 0),
        3: (0, 0, most[1] + 1),
        4: (0, 0, -1),
    }[outside][: 3 if printed else 2]
    good = outside == 0 or (outside > 2 and not printed)
    for form in (value, in_limbs(value), WideIntegers.of(value)):
        assert measures.is_estimate(form) == plain.is_estimate(form) == good


@pytest.mark.checks("VB-9")
@given(data=st.data())
def test_news_found_by_identities_are_the_news(data) -> None:
    """Messages in any order, with nulls and unknown tags; each is gone before the next comes."""
    parameters = support.network(cycle(12))
    measures = Replayed(parameters)
    machine = next(
        stage.machine for stage in Valid(parameters).stages if stage.machine.place(1)[0] == HASHES
    )
    assert isinstance(machine, ValidatedBroadcast)
    values = [(number,) * 48 for number in range(3)]
    tags = st.sampled_from([*machine.tags[:6], (0, 2), "unknown"])
    mappings = st.dictionaries(tags, st.sampled_from([None, *values]), max_size=6)
    held = {tag: value for tag, value in data.draw(mappings).items() if value}
    held = {tag: value for tag, value in held.items() if tag in machine.order}
    messages = data.draw(st.lists(mappings, min_size=1, max_size=5)) * 20
    expected = [broadcast.news(machine, message, held) for message in messages]
    for message, wanted in zip(messages, expected, strict=True):
        found = measures.news(machine, dict(message), held)
        assert found == wanted


class Watched(dict):
    """A mapping of which one can tell whether it is gone."""


@pytest.mark.checks("VB-9")
def test_a_message_is_kept_as_long_as_it_is_known_by_its_identity() -> None:
    """Else another one could come to lie where it lay."""
    parameters = support.network(PATH)
    measures = Replayed(parameters)
    machine = Valid(parameters).stages[1].machine
    messages = [Watched({(agent, "key"): agent}) for agent in range(4)]
    watched = [weakref.ref(message) for message in messages]
    known = [id(message) for message in messages]
    for message in messages:
        measures.news(machine, message, {})
    del message, messages
    gc.collect()
    assert {place[1] for place in measures._heard.known} >= {*known}
    assert all(one() is not None for one in watched)


@pytest.mark.checks("LV-7", "LV-8", "LV-9")
@given(data=st.data())
def test_checks_of_a_replay_are_those_of_the_definition(data) -> None:
    """Any reports, about oneself too; equal ones are one object, as a reader gives them."""
    keys, without = data.draw(st.sampled_from(CheckedKeys)), data.draw(st.sampled_from(["", "P07"]))
    reading = Reading.without(*filter(None, [without]))
    parameters = support.network(PATH, checked_keys=keys, reading=reading)
    measures, plain = Replayed(parameters), Plain(parameters)
    values = [(0,) * 16, (1,) * 16, (0,) * 4 + (2,) * 12]
    about = [(r, v) for v in range(4) for r in PATH.neighbours(v)]
    for agent in range(4):
        held = data.draw(st.dictionaries(st.sampled_from(about), st.sampled_from(values)))
        own = data.draw(st.sampled_from(values))
        assert measures.hash_alarms(agent, held, own) == plain.hash_alarms(agent, held, own)


@pytest.mark.checks("GV-3", "LV-6")
def test_one_object_for_equal_values_of_one_form_alone() -> None:
    measures = Remembered(support.network(PATH))
    first, second = ((big, 1) for big in (10**20, 10**20))
    assert measures.one(REPORTS, first) is first
    assert measures.one(ESTIMATES, second) is second


@pytest.mark.checks("GV-5", "GV-6", "GV-9", "GV-12")
@pytest.mark.parametrize("without", [(), ("P27",)])
@given(data=st.data())
def test_fast_statistics_are_those_of_the_definition(without, data) -> None:
    """Entries around the ends of words, as arrays and as tuples, under two weightings."""
    weightings = (support.weighting((1, 1, 1)), support.weighting((1, 2, 3)))
    parameters = support.network(PATH, weightings=weightings, reading=Reading.without(*without))
    edges = st.sampled_from([0, 2**61, 2**62, 2**63, 2**64, 2**127])
    entry = st.builds(
        lambda sign, edge, by: sign * edge + by, st.sampled_from([-1, 1]), edges, st.integers(-2, 2)
    )
    rows = data.draw(st.lists(st.lists(entry, min_size=6, max_size=6), min_size=4, max_size=4))
    forms = data.draw(st.lists(st.sampled_from([tuple, WideIntegers.of]), min_size=4, max_size=4))
    estimates = [form(row) for form, row in zip(forms, rows, strict=True)]
    for index in range(2):
        wanted = global_validate.statistics(parameters, index, estimates)
        assert Fast(parameters).statistics(index, estimates) == wanted


@pytest.mark.checks("LV-2", "LV-5", "LV-6", "GV-2")
@given(data=st.data())
def test_fast_norms_reports_and_estimates_are_those_of_the_definition(data) -> None:
    """Any entries in range, under any keys, over primes of all three representations."""
    prime = data.draw(st.sampled_from([2**61 - 1, 2**31 - 1, 2**62 - 57]))
    without = data.draw(st.sampled_from([(), ("P14",), ("P15",)]))
    heavy = data.draw(st.sampled_from([1, 2**40, 2**100]))
    parameters = support.network(
        PATH,
        prime=prime,
        bounds=Bounds((9,) * 3, (9,) * 3),
        reading=Reading.without(*without),
        weightings=(support.weighting((heavy, 0, 1)), support.weighting((1, 1, 1))),
    )
    limits = parameters.lattice.model_limit - 1, parameters.lattice.gradient_limit - 1
    pair = [st.lists(st.integers(-limit, limit), min_size=2, max_size=2) for limit in limits]
    rounds = data.draw(st.lists(st.tuples(*pair), min_size=3, max_size=3))
    said = tuple(LearningMessage(*(np.array(part) for part in both)) for both in rounds)
    keys = tuple(data.draw(st.lists(st.integers(0, prime - 1), min_size=4, max_size=4)))
    fast, plain = Fast(parameters), Plain(parameters)
    assert fast.norms(1, said) == plain.norms(1, said)
    assert fast.report(keys, said) == plain.report(keys, said)
    assert fast.estimate(said) == plain.estimate(said)
