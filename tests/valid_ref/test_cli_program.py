"""How both command lines end: their exit status, and the one line where they cannot go on."""

import errno
import os
import signal
import subprocess
import sys
import time
import types
from pathlib import Path

import pytest

from tests.documents import ROOT
from tests.pages import PROGRAMS
from valid_ref.cli.program import PACKAGES, carry_out
from valid_ref.errors import ValidRefError

BIN = Path(sys.executable).parent


class AwayError(ValidRefError):
    """One that another process has told already."""

    told = True


def of_rich() -> SystemExit:
    """What rich makes of a closed pipe."""
    error = SystemExit(1)
    error.__context__ = BrokenPipeError()
    return error


def ended(error: BaseException, monkeypatch, capsys) -> tuple[int, str]:
    def app(**_options: object) -> None:
        raise error

    monkeypatch.setitem(sys.modules, "made_commands", types.SimpleNamespace(app=app))
    heeded = signal.getsignal(signal.SIGINT)
    try:
        with pytest.raises(SystemExit) as left:
            carry_out("valid-x", "made_commands")
    finally:
        signal.signal(signal.SIGINT, heeded)
    return int(left.value.code or 0), capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "status", "line"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), 2, "No space left on device"),
        (PermissionError(errno.EACCES, "Permission denied", "x"), 2, "x: Permission denied"),
        (
            OSError(errno.EIO, "Input/output error", "a\x1b\nb"),
            2,
            r"a\x1b\x0ab: Input/output error",
        ),
        (MemoryError(), 2, "not enough memory"),
        (MemoryError("Unable to allocate"), 2, "not enough memory: Unable to allocate"),
        (RecursionError("maximum depth"), 2, "nested too deeply"),
        (ImportError("no", name="sklearn.svm"), 2, "sklearn is not installed: pip install scikit-"),
        (ValidRefError("wrong"), 2, "wrong"),
        (
            ValidRefError("wrong", clause="LV-3"),
            2,
            "wrong (clause LV-3 of the specification; valid-ref trace LV-3)",
        ),
        (AwayError("said"), 2, ""),
        (KeyboardInterrupt(), 130, ""),
        (BrokenPipeError(errno.EPIPE, "Broken pipe"), 0, ""),
        (of_rich(), 0, ""),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else None,
)
def test_an_error_is_one_line_and_a_status(error, status, line, monkeypatch, capsys) -> None:
    found, said = ended(error, monkeypatch, capsys)
    assert found == status
    assert said.startswith(f"valid-x: {line}" if line else "")
    assert said.count("\n") == bool(line)


@pytest.mark.parametrize("error", [ValueError("a bug"), ImportError("no", name="valid_ref.x")])
def test_a_mistake_of_ours_is_not_hidden(error, monkeypatch, capsys) -> None:
    with pytest.raises(type(error)):
        ended(error, monkeypatch, capsys)


def test_no_page_or_message_recommends_a_package_that_no_index_has() -> None:
    """The project is installed from a checkout; its extras have no name on an index."""
    homes = [ROOT / name for name in ("valid_ref", "torch_backend", "proofs_check", "docs", "spec")]
    files = [path for home in homes for kind in ("*.py", "*.md") for path in home.rglob(kind)]
    for path in [*files, *ROOT.glob("*.md")]:
        text = path.read_text(encoding="utf-8")
        assert "install valid-" not in text.replace("'", "").replace('"', ""), path
    assert not any("valid" in packages for packages in PACKAGES.values())


def shell(line: str, cwd: Path) -> tuple[int, str, str]:
    found = subprocess.run(
        ["/bin/bash", "-c", f"set -o pipefail; {line}"],
        cwd=cwd,
        env=os.environ | {"PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )
    return found.returncode, found.stdout, found.stderr


@pytest.mark.parametrize(
    "line",
    [
        "valid-ref errata | head -1",
        "valid-torch list | head -1",
        pytest.param("valid-ref errata P18 | head -1", marks=pytest.mark.deep),
        pytest.param("valid-ref --help | head -1", marks=pytest.mark.deep),
        pytest.param("valid-ref run --schema | head -1", marks=pytest.mark.deep),
        pytest.param(
            "valid-ref run --graph path:3 --rounds 3 | head -1", marks=pytest.mark.deep
        ),  # through rich
        pytest.param("valid-ref explore --max-agents 3 | true", marks=pytest.mark.deep),
        pytest.param("valid-torch schema | head -1", marks=pytest.mark.deep),
    ],
)
def test_a_closed_pipe_is_no_trouble(line: str, tmp_path: Path) -> None:
    status, _output, error = shell(line, tmp_path)
    assert (status, error) == (0, "")


@pytest.mark.parametrize(
    "line",
    [
        "valid-ref errata > /dev/full",
        pytest.param("valid-ref run --graph path:3 --rounds 3 > /dev/full", marks=pytest.mark.deep),
        pytest.param(
            "valid-ref report --rounds 3 --graph path:3 -o /dev/full", marks=pytest.mark.deep
        ),
        pytest.param("valid-torch schema > /dev/full", marks=pytest.mark.deep),
    ],
)
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_full_disk_is_one_line(line: str, tmp_path: Path) -> None:
    status, _output, error = shell(line, tmp_path)
    assert status == 2
    assert error.count("\n") == 1
    assert "No space left on device" in error


INTERRUPTING = """
import os, signal, sys

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == MODULE:
            sys.meta_path.remove(self)
            os.kill(os.getpid(), signal.SIGINT)

MODULE = sys.argv[1]
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.meta_path.insert(0, Interrupting())
from HOME import main
sys.argv = ["PROGRAM", "--version"]
main()
"""
"""Ctrl-C at the moment when a module begins to be imported."""


@pytest.mark.parametrize(
    ("program", "module"),
    [
        ("valid-ref", "valid_ref.cli.program"),
        ("valid-ref", "valid_ref.errors"),
        ("valid-ref", "attrs"),
        ("valid-ref", "typer"),
        ("valid-ref", "numpy"),
        ("valid-ref", "valid_ref.trace"),
        ("valid-torch", "valid_ref.cli.program"),
        ("valid-torch", "typer"),
        ("valid-torch", "rich.console"),
    ],
)
def test_ctrl_c_while_a_command_is_loaded_ends_it_without_a_word(program: str, module: str) -> None:
    source = INTERRUPTING.replace("HOME", PROGRAMS[program]).replace("PROGRAM", program)
    found = subprocess.run(
        [sys.executable, "-c", source, module], capture_output=True, text=True, check=False
    )
    assert (found.returncode, found.stdout, found.stderr) == (130, "", "")


LONG = {
    "explore": "valid-ref explore --max-agents 7 --jobs 2",
    "prove": "valid-ref prove --jobs 2",
    "rehearsals": "valid-ref run --loss random-ridge --level 0.002 --jobs 2",
    "power": "valid-ref power --loss random-ridge --byzantine 4 --rounds 400 -o power",
    "torch": "valid-torch run demo --jobs 2 -o out",
    "honest": "valid-torch false-alarms demo --jobs 2 -o honest",
}


@pytest.mark.deep
@pytest.mark.parametrize("seconds", [0.5, 1.5, 4.0, 8.0])
@pytest.mark.parametrize("what", LONG)
def test_ctrl_c_ends_a_command_and_all_its_processes(what, seconds, tmp_path: Path) -> None:
    """As a terminal sends it: to the whole group, workers that are just starting included."""
    heeded = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    program, *words = LONG[what].split()
    home = PROGRAMS[program]
    call = f"{heeded}; import sys; sys.argv[0] = {program!r}; from {home} import main; main()"
    with subprocess.Popen(
        [sys.executable, "-c", call, *words],
        cwd=tmp_path,
        env=os.environ | {"XDG_CACHE_HOME": str(tmp_path / "cache")},
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as started:
        time.sleep(seconds)
        os.killpg(started.pid, signal.SIGINT)
        _output, error = started.communicate(timeout=120)
    assert started.returncode == 130, error
    assert "Traceback" not in error
    deadline = time.monotonic() + 10
    while _alive(started.pid) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert _alive(started.pid) == []


def _alive(group: int) -> list[str]:
    """The processes of a group that still run, with what they run."""
    found = subprocess.run(
        ["ps", "-eo", "pgid=,stat=,args="], capture_output=True, text=True, check=True
    )
    rows = [line.split(None, 2) for line in found.stdout.splitlines()]
    return [row[-1] for row in rows if row[0] == str(group) and not row[1].startswith("Z")]


@pytest.mark.parametrize("package", ["valid_ref.cli", "torch_backend.cli"])
def test_ctrl_c_is_heeded_before_anything_that_takes_time_is_loaded(package: str) -> None:
    """What is loaded until then are a few small modules, within a millisecond or two."""
    code = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r}); before = set(sys.modules); "
        f"from {package} import main; from valid_ref.cli.leaving import leave_on_the_spot; "
        "assert leave_on_the_spot(); print(*(set(sys.modules) - before))"
    )
    words = [sys.executable, "-S", "-E", "-c", code]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert {"valid_ref.cli.leaving", "signal"} <= loaded
    assert not loaded & {"typing", "re", "contextlib", "importlib", "attrs", "numpy", "typer"}
    assert len(loaded) < 40
