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
from valid_ref.report import erratum_view, render_page, run_view, view_of, watch_replay, watch_run
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
    expected = {"As printed": "wrong", "Repaired": "right"}
    assert all(one.outcome.outcome == expected[one.label] for one in view.runs)
    data_of(render_page(view))


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
