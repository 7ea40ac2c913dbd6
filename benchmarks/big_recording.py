"""A synthetic recording of any size, and how fast and in how much memory it is checked.

Gradients are random integers, the update is the exact one of the lattice, the validation phase is
that of the reference. With `--deviates` one agent adds one to one entry of its model in one round
and says so to all; the recording does not tell who is Byzantine.

    python benchmarks/big_recording.py write DIRECTORY [--dimension D] [--rounds T] [--deviates]
    python benchmarks/big_recording.py check RECORDING
"""

import argparse
import cProfile
import json
import pstats
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import attrs
import numpy as np
import numpy.typing as npt

from valid_ref.execution import Execution, validate
from valid_ref.graph import AgentGraph
from valid_ref.graph_families import parse_family
from valid_ref.hashing import PrimeField
from valid_ref.lattice import default_limits, shift_half_even
from valid_ref.oracle import Recording, RecordingWriter, check, header_of, open_recording
from valid_ref.protocols.learn import LearningMessage, Transcripts
from valid_ref.protocols.parameters import (
    Bounds,
    ValidParameters,
    exponential_weights,
    make_weighting,
)
from valid_ref.protocols.valid import Learned
from valid_ref.protocols.validation import ValidationInput
from valid_ref.schedule import constant, experiment, make_schedule

Matrix = npt.NDArray[np.int64]
CHUNK = 1 << 20


@attrs.frozen
class Deviation:
    """One agent adds one to one entry of its model in one round."""

    agent: int
    round: int
    entry: int


def parameters_for(graph: AgentGraph, d: int, T: int) -> ValidParameters:
    """The steps of the experiments, bounds and thresholds that nothing reaches."""
    schedule = make_schedule(T, experiment(), constant(1 / (2 * graph.max_degree)))
    lattice = default_limits(d, schedule, graph.max_degree)
    precision = schedule.precision
    start = np.random.default_rng([1, d]).integers(-(1 << 24), 1 << 24, d, dtype=np.int64)
    weights = exponential_weights(T, 0.95)
    checks = (
        make_weighting(
            "exponential",
            weights,
            graph.agents,
            precision.fraction_bits,
            optimality=1e6,
            heterogeneity=1e12,
        ),
    )
    loose = (d * lattice.gradient_limit**2,) * T
    return ValidParameters(
        graph=graph,
        lattice=lattice,
        start_model=start,
        field=PrimeField(),
        bounds=Bounds(loose, loose),
        weightings=checks,
    )


def learning(
    parameters: ValidParameters, seed: int, deviation: Deviation | None
) -> Iterator[tuple[Matrix, Matrix]]:
    """Models and scaled gradients of every round, [n, d] each.

    The gradient is a random lattice vector of up to a quarter a unit; agents mix what was said.
    """
    lattice, graph = parameters.lattice, parameters.graph
    n, d, bits = graph.agents, lattice.dimension, lattice.precision.step_bits
    size = 1 << (lattice.precision.fraction_bits - 2)
    said = np.tile(parameters.start_model, (n, 1))
    for t in range(1, lattice.schedule.rounds + 1):
        random = np.random.default_rng([seed, t])
        total = np.stack([said[list(graph.neighbours(v))].sum(axis=0) for v in range(n)])
        degrees = np.array([[graph.degree(v)] for v in range(n)], dtype=np.int64)
        Y = (said << bits) + lattice.schedule.a(t) * (total - degrees * said)
        gradients = random.integers(-size, size, (n, d), dtype=np.int64)
        models = shift_half_even(Y - lattice.schedule.A(t) * gradients, bits)
        gammas = Y - (models << bits)
        if deviation is not None and deviation.round == t:
            models[deviation.agent, deviation.entry] += 1
        said = models
        yield models, gammas


def transcripts_of(recording: Recording) -> dict[int, Transcripts]:
    """What every agent sent and received, mapped from the files of a run without edges apart."""
    models, gammas = recording.arrays["models"], recording.arrays["gradients"]
    graph = recording.parameters.graph
    sent = [
        tuple(LearningMessage(x[v], g[v]) for x, g in zip(models, gammas, strict=True))
        for v in range(graph.agents)
    ]
    return {
        v: Transcripts(sent[v], {u: sent[u] for u in graph.neighbours(v)})
        for v in range(graph.agents)
    }


def write(
    directory: Path,
    parameters: ValidParameters,
    *,
    seed: int = 0,
    checksums: bool = False,
    deviation: Deviation | None = None,
) -> Execution:
    """Stream a run into a directory: the learning rounds, then validation off the files."""
    prime = parameters.field.prime
    keys = [
        int(key)
        for key in np.random.default_rng([seed, 0]).integers(prime, size=parameters.graph.agents)
    ]
    known = frozenset[int]() if deviation is None else None
    header = header_of(parameters, "benchmarks/big_recording.py", known, checksums=checksums)
    with RecordingWriter(directory, header, keys) as writer:
        for models, gammas in learning(parameters, seed, deviation):
            writer.append_learning(models, gammas)
        sent = transcripts_of(open_recording(directory))
        fixed = {v: ValidationInput(keys[v], Learned(sent[v])) for v in range(header.agents)}
        execution = validate(parameters, fixed)
        writer.append_rest(execution)
    return execution


def _peak_resident() -> int:
    """The peak of this process alone; getrusage also counts the process that started it."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    [found] = [int(line.split()[1]) << 10 for line in lines if line.startswith("VmHWM")]
    return found


@contextmanager
def watched() -> Iterator[dict[str, int]]:
    """The largest anonymous memory that was seen, looked at fifty times a second."""
    seen = {"anonymous_bytes": 0}
    done = threading.Event()

    def look() -> None:
        while not done.wait(0.02):
            lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
            found = [int(line.split()[1]) << 10 for line in lines if line.startswith("RssAnon")]
            seen["anonymous_bytes"] = max(seen["anonymous_bytes"], *found)

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield seen
    finally:
        done.set()
        thread.join()


def read_all(path: Path) -> tuple[int, float]:
    """How many bytes the recording has, and how long it takes to read them and nothing else."""
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    buffer, total, begin = bytearray(CHUNK), 0, time.perf_counter()
    for name in files:
        with name.open("rb", buffering=0) as file:
            while count := file.readinto(buffer):
                total += count
    return total, time.perf_counter() - begin


def measure(path: Path) -> dict[str, object]:
    """Check a recording once; time by phase, memory, and the speed beside plain reading.

    Processor time is what to compare on a machine that others use too.
    """
    size, reading = read_all(path)
    opened = open_recording(path)
    begin = time.perf_counter(), time.process_time()
    marks: list[tuple[float, float]] = []

    def mark(_number: int = 0) -> None:
        marks.append((time.perf_counter() - begin[0], time.process_time() - begin[1]))

    with watched() as seen:
        verdict = check(opened, watch=mark)
        mark()
    T, n = opened.header.rounds, opened.header.agents
    ends = {
        "learning relation": T,
        "norms": T + 1,
        "keys": T + n,
        "hashes": T + n + 1,
        "broadcast of hashes": T + 2 * n,
        "estimates": T + 2 * n + 1,
        "broadcast of estimates": T + 3 * n,
        "their checks and agreement": len(marks),
    }
    last, phases = 0.0, {}
    for name, end in ends.items():
        _wall, processor = marks[min(end, len(marks)) - 1]
        phases[name], last = round(processor - last, 2), processor
    wall, processor = marks[-1]
    return {
        "verdict": verdict.status.value,
        "divergences": [str(d).splitlines()[0] for d in verdict.divergences],
        "bytes": size,
        "seconds": round(wall, 2),
        "processor_seconds": round(processor, 2),
        "MB_per_second": round(size / wall / 1e6, 1),
        "MB_per_processor_second": round(size / processor / 1e6, 1),
        "plain_reading_MB_per_second": round(size / reading / 1e6, 1),
        "processor_seconds_by_phase": phases,
        "peak_anonymous_MB": round(seen["anonymous_bytes"] / 1e6, 1),
        "peak_resident_MB": round(_peak_resident() / 1e6, 1),
    }


def main() -> None:
    """Write or check."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("action", choices=["write", "check"])
    parser.add_argument("path", type=Path)
    parser.add_argument("--graph", default="paper")
    parser.add_argument("--dimension", type=int, default=109_386)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--checksums", action="store_true")
    parser.add_argument("--deviates", action="store_true")
    parser.add_argument("--profile", action="store_true", help="Print where checking spends time.")
    options = parser.parse_args()
    if options.action == "write":
        graph = parse_family(options.graph)
        d, T = options.dimension, options.rounds
        deviation = Deviation(graph.agents // 3, (T + 1) // 2, d // 3) if options.deviates else None
        parameters = parameters_for(graph, d, T)
        begin = time.perf_counter()
        with watched() as seen:
            write(
                options.path,
                parameters,
                seed=options.seed,
                checksums=options.checksums,
                deviation=deviation,
            )
        written = {
            "seconds": round(time.perf_counter() - begin, 2),
            "deviation": None if deviation is None else attrs.asdict(deviation),
            "peak_anonymous_MB": round(seen["anonymous_bytes"] / 1e6, 1),
        }
        print(json.dumps(written, indent=1))
        return
    profile = cProfile.Profile()
    if options.profile:
        profile.enable()
    result = measure(options.path)
    print(json.dumps(result, indent=1))
    if options.profile:
        profile.disable()
        pstats.Stats(profile, stream=sys.stderr).sort_stats("tottime").print_stats(25)


if __name__ == "__main__":
    main()
