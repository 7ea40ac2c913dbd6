"""A project outside the tree brings its parts: run, resumed, shown, recorded and judged."""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest
import torch
from typer.testing import CliRunner

from tests.torch_backend.killing import contents
from tests.torch_backend.runs import program
from torch_backend.attacks import ATTACKS
from torch_backend.cli.commands import app
from torch_backend.config.build import build_graph, own_sources
from torch_backend.config.experiment import Experiment, experiment_document
from torch_backend.config.load import load
from torch_backend.data import DATA
from torch_backend.data.partition import PARTITIONS
from torch_backend.engine import advance, start
from torch_backend.errors import BackendError, ConfigError, ScreeningError
from torch_backend.experiments import run_experiment
from torch_backend.models import MODELS
from torch_backend.process import Options, StoppedError
from torch_backend.rules import RULES, Rule
from valid_ref.document import structure
from valid_ref.errors import ValidRefError
from valid_ref.graph import AgentGraph
from valid_ref.graph_families import parse_family
from valid_ref.oracle import check, open_recording

FILES = Path(__file__).parent / "project"
RUNNER = CliRunner()


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("project")
    for name in ("my_parts.py", "mine.toml"):
        shutil.copy(FILES / name, folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.syspath_prepend(folder)
        yield folder
        patch.delitem(sys.modules, "my_parts", raising=False)


def call(*words: str) -> str:
    done = RUNNER.invoke(app, list(words))
    if isinstance(done.exception, BackendError):
        raise done.exception
    assert done.exit_code == 0, (done.output, done.exception)
    return done.output


@pytest.fixture(scope="module")
def run(project: Path) -> Path:
    call("run", "mine.toml", "-o", "run", "--record", "--quiet", "--no-cache")
    return project / "run"


def test_the_parts_are_short() -> None:
    lines = (FILES / "my_parts.py").read_text().splitlines()
    code = [line for line in lines if line.strip() and "import" not in line]
    assert len(code) < 40


@pytest.mark.deep
def test_the_parts_pass_the_strict_type_checker(project: Path) -> None:
    words = [sys.executable, "-m", "mypy", "--strict", "my_parts.py"]
    done = subprocess.run(words, cwd=project, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.checks("EX-20")
def test_results_are_tabulated_and_plotted_without_the_parts(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(run, tmp_path / "elsewhere")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "my_parts")
    monkeypatch.setattr(sys, "path", [p for p in sys.path if p != str(run.parent)])
    table = call("table", "elsewhere", "--markdown", "-o", "tables")
    assert "| Halfway share=0.25 | Shout |" in table
    assert "| VALID | Shout |" in table
    assert (tmp_path / "tables" / "detection.csv").read_text().count("my_parts:Shout") == 1
    drawn = [Path(name) for name in call("plot", "elsewhere").split()]
    assert [path.name for path in drawn] == [
        f"{name}.{kind}" for name in ("rounds", "detection") for kind in ("png", "svg")
    ]
    assert all(path.stat().st_size > 1000 for path in drawn)


@pytest.mark.checks("EX-14", "EX-20")
def test_a_stopped_run_goes_on_to_the_same_bytes(run: Path, tmp_path: Path) -> None:
    experiment = load("mine.toml", changes=["validate=true"])
    for turns in (9, 60):
        asked = iter(range(10**6))
        with pytest.raises(StoppedError):
            run_experiment(
                experiment,
                tmp_path / "run",
                Options(record=True, checkpoint_every=5),
                stop=lambda asked=asked, turns=turns: next(asked) >= turns,
            )
    run_experiment(experiment, tmp_path / "run", Options(record=True))
    assert contents(tmp_path / "run") == contents(run)


@pytest.mark.checks("EX-20")
def test_recordings_of_them_are_judged(run: Path) -> None:
    recordings = sorted(run.rglob("recording.zip"))
    assert len(recordings) == 2
    for path in recordings:
        verdict = check(open_recording(path))
        assert verdict.status.value == "conforms", verdict
    table = call("table", "run", "--markdown")
    assert "| Shout | 1 |" in table


@pytest.mark.checks("EX-14", "EX-20")
def test_a_run_does_not_go_on_with_another_text_of_a_part(run: Path) -> None:
    source = run.parent / "my_parts.py"
    before = source.read_text()
    source.write_text(before + "# changed\n")
    try:
        with pytest.raises(ConfigError, match=r"differing in own.my_parts:\w+: .*there"):
            call("run", "mine.toml", "-o", "run", "--record", "--quiet")
    finally:
        source.write_text(before)


@pytest.mark.checks("EX-12", "EX-20")
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--rule", "my_parts:Nowhere"), r"mine.toml: rules\[0\].kind: my_parts has no class"),
        (("--rule", "my_parts:Net"), r"rules\[0\]: my_parts:Net is no rule: it has no check"),
        (("--attack", "my_parts:Shout:factr=2"), r"attacks\[0\].factr: unknown .* mean 'factor'"),
        (
            ("--attack", "shout"),
            r'attacks\[0\].kind: no attack is called "shout" .*: alie',
        ),
        (("--set", "model=my_part:Net"), "cannot import my_part: ModuleNotFoundError"),
        (("--rule", "valid", "--rule", "valid"), "rules: one stands twice"),
        (("--set", "partition.kind=rotated"), "cannot be turned; take another partition"),
    ],
)
def test_what_is_wrong_is_refused_by_name(run: Path, words: tuple[str, ...], message: str) -> None:
    with pytest.raises(BackendError, match=message):
        call("run", "mine.toml", "-o", "other", "--quiet", "--no-cache", *words)


@attrs.frozen
class Ring:
    """A graph of somebody's own."""

    agents: int = 5

    def build(self) -> AgentGraph:
        return AgentGraph(self.agents, [(i, (i + 1) % self.agents) for i in range(self.agents)])


@pytest.mark.checks("EX-1", "EX-12", "EX-20")
def test_a_graph_of_ones_own_is_built_by_name_and_from_objects() -> None:
    wanted, name = parse_family("cycle:6"), f"{__name__}:Ring"
    named = load("demo", changes=[f"graph={name}:agents=6"])
    assert named.graph == Ring(6)
    assert build_graph(named) == wanted
    assert name in own_sources(named)
    document = experiment_document(named)
    assert document["graph"] == {"kind": name, "agents": 6}
    assert structure(Experiment, document) == named
    for graph in (Ring(6), wanted, wanted.to_networkx(), "cycle:6"):
        assert build_graph(attrs.evolve(named, graph=graph)) == wanted
    with pytest.raises(ConfigError, match=r"graph.kind: .* has no class Rong"):
        load("demo", changes=[f"graph={__name__}:Rong"])
    with pytest.raises(ValidRefError, match=r"Ring: build\(\) raises GraphError|at least 2"):
        build_graph(load("demo", changes=[f"graph={name}:agents=1"]))
    with pytest.raises(ValidRefError, match="graph: expected a name"):
        attrs.evolve(named, graph=3)


@pytest.mark.checks("EX-12")
def test_broken_entry_points_are_listed_and_spoil_no_other(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    metadata = tmp_path / "others-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: others\nVersion: 1.0\n")
    groups = [
        f"[{parts.group}]\ngone = no_such:Part\n"
        for parts in (RULES, ATTACKS, PARTITIONS, MODELS, DATA)
    ]
    (metadata / "entry_points.txt").write_text(
        "".join((*groups, f"[{MODELS.group}]\nnet = my_parts:Net\n"))
    )
    monkeypatch.syspath_prepend(tmp_path)
    listed = call("list")
    assert listed.count("cannot import no_such: ModuleNotFoundError") == len(groups)
    assert re.search(r"^  net  +\S", listed, re.MULTILINE)
    assert load("demo", changes=["model=net"]).model == MODELS.find("net")()
    for change in (
        'rules=["gone"]',
        'attacks=["gone"]',
        "partition=gone",
        "model=gone",
        "data=gone",
    ):
        with pytest.raises(ConfigError, match="the entry point 'gone' of the group valid_torch"):
            load("demo", changes=[change])


@attrs.frozen
class Wrong(Rule):
    """A rule whose result is not of the form of a rule."""

    scale: float = 1.0
    dtype: torch.dtype = torch.int64
    short: int = 0
    evaluated: bool = False

    def mix(self, t: int, parameters: Any, graph: Any, received: Any, losses: Any) -> Any:
        good = received.own << parameters.precision.step_bits
        bad = (good * self.scale).to(self.dtype)[self.short :]
        return (good, bad) if self.evaluated else (bad, good)


@pytest.mark.checks("EX-20")
@pytest.mark.parametrize("evaluated", [False, True])
@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"dtype": torch.float64}, "has torch.float64 of shape"),
        ({"short": 1}, "has torch.int64 of shape"),
        ({"scale": 1e9}, "has an entry out of range; needed are entries below"),
    ],
)
def test_a_rule_that_gives_something_else_is_refused(
    options: dict[str, Any], evaluated: bool, words: str
) -> None:
    graph = parse_family("complete:4")
    good = program(graph, rule=Wrong())
    assert advance(good, start(good))[0].t == 1
    bad = program(graph, rule=Wrong(**options, evaluated=evaluated))
    with pytest.raises(ScreeningError, match=f"Wrong: its (base|point of evaluation) {words}"):
        advance(bad, start(bad))
