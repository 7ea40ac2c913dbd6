"""Links lead somewhere, and every command and program of the README and the guides works."""

import functools
import importlib
import os
import re
import sys
from pathlib import Path

import pytest
import typer

from tests.documents import (
    ROOT,
    Command,
    anchors,
    commands,
    links,
    markdown_files,
    prose,
)
from tests.pages import OTHERS, PROGRAMS, blocks, called, follow, started
from valid_ref.alarms import Alarm
from valid_ref.markdown import Fence, fences
from valid_ref.trace import Specification
from valid_ref.trace.spec_text import read_specification

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs" / "guides").glob("*.md"))]
CLAUSE = re.compile(r"(?<!\w)(?:[A-Z]{2}-\d+|VS\d|[PA]\d{2})(?!\w)")
"""The id of a clause or an erratum; V2, L2 and S2 mean a clause only as the words of a link."""
PROTOCOLS = (
    "learn-model",
    "validated-broadcast",
    "local-validate",
    "global-validate",
    "validation-state-agreement",
    "valid",
)
"""The chapters that begin with a listing."""
NOT_IN_A_LISTING = {"VA-6", "VA-7", "VA-10", "VA-11"}
"""Rules about documents, errata and outcomes, which no agent carries out."""


@pytest.mark.parametrize("path", markdown_files(), ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_leads_to_a_file_and_an_anchor(path: Path) -> None:
    wrong = []
    for line, _words, target in links(path.read_text(encoding="utf-8")):
        if re.match(r"[a-z]+:", target):
            continue
        name, _hash, anchor = target.partition("#")
        file = path if not name else (path.parent / name)
        if not file.exists():
            wrong.append(f"{path.name}:{line}: there is no {target}")
        elif anchor and anchor not in anchors(file.read_text(encoding="utf-8")):
            wrong.append(f"{path.name}:{line}: no anchor {target}")
    assert wrong == []


def test_a_link_that_leads_nowhere_is_found() -> None:
    text = "[a](x.md#b) `[c](d)`\n```\n[e](f)\n```\n![g](h.png)"
    assert list(links(text)) == [(1, "a", "x.md#b"), (5, "g", "h.png")]
    assert anchors('# A b: c\n<a id="q"></a>\n# A b: c') == {"a-b-c", "a-b-c-1", "q"}


@functools.cache
def specification() -> Specification:
    return read_specification(ROOT)


def test_every_clause_that_a_document_names_exists_and_its_link_leads_to_it() -> None:
    """The trace tool sees to this in `spec/`; here for all other documents."""
    homes = {name: clause.file for name, clause in specification().clauses.items()}
    wrong = []
    for path in markdown_files():
        inside = path.relative_to(ROOT)
        if inside.parts[0] == "spec":
            continue
        text = path.read_text(encoding="utf-8")
        found = [(line, name) for line, plain in prose(text) for name in CLAUSE.findall(plain)]
        wrong += [f"{inside}:{line}: {name}" for line, name in found if name not in homes]
        for line, words, target in links(text):
            if words in homes:
                home = os.path.relpath(ROOT / homes[words], path.parent)
                if target != f"{home}#{words.lower()}":
                    wrong.append(f"{inside}:{line}: {words} is not at {target}")
    assert wrong == []


def test_the_readme_counts_clauses_and_errata() -> None:
    clauses = [one for one in specification().clauses.values() if one.kind != "erratum"]
    errata = len(specification().clauses) - len(clauses)
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"| clauses and errata of the specification | {len(clauses)} and {errata} |" in text


def test_chapter_readme_and_table_of_both_validations_have_the_same_figures() -> None:
    """The table is made by a program; the others have its rows, seconds included."""
    row = re.compile(r"\| .* \| (paper's|lean) \| \d+ \| .*")
    made, chapter, readme = (
        [line for line in (ROOT / name).read_text(encoding="utf-8").splitlines() if row.match(line)]
        for name in ("docs/tables/lean.md", "spec/lean-validation.md", "README.md")
    )
    assert chapter == readme == made
    assert [line.split(" | ")[1] for line in made] == ["paper's", "lean"] * 4


@pytest.mark.parametrize("chapter", PROTOCOLS)
def test_a_chapter_of_a_protocol_begins_with_one_listing_of_its_rules(chapter: str) -> None:
    clauses = specification().clauses
    own = [clause for clause in clauses.values() if clause.file == f"spec/{chapter}.md"]
    text = (ROOT / "spec" / f"{chapter}.md").read_text(encoding="utf-8")
    before = "\n".join(text.split("\n")[: min(clause.line for clause in own) - 1])
    [listing] = fences(before)
    assert 10 <= len(listing.lines) <= 30
    named = set()
    for line in listing.lines:
        code, _hash, comment = line.partition("  # ")
        here = set(comment.split(", ")) - {""}
        assert here <= clauses.keys(), line
        reasons = re.findall(r"\b[A-Z]{2,}_[A-Z_]+\b", code)
        assert {Alarm[reason].clause for reason in reasons} <= here, line
        named |= here
    rules = {clause.identifier for clause in own if clause.kind == "rule"}
    assert rules - named == rules & NOT_IN_A_LISTING


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_a_page_does_what_it_says(path: Path, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    follow(path, called, deep=False)


@pytest.mark.deep
@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_a_page_does_what_it_says_in_its_long_blocks(path: Path, tmp_path, monkeypatch) -> None:
    """As printed, by the programs of this environment; from a wheel: tests/test_packaging.py."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
    follow(path, started, deep=True)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_every_command_of_a_page_is_understood(path: Path) -> None:
    """Also of the blocks that are long or skipped: commands, options and targets exist."""
    targets = (ROOT / "Makefile").read_text(encoding="utf-8")
    for block, kind, rest in blocks(path):
        for command in commands(block) if kind == "console" else ():
            where = f"{path.name}:{command.line}"
            program, *words = command.words
            if program == "make":
                assert f"\n{words[0]}:" in targets, where
            if program not in PROGRAMS:
                assert program in OTHERS, where
                assert rest.startswith("skip"), where
                continue
            group = typer.main.get_command(
                importlib.import_module(f"{PROGRAMS[program]}.commands").app
            )
            assert isinstance(group, typer.core.TyperGroup)
            group.commands[words[0]].make_context(words[0], words[1:])


def test_a_console_block_is_read_as_commands_with_output() -> None:
    block = Fence("console", ("$ a 'b c'  # exit status 1", "x", "$ d"), 10)
    assert list(commands(block)) == [
        Command(("a", "b c"), 1, ("x",), 11),
        Command(("d",), 0, (), 13),
    ]
