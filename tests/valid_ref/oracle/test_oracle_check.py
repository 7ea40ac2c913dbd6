"""Recordings of the reference conform; every faulty word is found at its place, with its clause."""

import json
import tracemalloc

import attrs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests import support
from valid_ref.adversary.gradients import InconsistentGradient
from valid_ref.alarms import Alarm
from valid_ref.front import run
from valid_ref.graph import AgentGraph
from valid_ref.machine import Round
from valid_ref.oracle import Status, check, open_recording, record_run, write_recording
from valid_ref.protocols.learn import LearningMessage
from valid_ref.reading import Reading
from valid_ref.scenario import Scenario
from valid_ref.scenario.parts import Family
from valid_ref.testing.scenarios import adversarial_scenarios, scenarios

PATH = AgentGraph.from_edges(3, [(0, 1), (1, 2)])
SLOW = settings(
    max_examples=25, deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)  # fmt: skip


def recorded(execution, path, **options):
    write_recording(path, execution, "test", **options)
    return open_recording(path)


def changed(execution, phase, number, agent, change):
    """The same record, but one agent says something else to all in one round."""

    def edit(spoken: Round) -> Round:
        if (spoken.phase, spoken.number) != (phase, number):
            return spoken
        return attrs.evolve(spoken, said=spoken.said | {agent: change(spoken.said[agent])})

    return attrs.evolve(execution, rounds=tuple(edit(r) for r in execution.rounds))


def first(execution, tmp_path, agent):
    verdict = check(recorded(execution, tmp_path / "run"))
    assert verdict.status is Status.DIVERGES
    [found] = [d for d in verdict.divergences if d.agent == agent]
    return found


@pytest.mark.checks("RE-8", "RE-9", "RE-12")
@SLOW
@given(scenario=st.one_of(scenarios(), adversarial_scenarios()), data=st.data())
def test_runs_of_the_reference_conform(tmp_path_factory, scenario, data) -> None:
    suffix = data.draw(st.sampled_from(["run", "run.zip"]))
    path = tmp_path_factory.mktemp("runs") / suffix
    finished = run(scenario)
    record_run(finished, path, checksums=data.draw(st.booleans()))
    opened = open_recording(path)
    verdict = check(opened)
    assert verdict.conforms, [str(d) for d in verdict.divergences]
    assert verdict.rounds == len(finished.execution.rounds)
    assert verdict.findings is not None
    assert verdict.findings.outcome == finished.outcome
    if verdict.findings.judgement is not None:
        assert verdict.findings.judgement == finished.judgement
    json.dumps(verdict.as_json(), allow_nan=True)


@pytest.mark.checks("RE-9")
@pytest.mark.parametrize("switch", Reading.switches())
def test_every_reading_replays(tmp_path, switch) -> None:
    parameters = support.network(PATH, reading=Reading.without(switch), field_range=switch != "P20")
    assert check(recorded(support.run(parameters), tmp_path / "run")).conforms


@pytest.mark.checks("RE-9")
def test_wide_estimates_and_no_weighting(tmp_path) -> None:
    wide = support.network(PATH, weightings=(support.weighting((10**30, 1, 7)),))
    assert check(recorded(support.run(wide), tmp_path / "wide")).conforms
    none = support.network(PATH, weightings=())
    assert check(recorded(support.run(none), tmp_path / "none")).conforms


@pytest.mark.checks("RE-9", "AR-6")
def test_a_model_that_does_not_follow(tmp_path) -> None:
    execution = support.run(support.network(PATH))
    wrong = changed(execution, "LearnModel", 2, 1, support.shifted(model=1, entry=1))
    found = first(wrong, tmp_path, 1)
    assert (found.phase, found.round, found.difference.index) == ("LearnModel", 2, 1)
    assert found.difference.clause == "AR-6"
    right = execution.rounds[1].said[1].model[1]
    assert found.difference.expected == str(right)
    assert found.difference.found == str(right + 1)
    assert found.agreed == "the message of LearnModel round 1"
    assert found.replay.endswith("run --agent 1")
    assert "expected" in str(found)


def test_a_gradient_that_no_integer_gives(tmp_path) -> None:
    """A_t > 2^k: only some Gamma are the rounding of a multiple of A_t."""
    parameters = support.network(PATH, d=1, T=1, mixing=(1,), gradient=(64,))
    execution = support.run(parameters)
    said = execution.rounds[0].said[0]
    moved = LearningMessage(said.model + 1, said.scaled_gradient - 16)
    found = first(changed(execution, "LearnModel", 1, 0, lambda _m: moved), tmp_path, 0)
    assert found.difference.clause == "AR-5"


@pytest.mark.parametrize(
    ("phase", "number", "change", "clause"),
    [
        ("LearnModel", 1, support.shifted(gamma=1), "AR-6"),
        ("LearnModel", 1, support.shifted(model=2**61), "AR-10"),
        ("LearnModel", 2, lambda _m: "text", "LM-2"),
        ("LocalValidate.keys", 1, support.silence, "VB-4"),
        ("LocalValidate.keys", 1, lambda m: {(0, "key"): m[0, "key"] ^ 1}, "LV-4"),
        ("LocalValidate.keys", 2, lambda m: {}, "VB-4"),
        ("LocalValidate.keys", 3, lambda m: dict(list(m.items())[:-1]), "VB-4"),
        ("LocalValidate.hashes", 1, support.revalued((0, 1), lambda v: (v[0] ^ 1, *v[1:])), "LV-5"),
        ("GlobalValidate", 1, support.revalued((0, 1), lambda v: (v[0] + 1, *v[1:])), "GV-2"),
        ("GlobalValidate", 3, support.revalued((2, 1), lambda v: (v[0] + 1, *v[1:])), "VB-4"),
        ("GlobalValidate", 1, lambda m: {**m, "what": 1}, "VB-4"),
        ("ValidationStateAgreement", 1, lambda _m: True, "SA-2"),
        ("ValidationStateAgreement", 2, lambda _m: 0, "SA-2"),
    ],
)  # fmt: skip
def test_a_false_word_is_found_with_its_clause(tmp_path, phase, number, change, clause) -> None:
    execution = support.run(support.network(PATH))
    found = first(changed(execution, phase, number, 0, change), tmp_path, 0)
    assert (found.phase, found.round, found.difference.clause) == (phase, number, clause)
    assert found.edge is None


def test_another_word_on_one_edge(tmp_path) -> None:
    parameters = support.network(PATH)
    adversary = support.edited("LearnModel", support.shifted(model=1), rounds=[1], edges=[(1, 2)])
    execution = support.run(parameters, adversary, byzantine=[1])
    lying = attrs.evolve(execution, byzantine=frozenset())
    found = first(lying, tmp_path, 1)
    assert (found.edge, found.difference.clause) == ((1, 2), "LM-2")


@pytest.mark.checks("RE-10")
def test_who_needs_byzantine_freedom(tmp_path) -> None:
    parameters = support.network(PATH)
    adversary = support.edited("LearnModel", support.shifted(model=1), rounds=[2])
    execution = support.run(parameters, adversary, byzantine=[0])
    assert check(recorded(execution, tmp_path / "known")).conforms
    verdict = check(recorded(execution, tmp_path / "unknown", byzantine_known=False))
    assert verdict.status is Status.CANNOT_TELL
    assert verdict.need_freedom == (0,)
    assert verdict.findings is None
    assert len(verdict.limits) == 2


def ended(execution, agent, **changes):
    state = execution.states[agent]
    memory = attrs.evolve(state.memory, **changes)
    states = {**execution.states, agent: attrs.evolve(state, memory=memory)}
    return attrs.evolve(execution, states=states)


@pytest.mark.checks("RE-5", "RE-9")
def test_alarms_and_verdicts(tmp_path) -> None:
    parameters = support.network(PATH)
    adversary = support.edited("LearnModel", support.silence, rounds=[2])
    execution = support.run(parameters, adversary, byzantine=[0])
    alarms = execution.states[1].memory.alarms
    assert alarms[0].alarm is Alarm.MISSING_MESSAGE
    for number, (kept, clause) in enumerate([
        (alarms[1:], "MO-8"),
        (alarms[::-1], "MO-8"),
        ((*alarms, alarms[0]), "MO-8"),
        ((attrs.evolve(alarms[0], round=3), *alarms[1:]), "MO-8"),
        ((attrs.evolve(alarms[0], sender=2), *alarms[1:]), "MO-8"),
        ((*alarms[:-1], attrs.evolve(alarms[-1], about="x")), alarms[-1].alarm.clause),
    ]):  # fmt: skip
        (tmp_path / str(number)).mkdir()
        found = first(ended(execution, 1, alarms=kept), tmp_path / str(number), 1)
        assert found.difference.clause == clause, kept
    found = first(ended(execution, 1, invalid=False), tmp_path, 1)
    assert (found.difference.clause, found.agreed) == ("VA-2", "the alarms")


def test_a_silent_agent_must_alarm(tmp_path) -> None:
    parameters = support.network(PATH)
    execution = support.run(parameters, private=support.privates(parameters, size=1e30))
    assert all(spoken is None for spoken in execution.rounds[0].said.values())
    assert check(recorded(execution, tmp_path / "run")).conforms
    quiet = ended(execution, 2, alarms=execution.states[2].memory.alarms[1:])
    (tmp_path / "quiet").mkdir()
    assert first(quiet, tmp_path / "quiet", 2).difference.clause == "AR-14"


@pytest.mark.checks("RE-11")
def test_outcome_without_losses(tmp_path) -> None:
    execution = support.run(support.network(PATH))
    findings = check(recorded(execution, tmp_path / "run")).findings
    assert findings is not None
    assert (findings.outcome, findings.reason) == (None, "the losses are not recorded")
    alarmed = support.run(
        support.network(PATH), support.edited("LearnModel", support.silence), byzantine=[0]
    )
    findings = check(recorded(alarmed, tmp_path / "alarmed")).findings
    assert findings is not None
    assert findings.outcome == "c"


def test_one_agent_alone_is_replayed(tmp_path) -> None:
    opened = recorded(support.run(support.network(PATH)), tmp_path / "run")
    verdict = check(opened, agents=[2, 2])
    assert (verdict.status, verdict.judged) == (Status.CANNOT_TELL, (2,))


def peak_of_checking(path, T):
    parameters = support.network(PATH, d=200, T=T)
    opened = recorded(support.run(parameters), path / f"{T}.zip")
    tracemalloc.start()
    assert check(opened).conforms
    _now, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak, opened.bytes


def test_memory_does_not_grow_with_the_arrays(tmp_path) -> None:
    (short, less), (long, more) = (peak_of_checking(tmp_path, T) for T in (260, 520))
    assert more - less > 2_000_000
    assert long - short < (more - less) / 3


@pytest.mark.checks("RE-10")
def test_where_a_known_byzantine_agent_deviates_is_said_and_changes_nothing(tmp_path) -> None:
    lie = InconsistentGradient(round=3)
    scenario = Scenario(graph=Family("complete:4"), rounds=5, byzantine=(3,), attack=lie)
    record_run(run(scenario), tmp_path / "run.zip")
    verdict = check(open_recording(tmp_path / "run.zip"))
    assert verdict.conforms
    [found] = verdict.deviations
    assert (found.agent, found.phase, found.round) == (3, "LearnModel", 3)
    assert verdict.as_json()["byzantine_deviations"][0]["agent"] == 3
    record_run(run(attrs.evolve(scenario, attack=None)), tmp_path / "honest.zip")
    assert check(open_recording(tmp_path / "honest.zip")).deviations == ()
