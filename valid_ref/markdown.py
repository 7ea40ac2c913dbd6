"""The one reader of Markdown: code, links, anchors, headings, tables, and HTML for a page."""

import functools
import re
from collections.abc import Iterator
from itertools import pairwise

import attrs
from markdown_it import MarkdownIt
from markdown_it.token import Token

_CODE_SPAN = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)")
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_LINK = re.compile(r"\[([^\]]*)\]\([^)\s]*\)")
_MATHS = re.compile(r"\$`([^`]*)`\$")
_OPEN_ANCHOR = re.compile(r'<a id="([^"]+)">')


@attrs.frozen
class Fence:
    """A fenced block: what is written after the fence, its lines, and the line of the fence."""

    info: str
    lines: tuple[str, ...]
    line: int


@attrs.frozen
class Prose:
    """A line without its code: plain text, links as (text, target), and the anchors it sets."""

    text: str
    links: tuple[tuple[str, str], ...]
    anchors: tuple[str, ...]


def visible_lines(text: str) -> tuple[str, ...]:
    """The lines of a text; those of code blocks and comments are blank."""
    shown = _COMMENT.sub(lambda comment: "\n" * comment.group().count("\n"), text)
    lines = shown.split("\n")
    for token in _blocks(shown):
        if token.type in ("fence", "code_block") and token.map is not None:
            for number in range(*token.map):
                lines[number] = ""
    return tuple(lines)


def without_code(line: str) -> str:
    """The line with its code spans blank."""
    return _CODE_SPAN.sub(lambda span: " " * len(span.group()), line)


def read_prose(line: str) -> Prose:
    """The text, links and anchors of one line; code counts only as the text of a link."""
    [token] = _parser().parseInline(line)
    plain: list[str] = []
    links: list[tuple[str, str]] = []
    anchors: list[str] = []
    target, words = None, ""
    for part in token.children or ():
        if part.type == "link_open":
            target, words = str(part.attrs["href"]), ""
        elif part.type == "link_close" and target is not None:
            links.append((words, target))
            target = None
        elif part.type == "image":
            links.append((part.content, str(part.attrs["src"])))
        elif part.type == "html_inline":
            anchors += _OPEN_ANCHOR.findall(part.content)
        elif target is not None:
            words += part.content
        else:
            plain.append(part.content if part.type == "text" else " ")
    return Prose("".join(plain), tuple(links), tuple(anchors))


def fences(text: str) -> Iterator[Fence]:
    """The fenced blocks of a text."""
    for token in _blocks(text):
        if token.type == "fence" and token.map is not None:
            lines = tuple(token.content.split("\n")[:-1])
            yield Fence(token.info.strip(), lines, token.map[0] + 1)


def headings(text: str) -> list[str]:
    """The headings of a text, as they are written."""
    tokens = _blocks(text)
    return [inline.content for start, inline in pairwise(tokens) if start.type == "heading_open"]


def table_rows(text: str) -> list[tuple[str, ...]]:
    """The rows of all tables of a text, heads included, as the written content of their cells."""
    rows: list[tuple[str, ...]] = []
    for before, token in pairwise(_blocks(text)):
        if token.type == "tr_open":
            rows.append(())
        elif before.type in ("th_open", "td_open"):
            rows[-1] += (token.content,)
    return rows


def html_of(text: str) -> str:
    """A text of the specification as HTML; links become their text, raw HTML is escaped."""
    plain = _MATHS.sub(r"`\1`", _LINK.sub(r"\1", text))
    rendered: str = MarkdownIt("commonmark", {"html": False}).enable("table").render(plain)
    return rendered.strip()


@functools.cache
def _parser() -> MarkdownIt:
    """A parser that is shared, because making one takes longer than reading a line."""
    return MarkdownIt("commonmark").enable("table")


def _blocks(text: str) -> list[Token]:
    """The tokens of the blocks; what is inside a paragraph is not parsed."""
    return MarkdownIt("commonmark").enable("table").disable("inline").parse(text)
