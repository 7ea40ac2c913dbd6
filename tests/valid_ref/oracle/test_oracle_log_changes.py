"""The log of a recording changed line by line: no change makes it conform that is not harmless.

`python -m tests.valid_ref.oracle.test_oracle_log_changes` prints the lines of the table in
docs/tables/recordings.md.
"""

import json
import re
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import attrs
import pytest

from tests import support
from valid_ref.graph import AgentGraph
from valid_ref.oracle import RecordingError, check, open_recording, pack, write_recording

TABLES = Path(__file__).parents[3] / "docs" / "tables" / "recordings.md"
VARIANTS = ("checksums, directory", "plain, directory", "checksums, zip", "plain, zip")
ANSWERS = ("refused", "diverges", "cannot tell", "conforms")
PAIR = AgentGraph.from_edges(2, [(0, 1)])

Lines = list[bytes]


def deleted(lines: Lines) -> Iterator[Lines]:
    return (lines[:i] + lines[i + 1 :] for i in range(len(lines)))


def repeated(lines: Lines) -> Iterator[Lines]:
    return (lines[: i + 1] + lines[i:] for i in range(len(lines)))


def swapped(lines: Lines) -> Iterator[Lines]:
    for i in range(len(lines)):
        for j in range(i):
            changed = list(lines)
            changed[i], changed[j] = lines[j], lines[i]
            yield changed


def appended(lines: Lines) -> Iterator[Lines]:
    """Every line again, false ends, garbage before a good end, and what is no line."""
    end = json.loads(lines[-1])
    wrong = [{**end, "sha256": "deadbeef"}, {**end, "sha256": ""}, {**end, "agents": []}]
    more = [*([line] for line in lines), *([as_line(document)] for document in wrong)]
    more += [[b"garbage\n", lines[-1]], [b"{}\n", lines[-1]], [b"\n"], [b" "], [b"{"], [b"\0"]]
    return (lines + extra for extra in more)


def cut_within(lines: Lines) -> Iterator[Lines]:
    """The file ends in the middle of a line, or before the newline of one."""
    for i, line in enumerate(lines):
        for length in (1, len(line) // 2, len(line) - 1):
            yield [*lines[:i], line[:length]]


def cut_after(lines: Lines) -> Iterator[Lines]:
    return (lines[:i] for i in range(len(lines)))


def pierced(lines: Lines) -> Iterator[Lines]:
    """A part of a line is missing, or the newline between two."""
    for i, line in enumerate(lines):
        middle = len(line) // 2
        yield [*lines[:i], line[: middle - 3] + line[middle:], *lines[i + 1 :]]
        yield [*lines[:i], line[:-1], *lines[i + 1 :]]


def respelled(lines: Lines) -> Iterator[Lines]:
    """Another order of fields, and spaces."""
    for i, line in enumerate(lines):
        document = dict(reversed([*json.loads(line).items()]))
        yield [*lines[:i], b"  " + as_line(document), *lines[i + 1 :]]


def as_line(document: object) -> bytes:
    return json.dumps(document).encode() + b"\n"


CHANGES: dict[str, Callable[[Lines], Iterator[Lines]]] = {
    "a line deleted": deleted,
    "a line repeated": repeated,
    "two lines swapped": swapped,
    "something appended": appended,
    "cut within a line": cut_within,
    "cut after a line": cut_after,
    "a part of a line deleted": pierced,
    "a line spelled otherwise": respelled,
}
HARMLESS = {"a line spelled otherwise": "the same object; spaces and order say nothing"}
"""Changes after which a recording may still conform, and why."""


def write_originals(home: Path) -> None:
    """An honest run that conforms, and one that lies and is said to be honest: it diverges."""
    parameters = support.network(PAIR, d=1, T=1)
    lie = support.edited("LocalValidate.keys", lambda _m: {(0, "key"): 7}, rounds=[2])
    lying = support.run(parameters, lie, byzantine=[0])
    runs = {
        "honest": support.run(parameters),
        "lying": attrs.evolve(lying, byzantine=frozenset()),
    }
    for name, execution in runs.items():
        for variant in VARIANTS[:2]:
            checksums = variant.startswith("checksums")
            path = home / f"{name} {variant}"
            write_recording(path, execution, "test", checksums=checksums)


def answer(path: Path) -> str:
    try:
        return check(open_recording(path)).status.value
    except RecordingError as error:
        assert error.clause.startswith("RE-"), error
        return "refused"


def answers(home: Path, run: str, variant: str, change: str) -> Counter[str]:
    """How a recording is judged after every change of this kind."""
    found: Counter[str] = Counter()
    original = home / f"{run} {variant.replace('zip', 'directory')}"
    lines = (original / "log.jsonl").read_bytes().splitlines(keepends=True)
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch) / "run"
        shutil.copytree(original, copy)
        for changed in CHANGES[change](lines):
            assert changed != lines
            (copy / "log.jsonl").write_bytes(b"".join(changed))
            if variant.endswith("zip"):
                pack(copy, Path(scratch) / "run.zip")
            found[answer(copy.with_suffix(".zip") if variant.endswith("zip") else copy)] += 1
    return found


def row(variant: str, change: str, found: Counter[str]) -> str:
    numbers = " | ".join(str(found[answer]) for answer in ANSWERS)
    reason = HARMLESS[change] if found["conforms"] else "-"
    return f"| {variant} | {change} | {found.total()} | {numbers} | {reason} |"


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    home = tmp_path_factory.mktemp("log")
    write_originals(home)
    for variant in VARIANTS[:2]:
        assert answer(home / f"honest {variant}") == "conforms"
        assert answer(home / f"lying {variant}") == "diverges"
    return home


@pytest.mark.checks("RE-5", "RE-19")
@pytest.mark.parametrize("variant", VARIANTS)
def test_every_change_is_noticed_or_listed_as_harmless(home, variant) -> None:
    text = TABLES.read_text(encoding="utf-8")
    for change in CHANGES:
        found = answers(home, "honest", variant, change)
        assert not found["conforms"] or change in HARMLESS
        assert row(variant, change, found) in text
    listed = re.findall(rf"^\| {variant} \| (.*?) \|", text, re.MULTILINE)
    assert [change for change in listed if change in CHANGES] == [*CHANGES]


@pytest.mark.checks("RE-5", "RE-19")
@pytest.mark.parametrize("variant", VARIANTS)
def test_no_change_of_its_log_makes_a_recording_conform_that_diverges(home, variant) -> None:
    for change in CHANGES:
        assert answers(home, "lying", variant, change)["conforms"] == 0, change


@pytest.mark.checks("RE-5", "RE-6")
@pytest.mark.parametrize("variant", VARIANTS[:2])
def test_what_follows_the_first_end_is_refused_before_it_is_used(home, tmp_path, variant) -> None:
    """The end of the honest run, good but for its checksum, behind the end of the lying one."""
    shutil.copytree(home / f"lying {variant}", tmp_path / "run")
    log = tmp_path / "run" / "log.jsonl"
    good = json.loads((home / f"honest {variant}" / "log.jsonl").read_bytes().splitlines()[-1])
    outputs = (home / f"honest {variant}" / "outputs.npy").read_bytes()
    (tmp_path / "run" / "outputs.npy").write_bytes(outputs)
    lines = log.read_bytes()
    false = as_line(good | {"sha256": "deadbeef" if variant.startswith("checksums") else ""})
    for more in (
        false,
        b"garbage\n" + false,
        b"garbage\n" + lines.splitlines(keepends=True)[-1],
        lines,
        b"{",
        false[:-1],
    ):
        log.write_bytes(lines + more)
        with pytest.raises(RecordingError) as caught:
            check(open_recording(tmp_path / "run"))
        assert (caught.value.clause, "follow the first end" in caught.value.message) == (
            "RE-5",
            True,
        )


@pytest.mark.checks("RE-5")
def test_the_end_that_is_used_is_the_one_that_was_verified(home, tmp_path) -> None:
    """The file is another one when it is read than when it was opened."""
    shutil.copytree(home / "honest plain, directory", tmp_path / "run")
    opened = open_recording(tmp_path / "run")
    lines = (tmp_path / "run" / "log.jsonl").read_bytes().splitlines(keepends=True)
    other = json.loads(lines[-1])
    other["agents"][0]["valid"] = False
    del other["sha256"]  # so that the line is not longer than the one that was there
    shorter = json.dumps(other, separators=(",", ":")).encode()
    padded = shorter.ljust(len(lines[-1]) - 1) + b"\n"
    assert len(padded) == len(lines[-1])
    for changed in (lines[:-1], [*lines[:-1], padded]):
        (tmp_path / "run" / "log.jsonl").write_bytes(b"".join(changed))
        with pytest.raises(RecordingError, match="the end") as caught:
            check(opened)
        assert caught.value.clause == "RE-5"


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        write_originals(Path(scratch))
        for variant in VARIANTS:
            for change in CHANGES:
                found = answers(Path(scratch), "honest", variant, change)
                sys.stdout.write(row(variant, change, found) + "\n")


if __name__ == "__main__":
    main()
