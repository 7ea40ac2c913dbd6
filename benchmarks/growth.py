"""How time and memory of the pure reference grow in d, T, |V| and |E|.

Each quantity is doubled while the others stay; the exponent is fitted by least squares on the
logarithms. Time is the median of repeated runs of all phases of Valid, interleaved over the
sizes; memory is the peak that tracemalloc saw during one run, record included.
"""

import tracemalloc
from collections.abc import Mapping

from benchmarks.networks import network
from benchmarks.report import Section
from benchmarks.timing import exponent, interleaved
from valid_ref.execution import execute
from valid_ref.protocols.parameters import ValidParameters
from valid_ref.protocols.valid import Private

Network = tuple[ValidParameters, Mapping[int, Private]]
Series = list[tuple[int, Network]]


def measure(quick: bool) -> Section:
    """One row for each quantity."""
    rows = [_row(name, series, 3 if quick else 5) for name, series in _series(quick).items()]
    return Section(
        "Growth of a whole run",
        ("grows", "sizes", "seconds", "exponent of time", "peak MB", "exponent of memory"),
        tuple(rows),
        remarks=(
            "Exponents with their standard error; the number of hashes that everybody relays "
            "grows with |V| |E|, so that the whole run grows faster than any one message.",
        ),
    )


def _series(quick: bool) -> dict[str, Series]:
    d = (2048, 4096, 8192, 16384)
    T = (256, 512, 1024, 2048)
    V = (8, 16, 32, 64)
    k = (3, 6, 9, 12)
    points: dict[str, list[tuple[int, tuple[str, int, int]]]] = {
        "d (6 agents, T = 32)": [(one, ("cycle:6", one, 32)) for one in d],
        "T (6 agents, d = 16)": [(one, ("cycle:6", 16, one)) for one in T],
        "V (degree 2, d = 16, T = 32)": [(one, (f"cycle:{one}", 16, 32)) for one in V],
        "E (16 agents, d = 64, T = 64)": [
            (8 * one, (f"regular:16,{one},seed=1", 64, 64)) for one in k
        ],
    }
    return {
        name: [(size, network(*one)) for size, one in series[: 3 if quick else 4]]
        for name, series in points.items()
    }


def _row(name: str, series: Series, repeats: int) -> tuple[object, ...]:
    sizes = [size for size, _network in series]
    actions = {str(size): lambda one=one: execute(*one) for size, one in series}
    samples = interleaved(actions, repeats)
    seconds = [samples[str(size)].median for size in sizes]
    peaks = [_peak(one) for _size, one in series]
    return (
        name,
        ", ".join(map(str, sizes)),
        ", ".join(f"{one:.3g}" for one in seconds),
        "{:.2f} ± {:.2f}".format(*exponent(sizes, seconds)),
        ", ".join(f"{one / 1e6:.3g}" for one in peaks),
        "{:.2f} ± {:.2f}".format(*exponent(sizes, peaks)),
    )


def _peak(one: Network) -> float:
    """The most memory that one run held, its record included, in bytes."""
    tracemalloc.start()
    kept = execute(*one)
    _current, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    del kept
    return float(peak)
