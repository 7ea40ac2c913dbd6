"""The page: safe escaping, nothing from outside, small; layouts; stories for every witness."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from valid_ref.alarms import Alarm
from valid_ref.explore import Explored, Settings
from valid_ref.explore.counterexample import Script, replay_script
from valid_ref.explore.plain import Word
from valid_ref.explore.settings import BROADCAST_PHASE
from valid_ref.graph import AgentGraph
from valid_ref.graph_families import parse_family
from valid_ref.markdown import html_of
from valid_ref.reading import Reading
from valid_ref.report import (
    PageView,
    erratum_view,
    render_page,
    run_view,
    view_of,
    watch_replay,
    watch_run,
)
from valid_ref.report.changes import SAME_RUN, same_run
from valid_ref.report.layout import kept_rounds, positions
from valid_ref.report.page import escape_json
from valid_ref.report.words import ALARMS, STORIES
from valid_ref.runs import run
from valid_ref.scenario import Scenario, parts
from valid_ref.testing.problems import graphs
from valid_ref.trace import load_specification
from valid_ref.trace.spec_text import erratum_parts
from valid_ref.witness import WITNESSES

SPECIFICATION = load_specification()
SMALL = Scenario(graph=parts.Family("complete:3"), rounds=3, loss=parts.RandomQuadratics(1), seed=0)


def data_of(page: str):
    [text] = re.findall(r'<script type="application/json" id="view">(.*?)</script>', page, re.S)
    return json.loads(text)


@given(
    st.recursive(
        st.text() | st.integers(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=8,
    )
)
def test_data_cannot_leave_its_element(value) -> None:
    text = escape_json(value)
    assert json.loads(text) == value
    assert not set("<>&\u2028\u2029") & set(text)


def test_a_hostile_title_stays_a_title() -> None:
    title = "</title><script>alert(1)</script>{{DATA}}"
    page = render_page(view_of(title, "</script>", [watch_run(run(SMALL), title)], SPECIFICATION))
    assert "<script>alert" not in page
    assert data_of(page)["title"] == title
    assert data_of(page)["runs"][0]["label"] == title


def test_the_page_loads_nothing_and_is_small() -> None:
    page = render_page(view_of("t", "s", [watch_run(run(SMALL), "x")], SPECIFICATION))
    assert "default-src 'none'" in page
    assert not re.search(r'\b(?:src|href)="(?!#)', page)
    assert not re.search(r"\burl\((?!#)", page)
    assert "@import" not in page
    assets = Path(__file__).parents[3] / "valid_ref" / "report" / "assets"
    scripts = sum(path.stat().st_size for path in assets.rglob("*.js"))
    assert scripts < 500_000
    shown = int(re.search(r"one file of ([\d ]+) kB", page).group(1).replace(" ", ""))
    assert abs(shown * 1000 - len(page.encode())) < 2000


def test_the_view_carries_the_text_of_every_clause_it_names() -> None:
    scenario = Scenario(
        graph=parts.Family("complete:4"),
        rounds=3,
        byzantine=(3,),
        checks=(parts.Check("w", parts.Polynomial(), parts.ConfiguredThresholds(1e-9, 1e-9)),),
        seed=0,
    )
    view = view_of("t", "s", [watch_run(run(scenario), "x")], SPECIFICATION)
    texts = {clause.identifier: clause.html for clause in view.clauses}
    named = {alarm.clause for alarm in view.runs[0].alarms}
    assert {"GV-5", "GV-6", "SA-3"} <= named <= set(texts)
    assert "<code>NOT_OPTIMAL</code>" in texts["GV-5"]


def test_specification_text_becomes_html_without_links_or_raw_html() -> None:
    html = html_of("See [P07](errata.md#p07), `a<b`, **x**, $`\\gamma`$ <script>1</script>")
    assert html == (
        "<p>See P07, <code>a&lt;b</code>, <strong>x</strong>, <code>\\gamma</code> "
        "&lt;script&gt;1&lt;/script&gt;</p>"
    )
    parts_of = erratum_parts("**Printed.** One\ntwo.\n\n**Repair.** Three.\n\nfour")
    assert parts_of == {"Printed": "One\ntwo.", "Repair": "Three."}


@pytest.mark.parametrize("erratum", sorted(WITNESSES))
def test_every_witness_has_a_story_and_a_page(erratum: str) -> None:
    witness = WITNESSES[erratum]
    view = erratum_view(
        SPECIFICATION.clauses[erratum], witness.printed(), witness.repaired(), SPECIFICATION
    )
    story = view.story
    assert story.printed_wrong
    assert not story.repaired_wrong
    assert min(map(len, (story.setting, story.wrong, story.repair))) > 20
    assert story.printed_html
    assert story.repair_html
    assert view.layout == ("beside" if len(view.runs) == 2 else "one")
    expected = {"As printed": "wrong", "Repaired": "right", SAME_RUN: "right"}
    assert all(one.outcome.outcome == expected[one.label] for one in view.runs)
    assert story.changes
    assert all(one.printed != one.repaired for one in story.changes)
    if len(view.runs) == 2:
        assert not same_run(*view.runs)
    data_of(render_page(view))


def view_of_erratum(erratum: str) -> PageView:
    witness = WITNESSES[erratum]
    return erratum_view(
        SPECIFICATION.clauses[erratum], witness.printed(), witness.repaired(), SPECIFICATION
    )


def test_the_repair_of_hidden_agents_refuses_and_alarms() -> None:
    view = view_of_erratum("P06")
    changes = {one.what: one for one in view.story.changes}
    assert "no guarantee applies" in changes["refused"].repaired
    assert "the attack cannot be built" in changes["refused"].repaired
    alarmed = changes["honest agents with an alarm"]
    assert (alarmed.printed, alarmed.repaired) == ("nobody", "agents 2 and 3")
    assert changes["how honest agents end"].repaired.count("invalid, no model") == 2
    printed, repaired = view.runs
    assert printed.edges != repaired.edges
    heights = {agent.y for agent in printed.agents}
    assert len(heights) == 1  # six agents in a line


@pytest.mark.parametrize("erratum", ["P02", "P26"])
def test_a_run_that_the_repair_leaves_alone_is_shown_once(erratum: str) -> None:
    view = view_of_erratum(erratum)
    assert [one.label for one in view.runs] == [SAME_RUN]
    assert [row.holds for row in view.runs[0].outcome.evidence] == ["no", "yes"]
    [change] = view.story.changes
    assert change.what == "what is promised"


@pytest.mark.parametrize("erratum", ["P18", "P19", "P20", "P21", "P22", "P23"])
def test_a_page_without_runs_says_in_words_what_the_repair_changes(erratum: str) -> None:
    view = view_of_erratum(erratum)
    assert view.runs == ()
    assert view.story.changes[0].what == "the rule"
    assert len(view.story.changes) > 1
    for change in view.story.changes:
        assert change.printed.strip() == change.printed != ""
        assert change.repaired.strip() == change.repaired != ""


def test_a_refused_attack_has_no_run_beside_it() -> None:
    view = view_of_erratum("P11")
    changes = {one.what: one for one in view.story.changes}
    assert "cannot even be built" in changes["refused"].repaired
    assert changes["the run"].repaired == "there is no run"
    assert len(view.runs) == 1


def test_stars_and_paths_look_like_their_names() -> None:
    points = positions(parse_family("star:5"))
    assert points[0] == (0.5, 0.5)
    assert {round((x - 0.5) ** 2 + (y - 0.5) ** 2, 6) for x, y in points[1:]} == {0.25}
    assert {y for _x, y in positions(parse_family("path:5"))} == {0.5}


def test_stories_and_witnesses_are_the_same_errata() -> None:
    assert set(STORIES) == set(WITNESSES)
    assert set(ALARMS) == set(Alarm)


def test_a_counterexample_of_the_explorer_is_shown() -> None:
    """The smallest broken broadcast: a source that speaks in the last round, and two ways."""
    printed = Settings.for_reading(Explored.BROADCAST, Reading.as_printed(), 2, 3).broadcast
    words = tuple(
        Word(BROADCAST_PHASE, 3, 2, receiver, says) for receiver, says in ((0, "a"), (1, "b"))
    )
    script = Script("V2", parse_family("complete:3"), frozenset({2}), words, printed, source=2)
    view = run_view(watch_replay(replay_script(script), "V2"))
    assert view.outcome.tone == "bad"
    assert "V2" in view.outcome.meaning
    assert [(edge.sender, edge.receiver) for edge in view.rounds[2].edges] == [(2, 1)]
    assert view.rounds[2].beliefs == ("holds 'a'", "holds 'b'", "")
    assert view.series is view.checks is None
    page = view_of("t", "s", [watch_replay(replay_script(script), "V2")], SPECIFICATION)
    assert "V2" in {clause.identifier for clause in page.clauses}
    assert [phase.title for phase in view.phases] == ["Broadcast"]


@given(graphs(max_agents=6))
def test_agents_stand_apart_inside_the_square(graph: AgentGraph) -> None:
    _apart(graph)


@pytest.mark.parametrize(
    "name", ["paper", "complete:9", "torus:3x4", "star:6", "cycle:8", "path:7"]
)
def test_agents_of_the_families_stand_apart(name: str) -> None:
    _apart(parse_family(name))


def _apart(graph: AgentGraph) -> None:
    points = positions(graph)
    assert points == positions(graph)
    assert all(-1e-9 <= c <= 1 + 1e-9 for point in points for c in point)
    for i, (x, y) in enumerate(points):
        for u, v in points[:i]:
            assert (x - u) ** 2 + (y - v) ** 2 > 0.05**2


@given(st.integers(1, 300), st.integers(2, 100), st.sets(st.integers(-5, 320)))
def test_kept_rounds_are_few_and_have_both_ends(total: int, budget: int, important) -> None:
    kept = kept_rounds(total, budget, important)
    assert list(kept) == sorted(set(kept))
    assert len(kept) <= max(budget, 2)
    assert kept[0] == 0
    assert kept[-1] == total - 1
    inside = {i for i in important if 0 <= i < total} | {0, total - 1}
    if len(inside) <= budget:
        assert inside <= set(kept)
