"""Every theorem that names a clause stands in the gate, and nothing is taken for granted."""

import re

from proofs_check.coq import gate

SOURCES = {path.name: path.read_text(encoding="utf-8") for path in gate.HERE.glob("*.v")}


def test_every_proof_file_is_built() -> None:
    assert set(SOURCES) - {"Gate.v", "Extract.v"} == set(gate.files())


def test_every_marked_theorem_stands_in_the_gate() -> None:
    marked = {
        f"{name.removesuffix('.v')}.{theorem}"
        for name, theorems in gate.headline_theorems().items()
        for theorem in theorems
    }
    printed = set(re.findall(r"Print Assumptions ([\w.']+)\.\n", SOURCES["Gate.v"]))
    assert marked == printed
    assert len(marked) >= 60


def test_no_marker_is_lost_between_comment_and_statement() -> None:
    words = ("(* Proves:",)
    markers = sum(text.count(word) for text in SOURCES.values() for word in words)
    assert markers == sum(len(theorems) for theorems in gate.headline_theorems().values())


def test_the_gate_and_what_it_must_print_are_up_to_date() -> None:
    assert SOURCES["Gate.v"] == gate.gate_text()
    expected = (gate.HERE / "gate.expected").read_text(encoding="utf-8")
    assert expected == gate.expected_text()


def test_no_theorem_may_need_an_axiom() -> None:
    expected = (gate.HERE / "gate.expected").read_text(encoding="utf-8").splitlines()
    assert set(expected[1::2]) == {"Closed under the global context"}


def test_nothing_is_admitted() -> None:
    for name, text in SOURCES.items():
        code = re.sub(r"\(\*.*?\*\)", "", text, flags=re.DOTALL)
        words = r"\b(Admitted|admit|Axioms?|Parameters?|Conjecture)\b"
        assert re.search(words, code) is None, name


def test_the_page_of_theorems_names_exactly_those_of_the_gate() -> None:
    page = (gate.HERE / "theorems.md").read_text(encoding="utf-8")
    rows = [line.split("|")[1] for line in page.splitlines() if line.startswith("| `")]
    named = {name for row in rows for name in re.findall(r"`([\w']+)`", row)}
    assert named == {name for names in gate.headline_theorems().values() for name in names}


def test_the_readme_says_how_many_theorems_there_are() -> None:
    readme = (gate.HERE.parents[1] / "README.md").read_text(encoding="utf-8")
    total = sum(map(len, gate.headline_theorems().values()))
    assert f"without axioms | {total} |" in readme
