"""valid-ref arena with processes: exit status, reports, bad input, and that nothing is left."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import attrs
import pytest
import typer
from typer.testing import CliRunner

from valid_ref.adversary.models import Equivocation
from valid_ref.cli.arena import ArenaCommand, arena
from valid_ref.errors import ValidRefError
from valid_ref.oracle import record_run
from valid_ref.runs import run
from valid_ref.scenario import Scenario, scenario_text
from valid_ref.scenario.parts import Family, RandomQuadratics
from valid_ref.testing.conform.faults import AGENT, fault_named, faulty_source

app = typer.Typer()
app.command(cls=ArenaCommand)(arena)
SCENARIO = Scenario(graph=Family("path:3"), loss=RandomQuadratics(dimension=1), rounds=2, seed=0)
ASK = "        request = json.loads(line)\n"


def invoke(*arguments: object):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture(name="scenario")
def _scenario(tmp_path: Path) -> Path:
    path = tmp_path / "scenario.json"
    path.write_text(scenario_text(SCENARIO))
    return path


def written(path: Path, line: str = "", source: str = "") -> str:
    """The command of an agent that does this before it answers."""
    source = source or AGENT.read_text()
    assert source.count(ASK) == 1
    path.write_text(
        source.replace(ASK, f"{ASK}        import os, time\n        {line or 'pass'}\n")
    )
    return f"{sys.executable} {path}"


@pytest.mark.checks("CF-20", "CF-23", "CF-24")
def test_a_network_of_processes_gives_the_bytes_of_valid_ref_record(tmp_path) -> None:
    scenario = attrs.evolve(
        SCENARIO, graph=Family("complete:4"), byzantine=(3,), attack=Equivocation()
    )
    file, output = tmp_path / "scenario.json", tmp_path / "run.zip"
    file.write_text(scenario_text(scenario))
    command = written(tmp_path / "agent.py")
    done = invoke(file, "--agent", "0,2", command, "--agent", "1 reference", "-o", output)
    assert done.exit_code == 0, done.output
    record_run(run(scenario), tmp_path / "alone.zip")
    assert output.read_bytes() == (tmp_path / "alone.zip").read_bytes()
    for words in (
        "conforms: every word",
        "outcome c",
        f"agent 0: {command} (example, floods fresh)",
        "agent 1: reference",
        "agent 3: Byzantine: equivocation",
        "the reference alone gives the same bytes",
    ):
        assert words in done.output


@pytest.mark.checks("CF-24")
def test_a_report_for_machines_and_one_in_a_word(scenario) -> None:
    done = invoke(scenario, "--agent=1", "example", "--no-compare", "--json")
    assert done.exit_code == 0
    report = json.loads(done.output)
    assert (report["verdict"], report["reference_sha256"]) == ("conforms", None)
    assert [one["runs"] for one in report["agents"]] == ["reference", "process", "reference"]
    assert report["agents"][1]["name"] == "example"
    wrong = f"{sys.executable} -c {json.dumps('x')}"
    done = invoke(scenario, "--agent", "0", wrong, "-q", "--timeout", 5)
    assert (done.exit_code, done.output) == (1, "diverges\n")


WRONG = [
    (
        "if request.get('round') == 3: os.write(2, b'oh \\x1b no\\n'); os._exit(7)",
        "send in LocalValidate.keys round 1: crash [CF-12]",
        "it ended with status 7",
    ),
    (
        "if request.get('round') == 2: time.sleep(60)",
        "mix in LearnModel round 2: time-out [CF-13]",
        "an answer in time",
    ),
    (
        "if request['op'] == 'end': print('so long', flush=True); continue",
        "end in the end: invalid line [CF-1]",
        "so long",
    ),
    (
        "if request['op'] == 'receive': print('[]', flush=True); continue",
        "receive in LearnModel round 1: invalid line [CF-1]",
        "one JSON object",
    ),
]


@pytest.mark.checks("CF-22")
@pytest.mark.parametrize(("line", "place", "found"), WRONG)
def test_a_process_at_fault_is_told_with_its_last_words(
    line: str, place: str, found: str, scenario, tmp_path
) -> None:
    wrong = written(tmp_path / "wrong.py", line)
    done = invoke(scenario, "--agent", "1", wrong, "--agent", "0", "example", "--timeout", 4)
    assert done.exit_code == 1
    assert f"agent 1, {place}" in done.output
    assert found in done.output
    assert "\x1b" not in done.output
    if "oh" in line:
        assert "its standard error: oh \\x1b no" in done.output


@pytest.mark.checks("RE-17")
def test_the_name_of_an_agent_cannot_move_the_cursor(scenario, tmp_path) -> None:
    named = AGENT.read_text().replace('"name": "example"', r'"name": "\x1b[2J\x7f\n\u2028"')
    command = written(tmp_path / "agent.py", source=named)
    done = invoke(scenario, "--agent", "1", command)
    assert done.exit_code == 0
    assert r"(\x1b[2J\x7f" in done.output
    machine = invoke(scenario, "--agent", "1", command, "--json")
    assert json.loads(machine.output)["agents"][1]["name"] == r"\x1b[2J\x7f\x0a\u2028"
    assert r"\x7f\x0a\u2028" in done.output  # on one line: a name forges no other line
    assert all(c.isprintable() for c in (done.output + machine.output).replace("\n", ""))


@pytest.mark.checks("CF-23", "CF-24")
def test_a_seeded_mistake_is_found_by_the_oracle(scenario, tmp_path) -> None:
    wrong = written(tmp_path / "wrong.py", source=faulty_source(fault_named("eta-index")))
    done = invoke(scenario, "--agent", "1", wrong, "-o", tmp_path / "run")
    assert done.exit_code == 1
    assert "agent 1, LocalValidate.hashes round 1: value of 1/0, entry 2 [LV-5]" in done.output
    assert f"valid-ref check {tmp_path / 'run'} --agent 1" in done.output
    assert "the reference alone gives other bytes" in done.output
    assert "first difference at LocalValidate.hashes round 1" in done.output


@pytest.mark.checks("CF-20", "CF-23")
@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--agent", "0-3", "example"], "not a range"),
        (["--agent", "0", "no-such-command"], "cannot start"),
        (["--without", "P07"], "No such option"),
        (["--agent", "0"], "names no command"),
        (["--agent", "0", "--json"], "names no command"),
        (["--byzantine", "0", "--agent", "0", "example"], "agent 0 is Byzantine"),
        (["-o", "missing/run.zip"], "cannot write"),
        (["-o", "full"], "not an empty directory"),
        (["-o", "full/file"], "is no directory"),
    ],
)
def test_bad_input_is_refused(arguments, problem: str, scenario, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("full").mkdir()
    Path("full/file").touch()
    done = invoke(scenario, *arguments)
    refused = isinstance(done.exception, ValidRefError)
    assert refused or done.exit_code == 2
    assert problem in (str(done.exception) if refused else " ".join(done.output.split()))


def running(mark: Path) -> list[int]:
    """The processes that have noted themselves and still run."""
    numbers = [int(text) for text in mark.read_text().split()] if mark.exists() else []
    return [number for number in numbers if Path(f"/proc/{number}").exists()]


@pytest.mark.checks("CF-22")
@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 130)]
)
def test_a_signal_ends_all_processes(number, status: int, scenario, tmp_path) -> None:
    """Also those that are asked at the time, and do not answer."""
    mark = tmp_path / "running"
    note = f"open({str(mark)!r}, 'a').write(f'{{os.getpid()}}\\n')"
    line = f"request['op'] == 'hello' and {note}; request.get('round') == 2 and time.sleep(60)"
    command = written(tmp_path / "agent.py", line)
    heeded = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    program = f"{heeded}; from valid_ref.cli import main; main()"
    started = subprocess.Popen(
        [sys.executable, "-c", program, "arena", scenario, "--agent", "0-2", command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ,
    )
    deadline = time.monotonic() + 60
    while len(running(mark)) < 3 and time.monotonic() < deadline:
        time.sleep(0.05)
    assert len(running(mark)) == 3
    time.sleep(0.3)
    begin = time.monotonic()
    started.send_signal(number)
    _output, errors = started.communicate(timeout=30)
    assert time.monotonic() - begin < 15
    assert started.returncode == status
    assert "Traceback" not in errors
    assert running(mark) == []
