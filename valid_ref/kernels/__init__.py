"""Fast forms of the exact arithmetic: compiled loops where they pay, numpy everywhere else.

Every form gives the same integers. Nothing here is compiled or loaded at import.
"""

from valid_ref.kernels.choice import Backend, KernelError
from valid_ref.kernels.polyhash import HashStream, PolyHash, StreamState

__all__ = ["Backend", "HashStream", "KernelError", "PolyHash", "StreamState"]
