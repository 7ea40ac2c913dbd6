"""Everything, with many more examples, then all mutants; the result goes into a table.

    python -m tests.deep [--write docs/tables/deep.md] [--jobs 2]

Exit status 1 if a test fails or a mutant survives; the table says so too.
"""

import argparse
import datetime
import os
import re
import subprocess
import sys
import time
from pathlib import Path

from tests.mutation.run import commit

ROOT = Path(__file__).resolve().parents[1]

HEAD = """# The last deep run

Every test, those marked `deep` too, with 500 examples a property, then every mutant. Made by
`make deep`, which takes about an hour and a half at most on two cores.

"""


def streamed(command: list[str], **environment: str) -> tuple[int, str, float]:
    """Run a command, show what it prints; its exit status, its last line that counts, minutes."""
    begin, last = time.monotonic(), ""
    with subprocess.Popen(
        command, cwd=ROOT, env=os.environ | environment, stdout=subprocess.PIPE, text=True
    ) as running:
        for line in running.stdout or ():
            sys.stdout.write(line)
            sys.stdout.flush()
            if re.search(r"\d+ (passed|failed|caught|survived)", line):
                last = line.strip(" =\n")
    return running.returncode, last, (time.monotonic() - begin) / 60


def main() -> int:
    """Run both parts, the second also if the first fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", type=Path)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    of, day = commit(), datetime.datetime.now(datetime.UTC).date()
    tests = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-n",
        str(options.jobs),
        "-m",
        "deep or not deep",
    ]
    mutants = [sys.executable, "tests/mutation/run.py", "--jobs", str(options.jobs)]
    if options.write is not None:
        mutants += ["--write", "docs/tables/mutants.md"]
    parts = [
        ("tests", *streamed(tests, HYPOTHESIS_PROFILE="deep")),
        ("mutants", *streamed(mutants)),
    ]
    rows = [
        f"| {name} | {'green' if status == 0 else 'RED'} | {last} | {minutes:.0f} |\n"
        for name, status, last, minutes in parts
    ]
    head = f"{HEAD}{day}, commit {of}.\n\n| part | result | counts | minutes |\n|---|---|---|---|\n"
    if options.write is not None:
        options.write.write_text(head + "".join(rows), encoding="utf-8")
    sys.stdout.write("".join(rows))
    return int(any(status for _name, status, _last, _minutes in parts))


if __name__ == "__main__":
    sys.exit(main())
