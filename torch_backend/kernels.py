"""When compiled loops are used, and how threads share them; the integers are always the same."""

import ctypes
import functools
import importlib
import importlib.util
import itertools
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import ModuleType
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor

PAYS_FROM = 1 << 17
"""From so many entries on the loading of compiled loops pays."""

COLUMNS = 1 << 12
"""A thread gets at least so many columns."""

KEPT = (-3, 32 << 20), (-1, 1 << 30)
"""M_MMAP_THRESHOLD at its highest, so that memory is kept, and M_TRIM_THRESHOLD: how much."""

ResultT = TypeVar("ResultT")


def compiled_loops(*tensors: Tensor) -> ModuleType | None:
    """The compiled loops, if these tensors are contiguous on the host and numba is there."""
    host = all(tensor.device.type == "cpu" and tensor.is_contiguous() for tensor in tensors)
    if not host or max(tensor.numel() for tensor in tensors) < PAYS_FROM:
        return None
    name = f"{__package__}.compiled"
    if name not in sys.modules and importlib.util.find_spec("numba") is None:
        return None
    return importlib.import_module(name)


@functools.cache
def keep_freed_memory() -> None:
    """Ask the C library, where it can be asked, not to hand back memory after every round.

    Otherwise the system takes back arrays of some megabytes and fills them with zeros when the
    next round asks for them.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return
    for option, size in KEPT:
        mallopt(option, size)


def empty_tensor(shape: Sequence[int], dtype: torch.dtype, device: torch.device) -> Tensor:
    """A tensor that is not filled; on the host numpy asks for it to lie on large pages.

    Passes over many rows at once then find the addresses of their pages at hand.
    """
    if device.type != "cpu":
        return torch.empty(tuple(shape), dtype=dtype, device=device)
    keep_freed_memory()
    item = torch.empty(0, dtype=dtype).numpy().dtype
    return torch.from_numpy(np.empty(tuple(shape), dtype=item))


def sent(tensor: Tensor, device: torch.device) -> Tensor:
    """A tensor of the host on a device; the host does not wait until it is there."""
    return tensor if device.type == "cpu" else tensor.pin_memory().to(device, non_blocking=True)


@functools.lru_cache(maxsize=1024)
def places(numbers: tuple[int, ...], device: torch.device) -> Tensor:
    """Numbers of rows as a tensor of the device, made once: a list would be copied every time."""
    return sent(torch.tensor(numbers, dtype=torch.int64), device)


def rows_of(rows: Tensor, numbers: Sequence[int]) -> Tensor:
    """The rows with these numbers, in this order, as a copy."""
    return rows.index_select(0, places(tuple(numbers), rows.device))


def surely_none(flags: Tensor) -> bool:
    """Whether no flag is set, where looking costs nothing: on a device the host would wait."""
    return flags.device.type == "cpu" and not bool(flags.any())


def read_together(questions: Sequence[Tensor]) -> list[list[bool]]:
    """The answers to some rows of flags; the host waits for the device once."""
    if not questions:
        return []
    answers = torch.cat([flags.reshape(-1) for flags in questions]).tolist()
    ends = [0, *itertools.accumulate(flags.numel() for flags in questions)]
    return [answers[begin:end] for begin, end in itertools.pairwise(ends)]


def in_threads(columns: int, work: Callable[[int, int], ResultT]) -> Sequence[ResultT]:
    """work(begin, end) on parts of the columns, in as many threads as torch uses."""
    threads = max(1, min(torch.get_num_threads(), columns // COLUMNS))
    ends = [columns * part // threads for part in range(threads + 1)]
    if threads == 1:
        return [work(0, columns)]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(work, ends[:-1], ends[1:]))
