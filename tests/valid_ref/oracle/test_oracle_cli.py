"""record, check, show and diff on the command line."""

import json

import attrs
import pytest
import typer
from typer.testing import CliRunner

from tests import support
from valid_ref.cli.recordings import check, diff, record, show
from valid_ref.graph import AgentGraph
from valid_ref.oracle import diff as first_difference
from valid_ref.oracle import open_recording, write_recording
from valid_ref.scenario import Scenario, parts, scenario_text

app = typer.Typer()
for command in (check, diff, record, show):
    app.command()(command)


def invoke(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def scenario(tmp_path):
    small = Scenario(
        graph=parts.Family("path:3"),
        rounds=2,
        loss=parts.RandomQuadratics(1),
        checks=(parts.Check("w", parts.Polynomial(0), parts.ConfiguredThresholds(1e6, 1e9)),),
        seed=0,
    )
    (tmp_path / "s.json").write_text(scenario_text(small))
    return tmp_path / "s.json"


@pytest.mark.checks("RE-8", "RE-12", "RE-13")
def test_record_check_show_diff(scenario, tmp_path) -> None:
    for name in ("a.zip", "b"):
        assert invoke("record", scenario, "-o", tmp_path / name).exit_code == 0
    done = invoke("check", tmp_path / "a.zip")
    assert done.exit_code == 0
    assert done.output.startswith("conforms: ")
    assert json.loads(invoke("check", tmp_path / "b", "--json").output)["verdict"] == "conforms"
    assert invoke("check", tmp_path / "b", "--agent", 1).exit_code == 1
    assert "agent 2: valid, 0 alarms" in invoke("show", tmp_path / "a.zip").output
    assert json.loads(invoke("show", tmp_path / "b", "--json").output)["finished"] is True
    assert invoke("diff", tmp_path / "a.zip", tmp_path / "b").exit_code == 0
    assert "log.jsonl" in json.loads(invoke("check", "--schema").output)
    assert invoke("check").exit_code == 2


def test_every_command_is_for_machines_and_for_scripts(scenario, tmp_path) -> None:
    """--json prints one document, --quiet one word; both keep the exit status."""
    paths = tmp_path / "a.zip", tmp_path / "b"
    for path, flags in zip(paths, (["--json"], ["--quiet"]), strict=True):
        done = invoke("record", scenario, "-o", path, *flags)
        assert done.exit_code == 0
        outcome = json.loads(done.output)["outcome"] if "--json" in flags else done.output.strip()
        assert outcome in {"a", "b", "c", "failed"}
    for command, word in (("check", "conforms"), ("show", "finished")):
        assert invoke(command, paths[0], "-q").output == word + "\n"
        assert isinstance(json.loads(invoke(command, paths[0], "--json").output), dict)
    assert invoke("diff", *paths, "-q").output == ""
    assert json.loads(invoke("diff", *paths, "--json").output) is None
    log = (paths[1] / "log.jsonl").read_bytes().splitlines(keepends=True)
    (paths[1] / "log.jsonl").write_bytes(b"".join(log[:3]))
    assert invoke("show", paths[1], "-q").output == "cut off\n"
    for command, word in (("check", "cannot tell"), ("diff", "LocalValidate.keys round 2")):
        done = invoke(command, *(paths if command == "diff" else paths[1:]), "-q")
        assert (done.exit_code, done.output) == (1, word + "\n")


@pytest.mark.checks("RE-13")
def test_first_difference(tmp_path) -> None:
    parameters = support.network(AgentGraph.from_edges(3, [(0, 1), (1, 2)]))
    runs = {
        "one": support.run(parameters),
        "more": support.run(
            parameters,
            support.edited("LearnModel", support.shifted(model=3), rounds=[2], edges=[(0, 1)]),
            byzantine=[0],
        ),
        "keys": support.run(parameters, private=support.privates(parameters, keys=[1, 2, 3])),
        "hash": support.run(
            parameters,
            support.edited("LocalValidate.hashes", support.silence, rounds=[3]),
            byzantine=[0],
        ),
    }
    for name, execution in runs.items():
        write_recording(tmp_path / name, attrs.evolve(execution, byzantine=frozenset()), "test")
    opened = {name: open_recording(tmp_path / name) for name in runs}
    assert first_difference(opened["one"], opened["one"]) is None
    gap = first_difference(opened["one"], opened["more"])
    assert gap is not None
    assert gap.place == "LearnModel round 2, edge 0 -> 1: model"
    assert (gap.agreed, gap.index) == ("LearnModel round 1", 0)
    assert int(gap.right) == int(gap.left) + 3
    gap = first_difference(opened["one"], opened["keys"])
    assert gap is not None
    assert gap.place == "keys.npy"
    gap = first_difference(opened["one"], opened["hash"])
    assert gap is not None
    assert gap.place.startswith("LocalValidate.hashes round 3, edge 0 -> 1")
    shown = invoke("diff", tmp_path / "one", tmp_path / "more")
    assert shown.exit_code == 1
    assert "last agreed: LearnModel round 1" in shown.output


@pytest.mark.checks("RE-13")
def test_the_end_is_compared_to_the_last_model(tmp_path) -> None:
    """Final models, verdicts and alarms where all words are the same."""
    execution = support.run(support.network(AgentGraph.from_edges(3, [(0, 1), (1, 2)])))
    state = execution.states[1]
    invalid = attrs.evolve(state, memory=attrs.evolve(state.memory, invalid=True))
    others = {"run": execution, "model": execution}
    others["verdict"] = attrs.evolve(execution, states={**execution.states, 1: invalid})
    for name, ended in others.items():
        write_recording(tmp_path / name, ended, "test", checksums=False)
    raw = bytearray((tmp_path / "model" / "outputs.npy").read_bytes())
    raw[192 + 8 * 3] ^= 1  # of agent 1 the second entry
    (tmp_path / "model" / "outputs.npy").write_bytes(raw)
    run, model, verdict = (open_recording(tmp_path / name) for name in others)
    gap = first_difference(run, model)
    assert gap is not None
    assert (gap.place, gap.index) == ("agent 1, final model", 1)
    gap = first_difference(run, verdict)
    assert gap is not None
    assert gap.place == "agent 1, valid"


def test_a_divergence_in_words(tmp_path) -> None:
    parameters = support.network(AgentGraph.from_edges(3, [(0, 1), (1, 2)]))
    lie = support.edited("LearnModel", support.shifted(model=3), rounds=[2])
    execution = support.run(parameters, lie, byzantine=[0])
    write_recording(tmp_path / "run", execution, "test", byzantine_known=False)
    done = invoke("check", tmp_path / "run")
    assert done.exit_code == 1
    for text in ("cannot tell", "agent 0, LearnModel round 2", "AR-6", "--agent 0", "not proved"):
        assert text in done.output
