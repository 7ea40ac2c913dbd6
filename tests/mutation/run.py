"""Break the code in one small place at a time, and see that the tests notice.

    python tests/mutation/run.py [--write docs/tables/mutants.md] [--only WORD] [--jobs 2] [--fresh]

Each mutant is made in a copy of the tree; the tests named with it run until the first failure.
First all these tests run on the copy as it is: if one fails there, it shows nothing. A run that was
interrupted goes on where it was: that a mutant was caught is kept in .mutants.jsonl, and counts until
the mutant, its file or its tests change, or until `--fresh`.
Exit status 1 if a mutant survives or does not apply.
"""

import argparse
import datetime
import hashlib
import importlib.util
import json
import os
import queue
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from valid_ref.markdown import table_rows

ROOT = Path(__file__).resolve().parents[2]
COPIED = ("valid_ref", "proofs_check", "torch_backend", "tests", "spec", "docs", "pyproject.toml")
KNOWN = ROOT / ".mutants.jsonl"
LONGEST = 900
"""Seconds after which the tests of a mutant have no end."""


def mutants() -> Any:
    """The list beside this file."""
    place = ROOT / "tests" / "mutation" / "mutants.py"
    spec = importlib.util.spec_from_file_location("mutants", place)
    if spec is None or spec.loader is None:
        raise FileNotFoundError(place)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.MUTANTS


def digest(mutant: Any) -> str:
    """Of the mutant, of its file and of its tests."""
    found = hashlib.sha256(repr(mutant).encode())
    for name in (mutant.file, *mutant.tests):
        found.update(hashlib.sha256((ROOT / name).read_bytes()).digest())
    return found.hexdigest()


def copy_tree(where: Path) -> None:
    """What the tests need."""
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            ignore = shutil.ignore_patterns("__pycache__", "*.vo*", "*.glob", ".*")
            shutil.copytree(source, where / name, ignore=ignore)
        else:
            shutil.copy(source, where / name)


def pytest(where: Path, tests: Sequence[str], cache: Path) -> tuple[int | None, str]:
    """The exit status and the output of these tests; None if they have no end."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-x",
        "-q",
        "--no-header",
        "-rfE",
        "-p",
        "no:cacheprovider",
        *tests,
    ]
    added = {
        "PYTHONPATH": str(where),
        "HYPOTHESIS_PROFILE": "mutants",
        "NUMBA_CACHE_DIR": str(cache),
    }
    try:
        done = subprocess.run(
            command,
            cwd=where,
            env=os.environ | added,
            capture_output=True,
            text=True,
            check=False,
            timeout=LONGEST,
        )
    except subprocess.TimeoutExpired:
        return None, ""
    return done.returncode, done.stdout


def noticed() -> dict[tuple[str, str], str]:
    """The test that noticed a mutant when the table was made; it is tried first."""
    rows = table_rows((ROOT / "docs" / "tables" / "mutants.md").read_text(encoding="utf-8"))
    found = {(clause, name): test.strip("`") for clause, name, _file, _result, test in rows}
    return {name: f"tests/{test}" for name, test in found.items() if "::" in test}


def verdict(where: Path, mutant: Any, first: str | None) -> tuple[str, str]:
    """("caught", first failing test), ("survived", "") or ("does not apply", reason)."""
    place = where / mutant.file
    original = place.read_text(encoding="utf-8")
    if original.count(mutant.words) != 1:
        return "does not apply", f"{original.count(mutant.words)} places"
    place.write_text(original.replace(mutant.words, mutant.instead), encoding="utf-8")
    try:
        # Compiled loops keep what they call: those of a mutant must not stay in the cache.
        with tempfile.TemporaryDirectory() as own:
            cache = Path(own) if "numba" in original else where / "numba"
            status, output = pytest(where, [first], cache) if first else (0, "")
            if "\nFAILED " not in output:
                status, output = pytest(where, mutant.tests, cache)
    finally:
        place.write_text(original, encoding="utf-8")
    if status == 0:
        return "survived", ""
    failures = [line for line in output.splitlines() if line.startswith("FAILED ")]
    if not failures:
        return "does not apply", (["no end", *output.strip().splitlines()])[-1].replace("|", "/")
    name = failures[0].split(" ")[1].split("[")[0]
    return "caught", name.removeprefix("tests/")


def known() -> dict[str, tuple[str, str]]:
    """What earlier runs have found, by the digest of the mutant."""
    if not KNOWN.exists():
        return {}
    lines = [json.loads(line) for line in KNOWN.read_text(encoding="utf-8").splitlines()]
    return {line["mutant"]: (line["result"], line["test"]) for line in lines}


def results(chosen: Sequence[Any], jobs: int) -> Iterator[tuple[Any, str, str]]:
    """The verdict of every mutant, in their order."""
    names, hints = {mutant: digest(mutant) for mutant in chosen}, noticed()
    found = {name: found for name, found in known().items() if name in names.values()}
    with tempfile.TemporaryDirectory() as directory, ThreadPoolExecutor(jobs) as pool:
        trees: queue.Queue[Path] = queue.Queue()
        for number in range(jobs if len(found) < len(chosen) else 0):
            copy_tree(Path(directory) / str(number))
            trees.put(Path(directory) / str(number))

        def judged(mutant: Any) -> tuple[str, str]:
            if names[mutant] in found:
                return found[names[mutant]]
            where = trees.get()
            try:
                result, test = verdict(where, mutant, hints.get((mutant.clause, mutant.name)))
            finally:
                trees.put(where)
            if result == "caught":
                line = {"mutant": names[mutant], "result": result, "test": test}
                with KNOWN.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(line) + "\n")
            return result, test

        left = [mutant for mutant in chosen if names[mutant] not in found]
        tests = sorted({test for mutant in left for test in mutant.tests})
        if left:
            status, output = pytest(trees.queue[0], tests, trees.queue[0] / "numba")
            if status != 0:
                sys.exit(f"a test fails on the tree as it is:\n{output}")
        for mutant, (result, test) in zip(chosen, pool.map(judged, chosen), strict=True):
            yield mutant, result, test


def commit() -> str:
    """The commit of the tree, and whether it has changes."""

    def git(*words: str) -> str:
        done = subprocess.run(
            ["git", *words], cwd=ROOT, capture_output=True, text=True, check=False
        )
        return done.stdout.strip()

    name = git("rev-parse", "--short=12", "HEAD") or "unknown"
    changed = git(
        "status", "--porcelain", "--untracked-files=no", "--", *COPIED, ":!docs/tables/mutants.md"
    )
    return f"{name} with changes" if changed else name


def table(rows: Sequence[tuple[Any, str, str]]) -> str:
    """The document: when and on what it was made, and a table for each place."""
    caught = sum(result == "caught" for _mutant, result, _test in rows)
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    lines = [
        "# Mutants",
        "",
        "The code broken in one small place at a time, mostly a check turned off, and the first test "
        "that notices. Made by",
        "`python tests/mutation/run.py --write docs/tables/mutants.md` (in `make deep`).",
        "",
        f"{len(rows)} mutants, {caught} caught ({today}, commit {commit()}).",
    ]
    for place in dict.fromkeys(mutant.place for mutant, _result, _test in rows):
        here = [row for row in rows if row[0].place == place]
        good = sum(result == "caught" for _mutant, result, _test in here)
        lines += ["", f"## {place}: {len(here)} mutants, {good} caught", ""]
        lines += ["| clause | mutant | file | result | test |", "|---|---|---|---|---|"]
        lines += [
            f"| {m.clause} | {m.name} | `{m.file.rsplit('/', 1)[-1]}` | {result} | `{test}` |"
            for m, result, test in here
        ]
    return "\n".join(lines) + "\n"


def main() -> int:
    """Run them all; print and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", type=Path)
    parser.add_argument(
        "--only", default="", help="mutants whose place, file, clause or name has this"
    )
    parser.add_argument("--jobs", type=int, default=2, help="how many run at once")
    parser.add_argument("--fresh", action="store_true", help="forget what earlier runs found")
    options = parser.parse_args()
    if options.fresh:
        KNOWN.unlink(missing_ok=True)
    everything = mutants()
    chosen = [m for m in everything if options.only in f"{m.place} {m.file} {m.clause} {m.name}"]
    rows = []
    for mutant, result, test in results(chosen, options.jobs):
        rows.append((mutant, result, test))
        print(
            f"{len(rows)}/{len(chosen)} {mutant.clause} {mutant.name}: {result} {test}", flush=True
        )
    caught = sum(result == "caught" for _mutant, result, _test in rows)
    print(f"{len(rows)} mutants, {caught} caught", flush=True)
    if options.write is not None and len(chosen) == len(everything):
        options.write.write_text(table(rows), encoding="utf-8")
    return 0 if caught == len(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
