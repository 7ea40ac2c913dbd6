"""`valid-ref explore` from the outside."""

import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from valid_ref.cli.explore import explore, parse_reading
from valid_ref.errors import ValidRefError
from valid_ref.explore import Script, read_manifest, replay_script
from valid_ref.reading import Reading

app = typer.Typer()
app.command()(explore)


def call(*arguments: str) -> Result:
    return CliRunner().invoke(app, [*arguments, "--jobs", "1"])


def test_the_repaired_broadcast_holds() -> None:
    result = call("--max-agents", "4")
    assert result.exit_code == 0, result.output
    assert "a claim of the paper that is false (P02)" in result.stdout
    assert "3 alarms: DIFFERENT_VALUE from 1" in result.stdout


def test_as_printed_breaks_and_says_how(tmp_path: Path) -> None:
    result = call("--max-agents", "3", "--reading", "as-printed", "--json", "--out", str(tmp_path))
    assert result.exit_code == 1
    document = json.loads(result.stdout)
    assert document["properties"]["V2"]["kinds"]["Byzantine source"] == {
        "instances": 13,
        "violations": 13,
    }
    assert json.loads((tmp_path / "explored.json").read_text()) == document
    script = Script.from_json(json.loads((tmp_path / "V2.json").read_text()))
    assert not replay_script(script).verdict
    assert (tmp_path / "V2.txt").read_text().startswith("V2 is violated")


def test_parts_of_a_repair_can_be_turned_off() -> None:
    options = ["--no-compare", "--flood", "min(V,E)+1", "--property", "V2", "--json"]
    result = call("--max-agents", "3", *options)
    assert json.loads(result.stdout)["settings"]["broadcast"] == {
        "flood": "min(V,E)+1",
        "compare": False,
        "null_alarm": True,
        "resend": False,
    }
    assert result.exit_code == 1
    rounds = ["--protocol", "agreement", "--agreement-rounds", "H-1", "--property", "S2"]
    assert call("--max-agents", "4", *rounds).exit_code == 0
    assert call("--max-agents", "3", "--no-null-alarm", "--protocol", "both").exit_code == 1


def test_it_is_recorded_and_measured(tmp_path: Path) -> None:
    manifest, state = tmp_path / "explored.json", tmp_path / "state.jsonl"
    for _ in range(2):
        result = call(
            "--max-agents", "4", "--baseline", "--record", str(manifest), "--resume", str(state)
        )
        assert result.exit_code == 0
    assert "times as fast" in result.stdout
    (entry,) = read_manifest(manifest)
    assert entry.settings.max_agents == 4
    assert entry.measured["plain_states_per_second"] > 0
    call("--max-agents", "4", "--protocol", "agreement", "--record", str(manifest))
    assert len(read_manifest(manifest)) == 2


def test_a_stop_from_the_keyboard_says_how_to_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(*_arguments: object, **_options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("valid_ref.explore.run.explore", stopped)
    result = call("--max-agents", "4", "--resume", str(tmp_path / "state"))
    assert result.exit_code == 130
    assert f"continue with --resume {tmp_path / 'state'}" in result.output


@pytest.mark.parametrize(
    "arguments",
    [
        ("--reading", "printed"),
        ("--reading", "without:P99"),
        ("--protocol", "learning"),
        ("--flood", "V"),
        ("--agreement-rounds", "V"),
        ("--alphabet", "a,b"),
        ("--property", "S2"),
        ("--max-agents", "9"),
    ],
)
def test_bad_input_is_a_typed_refusal(arguments: tuple[str, ...]) -> None:
    assert isinstance(call(*arguments).exception, ValidRefError)


def test_readings_by_name() -> None:
    assert parse_reading("repaired") == Reading()
    assert parse_reading("as-printed") == Reading.as_printed()
    assert parse_reading("without:P01,P04") == Reading.without("P01", "P04")
