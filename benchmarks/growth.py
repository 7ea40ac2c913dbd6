"""How time and memory of the pure reference grow in d, T, |V| and |E|.

Each quantity is doubled while the others stay; the exponent is fitted by least squares on the
logarithms. Time is the median of repeated runs of all phases of Valid, interleaved over the
sizes; memory is the peak that tracemalloc saw during one run, less what preparing it left.

    python benchmarks/growth.py [--repeats N] [--output FILE.json]
"""

import argparse
import json
import statistics
import time
import tracemalloc
from pathlib import Path

import numpy as np

from valid_ref.execution import execute
from valid_ref.scenario import Prepared, Scenario, parts, prepare

CHECK = (parts.Check("t", parts.Polynomial(), parts.ConfiguredThresholds(1e9, 1e18)),)


def scenario(graph: str, d: int, T: int) -> Scenario:
    """A noiseless run without a threshold that could interfere."""
    return Scenario(
        graph=parts.Family(graph), loss=parts.RandomQuadratics(d), rounds=T, checks=CHECK,
        schedule=parts.ConstantSteps(0.01, 0.01), bounds=parts.ConfiguredBounds(1e2, 1e3),
    )  # fmt: skip


SERIES = {
    "d": [(d, scenario("cycle:6", d, 64)) for d in (64, 128, 256, 512)],
    "T": [(T, scenario("cycle:6", 16, T)) for T in (256, 512, 1024, 2048)],
    "|V|, degree 2": [(n, scenario(f"cycle:{n}", 16, 64)) for n in (8, 16, 32)],
    "|E|, 16 agents": [(8 * k, scenario(f"regular:16,{k},seed=1", 64, 128)) for k in (3, 6, 12)],
}


def seconds(prepared: Prepared) -> float:
    """Wall-clock time of one run."""
    begin = time.perf_counter()
    execute(prepared.parameters, prepared.private)
    return time.perf_counter() - begin


def peak_bytes(prepared: Prepared) -> int:
    """The most memory that one run held, record included."""
    tracemalloc.start()
    kept = execute(prepared.parameters, prepared.private)
    _current, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    del kept
    return peak


def exponent(sizes: list[int], values: list[float]) -> float:
    """The slope of log(value) over log(size)."""
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


def measure(repeats: int) -> list[dict[str, object]]:
    """One row per series."""
    rows: list[dict[str, object]] = []
    for name, points in SERIES.items():
        sizes = [size for size, _scenario in points]
        prepared = [prepare(one) for _size, one in points]
        timed = [[seconds(one) for one in prepared] for _repeat in range(repeats)]
        medians = [statistics.median(column) for column in zip(*timed, strict=True)]
        peaks = [float(peak_bytes(one)) for one in prepared]
        rows.append({
            "grows": name, "sizes": sizes,
            "seconds": medians, "time_exponent": exponent(sizes, medians),
            "peak_bytes": peaks, "memory_exponent": exponent(sizes, peaks),
        })  # fmt: skip
        print(
            f"{name:16s} sizes {sizes}: seconds {[round(m, 3) for m in medians]} exponent "
            f"{rows[-1]['time_exponent']:.2f}; MB {[round(p / 1e6, 1) for p in peaks]} exponent "
            f"{rows[-1]['memory_exponent']:.2f}"
        )
    return rows


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    rows = measure(options.repeats)
    if options.output is not None:
        options.output.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
