"""Manners of the command line: examples, suggestions, JSON, quiet forms, no colours in a pipe."""

import json
import os
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from valid_ref.cli import app, main
from valid_ref.errors import ValidRefError
from valid_ref.report.curves import require_matplotlib

COMMANDS = sorted(c.name or c.callback.__name__ for c in app.registered_commands)
SMALL = ("--graph", "path:3", "--rounds", "3")


def run(*arguments: str):
    return CliRunner().invoke(app, arguments, env={"COLUMNS": "100", "TERMINAL_WIDTH": "100"})


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_examples(command: str) -> None:
    shown = run(command, "--help")
    assert shown.exit_code == 0
    assert "Example" in shown.output
    assert f"valid-ref {command}" in shown.output


@pytest.mark.parametrize(
    "command", ["run", "report", "errata", "explore", "prove", "trace", "demo"]
)
def test_examples_stand_on_lines_of_their_own(command: str) -> None:
    lines = [line.strip() for line in run(command, "--help").output.splitlines()]
    begin = lines.index("Examples:")
    examples = [line for line in lines[begin + 1 :] if line.startswith("valid-ref")]
    assert len(examples) >= 2
    assert all(line.count("valid-ref ") == 1 for line in examples)


def test_exit_statuses_are_documented_and_completion_is_there() -> None:
    text = " ".join(run("--help").output.split())
    assert "0 done, 1 a check failed, 2 bad input, 130 interrupted" in text
    assert "--install-completion" in text


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (("rnu",), "run"),
        (("run", "--grpah", "x"), "--graph"),
        (("run", "--graph", "complte:5"), "complete:N"),
        (("run", "--byzantine", "1", "--attack", "equivocaton"), "did you mean 'equivocation'"),
        (("prove", "pertubation"), "did you mean perturbation"),
        (("trace", "eq:cc5"), "eq:cc4"),
        (("errata", "P99"), "did you mean"),
        (("errata", "A01", "--report", "x.html"), "these do: P01"),
        (("errata", "--report", "x.html"), "errata P06 --report"),
        (("report", "nothing.json"), "nothing.json"),
        (("report", *SMALL, "-o", "no/such/place.html"), "cannot write no/such/place.html"),
        (("run", *SMALL, "--plot", "run.gif"), ".png, .svg, .pdf"),
    ],
)
def test_a_mistake_is_answered_with_a_suggestion(arguments, hint, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = run(*arguments)
    refused = isinstance(result.exception, ValidRefError)
    assert refused or result.exit_code == 2
    assert hint in (str(result.exception) if refused else " ".join(result.output.split()))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "arguments",
    [
        ("run", *SMALL),
        ("run", "--attacks"),
        ("report", *SMALL),
        ("errata",),
        ("errata", "P18"),
        ("learn", *SMALL),
        ("trace", "LV-3"),
        ("explore", "--max-agents", "2", "--jobs", "1"),
    ],
)
def test_json_is_one_document(arguments) -> None:
    json.loads(run(*arguments, "--json").output)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("run", *SMALL), "a\n"),
        (("errata", "P18"), "shown\n"),
        (("report", *SMALL), ""),
        (("explore", "--max-agents", "2", "--jobs", "1", "--property", "V2"), "0\n"),
    ],
)
def test_quiet_says_the_least(arguments, expected, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(*arguments, "--quiet").output == expected


def test_no_colours_in_a_pipe_and_none_with_no_color() -> None:
    program = [sys.executable, "-c", "from valid_ref.cli import main; main()"]
    clean = {k: v for k, v in os.environ.items() if not k.endswith("_COLOR")}
    for words, more in ((("run", *SMALL), {}), (("--help",), {"NO_COLOR": "1"})):
        result = subprocess.run(
            [*program, *words], env=clean | more, capture_output=True, text=True, check=False
        )
        assert "\x1b[" not in result.stdout + result.stderr
        assert len(result.stdout) > 100


def test_a_plot_is_drawn(tmp_path) -> None:
    pytest.importorskip("matplotlib")
    shown = run("run", *SMALL, "--plot", str(tmp_path / "run.svg"))
    assert shown.exit_code == 0
    assert (tmp_path / "run.svg").read_bytes().startswith(b"<?xml")
    assert "run.svg" in shown.output.replace("\n", "")


def test_a_plot_without_matplotlib_is_refused_before_the_run(monkeypatch, tmp_path) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ValidRefError, match=r"pip install matplotlib"):
        require_matplotlib(tmp_path / "run.png")


def test_run_and_demo_write_pages(tmp_path) -> None:
    page = tmp_path / "run.html"
    shown = run("run", *SMALL, "--report", str(page))
    assert "open it in a browser" in shown.output
    assert page.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


UNWRITABLE = [
    ("run", *SMALL, "--report"),
    ("run", *SMALL, "--plot"),
    ("report", *SMALL, "-o"),
    ("arena", *SMALL, "-o"),
    ("vectors", "--bundle"),
    ("errata", "P14", "--report"),
    ("explore", "--max-agents", "3", "--jobs", "1", "--quiet", "--record"),
    ("conform", "--fault", "eta-index", "--examples", "0", "--save"),
]


@pytest.mark.parametrize("words", UNWRITABLE, ids=lambda words: " ".join((words[0], words[-1])))
def test_a_place_that_cannot_be_written_is_one_line(tmp_path, monkeypatch, capsys, words) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    target = {"--plot": "x.png", "--bundle": "x.zip", "--record": "x.json"}.get(words[-1], "x.html")
    if words[0] == "arena":
        target = "x.zip"
    monkeypatch.setattr(sys, "argv", ["valid-ref", *words, str(blocked / target)])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1


MANY_DIGITS = "7" * 5000


@pytest.mark.checks("GU-12", "VA-6", "MO-11")
@pytest.mark.parametrize(
    "arguments",
    [
        ("--level", "0"),
        ("--level", "1"),
        ("--level", "nan"),
        ("--level", "inf"),
        ("--level", "-0.1"),
        ("--level", "1e-320"),
        ("--level", "1e-9"),
        ("--level", "0.1", "--thresholds", "certificate"),
        ("--thresholds", "calibrated:runs=1000000000000000000000"),
        ("--thresholds", f"calibrated:runs={MANY_DIGITS}"),
        ("--thresholds", "calibrated:tails=sideways"),
        ("--thresholds", "calibrated:pilots=0"),
        ("--eps-success", "nan"),
        ("--eps-success", "inf"),
        ("--eps-success", "-1"),
        ("--coins", "xyz"),
        ("--byzantine", "--3"),
        ("--byzantine", "²"),
        ("--byzantine", "a,b"),
        ("--byzantine", MANY_DIGITS),
    ],
)
@pytest.mark.parametrize("command", ["run", "power"])
def test_wrong_words_about_levels_and_success_are_refused_in_a_line(
    command, arguments, tmp_path
) -> None:
    if command == "power":
        if arguments[0] in {"--eps-success", "--coins"}:
            return
        arguments = (*arguments, "-o", str(tmp_path / "out"))
    result = run(command, *SMALL, *arguments)
    assert isinstance(result.exception, ValidRefError) or result.exit_code == 2, result.exception
    assert not (tmp_path / "out").exists()


@pytest.mark.checks("VA-6")
def test_a_scenario_that_is_nested_too_deeply_is_refused(tmp_path) -> None:
    path = tmp_path / "deep.json"
    path.write_text("[" * 100_000)
    for command in ("run", "report", "record"):
        more = ("-o", str(tmp_path / "x.zip")) if command == "record" else ()
        assert isinstance(run(command, str(path), *more).exception, ValidRefError)
