"""References in the spec must lead to a clause, and links to the place where it is."""

from __future__ import annotations

import pytest

from valid_ref.trace import MisdirectedLinkError, UnknownReferenceError
from valid_ref.trace.clauses import specification_of
from valid_ref.trace.links import reference_faults
from valid_ref.trace.markdown import parse_page

LOCAL = '<a id="lv-1"></a>**LV-1** *rule.* One.\n\n<a id="v2"></a>**V2** *claim.* Two.'
ERRATA = '<a id="p04"></a>\n### P04 — title\n\n*Severity:* bug. *Content:* textual.'


def faults(
    line: str, file: str = "spec/other.md", local: str = LOCAL
) -> list[tuple[type, str, str, int]]:
    pages = [
        parse_page("spec/local.md", local),
        parse_page("spec/errata.md", ERRATA),
        parse_page(file, f"\n{line}\n"),
    ]
    found = reference_faults(pages, specification_of(pages))
    return [(type(fault), fault.identifier, fault.file, fault.line) for fault in found]


@pytest.mark.parametrize(
    "line",
    [
        "[LV-1](local.md#lv-1) and [V2](local.md#v2), [P04](errata.md#p04)",
        "[`LV-1`](local.md#lv-1), [**LV-1**](local.md#lv-1), [the rule](local.md#lv-1)",
        "LV-1 and P04 in prose, ranges LV-1..LV-1, a table | P04 |",
        "an unknown series: AB-12, SHA-256, UTF-8, K10, A4, a_1, HTTP-2",
        "norms L2, S2, V9 that are no links",
        "`LV-99` and `[LV-99](x.md)` in code, ``P99 ` P98``",
        "[elsewhere](https://example.org/a.md#lv-99), [section](other.md#why), [file](local.md)",
        "LV-1a, xLV-99, LV-99_x",
    ],
)
def test_good_references_and_other_text_are_no_faults(line: str) -> None:
    assert faults(line) == []


@pytest.mark.parametrize(
    ("line", "identifier"),
    [
        ("[LV-99](local.md#lv-99)", "LV-99"),
        ("[`LV-99`](local.md#lv-99)", "LV-99"),
        ("[V9](local.md#v9)", "V9"),
        ("[P99](errata.md#p99)", "P99"),
        ("[the rule](local.md#lv-99)", "LV-99"),
        ("by LV-99.", "LV-99"),
        ("LV-1..LV-99", "LV-99"),
        ("[see LV-99](local.md)", "LV-99"),
        ("P04-P99", "P99"),
    ],
)
def test_an_unknown_id_is_a_fault_at_its_line(line: str, identifier: str) -> None:
    assert faults(line) == [(UnknownReferenceError, identifier, "spec/other.md", 2)]


@pytest.mark.parametrize(
    ("line", "identifier"),
    [
        ("[LV-1](other.md#lv-1)", "LV-1"),
        ("[LV-1](#lv-1)", "LV-1"),
        ("[LV-1](local.md#v2)", "LV-1"),
        ("[LV-1](local.md)", "LV-1"),
        ("[LV-1](local.md#LV-1)", "LV-1"),
        ("[P04](local.md#p04)", "P04"),
        ("[the rule](other.md#lv-1)", "LV-1"),
    ],
)
def test_a_link_past_the_home_of_a_clause_is_a_fault(line: str, identifier: str) -> None:
    assert faults(line) == [(MisdirectedLinkError, identifier, "spec/other.md", 2)]


def test_a_link_within_a_page_needs_no_file() -> None:
    assert faults("", local=f"{LOCAL}\n\nSee [V2](#v2).") == []


def test_a_link_from_a_directory_below_is_resolved() -> None:
    assert faults("[LV-1](../local.md#lv-1)", file="spec/vectors/notes.md") == []
    wrong = faults("[LV-1](local.md#lv-1)", file="spec/vectors/notes.md")
    assert wrong == [(MisdirectedLinkError, "LV-1", "spec/vectors/notes.md", 2)]


def test_a_link_to_a_clause_without_an_anchor_is_a_fault() -> None:
    found = faults("[LV-1](local.md#lv-1)", local="**LV-1** *rule.* One.")
    assert found == [(MisdirectedLinkError, "LV-1", "spec/other.md", 2)]
