"""Just enough Markdown: pages of numbered lines in which code and comments are blank."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import attrs

from valid_ref.trace.root import spec_directory

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})")
_CODE_SPAN = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)")


@attrs.frozen
class Page:
    """One file of the spec; line numbers start at 1."""

    file: str
    raw: tuple[str, ...]
    visible: tuple[str, ...]

    def numbered(self) -> Iterator[tuple[int, str]]:
        """The visible lines with their numbers."""
        return enumerate(self.visible, start=1)


def parse_page(file: str, text: str) -> Page:
    """Split a text into lines; lines in fenced code and comments are blank in `visible`."""
    raw = text.split("\n")
    shown = _COMMENT.sub(lambda comment: "\n" * comment.group().count("\n"), text).split("\n")
    return Page(file, tuple(raw), tuple(_blank_fences(shown)))


def read_pages(root: Path) -> tuple[Page, ...]:
    """All pages of the specification, named `spec/...`, by name, the errata last."""
    home = spec_directory(root)
    paths = sorted(home.rglob("*.md"), key=lambda path: (path.name == "errata.md", path))
    return tuple(
        parse_page(f"spec/{path.relative_to(home).as_posix()}", path.read_text(encoding="utf-8"))
        for path in paths
    )


def without_code(line: str) -> str:
    """The line with its code spans blank."""
    return _CODE_SPAN.sub(lambda span: " " * len(span.group()), line)


def _blank_fences(lines: list[str]) -> Iterator[str]:
    """The lines, those of fenced code replaced by blank ones."""
    fence = ""
    for line in lines:
        found = _FENCE.match(line)
        if fence:
            yield ""
            closes = found is not None and found.group(1).startswith(fence)
            if closes and line.strip().strip(fence[0]) == "":
                fence = ""
        elif found is not None:
            fence = found.group(1)
            yield ""
        else:
            yield line
