"""Markdown files of the project: their commands, their code, their links and anchors."""

import functools
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import attrs

from valid_ref.markdown import Fence, headings, read_prose, visible_lines, without_code

ROOT = Path(__file__).resolve().parents[1]
HIDDEN = {".venv", ".git", "node_modules", "build", "dist", "runs"}


def markdown_files() -> list[Path]:
    """Every Markdown file of the project."""
    found = ROOT.rglob("*.md")
    return sorted(path for path in found if not HIDDEN & set(path.relative_to(ROOT).parts))


@attrs.frozen
class Command:
    """A command of a console block: its words, the status it must end with, parts of its output."""

    words: tuple[str, ...]
    status: int
    output: tuple[str, ...]
    line: int


def commands(block: Fence) -> Iterator[Command]:
    """`$ command  # exit status 1`, each followed by parts of its output."""
    current: tuple[str, int] | None = None
    output: list[str] = []
    for offset, line in enumerate((*block.lines, "$ "), start=1):
        if not line.startswith("$ "):
            output.append(line.strip())
            continue
        if current is not None:
            text, _hash, note = current[0].partition("  # ")
            found = re.search(r"exit status (\d)", note)
            status = int(found.group(1)) if found else 0
            yield Command(tuple(shlex.split(text)), status, tuple(output), current[1])
        current, output = (line[2:], block.line + offset), []


def prose(text: str) -> Iterator[tuple[int, str]]:
    """The lines of a text outside code, with their numbers; code spans are left out."""
    for number, line in enumerate(visible_lines(text), start=1):
        yield number, without_code(line)


def links(text: str) -> Iterator[tuple[int, str, str]]:
    """The links of a text outside code: the line, the words, the target."""
    for number, line in enumerate(visible_lines(text), start=1):
        yield from ((number, words, target) for words, target in read_prose(line).links)


@functools.cache
def anchors(text: str) -> set[str]:
    """The anchors of a page: explicit ones, and those that headings get."""
    found = {anchor for line in visible_lines(text) for anchor in read_prose(line).anchors}
    slugs = [re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in headings(text)]
    for place, slug in enumerate(slugs):
        count = slugs[:place].count(slug)
        found.add(slug if count == 0 else f"{slug}-{count}")
    return found
