"""Clauses, errata and paper labels are read from the spec; what only looks like one is refused."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from valid_ref.trace import Erratum, TraceError
from valid_ref.trace.spec_text import (
    ClauseKind,
    Content,
    parse_page,
    read_specification,
    specification_of,
)

if TYPE_CHECKING:
    from pathlib import Path

    from valid_ref.trace import Specification
    from valid_ref.trace.spec_text import Clause


def parsed(text: str, file: str = "spec/local.md") -> dict[str, Clause]:
    return dict(specification_of([parse_page(file, text)]).clauses)


def test_a_clause_has_its_paragraph_place_labels_and_errata(sound: Path) -> None:
    clause = read_specification(sound).clauses["LV-1"]
    assert clause.kind is ClauseKind.RULE
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
    with pytest.raises(TraceError, match=r"^spec/local\.md:3: .*(clause|sources|anchor)"):
        parsed(f"# Local\n\n{line}\n")


def test_a_duplicate_id_is_refused_and_names_both_places() -> None:
    with pytest.raises(TraceError) as caught:
        parsed("**LV-3** *rule.* One.\n\n**LV-3** *term.* Two.\n")
    assert str(caught.value) == "spec/local.md:3: LV-3 is already defined at spec/local.md:1"


def test_a_duplicate_in_another_file_is_refused() -> None:
    pages = [parse_page(f"spec/{name}.md", "**LV-3** *rule.* One.") for name in ("a", "b")]
    with pytest.raises(TraceError, match=r"^spec/b\.md:1: .* spec/a\.md:1$"):
        specification_of(pages)


def test_all_errors_of_one_reading_are_reported_together() -> None:
    with pytest.raises(TraceError) as caught:
        parsed("**LV-1** *rul.* One.\n\n**LV-2** *rul.* Two.")
    lines = str(caught.value).split("\n")
    assert [line.split(":")[1] for line in lines] == ["1", "3"]


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


FIELDS = "*Severity:* bug. *Content:* executable."


def errata(text: str) -> Specification:
    return specification_of([parse_page("spec/errata.md", text)])


def labels(text: str) -> Specification:
    return specification_of([parse_page("spec/README.md", text)])


def test_an_erratum_has_its_title_fields_and_section(sound: Path) -> None:
    erratum = read_specification(sound).clauses["P04"]
    assert isinstance(erratum, Erratum)
    assert (erratum.title, erratum.severity) == ("an alarm is lost", "bug")
    assert erratum.content is Content.EXECUTABLE
    assert (erratum.clauses, erratum.labels) == (("V2",), ("alg:local",))
    assert (erratum.file, erratum.line) == ("spec/errata.md", 4)
    assert erratum.text.startswith("*Severity:* bug.")
    assert erratum.text.endswith("\n\nPrinted text.")


def test_an_erratum_may_be_textual_and_name_no_clause(sound: Path) -> None:
    erratum = read_specification(sound).clauses["A01"]
    assert isinstance(erratum, Erratum)
    assert (erratum.content, erratum.clauses, erratum.labels) == (Content.TEXTUAL, (), ())


def test_fields_may_wrap_and_end_with_their_paragraph() -> None:
    text = "*Clauses:* [LV-1](a.md#lv-1),\n[V2](a.md#v2).\n\nSee LV-9, `eq:other`."
    erratum = errata(f"### P01 — title\n\n{FIELDS}\n{text}").clauses["P01"]
    assert isinstance(erratum, Erratum)
    assert (erratum.clauses, erratum.labels) == (("LV-1", "V2"), ())


def test_a_section_contains_its_smaller_headings_and_code() -> None:
    text = f"### P01 — t\n\n{FIELDS}\n\n#### Why\n\n```\n# code\n```\n\n## Next\n\nmore"
    assert errata(text).clauses["P01"].text.endswith("```\n# code\n```")


@pytest.mark.parametrize(
    "text",
    [
        "### P01 - \n\n*Severity:* bug. *Content:* executable.",
        f"### P01\n\n{FIELDS}",
        f"## P01 — title\n\n{FIELDS}",
        "### P01 — title\n\n*Content:* executable.",
        "### P01 — title\n\n*Severity:* bug.",
        "### P01 — title\n\n*Severity:* bug. *Content:* executed.",
        "### P01 — title\n\nText only.",
        "### P01 — title",
    ],
)
def test_a_malformed_erratum_is_refused_at_its_line(text: str) -> None:
    with pytest.raises(TraceError, match=r"^spec/errata\.md:2: "):
        errata(f"\n{text}\n\n### P02 — title\n\n{FIELDS}")


def test_a_duplicate_erratum_is_refused() -> None:
    with pytest.raises(TraceError, match=r"^spec/errata\.md:5: P01 is already"):
        errata(f"### P01 — title\n\n{FIELDS}\n\n### P01 — title\n\n{FIELDS}")


def test_the_anchor_of_the_next_section_is_not_part_of_a_section() -> None:
    text = f'### P01 — t\n\n{FIELDS}\n\n<a id="p02"></a>\n\n### P02 — t\n\n{FIELDS}'
    assert errata(text).clauses["P01"].text == FIELDS


def test_tables_elsewhere_hold_no_labels() -> None:
    page = parse_page("spec/local.md", "| `eq:a` | one | LV-1 |")
    assert not specification_of([page]).labels


def test_sections_elsewhere_are_no_errata() -> None:
    page = parse_page("spec/local.md", f"### P01 — title\n\n{FIELDS}")
    assert not specification_of([page]).clauses


def test_a_label_has_what_it_is_and_its_clauses(sound: Path) -> None:
    label = read_specification(sound).labels["eq:cc4"]
    assert label.what == "the |V| relations"
    assert label.clauses == ("LV-1", "V2")
    assert (label.file, label.line) == ("spec/README.md", 5)


def test_a_row_may_hold_several_labels_and_no_clause() -> None:
    found = labels("| `eq:a`, `eq:b` | both | |\n| `model.md` | a file | [LV-1](a) |").labels
    assert {name: item.clauses for name, item in found.items()} == {"eq:a": (), "eq:b": ()}


@pytest.mark.parametrize("row", ["| `eq:a` | what |", "| `eq:a` | the |V| agents | LV-1 |"])
def test_a_row_with_another_number_of_columns_is_refused(row: str) -> None:
    with pytest.raises(TraceError, match=r"^spec/README\.md:2: the row of eq:a"):
        labels(f"\n{row}")


def test_a_duplicate_label_is_refused() -> None:
    with pytest.raises(TraceError, match=r"^spec/README\.md:2: eq:a is already"):
        labels("| `eq:a` | one | LV-1 |\n| `eq:a` | two | LV-2 |")
