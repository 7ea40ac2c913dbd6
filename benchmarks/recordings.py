"""Checking a recording against plain reading, in time and in memory.

Plain reading is what any program does that wants the numbers of a recording and judges nothing:
every file is read whole, `header.json` and every line of `log.jsonl` are parsed by `json.loads`,
every array by `np.load`, and where the recording has checksums all bytes go through SHA-256 once.
"""

import hashlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks import big_recording
from benchmarks.networks import network
from benchmarks.report import Claim, Section
from benchmarks.timing import Sample, interleaved, ratio
from valid_ref.execution import execute
from valid_ref.graph_families import parse_family
from valid_ref.oracle import check, open_recording, record_run, write_recording
from valid_ref.runs import run
from valid_ref.scenario import Scenario, parts

MOST_MEGABYTES = 400
MOST_TIMES = (12, 5, 8)
"""How long checking may take against plain reading: of long models without checksums, where plain
reading is only a copy and the arithmetic of a check (hashes, relation, norms, estimates) alone is
six times that; of the same with checksums; of a complete graph."""


def measure(quick: bool) -> Section:
    """The default network, long models, a complete graph, and one round of very long models."""
    agents, d, longest = (20, 2000, 10_000) if quick else (80, 20_000, 1_000_000)
    with tempfile.TemporaryDirectory() as name:
        where = Path(name)
        scenario = Scenario(rounds=20 if quick else 100, loss=parts.RandomQuadratics(50), seed=0)
        record_run(run(scenario), where / "default")
        long = execute(*network("complete:4", d, 32))
        for checksums in (False, True):
            write_recording(where / f"long {checksums}", long, "benchmark", checksums=checksums)
        complete = execute(*network(f"complete:{agents}", 4, 2))
        write_recording(where / "complete", complete, "benchmark")
        few, many = 1 if quick else 3, 3 if quick else 15
        found = {
            name: _row(name, where / directory, repeats)
            for name, directory, repeats in (
                (f"20 agents, d = 50, T = {scenario.rounds}, checksums", "default", few),
                (f"4 agents, d = {d}, T = 32", "long False", many),
                (f"4 agents, d = {d}, T = 32, checksums", "long True", many),
                (f"complete graph of {agents}, d = 4, T = 2, checksums", "complete", few),
            )
        }
        parameters = big_recording.parameters_for(parse_family("complete:4"), longest, 2)
        big_recording.write(where / "longest", parameters)
        memory = _memory(where / "longest")
    rows = [*found.values()]
    anonymous, resident = memory["peak_anonymous_MB"], memory["peak_resident_MB"]
    return Section(
        "Checking a recording",
        ("recording", "MB", "plain reading, s", "checking, s", "times as long", "verdict"),
        tuple(rows),
        (
            *(
                _times(str(row[0]), row[4], most, quick)
                for row, most in zip(rows[1:], MOST_TIMES, strict=True)
            ),
            Claim(
                f"d = {longest} checked in under {MOST_MEGABYTES} MB, mapped files included",
                f"{resident} MB, of which {anonymous} MB are not mapped files",
                float(resident) < MOST_MEGABYTES,
            ),
        ),
        (
            "Plain reading: every file read whole, JSON by json.loads, arrays by np.load, and "
            "SHA-256 of all bytes where the recording has checksums.",
        ),
    )


def _median(sample: object) -> float:
    return sample.median if isinstance(sample, Sample) else float("nan")


def _times(name: str, sample: object, most: int, quick: bool) -> Claim:
    holds = None if quick else _median(sample) <= most
    text = f"{name}: checking at most {most} times plain reading"
    return Claim(text, f"{_median(sample):.1f} times", holds)


def _row(title: str, path: Path, repeats: int) -> tuple[object, ...]:
    files = sorted(path.iterdir())
    megabytes = sum(file.stat().st_size for file in files) / 1e6
    summed = open_recording(path).header.checksums
    found = interleaved(
        {
            "read": lambda: plain_reading(files, checksums=summed),
            "check": lambda: check(open_recording(path)),
        },
        repeats,
    )
    status = check(open_recording(path)).status.value
    times = ratio(found["check"], found["read"])
    return title, megabytes, found["read"], found["check"], times, status


def plain_reading(files: list[Path], *, checksums: bool) -> bytes:
    """Read and parse one file after the other; none is kept, so that memory is used again."""
    total = hashlib.sha256()
    for file in files:
        if file.suffix == ".npy":
            array = np.load(file)
            total.update(array.data if checksums else b"")
            del array
            continue
        raw = file.read_bytes()
        total.update(raw if checksums else b"")
        for line in raw.splitlines() if file.name == "log.jsonl" else [raw]:
            json.loads(line)
    return total.digest()


def _memory(path: Path) -> dict[str, float]:
    """What a process of its own has at its peak when it checks a recording."""
    script = Path(big_recording.__file__)
    command = [sys.executable, str(script), "check", str(path)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found
