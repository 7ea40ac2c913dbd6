"""Scripts: written, read, replayed through the real machines, told as a story."""

import copy
import json
import subprocess
import sys

import attrs
import pytest

from valid_ref.errors import ValidRefError
from valid_ref.explore import (
    AgreementRounds,
    AgreementVariant,
    BroadcastVariant,
    Explored,
    ExploreError,
    Flood,
    Script,
    Settings,
    Word,
    explore,
    replay_script,
    smallest_counterexample,
    tell,
)
from valid_ref.explore.settings import BROADCAST_PHASE
from valid_ref.graph_families import complete, star
from valid_ref.protocols.agreement import PHASE, ValidationStateAgreement
from valid_ref.protocols.broadcast import ValidatedBroadcast
from valid_ref.reading import Reading

PRINTED = BroadcastVariant.of(Reading.as_printed())


def late_equivocation(variant: BroadcastVariant, number: int) -> Script:
    words = tuple(Word(BROADCAST_PHASE, number, 0, v, w) for v, w in ((1, "a"), (2, "b")))
    return Script("V2", complete(3), frozenset({0}), words, broadcast=variant)


@pytest.mark.witness("P01")
@pytest.mark.checks("VB-7", "VB-8")
def test_the_worked_example_of_the_specification() -> None:
    assert not replay_script(late_equivocation(PRINTED, 3)).verdict
    for number in (1, 2, 3):
        assert replay_script(late_equivocation(BroadcastVariant(), number)).verdict


@pytest.mark.witness("P02")
def test_the_smallest_counterexample_to_the_printed_claim_is_the_star() -> None:
    found = explore(Settings(max_agents=5, properties=("V5",)))
    script = smallest_counterexample(found, "V5")
    assert script is not None
    assert script.graph.degree(3) == 3
    assert len(script.byzantine) == len(script.words) == 1
    story = tell(replay_script(script))
    assert "0 (Byzantine) says b to 3; 1 says a to 3" in story
    assert "3 adopts b" in story
    assert "3 alarms: DIFFERENT_VALUE from 1 [VB-6]" in story
    assert story.endswith("so: agent 2: not the value of (1, 'value'), and no own alarm")


@pytest.mark.parametrize(
    ("settings", "name", "agents", "words"),
    [
        (Settings(broadcast=PRINTED), "V2", 2, 0),
        (Settings(broadcast=PRINTED), "V4", 3, 0),
        (Settings(broadcast=attrs.evolve(PRINTED, null_alarm=True)), "V2", 3, 2),
        (Settings(broadcast=BroadcastVariant(Flood.PRINTED_AND_ONE, False)), "V2", 3, 2),
        (Settings(broadcast=BroadcastVariant(null_alarm=False)), "V2", 2, 0),
        (Settings(Explored.BOTH, broadcast=PRINTED), "VS1", 2, 0),
        (Settings(Explored.AGREEMENT, agreement=AgreementVariant(persist=False)), "S1", 2, 0),
        (Settings(Explored.AGREEMENT, agreement=AgreementVariant(persist=False)), "S2", 2, 0),
        (Settings(Explored.AGREEMENT, agreement=AgreementVariant(persist=False)), "S4", 3, 1),
        (
            Settings(
                Explored.AGREEMENT,
                agreement=AgreementVariant(AgreementRounds.DIAMETER),
                properties=("S2",),
            ),
            "S2",
            5,
            0,
        ),
    ],
)
def test_the_smallest_counterexample_is_replayed_and_survives_json(
    settings: Settings, name: str, agents: int, words: int
) -> None:
    script = smallest_counterexample(explore(settings), name)
    assert script is not None
    assert (script.graph.agents, len(script.words)) == (agents, words)
    again = Script.from_json(json.loads(json.dumps(script.as_json())))
    assert again == script
    replayed = replay_script(again)
    assert not replayed.verdict
    assert tell(replayed).startswith(f"{name} is violated: {agents} agents")


def test_no_counterexample_where_nothing_is_violated() -> None:
    found = explore(Settings(max_agents=4))
    assert found.broken == ()
    assert smallest_counterexample(found, "V2") is None


def test_readings_run_the_real_machines_and_only_other_variants_a_subclass() -> None:
    for reading in (
        Reading(),
        Reading.as_printed(),
        Reading.without("P01"),
        Reading.without("P22"),
    ):
        assert type(BroadcastVariant.of(reading).machine(star(3), 0)) is ValidatedBroadcast
        machine = AgreementVariant.of(reading).machine(star(3), 2)
        assert type(machine) is ValidationStateAgreement
        assert machine.rounds == AgreementVariant.of(reading).count(star(3), 2)
    odd = BroadcastVariant(compare=False)
    assert odd.machine(star(4), 0).rounds == 3
    assert AgreementVariant(AgreementRounds.DIAMETER).machine(star(5), 4).rounds == 2


def test_what_is_not_a_script_is_refused() -> None:
    good = late_equivocation(BroadcastVariant(), 2).as_json()
    assert Script.from_json(good)
    for field in good:
        broken = copy.deepcopy(good)
        del broken[field]
        with pytest.raises(ExploreError):
            Script.from_json(broken)
    for field, value in (("script", [{}]), ("graph", 3), ("broadcast", {"flood": 1}), ("more", 1)):
        with pytest.raises(ValidRefError):
            Script.from_json(good | {field: value})
    for other in (None, 3, [], "script"):
        with pytest.raises(ExploreError):
            Script.from_json(other)


def test_a_script_that_no_guarantee_judges_is_refused() -> None:
    with pytest.raises(ExploreError, match="V9"):
        replay_script(attrs.evolve(late_equivocation(BroadcastVariant(), 1), broken="V9"))


def test_words_of_other_phases_are_not_spoken() -> None:
    words = (Word(PHASE, 1, 0, 1, True),)
    script = Script("V2", complete(3), frozenset({0}), words, broadcast=BroadcastVariant())
    told = replay_script(script).broadcast
    assert all(spoken.on_edge(0, 1) == {} for spoken in told.rounds)


def test_scripts_load_without_the_compiled_core() -> None:
    program = "import sys; from valid_ref.explore import Script, script_adversary; "
    program += "import valid_ref.cli.explore; print('numba' in sys.modules)"
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "False"
