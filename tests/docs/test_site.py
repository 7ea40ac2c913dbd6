"""The documentation site: what its check finds, and the built site in a browser."""

import os
import re
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

import valid_ref
from docs.site.check import problems
from tests.browser import Opened

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "build" / "site"
OVERFLOW = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"
RESULTS = "#search-results li a"


class Quiet(SimpleHTTPRequestHandler):
    """Serves files and writes no log."""

    def log_message(self, *_arguments: object) -> None:
        pass


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Where the built site is served; skipped where it was not built."""
    if not (SITE / "index.html").is_file():
        if os.environ.get("SITE_REQUIRED") == "1":
            pytest.fail("the site is not built and SITE_REQUIRED=1")
        pytest.skip("the site is not built: make docs")
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=SITE))
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture
def visit(chromium, address: str) -> Iterator:
    """Open a page; after the test none has complained or asked another host for anything."""
    opened: list[Opened] = []

    def visit(path: str, **options) -> Opened:
        context = chromium.new_context(**({"viewport": {"width": 1280, "height": 900}} | options))
        context.set_default_timeout(10_000)
        one = Opened(context.new_page())
        opened.append(one)
        one.page.goto(f"{address}/{path}", wait_until="load")
        return one

    yield visit
    for one in opened:
        one.page.context.close()
        assert one.complaints == []
        assert [url for url in one.requests if not url.startswith((address, "data:"))] == []


def test_a_clause_is_found_by_its_id(visit) -> None:
    page = visit("docs/README.html").page
    page.fill(".sidebar-search", "LV-8")
    page.keyboard.press("Enter")
    first = page.locator(RESULTS).first
    assert first.inner_text() == "LV-8"
    first.click()
    page.wait_for_url(re.compile(r"/spec/local-validate\.html.*#lv-8$"))
    assert "BROKEN_RELATION" in page.inner_text("p#lv-8, .clause:target")


def test_a_word_is_found_in_the_glossary_and_elsewhere(visit) -> None:
    page = visit("search.html?q=equivocation").page
    for place in ("docs/glossary.html", "docs/guides/first-steps.html"):  # they come one by one
        page.wait_for_selector(f'{RESULTS}[href^="{place}"]')


def test_a_word_that_nobody_wrote_is_not_found(visit) -> None:
    page = visit("search.html?q=xylophonist").page
    page.wait_for_selector("text=did not match any documents")
    assert page.locator(RESULTS).count() == 0


def test_the_first_file_leads_to_the_first_page(visit) -> None:
    page = visit("index.html").page
    page.wait_for_url(re.compile(r"/docs/README\.html$"))


@pytest.mark.parametrize(("width", "scheme"), [(360, "dark"), (1400, "light")])
def test_pages_fit_into_the_window(visit, width: int, scheme: str) -> None:
    for path in (
        "docs/README.html",
        "docs/guides/first-steps.html",
        "docs/reference/valid_ref.html",
        "spec/guarantees.html",
    ):
        options = {"viewport": {"width": width, "height": 800}, "color_scheme": scheme}
        assert visit(path, **options).page.evaluate(OVERFLOW) <= 0


def test_the_check_finds_what_is_broken(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(
        '<p id="here"></p><a href="#here"></a><a href="b.html#there"></a>'
        '<a href="https://example.org">elsewhere is fine for a link</a>'
    )
    (tmp_path / "b.html").write_text('<p id="there">')
    assert problems(tmp_path) == []
    (tmp_path / "b.html").write_text(
        '<a href="a.html#gone"></a><img src="c.png"><script src="https://example.org/x.js"></script>'
    )
    (tmp_path / "s.css").write_text("@import url('//example.org/font.css');")
    assert problems(tmp_path) == [
        "a.html: no anchor b.html#there",
        "b.html: no anchor a.html#gone",
        "b.html: there is no c.png",
        "b.html: loads https://example.org/x.js",
        "s.css: loads from elsewhere",
    ]


def test_a_site_without_pages_is_a_problem(tmp_path: Path) -> None:
    assert problems(tmp_path) == [f"{tmp_path}: there are no pages"]


def test_the_reference_has_every_package_for_use_from_outside() -> None:
    pages = (ROOT / "docs" / "reference").glob("*.md")
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    described = set(re.findall(r"^\.\. automodule:: (\S+)$", text, re.MULTILINE))
    assert {"valid_ref", *valid_ref.PACKAGES} <= described
