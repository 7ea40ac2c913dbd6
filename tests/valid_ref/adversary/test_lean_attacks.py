"""Attacks on lean validation: what each ends with, and what it does where a part is left out."""

from collections import Counter
from typing import Any

import attrs
import pytest

from valid_ref.adversary.actions import Add, Drop, Flag, Forge, Integer, Integers, Replay, Set, Swap
from valid_ref.adversary.attack import AttackError
from valid_ref.adversary.broadcasts import (
    FLOODS,
    LastRoundEquivocator,
    RelayTamperer,
    SilentSource,
)
from valid_ref.adversary.catalogue import ATTACKS, LEAN_ATTACKS, AttackPart
from valid_ref.adversary.data import Benign
from valid_ref.adversary.edits import Edit, Edits, without_alarm
from valid_ref.adversary.gradients import ConsistentGradientLie, DriftPush, InconsistentGradient
from valid_ref.adversary.hidden import HiddenTranscripts
from valid_ref.adversary.lean_attacks import (
    AdaptiveOpening,
    CopiedCommitment,
    EarlyValue,
    FalseNumber,
    FalseOwnReport,
    GuessedShares,
    LateTotal,
    SilentBranch,
    SplitOpening,
    WrappedTotal,
    WrongDigest,
    WrongSum,
    WrongTotal,
)
from valid_ref.adversary.models import Equivocation
from valid_ref.alarms import Alarm
from valid_ref.guarantees.lean import unseen_lies, wrong_totals
from valid_ref.guarantees.local import broken_relations, equivocations
from valid_ref.protocols import lean
from valid_ref.protocols.agreement import PHASE as AGREEMENT
from valid_ref.runs import Run, run
from valid_ref.scenario import Scenario, parts, prepare
from valid_ref.schedule import Precision

SMALL = Scenario(
    graph=parts.Family("cycle:5"),
    loss=parts.RandomQuadratics(3),
    rounds=4,
    precision=Precision(12, 10),
    bounds=parts.ConfiguredBounds(1e3, 1e3),
    checks=(parts.Check("t", parts.Polynomial(), parts.ConfiguredThresholds(1e3, 1e6)),),
    delta=1e6,
    eps_success=1e9,
    seed=3,
    byzantine=(0,),
    validation=parts.Lean(),
)
"""A cycle 0-1-2-3-4: root 0, r = D = 2; agent 0 is Byzantine, 1 and 4 are its children."""


def attacked(attack: AttackPart, *without: str, kappa: int = 2, **changes: Any) -> Run:
    validation = parts.Lean(kappa, tuple(without))
    return run(attrs.evolve(SMALL, attack=attack, validation=validation, **changes))


def early(finished: Run, agent: int) -> Counter[Alarm]:
    """The alarms of an agent before the agreement."""
    alarms = finished.execution.states[agent].memory.alarms
    return Counter(raised.alarm for raised in alarms if raised.phase != AGREEMENT)


EVERYBODY, NEIGHBOURS = (1, 2, 3, 4), (1, 4)

EXPECTED: list[tuple[AttackPart, dict[str, Any], dict[Alarm, tuple[int, ...]]]] = [
    (AdaptiveOpening(), {}, {Alarm.OPENING_MISMATCH: EVERYBODY}),
    (CopiedCommitment(), {}, {Alarm.OPENING_MISMATCH: EVERYBODY}),
    (SplitOpening(), {}, {Alarm.OPENING_MISMATCH: (3, 4)}),
    (SplitOpening(committed=True), {}, {Alarm.DIFFERENT_VALUE: ()}),
    (WrongSum(), {"byzantine": (1,)}, {Alarm.WRONG_TOTAL: (0, 2, 3, 4)}),
    (WrongTotal(), {}, {Alarm.WRONG_TOTAL: EVERYBODY}),
    (WrongTotal(units=-1), {"byzantine": (1,)}, {Alarm.WRONG_TOTAL: (2,)}),
    (WrappedTotal(), {}, {Alarm.MALFORMED_VALUE: NEIGHBOURS, Alarm.NO_VALUE: EVERYBODY}),
    (SilentBranch(), {}, {Alarm.NO_VALUE: EVERYBODY}),
    (SilentBranch(), {"byzantine": (1,)}, {Alarm.NO_VALUE: (0, 2)}),
    (EarlyValue(lean.FIX), {}, {Alarm.EARLY_VALUE: NEIGHBOURS}),
    (EarlyValue(), {}, {Alarm.EARLY_VALUE: NEIGHBOURS}),
    (EarlyValue(lean.REPORT), {}, {Alarm.EARLY_VALUE: NEIGHBOURS}),
    (FalseNumber(), {}, {Alarm.RECORD_MISMATCH: NEIGHBOURS}),
    (FalseNumber(units=-1), {}, {Alarm.RECORD_MISMATCH: NEIGHBOURS}),
    (FalseOwnReport(), {}, {Alarm.RECORD_MISMATCH: NEIGHBOURS}),
    (WrongDigest(), {}, {Alarm.DIGEST_MISMATCH: NEIGHBOURS}),
    (InconsistentGradient(), {}, {Alarm.BROKEN_RELATION: EVERYBODY}),
    (SilentSource(lean.FIX), {}, {Alarm.NO_VALUE: EVERYBODY}),
    (SilentSource(lean.OPEN), {}, {Alarm.NO_VALUE: EVERYBODY}),
    (SilentSource(lean.REPORT), {}, {Alarm.NO_VALUE: EVERYBODY}),
    (SilentSource(lean.COMPARE), {}, {Alarm.MISSING_MESSAGE: NEIGHBOURS}),
    (SilentSource(lean.OPEN, wholly=True), {}, {Alarm.MISSING_MESSAGE: NEIGHBOURS}),
    (LastRoundEquivocator(lean.FIX), {}, {Alarm.NO_VALUE: (2, 3)}),
    (LastRoundEquivocator(lean.REPORT), {}, {Alarm.NO_VALUE: (2, 3)}),
    (RelayTamperer(lean.FIX), {}, {Alarm.DIFFERENT_VALUE: NEIGHBOURS}),
    (RelayTamperer(lean.OPEN), {}, {Alarm.DIFFERENT_VALUE: NEIGHBOURS}),
    (RelayTamperer(lean.REPORT), {}, {Alarm.DIFFERENT_VALUE: NEIGHBOURS}),
]


@pytest.mark.checks("LE-6", "LE-8", "LE-10", "LE-12", "LE-13", "AD-9")
@pytest.mark.parametrize(("attack", "changes", "expected"), EXPECTED, ids=lambda one: str(one)[:40])
def test_every_attack_ends_with_the_alarms_it_announces(
    attack: AttackPart, changes: Any, expected: dict[Alarm, tuple[int, ...]]
) -> None:
    finished = attacked(attack, **changes)
    assert finished.outcome == "c"
    assert unseen_lies(finished.execution) == ()
    for alarm, agents in expected.items():
        alarmed = {v for v in finished.execution.honest if early(finished, v)[alarm]}
        assert alarmed == {*agents}, {v: early(finished, v) for v in finished.execution.honest}


@pytest.mark.checks("LE-12")
def test_an_honest_child_hears_a_wrong_total_though_nobody_else_does() -> None:
    """Agent 1 tells its child 2 another total: all others hold the right one until the end."""
    finished = attacked(WrongTotal(), byzantine=(1,))
    assert wrong_totals(finished.execution) == (2,)
    assert [v for v in (0, 2, 3, 4) if early(finished, v)] == [2]


@pytest.mark.checks("LE-13")
def test_a_network_divided_in_the_last_round_is_seen_by_the_digests_of_honest_agents() -> None:
    """Every receiver hears its own digest from the liar, but honest neighbours compare theirs."""
    finished = attacked(LastRoundEquivocator(lean.OPEN), graph=parts.Family("complete:4"))
    for v in (1, 2, 3):
        digests = [
            raised.sender
            for raised in finished.execution.states[v].memory.alarms
            if raised.alarm is Alarm.DIGEST_MISMATCH
        ]
        assert digests == [u for u in (1, 2, 3) if u != v]


@pytest.mark.checks("LE-13")
def test_two_pairs_that_fit_are_seen_as_two_values() -> None:
    """With a commitment for each opening nobody finds a mismatch but between neighbours."""
    finished = attacked(SplitOpening(committed=True))
    for v in finished.execution.honest:
        assert Alarm.OPENING_MISMATCH not in early(finished, v)
        assert Alarm.DIGEST_MISMATCH in early(finished, v) or v in NEIGHBOURS


# What the liars say of themselves.


@pytest.mark.checks("LE-12")
@pytest.mark.parametrize("attack", [ConsistentGradientLie(1.5), DriftPush(0.01), Benign(1e-7)])
def test_a_lie_that_keeps_the_relation_is_left_to_the_thresholds(attack: AttackPart) -> None:
    """Both validations see the same: nothing here, with thresholds out of the way."""
    ends = []
    for validation in (parts.Lean(), parts.PaperValidation()):
        finished = run(attrs.evolve(SMALL, attack=attack, validation=validation))
        ends.append((finished.outcome, [early(finished, v) for v in finished.execution.honest]))
    assert ends[0] == ends[1]
    assert ends[0][0] == "b"
    assert not any(ends[0][1])


@pytest.mark.checks("LE-12")
def test_an_equivocator_can_only_account_for_one_of_its_words() -> None:
    finished = attacked(Equivocation())
    assert finished.outcome == "c"
    assert equivocations(finished.execution) == (0,)
    mismatched = [v for v in (1, 2, 3, 4) if early(finished, v)[Alarm.RECORD_MISMATCH]]
    assert mismatched == [4]  # what agent 1 heard is what agent 0 accounts for


# Parts left out: what they are for (LE-19). The exact counts are in the exploration's tests.


@pytest.mark.checks("LE-18", "LE-19")
@pytest.mark.parametrize(
    ("part", "attack", "changes"),
    [
        ("commitment", AdaptiveOpening(), {}),
        ("record", FalseOwnReport(), {}),
        ("total-first", LateTotal(), {"kappa": 1}),
    ],
)
def test_without_a_part_a_lie_goes_unseen(part: str, attack: AttackPart, changes: Any) -> None:
    without = attacked(attack, part, **changes)
    assert unseen_lies(without.execution) != ()
    assert without.execution.honest_valid == EVERYBODY
    if part != "total-first":
        assert broken_relations(without.execution) == (0,)
        assert attacked(attack, **changes).outcome == "c"


@pytest.mark.checks("LE-3", "LE-18", "LE-19")
def test_where_a_sum_can_wrap_a_wrong_total_goes_unseen() -> None:
    """p = 1009: the rule refuses it; without the rule S + p passes every check."""
    scenario = attrs.evolve(
        SMALL,
        prime=1009,
        loss=parts.RandomQuadratics(3, offset=0.25, scale=0.0),
        precision=Precision(2, 1),
        schedule=parts.ConstantSteps(0.5, 0.5),
        bounds=parts.NoBounds(),
        attack=WrappedTotal(),
    )
    with pytest.raises(Exception, match="a sum could wrap"):
        run(scenario)
    finished = run(attrs.evolve(scenario, validation=parts.Lean(2, ("range",))))
    assert wrong_totals(finished.execution) == EVERYBODY
    assert finished.execution.honest_valid == EVERYBODY


HIDDEN = attrs.evolve(
    SMALL,
    graph=parts.Family("path:6"),
    loss=parts.Quadratics((parts.QuadraticAgent(((1.0,),), (0.0,)),) * 6),
    precision=Precision(),
    schedule=parts.Diminishing(a=1.0, t0=2.0, e0=0.5),
    bounds=parts.ConfiguredBounds(1e4, 1e4),
    delta=1.0,
    eps_success=None,
    byzantine=(0, 1, 4, 5),
    attack=HiddenTranscripts(3.0),
)


@pytest.mark.checks("LE-19")
def test_under_assumption_1_alone_hidden_agents_prevent_consensus_unseen() -> None:
    """The path w-v-h-h-v-w: everybody honest ends valid, and T times the spread grows."""
    spreads = []
    for T in (50, 200):
        finished = run(attrs.evolve(HIDDEN, rounds=T))
        assert finished.execution.honest_valid == (2, 3)
        assert any("no guarantee applies" in note for note in finished.prepared.notes)
        spreads.append(T * float(finished.judgement.consensus_error or 0))
    assert spreads[1] > 3 * spreads[0] > 0


# Attacks that need something else.


@pytest.mark.checks("LE-3", "LE-8", "LE-9", "AD-9")
def test_what_cannot_be_built_is_refused_with_its_reason() -> None:
    refused: list[tuple[AttackPart, dict[str, Any], str]] = [
        (GuessedShares(), {}, "only without the nonce"),
        (LateTotal(), {}, "fixed before the keys can be known"),
        (WrongSum(), {}, "no Byzantine agent has a parent"),
        (WrongTotal(), {"byzantine": (2,)}, "no Byzantine agent has a child"),
        (WrongTotal(), {"checks": ()}, "without a weighting there is no sum"),
        (FalseNumber(), {"checks": ()}, "without a weighting there is no number"),
        (AdaptiveOpening(), {"rounds": 1}, "needs T >= 2"),
        (EarlyValue("LearnModel"), {}, "no phase 'LearnModel' to attack"),
        (SilentSource("LocalValidate.keys"), {}, "no phase 'LocalValidate.keys' to attack"),
    ]
    for attack, changes, reason in refused:
        with pytest.raises(AttackError, match=reason):
            attacked(attack, **changes)
    with pytest.raises(AttackError, match="leave no difference of 3 entries unseen"):
        attacked(LateTotal(), "total-first", kappa=3)
    for kind in LEAN_ATTACKS:
        with pytest.raises(AttackError, match="an attack on lean validation needs"):
            run(attrs.evolve(SMALL, attack=ATTACKS[kind](), validation=parts.PaperValidation()))


ON_THE_PAPERS = {
    "balanced-report",
    "early-keys",
    "estimate-liar",
    "false-report",
    "hash-liar",
    "hidden-hashes",
    "lone-victim",
}


@pytest.mark.checks("AD-9")
@pytest.mark.parametrize("kind", [kind for kind in ATTACKS if kind not in LEAN_ATTACKS])
def test_an_attack_with_its_defaults_fits_a_lean_run_or_says_that_it_is_on_the_papers(
    kind: str,
) -> None:
    changes: dict[str, Any] = {"attack": ATTACKS[kind](), "delta": 1e4}
    if kind.startswith("hidden"):
        edges = ((0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (1, 3))
        changes |= {"graph": parts.Edges(6, edges), "byzantine": (0, 1)}
    scenario = attrs.evolve(SMALL, **changes)
    if kind in ON_THE_PAPERS:
        with pytest.raises(AttackError, match="on the paper's validation needs --validation paper"):
            prepare(scenario)
        return
    finished = run(scenario)
    if "phase" in {field.name for field in attrs.fields(ATTACKS[kind])}:
        phase = lean.REPORT if kind == "relay-tamperer" else lean.OPEN
        phases = {one.phase for v in finished.execution.honest for one in finished.alarms[v]}
        assert next(one for one in FLOODS if one in phases) == phase
        assert finished.outcome == "c"


# Edits.


@pytest.mark.checks("AD-9", "LE-6", "LE-8", "LE-13", "MO-4")
@pytest.mark.parametrize(
    ("edit", "alarm", "agents"),
    [
        (Edit(lean.FIX, 2, 1, 0, Add((1,), "1/sum")), Alarm.WRONG_TOTAL, (0, 2, 3, 4)),
        (Edit(lean.FIX, 1, 1, 0, Forge("1/sum", Integers((0,)))), Alarm.MALFORMED_VALUE, (0,)),
        (Edit(lean.FIX, 1, 1, None, Forge("1/fixed", Integer(3))), Alarm.MALFORMED_VALUE, (0, 2)),
        (Edit(lean.FIX, 4, 1, 2, Swap(0)), Alarm.NO_VALUE, (2,)),
        (Edit(lean.OPEN, 1, 1, 2, Add((0, 1), "1/opening")), Alarm.OPENING_MISMATCH, (2, 3)),
        (Edit(lean.OPEN, 2, 1, 2, Replay(1)), Alarm.NO_VALUE, (2,)),
        (Edit(lean.REPORT, 1, 1, None, Add((1,), "1/report")), Alarm.RECORD_MISMATCH, (0, 2)),
        (Edit(lean.REPORT, 2, 1, 2, Drop()), Alarm.MISSING_MESSAGE, (2,)),
        (Edit(lean.COMPARE, 1, 1, 0, Set(Integer(5))), Alarm.DIGEST_MISMATCH, (0,)),
        (Edit(lean.COMPARE, 1, 1, 0, Add((1,))), Alarm.DIGEST_MISMATCH, (0,)),
        (Edit(lean.COMPARE, 1, 1, 0, Set(Flag(value=True))), Alarm.MALFORMED_MESSAGE, (0,)),
    ],
    ids=lambda one: str(one)[:60],
)
def test_the_edit_language_reaches_every_new_message(
    edit: Edit, alarm: Alarm, agents: tuple[int, ...]
) -> None:
    finished = attacked(Edits((edit, *without_alarm(1))), byzantine=(1,))
    alarmed = tuple(v for v in finished.execution.honest if early(finished, v)[alarm])
    assert alarmed == agents
    assert (finished.outcome == "c") == bool(agents)
