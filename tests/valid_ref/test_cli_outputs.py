"""No output of a command may replace another, nor anything that the command reads."""

import os
import typing
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from typer.models import OptionInfo

from tests.pages import called
from tests.wrong_inputs import answer, prepared
from torch_backend.cli.commands import app as torch_app
from valid_ref.cli import app
from valid_ref.cli.outputs import require_outputs
from valid_ref.errors import OutputError

INPUTS = {"--open", "--root", "--replay", "--data"}
"""Options that name what is read."""

OUTPUTS = {
    ("run", "--save"): ("run s.json --save s.json", "run --save x --report x"),
    ("run", "--plot"): ("run s.json --plot ./x.svg --report x.svg",),
    ("run", "--report"): ("run s.json --report full/../s.json",),
    ("report", "--output"): ("report run.zip -o run.zip", "report s.json -o s.json"),
    ("demo", "--output"): (),
    ("record", "--output"): ("record s.zip -o s.zip",),
    ("arena", "--output"): ("arena s.zip -o s.zip",),
    ("conform", "--save"): ("conform --save file -- ./file",),
    ("explore", "--resume"): ("explore --resume x --record x", "explore --resume x --out x"),
    ("explore", "--record"): ("explore --protocol lean --record x --resume ./x",),
    ("explore", "--out"): ("explore --out full --record full/explored.json",),
    ("errata", "--report"): (),
    ("power", "--output"): ("power full/summary.json -o full",),
    ("vectors", "--bundle"): ("vectors full --bundle full/x.zip",),
    ("run", "--output"): (),
    ("run", "--cache"): ("valid-torch run demo -o x --cache ./x",),
    ("false-alarms", "--output"): (),
    ("plot", "--output"): (),
    ("table", "--output"): (),
}
"""Every option of both command lines that names an output, and commands that are refused."""


@pytest.fixture(scope="module")
def directory() -> Iterator[None]:
    with prepared():
        for name in ("s.zip", "full/summary.json"):
            Path(name).write_bytes(Path("s.json").read_bytes())
        yield


@pytest.mark.parametrize("words", [words for found in OUTPUTS.values() for words in found])
def test_an_output_that_would_replace_something_is_refused(words: str, directory: None) -> None:
    before = {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}
    found = answer(words if words.startswith("valid-torch") else f"valid-ref {words}")
    assert (found.status, found.left) == (2, ())
    assert " would replace " in found.error
    assert {path: path.read_bytes() for path in before} == before


def _paths(command: Callable[..., None]) -> Iterator[str]:
    """The options of a command that take a path."""
    for name, hint in typing.get_type_hints(command, include_extras=True).items():
        if typing.get_origin(hint) is not typing.Annotated:
            continue
        kind, info = typing.get_args(hint)[:2]
        if isinstance(info, OptionInfo) and Path in {kind, *typing.get_args(kind)}:
            said = [word for word in (info.default, *(info.param_decls or ())) if word is not ...]
            yield said[0] if said else f"--{name.replace('_', '-')}"


def test_every_output_of_both_command_lines_is_listed() -> None:
    found = {
        (one.name or one.callback.__name__, option)
        for commands in (app, torch_app)
        for one in commands.registered_commands
        for option in _paths(one.callback)
    }
    assert {place for place in found if place[1] not in INPUTS} == set(OUTPUTS)
    assert {option for _command, option in found} >= INPUTS


@pytest.mark.parametrize("make", [os.symlink, os.link])
def test_other_spellings_of_a_place_are_that_place(tmp_path: Path, make) -> None:
    (tmp_path / "a").write_text("")
    make(tmp_path / "a", tmp_path / "b")
    with pytest.raises(OutputError, match="the same place as"):
        require_outputs(files={"--one": tmp_path / "a", "--two": tmp_path / "b"})
    with pytest.raises(OutputError, match="would replace what SOURCE names"):
        require_outputs(files={"--one": tmp_path / "b"}, inputs={"SOURCE": tmp_path / "a"})
    require_outputs(files={"--one": tmp_path / "a", "--two": tmp_path / "c"})


def test_a_link_to_a_place_that_is_not_there_yet_is_that_place(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "new")
    with pytest.raises(OutputError, match="the same place as"):
        require_outputs(files={"--one": tmp_path / "link", "--two": tmp_path / "new"})


def test_files_of_a_directory_belong_to_it_and_others_do_not(tmp_path: Path) -> None:
    out, mine = tmp_path / "out", ("summary.json",)
    for place in (out / "summary.json", tmp_path / "x" / ".." / "out" / "summary.json"):
        (tmp_path / "x").mkdir(exist_ok=True)
        out.mkdir(exist_ok=True)
        with pytest.raises(OutputError, match="not apart from"):
            require_outputs(files={"--file": place}, directories={"--out": out}, written=mine)
    require_outputs(files={"--file": out / "other"}, directories={"--out": out}, written=mine)
    with pytest.raises(OutputError, match="not apart from"):
        require_outputs(files={"--file": out / "other"}, inputs={"SOURCE": out})


def test_a_device_takes_any_number_of_outputs() -> None:
    require_outputs(files=dict.fromkeys(("--one", "--two"), Path(os.devnull)))


def test_a_run_that_is_refused_leaves_the_saved_scenario_as_it_was(directory: None) -> None:
    before = Path("s.json").read_bytes()
    words = "valid-ref run --graph path:3 --rounds 3 --byzantine 77 --save"
    for place in ("s.json", "new.json"):
        assert called((*words.split(), place))[0] == 2
    assert Path("s.json").read_bytes() == before
    assert not Path("new.json").exists()
