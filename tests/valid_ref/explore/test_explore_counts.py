"""The counts of the errata, and the manifest, come out again."""

from pathlib import Path

import pytest

from valid_ref.explore import (
    AgreementRounds,
    AgreementVariant,
    BroadcastVariant,
    Exploration,
    Explored,
    Flood,
    Settings,
    counts_of,
    explore,
    read_manifest,
)
from valid_ref.explore.results import RecordedExploration
from valid_ref.reading import Reading

MANIFEST = Path(__file__).resolve().parents[3] / "docs" / "tables" / "explored.json"
ENTRIES = read_manifest(MANIFEST)
BYZANTINE, HONEST = "Byzantine source", "honest source"

NULL_ALONE = BroadcastVariant(Flood.PRINTED, compare=False, null_alarm=True, resend=True)
ONE_MORE_ROUND = BroadcastVariant(Flood.PRINTED_AND_ONE, False, True, resend=True)
COMPARE_ALONE = BroadcastVariant(null_alarm=False)


def name_of(entry: RecordedExploration) -> str:
    settings = entry.settings
    return f"{settings.explored.slug}-{settings.max_agents}-{ENTRIES.index(entry)}"


def recorded(settings: Settings) -> RecordedExploration:
    """The one entry of the manifest with these settings."""
    return next(e for e in ENTRIES if e.settings.as_json() == settings.as_json())


def violations(entry: RecordedExploration, prop: str, kind: str) -> tuple[int, int]:
    tally = entry.counts["properties"][prop]["kinds"][kind]
    return tally["violations"], tally["instances"]


def run(explored: Explored, reading: Reading, agents: int) -> Exploration:
    return explore(Settings.for_reading(explored, reading, max_agents=agents))


@pytest.mark.checks("V1", "V2", "V3", "V4", "V5", "VS1", "S1", "S2", "S3", "S4")
@pytest.mark.parametrize("entry", [e for e in ENTRIES if e.settings.max_agents <= 5], ids=name_of)
def test_the_manifest_holds_up_to_five_agents(entry: RecordedExploration) -> None:
    assert counts_of(explore(entry.settings)) == entry.counts


@pytest.mark.deep
@pytest.mark.parametrize("entry", [e for e in ENTRIES if e.settings.max_agents > 5], ids=name_of)
def test_the_manifest_holds_beyond(entry: RecordedExploration) -> None:
    assert counts_of(explore(entry.settings, jobs=2)) == entry.counts


@pytest.mark.checks("VB-2", "VB-7", "VB-8")
def test_what_is_repaired_is_never_violated_in_any_entry() -> None:
    repaired = [
        entry
        for entry in ENTRIES
        if entry.settings.broadcast == BroadcastVariant()
        and entry.settings.agreement == AgreementVariant()
    ]
    assert {entry.settings.max_agents for entry in repaired} >= {5, 6, 7}
    assert {entry.settings.explored for entry in repaired} == set(Explored)
    for entry in repaired:
        for name, counts in entry.counts["properties"].items():
            assert (counts["violations"] > 0) == (name == "V5"), (entry.settings, name)


@pytest.mark.witness("P01")
@pytest.mark.parametrize(
    ("variant", "violated"),
    [
        (BroadcastVariant.of(Reading.as_printed()), 5351),
        (NULL_ALONE, 3421),
        (ONE_MORE_ROUND, 3421),
        (COMPARE_ALONE, 5351),
        (BroadcastVariant(), 0),
    ],
)
def test_each_half_of_the_repair_of_p01_is_too_little(
    variant: BroadcastVariant, violated: int
) -> None:
    entry = recorded(Settings(max_agents=6, broadcast=variant))
    assert violations(entry, "V2", BYZANTINE) == (violated, 5351)


@pytest.mark.witness("P02")
@pytest.mark.checks("V5")
def test_the_printed_claim_is_false_in_160_of_1311_honest_source_instances() -> None:
    for reading in (Reading.repaired(), Reading.as_printed()):
        found = run(Explored.BROADCAST, reading, 5)
        assert found.tallies["V5"][HONEST].violations == 160
        assert found.tallies["V5"][HONEST].instances == 1311
        assert found.tallies["V2"][HONEST].violations == 0
        assert found.violating["V5"][0].graph.agents == 4


@pytest.mark.witness("P04")
def test_an_alarm_that_is_lost_misses_unanimity_in_1250_of_3872_starts() -> None:
    found = run(Explored.AGREEMENT, Reading.as_printed(), 5)
    starts = found.tallies["S2"].values()
    assert sum(tally.violations for tally in starts) == 1250
    assert sum(tally.instances for tally in starts) == 3872
    assert found.violations("S1") > 0


@pytest.mark.witness("P05")
@pytest.mark.parametrize(
    ("rounds", "failed"),
    [
        (AgreementRounds.DIAMETER, 340),
        (AgreementRounds.HONEST_LESS_ONE, 0),
        (AgreementRounds.AGENTS_LESS_ONE, 0),
    ],
)
def test_the_diameter_is_too_few_rounds(rounds: AgreementRounds, failed: int) -> None:
    found = explore(
        Settings(
            Explored.AGREEMENT,
            max_agents=6,
            agreement=AgreementVariant(rounds),
            properties=("S2",),
        )
    )
    tally = found.tallies["S2"]["one alarm"]
    assert (tally.violations, tally.instances) == (failed, 16620)


@pytest.mark.witness("P26")
@pytest.mark.checks("S4")
def test_the_sets_a_late_lie_reaches_are_the_unions_of_balls_in_every_pair() -> None:
    found = run(Explored.AGREEMENT, Reading.repaired(), 5)
    assert found.tallies["S4"]["pair"].instances == 552
    assert found.tallies["S4"]["pair"].violations == 0
    assert found.notes["pairs that a late lie can split"] == 415


def test_seven_agents_are_recorded() -> None:
    entry = recorded(Settings(max_agents=7))
    kinds = entry.counts["properties"]["V2"]["kinds"].values()
    assert sum(kind["instances"] for kind in kinds) == 347957
    assert sum(kind["violations"] for kind in kinds) == 0
