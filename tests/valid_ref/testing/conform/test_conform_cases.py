"""Cases: stored as documents; fixed ones reach every alarm, generated ones are of every kind."""

import contextlib
import itertools
import json
import random
import time
from collections.abc import Mapping

import attrs
import jsonschema
import pytest
from hypothesis import Phase, find, given, seed, settings
from hypothesis import strategies as st
from hypothesis.errors import FlakyFailure, Unsatisfiable

from valid_ref.adversary.catalogue import LEAN_ATTACKS
from valid_ref.adversary.edits import Edits
from valid_ref.alarms import Alarm
from valid_ref.document import DocumentError
from valid_ref.lattice import MERSENNE_61, LatticeError
from valid_ref.oracle.check import Status
from valid_ref.protocols.parameters import CheckedKeys
from valid_ref.scenario.build import build_graph
from valid_ref.scenario.parts import Lean
from valid_ref.testing.attacks import Shapes
from valid_ref.testing.conform import generate
from valid_ref.testing.conform.case import (
    ConformCase,
    case_from_json,
    case_schema,
    case_text,
    expected_run,
    load_case,
    save_case,
)
from valid_ref.testing.conform.faults import fault_named
from valid_ref.testing.conform.kit import Session, judge
from valid_ref.testing.conform.peer import AgentFault, ConformError, FindingKind, ObjectPeer
from valid_ref.words import Again, Listed


@pytest.mark.checks("CF-15")
def test_fixed_cases_are_stored_and_read_back(cases) -> None:
    assert len({case.name for case in cases}) == len(cases) >= 50
    for case in cases:
        assert case_from_json(case_text(case)) == case
    jsonschema.validate(json.loads(case_text(cases[0])), case_schema())


@pytest.mark.checks("CF-15", "MO-7")
def test_fixed_cases_reach_every_alarm_and_both_verdicts(cases, played) -> None:
    scripts = [played(case) for case in cases]
    reached = {alarm.reason for script in scripts for turn in script.turns for alarm in turn.alarms}
    assert reached == {alarm.name for alarm in Alarm}
    assert {script.valid for script in scripts} == {True, False}


@pytest.mark.checks("CF-15")
def test_fixed_cases_have_every_named_attack_on_lean_validation(lean) -> None:
    """But those that need a part to be left out."""
    kinds = {case.scenario.attack.kind for case in lean if case.scenario.attack is not None}
    assert kinds - {"edits"} == {*LEAN_ATTACKS} - {"guessed-shares", "late-total"}


@pytest.mark.checks("AR-10", "CF-15")
def test_a_case_may_have_limits_of_its_own(cases) -> None:
    case = attrs.evolve(cases[0], limits=(21, 1000))
    lattice = expected_run(case).parameters.lattice
    assert (lattice.model_limit, lattice.gradient_limit) == (21, 1000)
    with pytest.raises(LatticeError, match="X_max"):
        expected_run(attrs.evolve(case, limits=(2**61, 1000)))


@pytest.mark.checks("CF-15", "VB-9")
def test_fixed_cases_have_tags_twice(cases, played) -> None:
    """Public ones, so that the message is no mapping, and unknown ones, so that it is one."""
    turns = [turn for case in cases for turn in played(case).turns]
    messages = [message for turn in turns for message in turn.inbox.values()]
    assert sum(isinstance(message, Listed) for message in messages) >= 15
    keys = {key for m in messages if isinstance(m, Mapping) for key in m if isinstance(key, Again)}
    assert {key.tag for key in keys} == {(99, 0), (0, 1), (0, 3)}


@pytest.mark.checks("CF-15")
@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"agent": 9}, "not in the network"),
        ({"agent": 1}, "is Byzantine"),
        ({"format": "valid-ref/conformance-case/1"}, "is not"),
        ({"gradients": (("1.0", "0.0"),)}, "1 gradients for 3 rounds"),
        ({"lower": ((0, 0),)}, "1 pairs of lower thresholds for 2 checks"),
        ({"gradients": (("1.0", "x"),) * 3}, "'x' is not a number"),
        ({"gradients": (("1.0",),) * 3}, "does not have 2 entries"),
    ],
)
def test_cases_that_make_no_sense_are_refused(cases, changes, reason: str) -> None:
    usual = next(case for case in cases if case.scenario.byzantine == (1,))
    with pytest.raises(ConformError, match=reason):
        expected_run(attrs.evolve(usual, **changes))


@pytest.mark.checks("CF-15")
def test_only_the_repaired_reading_is_judged(cases, tmp_path) -> None:
    with pytest.raises(ConformError, match="repaired reading"):
        ConformCase("printed", 0, attrs.evolve(cases[0].scenario, without=("P14",)))
    part = attrs.evolve(cases[0].scenario, keys=None, validation=Lean(without=("nonce",)))
    with pytest.raises(ConformError, match="whole lean validation"):
        ConformCase("lean", 0, part)
    with pytest.raises(DocumentError, match="unknown field"):
        case_from_json('{"names": 1}')
    with pytest.raises(ConformError, match="cannot read"):
        load_case(tmp_path / "nothing")
    with pytest.raises(ConformError, match="cannot write"):
        save_case(cases[0], tmp_path)


KINDS = {
    *CheckedKeys, "DerivedBounds", "NoBounds", "ConfiguredBounds", "Polynomial", "Exponential",
    *(("d", d) for d in (1, 2, 3)), *(("f", f) for f in (4, 12, 28)), ("checks", 1), ("checks", 2),
    ("prime", MERSENNE_61), ("prime", 1009), ("prime", 2**31 - 1), ("keys", True), ("keys", False),
    ("start", False), ("gradients", False), *(("byzantine", b) for b in (0, 1, 2)),
    ("named", True), ("named", False), *(("agents", n) for n in (2, 3, 4, 5, 12)), "LearnModel",
    ("hundreds of entries", True), ("a tag twice", True),
    "LocalValidate.keys", "LocalValidate.hashes", "LocalValidate", "GlobalValidate",
    "ValidationStateAgreement",
}  # fmt: skip
"""What generated cases must be like: parameters, attacks, and the phases of the alarms."""


def kinds(case: ConformCase) -> set[object]:
    scenario, turns = case.scenario, expected_run(case).turns
    messages = [message for turn in turns for message in turn.inbox.values()]
    longest = max((len(m) for m in messages if isinstance(m, Mapping)), default=0)
    return {
        scenario.keys_checked,
        type(scenario.bounds).__name__,
        ("checks", len(scenario.checks)),
        ("d", Shapes.of(scenario).dimension),
        ("f", scenario.precision.fraction_bits),
        ("prime", scenario.prime),
        ("keys", scenario.keys is None),
        ("start", scenario.start is None),
        ("gradients", case.gradients is None),
        ("byzantine", min(2, len(scenario.byzantine))),
        ("named", scenario.attack is not None and not isinstance(scenario.attack, Edits)),
        ("agents", build_graph(scenario).agents),
        ("hundreds of entries", longest > 200),
        ("a tag twice", any(isinstance(message, Listed) for message in messages)),
        *(type(check.weights).__name__ for check in scenario.checks),
        *(alarm.phase for turn in turns for alarm in turn.alarms),
    }


@pytest.mark.checks("CF-15")
def test_generated_cases_are_of_every_kind_and_can_be_run() -> None:
    """In batches, until every kind has been seen: which come first depends on what is loaded."""
    seen: set[object] = set()

    @settings(max_examples=60, database=None, phases=[Phase.generate])
    @given(generate.cases())
    def collect(case: ConformCase) -> None:
        assert case_from_json(case_text(case)) == case
        seen.update(kinds(case))

    for batch in range(12):
        seed(batch)(collect)()
        if seen >= KINDS:
            break
    assert seen >= KINDS, KINDS - seen


@pytest.mark.checks("CF-15")
def test_the_first_divergence_is_made_small(made) -> None:
    session = Session(ObjectPeer(made(fault_named("gradient-added"))))
    finding = judge(session, lambda one: generate.find_divergence(one, 100, 5)).finding
    assert finding is not None
    assert finding.clause == "AR-5"
    scenario = finding.case.scenario
    assert build_graph(scenario).agents <= 3
    assert scenario.rounds <= 2
    assert finding.case.name.startswith(f"generated: {build_graph(scenario).agents} agents, T = ")


class Hiccup(ObjectPeer):
    """An agent that is late once."""

    late = 100

    def ask(self, request):
        type(self).late -= 1
        if self.late == 0:
            raise AgentFault(FindingKind.TIMEOUT, "CF-13", "reply", "an answer in time", "nothing")
        return super().ask(request)


@pytest.mark.checks("CF-14")
def test_what_goes_wrong_among_generated_cases_is_told_too(made) -> None:
    """A time-out that does not come again and a fault of the kit are neither guilt nor praise."""
    report = judge(Session(Hiccup(made())), lambda one: generate.find_divergence(one, 30, 0))
    assert report.status is Status.CANNOT_TELL
    assert "did not happen again" in report.reason
    counted = iter(range(5))

    def broken(case: ConformCase):
        return expected_run(case) if next(counted, None) is not None else 1 // 0

    session = Session(ObjectPeer(made()), played=broken)
    report = judge(session, lambda one: generate.find_divergence(one, 30, 0))
    assert report.status is Status.CANNOT_TELL
    assert "after 5 cases: ZeroDivisionError" in report.reason


@pytest.mark.checks("CF-15")
def test_with_no_time_to_shrink_the_first_case_is_given_back_always_the_same(
    made, monkeypatch
) -> None:
    monkeypatch.setattr(generate, "SHRINKING", -1.0)

    def found(seed: int):
        session = Session(ObjectPeer(made(fault_named("gradient-half-up"))))
        finding = judge(session, lambda one: generate.find_divergence(one, 300, seed)).finding
        assert finding is not None
        assert finding.clause == "AR-3"
        return case_text(finding.case)

    found(1)  # loads what there is to load: Hypothesis looks at it for numbers to try
    assert found(1) == found(1)


class Noted(Session):
    """A session that remembers what it has confirmed."""

    def __init__(self, *arguments, **options) -> None:
        super().__init__(*arguments, **options)
        self.findings = []

    def confirmed(self, case: ConformCase):
        finding = super().confirmed(case)
        if finding is not None:
            self.findings.append(finding)
        return finding


def random_answers(plain):
    luck = random.Random(1)

    class Random(plain):
        def mix(self, **fields):
            reply = super().mix(**fields)
            return {**reply, "Y": [y + (luck.random() < 0.05) for y in reply["Y"]]}

    return Random


def less_and_less(plain):
    wrong = itertools.count()

    class Tiring(plain):
        """Wrong in its first answers that count, and right from then on."""

        def send(self, **fields):
            reply = super().send(**fields)
            flag = reply["message"] is not None and reply["message"]["kind"] == "flag"
            if not flag or next(wrong) > 12:
                return reply
            return {"message": {"kind": "flag", "value": not reply["message"]["value"]}}

    return Tiring


def stateful(plain):
    runs = itertools.count()

    class Stateful(plain):
        """Every third run is wrong, whatever process it is in."""

        def end(self):
            reply = super().end()
            return {**reply, "valid": not reply["valid"]} if next(runs) % 3 == 2 else reply

    return Stateful


def crashing(plain):
    calls = itertools.count()

    class Crashing(plain):
        def receive(self, **fields):
            if next(calls) % 40 > 20:
                raise RecursionError
            return super().receive(**fields)

    return Crashing


def slow(plain):
    class Slow(plain):
        def mix(self, **fields):
            time.sleep(0.05)
            return {**super().mix(**fields), "Y": []}

    return Slow


def unpredictable_greeting(plain):
    greetings = itertools.count()

    class Greeting(plain):
        def hello(self, protocol):
            reply = super().hello(protocol)
            number = next(greetings)
            return {**reply, "protocol": f"other/{number}"} if number > 2 else reply

        def end(self):
            return {**super().end(), "alarms": [{}]}

    return Greeting


def unreadable(plain):
    class Unreadable(plain):
        def receive(self, **fields):
            odd = {"reason": "\ud800", "phase": "\x1b[2J", "round": 10**300, "sender": -(10**300)}
            return {"alarms": [*super().receive(**fields)["alarms"], {**odd, "about": "\n"}]}

    return Unreadable


WRONG = (
    random_answers,
    less_and_less,
    stateful,
    crashing,
    slow,
    unpredictable_greeting,
    unreadable,
)


@pytest.mark.checks("CF-14", "CF-15")
@pytest.mark.parametrize("wrong", WRONG)
def test_no_confirmed_finding_is_lost_however_an_agent_behaves(wrong, made, monkeypatch) -> None:
    monkeypatch.setattr(generate, "SHRINKING", 0.5)
    session = Noted(ObjectPeer(wrong(made())))
    report = judge(session, lambda one: generate.find_divergence(one, 60, 2))
    assert session.findings
    assert report.status is Status.DIVERGES, report.reason
    assert report.finding is not None
    if session.findings[0].kind is not FindingKind.NOT_REPEATED:
        assert report.finding.clause == session.findings[0].clause


@pytest.mark.checks("CF-14", "CF-15")
@pytest.mark.parametrize(
    "error", [FlakyFailure("?", [ValueError()]), Unsatisfiable("?"), ValueError("?")]
)
def test_no_confirmed_finding_is_lost_whatever_hypothesis_raises(error, made, monkeypatch) -> None:
    monkeypatch.setattr(generate, "SHRINKING", 0.3)

    def failing(strategy, condition, **options):
        with contextlib.suppress(BaseException):
            find(strategy, condition, **options)
        raise error

    monkeypatch.setattr(generate, "find", failing)
    session = Session(ObjectPeer(made(fault_named("gradient-added"))))
    finding = judge(session, lambda one: generate.find_divergence(one, 30, 5)).finding
    assert finding is not None
    assert finding.clause == "AR-5"

    def failing_at_once(*_arguments, **_options):
        raise error

    monkeypatch.setattr(generate, "find", failing_at_once)
    report = judge(Session(ObjectPeer(made())), lambda one: generate.find_divergence(one, 30, 5))
    assert report.status is Status.CANNOT_TELL


@pytest.mark.checks("CF-14", "CF-15")
def test_no_confirmed_finding_is_lost_where_cases_change_while_shrinking(
    cases, played, made, monkeypatch
) -> None:
    """Hypothesis draws the same and gets another case, which is right: a flaky failure to it."""
    drawn = itertools.count()
    some = st.integers(0, 10**6).map(lambda _: cases[0 if next(drawn) < 1 else 1 + next(drawn) % 3])
    monkeypatch.setattr(generate, "cases", lambda **_known: some)
    session = Noted(ObjectPeer(first_case_only(made())), played=played)
    report = judge(session, lambda one: generate.find_divergence(one, 30, 5))
    assert session.findings
    assert report.finding is not None
    assert report.finding.clause == "AR-4"


def first_case_only(plain):
    class Wrong(plain):
        """Wrong where it is agent 1, as in the first case."""

        def mix(self, **fields):
            return {**super().mix(**fields), **({"Y": [0, 0]} if self.me == 1 else {})}

    return Wrong


@pytest.mark.checks("CF-14", "CF-15")
def test_no_confirmed_finding_is_lost_where_the_kit_fails_while_shrinking(made) -> None:
    found = []

    def broken(case: ConformCase):
        if len(found) > 2:
            raise ZeroDivisionError
        return expected_run(case)

    class Counted(Session):
        def drive(self, case):
            finding = super().drive(case)
            found.extend([finding] if finding else [])
            return finding

    session = Counted(ObjectPeer(made(fault_named("gradient-added"))), played=broken)
    report = judge(session, lambda one: generate.find_divergence(one, 30, 5))
    assert report.status is Status.DIVERGES, report
    assert report.finding is not None
    assert report.finding.clause == "AR-5"
