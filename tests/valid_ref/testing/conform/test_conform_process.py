"""Everything that can go wrong with a process is a finding of its own; the kit's faults are not."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from valid_ref.oracle.check import Status
from valid_ref.testing.conform import peer as peers
from valid_ref.testing.conform.faults import AGENT
from valid_ref.testing.conform.kit import Session, first_finding, judge
from valid_ref.testing.conform.peer import AgentFault, ConformError, FindingKind
from valid_ref.testing.conform.process import (
    KEPT,
    LAST_LINES,
    EndedBySignal,
    ProcessPeer,
    ending_on_signals,
)

HELLO = (
    '{"protocol": "valid-ref/conformance/2", "name": "x", "flood": "fresh", "integers": "number"}'
)
SAY = "import sys; sys.stdin.readline(); sys.stdout.write({!r}); sys.stdout.flush(); {}"
WAIT = "sys.stdin.read()"


def asked(program: str, request=None, timeout: float = 5.0):
    peer = ProcessPeer([sys.executable, "-c", program], timeout)
    try:
        return peer.ask(request or {"op": "hello"})
    finally:
        peer.close()


def refused(program: str, request=None, timeout: float = 5.0) -> AgentFault:
    with pytest.raises(AgentFault) as caught:
        asked(program, request, timeout)
    return caught.value


@pytest.mark.checks("CF-1")
@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("hello\n", "not JSON"),
        ('{"a": 1, "a": 2}\n', "stands twice"),
        ('{"a": NaN}\n', "NaN is not a JSON number"),
        ("[1]\n", "[1]"),
        ("\n", "not JSON"),
        ('{"a": ' + "1" * 5000 + "}\n", "digits"),
        ("[" * 60000 + "\n", "nested too deeply"),
        ('{"a": "\udcff"}\n', "utf-8"),
        ("{}\n{}\n", "and then"),
    ],
)
def test_a_line_that_is_not_one_object_is_invalid(line: str, reason: str) -> None:
    program = SAY.format(line, WAIT).replace(
        "import sys;", "import sys; sys.stdout.reconfigure(errors='surrogateescape');"
    )
    fault = refused(program)
    assert (fault.kind, fault.clause) == (FindingKind.INVALID_LINE, "CF-1")
    assert reason in fault.found


@pytest.mark.checks("CF-1")
@pytest.mark.parametrize("end", ["\n", ""])
def test_a_line_has_a_longest_length(end: str, monkeypatch) -> None:
    monkeypatch.setattr(peers, "LONGEST_LINE", 1000)
    monkeypatch.setattr("valid_ref.testing.conform.process.LONGEST_LINE", 1000)
    fault = refused(SAY.format('{"a": "' + "x" * 1000 + '"}' + end, WAIT))
    assert (fault.kind, fault.clause) == (FindingKind.LONG_LINE, "CF-1")


@pytest.mark.checks("CF-12")
@pytest.mark.parametrize(
    ("program", "found"),
    [
        ("raise SystemExit(3)", "status 3"),
        ("import sys; sys.stdin.readline(); print('oh', file=sys.stderr); sys.exit(4)", "4: oh"),
        ("import os, sys; os.close(1); sys.stdin.read()", "closed its pipe"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "status -9"),
    ],
)
def test_the_end_of_the_process_is_a_crash(program: str, found: str) -> None:
    fault = refused(program)
    assert (fault.kind, fault.clause) == (FindingKind.CRASH, "CF-12")
    assert found in fault.found


@pytest.mark.checks("CF-12")
def test_to_answer_with_an_error_is_a_crash(cases, played) -> None:
    program = (
        f"import sys\nsys.stdin.readline(); print({HELLO!r}, flush=True)\n"
        'for line in sys.stdin: print(\'{"error": "sorry"}\', flush=True)'
    )
    session = Session(ProcessPeer([sys.executable, "-c", program]), played=played)
    report = judge(session, lambda one: first_finding(one, cases))
    assert report.finding is not None
    assert (report.finding.kind, report.finding.clause) == (FindingKind.CRASH, "CF-12")
    assert "sorry" in report.finding.divergence.difference.found


@pytest.mark.checks("CF-13")
@pytest.mark.parametrize("program", ["import time; time.sleep(60)", SAY.format("{}", WAIT)])
def test_no_answer_in_time_is_a_time_out(program: str) -> None:
    """Also where the request does not fit into the pipe, and where the line does not end."""
    fault = refused(program, {"op": "hello", "protocol": "x" * 10**6}, 0.3)
    assert (fault.kind, fault.clause) == (FindingKind.TIMEOUT, "CF-13")


@pytest.mark.checks("CF-13", "CF-14")
def test_a_time_out_that_does_not_come_again_is_not_held_against_the_agent(
    cases, played, tmp_path
) -> None:
    """The agent sleeps in its first process only."""
    mark = tmp_path / "slept"
    source = AGENT.read_text().replace(
        "request = json.loads(line)",
        "request = json.loads(line)\n        import os, time\n"
        f"        if not os.path.exists({str(mark)!r}):\n"
        f"            open({str(mark)!r}, 'w').close(); time.sleep(60)",
    )
    session = Session(ProcessPeer([sys.executable, "-c", source], 3.0), played=played)
    report = judge(session, lambda one: first_finding(one, cases[:1]))
    assert report.status is Status.CANNOT_TELL
    assert "did not happen again" in report.reason


@pytest.mark.checks("CF-14")
def test_an_answer_that_changes_by_itself_breaks_determinism(cases, played, made) -> None:
    tries = []

    class Moody(made()):
        def mix(self, **fields):
            tries.append(fields)
            reply = super().mix(**fields)
            return {**reply, "Y": [len(tries)]} if len(tries) == 1 else reply

    finding = first_finding(Session(peers.ObjectPeer(Moody), played=played), cases[:1])
    assert finding is not None
    assert (finding.kind, finding.clause) == (FindingKind.NOT_REPEATED, "MO-5")


@pytest.mark.checks("CF-2", "CF-14")
def test_another_protocol_cannot_be_judged(cases, played, made) -> None:
    other = made(a=('PROTOCOL = "valid-ref/conformance/2"', 'PROTOCOL = "valid-ref/conformance/1"'))
    session = Session(peers.ObjectPeer(other), played=played)
    report = judge(session, lambda one: first_finding(one, cases))
    assert report.status is Status.CANNOT_TELL
    assert "conformance/1" in report.reason
    assert not report.conforms


@pytest.mark.checks("CF-2")
@pytest.mark.parametrize(
    "reply", [{}, {"flood": "never"}, {"integers": "float"}, {"name": 3}, {"more": 1}]
)
def test_a_hello_of_another_form_diverges(reply, cases, played, made) -> None:
    class Rude(made()):
        def hello(self, protocol):
            return {**super().hello(protocol), **reply} if reply else {}

    finding = first_finding(Session(peers.ObjectPeer(Rude), played=played), cases)
    assert finding is not None
    assert (finding.kind, finding.clause) == (FindingKind.WRONG_FORM, "CF-2")


@pytest.mark.checks("CF-14")
def test_a_fault_of_the_kit_is_never_a_conviction(cases, made) -> None:
    def broken(_case):
        raise ZeroDivisionError("in the kit")

    session = Session(peers.ObjectPeer(made()), played=broken)
    report = judge(session, lambda one: first_finding(one, cases[:1]))
    assert (report.status, report.finding) == (Status.CANNOT_TELL, None)
    assert "ZeroDivisionError: in the kit" in report.reason


@pytest.mark.checks("CF-14")
def test_a_command_that_cannot_be_started_is_refused(cases, played, tmp_path) -> None:
    session = Session(ProcessPeer([str(tmp_path / "nothing")]), played=played)
    with pytest.raises(ConformError, match="cannot start"):
        judge(session, lambda one: first_finding(one, cases))


def gone(pid: int) -> bool:
    """Whether a process has ended; it may not have been waited for."""
    for _try in range(200):
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except OSError:
            return True
        time.sleep(0.01)
    return False


CHILD = """
import os, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"],
                         start_new_session={away}, stdin=subprocess.DEVNULL, env={env},
                         stdout=subprocess.DEVNULL, stderr={stderr})
with open({file!r}, "w") as out:
    out.write(f"{{os.getpid()}} {{child.pid}}")
sys.stdin.readline()
"""
"""An agent that starts another process and says which; then it waits for a request."""

ENDS = {
    "at the end of its input": "print('{}', flush=True); sys.stdin.read()",
    "deaf": "print('{}', flush=True); time.sleep(300)",
    "crash": "sys.exit(3)",
    "killed": "os.kill(os.getpid(), 9)",
    "time-out": "time.sleep(300)",
    "closed": "os.close(1); sys.stdin.read()",
}
needs_proc = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="there is no /proc")


@needs_proc
@pytest.mark.checks("CF-18")
@pytest.mark.parametrize("away", [False, True])
@pytest.mark.parametrize("end", ENDS)
def test_no_child_of_an_agent_outlives_it(end: str, away: bool, tmp_path) -> None:
    """One in its process group without its environment, and one in a session of its own."""
    file = tmp_path / "pids"
    kinds = {True: {"env": "None", "stderr": "None"}, False: {"env": "{}", "stderr": "-3"}}
    program = CHILD.format(away=away, file=str(file), **kinds[away]) + ENDS[end]
    peer = ProcessPeer([sys.executable, "-c", program], timeout=2.0)
    try:
        peer.ask({"op": "hello"})
    except AgentFault:
        assert end not in {"at the end of its input", "deaf"}
    agent, child = map(int, file.read_text().split())
    assert not gone_now(child)
    peer.close()
    peer.close()
    assert gone(agent)
    assert gone(child)


def gone_now(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


@needs_proc
@pytest.mark.checks("CF-18")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_ends_the_kit_and_all_processes_of_the_agent(number: int, tmp_path) -> None:
    file = tmp_path / "pids"
    names = {"away": True, "file": str(file), "env": "None", "stderr": "None"}
    program = CHILD.format(**names) + ENDS["time-out"]
    heeded = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    run = "import sys; from valid_ref.cli import main; sys.argv[0] = 'valid-ref'; main()"
    kit = f"{heeded}; {run}"  # a shell may have started the tests with the signal ignored
    command = [sys.executable, "-c", kit, "conform", "--timeout", "200", "--examples", "0", "--"]
    with subprocess.Popen(
        [*command, sys.executable, "-c", program], cwd=tmp_path, stderr=subprocess.PIPE
    ) as running:
        deadline = time.monotonic() + 60
        while not (file.exists() and file.read_text()) and time.monotonic() < deadline:
            time.sleep(0.02)
        agent, child = map(int, file.read_text().split())
        running.send_signal(number)
        _out, words = running.communicate(timeout=30)
    assert running.returncode == 128 + number
    assert b"Traceback" not in words
    assert gone(agent)
    assert gone(child)


@ending_on_signals()
def raise_twice() -> None:
    """The second signal is ignored, as the agents are being ended."""
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    try:
        signal.raise_signal(signal.SIGTERM)
    finally:
        signal.raise_signal(signal.SIGTERM)


@pytest.mark.checks("CF-18")
def test_signal_handlers_are_put_back_and_what_is_ignored_stays_so() -> None:
    before = signal.getsignal(signal.SIGTERM), signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with pytest.raises(EndedBySignal) as caught:
            raise_twice()
        assert caught.value.number == signal.SIGTERM
        assert signal.getsignal(signal.SIGTERM) == before[0]
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before[1])


@pytest.mark.checks("CF-19")
def test_the_standard_error_neither_blocks_nor_grows_and_its_end_is_kept() -> None:
    program = (
        "import sys\nfor number in range(200000): print('line', number, file=sys.stderr)\n"
        "sys.stdin.readline(); print('{}', flush=True); sys.stdin.read()"
    )
    heard = []
    peer = ProcessPeer([sys.executable, "-c", program], 20.0, heard.append)
    try:
        assert peer.ask({"op": "hello"}) == {}
        lines = peer.last_words().splitlines()
        assert len(peer._errors) == KEPT
    finally:
        peer.close()
    assert lines == [f"line {number}" for number in range(200000 - LAST_LINES, 200000)]
    assert "".join(heard) == "".join(f"line {number}\n" for number in range(200000))


@pytest.mark.checks("CF-13", "CF-19")
def test_an_agent_that_only_ever_complains_runs_out_of_time() -> None:
    fault = refused("import os\nwhile True: os.write(2, b'no ' * 1000)", timeout=0.5)
    assert fault.kind is FindingKind.TIMEOUT


@pytest.mark.checks("CF-12", "CF-19")
def test_control_characters_of_the_standard_error_are_written_out() -> None:
    fault = refused("import sys; print('\\x1b[2J\\x07\\tx', file=sys.stderr); sys.exit(4)")
    assert fault.found == r"it ended with status 4: \x1b[2J\x07" + "\tx"


@pytest.mark.checks("CF-13", "CF-14")
def test_a_divergence_is_told_although_a_time_out_did_not_happen_again(cases, played, made) -> None:
    """Late once, then wrong: the other cases are still driven."""
    asked = []

    class Late(peers.ObjectPeer):
        def ask(self, request):
            asked.append(request)
            if len(asked) == 20:
                raise AgentFault(
                    FindingKind.TIMEOUT, "CF-13", "reply", "an answer in time", "nothing"
                )
            return super().ask(request)

    wrong = made(a=("return quotient + (twice > 0 or", "return quotient + (twice >= 0 or"))
    report = judge(Session(Late(wrong), played=played), lambda one: first_finding(one, cases[1:]))
    assert report.status is Status.DIVERGES
    assert report.finding is not None
    assert report.finding.clause == "AR-5"
    asked.clear()
    report = judge(Session(Late(made()), played=played), lambda one: first_finding(one, cases[:5]))
    assert report.status is Status.CANNOT_TELL
    assert report.cases == 6


@pytest.mark.checks("CF-14")
def test_the_search_ends_after_several_time_outs_that_did_not_happen_again(
    cases, played, made
) -> None:
    class OftenLate(peers.ObjectPeer):
        asked = 0

        def ask(self, request):
            type(self).asked += 1
            if self.asked % 200 == 0:
                raise AgentFault(
                    FindingKind.TIMEOUT, "CF-13", "reply", "an answer in time", "nothing"
                )
            return super().ask(request)

    session = Session(OftenLate(made()), played=played)
    report = judge(session, lambda one: first_finding(one, cases))
    assert report.status is Status.CANNOT_TELL
    assert report.reason.count("did not happen again") == 3
    assert report.cases < 40


@pytest.mark.checks("CF-14")
@pytest.mark.parametrize("second", ["late", "other protocol", "another clause"])
def test_a_wrong_answer_is_told_whatever_the_next_process_does(
    second: str, cases, played, made
) -> None:
    processes = []

    class Changing(made()):
        def hello(self, protocol):
            processes.append(second)
            reply = super().hello(protocol)
            other = second == "other protocol" and len(processes) == 2
            return {**reply, "protocol": "valid-ref/conformance/1"} if other else reply

        def mix(self, **fields):
            if second == "another clause" and len(processes) == 2:
                raise ValueError
            return {**super().mix(**fields), "Y": [1, 2]}

    class Late(peers.ObjectPeer):
        def ask(self, request):
            if second == "late" and len(processes) == 2:
                processes.append("late")
                raise AgentFault(
                    FindingKind.TIMEOUT, "CF-13", "reply", "an answer in time", "nothing"
                )
            return super().ask(request)

    report = judge(
        Session(Late(Changing), played=played), lambda one: first_finding(one, cases[:1])
    )
    assert report.status is Status.DIVERGES
    assert report.finding is not None
    assert report.finding.clause == ("AR-4" if second == "late" else "MO-5")
