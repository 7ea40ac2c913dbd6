"""Every form of the hash over p = 2^61 - 1 behind one signature: keys and rows to residues."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from valid_ref import modular
from valid_ref.hashing import PrimeField, hash_vector
from valid_ref.kernels import Backend, PolyHash

PRIME = 2**61 - 1

EXTREMES = (
    0,
    1,
    -1,
    PRIME - 1,
    PRIME,
    PRIME + 1,
    -PRIME,
    1 - PRIME,
    2**61,
    -(2**61),
    2**62 - 1,
    1 - 2**62,
    2**62,
    -(2**62),
    2**63 - 1,
    -(2**63),
    2**21 - 1,
    2**21,
    2**42 - 1,
    2**42,
)
"""Entries at the ends of words, limbs and residues."""

EXTREME_KEYS = (0, 1, 2, PRIME - 1, PRIME - 2, 2**31 - 1, 2**31, 2**30, 2**60, PRIME // 2)

Form = Callable[[Sequence[int], np.ndarray], list[list[int]]]


def by_integers(keys: Sequence[int], rows: np.ndarray) -> list[list[int]]:
    """Horner's rule in Python integers: what every form must give."""
    return [[_horner(key, row) for key in keys] for row in rows.tolist()]


def _horner(key: int, row: list[int]) -> int:
    value = 0
    for entry in reversed(row):
        value = (value * key + entry) % PRIME
    return value


def by_definition(keys: Sequence[int], rows: np.ndarray) -> list[list[int]]:
    return [[hash_vector(PrimeField(PRIME), key, row) for key in keys] for row in rows]


def by_galois(keys: Sequence[int], rows: np.ndarray, prime: int = PRIME) -> list[list[int]]:
    """The sum in a field of another library."""
    import galois

    GF = galois.GF(prime)
    residues = [[int(entry) % prime for entry in row] for row in rows]
    powers = [GF(key) ** np.arange(rows.shape[1]) for key in keys]
    return [[int(np.sum(GF(row) * power)) if row else 0 for power in powers] for row in residues]


def by_integer_arrays(keys: Sequence[int], rows: np.ndarray) -> list[list[int]]:
    return modular.by_integers(PRIME, rows, keys).tolist()


def by_limbs(keys: Sequence[int], rows: np.ndarray) -> list[list[int]]:
    return modular.by_limbs(PRIME, rows, keys).tolist()


def by_loops(block: int, threads: int) -> Form:
    return lambda keys, rows: (
        PolyHash(keys, Backend.NUMBA, block=block).hash(rows, threads).tolist()
    )


def in_pieces(backend: Backend, block: int) -> Form:
    """Piece by piece of growing length, saved and restored between the pieces."""

    def form(keys: Sequence[int], rows: np.ndarray) -> list[list[int]]:
        hasher = PolyHash(keys, backend, block=block)
        stream, begin = hasher.stream(len(rows)), 0
        while begin < rows.shape[1]:
            end = 2 * begin + 3
            stream = hasher.stream(0).load(stream.update(rows[:, begin:end]).state())
            begin = end
        return stream.digest().tolist()

    return form


def by_tensors(keys: Sequence[int], rows: np.ndarray) -> list[list[int]]:
    torch = pytest.importorskip("torch", reason="the form in tensors needs torch")
    from torch_backend.hashing import hash_rows

    return hash_rows(torch.from_numpy(rows.copy()), keys).tolist()


FORMS: dict[str, Form] = {
    "definition": by_definition,
    "galois": by_galois,
    "integer arrays": by_integer_arrays,
    "limbs": by_limbs,
    "loops": by_loops(4096, 1),
    "loops, blocks of 8": by_loops(8, 1),
    "loops, two threads": by_loops(512, 2),
    "loops, five threads": by_loops(64, 5),
    "limbs in pieces": in_pieces(Backend.NUMPY, 4096),
    "loops in pieces": in_pieces(Backend.NUMBA, 16),
    "tensors": by_tensors,
}
