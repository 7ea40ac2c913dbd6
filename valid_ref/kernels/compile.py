"""How the loops are compiled: without the interpreter's lock, cached between runs.

Loaded by the modules of loops only, and they are loaded only when they pay.
"""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba  # type: ignore[import-untyped,unused-ignore]
import numpy as np
from numpy.typing import NDArray

Compiled = TypeVar("Compiled", bound=Callable[..., Any])
compiled = cast("Callable[[Compiled], Compiled]", numba.njit(cache=True, nogil=True))

Words = NDArray[np.uint64]

INTEGERS = numba.types.Array(numba.int64, 2, "C", readonly=True)
VECTOR, MATRIX = numba.uint64[::1], numba.uint64[:, ::1]


def entry(*arguments: Any) -> Callable[[Compiled], Compiled]:
    """Compile for these arguments alone when the module is loaded, or take it from the cache."""
    decorate = numba.njit(numba.void(*arguments), cache=True, nogil=True)
    return cast("Callable[[Compiled], Compiled]", decorate)
