"""Clauses are read from the spec, and what only looks like a clause is refused."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from valid_ref.errors import ValidRefError
from valid_ref.trace import (
    CombinedTraceError,
    DuplicateIdentifierError,
    Kind,
    MalformedClauseError,
    TraceError,
    read_specification,
)
from valid_ref.trace.clauses import specification_of
from valid_ref.trace.markdown import parse_page

if TYPE_CHECKING:
    from pathlib import Path

    from valid_ref.trace import Clause


def parsed(text: str, file: str = "spec/local.md") -> dict[str, Clause]:
    return dict(specification_of([parse_page(file, text)]).clauses)


def test_a_clause_has_its_paragraph_place_labels_and_errata(sound: Path) -> None:
    clause = read_specification(sound).clauses["LV-1"]
    assert clause.kind is Kind.RULE
    assert clause.text == "Every agent checks its neighbours."
    assert (clause.file, clause.line) == ("spec/local.md", 3)
    assert clause.labels == ("eq:cc4", "eq:cc3")
    assert clause.errata == ("P04",)


def test_all_kinds_and_shapes_of_ids_are_read(sound: Path) -> None:
    kinds = {name: item.kind.value for name, item in read_specification(sound).clauses.items()}
    assert kinds == {
        "LV-1": "rule",
        "LV-2": "term",
        "V2": "claim",
        "P04": "erratum",
        "A01": "erratum",
    }


@pytest.mark.parametrize("identifier", ["LV-1", "AN-16", "V1", "L2", "S4", "VS1"])
def test_the_anchor_is_optional(identifier: str) -> None:
    anchored = f'<a id="{identifier.lower()}"></a>**{identifier}** *claim.* Text.'
    assert parsed(anchored)[identifier].text == "Text."
    assert parsed(f"**{identifier}** *claim.* Text.")[identifier].text == "Text."


def test_a_clause_ends_at_a_blank_line_at_the_next_clause_and_at_code() -> None:
    clauses = parsed("**LV-1** *rule.* One\ntwo.\n**LV-2** *rule.* Three.\n```\nfour\n```\n\nfive")
    assert clauses["LV-1"].text == "One two."
    assert clauses["LV-2"].text == "Three."


def test_text_after_the_sources_is_kept() -> None:
    clause = parsed("**LV-1** *rule.* One. *(Paper: `eq:a`.)* Two. *(Repairs: P01, P02.)*")["LV-1"]
    assert clause.text == "One. Two."
    assert (clause.labels, clause.errata) == (("eq:a",), ("P01", "P02"))


def test_errata_mentioned_in_the_text_are_not_repairs() -> None:
    clause = parsed("**LV-1** *rule.* Unlike [P03](errata.md#p03). *(Repairs: P01.)*")["LV-1"]
    assert clause.errata == ("P01",)


@pytest.mark.parametrize(
    "hidden",
    [
        "```\n**LV-1** *rule.* Text.\n```",
        "~~~~\n**LV-1** *rules.* Text.\n~~~\n**LV-1** nothing\n~~~~",
        "```\n```python\n**LV-1** *rule.* Text.\n```",
        "<!-- \n**LV-1** *rule.* Text.\n-->",
        '    <a id="lv-1"></a>**LV-1** *rule.* An example of the format.',
        "`**LV-1** *rule.*` starts a clause.",
        "See **LV-1** and the *rule.*",
    ],
)
def test_code_comments_and_prose_hold_no_clauses(hidden: str) -> None:
    assert parsed(hidden) == {}


@pytest.mark.parametrize(
    "line",
    [
        "**LV-3** *rules.* Text.",
        "**LV-3** *rule*. Text.",
        "**LV-3** rule. Text.",
        "**LV-3**: text.",
        "**LV-3** *rule.*Text.",
        '<a id="lv-3"></a> **LV-3** *rule.* Text.',
        " **LV-3** *rule.* Text.",
        "- **LV-3** *rule.* Text.",
        '> <a id="lv-3"></a>**LV-3** *rule.* Text.',
        "**LV3** *rule.* Text.",
        "**V10** *claim.* Text.",
        '<a id="lv-4"></a>**LV-3** *rule.* Text.',
        "**LV-3** *rule.* Text (Repairs: P01).",
        "**LV-3** *rule.* Text *Paper: `eq:a`.*",
    ],
)
def test_a_malformed_clause_is_refused_at_its_line(line: str) -> None:
    with pytest.raises(MalformedClauseError, match=r"spec/local\.md:3: ") as caught:
        parsed(f"# Local\n\n{line}\n")
    assert (caught.value.file, caught.value.line) == ("spec/local.md", 3)
    assert isinstance(caught.value, ValidRefError)


def test_a_duplicate_id_is_refused_and_names_both_places() -> None:
    with pytest.raises(DuplicateIdentifierError) as caught:
        parsed("**LV-3** *rule.* One.\n\n**LV-3** *term.* Two.\n")
    assert str(caught.value) == "spec/local.md:3: LV-3 is already defined at spec/local.md:1"


def test_a_duplicate_in_another_file_is_refused() -> None:
    pages = [parse_page(f"spec/{name}.md", "**LV-3** *rule.* One.") for name in ("a", "b")]
    with pytest.raises(DuplicateIdentifierError, match=r"^spec/b\.md:1: .* spec/a\.md:1$"):
        specification_of(pages)


def test_all_errors_of_one_reading_are_reported_together() -> None:
    with pytest.raises(CombinedTraceError) as caught:
        parsed("**LV-1** *rul.* One.\n\n**LV-2** *rul.* Two.")
    assert [error.line for error in caught.value.errors] == [1, 3]
    assert str(caught.value).count("\n") == 1


@pytest.mark.parametrize("text", ["# Local", "", "\n\n"])
def test_a_page_without_clauses_is_legal(text: str) -> None:
    assert parsed(text) == {}


IDENTIFIERS = st.one_of(
    st.from_regex(r"[A-Z]{2}-[1-9][0-9]?", fullmatch=True).filter(lambda name: name.isascii()),
    st.sampled_from(["V1", "V2", "L3", "S4", "VS1"]),
)
WORDS = st.lists(st.from_regex(r"[a-z]{1,8}[.,]?", fullmatch=True), min_size=1, max_size=12)
ENTRIES = st.tuples(
    st.sampled_from(["rule", "term", "claim"]),
    WORDS,
    st.lists(st.from_regex(r"(eq|alg):[a-z]{1,5}", fullmatch=True), max_size=3, unique=True),
    st.lists(st.from_regex(r"[PA][0-9]{2}", fullmatch=True), max_size=3, unique=True),
    st.sampled_from([" ", "\n"]),
)


@given(st.dictionaries(IDENTIFIERS, ENTRIES, max_size=6))
def test_what_is_written_is_what_is_read(
    entries: dict[str, tuple[str, list[str], list[str], list[str], str]],
) -> None:
    paragraphs = []
    for name, (kind, words, labels, errata, gap) in entries.items():
        paper = [f"Paper: {', '.join(f'`{label}`' for label in labels)}."] if labels else []
        links = ", ".join(f"[{item}](errata.md#{item.lower()})" for item in errata)
        repairs = [f"Repairs: {links}."] if errata else []
        sources = [f"*({gap.join([*paper, *repairs])})*"] if labels or errata else []
        start = f'<a id="{name.lower()}"></a>**{name}** *{kind}.*'
        paragraphs.append(f"{start} {gap.join([*words, *sources])}")
    clauses = parsed("\n\n".join(paragraphs))
    assert list(clauses) == list(entries)
    for name, (kind, words, labels, errata, _) in entries.items():
        clause = clauses[name]
        assert (clause.kind.value, clause.text) == (kind, " ".join(words))
        assert (clause.labels, clause.errata) == (tuple(labels), tuple(errata))


@given(st.text(alphabet='LV-12P0* rule.[]()#`|\n<a id="">~!', max_size=80))
@example("*(Paper:)*")
@example("**LV-1** *rule.* *(Paper:Repairs:)*")
def test_any_text_is_read_or_refused_with_a_typed_error(text: str) -> None:
    for file in ("spec/local.md", "spec/errata.md", "spec/README.md"):
        with contextlib.suppress(TraceError):
            parsed(text, file)
