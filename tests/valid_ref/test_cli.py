"""The command line: exit status, messages, JSON."""

import functools
import json
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from valid_ref import __version__
from valid_ref.cli import app, main
from valid_ref.errors import ValidRefError


def run(*arguments: str):
    return CliRunner().invoke(app, arguments)


def test_version() -> None:
    specification = (Path(__file__).parents[2] / "spec" / "VERSION").read_text(encoding="ascii")
    expected = f"valid-ref {__version__}, specification {specification}"
    assert run("--version").output == expected


@pytest.mark.checks("LM-2")
def test_learn_prints_a_shrinking_distance() -> None:
    result = run("learn", "--graph", "complete:4", "--rounds", "60", "--json")
    rounds = json.loads(result.output)["rounds"]
    assert result.exit_code == 0
    assert len(rounds) == 60
    assert rounds[-1]["distance"] < rounds[0]["distance"] / 10
    table = run("learn", "--graph", "complete:4", "--rounds", "60", "--every", "30").output
    assert [line.split()[0] for line in table.splitlines()[2:5]] == ["1", "30", "60"]
    assert table.endswith("alarms: 0\n")


def test_trace_leads_from_a_label_of_the_paper_to_a_line_of_code(monkeypatch) -> None:
    module = sys.modules["valid_ref.cli.specification"]
    monkeypatch.setattr(module, "load", functools.cache(module.load))  # which takes seconds
    output = run("trace", "eq:cc4").output
    assert "AR-6  rule  spec/arithmetic.md:" in output
    assert "valid_ref/lattice.py:" in output
    for label in ("graph_model", "iid_result"):  # the paper's two labels without a colon
        assert f"{label}  paper label" in run("trace", label).output
    assert run("trace", "--check").exit_code == 0
    assert "rules" in run("trace").output.splitlines()[-1]
    rows = json.loads(run("trace", "--json").output)["clauses"]
    identifiers = {row["identifier"] for row in rows}
    assert {"LV-8", "P06", "V2"} <= identifiers
    assert json.loads(run("trace", "lm-2", "--json").output)


def test_bad_input_is_one_line_and_exit_status_2(monkeypatch, capsys) -> None:
    monkeypatch.setattr("sys.argv", ["valid-ref", "learn", "--graph", "moebius:3"])
    with pytest.raises(SystemExit) as caught:
        main()
    assert caught.value.code == 2
    lines = capsys.readouterr().err.strip().splitlines()
    assert len(lines) == 1
    assert "moebius" in lines[0]


def test_an_unknown_clause_is_refused_with_close_matches() -> None:
    result = run("trace", "eq:cc5")
    assert isinstance(result.exception, ValidRefError)
    assert "eq:cc4" in str(result.exception)


def test_a_counterexample_of_the_explorer_is_replayed(tmp_path) -> None:
    found = run(
        "explore",
        "--protocol",
        "broadcast",
        "--max-agents",
        "3",
        "--reading",
        "as-printed",
        "--property",
        "V2",
        "--jobs",
        "1",
        "--out",
        str(tmp_path),
    )
    assert found.exit_code == 1
    [script] = [p for p in tmp_path.glob("*.json") if p.name != "explored.json"]
    again = run("run", str(script))
    assert again.exit_code == 1
    assert "V2 is violated" in again.output
    assert json.loads(run("run", str(script), "--json").output)["holds"] is False


@pytest.mark.checks("VA-5", "VA-6")
def test_run_prints_a_summary_and_saves_its_scenario(tmp_path) -> None:
    path = tmp_path / "scenario.json"
    options = ["--graph", "complete:4", "--loss", "random-quadratic:dimension=2", "--rounds", "40"]
    shown = run("run", *options, "--save", str(path))
    assert shown.exit_code == 0
    assert "outcome a" in shown.output
    assert "GlobalValidate" in shown.output
    first = json.loads(run("run", *options, "--json").output)
    again = json.loads(run("run", str(path), "--json").output)
    coins = again["parameters"]["coins"]
    assert f"--coins {coins} repeat this run" in shown.output
    assert first["parameters"]["coins"] != coins
    assert json.loads(run("run", *options, "--coins", coins, "--json").output) == again
    assert first["outcome"] == "a"
    seeded = run("run", str(path), "--seed", "3", "--json").output
    assert json.loads(seeded)["parameters"]["seed"] == 3
    assert json.loads(seeded)["parameters"]["coins"] is None
    assert seeded == run("run", *options, "--seed", "3", "--json").output
    attacked = run("run", str(path), "--byzantine", "3", "--attack", "sign-flip", "--quiet")
    assert attacked.output in {"b\n", "c\n"}
    assert run("run", str(path), "--without", "as-printed", "--quiet").exit_code == 1
    assert "additionalProperties" in run("run", "--schema").output
