"""Pages of runs, opened in a real browser where there is one."""

import json
from collections.abc import Iterator
from pathlib import Path

import attrs
import numpy as np
import pytest

from tests.browser import Opened
from valid_ref.adversary.models import Equivocation
from valid_ref.oracle import check, open_recording, record_run
from valid_ref.report import (
    PageView,
    erratum_view,
    render_page,
    view_of,
    watch_recording,
    watch_run,
)
from valid_ref.report.demo import demo_scenarios, demo_view
from valid_ref.runs import run
from valid_ref.scenario import Scenario, parts
from valid_ref.trace import load_specification
from valid_ref.witness import WITNESSES

SMALL = Scenario(
    graph=parts.Family("complete:5"), rounds=12, loss=parts.RandomQuadratics(2), seed=0
)


@pytest.fixture(scope="session")
def pages(tmp_path_factory) -> Path:
    """Pages of an honest and an attacked run, of both, and of two errata."""
    home = tmp_path_factory.mktemp("pages")
    specification = load_specification()
    attacked = Scenario(
        graph=SMALL.graph, rounds=12, loss=SMALL.loss, byzantine=(4,), attack=Equivocation(), seed=0
    )
    watched = [watch_run(run(SMALL), "Honest"), watch_run(run(attacked), "Attacked")]
    views = {
        "both": view_of("Both", "two runs", watched, specification),
        "attacked": view_of("Attacked", "one run", watched[1:], specification),
    }
    crowd = Scenario(
        rounds=2, loss=parts.RandomQuadratics(1), byzantine=(4,), attack=Equivocation(), seed=0
    )
    crowded = watch_run(run(crowd), "A label that is rather long for the tab of a narrow window")
    views["crowd"] = view_of("Crowd", "two runs", [crowded, watched[0]], specification)
    views["recording"] = recording_view(home, attacked)
    views["diverging"] = diverging_view(home)
    attacked, honest = map(run, demo_scenarios(40))
    views["demo"] = demo_view(attacked, honest, specification)
    for erratum in ("P01", "P18"):
        witness = WITNESSES[erratum]
        views[erratum] = erratum_view(
            specification.clauses[erratum], witness.printed(), witness.repaired(), specification
        )
    for name, view in views.items():
        (home / f"{name}.html").write_text(render_page(view), encoding="utf-8")
    return home


def recording_view(home: Path, scenario: Scenario) -> PageView:
    """A recording that does not say who is Byzantine, so that the oracle finds who diverges."""
    record_run(run(scenario), home / "recording", checksums=False)
    header = home / "recording" / "header.json"
    fields = json.loads(header.read_text(encoding="utf-8")) | {"byzantine": None}
    header.write_text(json.dumps(fields), encoding="utf-8")
    opened = open_recording(home / "recording")
    watched = watch_recording(opened, check(opened), "Recording")
    return view_of("Recording", "one agent diverges", [watched], load_specification())


def diverging_view(home: Path) -> PageView:
    """An honest recording in which one entry of agent 2 was changed in round 6.

    In round 7 all others diverge too: they computed with what agent 2 said at first. One
    statistic is put just above its threshold.
    """
    record_run(run(SMALL), home / "diverging", checksums=False)
    models = np.load(home / "diverging" / "models.npy")
    models[5, 2, 0] += 2**20
    np.save(home / "diverging" / "models.npy", models)
    opened = open_recording(home / "diverging")
    watched = watch_recording(opened, check(opened), "Diverging")
    view = view_of("Diverging", "one agent diverges", [watched], load_specification())
    [shown] = view.runs
    assert shown.series is not None
    first, *others = shown.series.statistics
    near = attrs.evolve(first, final=first.threshold * (1 + 1e-7))
    series = attrs.evolve(shown.series, statistics=(near, *others))
    return attrs.evolve(view, runs=(attrs.evolve(shown, series=series),))


@pytest.fixture(scope="session")
def window(chromium) -> Opened:
    """The one window in which all pages are opened."""
    return Opened.window(chromium, timeout=10_000)


@pytest.fixture
def visit(window, pages) -> Iterator:
    """Open a page by name; it must not complain or ask for anything before the next one."""

    def quiet() -> None:
        assert window.complaints == []
        assert [url for url in window.requests if not url.startswith("file:///")] == []
        assert len(window.requests) <= 1

    def visit(name: str, address: str = "", **options) -> Opened:
        quiet()
        window.visit(f"file://{pages}/{name}.html{address}", **options)
        return window

    window.forget()
    yield visit
    quiet()
    assert len(window.requests) == 1
