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


@pytest.fixture
def visit(chromium, address) -> Iterator:
    """Open the page; after the test it must not have complained or asked anybody else."""
    opened: list[Opened] = []

    def visit(**options) -> Opened:
        context = chromium.new_context(**({"viewport": {"width": 1280, "height": 900}} | options))
        context.set_default_timeout(20_000)
        one = Opened(context.new_page())
        opened.append(one)
        one.page.goto(address)
        one.page.wait_for_selector("html[data-ready]")
        return one

    yield visit
    for one in opened:
        one.page.context.close()
        assert one.complaints == []
        own = (address, f"blob:{address.split('/', 3)[0]}//", "data:,")
        assert [url for url in one.requests if not url.startswith(own)] == []
