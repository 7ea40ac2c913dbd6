"""Follow a page: its commands and programs in their order, in the directory of the caller.

    python -m tests.pages PAGE... [--deep]

runs the `valid-ref` and `valid-torch` of the PATH, each page in an empty directory.
"""

import argparse
import contextlib
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from unittest import mock

from tests.documents import Command, commands
from valid_ref.markdown import Fence, fences

Shell = Callable[[tuple[str, ...]], tuple[int, str, str]]
"""Runs the words of a command: its exit status, its output, its errors."""

PROGRAMS = {"valid-ref": "valid_ref.cli", "valid-torch": "torch_backend.cli"}
"""Where they are: `main` there, `app` in its `commands`."""
OTHERS = {"make", "python", "torchrun"}
"""Programs that only blocks that are skipped may name."""


def called(words: tuple[str, ...]) -> tuple[int, str, str]:
    """Run one of our command lines in this process."""
    main = __import__(PROGRAMS[words[0]], fromlist=["main"]).main
    output, error = io.StringIO(), io.StringIO()
    with (
        mock.patch.object(sys, "argv", [*words]),
        contextlib.redirect_stdout(output),
        contextlib.redirect_stderr(error),
    ):
        try:
            main()
        except SystemExit as left:
            return int(left.code or 0), output.getvalue(), error.getvalue()
    raise AssertionError("a program ends by leaving")


def started(words: tuple[str, ...]) -> tuple[int, str, str]:
    """Start the program of the PATH that is called so."""
    program = shutil.which(words[0])
    assert program is not None, f"there is no {words[0]}"
    found = subprocess.run([program, *words[1:]], capture_output=True, text=True, check=False)
    return found.returncode, found.stdout, found.stderr


def blocks(path: Path) -> list[tuple[Fence, str, str]]:
    """The blocks of a page with their kind and whether they are run: "", "deep" or "skip: why"."""
    found = []
    for block in fences(path.read_text(encoding="utf-8")):
        kind, _space, rest = block.info.partition(" ")
        where = f"{path.name}:{block.line}: {block.info}"
        assert kind in {"console", "python"}, where
        assert re.fullmatch(r"|deep|skip: \S.*", rest), f"{where}: say why it is skipped"
        found.append((block, kind, rest))
    return found


def follow(path: Path, shell: Shell, *, deep: bool) -> None:
    """Run the blocks of a page in order; those marked deep only if asked."""
    namespace: dict[str, object] = {"__name__": "page"}
    for block, kind, rest in blocks(path):
        if rest.startswith("skip") or (rest == "deep" and not deep):
            continue
        if kind == "python":
            source = "\n" * block.line + "\n".join(block.lines)
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile(source, str(path), "exec"), namespace)
        else:
            for command in commands(block):
                _run(path, command, shell)


def _run(path: Path, command: Command, shell: Shell) -> None:
    where = f"{path.name}:{command.line}: {shlex.join(command.words)}"
    assert command.words[0] in PROGRAMS, where
    status, output, error = shell(command.words)
    assert status == command.status, f"{where}\nexit status {status}\n{output}{error}"
    for part in command.output:
        assert part in output + error, f"{where}: {part!r} is not in\n{output}{error}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pages", type=Path, nargs="+")
    parser.add_argument("--deep", action="store_true")
    given = parser.parse_args()
    for page in [page.resolve() for page in given.pages]:
        with tempfile.TemporaryDirectory() as place:
            os.chdir(place)
            follow(page, started, deep=given.deep)
            os.chdir("/")
        sys.stdout.write(f"{page.name}: as it says\n")
