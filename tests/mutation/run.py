"""Turn every check of the protocols off, one by one, and see that the tests notice.

    python tests/mutation/run.py [--write spec/mutants.md] [--only WORD]

Each mutant is made in a copy of the tree; the tests named with it run until the first failure.
Exit status 1 if a mutant survives or does not apply.
"""

import argparse
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
COPIED = ("valid_ref", "proofs_check", "torch_backend", "tests", "spec", "pyproject.toml")


def mutants() -> Any:
    """The list beside this file."""
    place = ROOT / "tests" / "mutation" / "mutants.py"
    spec = importlib.util.spec_from_file_location("mutants", place)
    if spec is None or spec.loader is None:
        raise FileNotFoundError(place)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.MUTANTS


def copy_tree(where: Path) -> None:
    """What the tests need."""
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            ignore = shutil.ignore_patterns("__pycache__", "*.vo*", "*.glob", ".*")
            shutil.copytree(source, where / name, ignore=ignore)
        else:
            shutil.copy(source, where / name)


def verdict(where: Path, mutant: Any) -> tuple[str, str]:
    """("caught", first failing test), ("survived", "") or ("does not apply", reason)."""
    place = where / mutant.file
    original = place.read_text(encoding="utf-8")
    if original.count(mutant.words) != 1:
        return "does not apply", f"{original.count(mutant.words)} places"
    place.write_text(original.replace(mutant.words, mutant.instead), encoding="utf-8")
    try:
        command = [sys.executable, "-m", "pytest", "-x", "-q", "--no-header", "-rf",
                   "-p", "no:cacheprovider", *mutant.tests]  # fmt: skip
        environment = os.environ | {"PYTHONPATH": str(where), "HYPOTHESIS_PROFILE": "ci"}
        done = subprocess.run(
            command, cwd=where, env=environment, capture_output=True, text=True, check=False
        )
    finally:
        place.write_text(original, encoding="utf-8")
    if done.returncode == 0:
        return "survived", ""
    failures = [line for line in done.stdout.splitlines() if line.startswith("FAILED ")]
    name = (
        failures[0].split(" ")[1].split("[")[0]
        if failures
        else done.stdout.strip().splitlines()[-1]
    )
    return ("caught" if failures else "does not apply"), name.removeprefix("tests/valid_ref/")


def main() -> int:
    """Run them all; print and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", type=Path)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    rows, bad = [], 0
    with tempfile.TemporaryDirectory() as directory:
        where = Path(directory)
        copy_tree(where)
        chosen = [m for m in mutants() if options.only in f"{m.clause} {m.name}"]
        for number, mutant in enumerate(chosen, 1):
            result, test = verdict(where, mutant)
            bad += result != "caught"
            rows.append(f"| {mutant.clause} | {mutant.name} | {result} | `{test}` |")
            print(
                f"{number}/{len(chosen)} {mutant.clause} {mutant.name}: {result} {test}", flush=True
            )
    if options.write is not None:
        head = (
            "# Mutants\n\nEvery check of the protocols turned off, one by one, and the first test that "
            "notices. Made by\n`python tests/mutation/run.py --write spec/mutants.md` (in `make deep`).\n\n"
            f"{len(rows)} mutants, {len(rows) - bad} caught.\n\n| clause | mutant | result | test |\n|---|---|---|---|\n"
        )
        options.write.write_text(head + "\n".join(rows) + "\n", encoding="utf-8")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
