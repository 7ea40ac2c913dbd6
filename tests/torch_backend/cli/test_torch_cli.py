"""The command line: what it prints, what it leaves behind, how it refuses."""

import itertools
import json
import signal
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from tests.torch_backend.killing import EXPERIMENT
from torch_backend import cli
from torch_backend.cli import commands
from torch_backend.cli.commands import Counter, duration, stopping, watching
from torch_backend.engine import Program, Said, State, advance

RUNNER = CliRunner()


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cli")
    (folder / "tiny.toml").write_text(EXPERIMENT)
    return folder


def call(*arguments: str | Path) -> str:
    done = RUNNER.invoke(commands.app, [str(argument) for argument in arguments])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == 0, done.output
    return done.output


@pytest.mark.checks("EX-14", "EX-15", "EX-17")
def test_run_table_and_plot(made: Path) -> None:
    printed = call("run", made / "tiny.toml", "-o", made / "run")
    assert "9 jobs of 12 rounds" in printed
    assert "INCONSISTENT_HASHES" in printed
    assert "gamma_max" in printed
    assert call("table", made / "run") in printed
    markdown = call("table", made / "run", "--markdown", "-o", made / "tables")
    assert "| VALID | none |" in markdown
    lines = (made / "tables" / "accuracy.csv").read_text().splitlines()
    assert lines[0].startswith("rule,attack,sigma,runs,diverged,accuracy")
    assert len(lines) == 1 + 4
    detection = (made / "tables" / "detection.csv").read_text().splitlines()
    assert len(detection) == 1 + 2 * 2
    alarms = (made / "tables" / "alarms.csv").read_text().splitlines()
    assert alarms[0] == "attack,runs,alarms,low,high,level"
    assert alarms[1].startswith("none,1,0,0.0,0.975")
    assert alarms[1].endswith(",0.25")
    assert "probability at most 1/4" in printed
    assert call("plot", made / "run").split() == [
        str(made / "run" / "plots" / name) for name in ("rounds.png", "rounds.svg")
    ]


@pytest.mark.checks("EX-15")
def test_an_attack_with_an_option_called_label_has_a_row_of_its_own(made: Path) -> None:
    attacks = 'attacks=[{kind="none"}, {kind="one-label", label=2}]'
    call(
        "run", made / "tiny.toml", "-o", made / "one-label", "--set", "seeds=[1]", "--set", attacks
    )
    assert "| VALID | one-label label=2 |" in call("table", made / "one-label", "--markdown")


@pytest.mark.checks("EX-15", "EX-19")
def test_false_alarms_are_counted_and_the_same_call_goes_on(made: Path) -> None:
    arguments = ["false-alarms", made / "tiny.toml", "--runs", "2", "-o", made / "honest"]
    changes = ["--set", "rounds=3", "--set", "common_seed=1"]
    printed = call(*arguments, *changes)
    assert "2 honest runs are judged, 10 runs in all" in printed
    assert "of 2 honest runs alarm" in printed
    assert "promised is at most 0.2500" in printed
    assert call(*arguments, *changes) == printed


@pytest.mark.checks("EX-14")
def test_calibration_runs_are_kept_unless_they_are_not_wanted(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "none"))
    common = ["run", made / "tiny.toml", "-q", "--set", "rounds=2", "--set", "validate=false"]
    call(*common, "--cache", tmp_path / "kept", "-o", tmp_path / "one")
    assert len([*(tmp_path / "kept").iterdir()]) == 5
    call(*common, "--no-cache", "-o", tmp_path / "two")
    assert not (tmp_path / "none").exists()


@pytest.mark.checks("EX-12")
def test_the_schema_is_printed() -> None:
    found = json.loads(call("schema"))
    assert "rounds" in found["properties"]
    assert found["additionalProperties"] is False


@pytest.mark.checks("EX-12", "EX-13")
def test_every_name_is_listed_with_its_options() -> None:
    printed = call("list")
    for word in ("fig-noniid", "ubar", "rho = 0.4", "gaussian", "rotated", "mlp", "digits", "none"):
        assert word in printed


def refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: str
) -> str:
    monkeypatch.setattr(sys, "argv", ["valid-torch", *words])
    with pytest.raises(SystemExit) as caught:
        cli.main()
    assert caught.value.code == 2
    return capsys.readouterr().err


@pytest.mark.checks("EX-12")
def test_bad_input_is_one_line_and_status_2(
    made: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for words, expected in (
        (("run", "fig-nonid"), "did you mean 'fig-noniid'?"),
        (("run", "demo", "--set", "batchh=2"), "batchh: unknown field; did you mean 'batch'?"),
        (("run", "fig-iid", "--data", str(made), "-o", str(made / "x")), "train-images"),
        (("run", "demo", "--device", "cuda:7", "-o", str(made / "y")), "cannot be used"),
        (("table", str(made / "nothing")), "holds no results"),
        (("plot", str(made)), "holds no results"),
        (("run", "demo", "--set", "detection.runs=18"), "the level 0.05 needs 19"),
    ):
        printed = refused(monkeypatch, capsys, *words)
        assert expected in printed
        assert printed.startswith("valid-torch: ")
        assert printed.count("\n") == 1


def test_a_missing_extra_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], made: Path
) -> None:
    monkeypatch.setitem(sys.modules, "torch_backend.plot", None)
    with pytest.raises(ImportError):  # of our own: not taken for a missing extra
        call("plot", made)

    def fail(*_: object, **_options: object) -> None:
        raise ImportError("no matplotlib", name="matplotlib")

    monkeypatch.setattr(commands, "app", fail)
    assert "pip install matplotlib" in refused(monkeypatch, capsys, "plot", "x")


@pytest.mark.checks("EX-14")
def test_a_place_that_cannot_be_written_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setattr(sys, "argv", ["valid-torch", "run", "demo", "-o", str(blocked / "x")])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1


def test_stopping_by_hand_says_how_to_go_on(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first signal stops after a round with status 130; the same command goes on."""
    arguments = ["run", str(made / "tiny.toml"), "-o", str(made / "stopped")]
    monkeypatch.setattr(sys, "argv", ["valid-torch", *arguments])
    rounds = itertools.count()

    def interrupted(program: Program, state: State) -> tuple[State, Said]:
        if next(rounds) == 5:
            signal.raise_signal(signal.SIGINT)
        return advance(program, state)

    with monkeypatch.context() as patched:
        patched.setattr("torch_backend.job.advance", interrupted)
        done = RUNNER.invoke(commands.app, arguments)
    assert done.exit_code == 130
    assert next(rounds) == 6  # the round in which it came was finished, and no other begun
    assert f"To go on: valid-torch {' '.join(arguments)}" in done.output
    assert "9 jobs" in call(*arguments)


def test_a_second_signal_ends_at_once() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with stopping() as asked:
        signal.raise_signal(signal.SIGTERM)
        assert asked.is_set()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGTERM) is before


def test_progress_counts_rounds_of_all_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr(typer, "echo", lambda text, **_: said.append(text))
    monkeypatch.setattr("torch_backend.cli.commands.SECONDS_BETWEEN_LINES", 0.0)
    counter = Counter(jobs=3, rounds=10, done={"a": 10})
    with watching(counter, hidden=False) as watch:
        watch("b", 4)
        watch("b", 10)
    assert said[0].startswith("1 of 3 jobs, 14 of 30 rounds, about ")
    assert said[0].endswith("left: b, round 4")
    assert said[1].startswith("2 of 3 jobs, 20 of 30 rounds")
    assert [duration(s) for s in (3, 100, 7200)] == ["3 s", "2 min", "2.0 h"]
