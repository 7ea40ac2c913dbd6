"""Hypothesis profiles: dev (default), ci (CI=true, the same examples every time), deep, and
mutants: the examples of ci, but a failure is not made smaller, which nobody reads there.

Every profile names its parent: under CI=true Hypothesis loads a built-in profile that new ones
would otherwise inherit from, and a deep run would repeat the same examples.

Compiled files are written whatever the environment says, so that the processes of a test run, and
the programs that they start, compile the packages and the tests once and not each for itself.
"""

import os
import sys
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.database import DirectoryBasedExampleDatabase

from tests.browser import browser

sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

_BASE = settings.get_profile("default")
_COMMON = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}

settings.register_profile(
    "dev",
    parent=_BASE,
    max_examples=60,
    derandomize=False,
    print_blob=True,
    database=DirectoryBasedExampleDatabase(".hypothesis/examples"),
    **_COMMON,
)
settings.register_profile(
    "ci", parent=_BASE, max_examples=60, derandomize=True, database=None, print_blob=True, **_COMMON
)
settings.register_profile(
    "deep",
    parent=_BASE,
    max_examples=500,
    derandomize=False,
    print_blob=True,
    database=DirectoryBasedExampleDatabase(".hypothesis/examples"),
    **_COMMON,
)
settings.register_profile(
    "mutants", parent=settings.get_profile("ci"), phases=[Phase.explicit, Phase.generate]
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci" if os.environ.get("CI") else "dev"))


@pytest.fixture(scope="session")
def chromium() -> Iterator:
    """A browser for all tests of a session; they are skipped where there is none."""
    yield from browser()
