"""An agent as a process: JSON lines over its standard input and output."""

import contextlib
import json
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from valid_ref.testing.conform.peer import (
    LONGEST_LINE,
    AgentFault,
    ConformError,
    FindingKind,
    Reply,
    parse_reply,
)

PIECE = 1 << 16
"""Bytes that are read or written at a time."""

KEPT = 1 << 14
"""Bytes of the standard error that are kept, the last ones."""

LAST_LINES = 20
"""Lines of the standard error that a finding is reported with."""

GRACE = 0.2
"""Seconds that an agent has to end by itself after the end of its input."""

PASSES = 100
"""How often the processes of an agent are looked for at most, should they start others."""

Listener = Callable[[str], None]
"""Told what an agent writes to its standard error, as it comes, without control characters."""


class EndedBySignal(KeyboardInterrupt):
    """The kit is told to end: as by Ctrl-C, so that nobody takes it for a failure."""

    def __init__(self, number: int) -> None:
        super().__init__(f"ended by {signal.Signals(number).name}")
        self.number = number


@contextlib.contextmanager
def ending_on_signals() -> Iterator[None]:
    """SIGTERM and SIGHUP raise EndedBySignal, so that agents are ended; then all is as before.

    After the first signal, Ctrl-C included, others are ignored until the block is left. A signal
    that is ignored already stays so.

    Implements: CF-18.
    """
    numbers = [signal.SIGINT, signal.SIGTERM, *([signal.SIGHUP] if os.name == "posix" else [])]
    before = {number: signal.getsignal(number) for number in numbers}
    chosen = [number for number in numbers if before[number] is not signal.SIG_IGN]

    def end(number: int, _frame: object) -> None:
        for other in chosen:
            signal.signal(other, signal.SIG_IGN)
        if number == signal.SIGINT:
            raise KeyboardInterrupt
        raise EndedBySignal(number)

    try:
        for number in chosen:
            signal.signal(number, end)
        yield
    finally:
        for number in chosen:
            signal.signal(number, before[number])


class ProcessPeer:
    """A command that is started when it is first asked, and again after `renew`.

    One request is under way at a time; no answer within `timeout` seconds is a fault. Its
    standard error is read all the while; `listener` is told, and the last of it is kept.

    Implements: CF-1, CF-12, CF-13, CF-18, CF-19.
    """

    def __init__(
        self, command: Sequence[str], timeout: float = 10.0, listener: Listener | None = None
    ) -> None:
        self.command, self.timeout, self.listener = list(command), timeout, listener
        self._process: subprocess.Popen[bytes] | None = None
        self._mark = ""
        self._buffer = bytearray()
        self._errors = bytearray()

    def ask(self, request: Mapping[str, Any]) -> Reply:
        """Send one line and read one."""
        process = self._running()
        deadline = time.monotonic() + self.timeout
        line = (json.dumps(request, separators=(",", ":")) + "\n").encode()
        self._write(process, line, deadline)
        return parse_reply(self._read_line(process, deadline))

    def renew(self) -> None:
        """End the process; the next request starts another."""
        self.close()

    def kill(self) -> None:
        """Kill the process now; whoever waits for its answer, in another thread, gets a crash."""
        process = self._process
        if process is not None and process.returncode is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)

    def close(self) -> None:
        """End the process and all that it has started, however it has ended itself.

        Implements: CF-18.
        """
        if self._process is not None:
            self._end(self._process)
            self._process = None
        if self._mark:
            _end_marked(self._mark)
            self._mark = ""
        self._buffer.clear()
        self._errors.clear()

    def last_words(self) -> str:
        """The last lines that the agent has written to its standard error.

        Implements: CF-19.
        """
        if self._process is not None:
            self._listen(self._process)
        lines = _plain(bytes(self._errors)).strip("\n").splitlines()
        return "\n".join(lines[-LAST_LINES:])

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            self._mark = f"VALID_REF_AGENT_{os.getpid()}_{id(self)}_{time.monotonic_ns()}"
            try:
                self._process = subprocess.Popen(  # noqa: S603 - the command that is to be judged
                    self.command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    bufsize=0,
                    start_new_session=True,
                    env={**os.environ, self._mark: "1"},
                )
            except (OSError, ValueError) as error:
                raise ConformError(
                    f"cannot start {self.command[0]!r}: {error}", clause="CF-14"
                ) from None
            for pipe in _pipes(self._process):
                os.set_blocking(pipe.fileno(), False)
        return self._process

    def _write(self, process: subprocess.Popen[bytes], line: bytes, deadline: float) -> None:
        """Write without waiting for longer than the deadline."""
        target, rest = _fileno(process.stdin), memoryview(line)
        while rest:
            try:
                rest = rest[os.write(target, rest[:PIECE]) :]
            except BlockingIOError:
                self._wait(process, target, selectors.EVENT_WRITE, deadline)
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
                self._wait(process, source, selectors.EVENT_READ, deadline)
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
                FindingKind.INVALID_LINE,
                "CF-1",
                "reply",
                "one line",
                f"{before!r} and then {more!r}",
            )

    def _wait(
        self, process: subprocess.Popen[bytes], descriptor: int, event: int, deadline: float
    ) -> None:
        """Wait until a pipe is ready, reading the standard error; a time-out is a fault."""
        errors = process.stderr
        with selectors.DefaultSelector() as selector:
            selector.register(descriptor, event)
            if errors is not None and not errors.closed:
                selector.register(errors.fileno(), selectors.EVENT_READ)
            while True:
                left = deadline - time.monotonic()
                ready = {key.fd for key, _events in selector.select(max(0.0, left))}
                if descriptor in ready:
                    return
                if not ready or left <= 0:
                    raise AgentFault(
                        FindingKind.TIMEOUT, "CF-13", "reply", "an answer in time", "nothing"
                    )
                if not self._listen(process, pieces=1) and errors is not None:
                    selector.unregister(errors.fileno())

    def _listen(self, process: subprocess.Popen[bytes], pieces: int = 64) -> bool:
        """Read what is on the standard error; False if there will be no more.

        Only the last of it is kept. No more than some pieces are read at once: there are agents
        that never stop.

        Implements: CF-19.
        """
        if process.stderr is None or process.stderr.closed:
            return False
        for _piece in range(pieces):
            try:
                piece = os.read(process.stderr.fileno(), PIECE)
            except BlockingIOError:
                return True
            if not piece:
                return False
            if self.listener is not None:
                self.listener(_plain(piece))
            self._errors += piece
            del self._errors[:-KEPT]
        return True

    def _crash(self, process: subprocess.Popen[bytes]) -> AgentFault:
        """The process closed its end; say how it ended and what it said last."""
        if _has_ended(process, 1.0, self._listen):
            status = f"it ended with status {_status(process)}"
        else:
            status = "it closed its pipe"
        last = self.last_words().rpartition("\n")[2].strip()
        found = status + (f": {last}" if last else "")
        return AgentFault(FindingKind.CRASH, "CF-12", "reply", "an answer", found)

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        """Close its pipes, wait a moment, and kill its process group in any case.

        The group is killed before the process is waited for: as long as nobody has, its number
        is given to nobody else.

        Implements: CF-18.
        """
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()
        if process.returncode is None:
            _has_ended(process, GRACE, self._listen)
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)  # its own session: nobody else is in it
            process.wait()
        if process.stderr is not None:
            process.stderr.close()


def _pipes(process: subprocess.Popen[bytes]) -> list[IO[bytes]]:
    return [pipe for pipe in (process.stdin, process.stdout, process.stderr) if pipe is not None]


def _fileno(pipe: IO[bytes] | None) -> int:
    if pipe is None:  # pragma: no cover - both were asked for
        raise ConformError("the process has no pipes", clause="CF-1")
    return pipe.fileno()


def _has_ended(
    process: subprocess.Popen[bytes],
    seconds: float,
    meanwhile: Callable[[subprocess.Popen[bytes]], object],
) -> bool:
    """Whether a process ends within this time; it is left to be waited for."""
    deadline, pause = time.monotonic() + seconds, 0.0005
    while True:
        meanwhile(process)
        if _ended(process, os.WNOHANG) is not None:
            meanwhile(process)
            return True
        if time.monotonic() > deadline:
            return False
        time.sleep(pause)
        pause = min(2 * pause, 0.02)


def _status(process: subprocess.Popen[bytes]) -> int:
    """How a process that has ended did so: its exit status, or minus the signal that ended it."""
    ended = _ended(process)
    if ended is None:  # pragma: no cover - it has ended
        return 0
    return ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status


def _ended(process: subprocess.Popen[bytes], options: int = 0) -> os.waitid_result | None:
    """How a process ended; it stays to be waited for."""
    return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT | options)


def _end_marked(mark: str) -> None:
    """Kill what has left the process group, wherever /proc tells: who inherited the mark.

    Implements: CF-18.
    """
    for _pass in range(PASSES):
        found = [pid for pid in _process_numbers() if _has_mark(pid, mark)]
        for pid in found:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        if not found:
            return
        time.sleep(0.002)


def _process_numbers() -> list[int]:
    try:
        return [int(path.name) for path in Path("/proc").iterdir() if path.name.isdecimal()]
    except OSError:
        return []


def _has_mark(pid: int, mark: str) -> bool:
    try:
        environment = Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return False
    return f"\0{mark}=1\0".encode() in b"\0" + environment


def _plain(text: bytes) -> str:
    """Text for a terminal: control characters but tabs and newlines are written out."""
    shown = text.decode("utf-8", "replace")
    return "".join(c if c in "\t\n" or c.isprintable() else repr(c)[1:-1] for c in shown)
