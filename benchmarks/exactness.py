"""How many results of the kernels were compared with Python integers; all must be equal."""

import itertools

import numpy as np

from benchmarks.report import Claim, Section
from valid_ref import modular
from valid_ref.kernels import Backend, PolyHash, squared_norms, weighted_sums

PRIME = 2**61 - 1
EXTREMES = (
    0,
    1,
    -1,
    PRIME - 1,
    PRIME,
    PRIME + 1,
    -PRIME,
    2**61,
    -(2**61),
    2**62 - 1,
    1 - 2**62,
    2**63 - 1,
    -(2**63),
    2**21 - 1,
    2**21,
    2**42 - 1,
    2**42,
)
KEYS = (0, 1, 2, PRIME - 1, PRIME - 2, 2**31 - 1, 2**60, PRIME // 3)
BLOCKS = (8, 64, 512, 2048, 4096)


def measure(quick: bool) -> Section:
    """Extremes in all pairs, and random rows of ragged lengths, through every kernel."""
    inputs = [np.array([*itertools.product(EXTREMES, repeat=2)], dtype=np.int64)]
    generator = np.random.default_rng(7)
    for length in (1, 7, 63, 64, 65, 511, 2049, 4095, 4096, 4097, 9000)[:: 2 if quick else 1]:
        inputs.append(generator.integers(-(2**63), 2**63 - 1, (4, length), endpoint=True))
        inputs.append(generator.choice(np.array(EXTREMES, dtype=np.int64), (4, length)))
    tallies = {"hash": [0, 0], "squared norms": [0, 0], "weighted sums": [0, 0]}
    for rows in inputs:
        _count(tallies["hash"], *_hashes(rows))
        _count(tallies["squared norms"], *_norms(rows))
        _count(tallies["weighted sums"], *_weighted(rows))
    table = tuple((name, total, different) for name, (total, different) in tallies.items())
    different = sum(row[2] for row in table)
    return Section(
        "Equality with Python integers",
        ("kernel", "results compared", "different"),
        table,
        (
            Claim(
                "every result equals that of Python integers",
                f"{different} different",
                different == 0,
            ),
        ),
        (
            "Extremes are the ends of words, limbs and residues; keys include 0, 1 and p - 1; "
            "blocks of 8 to 4096; one and two threads; numpy and compiled.",
        ),
    )


def _count(tally: list[int], found: list[list[int]], expected: list[int]) -> None:
    tally[0] += len(found) * len(expected)
    tally[1] += sum(a != b for one in found for a, b in zip(one, expected, strict=True))


def _hashes(rows: np.ndarray) -> tuple[list[list[int]], list[int]]:
    entries = rows.tolist()
    expected = []
    for row in entries:
        for key in KEYS:
            value = 0
            for entry in reversed(row):
                value = (value * key + entry) % PRIME
            expected.append(value)
    found = [modular.by_limbs(PRIME, rows, KEYS)]
    for block, threads in itertools.product(BLOCKS, (1, 2)):
        found.append(PolyHash(KEYS, Backend.NUMBA, block=block).hash(rows, threads))
    half = rows.shape[1] // 2
    hasher = PolyHash(KEYS, Backend.NUMBA)
    state = hasher.stream(len(rows)).update(rows[:, :half]).state()
    found.append(hasher.stream(0).load(state).update(rows[:, half:]).digest())
    return [one.ravel().tolist() for one in found], expected


def _norms(rows: np.ndarray) -> tuple[list[list[int]], list[int]]:
    expected = [sum(entry * entry for entry in row) for row in rows.tolist()]
    return [squared_norms(rows, backend) for backend in (Backend.NUMPY, Backend.NUMBA)], expected


def _weighted(rows: np.ndarray) -> tuple[list[list[int]], list[int]]:
    rows = rows[:200]
    weights = [pow(3, t % 80) for t in range(len(rows))]
    expected = [
        sum(w * entry for w, entry in zip(weights, column, strict=True))
        for column in rows.T.tolist()
    ]
    backends = Backend.NUMPY, Backend.NUMBA
    return [weighted_sums([weights], [rows], rows.shape[1], b)[0] for b in backends], expected
