"""Lean validation over all shares of tiny fields: the bound, and what each part is for."""

import json
from itertools import combinations
from pathlib import Path
from typing import Any

import attrs
import pytest
from typer.testing import CliRunner

from valid_ref.adversary.attack import Deviation
from valid_ref.adversary.broadcasts import rewriting
from valid_ref.adversary.catalogue import ATTACKS
from valid_ref.adversary.lean_attacks import changing_along_tree
from valid_ref.cli import app
from valid_ref.errors import ValidRefError
from valid_ref.explore import ExploreError
from valid_ref.explore.lean import LeanSettings, explore_lean, instances, symmetries
from valid_ref.explore.lean_plays import (
    KINDS,
    SHAPES,
    Play,
    Shape,
    differences,
    play,
    plays,
    tiny_parameters,
    tiny_setting,
)
from valid_ref.graph import AgentGraph, assumption_1_plus
from valid_ref.graph_families import complete, cycle, path, star
from valid_ref.protocols import lean
from valid_ref.protocols.flood import TOTAL
from valid_ref.protocols.parameters import LEAN_PARTS

MANIFEST = Path(__file__).resolve().parents[3] / "docs" / "tables" / "explored-lean.json"
ENTRIES = json.loads(MANIFEST.read_text(encoding="utf-8"))["explorations"]


def name_of(entry: Any) -> str:
    return "-".join(map(str, entry["settings"].values()))


def recorded(*, slow: bool) -> list[Any]:
    """The entries that take long, or the others."""
    return [e for e in ENTRIES if (e["counts"]["all"]["runs"] > 200) == slow]


@pytest.mark.checks("LE-15")
@pytest.mark.parametrize("entry", recorded(slow=False), ids=name_of)
def test_the_manifest_comes_out_again(entry: Any) -> None:
    assert explore_lean(LeanSettings(**entry["settings"])).counts() == entry["counts"]


@pytest.mark.deep
@pytest.mark.checks("LE-15")
@pytest.mark.parametrize("entry", recorded(slow=True), ids=name_of)
def test_the_larger_entries_come_out_again(entry: Any) -> None:
    assert explore_lean(LeanSettings(**entry["settings"]), jobs=2).counts() == entry["counts"]


@pytest.mark.checks("LE-15")
def test_what_is_recorded_is_within_the_bound_and_attains_it() -> None:
    sizes = {tuple(entry["settings"].values()) for entry in ENTRIES}
    assert {(4, 2, 1, False), (5, 5, 1, True), (3, 2, 2, False)} <= sizes
    for entry in ENTRIES:
        kinds = entry["counts"]["kinds"]
        assert set(kinds) == set(KINDS)
        for tally in kinds.values():
            assert tally["beyond"] == 0
            assert tally["at_the_bound"] <= tally["lies"] <= tally["runs"]
        assert entry["counts"]["all"]["at_the_bound"] > 0


@pytest.mark.checks("LE-15")
def test_what_is_explored() -> None:
    """The sets under Assumption 1+ of every graph, the first of each symmetry; all lies."""
    found = instances(LeanSettings(4, 2))
    by_graph: dict[AgentGraph, list[frozenset[int]]] = {}
    for one in found:
        by_graph.setdefault(one.graph, []).append(one.byzantine)
    for graph, sets in by_graph.items():
        agents = range(graph.agents)
        every = (frozenset(s) for size in agents for s in combinations(agents, size))
        assert set(sets) == {s for s in every if s and assumption_1_plus(graph, s)}
        same, classes = symmetries(graph), set[frozenset[frozenset[int]]]()
        for chosen in sets:
            classes.add(frozenset(frozenset(one[b] for b in chosen) for one in same))
        firsts = [one for one in found if one.graph == graph and one.first]
        assert len(firsts) == len(classes)
    assert len(by_graph) == 1 + 2 + 6
    assert len(symmetries(complete(4))) == 24
    assert differences(1) == ((1,),)
    assert set(differences(2)) == {(0, 1), (1, 0), (1, 1), (1, -1)}
    for sizes in ((6, 2), (3, 4), (1, 1)):
        with pytest.raises(ExploreError, match="explored with 2 to 5 agents"):
            LeanSettings(*sizes)


@pytest.mark.checks("LE-15")
def test_one_tuple_of_shares_stands_for_all_with_its_keys() -> None:
    for graph, kappa in ((path(3), 1), (path(2), 2)):
        parameters = tiny_parameters(graph, WIDE, kappa=kappa)
        for _kind, one in plays(parameters, frozenset({0})):
            by_key, all_of_them = one.count_by_key(), one.count()
            assert tuple(one.others * count for count in by_key) == all_of_them


# What each part is for: with it the count is within the bound, without it beyond.

LONG, WIDE = SHAPES
LAST = (0, 1)
"""A lie about Gamma(2) alone: a multiple of the key, so that the key 0 does not see it."""


def staged(
    kind: str,
    graph: AgentGraph,
    byzantine: frozenset[int],
    *without: str,
    lie: tuple[int, ...],
    shape: Shape,
) -> Play:
    """A named attack, with its lie already told in the learning."""
    parameters = tiny_parameters(graph, shape, without=("range", *without))
    deviation = ATTACKS[kind]().build(tiny_setting(parameters, byzantine))
    told = {(b, u): lie for b in byzantine for u in graph.neighbours(b)}
    return play(parameters, byzantine, told, deviation)


WITNESSES = {
    "commitment": ("adaptive-opening", path(3), (0,), LAST, LONG),
    "nonce": ("guessed-shares", path(3), (0,), LAST, LONG),
    "agent": ("copied-commitment", complete(3), (0, 1), LAST, LONG),
    "total-first": ("late-total", star(3), (0,), (0, 0), WIDE),
    "record": ("false-own-report", cycle(3), (0,), (1, 0), LONG),
}


@pytest.mark.checks("LE-15", "LE-18", "LE-19")
@pytest.mark.parametrize("part", WITNESSES)
def test_a_part_left_out_lets_a_lie_go_unseen_under_all_shares(part: str) -> None:
    kind, graph, byzantine, lie, shape = WITNESSES[part]
    without = staged(kind, graph, frozenset(byzantine), part, lie=lie, shape=shape)
    runs, unseen = without.count()
    assert unseen == runs > without.bound
    try:
        whole = staged(kind, graph, frozenset(byzantine), lie=lie, shape=shape)
    except ValidRefError as error:
        assert part in {"nonce", "total-first"}, error
    else:
        assert whole.count()[1] <= whole.bound


@pytest.mark.checks("LE-3", "LE-18", "LE-19")
def test_a_total_that_wraps_goes_unseen_under_all_shares() -> None:
    """p = 3, and a total of 3 where 0 is right; L = 2 and n = 3 leave room for it."""
    parameters = tiny_parameters(star(3), LONG)
    wrapped = Deviation(changing_along_tree(lean.FIX, TOTAL, lambda _v, _e, own: (own[0] + 3,)))
    runs, unseen = play(parameters, frozenset({0}), {}, wrapped).count()
    assert unseen == runs == 9
    with pytest.raises(ValidRefError, match="a sum could wrap"):
        tiny_parameters(star(3), LONG, without=())


@pytest.mark.checks("LE-17", "LE-18", "LE-19")
def test_a_round_less_alarms_honest_agents() -> None:
    for graph in (path(3), complete(3), star(4)):
        nobody: frozenset[int] = frozenset()
        whole = play(tiny_parameters(graph, LONG), nobody, {})
        assert whole.count() == (3**graph.agents, 3**graph.agents)
        less = tiny_parameters(graph, LONG, without=("range", "last-round"))
        assert play(less, nobody, {}).count() == (3**graph.agents, 0)


def test_every_part_has_a_witness() -> None:
    assert {*WITNESSES, "range", "last-round"} == {*LEAN_PARTS}


@pytest.mark.checks("LE-19")
def test_a_hidden_agent_says_what_it_likes() -> None:
    """The path w-v-h: nobody checks w, and with its words the broken relation of v holds."""
    parameters, byzantine = tiny_parameters(path(3), LONG), frozenset({0, 1})

    def balance(view: Any, edge: Any, said: Any) -> Any:
        tag = (0, lean.REPORTED)
        if tag not in said or edge[0] != 0:
            return said
        h_out, h_in, h_eta, h_gamma, ghat = said[tag]
        key = view.byzantine_states[0].memory.keys[0]
        lie = key  # the hash of LAST
        return {**said, tag: (h_out, h_in, (h_eta + lie) % 3, (h_gamma - lie) % 3, ghat)}

    deviation = Deviation(rewriting(lean.REPORT, balance))
    runs, unseen = play(parameters, byzantine, {(1, 2): LAST, (1, 0): LAST}, deviation).count()
    assert (runs, unseen) == (3, 3)
    plain = play(parameters, byzantine, {(1, 2): LAST, (1, 0): LAST})
    assert plain.count() == (3, 1)


# The command.


@pytest.mark.checks("LE-15")
def test_the_command_prints_records_and_continues(tmp_path: Path) -> None:
    words = ["explore", "--protocol", "lean", "--max-agents", "2", "--jobs", "1"]
    manifest, state = tmp_path / "m.json", tmp_path / "s.jsonl"
    first = CliRunner().invoke(app, [*words, "--record", str(manifest), "--resume", str(state)])
    assert first.exit_code == 0, first.output
    assert "2 Byzantine sets" in first.output
    again = CliRunner().invoke(app, [*words, "--json", "--resume", str(state)])
    [entry] = json.loads(manifest.read_text(encoding="utf-8"))["explorations"]
    assert json.loads(again.output)["counts"] == entry["counts"]
    more = ["--record", str(manifest), "--kappa", "2", "--by-key", "--quiet"]
    assert CliRunner().invoke(app, [*words, *more]).output.strip() == "0"
    both = json.loads(manifest.read_text(encoding="utf-8"))["explorations"]
    assert [one["settings"]["kappa"] for one in both] == [1, 2]
    bad = CliRunner().invoke(app, [*words[:3], "--max-agents", "9"])
    assert isinstance(bad.exception, ExploreError)
    assert attrs.asdict(LeanSettings(2)) == entry["settings"]
