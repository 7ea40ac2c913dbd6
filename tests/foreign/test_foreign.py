"""The implementations in other languages: vectors, the kit, and networks of all of them."""

import fcntl
import os

import attrs
import pytest

from tests.foreign.matrix import (
    EXAMPLE,
    EXAMPLES,
    ROOT,
    TIMEOUT,
    TRIALS,
    VECTORS,
    Implementation,
    cpp,
    in_arena,
    javascript,
    missing,
    mixed,
    run_vectors,
    table,
)
from tests.support import played
from tests.valid_ref.vectors.reading import files, load, printed
from valid_ref.scenario.parts import Family
from valid_ref.testing.conform import kit
from valid_ref.testing.conform.cases import fixed_cases
from valid_ref.testing.conform.generate import find_divergence
from valid_ref.testing.conform.process import ProcessPeer

TABLE = ROOT / "docs" / "tables" / "implementations.md"


def skip_without(*tools: str) -> None:
    reason = missing(*tools)
    if reason is not None:
        pytest.skip(reason)


@pytest.fixture(scope="session", name="javascript")
def _javascript() -> Implementation:
    skip_without("node")
    return javascript()


@pytest.fixture(scope="session", name="cpp")
def _cpp(tmp_path_factory) -> Implementation:
    skip_without("g++", "make")
    # One directory for all processes of a test run: the first builds, the others wait for it.
    shared = tmp_path_factory.getbasetemp()
    out = (shared.parent if os.environ.get("PYTEST_XDIST_WORKER") else shared) / "cpp"
    out.mkdir(exist_ok=True)
    with (out / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return cpp(out, "CXXFLAGS=-O0")  # the compiler takes longest


@pytest.fixture(params=["javascript", "cpp"])
def foreign(request) -> Implementation:
    return request.getfixturevalue(request.param)


@pytest.mark.checks("VE-10")
def test_every_vector_passes(foreign: Implementation) -> None:
    cases = {case["id"]: case for family in files() for case in load(family)["cases"]}
    found = run_vectors(foreign)
    assert found["failed"] == []
    assert found["passed"] + len(found["skipped"]) == len(cases)
    assert all(printed(cases[name]) for name in found["skipped"])


@pytest.mark.checks("CF-11")
def test_every_answer_is_as_specified(foreign: Implementation) -> None:
    """In every fourth case of lean validation; the deep test has all of them."""
    pairs = enumerate(fixed_cases())
    cases = [case for number, case in pairs if case.validation == "paper" or number % 4 == 0]
    session = kit.Session(ProcessPeer(foreign.agent, TIMEOUT), played=played)
    report = kit.judge(
        session,
        lambda one: kit.first_finding(one, cases),
        lambda one: find_divergence(one, examples=5, seed=0),
    )
    assert report.conforms, report
    assert report.validations == ("paper", "lean")
    assert report.cases >= len(cases) + 5


SMALLER = {
    "honest": attrs.evolve(TRIALS["honest"], graph=Family("cycle:7")),
    "equivocation": TRIALS["equivocation"],
    "estimate-liar": attrs.evolve(
        TRIALS["estimate-liar"], graph=Family("complete:7"), byzantine=(0, 6)
    ),
    "lean, honest": attrs.evolve(TRIALS["lean, honest"], graph=Family("cycle:7")),
    "lean, split-opening": attrs.evolve(
        TRIALS["lean, split-opening"], graph=Family("complete:7"), byzantine=(0, 6)
    ),
    "lean, wrong-sum": TRIALS["lean, wrong-sum"],
}
"""Two trials on the graph of the paper; the deep test has all of them there."""


@pytest.mark.checks("CF-20", "CF-21", "CF-24")
@pytest.mark.parametrize("trial", SMALLER)
def test_a_network_of_all_gives_the_bytes_of_the_reference(trial: str, javascript, cpp) -> None:
    """Three implementations, and the reference at even numbers."""
    scenario = SMALLER[trial]
    commands = mixed(scenario, [javascript, cpp, EXAMPLE])
    commands = {agent: words for agent, words in commands.items() if agent % 2}
    found = in_arena(scenario, commands)
    assert found.conforms, found.verdict
    assert found.sha256 == found.reference
    assert {*found.played.names.values()} == {"valid in javascript", "valid in C++17", "example"}
    outcome = found.verdict.findings.outcome
    assert outcome == ("c" if scenario.byzantine else "a")


@pytest.mark.checks("CF-24", "VB-11")
@pytest.mark.parametrize("trial", ["honest", "equivocation"])
def test_agents_may_flood_all_that_they_hold(trial: str, javascript, cpp) -> None:
    """Some agents of each kind: the recording says who, conforms, and is the reference's."""
    scenario = attrs.evolve(TRIALS[trial], graph=Family("complete:6"))
    held = [javascript.flooding_held().agent, cpp.flooding_held().agent]
    commands = dict(enumerate([held[0], javascript.agent, held[1], cpp.agent]))
    commands |= {5: held[1]}
    found = in_arena(scenario, commands)
    assert found.conforms, found.verdict
    assert found.played.flood_held == (0, 2, 5)


def rows() -> dict[str, list[str]]:
    lines = [line.strip("| \n").split(" | ") for line in TABLE.read_text().splitlines()]
    return {line[0]: line[1:] for line in lines if len(line) == 3 + len(TRIALS)}


def test_the_committed_table_is_of_these_vectors_and_all_is_as_it_must_be() -> None:
    lines = (VECTORS / "ids.txt").read_text().splitlines()
    number = sum(not line.endswith(" retired") for line in lines)
    found = rows()
    held = [f"{name}, `--flood held`" for name in ("JavaScript", "C++")]
    names = ["reference", EXAMPLE.name, "JavaScript", "C++", *held, "all in turn"]
    assert list(found)[2:] == names
    for name in names:
        assert found[name][-len(TRIALS) :] == ["same bytes"] * len(TRIALS)
    for name in ("JavaScript", "C++"):
        words = found[name][0].split()
        assert (words[1], words[3:]) == ("pass,", ["skipped"])
        assert int(words[0]) + int(words[2]) == number
        assert found[name][1].endswith(" cases")


@pytest.mark.deep
def test_the_committed_table_is_what_is_made(javascript, cpp) -> None:
    foreign = [javascript, cpp]
    made = table([EXAMPLE, *foreign, *(one.flooding_held() for one in foreign)], EXAMPLES)
    assert TABLE.read_text().endswith(made)


@pytest.mark.deep
def test_every_answer_is_as_specified_whatever_is_drawn(foreign: Implementation) -> None:
    for one in (foreign, foreign.flooding_held()):
        report = kit.conform(ProcessPeer(one.agent, TIMEOUT), examples=1500, seed=7)
        assert report.conforms, report
