"""A network of agents that are asked gives the reference's bytes; agents at fault are told."""

import threading
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from valid_ref.adversary.broadcasts import SilentSource
from valid_ref.adversary.lean_attacks import (
    CopiedCommitment,
    EarlyValue,
    FalseOwnReport,
    SplitOpening,
    WrongDigest,
)
from valid_ref.adversary.models import Equivocation
from valid_ref.adversary.reports import EstimateLiar, HashLiar
from valid_ref.oracle import record_run
from valid_ref.protocols.valid import Private
from valid_ref.runs import run
from valid_ref.scenario import Scenario
from valid_ref.scenario.build import build_graph, prepare
from valid_ref.scenario.parts import (
    ConfiguredBounds,
    Family,
    Lean,
    PaperValidation,
    RandomQuadratics,
)
from valid_ref.testing.arena.judge import ArenaJudgement, digest, judged, play
from valid_ref.testing.arena.network import assigned, in_turn, processes
from valid_ref.testing.conform.faults import AGENT, faulty_source
from valid_ref.testing.conform.faults import fault_named as named
from valid_ref.testing.conform.peer import ConformError, ObjectPeer, OtherProtocolError

SMALL = Scenario(graph=Family("path:3"), loss=RandomQuadratics(dimension=2), rounds=3, seed=0)
FOUR = attrs.evolve(SMALL, graph=Family("complete:4"), byzantine=(3,))


def agent(source: str = "", **changes: tuple[str, str]) -> type:
    """The class of the example agent, with words of it replaced."""
    source = source or AGENT.read_text()
    for words, instead in changes.values():
        assert source.count(words) == 1, words
        source = source.replace(words, instead)
    names: dict[str, Any] = {"__name__": "an_agent"}
    exec(compile(source, "an_agent.py", "exec"), names)
    return names["Agent"]


Example: Any = agent()
Held = agent(
    said=('"flood": "fresh"', '"flood": "held"'),
    sent=("values = self.held if r == self.R else self.fresh", "values = self.held"),
)


def judge(
    scenario: Scenario, agents: dict[int, type], output: Path | None = None
) -> ArenaJudgement:
    peers = {number: ObjectPeer(made) for number, made in agents.items()}
    return judged(play(prepare(scenario), peers), scenario, output)


LEAN_LIARS = [SplitOpening(), CopiedCommitment(), EarlyValue(), WrongDigest(), FalseOwnReport()]


@st.composite
def networks(draw: st.DrawFn) -> tuple[Scenario, dict[int, type]]:
    """A small scenario, honest or under attack, and some honest agents that are asked."""
    graph = draw(st.sampled_from(["path:3", "cycle:4", "complete:4", "star:5"]))
    lean = draw(st.booleans())
    liars = LEAN_LIARS if lean else [HashLiar(), EstimateLiar(), SilentSource()]
    attack = draw(st.sampled_from([None, Equivocation(), *liars]))
    scenario = Scenario(
        graph=Family(graph),
        loss=RandomQuadratics(dimension=draw(st.integers(1, 3))),
        rounds=draw(st.integers(2 if isinstance(attack, CopiedCommitment) else 1, 4)),
        seed=draw(st.integers(0, 99)),
        bounds=draw(st.sampled_from([ConfiguredBounds(1.0, 1.0), Scenario(seed=0).bounds])),
        validation=Lean() if lean else PaperValidation(),
    )
    agents = range(build_graph(scenario).agents)
    if attack is not None:
        liar = draw(st.sampled_from(agents))
        scenario = attrs.evolve(scenario, byzantine=(liar,), attack=attack)
    asked = draw(st.sets(st.sampled_from([v for v in agents if v not in scenario.byzantine])))
    return scenario, {v: draw(st.sampled_from([Example, Held])) for v in sorted(asked)}


@pytest.mark.checks("CF-20", "CF-21", "CF-23", "CF-24")
@given(networks())
@settings(max_examples=25)
def test_whoever_is_asked_the_bytes_are_those_of_the_reference(network) -> None:
    scenario, agents = network
    found = judge(scenario, agents)
    assert found.conforms, found.verdict
    assert found.sha256 == found.reference
    assert found.gap is None
    lean = isinstance(scenario.validation, Lean)
    held = [number for number, made in agents.items() if made is Held and not lean]
    assert list(found.played.flood_held) == held


@pytest.mark.checks("CF-23")
@pytest.mark.parametrize("name", ["run.zip", "run"])
def test_the_recording_is_that_of_valid_ref_record(name: str, tmp_path: Path) -> None:
    """As bytes: of the zip, and of every file of a directory."""
    scenario = attrs.evolve(FOUR, attack=Equivocation())
    found = judge(scenario, {0: Example, 2: Example}, tmp_path / name)
    record_run(run(scenario), tmp_path / f"other-{name}")
    (tmp_path / "scratch").mkdir()
    assert found.sha256 == digest(tmp_path / f"other-{name}", tmp_path / "scratch")
    if name == "run":
        for file in (tmp_path / name).iterdir():
            assert file.read_bytes() == (tmp_path / "other-run" / file.name).read_bytes()


@pytest.mark.checks("CF-21")
def test_an_agent_whose_update_leaves_the_range_is_given_no_more_gradients() -> None:
    """As by the reference: after the first null in learning neither mix nor a gradient."""
    asked: list[tuple[str, int, bool]] = []

    class Noting(Example):
        def mix(self, round):  # noqa: A002
            asked.append(("mix", round, False))
            return super().mix(round)

        def send(self, round, gradient=None):  # noqa: A002
            asked.append(("send", round, gradient is not None))
            return super().send(round, gradient)

    prepared = prepare(SMALL)
    far = Private(lambda _t, _point: np.array([1e300, 0.0]), prepared.private[1].key)
    prepared = attrs.evolve(prepared, private={**prepared.private, 1: far})
    found = judged(play(prepared, {1: ObjectPeer(Noting)}), SMALL, None)
    assert found.conforms
    assert found.played.endings[1].alarms[0].reason == "OWN_UPDATE_OUT_OF_RANGE"
    learning = [one for one in asked if one[1] <= SMALL.rounds]
    silence = [("send", number, False) for number in range(2, SMALL.rounds + 1)]
    assert learning == [("mix", 1, False), ("send", 1, True), *silence]


@pytest.mark.checks("CF-24")
def test_other_gradients_conform_but_are_not_the_bytes_of_the_reference() -> None:
    """The oracle cannot see at which point an agent wanted its gradient; the bytes show it."""
    lazy = agent(at=("y / 2 ** (self.f + self.k) for y in self.Y", "0.0 for y in self.Y"))
    found = judge(SMALL, {1: lazy})
    assert found.verdict.conforms
    assert not found.conforms
    assert found.status == "diverges"
    assert found.gap is not None
    assert found.gap.place == "LearnModel round 2, agent 1: model"
    alone = judged(found.played, SMALL, None, compare=False)
    assert alone.conforms


@pytest.mark.checks("CF-23", "CF-24")
@pytest.mark.parametrize(
    ("fault", "clause"), [("eta-index", "LV-5"), ("division-towards-zero", "GV-2")]
)
def test_a_wrong_agent_is_found_by_the_oracle(fault: str, clause: str) -> None:
    found = judge(FOUR, {1: agent(faulty_source(named(fault)))})
    assert not found.conforms
    assert found.played.faults == ()
    assert [divergence.agent for divergence in found.verdict.divergences] == [1]
    assert found.verdict.divergences[0].difference.clause == clause


FAULTS = [
    ("def hello(self, protocol: str) -> Reply:", "x()", "hello", "the start", 0, "CF-12"),
    (
        "def start(\n        self, parameters: dict[str, Any], agent: int, key: int = 0, "
        "opening: Any = None\n    ) -> Reply:",
        "return {'a': 1}",
        "start",
        "the start",
        0,
        "CF-4",
    ),
    (
        "def mix(self, round: int) -> Reply:  # noqa: A002 - the name of the field",
        "return {'Y': [1], 'point': [0.5]}",
        "mix",
        "LearnModel",
        1,
        "CF-5",
    ),
    (
        "def send(self, round: int, gradient: Any = None) -> Reply:  # noqa: A002",
        "return {'message': 3, 'gradient': None}",
        "send",
        "LearnModel",
        1,
        "CF-7",
    ),
    (
        "def receive(self, round: int, inbox: list[Reply]) -> Reply:  # noqa: A002",
        "if round == 5: return {'alarms': [{}]}",
        "receive",
        "LocalValidate.keys",
        2,
        "CF-9",
    ),
    (
        "def end(self) -> Reply:",
        "return {'valid': True, 'model': None, 'alarms': []}",
        "end",
        "the end",
        0,
        "CF-10",
    ),
    (
        "def end(self) -> Reply:",
        "return {'valid': False, 'model': [0, 0], 'alarms': []}",
        "end",
        "the end",
        0,
        "CF-10",
    ),
    (
        "def end(self) -> Reply:",
        "return {'valid': True, 'model': [0], 'alarms': []}",
        "end",
        "the end",
        0,
        "CF-10",
    ),
    (
        "def end(self) -> Reply:",
        "return {'valid': True, 'model': [0, 2**63], 'alarms': []}",
        "end",
        "the end",
        0,
        "CF-10",
    ),
    (
        "def end(self) -> Reply:",
        "self.alarm('NO_VALUE', 'LearnModel', 1)",
        "end",
        "the end",
        0,
        "CF-10",
    ),
    ("def end(self) -> Reply:", "return {'error': 'enough'}", "end", "the end", 0, "CF-12"),
]


@pytest.mark.checks("CF-22")
@pytest.mark.parametrize(("words", "line", "request_", "phase", "number", "clause"), FAULTS)
def test_an_agent_at_fault_is_told_and_silent_from_there_on(
    words: str, line: str, request_: str, phase: str, number: int, clause: str
) -> None:
    wrong = agent(change=(words, f"{words}\n        {line}"))
    found = judge(SMALL, {0: Example, 1: wrong})
    assert not found.conforms
    [fault] = found.played.faults
    place = fault.agent, fault.request, fault.phase, fault.round, fault.clause
    assert place == (1, request_, phase, number, clause)
    began = [(s.phase, s.number) == (phase, number) for s in found.played.rounds]
    silent = 0 if phase == "the start" else began.index(True) if any(began) else len(began)
    spoke = [spoken.said[1] is not None for spoken in found.played.rounds]
    after = silent + (request_ == "receive")
    assert spoke == [True] * after + [False] * (len(began) - after)
    assert not found.played.endings[1].valid
    assert found.played.outputs[1] is None
    # The others go on, and what they say of it is what the specification demands.
    assert {d.agent for d in found.verdict.divergences} <= {1}
    assert found.played.endings[0].valid == (request_ == "end")


@pytest.mark.checks("CF-22")
def test_an_agent_at_fault_in_the_end_does_not_conform_though_its_recording_does() -> None:
    """Under an attack it ends invalid in any case; that it crashed is told all the same."""
    words = "def end(self) -> Reply:"
    wrong = agent(change=(words, f"{words}\n        raise ValueError('too late')"))
    scenario = attrs.evolve(FOUR, attack=Equivocation())
    found = judge(scenario, {0: wrong})
    assert found.verdict.conforms
    assert found.sha256 == found.reference
    assert not found.conforms
    assert found.status == "diverges"


@pytest.mark.checks("CF-20")
def test_what_no_agent_can_play_is_refused() -> None:
    printed = attrs.evolve(SMALL, without=("P07",))
    with pytest.raises(ConformError, match="repaired reading"):
        judge(printed, {0: Example})
    part = attrs.evolve(SMALL, validation=Lean(without=("nonce",)))
    with pytest.raises(ConformError, match="whole lean validation"):
        judge(part, {0: Example})
    papers = agent(a=('{"validations": ["paper", "lean"]}', "{}"))
    with pytest.raises(OtherProtocolError, match=r"agent 1.*does not have the validation lean"):
        judge(attrs.evolve(SMALL, validation=Lean()), {1: papers})
    other = agent(a=('PROTOCOL = "valid-ref/conformance/2"', 'PROTOCOL = "valid-ref/other/9"'))
    with pytest.raises(OtherProtocolError, match=r"agent 2.*other/9"):
        judge(SMALL, {2: other})


@pytest.mark.checks("CF-20")
@given(st.sets(st.integers(0, 19), min_size=1))
def test_ranges_and_lists_name_agents(agents: set[int]) -> None:
    numbers = sorted(agents)
    starts = [v for v in numbers if v - 1 not in agents]
    ends = [v for v in numbers if v + 1 not in agents]
    ranges = ",".join(f"{a}-{b}" if a < b else f"{a}" for a, b in zip(starts, ends, strict=True))
    found = assigned([(ranges, "a 'b c'")], 20, frozenset())
    assert found == dict.fromkeys(numbers, ("a", "b c"))


@pytest.mark.checks("CF-20")
@pytest.mark.parametrize(
    ("pairs", "problem"),
    [
        ([("0-4", "a"), ("4", "reference")], "agent 4 is named twice"),
        ([("1,1", "a")], "agent 1 is named twice"),
        ([("9", "a")], "not a range of the agents 0..8"),
        ([("0-999999999", "a")], "not a range of the agents 0..8"),
        ([("3-2", "a")], "not a range of the agents 0..8"),
        ([("0-", "a")], "does not name agents"),
        ([("0;1", "a")], "does not name agents"),
        ([("", "a")], "does not name agents"),
        ([("7", "a")], "agent 7 is Byzantine"),
        ([("7", "reference")], "agent 7 is Byzantine"),
        ([("1", "a 'b")], "is no command"),
        ([("1", " ")], "empty command"),
    ],
)
def test_agents_that_cannot_be_assigned_are_refused(pairs, problem: str) -> None:
    with pytest.raises(ConformError, match=problem):
        assigned(pairs, 9, frozenset({7}))


@pytest.mark.checks("CF-21")
def test_all_processes_are_asked_before_an_answer_is_waited_for() -> None:
    """Each answer waits for all to have been asked; one after the other would never end."""
    barrier = threading.Barrier(5)
    with processes({v: ["no such command"] for v in range(5)}, 1.0) as (_peers, together):
        answers = together({v: lambda v=v: (v, barrier.wait(20) >= 0) for v in range(5)})
    assert answers == {v: (v, True) for v in range(5)}
    assert in_turn({3: lambda: "three"}) == {3: "three"}
