"""Clauses on the site: every anchor is a target, every id a link, every formula needs no script."""

import re
from functools import cache
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.search.en import SearchEnglish
from sphinx.transforms import SphinxTransform
from sphinx.util import logging

ANCHOR = re.compile(r'<a id="([^"]+)">')
CLAUSE = re.compile(r"(?<![\w-])(?:[A-Z]{2}-\d+|VS\d|[PA]\d{2})(?![\w-])")
"""The id of a clause or an erratum."""
PROMISE = re.compile(r"[VLS]\d")
"""The id of a promise of a sub-protocol; in running text only the author's links are links."""
LOG = logging.getLogger(__name__)


class Anchors(SphinxTransform):
    """Make every `<a id="lv-3"></a>` a target: the element around it, or else the next section."""

    default_priority = 870  # before local links are resolved

    def apply(self, **_options: object) -> None:
        """Called by Sphinx for every page."""
        for node in list(self.document.findall(nodes.raw)):
            found = ANCHOR.fullmatch(node.astext())
            if found is None:
                continue
            holder = node.parent
            following = holder[holder.index(node) + 1]
            for part in (node, following):  # <a id="..."> and </a>
                holder.remove(part)
            if not holder.children:
                empty, holder = holder, holder.next_node(nodes.section, ascend=True)
                empty.parent.remove(empty)
            self._register(holder, found.group(1))

    def _register(self, holder: nodes.Element, anchor: str) -> None:
        holder["ids"].append(anchor)
        slugs = self.env.metadata[self.env.docname].setdefault("myst_slugs", {})
        slugs[anchor] = (holder.line or 0, anchor, anchor)
        self.document.myst_slugs = slugs
        if CLAUSE.fullmatch(anchor.upper()) or PROMISE.fullmatch(anchor.upper()):
            kind = "erratum" if isinstance(holder, nodes.section) else "clause"
            holder["classes"].append(kind)
            self.env.domains["std"].note_object(kind, anchor.upper(), anchor, location=holder)


class Words(SearchEnglish):
    """The words of the search: those of English, and the id of a clause as one word."""

    _word_re = re.compile(r"[A-Za-z]{2}-[0-9]+|\w+")
    js_splitter_code = """
        function splitQuery(query) {
          return query.match(/[A-Za-z]{2}-[0-9]+|[\\p{L}\\p{N}_]+/gu) ?? [];
        }
    """


def link(app: Sphinx, document: nodes.document, docname: str) -> None:
    """Make every id of a clause in running text a link to it."""
    objects = app.env.domains["std"].objects
    for text in list(document.findall(nodes.Text)):
        if not CLAUSE.search(text) or _stands_still(text):
            continue
        parts: list[nodes.Node] = []
        end = 0
        for found in CLAUSE.finditer(text):
            place = objects.get(("clause", found.group())) or objects.get(
                ("erratum", found.group())
            )
            if place is None:
                LOG.warning("there is no clause %s", found.group(), location=text.parent)
                continue
            home = app.builder.get_relative_uri(docname, place[0])
            parts.append(nodes.Text(text[end : found.start()]))
            words = nodes.Text(found.group())
            parts.append(nodes.reference("", "", words, refuri=f"{home}#{place[1]}", internal=True))
            end = found.end()
        text.parent.replace(text, [*parts, nodes.Text(text[end:])])


def _stands_still(text: nodes.Node) -> bool:
    """Whether a text is code, a title, a link already, or the id at the head of its clause."""
    fixed = (nodes.literal, nodes.literal_block, nodes.title, nodes.reference, nodes.raw)
    node = text.parent
    if isinstance(node, nodes.strong) and node.astext().lower() in node.parent.get("ids", ()):
        return True
    while node is not None:
        if isinstance(node, fixed):
            return True
        node = node.parent
    return False


@cache
def _mathml(formula: str, display: str) -> str:
    written: str = convert(formula.strip().strip("`"), display=display)
    return written


def formula(translator: Any, node: nodes.Element) -> None:
    """Write a formula in the markup that browsers draw themselves."""
    block = isinstance(node, nodes.math_block)
    written = _mathml(node.astext(), "block" if block else "inline")
    translator.body.append(f'<div class="formula">{written}</div>' if block else written)
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.add_object_type("clause", "clause")
    app.add_object_type("erratum", "erratum")
    app.add_html_math_renderer("mathml", (formula, None), (formula, None))
    app.add_transform(Anchors)
    app.add_search_language(Words)
    app.connect("doctree-resolved", link)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
