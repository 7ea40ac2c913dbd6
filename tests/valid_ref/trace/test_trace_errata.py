"""Errata are sections with fields; the paper's labels are rows of a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from valid_ref.trace import (
    Content,
    DuplicateIdentifierError,
    Erratum,
    MalformedErratumError,
    MalformedLabelError,
    read_specification,
)
from valid_ref.trace.clauses import specification_of
from valid_ref.trace.markdown import parse_page

if TYPE_CHECKING:
    from pathlib import Path

    from valid_ref.trace import Specification

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
    with pytest.raises(MalformedErratumError, match=r"^spec/errata\.md:2: "):
        errata(f"\n{text}\n\n### P02 — title\n\n{FIELDS}")


def test_a_duplicate_erratum_is_refused() -> None:
    with pytest.raises(DuplicateIdentifierError, match=r"^spec/errata\.md:5: P01 is already"):
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
    with pytest.raises(MalformedLabelError, match=r"^spec/README\.md:2: the row of eq:a"):
        labels(f"\n{row}")


def test_a_duplicate_label_is_refused() -> None:
    with pytest.raises(DuplicateIdentifierError, match=r"^spec/README\.md:2: eq:a is already"):
        labels("| `eq:a` | one | LV-1 |\n| `eq:a` | two | LV-2 |")
