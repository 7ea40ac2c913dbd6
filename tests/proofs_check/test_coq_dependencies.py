"""The diagrams are drawn from what is recorded, and what is recorded fits the sources."""

import json
import re

import pytest

from proofs_check.coq.dependencies import (
    HEADLINES,
    Headline,
    markdown,
    needed,
    read_glob,
    rests_on,
    theorems,
    thinned,
)
from proofs_check.coq.gate import HERE

FOUND: dict[str, Headline] = json.loads((HERE / "dependencies.json").read_text(encoding="utf-8"))
MARKED = {".".join(name) for name in theorems()}


def test_the_page_is_drawn_from_what_is_recorded() -> None:
    assert (HERE / "dependencies.md").read_text(encoding="utf-8") == markdown(FOUND)


def test_every_headline_is_recorded_with_theorems_of_the_gate() -> None:
    assert list(FOUND) == list(HEADLINES)
    for title, entry in FOUND.items():
        assert {*HEADLINES[title]} <= set(entry["needs"]) <= MARKED
        assert all(set(others) <= set(entry["needs"]) for others in entry["needs"].values())


def reachable(needs: dict[str, list[str]], start: str) -> set[str]:
    found, waiting = set[str](), [start]
    while waiting:
        for other in needs[waiting.pop()]:
            if other not in found:
                found.add(other)
                waiting.append(other)
    return found


@pytest.mark.parametrize("title", HEADLINES)
def test_a_theorem_that_a_proof_names_is_in_the_diagram(title: str) -> None:
    """Read from the sources, where a proof names a theorem of another file by its own name."""
    needs = FOUND[title]["needs"]
    names = [name.partition(".")[2] for name in MARKED]
    for name in needs:
        file, _, theorem = name.partition(".")
        source = (HERE / f"{file}.v").read_text(encoding="utf-8")
        text = re.split(rf"^Theorem {theorem}\b", source, maxsplit=1, flags=re.MULTILINE)[1]
        proof = re.sub(r"\(\*.*?\*\)", "", text[: text.index("Qed.")], flags=re.DOTALL)
        words = set(re.findall(r"[\w']+", proof))
        for other in MARKED:
            home, _, short = other.partition(".")
            if home != file and names.count(short) == 1 and short in words:
                assert other in reachable(needs, name), f"{name} uses {other}"


GLOB = """\
prf 10:12 <> lemma
R20:22 ValidRef.Other <> helper thm
sec 25:26 <> S
var 30:31 S x
R35:36 ValidRef.Other <> third def
prf 40:44 <> main
R50:51 ValidRef.Mine <> S.x var
R52:53 ValidRef.Mine <> lemma thm
R54:55 mathcomp.algebra <> other thm
"""


def test_references_belong_to_the_declaration_before_them() -> None:
    glob = read_glob("Mine", GLOB)
    assert glob.used["Mine", "lemma"] == {("Other", "helper")}
    assert glob.used["Mine", "main"] == {("Mine", "lemma"), ("Mine", "S.x")}
    assert glob.used["Mine", "S.x"] == {("Other", "third")}
    assert glob.lemmas == {("Mine", "lemma"), ("Mine", "main")}


def test_lemmas_are_passed_and_theorems_are_not() -> None:
    used = {("A", "a"): {("A", "b")}, ("A", "b"): {("A", "c")}, ("A", "c"): {("A", "d")}}
    assert rests_on(("A", "a"), used, [("A", "c"), ("A", "d")]) == ({("A", "c")}, {("A", "b")})
    assert needed([("A", "a")], used)[1] == {("A", "b"), ("A", "c"), ("A", "d")}


def test_an_arrow_that_a_longer_way_replaces_is_left_out() -> None:
    a, b, c = ("A", "a"), ("A", "b"), ("A", "c")
    assert thinned({a: {b, c}, b: {c}, c: set()}) == {a: {b}, b: {c}, c: set()}
