"""A real browser, where there is one: Debian's chromium, driven by playwright."""

import shutil
from collections.abc import Iterator, Mapping

import pytest

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def browser() -> Iterator:
    """One browser with a profile of its own; skipped where there is none."""
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        pytest.skip("no chromium: install the Debian package chromium")
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=program, args=FLAGS, headless=True)
        yield browser
        browser.close()


BLANK = "about:blank"
FORGET = "localStorage.clear(); sessionStorage.clear()"
WINDOW = {"width": 1280, "height": 900}
MEDIA = {"color_scheme": "light", "reduced_motion": "no-preference"}


class Opened:
    """A page that was opened, with everything it complained about or asked for."""

    def __init__(self, page) -> None:
        self.page = page
        self.complaints: list[str] = []
        self.requests: list[str] = []
        page.on("console", lambda message: self.complaints.append(message.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", lambda request: self.requests.append(request.url))

    @classmethod
    def window(cls, browser, timeout: int) -> "Opened":
        """A window of a browser, with the longest that anything in it may take, in ms."""
        context = browser.new_context()
        context.set_default_timeout(timeout)
        return cls(context.new_page())

    def forget(self) -> None:
        """Close the page, and forget all it kept, complained about or asked for."""
        if self.page.url != BLANK:
            self.page.evaluate(FORGET)
            self.page.goto(BLANK)
        self.complaints.clear()
        self.requests.clear()

    def visit(self, url: str, *, viewport: Mapping[str, int] = WINDOW, **media: str) -> None:
        """Open an address anew, as a reader for the first time: nothing is left of a page before.

        `media` are the `color_scheme` and the `reduced_motion` that the reader prefers.
        """
        self.forget()
        self.page.set_viewport_size(viewport)
        self.page.emulate_media(**(MEDIA | media))
        self.page.goto(url)
        self.page.wait_for_selector("html[data-ready]")

    def text(self, selector: str) -> str:
        return self.page.inner_text(selector)

    def until(self, expression: str) -> None:
        """Wait until an expression is true; the page itself may not evaluate text."""
        for _attempt in range(100):
            if self.page.evaluate(expression):
                return
            self.page.wait_for_timeout(30)
        raise AssertionError(f"never true: {expression}")
