"""The polynomial hash over p = 2^61 - 1, exactly: in tensors on a device, or of 32-bit entries.

    hash_rows(rows, keys)                 # int64 [rows, keys] on the device of the rows
    ShortHash(keys, length).hash(rows)    # the same on the processor, of 32-bit entries

In tensors it is a matrix product of limbs in float64, and folds in 64-bit integers.
`valid_ref.kernels` has the same on the processor; tests hold all equal to Python integers.

Why that is exact. Entries and powers have limbs of 21 bits. A product of two is at most
(2^21 - 1)^2 and a block has at most 2^11 of them, so that every partial sum, in whatever order
and with or without fused rounding, is an integer below 2^53. A device that computes otherwise is
found by `check_device`, which runs before the first hash on it.
"""

import functools
import importlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from types import ModuleType
from typing import TYPE_CHECKING

import attrs
import numpy as np
import numpy.typing as npt
import torch

from torch_backend.errors import BackendError
from valid_ref import modular
from valid_ref.kernels import Backend, PolyHash

if TYPE_CHECKING:
    from torch_backend.compiled import ShortTables

PRIME = 2**61 - 1
LIMB_BITS, LIMBS = 21, 3
BLOCK = 1 << 11

AT_ONCE = 1 << 21
"""How many entries are in limbs at a time: 48 MB."""


class HashingError(BackendError):
    """Rows that cannot be hashed, or a device that does not compute as it must."""


def hash_rows(rows: torch.Tensor, keys: Sequence[int]) -> torch.Tensor:
    """sum_i x_i s^i mod p of every row of 64-bit integers under every key, [rows, keys].

    Implements: HA-9.
    """
    check_device(str(rows.device))
    return _hash_rows(rows, keys)


@functools.cache
def check_device(device: str) -> None:
    """Refuse a device on which extremes do not hash to what Python integers give."""
    extremes = [0, 1, -1, PRIME, -PRIME, 2**62 - 1, 1 - 2**62, 2**63 - 1, -(2**63), 2**42 - 1]
    rows = np.array([[one] * (2 * BLOCK + 1) for one in extremes], dtype=np.int64)
    rows[:, ::3] = np.array(extremes, dtype=np.int64)[::-1, np.newaxis]
    keys = [0, 1, 2, PRIME - 1, PRIME - 2, 2**60 + 2**31 - 1]
    found = _hash_rows(torch.from_numpy(rows).to(device), keys).cpu().numpy()
    if not np.array_equal(found, PolyHash(keys, Backend.NUMPY).hash(rows).astype(np.int64)):
        raise HashingError(f"device {device} does not multiply matrices exactly", clause="HA-9")


def _hash_rows(rows: torch.Tensor, keys: Sequence[int]) -> torch.Tensor:
    if rows.dim() != 2 or rows.dtype != torch.int64:
        raise HashingError(
            f"expected rows of 64-bit integers, got {tuple(rows.shape)} of {rows.dtype}",
            clause="HA-9",
        )
    if not all(type(key) is int and 0 <= key < PRIME for key in keys):
        raise HashingError("a key is not in 0..2^61 - 2", clause="LV-3")
    count, length = rows.shape
    total = torch.zeros((count, len(keys)), dtype=torch.int64, device=rows.device)
    if total.numel() == 0 or length == 0:
        return total
    block = min(length, BLOCK)
    powers = _tensor(modular.powers(PRIME, keys, block), rows.device)
    table = torch.cat(_limbs(powers), dim=1)
    width = max(1, AT_ONCE // (count * block)) * block
    for begin in range(0, length, width):
        part = _blocks(rows[:, begin : begin + width], keys, table)
        weights = modular.residues(PRIME, [pow(key, begin, PRIME) for key in keys])
        total = _reduce(total + _multiply(part, _tensor(weights, rows.device)))
    return total


def _blocks(rows: torch.Tensor, keys: Sequence[int], table: torch.Tensor) -> torch.Tensor:
    """The hashes of rows; blocks of a row are rows of one matrix with the weights s^(block j)."""
    count, block = rows.shape[0], table.shape[0]
    blocks = -(-rows.shape[1] // block)
    padded = torch.nn.functional.pad(rows, (0, blocks * block - rows.shape[1]))
    values = _product(padded.reshape(count * blocks, block), table)
    steps = [pow(key, block, PRIME) for key in keys]
    weights = _tensor(modular.powers(PRIME, steps, blocks), rows.device)
    weighted = _multiply(values.reshape(count, blocks, len(keys)), weights)
    high, low = (weighted >> 31).sum(dim=1), (weighted & (2**31 - 1)).sum(dim=1)
    return _reduce(_rotate(_reduce(high), 31) + _reduce(low))


def _product(rows: torch.Tensor, table: torch.Tensor) -> torch.Tensor:
    """rows @ powers modulo p by limbs; sums of one place are below 3 * 2^53 < p."""
    count, keys = rows.shape[0], table.shape[1] // LIMBS
    places = torch.zeros((2 * LIMBS - 1, count, keys), dtype=torch.int64, device=rows.device)
    folded = (rows & PRIME) + ((rows >> 61) + PRIME)  # x modulo p, in p-4..2p+3
    for place, limb in enumerate(_limbs(folded)):
        products = (limb @ table).to(torch.int64).reshape(count, LIMBS, keys)
        places[place : place + LIMBS] += products.permute(1, 0, 2)
    total = places[0]
    for place in range(1, len(places)):
        total = _reduce(total + _rotate(places[place], LIMB_BITS * place % 61))
    return _reduce(total)


def _limbs(words: torch.Tensor) -> list[torch.Tensor]:
    mask = (1 << LIMB_BITS) - 1
    return [((words >> LIMB_BITS * i) & mask).to(torch.float64) for i in range(LIMBS)]


def _tensor(residues: modular.Residues, device: torch.device) -> torch.Tensor:
    return torch.from_numpy(residues.astype(np.int64)).to(device)


def _reduce(words: torch.Tensor) -> torch.Tensor:
    """Words in 0..2^63-1 modulo p, in 0..p-1."""
    folded = (words & PRIME) + (words >> 61)
    return torch.where(folded >= PRIME, folded - PRIME, folded)


def _rotate(words: torch.Tensor, bits: int) -> torch.Tensor:
    """Words in 0..p times 2^bits modulo p: 2^61 = 1, so that the bits go round."""
    return ((words & ((1 << (61 - bits)) - 1)) << bits) + (words >> (61 - bits))


def _multiply(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """Products of residues, by halves as in `valid_ref.modular`: all partial sums below 2^63."""
    low = 2**31 - 1
    a1, a0, b1, b0 = left >> 31, left & low, right >> 31, right & low
    middle, last = a1 * b0 + a0 * b1, a0 * b0
    total = (a1 * b1 << 1) + (middle >> 30) + ((middle & (2**30 - 1)) << 31)
    return _reduce(total + (last & PRIME) + (last >> 61))


@attrs.frozen(eq=False)
class ShortHash:
    """Hashes of vectors of one length, whose entries have 32 bits, under some keys.

    Compiled, in float64: entry number POWERS q + j is multiplied by the limbs of s^(POWERS q), four
    of 16 bits, and added to the sums of column j, exactly; columns get their factor s^j at the end.
    A processor adds a product in one instruction. With entries of b bits, sign included, a product
    is below 2^(b + 15), and 2^(38 - b) of them are added up before the limbs are joined.

    Implements: HA-9.
    """

    keys: tuple[int, ...]
    length: int
    _loops: ModuleType = attrs.field(init=False, repr=False)
    _tables: "ShortTables" = attrs.field(init=False, repr=False)

    @_loops.default
    def _compiled(self) -> ModuleType:
        return importlib.import_module(f"{__package__}.compiled")  # takes numba

    @_tables.default
    def _made(self) -> "ShortTables":
        tables: ShortTables = self._loops.short_tables(self.keys, self.length)
        return tables

    def hash(
        self, rows: npt.NDArray[np.int32], threads: int = 1, bits: int = 32
    ) -> modular.Residues:
        """sum_j x_j s^j for every row and key, [rows, keys], each in 0..p-1.

        No entry has more than so many bits, sign included.
        """
        out = np.empty((len(rows), len(self.keys)), np.uint64)
        ends = [len(rows) * part // threads for part in range(threads + 1)]
        most = 1 << (38 - max(bits, 16))

        def work(begin: int, end: int) -> None:
            self._loops.hash_short_rows(rows[begin:end], self._tables, most, out[begin:end])

        if threads == 1:
            work(0, len(rows))
        else:
            with ThreadPoolExecutor(threads) as pool:
                list(pool.map(work, ends[:-1], ends[1:]))
        return out
