"""Fast forms of the exact arithmetic: compiled loops where they pay, numpy everywhere else.

Every form gives the same integers. Nothing here is compiled or loaded at import.
"""

from valid_ref.kernels.choice import Backend, KernelError, compiled, settle
from valid_ref.kernels.limbs import WideIntegers, wide_integers, words_of
from valid_ref.kernels.norms import for_sums, squared_norms
from valid_ref.kernels.polyhash import HashStream, PolyHash, StreamState
from valid_ref.kernels.stacks import ROUNDS_AT_ONCE, groups, rounds_at_once, stack
from valid_ref.kernels.weighted import WeightedTotals, weighted_sums

__all__ = [
    "ROUNDS_AT_ONCE",
    "Backend",
    "HashStream",
    "KernelError",
    "PolyHash",
    "StreamState",
    "WeightedTotals",
    "WideIntegers",
    "compiled",
    "for_sums",
    "groups",
    "rounds_at_once",
    "settle",
    "squared_norms",
    "stack",
    "weighted_sums",
    "wide_integers",
    "words_of",
]
