"""Links lead somewhere, and every command and program of the README and the guides works."""

import contextlib
import functools
import io
import os
import re
import shlex
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from tests.documents import (
    ROOT,
    Command,
    anchors,
    commands,
    links,
    markdown_files,
    prose,
)
from valid_ref.alarms import Alarm
from valid_ref.cli import app
from valid_ref.errors import ValidRefError
from valid_ref.markdown import Fence, fences
from valid_ref.trace import Specification
from valid_ref.trace.spec_text import read_specification

GUIDES = sorted((ROOT / "docs" / "guides").glob("*.md"))
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
NOT_IN_A_LISTING = {"VA-6", "VA-7"}
"""Rules about documents and errata, which no agent carries out."""
EXAMPLE_AGENT = ROOT / "valid_ref" / "testing" / "conform" / "agent.py"
REDUCED = (
    (r"--max-agents \d", "--max-agents 3"),
    (r"^valid-ref explore", "valid-ref explore --jobs 1"),
    (r"^valid-ref explore(?!.*--max-agents)", "valid-ref explore --max-agents 3"),
    (r"^valid-ref prove", "valid-ref prove --jobs 1"),
    (r"^valid-ref prove --jobs 1$", "valid-ref prove mixing --jobs 1"),
    (r"errata P06$", "errata P04"),
    (r"^valid-ref (run|demo|report)(?!.*\.(json|zip))", r"valid-ref \1 --rounds 5"),
    (r"^valid-ref (run|report)(?!.*(--graph|\.json|\.zip))", r"valid-ref \1 --graph path:5"),
    (r" \.\.\.$", ""),
)
"""The README names long commands; a test runs the same in a small form."""


def invoke(words: tuple[str, ...]) -> tuple[int, str]:
    """A `valid-ref` command: its exit status and everything that it prints."""
    result = CliRunner().invoke(app, list(words[1:]))
    if isinstance(result.exception, ValidRefError):
        return 2, str(result.exception)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.output


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


@pytest.mark.parametrize("path", GUIDES, ids=lambda path: path.stem)
def test_every_command_of_a_guide_does_what_it_says(path: Path, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    _follow(path, deep=False)


@pytest.mark.deep
@pytest.mark.parametrize("path", GUIDES, ids=lambda path: path.stem)
def test_the_long_commands_of_a_guide_do_what_they_say(path: Path, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    _follow(path, deep=True)


def _follow(path: Path, *, deep: bool) -> None:
    """Run the blocks of a guide in order; those marked deep only if asked."""
    namespace: dict[str, object] = {"__name__": "guide"}
    for block in fences(path.read_text(encoding="utf-8")):
        kind, _space, rest = block.info.partition(" ")
        where = f"{path.name}:{block.line}: {block.info}"
        assert kind in {"console", "python"}, where
        assert re.fullmatch(r"|deep|skip: \S.*", rest), f"{where}: say why it is skipped"
        if rest.startswith("skip") or (rest == "deep" and not deep):
            continue
        if kind == "python":
            source = "\n" * block.line + "\n".join(block.lines)
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile(source, str(path), "exec"), namespace)
        else:
            for command in commands(block):
                _run(path, command)


def _run(path: Path, command: Command) -> None:
    where = f"{path.name}:{command.line}: {shlex.join(command.words)}"
    assert command.words[0] == "valid-ref", where
    status, output = invoke(command.words)
    assert status == command.status, f"{where}\n{output}"
    for part in command.output:
        assert part in output, f"{where}: {part!r} is not in\n{output}"


def test_a_console_block_is_read_as_commands_with_output() -> None:
    block = Fence("console", ("$ a 'b c'  # exit status 1", "x", "$ d"), 10)
    assert list(commands(block)) == [
        Command(("a", "b c"), 1, ("x",), 11),
        Command(("d",), 0, (), 13),
    ]


def readme_commands() -> list[str]:
    """The lines of the README's blocks that are commands, without their comments."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    lines = [line for block in fences(text) if not block.info for line in block.lines]
    return [line.partition("  #")[0].strip().removeprefix("$ ") for line in lines if line.strip()]


def test_every_command_of_the_readme_is_understood() -> None:
    """Commands, options and targets exist; what they do is tried in `make deep`."""
    group = typer.main.get_command(app)
    assert isinstance(group, typer.core.TyperGroup)
    understood = group.commands
    targets = (ROOT / "Makefile").read_text(encoding="utf-8")
    seen = 0
    for line in readme_commands():
        words = shlex.split(line)
        if words[0] == "make":
            assert f"\n{words[1]}:" in targets, line
        elif words[0] == "valid-ref":
            arguments = [word for word in words[2:] if word != "..."]
            understood[words[1]].make_context(words[1], arguments)
            seen += 1
    assert seen >= 15


@pytest.mark.deep
def test_every_command_of_the_readme_works(tmp_path, monkeypatch) -> None:
    """In order, in one directory; status 2 means that a command was not understood."""
    monkeypatch.chdir(tmp_path)
    small = ("--graph", "path:3", "--rounds", "2", "--save", "scenario.json", "--quiet")
    assert invoke(("valid-ref", "run", *small))[0] in {0, 1}
    for name in ("a.zip", "b.zip"):
        assert invoke(("valid-ref", "record", "scenario.json", "-o", name))[0] == 0
    agent = Path("agent")
    agent.write_text(f"#!{sys.executable}\n{EXAMPLE_AGENT.read_text(encoding='utf-8')}")
    agent.chmod(0o755)
    for line in readme_commands():
        words = shlex.split(line)
        if words[0] == "valid-ref":
            reduced = line
            for pattern, instead in REDUCED:
                reduced = re.sub(pattern, instead, reduced)
            status, output = invoke(tuple(shlex.split(reduced)))
            assert status in {0, 1}, f"{reduced}\n{output}"


def test_the_programs_of_the_readme_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    programs = [block for block in fences(text) if block.info == "python"]
    assert programs
    for block in programs:
        source = "\n".join(block.lines).replace("rounds=100", "rounds=5")
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(source, "README.md", "exec"), {})
