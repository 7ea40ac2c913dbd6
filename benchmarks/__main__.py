"""`python -m benchmarks`: measure everything, print it, write results.md and results.json."""

import argparse
import importlib
import json
import time
from pathlib import Path

from benchmarks.machine import facts
from benchmarks.report import Section

SECTIONS = (
    "exactness",
    "hashes",
    "streaming",
    "estimates",
    "protocols",
    "recordings",
    "explorer",
    "properties",
    "growth",
)

HEAD = (
    "# Benchmarks\n\n"
    "Made by `python -m benchmarks`. Ratios are measured side by side in one run, interleaved and\n"
    "repeated: medians, and half the distance between the quartiles as a percentage. Times are\n"
    "processor times unless it says wall clock."
)


def main() -> int:
    """Exit status 1 if something that must hold does not."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="smaller inputs, fewer repeats")
    parser.add_argument("--only", choices=SECTIONS, action="append", help="may be repeated")
    parser.add_argument("--output", type=Path, help="directory of the results (default: here)")
    options = parser.parse_args()
    machine = facts()
    sections: list[Section] = []
    for name in options.only or SECTIONS:
        begin = time.perf_counter()
        section = importlib.import_module(f"benchmarks.{name}").measure(options.quick)
        print(section.as_markdown(), f"\n\n({time.perf_counter() - begin:.0f} s)\n", flush=True)
        sections.append(section)
    where = options.output or Path(__file__).resolve().parent
    if options.output or not (options.quick or options.only):
        _write(where, machine, sections)
    return 0 if all(claim.holds is not False for one in sections for claim in one.claims) else 1


def _write(where: Path, machine: dict[str, str], sections: list[Section]) -> None:
    where.mkdir(parents=True, exist_ok=True)
    table = ["| machine | |", "|---|---|", *(f"| {k} | {v} |" for k, v in machine.items())]
    parts = [HEAD, "\n".join(table), *(section.as_markdown() for section in sections)]
    (where / "results.md").write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    data = {"machine": machine, "sections": [section.as_json() for section in sections]}
    (where / "results.json").write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    raise SystemExit(main())
