"""Check the built site: every link leads somewhere, and nothing is loaded from elsewhere.

python docs/site/check.py build/site
"""

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADING = {
    ("script", "src"),
    ("img", "src"),
    ("link", "href"),
    ("iframe", "src"),
    ("object", "data"),
}
"""What a browser fetches by itself."""
FETCH_IN_STYLE = re.compile(r"(?:url\(|@import)\s*['\"]?\s*(?:https?:)?//")


class Page(HTMLParser):
    """The anchors of a page, its links, and what it loads."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note the anchor and the addresses of one element."""
        for name, value in attrs:
            if name == "id" and value:
                self.anchors.add(value)
            elif (tag, name) in LOADING and value:
                self.loaded.append(value)
            elif (tag, name) == ("a", "href") and value:
                self.links.append(value)


def problems(site: Path) -> list[str]:
    """What is wrong with the site, in the order of its pages."""
    pages = {path.resolve(): Page(path) for path in sorted(site.rglob("*.html"))}
    wrong = []
    for path, page in pages.items():
        here = path.relative_to(site.resolve())
        for address in (*page.links, *page.loaded):
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                if address in page.loaded and parts.scheme != "data":
                    wrong.append(f"{here}: loads {address}")
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.is_file():
                wrong.append(f"{here}: there is no {address}")
            elif parts.fragment and target in pages:
                anchor = unquote(parts.fragment)
                if anchor not in pages[target].anchors:
                    wrong.append(f"{here}: no anchor {address}")
    for style in sorted(site.rglob("*.css")):
        if FETCH_IN_STYLE.search(style.read_text(encoding="utf-8")):
            wrong.append(f"{style.relative_to(site)}: loads from elsewhere")
    if not pages:
        wrong.append(f"{site}: there are no pages")
    return wrong


if __name__ == "__main__":
    found = problems(Path(sys.argv[1]))
    print("\n".join(found) or "every link of the site leads somewhere")
    sys.exit(1 if found else 0)
