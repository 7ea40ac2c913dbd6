"""Pages of the site: the menu, what the reference has, docstrings in Markdown, the first file."""

import re
from fnmatch import fnmatch
from importlib import import_module
from pathlib import Path

from sphinx.application import Sphinx

REFERENCE = "docs/reference"
Menu = dict[str, list[str]] | list[str]
SPAN = re.compile(r"(`+)(.+?)\1")
"""Code within a line."""


def load(app: Sphinx) -> None:
    """Load what packages load lazily, so that all their public names are found."""
    for package in map(import_module, app.config.lazy_packages):
        for name in package.__all__:
            setattr(package, name, getattr(package, name))


def add_menu(app: Sphinx, docname: str, source: list[str]) -> None:
    """Put the pages that the settings place below this one into its menu."""
    for caption, patterns in _groups(app.config.navigation.get(docname, [])):
        entries = [entry for pattern in patterns for entry in _entries(app, docname, pattern)]
        if entries:
            head = [":hidden:", *([f":caption: {caption}"] if caption else [])]
            source[0] += "\n\n```{toctree}\n" + "\n".join([*head, "", *entries]) + "\n```\n"


def _groups(menu: Menu) -> list[tuple[str, list[str]]]:
    return list(menu.items()) if isinstance(menu, dict) else [("", menu)]


def _entries(app: Sphinx, docname: str, pattern: str) -> list[str]:
    """The lines of a menu for one line of the settings."""
    if "*" not in pattern:
        return [pattern if "<" in pattern else f"/{pattern}"]
    menus = app.config.navigation.values()
    named = {line for menu in menus for _caption, lines in _groups(menu) for line in lines}
    pages = set(app.env.found_docs) - named - {docname}
    return [f"/{name}" for name in sorted(pages) if fnmatch(name, pattern)]


def skip(
    app: Sphinx, what: str, name: str, _object: object, is_skipped: bool, _options: object
) -> bool | None:
    """Describe a name of the first page of the reference there alone."""
    [first, *_others] = app.config.navigation[f"{REFERENCE}/README"]
    public: list[str] = import_module(first.removeprefix(f"{REFERENCE}/")).__all__
    elsewhere = app.env.docname != first and what == "module" and name in public
    return True if elsewhere and not is_skipped else None


def docstring(
    _app: Sphinx, _what: str, _name: str, _object: object, _options: object, lines: list[str]
) -> None:
    """Docstrings are written as in Markdown; give them to Sphinx in its own markup."""
    text = "\n".join(lines)
    blocks = re.split(r"\n{2,}", text)
    written = []
    for block in blocks:
        if block.startswith("    "):
            written.append(f".. code-block:: python\n\n{block}")
        else:
            written.append("\n".join(_plain(line) for line in block.split("\n")))
    lines[:] = "\n\n".join(written).split("\n")


def _plain(line: str) -> str:
    """A line with its code marked, and nothing else in it that has a meaning."""
    spans: list[str] = []

    def keep(found: re.Match[str]) -> str:
        spans.append(f"\\ ``{found.group(2)}``\\ ")
        return f"\0{len(spans) - 1}\0"

    kept = SPAN.sub(keep, line)
    escaped = re.sub(r"([*|_\\])", r"\\\1", kept)
    return re.sub(r"\0(\d+)\0", lambda found: spans[int(found.group(1))], escaped)


def first_file(app: Sphinx, failure: Exception | None) -> None:
    """A file `index.html` at the top, which leads to the first page."""
    if failure is None:
        home = f"{app.config.root_doc}.html"
        Path(app.outdir, "index.html").write_text(
            f'<!doctype html><meta charset="utf-8"><title>{app.config.project}</title>'
            '<link rel="icon" href="_static/icon.svg">'  # else a browser asks for /favicon.ico
            f'<meta http-equiv="refresh" content="0; url={home}"><a href="{home}">{home}</a>\n',
            encoding="utf-8",
        )


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.add_config_value("navigation", {}, "env")
    app.add_config_value("lazy_packages", [], "env")
    app.connect("builder-inited", load)
    app.connect("source-read", add_menu)
    app.connect("autodoc-skip-member", skip)
    app.connect("autodoc-process-docstring", docstring)
    app.connect("build-finished", first_file)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
