"""Markdown files of the project: their commands, their code, their links and anchors."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import attrs

ROOT = Path(__file__).resolve().parents[1]
HIDDEN = {".venv", ".git", "node_modules", "build", "dist", "runs"}

_FENCE = re.compile(r"^```(.*)$")
_LINK = re.compile(r"!?\[([^\]]*)\]\(([^)\s]+)\)")
_ANCHOR = re.compile(r'<a id="([^"]+)"></a>')
_HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*#*$")
_CODE = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)")


def markdown_files() -> list[Path]:
    """Every Markdown file of the project."""
    found = ROOT.rglob("*.md")
    return sorted(path for path in found if not HIDDEN & set(path.relative_to(ROOT).parts))


@attrs.frozen
class Block:
    """A fenced block: what is written after the fence, its lines, and where it begins."""

    info: str
    lines: tuple[str, ...]
    line: int


def blocks(text: str) -> Iterator[Block]:
    """The fenced blocks of a text."""
    info, lines, begin = None, [], 0
    for number, line in enumerate(text.split("\n"), start=1):
        fence = _FENCE.match(line)
        if fence and info is None:
            info, lines, begin = fence.group(1).strip(), [], number
        elif fence and info is not None:
            yield Block(info, tuple(lines), begin)
            info = None
        elif info is not None:
            lines.append(line)


@attrs.frozen
class Command:
    """A command of a console block: its words, the status it must end with, parts of its output."""

    words: tuple[str, ...]
    status: int
    output: tuple[str, ...]
    line: int


def commands(block: Block) -> Iterator[Command]:
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
    fenced = False
    for number, line in enumerate(text.split("\n"), start=1):
        if _FENCE.match(line):
            fenced = not fenced
        elif not fenced and not line.startswith("    "):
            yield number, _CODE.sub("", line)


def links(text: str) -> Iterator[tuple[int, str, str]]:
    """The links of a text outside code: the line, the words, the target."""
    for number, line in prose(text):
        yield from ((number, words, target) for words, target in _LINK.findall(line))


def anchors(text: str) -> set[str]:
    """The anchors of a page: explicit ones, and those that headings get."""
    found, seen = set(_ANCHOR.findall(text)), dict[str, int]()
    for line in text.split("\n"):
        heading = _HEADING.match(line)
        if heading:
            slug = re.sub(r"[^\w\- ]", "", heading.group(1).lower()).replace(" ", "-")
            count = seen.get(slug, 0)
            seen[slug] = count + 1
            found.add(slug if count == 0 else f"{slug}-{count}")
    return found
