"""Examples a second of the main property tests, as Hypothesis itself reports them."""

import os
import re
import subprocess
import sys
from pathlib import Path

from benchmarks.report import Section

ROOT = Path(__file__).resolve().parents[1]
FILES = (
    "tests/valid_ref/test_hashing.py",
    "tests/valid_ref/kernels/test_polyhash.py",
    "tests/valid_ref/protocols/test_broadcast.py",
    "tests/valid_ref/protocols/test_local_validate.py",
    "tests/valid_ref/protocols/test_global_validate.py",
    "tests/valid_ref/guarantees/test_agreement_guarantees.py",
)
PHASE = re.compile(r"during generate phase \(([\d.]+) seconds\)")
PASSED = re.compile(r"(\d+) passing")


def measure(quick: bool) -> Section:
    """Each file in a process of its own, with the fixed examples of the ci profile."""
    rows = []
    for file in FILES[: 2 if quick else None]:
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "--hypothesis-show-statistics",
            file,
        ]
        environment = os.environ | {"HYPOTHESIS_PROFILE": "ci"}
        done = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            raise RuntimeError(f"{file} does not pass")
        seconds = sum(map(float, PHASE.findall(done.stdout)))
        examples = sum(map(int, PASSED.findall(done.stdout)))
        properties = len(PHASE.findall(done.stdout))
        rows.append(
            (file.removeprefix("tests/"), properties, examples, seconds, examples / seconds)
        )
    return Section(
        "Property tests",
        ("file", "properties", "examples", "seconds generating and running", "examples a second"),
        tuple(rows),
        remarks=("Wall-clock time; compilation of galois fields is in it.",),
    )
