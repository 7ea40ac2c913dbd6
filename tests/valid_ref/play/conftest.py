"""The page of a session, served by the command as a user starts it."""

import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.browser import Opened

START = (
    "import sys; sys.argv = ['valid-ref', *sys.argv[1:]]; from valid_ref.cli import main; main()"
)


@pytest.fixture(scope="session")
def address() -> Iterator[str]:
    """The address that `valid-ref explore --serve` prints."""
    pytest.importorskip("uvicorn", reason="the extra serve is not installed")
    command = [sys.executable, "-c", START, "explore", "--serve"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        yield server.stdout.readline().strip()
        server.terminate()


@pytest.fixture(scope="session")
def window(chromium) -> Opened:
    """The one window in which the page is opened."""
    return Opened.window(chromium, timeout=20_000)


@pytest.fixture
def visit(window, address) -> Iterator:
    """Open the page; after the test it must not have complained or asked anybody else."""

    def visit(**options) -> Opened:
        window.visit(address, **options)
        return window

    yield visit
    assert window.complaints == []
    own = (address, f"blob:{address.split('/', 3)[0]}//", "data:,")
    assert [url for url in window.requests if not url.startswith(own)] == []
