"""How the cost of a run grows in agents, dimension and rounds.

Each quantity is doubled while the others stay; the exponent is fitted by least squares on the
logarithms. Time is the median over turns in which the sizes take their places one after the other;
memory is that of the state and of the transcripts of a round, which is exact.

    OMP_NUM_THREADS=1 PYTHONPATH=. python benchmarks/torch_growth.py [--turns N] [--clock cpu]
"""

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.torch_round import Case, make_program
from torch_backend.engine import Program
from torch_backend.transcripts import TranscriptWriter, open_transcripts
from torch_backend.validation import fresh_keys, validate
from valid_ref.graph_families import parse_family

BATCH = 32


def program(agents: int = 20, width: int = 32, rounds: int = 400, estimate: str = "sum") -> Program:
    """A run on a random 4-regular graph."""
    graph = parse_family(f"regular:{agents},4,seed=1")
    options: dict[str, Any] = {"images": BATCH, "batch": BATCH, "estimate": estimate}
    return make_program(rounds, graph, (width,), **options)


ROUNDS = {
    "agents": [(n, program(agents=n)) for n in (40, 80, 160, 320)],
    "dimension": [((784 + 11) * w + 10, program(width=w)) for w in (32, 64, 128, 256)],
}


def round_seconds(series: list[tuple[int, Program]], turns: int, clock: Callable[[], float]) -> Any:
    """The median time of a round for every size."""
    cases = [(size, Case(one)) for size, one in series]
    times: dict[int, list[float]] = {size: [] for size, _case in cases}
    for turn in range(turns + 1):
        for size, case in cases:
            begin = clock()
            case()
            if turn:
                times[size].append(clock() - begin)
    return {size: statistics.median(values) for size, values in times.items()}


def state_bytes(one: Program) -> int:
    """What a state holds on the device."""
    state = Case(one).state
    return state.models.nbytes + (0 if state.estimates is None else state.estimates.sums.nbytes)


def whole_run(rounds: int, clock: Callable[[], float]) -> tuple[float, float, int]:
    """Seconds of training with transcripts, seconds of validation, bytes of the transcripts."""
    one = program(rounds=rounds, estimate="agents")
    with tempfile.TemporaryDirectory() as name:
        writer = TranscriptWriter(Path(name), one)
        case = Case(one, writer)
        begin = clock()
        for _ in range(rounds):
            case()
        trained = clock() - begin
        writer.close()
        size = sum(file.stat().st_size for file in Path(name).iterdir())
        begin = clock()
        validate(one, case.state, open_transcripts(Path(name), one), fresh_keys(one))
        return trained, clock() - begin, size


def exponent(values: dict[int, float]) -> float:
    """The slope of log(value) over log(size)."""
    return float(np.polyfit(np.log(list(values)), np.log(list(values.values())), 1)[0])


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=9)
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    clock = time.perf_counter if options.clock == "wall" else time.process_time
    found: dict[str, dict[int, float]] = {}
    for name, series in ROUNDS.items():
        found[f"seconds a round, by {name}"] = round_seconds(series, options.turns, clock)
        found[f"bytes of a state, by {name}"] = {size: state_bytes(one) for size, one in series}
    runs = {rounds: whole_run(rounds, clock) for rounds in (25, 50, 100, 200)}
    for place, name in enumerate(("seconds of training", "seconds of validation", "bytes on disk")):
        found[f"{name}, by rounds"] = {rounds: values[place] for rounds, values in runs.items()}
    for name, values in found.items():
        row = "  ".join(f"{size}: {value:.4g}" for size, value in values.items())
        print(f"{name:34} exponent {exponent(values):5.2f}   {row}")
    if options.output is not None:
        options.output.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
