"""Somebody's own project outside of this tree: typed, run, recorded, checked, reported, plotted.

Its code is `docs/guides/examples/mine.py`, and nothing of it is known to the package.
"""

import importlib
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from valid_ref import Scenario, load_scenario, run
from valid_ref.cli import app
from valid_ref.errors import ValidRefError
from valid_ref.oracle import check, open_recording
from valid_ref.scenario import scenario_text

EXAMPLE = Path(__file__).resolve().parents[1] / "docs" / "guides" / "examples" / "mine.py"
PARTS = ("--graph", "mine:Wheel:rim=5", "--loss", "mine:LeastSquares", "--byzantine", "5")
SMALL = ("--rounds", "30", "--seed", "0")
MOST_LINES = 60
"""Of loss, attack, graph, torch model and data together."""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The current directory; commands put it on the path of modules."""
    shutil.copy(EXAMPLE, tmp_path / "mine.py")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    yield tmp_path
    sys.modules.pop("mine", None)


def command(*words: str, status: int = 0) -> str:
    result = CliRunner().invoke(app, words)
    if status == 2:
        assert isinstance(result.exception, ValidRefError)
        return str(result.exception)
    assert result.exit_code == status, result.output
    return result.stdout


@pytest.mark.checks("VA-10", "MO-14")
def test_own_parts_go_the_whole_way_by_commands(project: Path) -> None:
    attacked = (*PARTS, "--attack", "mine:Shrink:factor=0.5", *SMALL)
    found = json.loads(command("run", *attacked, "--save", "s.json", "--plot", "s.svg", "--json"))
    assert found["outcome"] == "c"
    assert found["parameters"]["attack"] == {"kind": "mine:Shrink", "factor": 0.5}
    assert "<svg" in (project / "s.svg").read_text(encoding="utf-8")
    assert command("record", "s.json", "-o", "run.zip", "--quiet") == "c\n"
    assert not (project / "cache" / "valid-ref").exists()
    checked = json.loads(command("check", "run.zip", "--json"))
    assert checked["verdict"] == "conforms"
    assert checked["findings"]["outcome"] == "c"
    for source in ("s.json", "run.zip"):
        command("report", source, "-o", "page.html")
        assert "<html" in (project / "page.html").read_text(encoding="utf-8")


@pytest.mark.checks("VA-6")
def test_entry_points_give_own_parts_names(project: Path) -> None:
    metadata = project / "mine-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1.0\n")
    points = "[valid_ref.attacks]\nshrink = mine:Shrink\n[valid_ref.graphs]\nwheel = mine:Wheel\n"
    (metadata / "entry_points.txt").write_text(points)
    listed = command("run", "--attacks")
    assert "shrink                   Byzantine agents say their models times a factor" in listed
    assert "factor = 0.9" in listed
    words = ("--graph", "wheel:rim=5", "--attack", "shrink:factor=0.5", "--byzantine", "5", *SMALL)
    assert command("run", *words, "--save", "s.json", "--quiet") == "c\n"
    document = json.loads((project / "s.json").read_text(encoding="utf-8"))
    assert document["graph"] == {"kind": "mine:Wheel", "rim": 5}


@pytest.mark.checks("VA-6")
def test_a_broken_entry_point_is_listed_and_spoils_no_other(project: Path) -> None:
    metadata = project / "others-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: others\nVersion: 1.0\n")
    groups = [f"[valid_ref.{kind}]\ngone = no_such:Part\n" for kind in ("graphs", "losses")]
    attacks = "[valid_ref.attacks]\ngone = no_such:Part\nshrink = mine:Shrink\n"
    (metadata / "entry_points.txt").write_text("".join((*groups, attacks)))
    listed = command("run", "--attacks")
    assert "shrink                   Byzantine agents say their models times a factor" in listed
    assert re.search("gone +broken: .*cannot import no_such: ModuleNotFoundError", listed)
    rows = json.loads(command("run", "--attacks", "--json"))
    assert "cannot import no_such" in next(row for row in rows if row["kind"] == "gone")["broken"]
    words = ("--graph", "complete:5", "--byzantine", "4", "--attack", "shrink", *SMALL)
    assert command("run", *words, "--quiet") == "c\n"
    for option in ("--graph", "--loss", "--attack"):
        refusal = command("run", option, "gone", status=2)
        assert f"{option}.kind: the entry point 'gone' of the group valid_ref." in refusal


@pytest.mark.checks("VA-10")
def test_own_parts_go_the_whole_way_in_python(project: Path, monkeypatch) -> None:
    monkeypatch.syspath_prepend(project)
    mine = importlib.import_module("mine")
    scenario = Scenario(
        graph=mine.Wheel(),
        loss=mine.LeastSquares(),
        rounds=30,
        seed=0,
        byzantine=5,
        attack=mine.Shrink(0.5),
    )
    finished = run(scenario)
    assert finished.outcome == "c"
    (project / "s.json").write_text(scenario_text(scenario))
    assert load_scenario(project / "s.json") == scenario
    verdict = check(open_recording(finished.record(project / "run.zip")))
    assert verdict.conforms
    finished.plot(project / "run.svg")
    assert (project / "run.svg").stat().st_size > 1000
    assert "mine:Shrink" in finished.report(project / "run.html").read_text(encoding="utf-8")
    honest = run(Scenario(graph=mine.Wheel(), loss=mine.LeastSquares(), rounds=100, seed=0))
    assert honest.outcome == "a"


@pytest.mark.checks("RE-2", "VA-10")
def test_checking_a_recording_imports_nothing_that_it_names(project: Path) -> None:
    finished = run(Scenario(graph="path:3", loss="random-ridge", rounds=2, seed=0))
    path = finished.record(project / "run")
    header = json.loads((path / "header.json").read_text(encoding="utf-8"))
    header["losses"]["loss"] = {"kind": "mine:LeastSquares"}
    (path / "header.json").write_text(json.dumps(header))
    (project / "mine.py").write_text("raise SystemExit('imported')")
    assert '"mine:LeastSquares" is not one of' in command("check", "run", status=2)


def test_it_is_short() -> None:
    lines = EXAMPLE.read_text(encoding="utf-8").splitlines()
    assert len([line for line in lines if line.strip()]) <= MOST_LINES


@pytest.mark.deep
def test_own_parts_are_clean_under_strict_types(project: Path) -> None:
    (project / "use.py").write_text(
        "from mine import LeastSquares, Shrink, Wheel\n"
        "from valid_ref import Run, Scenario, run\n"
        "finished: Run = run(Scenario(graph=Wheel(), loss=LeastSquares(), byzantine=5,\n"
        "                             attack=Shrink(), checks='polynomial:power=2'))\n"
        "print(finished.models[0].shape, finished.history.models, finished.alarms[0])\n"
    )
    (project / "wrong.py").write_text(
        "from mine import LeastSquares, Shrink\n"
        "from valid_ref import Scenario\n"
        "Scenario(loss=Shrink())\n"
        "Scenario(attack=LeastSquares(), byzantine=1)\n"
        "Scenario(graph=3)\n"
    )
    mypy = [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--cache-dir", "types"]
    right, wrong = (
        subprocess.run([*mypy, *files], cwd=project, capture_output=True, text=True, check=False)
        for files in (("mine.py", "use.py"), ("wrong.py",))
    )
    assert right.returncode == 0, right.stdout
    assert wrong.stdout.count("error: Argument") == 3, wrong.stdout


@pytest.mark.checks("VA-10")
def test_learning_alone_takes_a_graph_of_ones_own(project: Path) -> None:
    words = ("learn", "--rounds", "5", "--quiet", "--graph")
    (project / "mine.py").write_text(
        "import attrs\nfrom valid_ref import AgentGraph\n\n\n@attrs.frozen\nclass Line:\n"
        "    def build(self):\n        return AgentGraph(3, [(0, 1), (1, 2)])\n"
    )
    assert command(*words, "mine:Line") == command(*words, "path:3")
