"""Recordings of the reference conform; every faulty word is found at its place, with its clause."""

import json
import math
import sys
import tracemalloc
from fractions import Fraction

import attrs
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests import support
from valid_ref.adversary.gradients import InconsistentGradient
from valid_ref.alarms import Alarm, Raised
from valid_ref.cli.recordings import render_verdict
from valid_ref.graph import AgentGraph
from valid_ref.guarantees.outcome import Judgement, Outcome
from valid_ref.machine import Round
from valid_ref.oracle import (
    RecordingError,
    Status,
    check,
    open_recording,
    record_run,
    write_recording,
)
from valid_ref.oracle.check import check_finding, recorded_problem
from valid_ref.oracle.divergence import alarm_difference
from valid_ref.oracle.header import Losses
from valid_ref.oracle.replay import ConfirmedMessages, replayed
from valid_ref.protocols.broadcast import ValidatedBroadcast
from valid_ref.protocols.learn import LearningMessage
from valid_ref.protocols.measures import Fast
from valid_ref.protocols.remembered import Replayed
from valid_ref.protocols.valid import EstimateStage, HashStage
from valid_ref.reading import Reading
from valid_ref.runs import run
from valid_ref.scenario import Scenario
from valid_ref.scenario.parts import Family, QuadraticAgent, Quadratics
from valid_ref.testing.strategies import adversarial_scenarios, scenarios
from valid_ref.wide import WideIntegers
from valid_ref.wire import AlarmLine

PATH = AgentGraph.from_edges(3, [(0, 1), (1, 2)])
SLOW = settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


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
    assert verdict.findings is None
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
    verdict = check(opened, allow_weakened=True)
    assert verdict.conforms, [str(d) for d in verdict.divergences]
    assert (check(opened).status is Status.WEAKENED) == bool(scenario.without)
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
    assert check(recorded(support.run(parameters), tmp_path / "run"), allow_weakened=True).conforms


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
    right = support.learned(execution.rounds[1], 1).model[1]
    assert found.difference.expected == str(right)
    assert found.difference.found == str(right + 1)
    assert found.agreed == "the message of LearnModel round 1"
    assert found.replay.endswith("run --agent 1")
    assert "expected" in str(found)


def test_a_gradient_that_no_integer_gives(tmp_path) -> None:
    """A_t > 2^k: only some Gamma are the rounding of a multiple of A_t."""
    parameters = support.network(PATH, d=1, T=1, mixing=(1,), gradient=(64,))
    execution = support.run(parameters)
    said = support.learned(execution.rounds[0], 0)
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
)
def test_a_false_word_is_found_with_its_clause(tmp_path, phase, number, change, clause) -> None:
    execution = support.run(support.network(PATH))
    found = first(changed(execution, phase, number, 0, change), tmp_path, 0)
    assert (found.phase, found.round, found.difference.clause) == (phase, number, clause)
    assert found.edge is None


@pytest.mark.parametrize("edge", [(1, 0), (1, 2)])
def test_another_word_on_one_edge(tmp_path, edge) -> None:
    parameters = support.network(PATH)
    adversary = support.edited("LearnModel", support.shifted(model=1), rounds=[1], edges=[edge])
    execution = support.run(parameters, adversary, byzantine=[1])
    lying = attrs.evolve(execution, byzantine=frozenset())
    found = first(lying, tmp_path, 1)
    assert (found.edge, found.difference.clause) == (edge, "LM-2")


@pytest.mark.checks("RE-10")
def test_who_needs_byzantine_freedom(tmp_path) -> None:
    parameters = support.network(PATH)
    adversary = support.edited("LearnModel", support.shifted(model=1), rounds=[2])
    execution = support.run(parameters, adversary, byzantine=[0])
    assert check(recorded(execution, tmp_path / "known")).conforms
    verdict = check(recorded(execution, tmp_path / "unknown", byzantine_known=False))
    assert verdict.status is Status.CANNOT_TELL
    assert verdict.need_freedom == (0,)
    assert "only Byzantine freedom explains: agent 0\n" in render_verdict(verdict)
    assert verdict.findings is None
    assert len(verdict.limits) == 2


def ended(execution, agent, **changes):
    state = execution.states[agent]
    memory = attrs.evolve(state.memory, **changes)
    states = {**execution.states, agent: attrs.evolve(state, memory=memory)}
    return attrs.evolve(execution, states=states)


@pytest.mark.checks("RE-5", "RE-9", "RE-18")
def test_alarms_and_verdicts(tmp_path) -> None:
    parameters = support.network(PATH)
    adversary = support.edited("LearnModel", support.silence, rounds=[2])
    execution = support.run(parameters, adversary, byzantine=[0])
    alarms = execution.states[1].memory.alarms
    assert len({*alarms}) == len(alarms) > 2
    assert alarms[0].alarm is Alarm.MISSING_MESSAGE
    last = alarms[-1]
    assert (last.alarm, last.phase) == (Alarm.NEIGHBOUR_ALARM, "ValidationStateAgreement")
    earlier = sum(alarm.phase != last.phase for alarm in alarms)
    foreign = Raised(Alarm.NO_VALUE, "GlobalValidate", 3, about=(2, 1))
    for number, (kept, what, decisive) in enumerate(
        [
            (alarms[1:], "missing alarm 0", alarms[0]),
            (alarms[:-1], f"missing alarm {len(alarms) - 1}", last),
            ((), "missing alarm 0", alarms[0]),
            ((*alarms, alarms[0]), f"repeated alarm {earlier}", alarms[0]),
            ((alarms[0], *alarms), "repeated alarm 1", alarms[0]),
            ((*alarms, last), f"repeated alarm {len(alarms)}", last),
            ((*alarms, attrs.evolve(last, round=2)), f"surplus alarm {len(alarms)}", last),
            ((foreign, *alarms), "surplus alarm 0", foreign),
            ((*alarms[:-1], foreign, last), f"surplus alarm {earlier}", foreign),
            ((attrs.evolve(alarms[0], round=3), *alarms[1:]), "alarm 0", alarms[0]),
            ((attrs.evolve(alarms[0], sender=2), *alarms[1:]), "alarm 0", alarms[0]),
            ((*alarms[:-1], attrs.evolve(last, about="x")), f"alarm {len(alarms) - 1}", last),
        ]
    ):
        (tmp_path / str(number)).mkdir()
        difference = first(ended(execution, 1, alarms=kept), tmp_path / str(number), 1).difference
        assert (difference.what, difference.clause) == (what, decisive.alarm.clause), kept
    found = first(ended(execution, 1, invalid=False), tmp_path, 1)
    assert (found.difference.clause, found.agreed) == ("VA-2", "the alarms")


@pytest.mark.checks("RE-9")
@pytest.mark.parametrize("number", [1, 2])
def test_an_alarm_of_the_agreement_that_nobody_raised_is_found(tmp_path, number) -> None:
    """A false one after all others, of the last phase; also the last one a second time."""
    adversary = support.edited("LearnModel", support.silence, rounds=[2])
    execution = support.run(support.network(PATH), adversary, byzantine=[0])
    alarms = execution.states[1].memory.alarms
    false = Raised(Alarm.MISSING_MESSAGE, "ValidationStateAgreement", number, 2)
    assert false not in alarms
    for place, surplus in enumerate((false, alarms[-1])):
        (tmp_path / str(place)).mkdir()
        longer = ended(execution, 1, alarms=(*alarms, surplus))
        found = first(longer, tmp_path / str(place), 1)
        assert found.difference.found != "nothing"


@pytest.mark.checks("RE-9", "VA-2", "LM-6")
@pytest.mark.parametrize("valid", [True, False])
@pytest.mark.parametrize(("agent", "entry"), [(1, 0), (2, 1)])
def test_a_final_model_that_is_not_the_agents(tmp_path, valid, agent, entry) -> None:
    """An invalid agent has none, and a valid one that of its last round."""
    lie = support.edited("LearnModel", support.shifted(model=0 if valid else 1), rounds=[2])
    execution = support.run(support.network(PATH), lie, byzantine=[0])
    assert (agent in execution.honest_valid) == valid
    write_recording(tmp_path / "run", execution, "test", checksums=False)
    outputs = tmp_path / "run" / "outputs.npy"
    raw = bytearray(outputs.read_bytes())
    raw[192 + 8 * (2 * agent + entry)] ^= 1
    outputs.write_bytes(raw)
    verdict = check(open_recording(tmp_path / "run"))
    assert verdict.status is Status.DIVERGES
    [found] = verdict.divergences
    assert (found.agent, found.difference.index) == (agent, entry)
    assert found.difference.clause == ("LM-6" if valid else "VA-2")


LINES = [AlarmLine(alarm.name, "GlobalValidate", 1, 0) for alarm in [*Alarm][:6]]


@pytest.mark.checks("RE-18")
@given(
    expected=st.lists(st.sampled_from(LINES), unique=True, min_size=1),
    place=st.integers(0, 5),
    other=st.sampled_from(LINES),
)
def test_one_alarm_too_many_or_too_few_is_named_with_its_own_clause(expected, place, other) -> None:
    place = min(place, len(expected))
    found = (*expected[:place], other, *expected[place:])
    difference = alarm_difference(tuple(expected), found)
    again = alarm_difference(tuple(expected), (*found, other))
    assert difference is not None
    assert difference.clause == Alarm[other.reason].clause
    if other not in expected:
        assert difference.what == f"surplus alarm {place}"
        assert again is not None
        assert (again.what, again.clause) == (f"repeated alarm {place}", difference.clause)
    else:
        itself = expected[place : place + 1] == [other]
        assert difference.what == f"repeated alarm {place + itself}"
    missing = alarm_difference(found, tuple(expected))
    if other not in expected:
        assert missing is not None
        assert (missing.what, missing.clause) == (f"missing alarm {place}", difference.clause)


@pytest.mark.checks("RE-18", "MO-12")
def test_the_order_of_alarms_has_its_own_clause() -> None:
    swapped = (LINES[0], LINES[2], LINES[1])
    difference = alarm_difference(tuple(LINES[:3]), swapped)
    assert difference is not None
    assert (difference.clause, difference.what) == ("MO-12", "order of alarm 1")
    unnamed = (*LINES[:3], AlarmLine("NO_REASON", "GlobalValidate", 1))
    difference = alarm_difference(tuple(LINES[:3]), unnamed)
    assert difference is not None
    assert difference.clause == "MO-7"


@pytest.mark.checks("RE-9", "VA-2")
def test_an_invalid_agent_outputs_no_model(tmp_path) -> None:
    """Not even the model that it would output were it valid."""
    lie = support.edited("LearnModel", support.silence, rounds=[2])
    execution = support.run(support.network(PATH), lie, byzantine=[0])
    assert execution.states[1].memory.invalid
    recorded(execution, tmp_path / "run", checksums=False)
    raw = (tmp_path / "run" / "outputs.npy").read_bytes()
    own = execution.states[1].memory.fixed_transcripts.own[-1].model
    assert own.any()
    begin = len(raw) - 2 * own.nbytes  # of the rows of three agents, the second
    written = raw[:begin] + own.tobytes() + raw[begin + own.nbytes :]
    (tmp_path / "run" / "outputs.npy").write_bytes(written)
    [found] = check(open_recording(tmp_path / "run")).divergences
    assert (found.agent, found.difference.clause) == (1, "VA-2")
    assert (found.difference.what, found.difference.expected) == ("final model", "0")


def test_a_silent_agent_must_alarm(tmp_path) -> None:
    parameters = support.network(PATH)
    execution = support.run(parameters, private=support.privates(parameters, size=1e30))
    assert all(spoken is None for spoken in execution.rounds[0].said.values())
    assert check(recorded(execution, tmp_path / "run")).conforms
    quiet = ended(execution, 2, alarms=execution.states[2].memory.alarms[1:])
    (tmp_path / "quiet").mkdir()
    assert first(quiet, tmp_path / "quiet", 2).difference.clause == "AR-14"


@pytest.mark.checks("RE-9", "AR-14")
def test_words_after_falling_silent(tmp_path) -> None:
    parameters = support.network(PATH)
    execution = support.run(parameters, private=support.privates(parameters, size=1e30))
    zero = LearningMessage(parameters.start_model, parameters.start_model)
    spoken = changed(execution, "LearnModel", 2, 1, lambda _silence: zero)
    found = first(spoken, tmp_path, 1)
    assert (found.phase, found.round, found.difference.clause) == ("LearnModel", 2, "AR-14")
    assert found.difference.expected == "silence"


@pytest.mark.checks("RE-11")
def test_no_outcome_where_nobody_knows_who_is_byzantine(tmp_path) -> None:
    """Also where all conform: an outcome is one of the honest agents."""
    scenario = Scenario(graph=Family("path:3"), rounds=3, seed=0)
    for known in (True, False):
        record_run(run(scenario), tmp_path / str(known), byzantine_known=known)
        verdict = check(open_recording(tmp_path / str(known)))
        assert verdict.conforms
        assert (verdict.findings is not None) == known


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


EXTREME = st.sampled_from(
    [
        5e-324,
        1e-308,
        1e-200,
        1e-160,
        1e-100,
        1e-59,
        1e-9,
        1.0,
        3.0,
        1e9,
        1e59,
        1e100,
        1e154,
        1e200,
        1e307,
        1.7e308,
    ]
)
CURVATURES = st.lists(EXTREME | st.floats(5e-324, 1.7e308), min_size=3, max_size=3)
CENTRES = st.lists(
    EXTREME | st.floats(-1e9, 1e9) | st.sampled_from([0.0, -1e307, -1e9]), min_size=3, max_size=3
)


@pytest.fixture(scope="module")
def honest_path(tmp_path_factory):
    """Three agents, one entry; their models are near zero."""
    parameters = support.network(PATH, d=1, T=1)
    private = support.privates(parameters, size=0.001)
    execution = support.run(parameters, private=private)
    return recorded(execution, tmp_path_factory.mktemp("losses") / "run")


def judged_with(opened, hessians, centres, eps_success, delta=1.0):
    agents = tuple(QuadraticAgent(((h,),), (c,)) for h, c in zip(hessians, centres, strict=True))
    losses = Losses(Quadratics(agents), 0, 1, delta, eps_success)
    verdict = check(attrs.evolve(opened, header=attrs.evolve(opened.header, losses=losses)))
    assert verdict.conforms
    json.dumps(verdict.as_json())
    return verdict.findings


@pytest.mark.checks("RE-11")
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@example(hessians=[1e307] * 3, centres=[1e3] * 3, eps_success=1.0)
@example(hessians=[1e-200] * 3, centres=[1e3] * 3, eps_success=1.0)
@example(hessians=[1e-200, 1.0, 1e200], centres=[1e9] * 3, eps_success=1.0)
@example(hessians=[1.7e308] * 3, centres=[1.0, 2.0, 3.0], eps_success=1e300)
@example(hessians=[1.0] * 3, centres=[1e200] * 3, eps_success=1e300)
@example(hessians=[1.0] * 3, centres=[1.0] * 3, eps_success=1.0)
@given(hessians=CURVATURES, centres=CENTRES, eps_success=EXTREME)
def test_no_losses_make_an_outcome_a_that_is_none(
    honest_path, hessians, centres, eps_success
) -> None:
    """Against exact fractions, with curvatures and centres from one end of the floats to the other.

    Sums of these overflow, and squares of them vanish; what is not known is not said.
    """
    findings = judged_with(honest_path, hessians, centres, eps_success)
    assert findings is not None
    assert findings.outcome in {"a", "failed", None}
    if findings.outcome == "a":
        exact = [Fraction(h) for h in hessians]
        optimum = sum(h * Fraction(c) for h, c in zip(exact, centres, strict=True)) / sum(exact)
        unit = 2**honest_path.header.fraction_bits
        models = [Fraction(int(x), unit) for x in honest_path.arrays["outputs"][:, 0]]
        assert sum((x - optimum) ** 2 for x in models) / 3 < Fraction(eps_success)


@pytest.mark.checks("RE-11")
def test_where_the_losses_are_ordinary_the_outcome_is_known(honest_path) -> None:
    near = judged_with(honest_path, [1.0, 2.0, 3.0], [0.01, 0.0, -0.01], 1.0)
    far = judged_with(honest_path, [1.0, 2.0, 3.0], [5.0, 5.0, 5.0], 1.0)
    assert (near.outcome, far.outcome) == ("a", "failed")
    for eps_success in (0.0, -1.0, math.inf):  # MO-11: a tolerance is positive
        assert judged_with(honest_path, [1.0] * 3, [0.0] * 3, eps_success).outcome is None
    for hessians in ([1e307] * 3, [1e-200] * 3, [1e-7, 1.0, 1.0]):
        unknown = judged_with(honest_path, hessians, [0.0] * 3, 1.0)
        assert unknown.outcome is None
        assert "cannot be used" in unknown.reason
    assert judged_with(honest_path, [1.0] * 3, [0.0] * 3, 1.0, delta=1e307).outcome is None


@pytest.mark.checks("RE-11")
def test_a_distance_that_is_no_number_is_no_outcome(honest_path, monkeypatch) -> None:
    """Whatever the way by which it came to be none."""
    with monkeypatch.context() as patch:
        broken = Judgement(Outcome.A, math.nan, 0.0)
        patch.setattr(
            sys.modules["valid_ref.oracle.check"], "judge", lambda *_all, **_options: broken
        )
        assert judged_with(honest_path, [1.0] * 3, [0.0] * 3, 1.0).outcome is None
    problem = recorded_problem(
        honest_path.header,
        Losses(Quadratics((QuadraticAgent(((1.0,),), (0.0,)),) * 3), 0, 1, 1.0, 1.0),
    )
    for outcome, squared, spread in (
        (Outcome.A, math.nan, 0.0),
        (Outcome.B, math.nan, 0.0),
        (Outcome.B, 0.5, math.nan),
        (Outcome.B, math.inf, 0.0),
        (Outcome.FAILED, math.nan, 0.0),
        (Outcome.A, 1.0, 0.0),
    ):
        with pytest.raises(RecordingError):
            check_finding(Judgement(outcome, squared, spread), problem, 1.0)
    check_finding(Judgement(Outcome.FAILED, math.inf, 0.0), problem, 1.0)
    check_finding(Judgement(Outcome.A, 0.99, 0.0), problem, 1.0)


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
    lie = InconsistentGradient(first=3, last=3)
    scenario = Scenario(graph=Family("complete:4"), rounds=5, byzantine=(3,), attack=lie, seed=0)
    record_run(run(scenario), tmp_path / "run.zip")
    verdict = check(open_recording(tmp_path / "run.zip"))
    assert verdict.conforms
    [found] = verdict.deviations
    assert (found.agent, found.phase, found.round) == (3, "LearnModel", 3)
    assert verdict.as_json()["byzantine_deviations"][0]["agent"] == 3
    record_run(run(attrs.evolve(scenario, attack=None)), tmp_path / "honest.zip")
    assert check(open_recording(tmp_path / "honest.zip")).deviations == ()


class Plainly(Replayed):
    """The checks and the comparison of messages as they are defined."""

    news = Fast.news
    norms = Fast.norms
    hash_alarms = Fast.hash_alarms
    estimate_alarms = Fast.estimate_alarms


@pytest.mark.checks("RE-9", "RE-15")
@SLOW
@given(scenario=adversarial_scenarios(), data=st.data())
def test_what_is_computed_once_for_all_changes_no_verdict(tmp_path_factory, scenario, data) -> None:
    """Also where an agent says something else than its record; word for word."""
    path = tmp_path_factory.mktemp("runs") / "run"
    execution = run(scenario).execution
    index = data.draw(st.integers(0, len(execution.rounds) - 1))
    spoken, agent = execution.rounds[index], data.draw(st.integers(0, len(execution.states) - 1))
    other = data.draw(st.sampled_from([agent, 0, 1]))
    execution = changed(
        execution, spoken.phase, spoken.number, agent, lambda said: spoken.said.get(other, said)
    )
    write_recording(path, execution, "test", byzantine_known=data.draw(st.booleans()))
    fast = check(open_recording(path)).as_json()
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(check.__globals__, "Replayed", Plainly)
        assert check(open_recording(path)).as_json() == fast


@pytest.mark.checks("GV-3", "LV-6")
def test_a_replayed_agent_takes_no_value_of_another_form() -> None:
    parameters = support.network(PATH)
    measures = Replayed(parameters)
    machine = replayed(parameters, lambda _agent: None, measures, ConfirmedMessages(parameters))
    forms = {HashStage: tuple, EstimateStage: WideIntegers}
    estimate = measures.estimate(support.run(parameters).states[0].memory.fixed_transcripts.own)
    for stage in machine.stages:
        if type(stage) in forms:
            assert isinstance(stage.machine, ValidatedBroadcast)
            for value in ((1, 2), estimate, 3, None, [1, 2]):
                wanted = type(value) is forms[type(stage)]
                assert stage.machine.well_formed((0, 1), value) == wanted
