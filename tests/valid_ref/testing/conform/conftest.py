"""The scripts of the fixed cases, made once; faulty agents as classes."""

from collections.abc import Callable

import pytest

from tests.support import played
from valid_ref.testing.conform.case import ConformCase, ExpectedRun
from valid_ref.testing.conform.cases import fixed_cases
from valid_ref.testing.conform.faults import AGENT, Fault, faulty_source


@pytest.fixture(scope="session", name="played")
def _played() -> Callable[[ConformCase], ExpectedRun]:
    return played


@pytest.fixture(scope="session")
def cases() -> tuple[ConformCase, ...]:
    """Those of the paper's validation come first."""
    return fixed_cases()


@pytest.fixture(scope="session")
def fewer(cases) -> tuple[ConformCase, ...]:
    """All of the paper's validation, and every fourth of lean validation."""
    return tuple(c for number, c in enumerate(cases) if c.validation == "paper" or number % 4 == 0)


@pytest.fixture(scope="session")
def lean(cases) -> tuple[ConformCase, ...]:
    """Those of lean validation."""
    return tuple(case for case in cases if case.validation == "lean")


@pytest.fixture(scope="session")
def made() -> Callable[..., type]:
    """Makes the class of an agent out of the example: with a fault, or with words replaced."""

    def make(fault: Fault | None = None, **changes: tuple[str, str]) -> type:
        source = AGENT.read_text() if fault is None else faulty_source(fault)
        for words, instead in changes.values():
            assert source.count(words) == 1, words
            source = source.replace(words, instead)
        names = {"__name__": "an_agent"}
        exec(compile(source, "an_agent.py", "exec"), names)
        return names["Agent"]

    return make
