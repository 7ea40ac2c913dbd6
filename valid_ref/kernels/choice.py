"""Which form of a kernel to use: compiled loops only where loading them pays."""

import enum
import importlib
import importlib.util
import os
import sys
from types import ModuleType

from valid_ref.errors import ValidRefError

VARIABLE = "VALID_REF_KERNELS"
"""The environment variable that fixes the form: numpy or numba. Both give the same integers."""


class KernelError(ValidRefError):
    """Input that a kernel cannot take, or a form of it that is not installed."""


class Backend(enum.Enum):
    """The forms: numpy alone, loops compiled by numba, or whichever is faster."""

    AUTO = "auto"
    NUMPY = "numpy"
    NUMBA = "numba"


def settle(name: str, wanted: Backend, work: int, *, pays_from: int) -> Backend:
    """NUMBA where the compiled loops of this name should do so much work, else NUMPY.

    A module that is in memory always pays; loading it takes a third of a second (and once in an
    installation some seconds more), which `pays_from` products repay.
    """
    chosen = _chosen(wanted)
    if chosen is not Backend.AUTO:
        return chosen
    pays = work >= pays_from or f"{__package__}.{name}" in sys.modules
    installed = pays and importlib.util.find_spec("numba") is not None
    return Backend.NUMBA if installed else Backend.NUMPY


def compiled(name: str, settled: Backend) -> ModuleType | None:
    """The compiled loops of this name; None where numpy should do the work."""
    if settled is not Backend.NUMBA:
        return None
    if importlib.util.find_spec("numba") is None:
        raise KernelError("numba was asked for and is not installed", clause="HA-9")
    return importlib.import_module(f"{__package__}.{name}")


def _chosen(wanted: Backend) -> Backend:
    """What the caller wants; what the environment says where the caller wants nothing."""
    if wanted is not Backend.AUTO:
        return wanted
    value = os.environ.get(VARIABLE, Backend.AUTO.value)
    if value not in {backend.value for backend in Backend}:
        raise KernelError(f"{VARIABLE} = {value!r} is none of auto, numpy, numba", clause="HA-9")
    return Backend(value)
