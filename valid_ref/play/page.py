"""The files of the page of a session: its own, and the colours of the pages of runs."""

from collections.abc import Mapping
from importlib.resources import files

SCRIPTS = ("dom.js", "network.js", "parts.js", "play.js")
"""In order; together they are one script."""
MOST_BYTES = 1 << 20
"""Of a request; the page checks it before it sends one."""


def page_files() -> Mapping[str, tuple[str, bytes]]:
    """By the last part of the address: the type and the content of every file."""
    style = (files("valid_ref.report") / "assets" / "style.css").read_text("utf-8")
    script = "\n".join((f"const MOST_BYTES = {MOST_BYTES};", *map(_asset, SCRIPTS)))
    return {
        "": ("text/html; charset=utf-8", _asset("index.html").encode()),
        "style.css": ("text/css; charset=utf-8", f"{style}\n{_asset('play.css')}".encode()),
        "play.js": (
            "text/javascript; charset=utf-8",
            f'(() => {{\n"use strict";\n{script}\n}})();\n'.encode(),
        ),
    }


def _asset(name: str) -> str:
    return (files("valid_ref.play") / "assets" / name).read_text("utf-8")
