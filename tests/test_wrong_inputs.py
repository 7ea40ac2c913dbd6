"""Every wrong input is answered in one line, with exit status 2; the table says how."""

from collections.abc import Iterator

import pytest

from tests.documents import ROOT
from tests.wrong_inputs import COMMANDS, HEAD, answer, prepared, row

TABLE = ROOT / "docs" / "tables" / "wrong-inputs.md"


@pytest.fixture(scope="module")
def directory() -> Iterator[None]:
    with prepared():
        yield


@pytest.mark.parametrize("command", COMMANDS)
def test_a_wrong_input_is_refused_in_one_line(command: str, directory: None) -> None:
    found = answer(command)
    assert found.status == 2
    assert found.error.startswith(f"{command.split()[0]}: ")
    assert found.error.count("\n") == 1
    assert found.left == ()
    assert row(command, found) in TABLE.read_text(encoding="utf-8")


def test_the_table_has_these_commands_and_no_others() -> None:
    text = TABLE.read_text(encoding="utf-8")
    assert text.startswith(HEAD)
    rows = text.removeprefix(HEAD).splitlines()
    assert [line.split("`")[1] for line in rows] == COMMANDS
    assert len(COMMANDS) == len(set(COMMANDS)) >= 50
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"each refused in one line | {len(COMMANDS)} |" in readme
