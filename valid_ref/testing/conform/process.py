"""An agent as a process: JSON lines over its standard input and output."""

import json
import os
import selectors
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from typing import IO, Any

from valid_ref.testing.conform.errors import AgentFault, ConformError, Kind
from valid_ref.testing.conform.peer import LONGEST_LINE, Reply, parsed

PIECE = 1 << 16
"""Bytes that are read or written at a time."""

TAIL = 400
"""Characters of the standard error that a crash is reported with."""


class ProcessPeer:
    """A command that is started when it is first asked, and again after `renew`.

    One request is under way at a time; no answer within `timeout` seconds is a fault.

    Implements: CF-1, CF-12, CF-13.
    """

    def __init__(self, command: Sequence[str], timeout: float = 10.0) -> None:
        self.command, self.timeout = list(command), timeout
        self._process: subprocess.Popen[bytes] | None = None
        self._errors: IO[bytes] | None = None
        self._buffer = bytearray()

    def ask(self, request: Mapping[str, Any]) -> Reply:
        """Send one line and read one."""
        process = self._running()
        deadline = time.monotonic() + self.timeout
        line = (json.dumps(request, separators=(",", ":")) + "\n").encode()
        self._write(process, line, deadline)
        return parsed(self._read_line(process, deadline))

    def renew(self) -> None:
        """End the process; the next request starts another."""
        self.close()

    def close(self) -> None:
        """End the process and all that it has started."""
        process, self._process = self._process, None
        if process is not None:
            _end(process)
        if self._errors is not None:
            self._errors.close()
            self._errors = None
        self._buffer.clear()

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
            try:
                self._process = subprocess.Popen(  # noqa: S603 - the command that is to be judged
                    self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                    stderr=self._errors, bufsize=0, start_new_session=True,
                )  # fmt: skip
            except (OSError, ValueError) as error:
                raise ConformError(
                    f"cannot start {self.command[0]!r}: {error}", clause="CF-14"
                ) from None
            for pipe in (self._process.stdin, self._process.stdout):
                os.set_blocking(_fileno(pipe), False)
        return self._process

    def _write(self, process: subprocess.Popen[bytes], line: bytes, deadline: float) -> None:
        """Write without waiting for longer than the deadline."""
        target, rest = _fileno(process.stdin), memoryview(line)
        while rest:
            try:
                rest = rest[os.write(target, rest[:PIECE]) :]
            except BlockingIOError:
                _wait(target, selectors.EVENT_WRITE, deadline)
            except OSError:
                raise self._crash(process) from None

    def _read_line(self, process: subprocess.Popen[bytes], deadline: float) -> bytes:
        """The next line, without its end."""
        source = _fileno(process.stdout)
        searched = 0
        while True:
            end = self._buffer.find(b"\n", searched)
            if end >= 0:
                line = bytes(self._buffer[:end])
                del self._buffer[: end + 1]
                self._refuse_more(line)
                return line
            searched = len(self._buffer)
            if searched > LONGEST_LINE:
                return bytes(self._buffer)  # refused by its length
            try:
                piece = os.read(source, PIECE)
            except BlockingIOError:
                _wait(source, selectors.EVENT_READ, deadline)
                continue
            if not piece:
                raise self._crash(process)
            self._buffer += piece

    def _refuse_more(self, line: bytes) -> None:
        """Anything beyond the one line was not asked for.

        Implements: CF-1.
        """
        if self._buffer:
            more = bytes(self._buffer[:80]).decode("ascii", "backslashreplace")
            before = line[:80].decode("ascii", "backslashreplace")
            raise AgentFault(
                Kind.INVALID_LINE, "CF-1", "reply", "one line", f"{before!r} and then {more!r}"
            )

    def _crash(self, process: subprocess.Popen[bytes]) -> AgentFault:
        """The process closed its end; say how it ended and what it said last."""
        try:
            status = f"it ended with status {process.wait(timeout=1)}"
        except subprocess.TimeoutExpired:
            status = "it closed its pipe"
        text = ""
        if self._errors is not None:
            self._errors.seek(0)
            text = self._errors.read()[-PIECE:].decode("utf-8", "replace").strip()[-TAIL:]
        found = status + (f": {text}" if text else "")
        return AgentFault(Kind.CRASH, "CF-12", "reply", "an answer", found)


def _fileno(pipe: IO[bytes] | None) -> int:
    if pipe is None:  # pragma: no cover - both were asked for
        raise ConformError("the process has no pipes", clause="CF-1")
    return pipe.fileno()


def _wait(descriptor: int, event: int, deadline: float) -> None:
    """Wait until a pipe is ready; a time-out is a fault of the agent."""
    with selectors.DefaultSelector() as selector:
        selector.register(descriptor, event)
        if not selector.select(max(0.0, deadline - time.monotonic())):
            raise AgentFault(Kind.TIMEOUT, "CF-13", "reply", "an answer in time", "nothing")


def _end(process: subprocess.Popen[bytes]) -> None:
    """Close its pipes; kill its process group if it does not end by itself."""
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()
    try:
        process.wait(timeout=0.2)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)  # its own session: nobody else is in the group
        process.wait()
