"""Norms, estimates and reports of one transcript of the size of the paper's experiment."""

import numpy as np

from benchmarks.report import Section
from benchmarks.timing import interleaved, ratio, scaled
from valid_ref.kernels import Backend, squared_norms, weighted_sums

KINDS = (("numpy", Backend.NUMPY), ("compiled", Backend.NUMBA))


def measure(quick: bool) -> Section:
    """Nanoseconds an entry, against Python integers on a part of the same rows."""
    d, T = (10_000, 20) if quick else (109_386, 20)
    generator = np.random.default_rng(9)
    rows = generator.integers(-(2**40), 2**40, (T, d))
    part = rows[:, : d // 50].copy()
    weights = [2**30 - t for t in range(T)]
    squares = {name: lambda b=backend: squared_norms(rows, b) for name, backend in KINDS}
    sums = {
        name: lambda b=backend: weighted_sums([weights], [rows], d, b) for name, backend in KINDS
    }
    table = []
    for title, actions, plain in (
        ("squared norms", squares, lambda: [sum(e * e for e in row) for row in part.tolist()]),
        ("weighted sums beyond 64 bits", sums, lambda: _plain_sums(weights, part)),
    ):
        found = interleaved({**actions, "plain": plain}, 3 if quick else 7)
        base = scaled(found["plain"], 1e9 / part.size)
        for name in actions:
            sample = scaled(found[name], 1e9 / rows.size)
            table.append((title, name, sample, base, ratio(base, sample)))
    return Section(
        f"Norms and estimates: {T} rounds, d = {d}",
        ("what", "form", "ns an entry", "Python integers, ns an entry", "times as fast"),
        tuple(table),
    )


def _plain_sums(weights: list[int], rows: np.ndarray) -> list[int]:
    return [
        sum(w * entry for w, entry in zip(weights, column, strict=True))
        for column in rows.T.tolist()
    ]
