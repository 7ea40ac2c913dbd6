"""Explorations can be stopped, resumed and spread over processes without a difference."""

import json
import multiprocessing
from pathlib import Path

import pytest

from valid_ref.explore import Explored, ExploreError, Settings, counts_of, explore
from valid_ref.explore.run import read_state, run_chunks

SETTINGS = Settings(max_agents=5, properties=("V2", "V4", "V5"))


class StopError(Exception):
    pass


def stop_after(chunks: int):
    def watch(done: int, total: int) -> None:
        if done == chunks:
            raise StopError

    return watch


def doubled(chunk: list[int]) -> list[list[int]]:
    return [[2 * item] for item in chunk]


def test_a_stopped_exploration_is_resumed_where_it_was(tmp_path: Path) -> None:
    state = tmp_path / "state.jsonl"
    with pytest.raises(StopError):
        explore(SETTINGS, state_file=state, watch=stop_after(2))
    assert len(state.read_text().splitlines()) == 3
    seen: list[tuple[int, int]] = []
    resumed = explore(SETTINGS, state_file=state, watch=lambda *now: seen.append(now))
    assert seen[0][0] == 3
    assert seen[-1][0] == seen[-1][1]
    assert counts_of(resumed) == counts_of(explore(SETTINGS))
    seen.clear()
    again = explore(SETTINGS, state_file=state, watch=lambda *now: seen.append(now))
    assert seen == []
    assert counts_of(again) == counts_of(resumed)


def test_a_line_that_was_cut_off_is_done_again(tmp_path: Path) -> None:
    state = tmp_path / "state.jsonl"
    whole = explore(SETTINGS, state_file=state)
    text = state.read_text()
    for cut in (1, 20, len(text.splitlines()[-1])):
        state.write_text(text[:-cut])
        assert counts_of(explore(SETTINGS, state_file=state)) == counts_of(whole)
        assert sorted(state.read_text().splitlines()) == sorted(text.splitlines())


def test_the_state_of_another_exploration_is_refused(tmp_path: Path) -> None:
    state = tmp_path / "state.jsonl"
    explore(SETTINGS, state_file=state)
    with pytest.raises(ExploreError, match="another exploration"):
        explore(Settings(max_agents=4), state_file=state)
    state.write_text("not a state\n")
    with pytest.raises(ExploreError, match="another exploration"):
        explore(SETTINGS, state_file=state)


def test_processes_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("valid_ref.explore.run.ENOUGH", 1)
    state = tmp_path / "state.jsonl"
    parallel = explore(SETTINGS, jobs=2, state_file=state)
    assert counts_of(parallel) == counts_of(explore(SETTINGS))
    lines = [json.loads(line) for line in state.read_text().splitlines()]
    assert [line["chunk"] for line in lines[1:]] == list(range(len(lines) - 1))
    assert not multiprocessing.active_children()


def test_chunks_come_in_their_order(tmp_path: Path) -> None:
    chunks = [[1, 2], [3], [4, 5]]
    state = tmp_path / "state.jsonl"
    assert run_chunks({"a": 1}, chunks, doubled, state_file=state) == [
        [[2], [4]],
        [[6]],
        [[8], [10]],
    ]
    assert read_state(state, json.loads(state.read_text().splitlines()[0])) == {
        0: ((2,), (4,)),
        1: ((6,),),
        2: ((8,), (10,)),
    }


@pytest.mark.parametrize(
    "bad",
    [
        {"max_agents": 8},
        {"min_agents": 1},
        {"min_agents": 4, "max_agents": 3},
        {"values": ()},
        {"values": ("a", "a")},
        {"values": ("null",)},
        {"values": ("a", "b", "c", "d")},
        {"properties": ("S2",)},
        {"properties": ()},
        {"all_sets": True, "properties": ("V2",)},
    ],
)
def test_settings_that_cannot_be_explored_are_refused(bad: dict[str, object]) -> None:
    with pytest.raises(ExploreError):
        Settings(**bad)


@pytest.mark.parametrize("explored", Explored)
def test_settings_survive_json(explored: Explored) -> None:
    settings = Settings(explored, max_agents=6)
    data = json.loads(json.dumps(settings.as_json()))
    assert Settings.from_json(data) == settings
    for field in data:
        with pytest.raises(ExploreError):
            Settings.from_json({key: value for key, value in data.items() if key != field})
    with pytest.raises(ExploreError):
        Settings.from_json(data | {"more": 1})
