"""valid-ref conform: exit status, reports, replays, and what it needs."""

import json
import subprocess
import sys

import pytest
import typer
from typer.testing import CliRunner

from valid_ref.cli.conform import conform
from valid_ref.testing.conform.faults import AGENT, FAULTS
from valid_ref.testing.conform.peer import ConformError

app = typer.Typer()
app.command()(conform)


def invoke(*arguments: object):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.mark.checks("CF-14", "CF-15", "CF-17")
def test_a_fault_is_told_and_replayed(tmp_path) -> None:
    file = tmp_path / "case.json"
    done = invoke("--fault", "eta-index", "--examples", 0, "--save", file)
    assert done.exit_code == 1
    for words in (
        "diverges: behaviour against LV-5",
        "agent 1, LocalValidate.hashes round 1",
        "entry 2",
        "last agreed: the alarms of LocalValidate.keys round 4",
        f"--replay {file} --fault eta-index",
    ):
        assert words in done.output
    again = invoke("--replay", file, "--fault", "eta-index")
    assert again.exit_code == 1
    assert again.output.partition("\n")[2] == done.output.partition("\n")[2]
    good = invoke("--replay", file, "--", sys.executable, AGENT)
    assert good.exit_code == 0
    assert "in 2 cases" in good.output


@pytest.mark.checks("CF-14")
def test_the_report_as_json(tmp_path) -> None:
    file = tmp_path / "case.json"
    done = invoke("--fault", "no-self-check", "--examples", 0, "--save", file, "--json")
    report = json.loads(done.output)
    assert (report["verdict"], report["agent"]) == ("diverges", "example")
    finding = report["finding"]
    assert (finding["clause"], finding["kind"], finding["edge"]) == ("LV-9", "behaviour", [2, 0])
    assert finding["case"] == json.loads(file.read_text())["name"]
    assert "SELF_MISMATCH" in finding["expected"]


def test_lists_and_bad_input(tmp_path) -> None:
    assert len(invoke("--faults").output.splitlines()) == len(FAULTS)
    assert "gradients" in json.loads(invoke("--schema").output)["properties"]
    for arguments in ([], ["--example", "--fault", "eta-index"], ["--example", "--", "x"]):
        assert invoke(*arguments).exit_code == 2
    (tmp_path / "case.json").write_text("{}")
    for arguments in (
        ["--fault", "none"],
        ["--examples", 0, "--", tmp_path / "nothing"],
        ["--replay", tmp_path / "case.json", "--example"],
    ):
        assert isinstance(invoke(*arguments).exception, Exception)
    refused = invoke("--fault", "none").exception
    assert isinstance(refused, ConformError)


@pytest.mark.checks("CF-15")
def test_only_generated_cases_need_hypothesis(tmp_path) -> None:
    program = f"""
import sys
for name in ("torch", "matplotlib", "hypothesis", "pytest", "sympy"):
    sys.modules[name] = None
from valid_ref.cli import main
sys.argv = ["valid-ref", "conform", "--save", {str(tmp_path / "c.json")!r}, *sys.argv[1:]]
main()
"""

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=False
        )

    without = run("--fault", "gradient-added", "--examples", "0")
    assert (without.returncode, without.stderr) == (1, "")
    needed = run("--example")
    assert needed.returncode == 2
    assert "pip install hypothesis" in needed.stderr


@pytest.mark.checks("CF-19")
def test_what_an_agent_wrote_to_its_standard_error_is_shown(tmp_path) -> None:
    source = AGENT.read_text().replace(
        "request = json.loads(line)",
        "request = json.loads(line)\n"
        "        print('asked to', request['op'], '\\x1b[2J', file=sys.stderr)",
    )
    wrong = source.replace("y - self.A[t - 1] * g", "y + self.A[t - 1] * g")
    assert source.count("file=sys.stderr") == 1 < len(wrong)
    agent, file = tmp_path / "agent.py", tmp_path / "case.json"
    agent.write_text(wrong)
    rest = ["--examples", 0, "--save", file, "--", sys.executable, agent]
    quiet = invoke(*rest)
    assert quiet.exit_code == 1
    last = ["hello", "start", "mix", "send"]
    shown = "".join(f"    asked to {name} \\x1b[2J\n" for name in last)
    assert quiet.output.endswith(f"stderr, the last lines:\n{shown}")
    assert not quiet.stderr
    live = invoke("--show-stderr", *rest)
    assert live.stderr.startswith("asked to hello \\x1b[2J\n")
    report = json.loads(invoke("--json", *rest).output)
    assert report["finding"]["stderr"].splitlines() == [f"asked to {n} \\x1b[2J" for n in last]


def test_odd_words_of_an_agent_reach_the_terminal_written_out(tmp_path) -> None:
    source = AGENT.read_text().replace('"reason": reason,', '"reason": reason + "\\ud800\\x1b[2J",')
    agent = tmp_path / "agent.py"
    agent.write_text(source)
    done = invoke("--examples", 0, "--save", tmp_path / "c.json", "--", sys.executable, agent)
    assert done.exit_code == 1
    assert r"\ud800\x1b[2J" in done.output
