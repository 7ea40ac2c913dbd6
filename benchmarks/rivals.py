"""The same hash by other means. Each takes what it needs prepared: conversion is not measured."""

from collections.abc import Callable, Sequence

import numpy as np

from valid_ref import modular
from valid_ref.hashing import PrimeField, hash_vector

PRIME = 2**61 - 1

Prepared = Callable[[], list[int]]


def by_python(keys: Sequence[int], vector: np.ndarray) -> Prepared:
    """Horner's rule in Python integers."""
    entries = vector.tolist()[::-1]

    def run() -> list[int]:
        values = []
        for key in keys:
            value = 0
            for entry in entries:
                value = (value * key + entry) % PRIME
            values.append(value)
        return values

    return run


def by_galois(keys: Sequence[int], vector: np.ndarray) -> Prepared:
    """galois over the same field: entries times powers, both prepared, and their sum."""
    import galois

    GF = galois.GF(PRIME)
    entries = GF([entry % PRIME for entry in vector.tolist()])
    tables = [GF([pow(key, i, PRIME) for i in range(len(vector))]) for key in keys]
    return lambda: [int(np.sum(entries * powers)) for powers in tables]


def by_definition(keys: Sequence[int], vector: np.ndarray) -> Prepared:
    """The readable definition of this project, in Python integers; nothing prepared."""
    field = PrimeField(PRIME)
    return lambda: [hash_vector(field, key, vector) for key in keys]


def by_limbs(keys: Sequence[int], vector: np.ndarray) -> Prepared:
    """Limbs in float64 matrix products (numpy), this project's form without compilation."""

    def run() -> list[int]:
        found: list[int] = modular.by_limbs(PRIME, vector[np.newaxis], keys)[0].tolist()
        return found

    return run


def by_flint_polynomial(keys: Sequence[int], vector: np.ndarray) -> Prepared:
    """nmod_poly of python-flint, evaluated at every key."""
    import flint

    polynomial = flint.nmod_poly([entry % PRIME for entry in vector.tolist()], PRIME)
    return lambda: [int(polynomial(key)) for key in keys]


def by_flint_matrix(keys: Sequence[int], vector: np.ndarray, block: int = 0) -> Prepared:
    """nmod_mat of python-flint: rows of `block` entries (0: all) times a table of powers."""
    import flint

    block = block or len(vector)
    rows = -(-len(vector) // block)
    entries = np.zeros(rows * block, dtype=np.int64)
    entries[: len(vector)] = vector
    table = modular.powers(PRIME, keys, block).ravel().tolist()
    left = flint.nmod_mat(rows, block, [entry % PRIME for entry in entries.tolist()], PRIME)
    right = flint.nmod_mat(block, len(keys), table, PRIME)

    def run() -> list[int]:
        product = left * right
        values = []
        for k, key in enumerate(keys):
            value, step = 0, pow(key, block, PRIME)
            for row in range(rows - 1, -1, -1):
                value = (value * step + int(product[row, k])) % PRIME
            values.append(value)
        return values

    return run


def by_torch(keys: Sequence[int], vector: np.ndarray) -> Prepared:
    """The form in tensors, on the processor."""
    import torch

    from torch_backend.hashing import hash_rows

    torch.set_num_threads(1)
    rows = torch.from_numpy(vector[np.newaxis].copy())

    def run() -> list[int]:
        return hash_rows(rows, keys)[0].tolist()

    return run
