"""Facts about the machine that a reader needs to judge the figures; no names, no paths."""

import importlib.metadata
import os
import platform
from pathlib import Path

FLAGS = ("avx2", "avx512f", "avx512dq", "avx512ifma")
PACKAGES = ("numpy", "numba", "galois", "python-flint", "torch", "hypothesis")


def has_ifma() -> bool:
    """Whether the processor has the instruction that the multiplier roof is made of."""
    return "avx512ifma" in _flags()


def is_quiet() -> bool:
    """Whether little else runs: no more work in the last minute than there are processors."""
    return os.getloadavg()[0] <= len(os.sched_getaffinity(0))


def facts() -> dict[str, str]:
    """Processor, its number, the vector extensions, versions and the load."""
    versions = {name: _version(name) for name in PACKAGES}
    return {
        "processor": _field("model name") or platform.machine(),
        "processors available": str(len(os.sched_getaffinity(0))),
        "vector extensions": ", ".join(flag for flag in FLAGS if flag in _flags()) or "none known",
        "system": platform.system(),
        "python": platform.python_version(),
        **versions,
        "load when measuring began": f"{os.getloadavg()[0]:.1f}",
    }


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def _field(name: str) -> str:
    information = Path("/proc/cpuinfo")
    if not information.exists():
        return ""
    for line in information.read_text(encoding="utf-8").splitlines():
        if line.startswith(name):
            return line.partition(":")[2].strip()
    return ""


def _flags() -> frozenset[str]:
    return frozenset(_field("flags").split())
