"""Every command that runs a scenario takes the options by which `run` names one."""

from pathlib import Path

import attrs
import pytest
import typer
from typer.testing import CliRunner

from valid_ref.cli import app, options

COMMANDS = typer.main.get_command(app).commands  # type: ignore[attr-defined]
SCENARIO = {field.name for field in attrs.fields(options.Chosen)}
SHARED = SCENARIO | {"scenario", "jobs"}
LACKING = {
    "run": set(),
    "report": set(),
    "record": set(),
    "power": {"attack"},  # it searches for one
    "arena": {"without"},  # agents of others follow the repaired reading (CF-20)
}
"""The commands that run a scenario, and which options each has not, for a reason."""
OWN = {"learn", "demo", "conform"}
"""Commands with a --rounds, --graph or --seed of another meaning."""

GIVEN = options.Chosen(
    graph="path:3",
    loss="random-ridge",
    rounds=3,
    schedule="paper:alpha0=0.1,eta0=0.1",
    bounds="none",
    weights="polynomial:power=2",
    thresholds="calibrated:runs=39",
    level=0.1,
    byzantine="1",
    attack="equivocation",
    without="P06",
    validation="lean:kappa=3",
    seed=5,
    coins="5a" * 32,
    eps_success=0.5,
)


def taken(name: str) -> set[str]:
    names = {parameter.name for parameter in COMMANDS[name].params}
    return names - {"source"} | ({"scenario"} if "source" in names else set())


def test_every_command_that_runs_a_scenario_has_the_options_of_run() -> None:
    twins = {name for name in COMMANDS if taken(name) & SCENARIO} - OWN
    assert twins == set(LACKING)
    for name, lacking in LACKING.items():
        assert SHARED - taken(name) == lacking, name


def test_an_option_is_the_same_in_every_command() -> None:
    of_run = {one.name: one for one in COMMANDS["run"].params}
    for name in LACKING:
        for one in COMMANDS[name].params:
            if one.name in SCENARIO | {"jobs"}:
                twin = of_run[one.name]
                assert one.opts == twin.opts, name
                assert one.help == twin.help, name


class ReachedError(Exception):
    """What a command understood."""


@pytest.mark.parametrize("name", LACKING)
def test_what_an_option_says_reaches_the_scenario(name: str, monkeypatch, tmp_path: Path) -> None:
    def chosen_scenario(_path: Path | None, chosen: options.Chosen) -> None:
        raise ReachedError(chosen)

    monkeypatch.setattr(options, "chosen_scenario", chosen_scenario)
    flags = {one.name: one.opts[0] for one in COMMANDS[name].params}
    words = [name, "--output", str(tmp_path / "new")] if "output" in flags else [name]
    for field, value in attrs.asdict(GIVEN).items():
        words += [flags[field], str(value)] if field in flags else []
    error = CliRunner().invoke(app, words).exception
    assert isinstance(error, ReachedError)
    assert error.args == (attrs.evolve(GIVEN, **dict.fromkeys(LACKING[name])),)


def test_a_page_and_a_recording_of_a_lean_run_are_made(tmp_path: Path) -> None:
    small = ["--graph", "path:3", "--rounds", "3", "--validation", "lean", "--seed", "1"]
    page, recording = tmp_path / "page.html", tmp_path / "run.zip"
    assert CliRunner().invoke(app, ["report", *small, "-o", str(page)]).exit_code == 0
    assert "LeanValidate" in page.read_text(encoding="utf-8")
    assert CliRunner().invoke(app, ["record", *small, "-o", str(recording)]).exit_code == 0
    checked = CliRunner().invoke(app, ["check", str(recording)])
    assert (checked.exit_code, checked.output.partition(":")[0]) == (0, "conforms")
