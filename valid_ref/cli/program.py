"""What both command lines do when a command ends, and when it cannot go on.

Exit status 0: done, also where nobody reads to the end (`| head -1`); 1: a check failed; 2: bad
input, or a machine that cannot: one line on standard error; 130: stopped by Ctrl-C.
"""

import contextlib
import importlib
import os
import signal
import sys
from collections.abc import Iterator
from typing import NoReturn, TextIO

from valid_ref.cli.leaving import INTERRUPTED, heed, leave_on_the_spot
from valid_ref.errors import ValidRefError
from valid_ref.printable import clause_words, printable, refusal_of_file

DONE, REFUSED = 0, 2
LONGEST = 2000
"""Characters of the longest line about what went wrong."""
PACKAGES = {
    "torch": "'torch>=2.6,<2.14' scikit-learn",
    "sklearn": "scikit-learn",
    "matplotlib": "matplotlib",
    "hypothesis": "hypothesis",
    "starlette": "starlette uvicorn",
    "uvicorn": "starlette uvicorn",
    "sympy": "sympy",
    "z3": "z3-solver",
}
"""What to install for the modules that not everybody needs."""


def carry_out(program: str, commands: str, *, at_once: bool = False) -> NoReturn:
    """Run the `app` of a module with the words of the command line, and leave.

    Ctrl-C ends the process on the spot while the commands are loaded; later it is a
    KeyboardInterrupt, or, with `at_once`, still the same unless a command listens to it.
    """
    try:
        with contextlib.ExitStack() as loading:
            loading.enter_context(_leaving_on_the_spot())
            app = importlib.import_module(commands).app
            if not at_once:
                loading.close()
            status = app(prog_name=program, standalone_mode=False) or DONE
        if sys.stdout is not None:
            sys.stdout.flush()
    except (Exception, KeyboardInterrupt, SystemExit) as error:
        status, line = _ending(error)
        if line and sys.stderr is not None:
            with contextlib.suppress(OSError):
                sys.stderr.write(f"{program}: {printable(line, LONGEST)}\n")
    if status == INTERRUPTED:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # asked again: end at once, without a word
    _leave_nothing_to_write(sys.stdout)
    sys.exit(status)


@contextlib.contextmanager
def _leaving_on_the_spot() -> Iterator[None]:
    """Ctrl-C ends the process within this block; behind it, it is heeded as usual."""
    leaving = leave_on_the_spot()
    try:
        yield
    finally:
        if leaving:
            heed()


def _ending(error: BaseException) -> tuple[int, str]:
    """The exit status of an error and the line that is said about it; others go on their way."""
    before = (
        error.__context__ if error.__cause__ is None else None
    )  # a cause was refused on purpose
    if isinstance(error, BrokenPipeError) or isinstance(before, BrokenPipeError):
        return DONE, ""
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED, ""
    if isinstance(error, ValidRefError):
        return REFUSED, "" if error.told else _with_clause(error)
    if isinstance(error, OSError):
        return REFUSED, refusal_of_file(error)
    if isinstance(error, MemoryError):
        return REFUSED, f"not enough memory: {error}".removesuffix(": ")
    if isinstance(error, RecursionError):
        return REFUSED, "nested too deeply"
    if (
        isinstance(error, ImportError)
        and (missing := (error.name or "").partition(".")[0]) in PACKAGES
    ):
        return REFUSED, f"{missing} is not installed: pip install {PACKAGES[missing]}"
    if (usage := _of_usage(error)) is not None:
        return REFUSED, usage
    raise error


def _with_clause(error: ValidRefError) -> str:
    """The message, and what its clause is."""
    if not error.clause:
        return error.message
    return f"{error.message} ({clause_words(error.clause)})"


def _of_usage(error: BaseException) -> str | None:
    """What the parser of the command line refused; None for any other error."""
    import typer

    refused = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "UsageError")
    if not isinstance(error, refused):
        return None
    context = getattr(error, "ctx", None)
    more = "" if context is None else f" ({context.command_path} --help)"
    return " ".join(getattr(error, "format_message")().split()) + more  # noqa: B009


def _leave_nothing_to_write(stream: TextIO | None) -> None:
    """What a stream still holds and cannot write is dropped, not tried again at the very end."""
    if stream is None:
        return
    try:
        stream.flush()
    except (OSError, ValueError):
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
