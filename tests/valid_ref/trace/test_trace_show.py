"""The matrix and the explanations, as text and as JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from valid_ref.trace import TraceError, load
from valid_ref.trace.show import (
    explain,
    explain_as_json,
    matrix_as_json,
    problems_as_json,
    render_matrix,
    render_problems,
)

if TYPE_CHECKING:
    from pathlib import Path

    from valid_ref.trace import Trace

MATRIX = """\
clause  kind     implemented  tested  explored  proved  in Coq  witnessed  open  paper
LV-1    rule               1       1         -       -       -          -  -     eq:cc4, eq:cc3
LV-2    term               1       -         -       -       -          -  -
V2      claim              -       1         -       -       -          -  -
P04     erratum            -       -         -       -       -          1  -     alg:local
A01     erratum            -       -         -       -       -          -  -

1 rules, 1 terms, 1 claims, 2 errata: 2 implemented, 2 tested, 0 explored, 0 proved, \
1 witnessed; 0 gaps, 0 of them not yet"""

CLAUSE = """\
LV-1  rule  spec/local.md:3
  Every agent checks its neighbours.
  Paper: eq:cc4, eq:cc3
  Repairs: P04
    valid_ref/local.py:4  implemented  check
    tests/test_local.py:6  tested  test_check"""


@pytest.fixture
def trace(sound: Path) -> Trace:
    return load(sound)


def test_the_matrix_is_aligned(trace: Trace) -> None:
    assert render_matrix(trace) == MATRIX


def test_open_gaps_are_shown_and_accepted_ones_are_in_brackets(sound: Path) -> None:
    (sound / "valid_ref/local.py").unlink()
    (sound / "tests/test_local.py").unlink()
    (sound / "spec/not-yet.txt").write_text("LV-1 code\n")
    lines = render_matrix(load(sound)).split("\n")
    assert lines[1].split()[8:10] == ["(code)", "check"]
    assert lines[-1].endswith("5 gaps, 1 of them not yet")
    assert "  Open: (code) check" in explain(load(sound), "LV-1")


def test_problems_read_like_those_of_a_compiler(sound: Path) -> None:
    (sound / "valid_ref/local.py").unlink()
    problems = load(sound).problems
    first = "spec/local.md:3: gap: LV-1 (rule) has no code: no docstring says Implements: LV-1"
    assert render_problems(problems).split("\n")[0] == first
    assert json.loads(json.dumps(problems_as_json(problems)))[0] == {
        "kind": "gap",
        "identifier": "LV-1",
        "file": "spec/local.md",
        "line": 3,
        "message": "LV-1 (rule) has no code: no docstring says Implements: LV-1",
    }


@pytest.mark.parametrize("identifier", ["LV-1", "lv-1", " Lv-1 "])
def test_a_clause_is_explained_in_any_case(trace: Trace, identifier: str) -> None:
    assert explain(trace, identifier) == CLAUSE


def test_a_label_is_explained_by_its_clauses(trace: Trace) -> None:
    text = explain(trace, "EQ:CC4")
    head = "eq:cc4  paper label  spec/README.md:5\n  the |V| relations\n\nClauses:\n\n"
    assert text.startswith(head + CLAUSE)
    assert "\n\nV2  claim  spec/local.md:9\n" in text
    assert text.count("LV-1  rule") == 1


def test_a_label_that_only_a_clause_names_is_explained(trace: Trace) -> None:
    assert explain(trace, "eq:cc3").endswith(CLAUSE)


def test_a_label_with_an_unknown_clause_is_explained_by_the_others(sound: Path) -> None:
    text = (sound / "spec/README.md").read_text().replace("[V2](local.md#v2)", "V9")
    (sound / "spec/README.md").write_text(text)
    assert explain(load(sound), "eq:cc4").endswith(CLAUSE)


def test_a_label_or_erratum_without_clauses_says_so_or_ends(sound: Path) -> None:
    text = (sound / "spec/README.md").read_text()
    (sound / "spec/README.md").write_text(f"{text}| `eq:none` | nothing | |\n")
    trace = load(sound)
    assert explain(trace, "eq:none").endswith("  nothing\n\nNo clause restates it.")
    assert explain(trace, "A01").endswith("*Content:* textual. *Clauses:* none.")


def test_an_erratum_is_explained_by_its_section_and_all_that_repair_it(trace: Trace) -> None:
    text = explain(trace, "p04")
    assert text.startswith("P04  erratum  spec/errata.md:4\n  an alarm is lost\n  *Severity:* bug.")
    assert "\n  Printed text.\n    tests/test_local.py:6  witnessed  test_check\n" in text
    repaired = text.partition("Repaired by:")[2]
    assert repaired.index("V2  claim") < repaired.index("LV-1  rule")


def test_long_text_is_wrapped_at_spaces_only(sound: Path) -> None:
    words = "one-two three " * 30 + "x" * 120
    text = (sound / "spec/local.md").read_text().replace("A key.", words)
    (sound / "spec/local.md").write_text(text)
    lines = explain(load(sound), "LV-2").split("\n")[1:-1]
    assert " ".join(line.strip() for line in lines) == words
    assert all(len(line) <= 100 for line in lines[:-1])


@pytest.mark.parametrize(
    ("identifier", "match"), [("LV1", "LV-1"), ("P4", "P04"), ("eq:c4", "eq:cc4")]
)
def test_an_unknown_id_is_refused_with_close_matches(
    trace: Trace, identifier: str, match: str
) -> None:
    for function in (explain, explain_as_json):
        with pytest.raises(TraceError, match=f"did you mean .*{match}"):
            function(trace, identifier)


def test_an_id_like_no_other_is_refused_without_matches(trace: Trace) -> None:
    with pytest.raises(TraceError, match=r"is called 'zzzzzz'$"):
        explain(trace, "zzzzzz")


def test_the_matrix_as_json(trace: Trace) -> None:
    value = json.loads(json.dumps(matrix_as_json(trace)))
    assert [item["identifier"] for item in value["clauses"]] == ["LV-1", "LV-2", "V2", "P04", "A01"]
    tie = {"role": "tested", "file": "tests/test_local.py", "line": 6, "symbol": "test_check"}
    assert value["clauses"][0]["tested"] == [tie]
    assert value["clauses"][0]["labels"] == ["eq:cc4", "eq:cc3"]
    assert value["clauses"][3]["severity"] == "bug"
    assert value["labels"][0]["clauses"] == ["LV-1", "V2"]
    assert value["summary"]["implemented"] == 2
    assert value["summary"]["gaps"] == 0


def test_an_explanation_as_json(trace: Trace) -> None:
    clause = json.loads(json.dumps(explain_as_json(trace, "lv-1")))
    assert clause["subject"]["text"] == "Every agent checks its neighbours."
    assert clause["clauses"] == []
    label = json.loads(json.dumps(explain_as_json(trace, "eq:cc4")))
    assert label["subject"]["what"] == "the |V| relations"
    assert [item["identifier"] for item in label["clauses"]] == ["LV-1", "V2"]
    erratum = json.loads(json.dumps(explain_as_json(trace, "p04")))
    assert erratum["subject"]["content"] == "executable"
    assert [item["identifier"] for item in erratum["clauses"]] == ["V2", "LV-1"]
