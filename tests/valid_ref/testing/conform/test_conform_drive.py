"""Whatever an agent answers, the driver gives a finding: it neither fails nor lets it pass."""

import copy

import attrs
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from valid_ref import wire
from valid_ref.testing.conform.agent import Agent
from valid_ref.testing.conform.drive import drive, say_hello
from valid_ref.testing.conform.peer import FindingKind, ObjectPeer

GARBAGE = (
    None, True, False, 0, 1, -1, 2**63, -(10**30), 1.5, -0.25, "?", "7", "", [], [[]], [1, 2], {},
    {"kind": "flag", "value": True}, {"kind": "entries", "entries": []}, [[0, -1, 3]],
    {"kind": "learning", "model": [0, 0], "scaled_gradient": [0, 0]}, {"error": "?"},
)  # fmt: skip


@attrs.define
class Bent:
    """The example agent with one value in one of its replies replaced."""

    when: int
    steps: tuple[int, ...]
    instead: object
    agent: Agent = attrs.field(factory=Agent)
    asked: int = 0
    original: object = None

    def __getattr__(self, name):
        def answer(**fields):
            reply = copy.deepcopy(getattr(self.agent, name)(**fields))
            if name == "hello":
                return reply
            self.asked += 1
            if self.asked != self.when:
                return reply
            self.original, bent = self.bend(reply, self.steps)
            return bent

        return answer

    def bend(self, value, steps):
        """Walk into the value, as far as there is somewhere to go, and replace what is there."""
        if not steps or not isinstance(value, dict | list) or not value:
            return value, self.instead
        keys = sorted(value) if isinstance(value, dict) else range(len(value))
        key = keys[steps[0] % len(keys)]
        original, value[key] = self.bend(value[key], steps[1:])
        return original, value


def same(original: object, instead: object) -> bool:
    if type(original) in {int, float} and type(instead) in {int, float}:
        return original == instead
    if type(original) is int and isinstance(instead, str):
        return str(original) == instead
    return type(original) is type(instead) and original == instead


@pytest.mark.checks("CF-5", "CF-6", "CF-9", "CF-10", "CF-11")
@given(
    index=st.sampled_from([0, 1, 4, 30, 64, -1, -60, -190]),
    when=st.integers(1, 45),
    steps=st.lists(st.integers(0, 6), max_size=5).map(tuple),
    instead=st.sampled_from(GARBAGE),
)
@example(index=0, when=1, steps=(), instead=None)
@example(index=0, when=2, steps=(0, 0), instead=True)
@example(index=-190, when=13, steps=(0,), instead=None)
@settings(max_examples=150)
def test_every_change_of_an_answer_is_found(cases, played, index, when, steps, instead) -> None:
    bent = Bent(when, steps, instead)
    finding = drive(played(cases[index]), say_hello(ObjectPeer(lambda: bent)))
    if bent.asked < when or same(bent.original, instead):
        assert finding is None
        return
    assert finding is not None
    assert finding.clause
    assert finding.kind in {
        FindingKind.BEHAVIOUR,
        FindingKind.WRONG_FORM,
        FindingKind.INVALID_LINE,
        FindingKind.CRASH,
    }
    assert finding.divergence.difference.expected != finding.divergence.difference.found


@pytest.mark.checks("CF-9", "CF-10", "MO-12")
def test_alarms_have_one_order_in_replies_and_at_the_end(cases, played, made) -> None:
    case = next(case for case in cases if case.name == "another model to one neighbour")

    class Reversed(made()):
        def receive(self, **fields):
            return {"alarms": super().receive(**fields)["alarms"][::-1]}

    class EndReversed(made()):
        def end(self):
            reply = super().end()
            return {**reply, "alarms": reply["alarms"][::-1]}

    finding = drive(played(case), say_hello(ObjectPeer(Reversed)))
    assert finding is not None
    assert (finding.clause, finding.divergence.difference.what) == ("MO-12", "order of alarms")
    finding = drive(played(case), say_hello(ObjectPeer(EndReversed)))
    assert finding is not None
    assert finding.clause == "MO-7"


@pytest.mark.checks("CF-11")
@pytest.mark.parametrize(
    ("phase", "source", "value", "clause"),
    [
        ("LocalValidate.keys", 1, 5.0, "LV-4"),
        ("LocalValidate.hashes", 1, [1.5], "LV-6"),
        ("GlobalValidate", 1, [2.0, 1, 1], "GV-2"),
        ("GlobalValidate", 0, [0.5, 1, 1], "VB-5"),
        ("GlobalValidate", 1, ["x", 1, 1], "CF-7"),
    ],
)
def test_a_float_is_blamed_on_the_clause_that_wants_an_integer(
    cases, played, phase, source, value, clause
) -> None:
    script = played(cases[0])

    class Floating(Agent):
        def send(self, **fields):
            if self.place(fields["round"]) != (phase, 1):
                return super().send(**fields)
            slot = -1 if phase == "LocalValidate.keys" else 0
            return {"message": {"kind": "entries", "entries": [[source, slot, value]]}}

    finding = drive(script, say_hello(ObjectPeer(Floating)))
    assert finding is not None
    assert (finding.kind, finding.clause) == (FindingKind.WRONG_FORM, clause)


@pytest.mark.checks("CF-11")
@pytest.mark.parametrize(
    ("number", "clause"),
    [(10**400, "CF-5"), (-(10**400), "CF-5"), (2**1024 - 1, "CF-5"), (1, "AR-4")],
)
def test_a_point_that_no_float_holds_is_a_finding(cases, played, number, clause) -> None:
    class Far(Agent):
        def mix(self, **fields):
            return {**super().mix(**fields), "point": [number, number]}

    finding = drive(played(cases[0]), say_hello(ObjectPeer(Far)))
    assert finding is not None
    assert finding.clause == clause


@pytest.mark.checks("VB-9")
def test_the_example_takes_no_mapping_in_which_a_public_tag_stands_twice(cases, played) -> None:
    script, agent = played(cases[0]), Agent()
    agent.start(wire.parameters_for_agent(script.parameters), script.agent, script.key)
    agent.begin_broadcast({(0, -1), (1, -1)}, {})
    for entries, found in (
        ([[0, -1, 3], [0, -1, 3]], "MALFORMED_MESSAGE"),
        ([[9, -1, 3], [9, -1, 3]], "UNKNOWN_TAG"),
        ([[0, -1, None], [0, -1, 3]], "MALFORMED_MESSAGE"),
    ):
        agent.alarms = []
        agent.entries("LocalValidate.keys", 1, 0, {"kind": "entries", "entries": entries})
        assert [alarm["reason"] for alarm in agent.alarms] == [found]


@pytest.mark.checks("CF-8")
def test_neighbours_that_said_nothing_are_left_out_and_the_others_come_last_first(
    cases, played, made
) -> None:
    case = next(case for case in cases if case.name == "a learning message is missing")
    heard = []

    class Listening(made()):
        def receive(self, **fields):
            heard.append([item["sender"] for item in fields["inbox"]])
            return super().receive(**fields)

    assert drive(played(case), say_hello(ObjectPeer(Listening))) is None
    assert heard[:3] == [[2, 1], [2], [2, 1]]


@pytest.mark.checks("CF-5")
def test_a_silent_agent_is_not_asked_to_mix_again(cases, played, made) -> None:
    case = next(case for case in cases if case.name == "a gradient beyond the range")
    asked = []

    class Listening(made()):
        def mix(self, **fields):
            asked.append(("mix", fields["round"]))
            return super().mix(**fields)

        def send(self, **fields):
            asked.append(("send", fields["round"], "gradient" in fields))
            return super().send(**fields)

    assert drive(played(case), say_hello(ObjectPeer(Listening))) is None
    assert asked[:6] == [
        ("mix", 1),
        ("send", 1, True),
        ("mix", 2),
        ("send", 2, True),
        ("send", 3, False),
        ("send", 4, False),
    ]
