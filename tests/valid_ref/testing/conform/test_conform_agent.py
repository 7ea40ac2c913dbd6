"""The example agent conforms, imports nothing, and so do its variants that the protocol admits."""

import ast
import sys

import pytest

from valid_ref.oracle.check import Status
from valid_ref.testing.conform import kit
from valid_ref.testing.conform.faults import AGENT
from valid_ref.testing.conform.generate import find_divergence
from valid_ref.testing.conform.kit import Session, conform, first_finding, judge, replay
from valid_ref.testing.conform.peer import AgentFault, ConformError, ObjectPeer
from valid_ref.testing.conform.process import ProcessPeer

FLOOD = ("values = self.held if r == self.R else self.fresh", "values = self.held")
SAYS_HELD = ('"flood": "fresh"', '"flood": "held"')
STRINGS = ('"integers": "number"', '"integers": "string"')


def number(value):
    """Decimal strings back as integers, everywhere but in names and texts."""
    if isinstance(value, str):
        return int(value) if value.lstrip("-").isdecimal() else value
    if isinstance(value, list):
        return [number(item) for item in value]
    return {key: number(item) for key, item in value.items()} if isinstance(value, dict) else value


def text(value):
    """Every integer as a decimal string."""
    if type(value) is int:
        return str(value)
    if isinstance(value, list):
        return [text(item) for item in value]
    return {key: text(item) for key, item in value.items()} if isinstance(value, dict) else value


@pytest.mark.checks("CF-1", "CF-2", "CF-5", "CF-6", "CF-8", "CF-10", "CF-17")
def test_the_example_conforms_as_a_process(fewer, played) -> None:
    told = []
    session = Session(ProcessPeer([sys.executable, str(AGENT)]), told.append, played=played)
    report = judge(session, lambda one: first_finding(one, fewer))
    assert report.status is Status.CONFORMS, report.finding
    assert report.agent == "example"
    assert told == list(range(1, len(fewer) + 1))


@pytest.mark.checks("CF-11", "CF-15", "CF-16")
def test_the_example_conforms_in_fixed_and_in_generated_cases(
    cases, played, made, monkeypatch
) -> None:
    """As an object in all fixed cases, whose scripts are known; in a few of them and in others."""
    assert first_finding(Session(ObjectPeer(made()), played=played), cases) is None
    monkeypatch.setattr(kit, "fixed_cases", lambda: cases[:5])
    report = conform(ObjectPeer(made()), examples=50, seed=3)
    assert report.status is Status.CONFORMS, report
    assert report.cases == 5 + 50


@pytest.mark.deep
@pytest.mark.checks("CF-15", "CF-17")
def test_the_example_conforms_in_a_thousand_generated_cases() -> None:
    session = Session(ProcessPeer([sys.executable, str(AGENT)]))
    report = judge(session, lambda one: find_divergence(one, 1000, 0))
    assert report.status is Status.CONFORMS, report
    assert report.cases == 1000


def test_the_example_needs_the_standard_library_only() -> None:
    tree = ast.parse(AGENT.read_text())
    names = {
        name.name.partition(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in ([ast.alias(node.module)] if isinstance(node, ast.ImportFrom) else node.names)
    }
    assert names == {"hashlib", "json", "math", "sys", "typing"}
    assert names <= sys.stdlib_module_names


@pytest.mark.checks("CF-2")
def test_sending_everything_in_every_flood_round_may_be_declared(fewer, played, made) -> None:
    resending = Session(ObjectPeer(made(a=FLOOD, b=SAYS_HELD)), played=played)
    assert first_finding(resending, fewer) is None
    undeclared = first_finding(Session(ObjectPeer(made(a=FLOOD)), played=played), fewer)
    assert undeclared is not None
    assert undeclared.clause == "VB-4"
    declared = first_finding(Session(ObjectPeer(made(a=SAYS_HELD)), played=played), fewer)
    assert declared is not None
    assert declared.clause == "VB-4"


KNOWN = '{"validations": ["paper", "lean"]}'
"""What the example says at hello about lean validation."""


@pytest.mark.checks("CF-2", "CF-15")
@pytest.mark.parametrize(
    ("said", "known"),
    [("{}", ("paper",)), ('{"validations": ["lean"]}', ("lean",)), (KNOWN, ("paper", "lean"))],
)
def test_an_agent_is_driven_in_the_validations_that_it_has(
    said, known, cases, lean, played, made
) -> None:
    some = (*cases[:4], *lean[:4])
    session = Session(ObjectPeer(made(a=(KNOWN, said))), played=played)
    report = judge(
        session,
        lambda one: first_finding(one, some),
        lambda one: find_divergence(one, 12, 2),
    )
    assert report.status is Status.CONFORMS, report
    assert (report.validations, report.cases) == (known, 4 * len(known) + 12)
    assert f"validation {' and '.join(known)} " in report.reason


@pytest.mark.checks("CF-15")
def test_a_case_with_a_validation_that_the_agent_does_not_have_is_refused(lean, made) -> None:
    with pytest.raises(ConformError, match="does not have the validation of the case, lean"):
        replay(ObjectPeer(made(a=(KNOWN, "{}"))), lean[0])
    assert replay(ObjectPeer(made()), lean[0]).conforms


@pytest.mark.checks("CF-2")
@pytest.mark.parametrize("said", ["[]", '"lean"', '["other"]', "[3]", "None", "[[]]"])
def test_validations_of_another_form_are_a_fault(said, cases, played, made) -> None:
    session = Session(ObjectPeer(made(a=(KNOWN, f'{{"validations": {said}}}'))), played=played)
    finding = first_finding(session, cases)
    assert finding is not None
    assert finding.clause == "CF-2"


@pytest.mark.checks("CF-6")
def test_addressing_may_be_left_out_and_may_repeat_what_is_said_to_all(lean, played, made) -> None:
    """A neighbour to which the message to all is addressed is told nothing else."""

    class Wordy(made()):
        def send(self, **fields):
            reply = super().send(**fields)
            if not reply.get("addressed"):
                return {name: value for name, value in reply.items() if name != "addressed"}
            told = {one["receiver"] for one in reply["addressed"]}
            others = [u for u in self.N[self.me] if u not in told]
            more = [{"receiver": u, "message": reply["message"]} for u in others]
            return {**reply, "addressed": [*more, *reply["addressed"]]}

    assert first_finding(Session(ObjectPeer(Wordy), played=played), lean[:12]) is None


@pytest.mark.checks("CF-3")
def test_large_integers_may_be_decimal_strings(fewer, played, made) -> None:
    plain = made(a=STRINGS)
    seen = set()

    class Wordy(plain):
        """Reads strings as integers; writes every number of vectors as a string."""

        def start(self, parameters, agent, **secret):
            seen.update(type(key) for key in secret.values())
            named = {**number(parameters)}
            if "lean" in parameters:
                named["lean"] = {**named["lean"], "run": parameters["lean"]["run"]}
            return super().start(named, number(agent), **number(secret))

        def mix(self, **fields):
            reply = super().mix(**fields)
            return {"Y": text(reply["Y"]), "point": reply["point"]}

        def send(self, **fields):
            return text(super().send(**fields))

        def receive(self, **fields):
            return super().receive(**number(fields))

        def end(self):
            reply = super().end()
            return {**reply, "model": text(reply["model"])}

    assert first_finding(Session(ObjectPeer(Wordy), played=played), fewer) is None
    assert seen == {int, str, list}


@pytest.mark.checks("CF-16")
def test_a_python_agent_says_only_what_a_pipe_can_carry(made, played, cases) -> None:
    class Bytes(made()):
        def mix(self, **fields):
            return {"Y": {1, 2}, "point": []}

    finding = first_finding(Session(ObjectPeer(Bytes), played=played), cases)
    assert finding is not None
    assert finding.clause == "CF-12"
    assert "TypeError" in finding.divergence.difference.found
    with pytest.raises(AgentFault, match="AttributeError"):
        ObjectPeer(object).ask({"op": "hello", "protocol": ""})
