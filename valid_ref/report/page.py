"""One self-contained HTML file: the files of `assets/` and a view, put together."""

import html
import json
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from valid_ref.errors import ValidRefError
from valid_ref.report.view import PageView

SCRIPTS = (
    "state.js",
    "graph.js",
    "details.js",
    "causes.js",
    "sequence.js",
    "alarms.js",
    "plots.js",
    "tables.js",
    "harm.js",
    "tour.js",
    "address.js",
    "main.js",
)
"""The page's own scripts, in order."""
STYLES = ("style.css", "parts.css")
MOST_BYTES = 64 * 2**20


class PageError(ValidRefError):
    """A page that cannot be made."""


def render_page(view: PageView) -> str:
    """The page of a view; it needs no network and no server."""
    data = escape_json(view.as_json())
    if len(data) > MOST_BYTES:
        raise PageError(f"the view has {len(data)} bytes; watch a shorter run", clause="VA-6")
    parts = {
        "TITLE": html.escape(view.title),
        "STYLE": "\n".join([_asset("vendor/uplot/uPlot.min.css"), *map(_asset, STYLES)]),
        "DATA": data,
        "LIBRARY": _asset("vendor/uplot/uPlot.iife.min.js"),
        "SCRIPT": "\n".join(map(_asset, SCRIPTS)),
        "LICENCE": html.escape(_asset("vendor/uplot/LICENSE")),
    }
    template = _asset("index.html")
    size = len(template.encode()) + sum(len(part.encode()) for part in parts.values())
    return _filled(template, parts | {"SIZE": f"{size / 1000:,.0f} kB".replace(",", " ")})


def _filled(template: str, parts: Mapping[str, str]) -> str:
    """The template with its names replaced, each once; what is put in is not looked at again."""
    first, *pieces = template.split("{{")
    filled = [first]
    for piece in pieces:
        name, _end, rest = piece.partition("}}")
        filled += [parts[name], rest]
    return "".join(filled)


def escape_json(value: Any) -> str:
    """JSON that is safe inside a script element: no character of it can end the element."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _asset(name: str) -> str:
    return (files("valid_ref.report") / "assets" / name).read_text(encoding="utf-8")
