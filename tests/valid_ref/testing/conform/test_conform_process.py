"""Everything that can go wrong with a process is a finding of its own; the kit's faults are not."""

import sys

import pytest

from valid_ref.oracle.check import Status
from valid_ref.testing.conform import peer as peers
from valid_ref.testing.conform.errors import AgentFault, ConformError, Kind
from valid_ref.testing.conform.faults import AGENT
from valid_ref.testing.conform.process import ProcessPeer
from valid_ref.testing.conform.session import Session, first_finding, judge

HELLO = (
    '{"protocol": "valid-ref/conformance/1", "name": "x", "flood": "fresh", "integers": "number"}'
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
    assert (fault.kind, fault.clause) == (Kind.INVALID_LINE, "CF-1")
    assert reason in fault.found


@pytest.mark.checks("CF-1")
@pytest.mark.parametrize("end", ["\n", ""])
def test_a_line_has_a_longest_length(end: str, monkeypatch) -> None:
    monkeypatch.setattr(peers, "LONGEST_LINE", 1000)
    monkeypatch.setattr("valid_ref.testing.conform.process.LONGEST_LINE", 1000)
    fault = refused(SAY.format('{"a": "' + "x" * 1000 + '"}' + end, WAIT))
    assert (fault.kind, fault.clause) == (Kind.LONG_LINE, "CF-1")


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
    assert (fault.kind, fault.clause) == (Kind.CRASH, "CF-12")
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
    assert (report.finding.kind, report.finding.clause) == (Kind.CRASH, "CF-12")
    assert "sorry" in report.finding.divergence.difference.found


@pytest.mark.checks("CF-13")
@pytest.mark.parametrize("program", ["import time; time.sleep(60)", SAY.format("{}", WAIT)])
def test_no_answer_in_time_is_a_time_out(program: str) -> None:
    """Also where the request does not fit into the pipe, and where the line does not end."""
    fault = refused(program, {"op": "hello", "protocol": "x" * 10**6}, 0.3)
    assert (fault.kind, fault.clause) == (Kind.TIMEOUT, "CF-13")


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
    assert (finding.kind, finding.clause) == (Kind.NOT_REPEATED, "MO-5")


@pytest.mark.checks("CF-2", "CF-14")
def test_another_protocol_cannot_be_judged(cases, played, made) -> None:
    other = made(a=('PROTOCOL = "valid-ref/conformance/1"', 'PROTOCOL = "valid-ref/conformance/2"'))
    session = Session(peers.ObjectPeer(other), played=played)
    report = judge(session, lambda one: first_finding(one, cases))
    assert report.status is Status.CANNOT_TELL
    assert "conformance/2" in report.reason
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
    assert (finding.kind, finding.clause) == (Kind.WRONG_FORM, "CF-2")


@pytest.mark.checks("CF-14")
def test_a_fault_of_the_kit_is_never_a_conviction(made) -> None:
    def broken(_case):
        raise ZeroDivisionError("in the kit")

    session = Session(peers.ObjectPeer(made()), played=broken)
    report = judge(session, lambda one: first_finding(one, [None]))
    assert (report.status, report.finding) == (Status.CANNOT_TELL, None)
    assert "ZeroDivisionError: in the kit" in report.reason


@pytest.mark.checks("CF-14")
def test_a_command_that_cannot_be_started_is_refused(cases, played, tmp_path) -> None:
    session = Session(ProcessPeer([str(tmp_path / "nothing")]), played=played)
    with pytest.raises(ConformError, match="cannot start"):
        judge(session, lambda one: first_finding(one, cases))
