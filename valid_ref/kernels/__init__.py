"""Fast forms of the exact arithmetic: compiled loops where they pay, numpy everywhere else.

    steps     the update of `valid_ref.lattice`
    polyhash  the hashes of `valid_ref.hashing`; its compiled loops are in `hash61`
    sums      norms, and the weighted sums of estimates
    loops     the compiled loops of `steps` and `sums`
    choice    when the compiled form is used

Every form gives the integers of the definition. Nothing here is compiled or loaded at import.
"""

from valid_ref.kernels.choice import Backend, KernelError, compiled, settle
from valid_ref.kernels.polyhash import HashStream, PolyHash, StreamState
from valid_ref.kernels.sums import ROUNDS_AT_ONCE, squared_norms, weighted_sums

__all__ = [
    "ROUNDS_AT_ONCE",
    "Backend",
    "HashStream",
    "KernelError",
    "PolyHash",
    "StreamState",
    "compiled",
    "settle",
    "squared_norms",
    "weighted_sums",
]
