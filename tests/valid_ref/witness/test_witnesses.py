"""Every witness shows its erratum: wrong as printed, not wrong as repaired."""

import pytest
from typer.testing import CliRunner

from valid_ref.cli import app
from valid_ref.witness import WITNESSES


@pytest.mark.parametrize("erratum", sorted(WITNESSES))
def test_the_printed_text_goes_wrong_and_the_repaired_does_not(erratum: str) -> None:
    witness = WITNESSES[erratum]
    printed, repaired = witness.printed(), witness.repaired()
    assert printed.wrong, printed.lines
    assert not repaired.wrong, repaired.lines


def test_the_command_lists_and_replays() -> None:
    listed = CliRunner().invoke(app, ["errata"])
    assert listed.exit_code == 0
    assert "P14  bug      replays" in listed.output
    shown = CliRunner().invoke(app, ["errata", "p14"])
    assert shown.exit_code == 0
    assert shown.output.index("it goes wrong") < shown.output.index("Repaired:")
    assert shown.output.rstrip().endswith("no promise is broken")
    assert "valid-ref trace A09" in CliRunner().invoke(app, ["errata", "A09"]).output
