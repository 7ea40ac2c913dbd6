"""Results that are remembered are the results; validation alone is the end of the whole run."""

import attrs
import pytest
from hypothesis import given, settings

from tests import support
from valid_ref.execution import execute, validate
from valid_ref.graph import AgentGraph
from valid_ref.machine import run_machine
from valid_ref.protocols.measures import Measures, Remembered
from valid_ref.protocols.parameters import CheckedKeys, ParameterError
from valid_ref.protocols.valid import Learned, Valid
from valid_ref.protocols.validation import Fixed
from valid_ref.reading import Reading
from valid_ref.scenario import prepare
from valid_ref.testing.scenarios import adversarial_scenarios

PATH = AgentGraph.from_edges(4, [(0, 1), (1, 2), (2, 3), (0, 3)])


def same_rounds(left, right) -> bool:
    return len(left) == len(right) and all(
        attrs.evolve(a, said={}, deviations={}) == attrs.evolve(b, said={}, deviations={})
        and all(support.same_message(a.said[v], b.said[v]) for v in a.said)
        for a, b in zip(left, right, strict=True)
    )


def plainly(parameters, private, **options):
    """The run of the definition: every agent computes everything itself."""
    return run_machine(parameters.graph, Valid(parameters), private, **options)


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
        plain = getattr(Measures, name)
        monkeypatch.setattr(
            Measures, name,
            lambda self, *rest, name=name, plain=plain: calls.append(name) or plain(self, *rest),
        )  # fmt: skip
    support.run(support.network(PATH))
    assert sorted(calls) == sorted(
        ["report", "estimate", "norms"] * 4 + ["hash_alarms", "estimate_alarms"]
    )


def test_equal_tuples_are_one_object() -> None:
    measures = Remembered(support.network(PATH))
    first, second = ((big, 1) for big in (10**20, 10**20))
    assert first is not second
    assert measures.one(first) is measures.one(second) is first


@pytest.mark.checks("VA-1", "LM-5")
@settings(max_examples=20, deadline=None)
@given(scenario=adversarial_scenarios())
def test_validation_alone_is_the_end_of_the_run(scenario) -> None:
    prepared = prepare(scenario)
    parameters, T = prepared.parameters, prepared.parameters.lattice.schedule.rounds
    whole = execute(parameters, prepared.private, byzantine=prepared.byzantine)
    fixed = {
        agent: Fixed(
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
