"""A recording of a run that leaves something necessary out says so before everything else."""

import json
from pathlib import Path
from typing import Any

import attrs
import pytest
from typer.testing import CliRunner

from tests import support
from tests.valid_ref.oracle.test_oracle_check import changed
from valid_ref.cli import app
from valid_ref.graph_families import path
from valid_ref.oracle import Status, Verdict, check, open_recording, write_recording
from valid_ref.protocols.parameters import (
    LEAN_PARTS,
    CheckedKeys,
    LeanParameters,
    ValidParameters,
)
from valid_ref.protocols.weakened import checked_less, left_out
from valid_ref.reading import Reading
from valid_ref.report import watch_recording

LEAN = LeanParameters(2, "5a" * 32)
GRAPH = path(3)


def without(name: str) -> ValidParameters:
    """A network without a repair, or without a part of lean validation."""
    if name in LEAN_PARTS:
        return attrs.evolve(support.lean_network(GRAPH), lean=attrs.evolve(LEAN, without=(name,)))
    return support.network(GRAPH, reading=Reading.without(name), field_range=name != "P20")


def recorded(parameters: ValidParameters, place: Path, changes: Any = None) -> Verdict:
    execution = support.run(parameters)
    write_recording(place, execution if changes is None else changes(execution), "test")
    return check(open_recording(place))


@pytest.mark.checks("RE-8", "RE-20", "LE-18", "VA-7")
@pytest.mark.parametrize("name", [*Reading.switches(), *LEAN_PARTS])
def test_a_run_without_a_necessary_part_is_weakened(name: str, tmp_path: Path) -> None:
    verdict = recorded(without(name), tmp_path / "run")
    assert (verdict.status, verdict.conforms) == (Status.WEAKENED, False)
    [missing] = verdict.left_out
    assert name in missing
    assert "nothing is promised" in verdict.reason
    allowed = check(open_recording(tmp_path / "run"), allow_weakened=True)
    assert (allowed.status, allowed.left_out) == (Status.CONFORMS, verdict.left_out)
    if name in LEAN_PARTS:  # P06 alone is one that lean validation has too
        more = attrs.evolve(without(name), reading=Reading.without("P06"))
        assert left_out(more) == ("the repair P06", missing)


@pytest.mark.checks("RE-20")
def test_command_and_page_say_it_first(tmp_path: Path) -> None:
    place = tmp_path / "run"
    verdict = recorded(without("commitment"), place)
    shown = CliRunner().invoke(app, ["check", str(place)])
    assert shown.exit_code == 1
    first, second, *_rest = shown.output.splitlines()
    assert first.startswith("weakened: ")
    assert second == "left out: the part 'commitment' of lean validation"
    said = CliRunner().invoke(app, ["check", str(place), "--json"])
    assert said.exit_code == 1
    document = json.loads(said.output)
    assert [*document][:4] == ["verdict", "reason", "left_out", "checked_less"]
    assert (document["verdict"], document["left_out"]) == ("weakened", [*verdict.left_out])
    quiet = CliRunner().invoke(app, ["check", str(place), "-q"])
    assert (quiet.exit_code, quiet.output) == (1, "weakened\n")
    allowed = CliRunner().invoke(app, ["check", str(place), "--allow-weakened"])
    assert allowed.exit_code == 0
    assert allowed.output.splitlines()[:2] == [
        "conforms: every word and every verdict of the honest agents is as specified",
        second,
    ]
    assert "left out: the part 'commitment'" in CliRunner().invoke(app, ["show", str(place)]).output
    page = watch_recording(open_recording(place), verdict, "x")
    assert (page.outcome.outcome, page.outcome.tone) == ("wrong", "bad")
    assert ("left out", "the part 'commitment' of lean validation") in page.facts


@pytest.mark.checks("RE-8", "RE-20")
def test_what_is_wrong_beside_is_still_said(tmp_path: Path) -> None:
    def lie(execution):
        return changed(execution, "LearnModel", 2, 1, support.shifted(model=1, entry=1))

    found = recorded(without("P14"), tmp_path / "run", lie)
    assert (found.status, found.left_out) == (Status.DIVERGES, ("the repair P14",))
    recorded(without("P14"), tmp_path / "honest")
    partly = check(open_recording(tmp_path / "honest"), agents=[0])
    assert (partly.status, partly.left_out) == (Status.CANNOT_TELL, ("the repair P14",))


@pytest.mark.checks("RE-20")
def test_what_parameters_leave_unchecked_is_said_and_changes_no_verdict(tmp_path: Path) -> None:
    whole = support.network(GRAPH)
    bounded = attrs.evolve(whole, bounds=support.lean_network(GRAPH).bounds)
    assert bounded.bounds is not None
    known: list[tuple[dict[str, Any], str]] = [
        ({"checked_keys": CheckedKeys.OWN}, "LV-10"),
        ({"bounds": None}, "LV-2"),
        ({"weightings": ()}, "GV-12"),
    ]
    sparse = attrs.evolve(
        whole, **{name: value for one, _id in known for name, value in one.items()}
    )
    for place, parameters in enumerate((bounded, sparse)):
        verdict = recorded(parameters, tmp_path / str(place))
        assert (verdict.status, verdict.left_out) == (Status.CONFORMS, ())
        assert verdict.checked_less == checked_less(parameters, 3)
    for changes, clause in known:
        [*said] = checked_less(attrs.evolve(bounded, **changes), 3)
        assert [clause in words for words in said].count(True) == 1
        assert len(said) == len(checked_less(bounded, 3)) + 1
    small = support.network(GRAPH, d=2, T=3, prime=10007)  # 5 / 10007 for each key
    assert [words for words in checked_less(small, 1) if "chance of up to 0.0005 (L2)" in words]
    assert not [words for words in checked_less(small, 2) if "chance" in words]
