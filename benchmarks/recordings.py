"""Checking a recording against plain reading of its bytes."""

import tempfile
from pathlib import Path

from benchmarks.networks import network
from benchmarks.report import Section
from benchmarks.timing import interleaved, ratio
from valid_ref.execution import execute
from valid_ref.front import run
from valid_ref.oracle import check, open_recording, record_run, write_recording
from valid_ref.scenario import Scenario, parts


def measure(quick: bool) -> Section:
    """The default network for some rounds, and a synthetic one with long models."""
    with tempfile.TemporaryDirectory() as name:
        medium, large = Path(name) / "medium", Path(name) / "large"
        scenario = Scenario(rounds=20 if quick else 100, loss=parts.RandomQuadratics(50))
        record_run(run(scenario), medium)
        parameters, private = network("complete:4", 2000 if quick else 20_000, 32)
        write_recording(large, execute(parameters, private), "benchmark")
        cases = {
            f"20 agents, d = 50, T = {scenario.rounds}": medium,
            f"4 agents, d = {parameters.lattice.dimension}, T = 32": large,
        }
        rows = [_row(title, path, 3 if quick else 5) for title, path in cases.items()]
    return Section(
        "Checking a recording",
        ("recording", "MB", "plain reading, s", "checking, s", "times as long", "verdict"),
        tuple(rows),
    )


def _row(title: str, path: Path, repeats: int) -> tuple[object, ...]:
    files = [file for file in path.rglob("*") if file.is_file()]
    megabytes = sum(file.stat().st_size for file in files) / 1e6
    found = interleaved(
        {
            "read": lambda: [file.read_bytes() for file in files],
            "check": lambda: check(open_recording(path)),
        },
        repeats,
    )
    status = check(open_recording(path)).status.value
    times = ratio(found["check"], found["read"])
    return title, megabytes, found["read"], found["check"], times, status
