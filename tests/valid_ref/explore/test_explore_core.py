"""The compiled core, the plain twin, the real machines and the guarantees say the same."""

from collections.abc import Mapping
from itertools import product
from typing import Any

import attrs
import pytest

from valid_ref.alarms import Alarm
from valid_ref.explore import BroadcastVariant, Explored, Flood, Script, Settings, explore
from valid_ref.explore.cases import broadcast_classes, pairs
from valid_ref.explore.counterexample import (
    BROADCAST_GUARANTEES,
    outcome_of,
    replay_script,
    states_of,
)
from valid_ref.explore.kernels import (
    BYZANTINE,
    V2,
    V4,
    V5,
    VS1,
    add_agent,
    add_or_not,
    count_sets,
    hear,
)
from valid_ref.explore.plain import PlainBroadcast, cheapest_lies, cheapest_words, reachable
from valid_ref.explore.run import Chunk, explore_chunk, measure_plain
from valid_ref.explore.settings import SLOT, AgreementRounds, AgreementVariant
from valid_ref.explore.steps import broadcast_contexts
from valid_ref.guarantees.broadcast import common_values_or_all_alarmed
from valid_ref.protocols.agreement import AgreementState

VARIANTS = [
    BroadcastVariant(flood, compare, null_alarm, resend)
    for flood in Flood
    for compare, null_alarm, resend in product((False, True), repeat=3)
]
AGREEMENTS = [
    AgreementVariant(rounds, persist) for rounds in AgreementRounds for persist in (True, False)
]


def all_cases(settings: Settings) -> Settings:
    return attrs.evolve(settings, symmetry=False)


@pytest.mark.checks("V2", "V4", "V5")
@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_verdicts_are_those_of_the_guarantees_over_all_plain_ends(
    variant: BroadcastVariant,
) -> None:
    settings = Settings(max_agents=3, broadcast=variant, symmetry=False)
    check_against_the_guarantees(settings)


@pytest.mark.checks("V2", "V4", "V5")
@pytest.mark.parametrize("values", [("a",), ("a", "b"), ("a", "b", "c")])
def test_and_on_four_agents_with_one_to_three_values(values: tuple[str, ...]) -> None:
    check_against_the_guarantees(Settings(min_agents=4, max_agents=4, values=values))


def check_against_the_guarantees(settings: Settings) -> None:
    classes = broadcast_classes(settings)
    chunk = Chunk(settings, tuple((one.rows, one.source, one.rounds) for one in classes))
    bits = {"V2": V2, "V4": V4, "V5": V5}
    for one, (verdict, states) in zip(classes, explore_chunk(chunk), strict=True):
        case = one.first
        ends, count = reachable(PlainBroadcast(case, settings.broadcast, len(settings.values)))
        assert states == count
        script = Script("", case.graph, case.byzantine, (), source=case.named_source)
        for name, guarantee in BROADCAST_GUARANTEES.items():
            outcomes = (outcome_of(script, states_of(script, end, settings.values)) for end in ends)
            violated = any(not guarantee(outcome) for outcome in outcomes)
            assert bool(verdict & bits[name]) == violated, (case, name)


@pytest.mark.checks("VS1")
@pytest.mark.parametrize("agreement", AGREEMENTS, ids=str)
@pytest.mark.parametrize("broadcast", [BroadcastVariant(), VARIANTS[0], VARIANTS[11]], ids=str)
def test_the_composition_is_judged_as_the_guarantee_does(
    broadcast: BroadcastVariant, agreement: AgreementVariant
) -> None:
    settings = Settings(
        Explored.BOTH, max_agents=3, broadcast=broadcast, agreement=agreement, symmetry=False
    )
    classes = broadcast_classes(settings)
    chunk = Chunk(settings, tuple((one.rows, one.source, one.rounds) for one in classes))
    for one, (verdict, _) in zip(classes, explore_chunk(chunk), strict=True):
        case, violated = one.first, False
        script = Script("", case.graph, case.byzantine, (), source=case.named_source)
        for end in reachable(PlainBroadcast(case, broadcast, 2))[0]:
            outcome = outcome_of(script, states_of(script, end, settings.values))
            for alarmed in cheapest_lies(case, agreement, frozenset(outcome.alarmed)):
                states = {v: AgreementState(v, v in alarmed) for v in case.honest}
                violated = violated or not common_values_or_all_alarmed(outcome, states)
        assert bool(verdict & VS1) == violated, case


@pytest.mark.checks("VB-5", "VB-6", "VB-7", "VB-8")
@pytest.mark.parametrize("variant", [BroadcastVariant(), VARIANTS[0], VARIANTS[2]], ids=str)
def test_one_step_is_that_of_the_real_machine_for_every_state_and_inbox(
    variant: BroadcastVariant,
) -> None:
    settings = Settings(max_agents=5, broadcast=variant)
    names = (None, *settings.values)
    loops: Any = hear
    for machine, number, state, inbox in broadcast_contexts(settings):
        held = names.index(state.held.get((1, SLOT)))
        compares = variant.compare and number == machine.rounds
        reached = held
        for message in inbox.values():
            assert isinstance(message, Mapping)
            word = names.index(message.get((1, SLOT)))
            if held or not compares:
                reached = loops.py_func(reached, word, 2)
        after = machine.receive(state, number, inbox)
        raised = {alarm.alarm for alarm in after.alarms[len(state.alarms) :]}
        assert names.index(after.held.get((1, SLOT))) == (reached - 2 if reached > 2 else reached)
        assert (Alarm.DIFFERENT_VALUE in raised) == (reached > 2)
        null = variant.null_alarm and number == machine.rounds and reached == 0
        assert (Alarm.NO_VALUE in raised) == null


def test_families_are_sets_of_sets() -> None:
    import numpy as np

    for mask in (1, 0b1010, 0b110101):
        family = {a for a in range(64) if mask >> a & 1}
        for agent in range(6):
            with_agent = {a | 1 << agent for a in family}
            assert int(add_agent(np.uint64(mask), agent)) == sum(1 << a for a in with_agent)
            assert int(add_or_not(np.uint64(mask), agent)) == sum(
                1 << a for a in with_agent | family
            )
    assert count_sets(np.uint64(2**64 - 1)) == 64


@pytest.mark.parametrize("explored", Explored)
def test_symmetry_changes_no_count(explored: Explored) -> None:
    settings = Settings(explored, max_agents=4)
    reduced, full = explore(settings), explore(attrs.evolve(settings, symmetry=False))
    assert reduced.tallies == full.tallies
    assert reduced.represented == full.represented == full.states
    assert reduced.states < full.states
    assert reduced.classes < full.classes


def test_pairs_are_counted_as_the_errata_do() -> None:
    counts = [sum(1 for _ in pairs(agents)) for agents in range(2, 6)]
    assert sum(counts) == 552


def test_a_third_value_changes_no_verdict() -> None:
    two, three = (
        explore(Settings(max_agents=4, values=values)) for values in (("a", "b"), ("a", "b", "c"))
    )
    for name in ("V2", "V4", "V5"):
        assert two.tallies[name] == three.tallies[name]


@pytest.mark.checks("V4")
def test_v4_needs_no_assumption_about_the_byzantine_set() -> None:
    found = explore(Settings(max_agents=5, properties=("V4",), all_sets=True))
    assert found.violations("V4") == 0
    printed = explore(
        Settings(max_agents=4, properties=("V4",), all_sets=True, broadcast=VARIANTS[0])
    )
    assert printed.violations("V4") > 0


def test_scripts_lead_where_the_plain_twin_says() -> None:
    """Every end of every case with three agents, replayed through the real machines."""
    settings = Settings(max_agents=3, symmetry=False)
    for one in broadcast_classes(settings):
        plain = PlainBroadcast(one.first, settings.broadcast, 2)
        for end, step in cheapest_words(plain, settings.values).items():
            script = Script(
                "V2",
                one.first.graph,
                one.first.byzantine,
                step.words,
                broadcast=settings.broadcast,
                source=one.first.named_source,
            )
            told = replay_script(script).broadcast
            expected = states_of(script, end, settings.values)
            for agent in one.first.honest:
                assert told.states[agent].held == expected[agent].held
                assert bool(told.states[agent].alarms) == bool(expected[agent].alarms)


def test_the_compiled_core_is_faster_and_counts_the_same() -> None:
    speed = measure_plain(Settings(max_agents=5), every=20)
    assert speed.states > 1000
    assert speed.ratio > 3


def test_byzantine_neighbours_in_a_row_are_two_at_most() -> None:
    for one in broadcast_classes(Settings(max_agents=5)):
        for row in one.rows.tolist():
            text = "".join("B" if entry == BYZANTINE else "." for entry in row)
            assert "BBB" not in text
