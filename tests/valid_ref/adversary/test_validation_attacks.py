"""Attacks on the validation: who sees them, with which reason, and what the printed text misses."""

import attrs
import pytest

from valid_ref.adversary.attack import AttackError
from valid_ref.adversary.broadcasts import (
    LastRoundEquivocator,
    LateFalseAlarm,
    RelayTamperer,
    SilentSource,
)
from valid_ref.adversary.early_keys import EarlyKeys, invisible_difference
from valid_ref.adversary.edits import Edits
from valid_ref.adversary.reports import (
    BalancedReport,
    EstimateLiar,
    FalseReport,
    HashLiar,
    LoneVictim,
    Which,
)
from valid_ref.guarantees.local import broken_relations, undetected
from valid_ref.guarantees.outcome import final_models
from valid_ref.protocols.parameters import CheckedKeys
from valid_ref.runs import Run, run
from valid_ref.scenario import Scenario, parts
from valid_ref.schedule import Precision

KEYS, HASHES, ESTIMATES = "LocalValidate.keys", "LocalValidate.hashes", "GlobalValidate"
AGREEMENT, P61 = "ValidationStateAgreement", 2**61 - 1


def scenario(graph: str, attack, **changes) -> Scenario:
    usual = {
        "loss": parts.RandomQuadratics(2),
        "rounds": 6,
        "bounds": parts.ConfiguredBounds(1e3, 1e4),
        "checks": (parts.Check("t", parts.Polynomial(), parts.ConfiguredThresholds(1e3, 1e9)),),
        "byzantine": (int(graph.partition(":")[2]) - 1,),
        "delta": 100.0,
        "eps_success": 10.0,
    }
    return Scenario(graph=parts.Family(graph), attack=attack, **({"seed": 0} | usual | changes))


def played(graph: str, attack, **changes) -> Run:
    return run(scenario(graph, attack, **changes))


def reasons(finished: Run) -> dict[int, set[str]]:
    """The reasons of every honest agent before the agreement."""
    states = finished.execution.states
    return {
        v: {r.alarm.name for r in states[v].memory.alarms if r.phase != AGREEMENT}
        for v in finished.execution.honest
    }


@pytest.mark.checks("AD-9", "LV-7", "LV-9")
@pytest.mark.parametrize("which", Which)
@pytest.mark.parametrize("key", [None, 1, 3])
def test_a_hash_liar_is_seen_by_all_and_named_by_its_victim(which: Which, key) -> None:
    finished = played("complete:4", HashLiar(about=0, key=key, which=which))
    seen = {"INCONSISTENT_HASHES"}
    assert reasons(finished) == {0: seen | {"SELF_MISMATCH"}, 1: seen, 2: seen}
    [mismatch, *_more] = [
        raised
        for raised in finished.execution.states[0].memory.alarms
        if raised.alarm.name == "SELF_MISMATCH"
    ]
    assert (mismatch.sender, mismatch.about[0]) == (3, 0)
    assert finished.outcome == "c"


@pytest.mark.checks("AD-9", "LV-10")
@pytest.mark.parametrize(("key", "seeing"), [(1, {1}), (3, set()), (None, {0, 1, 2})])
def test_a_lie_under_one_key_is_seen_by_its_owner_who_checks_with_it(key, seeing) -> None:
    finished = played("complete:4", HashLiar(about=0, key=key), keys_checked=CheckedKeys.OWN)
    assert {v for v, found in reasons(finished).items() if found} == seeing
    assert finished.execution.honest_valid == (() if seeing else (0, 1, 2))


@pytest.mark.checks("AD-9", "LV-6")
def test_a_lie_before_the_keys_is_read_by_nobody_and_gone_in_the_repair() -> None:
    finished = played("complete:4", HashLiar(before_keys=True), without=("P09",))
    assert finished.execution.honest_valid == (0, 1, 2)
    with pytest.raises(AttackError, match="P09 is repaired"):
        played("complete:4", HashLiar(before_keys=True))


@pytest.mark.checks("AD-9", "LV-9", "GV-4")
def test_a_false_report_with_a_balanced_relation() -> None:
    """On the path 0-1-2 with honest 0 alone, 1 is its only reporter: only 0 can object (P07)."""
    finished = played("complete:4", FalseReport(about=1))
    seen = {"INCONSISTENT_HASHES", "INCONSISTENT_ESTIMATES"}
    own = {"SELF_MISMATCH", "SELF_ESTIMATE_MISMATCH"}
    assert reasons(finished) == {0: seen, 1: seen | own, 2: seen}
    for without, expected in (((), own), (("P07",), set())):
        path = played("path:3", FalseReport(about=0), byzantine=(1, 2), without=without)
        assert reasons(path) == {0: expected}
        assert bool(path.execution.honest_valid) == bool(without)


@pytest.mark.checks("AD-9", "GV-4")
@pytest.mark.parametrize("norm", [False, True])
def test_a_false_estimate(norm: bool) -> None:
    """There is a length to lie about only in the printed text."""
    without = ("P27",) if norm else ()
    finished = played("cycle:5", EstimateLiar(about=0, norm=norm), without=without)
    seen = {"INCONSISTENT_ESTIMATES"}
    expected = {0: seen | {"SELF_ESTIMATE_MISMATCH"}, 1: seen, 2: seen, 3: seen}
    assert reasons(finished) == expected


@pytest.mark.checks("GV-3")
def test_a_lie_about_a_length_is_refused_where_there_is_none() -> None:
    with pytest.raises(AttackError, match="only without P27") as caught:
        played("cycle:5", EstimateLiar(norm=True))
    assert caught.value.clause == "GV-3"


@pytest.mark.checks("AD-9", "VB-8", "MO-8")
@pytest.mark.parametrize("phase", [KEYS, HASHES, ESTIMATES])
def test_a_source_that_keeps_its_values_to_itself(phase: str) -> None:
    for names in reasons(played("cycle:5", SilentSource(phase))).values():
        assert "NO_VALUE" in names
        assert "MISSING_MESSAGE" not in names
    found = reasons(played("cycle:5", SilentSource(phase, wholly=True)))
    assert [v for v, names in found.items() if "MISSING_MESSAGE" in names] == [0, 3]
    assert all("NO_VALUE" in names for names in found.values())


@pytest.mark.checks("AD-9", "MO-8", "SA-3")
def test_silence_in_the_learning_and_in_the_agreement() -> None:
    finished = played("complete:4", SilentSource("LearnModel"))
    assert all({"MISSING_MESSAGE", "BROKEN_RELATION"} <= r for r in reasons(finished).values())
    last = played("complete:4", SilentSource(AGREEMENT))
    assert reasons(last) == {0: set(), 1: set(), 2: set()}
    assert last.execution.honest_valid == ()
    with pytest.raises(AttackError, match="no phase 'LocalValidate"):
        played("complete:4", SilentSource("LocalValidate.commitments"))


@pytest.mark.witness("P01")
@pytest.mark.checks("AD-9", "VB-7", "VB-8")
def test_the_last_round_equivocator() -> None:
    """As printed honest agents end valid with two different keys of agent 3."""
    attack, own = LastRoundEquivocator(KEYS), {"keys_checked": CheckedKeys.OWN}
    printed = played("complete:4", attack, without=("P01",), **own)
    assert printed.execution.honest_valid == (0, 1, 2)
    assert len({printed.execution.states[v].memory.keys[3] for v in (0, 1, 2)}) == 3
    repaired = played("complete:4", attack, **own)
    assert all("DIFFERENT_VALUE" in found for found in reasons(repaired).values())
    far = reasons(played("cycle:5", attack, **own))
    assert {v for v, found in far.items() if "NO_VALUE" in found} == {1, 2}
    for phase in (HASHES, ESTIMATES):
        assert played("cycle:5", LastRoundEquivocator(phase)).outcome == "c"
    assert played("path:2", attack).outcome in {"b", "c"}


@pytest.mark.checks("AD-9", "VB-6", "V2")
@pytest.mark.parametrize("phase", [KEYS, HASHES, ESTIMATES])
@pytest.mark.parametrize("graph", ["complete:4", "cycle:5"])
def test_a_relay_cannot_tamper_unseen(graph: str, phase: str) -> None:
    finished = played(graph, RelayTamperer(phase))
    assert all("DIFFERENT_VALUE" in found for found in reasons(finished).values())
    one = played(graph, RelayTamperer(phase, source=0))
    assert any("DIFFERENT_VALUE" in found for found in reasons(one).values())
    assert one.outcome == finished.outcome == "c"


@pytest.mark.checks("AD-9", "SA-3", "S4")
@pytest.mark.parametrize(
    ("attack", "valid"),
    [
        (LateFalseAlarm(), (1, 2)),
        (LateFalseAlarm(receiver=0), (1, 2, 3)),
        (LateFalseAlarm(round=3, receiver=0), (2, 3)),
        (LateFalseAlarm(round=2, receiver=0), (3,)),
        (LateFalseAlarm(round=1, receiver=0), ()),
        (LateFalseAlarm(round=3), ()),
    ],
    ids=str,
)
def test_a_late_false_alarm_splits_the_network_by_distance(attack, valid) -> None:
    """Cycle 0-..-4, Byzantine 4: the honest agents are the path 0-1-2-3."""
    finished = played("cycle:5", attack)
    assert finished.execution.honest_valid == valid
    assert finished.outcome == ("b" if valid else "c")
    assert all(found == set() for found in reasons(finished).values())
    with pytest.raises(AttackError, match=r"rounds 1\.\.4"):
        played("cycle:5", LateFalseAlarm(round=5))


@pytest.mark.witness("P08")
@pytest.mark.checks("AD-9", "LV-7")
def test_a_balanced_report_passes_where_only_neighbours_are_checked() -> None:
    options = {"byzantine": (0,), "keys_checked": CheckedKeys.OWN}
    for without in (("P08",), ()):
        finished = played("cycle:5", BalancedReport(), without=without, **options)
        assert broken_relations(finished.execution) == (0,)
        assert undetected(finished.execution) == ((0,) if without else ())
        assert finished.execution.honest_valid == ((1, 2, 3, 4) if without else ())
    with pytest.raises(AttackError, match="nobody to lie about"):
        played("complete:4", BalancedReport(), keys_checked=CheckedKeys.OWN)
    with pytest.raises(AttackError, match="keys_checked = own"):
        played("cycle:5", BalancedReport(), byzantine=(0,))


@pytest.mark.witness("P07")
@pytest.mark.checks("AD-9", "LV-9", "GV-4")
@pytest.mark.parametrize(("graph", "byzantine"), [("path:2", (1,)), ("complete:3", (1, 2))])
def test_a_lone_honest_agent(graph: str, byzantine) -> None:
    """Its own minimiser is 0 and it ends near 50; with the self-check it objects."""
    agents = (parts.QuadraticAgent(((1.0,),), (0.0,)),) * (1 + len(byzantine))
    check = parts.Check("g", parts.Exponential(0.9), parts.ConfiguredThresholds(0.05, 0.05))
    lone = scenario(
        graph,
        LoneVictim(),
        byzantine=byzantine,
        loss=parts.Quadratics(agents),
        rounds=200,
        schedule=parts.ConstantSteps(0.009, 0.33),
        bounds=parts.NoBounds(),
        checks=(check,),
    )
    printed = run(attrs.evolve(lone, without=("P07",)))
    assert printed.execution.honest_valid == (0,)
    assert 48 < final_models(printed.execution, (0,))[0][0] < 50
    assert undetected(printed.execution) == byzantine
    assert {"SELF_MISMATCH", "SELF_ESTIMATE_MISMATCH"} <= reasons(run(lone))[0]


@pytest.mark.witness("P11")
@pytest.mark.checks("AD-9", "LV-1", "L2")
def test_keys_known_early_or_used_twice_hide_a_broken_relation() -> None:
    early = played("complete:4", EarlyKeys(), without=("P11",), rounds=12)
    assert broken_relations(early.execution) == undetected(early.execution) == (3,)
    assert early.execution.honest_valid == (0, 1, 2)
    with pytest.raises(AttackError, match="P11 is repaired"):
        played("complete:4", EarlyKeys(), rounds=12)
    keys = played("complete:4", Edits(), rounds=12).execution.states[0].memory.keys
    for named, seed, seen in ((keys, 0, False), (None, 0, True), (None, 1, True)):
        attack = EarlyKeys(scale=-3, known=keys)
        reused = played("complete:4", attack, rounds=12, keys=named, seed=seed)
        assert broken_relations(reused.execution) == (3,)
        expected = {"BROKEN_RELATION"} if seen else set()
        assert all(found == expected for found in reasons(reused).values())
    with pytest.raises(AttackError, match="4 keys leave no difference of 4 entries"):
        played("complete:4", EarlyKeys(known=keys), rounds=2)


@pytest.mark.witness("P11")
@pytest.mark.checks("HA-7")
@pytest.mark.parametrize("count", [2, 4, 8])
def test_invisible_differences_are_short(count: int) -> None:
    """Length 24: entries of about p^(m/24), 34, 1149 and 1.3 million for m = 2, 4 and 8 keys."""
    keys = tuple(pow(3, 1000 + i, P61) for i in range(count))
    v = invisible_difference(P61, keys, 24)
    assert any(v)
    assert max(map(abs, v)) <= P61 ** (count / 24)
    for key in keys:
        assert sum(e * pow(key, i, P61) for i, e in enumerate(v)) % P61 == 0


@pytest.mark.checks("AD-9", "AD-3")
def test_short_differences_pass_the_norm_bounds_too() -> None:
    """The product of (s - key) has entries of 60 bits and would be seen by LV-2."""
    finished = played(
        "complete:4",
        EarlyKeys(),
        without=("P11",),
        rounds=12,
        precision=Precision(28, 20),
        bounds=parts.DerivedBounds(40.0),
    )
    assert finished.execution.honest_valid == (0, 1, 2)
