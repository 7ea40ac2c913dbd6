"""How the loops are compiled: without the interpreter's lock, cached between runs.

Loaded by the modules of loops only, and they are loaded only when they pay.
"""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba  # type: ignore[import-untyped,unused-ignore]
import numpy as np
from numpy.typing import NDArray

Compiled = TypeVar("Compiled", bound=Callable[..., Any])


def _jit(function: Compiled, *signature: Any) -> Compiled:
    """Cached where there is a place for a cache, else compiled anew in every process."""
    njit: Any = numba.njit
    try:
        made = njit(*signature, cache=True, nogil=True)(function)
    except RuntimeError:
        made = njit(*signature, nogil=True)(function)
    return cast("Compiled", made)


def compiled(function: Compiled) -> Compiled:
    """Compile for whatever arguments the loops call it with."""
    return _jit(function)


Words = NDArray[np.uint64]

INTEGERS = numba.types.Array(numba.int64, 2, "C", readonly=True)
VECTOR, MATRIX = numba.uint64[::1], numba.uint64[:, ::1]


def entry(*arguments: Any) -> Callable[[Compiled], Compiled]:
    """Compile for these arguments alone when the module is loaded, or take it from the cache."""
    return lambda function: _jit(function, numba.void(*arguments))
