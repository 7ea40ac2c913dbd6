"""LocalValidate in whole runs: every lie of one unit, on one edge, in one hash is seen."""

from collections.abc import Mapping

import numpy as np
import pytest

from tests.support import (
    LOOSE,
    alarms,
    both,
    bumped,
    edited,
    network,
    quietly,
    reasons,
    revalued,
    run,
    shifted,
    silence,
)
from valid_ref.alarms import Alarm, Raised
from valid_ref.graph_families import complete, cycle, path
from valid_ref.guarantees.local import broken_relations, equivocations, undetected
from valid_ref.machine import Message
from valid_ref.protocols.local_validate import transcript_report
from valid_ref.protocols.parameters import Bounds, CheckedKeys
from valid_ref.protocols.valid import ESTIMATES, HASHES, KEYS

LEARN, PHASE = "LearnModel", "LocalValidate"


def about_hashes(alarm: Alarm, n: int, v: int, owner: int, sender: int | None = None) -> Raised:
    return Raised(alarm, PHASE, n, sender, (v, owner))


@pytest.mark.checks("LV-2", "LV-1", "MO-7")
@pytest.mark.parametrize("t", [1, 2, 3])
@pytest.mark.parametrize(("what", "alarm"), [("model", "MODEL_NORM"), ("gamma", "GRADIENT_NORM")])
def test_a_norm_alarm_names_the_round_and_the_sender(t: int, what: str, alarm: str) -> None:
    """Agent 2 sends something long to agent 0 in a round; only the bound of that round is low."""
    low = tuple(10**12 if s == t else LOOSE for s in (1, 2, 3))
    parameters = network(complete(3), bounds=Bounds(low, low))
    attack = edited(LEARN, shifted(**{what: 10**9}), rounds=[t], edges=[(2, 0)])
    execution = run(parameters, attack, byzantine=[2])
    norms = {Alarm.MODEL_NORM, Alarm.GRADIENT_NORM}
    assert [r for r in alarms(execution, 0) if r.alarm in norms] == [
        Raised(Alarm[alarm], PHASE, t, 2)
    ]
    assert not reasons(execution, 1) & norms
    assert not execution.honest_valid


@pytest.mark.checks("LV-7", "LV-9", "LV-6", "MO-7")
@pytest.mark.parametrize("which", range(4))
@pytest.mark.parametrize("owner", range(4))
@pytest.mark.parametrize("checked", CheckedKeys)
def test_a_lie_in_one_hash_under_one_key_is_seen(which, owner, checked) -> None:
    """Agent 3 reports on agent 0, which has other reporters, and which knows better itself."""
    parameters = network(complete(4), T=2, d=1, checked_keys=checked)
    lie = revalued((3, 0), lambda report: bumped(report, 4 * owner + which))
    execution = run(parameters, quietly(edited(HASHES, lie)), byzantine=[3])
    for agent in range(3):
        seen = checked is CheckedKeys.ALL or agent == owner
        expected = [about_hashes(Alarm.INCONSISTENT_HASHES, 4, 0, owner)]
        if agent == 0:
            expected.append(about_hashes(Alarm.SELF_MISMATCH, 4, 0, owner, sender=3))
        assert alarms(execution, agent) == (expected if seen else [])
    assert bool(execution.honest_valid) == (checked is CheckedKeys.OWN and owner == 3)


@pytest.mark.checks("LV-8")
@pytest.mark.parametrize("which", range(4))
def test_a_lie_of_the_lowest_numbered_reporter_breaks_relations_too(which: int) -> None:
    """Agent 0 lies about agent 1; the mixed models of 1 occur in the relations of all."""
    lie = revalued((0, 1), lambda report: bumped(report, 4 * 2 + which))
    execution = run(network(complete(4)), edited(HASHES, lie), byzantine=[0])
    broken = {r.about for r in alarms(execution, 2) if r.alarm is Alarm.BROKEN_RELATION}
    assert broken == {(v, 2) for v in (range(4) if which == 2 else (1,))}


@pytest.mark.checks("LV-9")
def test_a_balanced_lie_of_the_only_reporter_is_seen_by_its_victim() -> None:
    """Path 0-1-2: 1 adds 1 to H_out of 0 and takes 2^k off H_Gamma; the relation still holds."""
    parameters = network(path(3))

    def balance(report: tuple[int, ...]) -> tuple[int, ...]:
        return bumped(bumped(report, 4 * 2), 4 * 2 + 3, -16)

    execution = run(parameters, edited(HASHES, revalued((1, 0), balance)), byzantine=[1])
    assert alarms(execution, 0) == [about_hashes(Alarm.SELF_MISMATCH, 3, 0, 2, sender=1)]
    assert alarms(execution, 2) == []


@pytest.mark.checks("LV-7", "L2")
@pytest.mark.parametrize("t", [1, 2, 3])
@pytest.mark.parametrize("entry", [0, 1])
@pytest.mark.parametrize("what", ["model", "gamma"])
def test_equivocation_by_one_unit_on_one_edge_is_seen(t: int, entry: int, what: str) -> None:
    attack = edited(LEARN, shifted(**{what: 1}, entry=entry), rounds=[t], edges=[(3, 0)])
    execution = run(network(complete(4)), attack, byzantine=[3])
    assert equivocations(execution) == (3,)
    assert broken_relations(execution) == undetected(execution) == ()
    expected = {about_hashes(Alarm.INCONSISTENT_HASHES, 4, 3, owner) for owner in range(4)}
    for agent in range(3):
        assert expected <= set(alarms(execution, agent))


@pytest.mark.checks("LV-8", "L2", "AR-6")
@pytest.mark.parametrize("t", [1, 2, 3])
@pytest.mark.parametrize("entry", [0, 1])
@pytest.mark.parametrize(("model", "gamma"), [(1, 0), (0, 1), (0, -1), (1, 1)])
def test_a_relation_broken_by_one_unit_is_seen_by_everybody(t, entry, model, gamma) -> None:
    """On the cycle 0-1-2-3 agent 2 is no neighbour of agent 0, and sees it all the same."""
    attack = edited(LEARN, shifted(model=model, gamma=gamma, entry=entry), rounds=[t])
    execution = run(network(cycle(4)), attack, byzantine=[0])
    assert equivocations(execution) == undetected(execution) == ()
    assert broken_relations(execution) == (0,)
    expected = [about_hashes(Alarm.BROKEN_RELATION, 4, 0, owner) for owner in range(4)]
    for agent in (1, 2, 3):
        assert alarms(execution, agent) == expected


@pytest.mark.checks("AR-6", "LV-8", "L2")
def test_an_invented_gradient_that_obeys_the_relation_is_no_matter_of_local_checks() -> None:
    """One unit more in the model and 2^k less in Gamma, in the last round: AR-6 still holds."""
    attack = edited(LEARN, shifted(model=1, gamma=-16), rounds=[3])
    execution = run(network(cycle(4)), quietly(attack), byzantine=[0])
    assert equivocations(execution) == broken_relations(execution) == undetected(execution) == ()
    assert execution.honest_valid == (1, 2, 3)


@pytest.mark.checks("LV-4", "VB-8", "VA-1")
def test_zero_stands_in_for_a_key_that_never_came() -> None:
    parameters = network(complete(3))
    execution = run(parameters, edited(KEYS, silence), byzantine=[2])
    for agent in (0, 1):
        memory = execution.states[agent].memory
        assert memory.keys[2] == 0
        missing = [Raised(Alarm.MISSING_MESSAGE, KEYS, r, 2) for r in (1, 2, 3)]
        no_key = Raised(Alarm.NO_VALUE, KEYS, 3, None, (2, "key"))
        assert alarms(execution, agent)[:4] == [*missing, no_key]
        rest = alarms(execution, agent)[4:]  # agent 2 itself hashes under its true key
        assert {raised.about[1] for raised in rest} == {2}
        first = next(spoken for spoken in execution.rounds if spoken.phase == HASHES)
        other = memory.fixed_transcripts.received[1 - agent]
        expected = transcript_report(parameters, (*memory.keys[:2], 0), other)
        assert first.said[agent][agent, 1 - agent] == expected


@pytest.mark.checks("LV-4", "VB-6")
def test_two_keys_for_two_neighbours_are_seen() -> None:
    attack = edited(KEYS, revalued((2, "key"), lambda key: key ^ 1), edges=[(2, 0)])
    execution = run(network(complete(3)), attack, byzantine=[2])
    for agent in (0, 1):
        tag = (2, "key")
        assert Raised(Alarm.DIFFERENT_VALUE, KEYS, 2, 1 - agent, tag) in alarms(execution, agent)
    assert not execution.honest_valid


def without(tag: object):
    def change(message: Mapping[object, object]) -> Message:
        return {key: value for key, value in message.items() if key != tag}

    return change


@pytest.mark.checks("LV-11", "GV-8", "VB-8")
@pytest.mark.parametrize("phase", [HASHES, ESTIMATES])
@pytest.mark.parametrize("graph", [cycle(4), path(4)], ids=["cycle", "path"])
def test_a_report_that_is_held_back_is_one_alarm_and_no_other(phase: str, graph) -> None:
    """Agent 3 keeps its report on 2 to itself; on the path 3 is still not the only reporter."""
    execution = run(network(graph), edited(phase, without((3, 2))), byzantine=[3])
    for agent in range(3):
        assert alarms(execution, agent) == [Raised(Alarm.NO_VALUE, phase, 4, None, (3, 2))]


@pytest.mark.checks("LV-6", "VB-6")
def test_a_false_relay_of_an_honest_report_is_seen() -> None:
    """Agent 1 passes on the report of 0 on 1 changed, as far as 3; 0 and 2 share no edge."""
    tag, lie = (0, 1), np.random.default_rng(0).integers(2**60, size=16).tolist()
    attack = edited(HASHES, revalued(tag, lambda _report: tuple(lie)))
    execution = run(network(path(4)), attack, byzantine=[1])
    assert reasons(execution, 0) == {Alarm.DIFFERENT_VALUE}
    assert Alarm.DIFFERENT_VALUE not in reasons(execution, 2) | reasons(execution, 3)
    assert Alarm.INCONSISTENT_HASHES in reasons(execution, 2) & reasons(execution, 3)


@pytest.mark.checks("LV-7", "LV-9", "LV-10", "L1")
@pytest.mark.parametrize("checked", CheckedKeys)
def test_an_honest_agent_is_never_named_for_what_others_do(checked: CheckedKeys) -> None:
    """Byzantine 3 breaks its relation and lies about 0; no alarm names 1 or 2."""
    attack = both(
        edited(LEARN, shifted(gamma=5), rounds=[2]),
        edited(HASHES, revalued((3, 0), lambda report: bumped(report, 2))),
    )
    execution = run(network(complete(4), checked_keys=checked), attack, byzantine=[3])
    for agent in range(3):
        assert {raised.about[0] for raised in alarms(execution, agent)} <= {0, 3}
