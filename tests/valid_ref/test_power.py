"""The search for harm that nobody sees: courses, the strongest unseen push, going on."""

import json
import math

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from valid_ref.cli import app
from valid_ref.power import (
    Course,
    Found,
    PowerError,
    Push,
    Searches,
    confirm,
    course,
    pushes,
    search,
    worst,
)
from valid_ref.scenario import Scenario, parts, prepare

SMALL = Scenario(
    graph=parts.Family("complete:4"),
    loss=parts.RandomRidge(dimension=2, samples=5),
    rounds=12,
    seed=5,
    byzantine=(3,),
)
PREPARED = prepare(SMALL)


@pytest.mark.parametrize("kind", Course)
@given(st.lists(st.integers(0, 9), min_size=2, max_size=12).filter(any))
def test_a_course_has_a_factor_of_at_most_one_for_every_round(kind, weights) -> None:
    factors = course(kind, weights)
    assert len(factors) == len(weights)
    assert all(-1 <= factor <= 1 for factor in factors)


@given(st.lists(st.integers(1, 9), min_size=2, max_size=12))
def test_a_balanced_push_has_no_weighted_sum(weights) -> None:
    factors = course(Course.BALANCED, weights)
    assert math.isclose(
        math.fsum(w * f for w, f in zip(weights, factors, strict=True)), 0, abs_tol=1e-9
    )
    assert factors[0] > 0


def test_pushes_go_both_ways_along_every_axis_with_every_course() -> None:
    found = pushes(PREPARED, directions=2, repeats=2)
    assert len(found) == len(set(found)) == 2 * 2 * 2 * len(Course)
    assert all(math.isclose(math.hypot(*push.vector), 1) for push in found)


def test_without_a_byzantine_agent_there_is_nothing_to_search() -> None:
    with pytest.raises(PowerError, match="no Byzantine agent"):
        pushes(prepare(attrs.evolve(SMALL, byzantine=())), directions=1, repeats=1)


@pytest.mark.checks("GV-5", "GV-6", "VA-5")
@pytest.mark.parametrize("repeat", [0, 1])
def test_the_strongest_unseen_push_raises_no_alarm_and_one_at_the_limit_does(repeat: int) -> None:
    """Both by the whole protocol, message by message."""
    push = Push(Course.CONSTANT, "+0", (1.0, 0.0), repeat)
    found = search(PREPARED, push)
    assert found.unseen
    assert 0 < found.strength < found.limit
    checked = confirm(PREPARED, push, found)
    assert checked.alarms == 0
    assert checked.judgement.squared_distance == pytest.approx(found.harm)
    beyond = confirm(PREPARED, push, attrs.evolve(found, strength=found.limit))
    assert beyond.alarms > 0


def test_a_push_that_is_always_seen_is_said_to_be() -> None:
    """Thresholds that honest runs already miss."""
    tight = parts.Check("t", parts.Polynomial(), parts.ConfiguredThresholds(1e-9, 1e-9))
    prepared = prepare(attrs.evolve(SMALL, checks=(tight,)))
    found = search(prepared, Push(Course.LATE, "+0", (1.0, 0.0), 0))
    assert not found.unseen
    assert found.strength == 0
    assert list(worst([found])) == []


def test_the_worst_of_every_course_is_the_one_with_the_most_harm() -> None:
    def made(kind: Course, harm: float, *, unseen: bool = True) -> Found:
        return Found(kind, "+0", 0, unseen, strength=1.0, limit=2.0, harm=harm, moved=0.0)

    rows = [
        made(Course.LATE, 1.0),
        made(Course.LATE, 3.0),
        made(Course.LATE, 9.0, unseen=False),
        made(Course.EARLY, 2.0),
    ]
    assert list(worst(rows)) == [rows[3], rows[1]]


def test_a_search_goes_on_where_it_stopped(tmp_path) -> None:
    wanted = pushes(PREPARED, directions=1, repeats=1)[:3]
    kept = Searches(tmp_path / "sub" / "searches.jsonl")
    found = kept.all(PREPARED, wanted)
    lines = kept.path.read_text().splitlines()
    assert len(lines) == 1 + len(wanted)
    kept.path.write_text("\n".join([*lines[:2], lines[2][:-4]]))  # cut off in a line
    assert kept.all(PREPARED, wanted) == found
    changed = attrs.evolve(found[0], harm=7.0)
    document = json.loads(lines[1]) | {"harm": 7.0}
    kept.path.write_text("\n".join([lines[0], json.dumps(document)]) + "\n")
    assert kept.all(PREPARED, wanted[:1]) == [changed]


def test_the_searches_of_another_scenario_are_refused(tmp_path) -> None:
    kept = Searches(tmp_path / "searches.jsonl")
    kept.all(PREPARED, [])
    with pytest.raises(PowerError, match="does not name this scenario"):
        kept.all(prepare(attrs.evolve(SMALL, rounds=13)), [])


@pytest.mark.parametrize("line", ['{"scenario": "ab', '{"scenario": "abc"}', "[" * 10_000])
def test_a_damaged_first_line_is_refused(tmp_path, line: str) -> None:
    kept = Searches(tmp_path / "searches.jsonl")
    kept.path.write_text(line + "\n")
    with pytest.raises(PowerError, match="or is damaged"):
        kept.all(PREPARED, [])


def test_an_empty_file_is_begun_anew_and_nonsense_is_searched_again(tmp_path) -> None:
    kept, wanted = Searches(tmp_path / "searches.jsonl"), pushes(PREPARED, directions=1, repeats=1)
    kept.path.write_text("")
    found = kept.all(PREPARED, wanted[:1])
    first, line = kept.path.read_text().splitlines()
    kept.path.write_text("\n".join([first, "1" * 5000, "[" * 10_000, "{}"]) + "\n")
    assert kept.all(PREPARED, wanted[:1]) == found
    assert kept.path.read_text().splitlines()[-1] == line


def test_all_agents_byzantine_is_refused() -> None:
    everybody = attrs.evolve(PREPARED, byzantine=frozenset(range(4)))
    with pytest.raises(PowerError, match="no honest agent"):
        pushes(everybody, directions=1, repeats=1)


def test_a_file_that_no_search_wrote_is_found_out(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    words = ["power", "--graph", "complete:3", "--loss", "random-ridge:dimension=1,samples=4"]
    words += ["--rounds", "6", "--byzantine", "2", "--directions", "1", "--no-plot"]
    words += ["-o", str(tmp_path / "out")]
    assert CliRunner().invoke(app, words).exit_code == 0
    path = tmp_path / "out" / "searches.jsonl"
    first, *lines = path.read_text().splitlines()
    lies = [json.loads(line) | {"strength": 1e6, "harm": 99.0, "unseen": True} for line in lines]
    path.write_text("\n".join([first, *map(json.dumps, lies)]) + "\n")
    result = CliRunner().invoke(app, words)
    assert isinstance(result.exception, PowerError)
    assert "not what a search wrote" in str(result.exception)


def test_the_command_prints_a_table_and_leaves_files(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    words = ["power", "--graph", "complete:3", "--loss", "random-ridge:dimension=1,samples=4"]
    words += ["--rounds", "6", "--byzantine", "2", "--directions", "1", "-o", str(tmp_path / "out")]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output
    assert "largest unseen squared distance" in " ".join(result.output.split())
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {"searches.jsonl", "summary.json", "harm.svg"}
    again = CliRunner().invoke(app, [*words, "--json", "--no-plot"])
    document = json.loads(again.output)
    assert document["confirmed"]["alarms"] == 0
    assert document["largest_unseen"] == max(row["harm"] for row in document["courses"])
    blocked = CliRunner().invoke(app, [*words[:-1], str(tmp_path / "out" / "harm.svg")])
    assert blocked.exit_code != 0
