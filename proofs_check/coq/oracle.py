"""Run the definitions of the proofs and the machines of `valid_ref` on the same cases.

`python -m proofs_check.coq.oracle compare --cases 100000` runs the extracted program;
`... vectors` lets Coq alone write vectors.json, `... vectors --check` compute it again.
"""

import argparse
import json
import multiprocessing
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from proofs_check.coq.answers import KINDS, answer
from proofs_check.coq.cases import random_cases, random_runs, triangle_strategies

HERE = Path(__file__).parent
PROGRAM = HERE / "extraction" / "oracle"
VECTORS = HERE / "vectors.json"
SEED = 20
RANDOM_VECTORS = 400
RUN_VECTORS = 60
BATCH = 1000
"""How many cases one process takes at a time."""

Rows = list[list[int]]


def say(line: str) -> None:
    """One line to the reader."""
    sys.stdout.write(line + "\n")


def extracted_answers(rows: Sequence[Sequence[int]]) -> Rows:
    """What the program extracted from the proofs answers."""
    text = "".join(" ".join(map(str, row)) + "\n" for row in rows)
    done = subprocess.run(  # noqa: S603
        [str(PROGRAM)], input=text, capture_output=True, text=True, check=True
    )
    return [[int(number) for number in line.split()] for line in done.stdout.splitlines()]


Found = tuple[Counter[str], list[str]]


def compare_some(make: Callable[[int, int], Iterable[list[int]]], seed: int, count: int) -> Found:
    """Compare so many cases: how many there were of each kind, and what differs."""
    rows = [*make(seed, count)]
    theirs = extracted_answers(rows)
    if len(theirs) != len(rows):
        raise RuntimeError(f"{len(theirs)} answers to {len(rows)} cases")
    kinds = Counter(KINDS[row[0]] for row in rows)
    different = [
        f"case {row}\n  valid_ref {ours}\n  Coq       {reply}"
        for row, reply in zip(rows, theirs, strict=True)
        if (ours := answer(row)) != reply
    ]
    return kinds, different


def _strategies(_seed: int, _count: int) -> Iterable[list[int]]:
    return triangle_strategies()


def compare(count: int, runs: int, seed: int) -> int:
    """Compare so many random cases and whole runs; the number of differences."""
    begin = time.monotonic()
    tasks = [
        (make, seed * 10**6 + part, min(BATCH, total - part))
        for make, total in ((random_cases, count), (random_runs, runs))
        for part in range(0, total, BATCH)
    ]
    with multiprocessing.Pool() as pool:
        found = pool.starmap(compare_some, [(_strategies, 0, 0), *tasks], chunksize=1)
    kinds = sum((kinds for kinds, _ in found), Counter[str]())
    different = [text for _, texts in found for text in texts]
    for kind, number in sorted(kinds.items()):
        say(f"{kind}: {number} cases")
    for text in different[:3]:
        say(text)
    seconds = time.monotonic() - begin
    say(f"{kinds.total()} cases, {len(different)} differences, {seconds:.0f} seconds")
    return len(different)


def coq_answers(rows: Sequence[Sequence[int]], where: Path = HERE) -> Rows:
    """What Coq itself answers, by `Eval vm_compute`, from the compiled files in `where`."""
    terms = ";\n".join("[:: " + "; ".join(f"({n})" for n in row) + "]" for row in rows)
    source = (
        "From Coq Require Import ZArith.\nFrom mathcomp Require Import all_ssreflect.\n"
        "From ValidRef Require Import Oracle.\nOpen Scope Z_scope.\n"
        "Set Printing Width 1000000.\nSet Printing Depth 10000000.\n"
        f"Eval vm_compute in [seq oracle row | row <- [::\n{terms}]].\n"
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "Vectors.v"
        path.write_text(source, encoding="utf-8")
        done = subprocess.run(  # noqa: S603
            ["coqc", "-q", "-Q", str(where), "ValidRef", str(path)],  # noqa: S607
            capture_output=True,
            text=True,
            check=True,
        )
    printed = done.stdout.split("=", 1)[1].rsplit(":", 1)[0]
    answers: Rows = json.loads(
        re.sub(r"[()\s]|%Z", "", printed.replace("[::", "[")).replace(";", ",")
    )
    return answers


def vector_cases() -> Rows:
    """The cases of the committed vectors."""
    return [
        *triangle_strategies(),
        *random_cases(SEED, RANDOM_VECTORS),
        *random_runs(SEED, RUN_VECTORS),
    ]


def read_vectors(path: Path = VECTORS) -> list[tuple[list[int], list[int]]]:
    """The committed vectors: cases and the answers that Coq gave."""
    document = json.loads(path.read_text(encoding="utf-8"))
    return [
        ([int(n) for n in entry["case"].split()], [int(n) for n in entry["answer"].split()])
        for entry in document["vectors"]
    ]


def write_vectors(path: Path = VECTORS) -> int:
    """Let Coq answer the cases and write both down."""
    rows = vector_cases()
    entries = [
        {"case": " ".join(map(str, row)), "answer": " ".join(map(str, reply))}
        for row, reply in zip(rows, coq_answers(rows), strict=True)
    ]
    document = {
        "about": "cases in the form of Oracle.v, and what Coq computed for them; "
        "written by `make vectors` in proofs_check/coq",
        "vectors": entries,
    }
    path.write_text(json.dumps(document, indent=0) + "\n", encoding="utf-8")
    return len(entries)


def check_vectors(where: Path = HERE) -> int:
    """How many committed vectors Coq answers otherwise now."""
    vectors = read_vectors()
    now = coq_answers([case for case, _ in vectors], where)
    return sum(reply != known for reply, (_, known) in zip(now, vectors, strict=True))


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    comparing = commands.add_parser("compare")
    comparing.add_argument("--cases", type=int, default=100_000)
    comparing.add_argument("--runs", type=int, default=100_000)
    comparing.add_argument("--seed", type=int, default=1)
    writing = commands.add_parser("vectors")
    writing.add_argument("--check", action="store_true")
    options = parser.parse_args(arguments)
    if options.command == "compare":
        return int(compare(options.cases, options.runs, options.seed) > 0)
    if options.check:
        different = check_vectors()
        say(f"{different} of the committed vectors differ")
        return int(different > 0)
    say(f"{write_vectors()} vectors written")
    return 0


if __name__ == "__main__":
    sys.exit(main())
