"""What no hash can beat: reading the vector once, and the multiplier itself.

A product of a 63-bit entry and a 61-bit power takes at least six multiplications of 52 bits with
three limbs of the one and two of the other. This loop does nothing but such multiply-adds, in
registers, 18 for every index: three element-keys.
"""

from typing import Any

import numba
import numpy as np
import numpy.typing as npt

LIMB, PART = np.uint64(2**21 - 1), np.uint64(2**31 - 1)
ELEMENT_KEYS_PER_STEP = 3


def _multiply_adds(steps: int, factors: npt.NDArray[np.uint64]) -> np.uint64:
    """18 sums of products of a changing limb and a fixed part, joined so that none is dropped."""
    f0, f1, f2 = factors[0] & PART, factors[1] & PART, factors[2] & PART
    f3, f4, f5 = factors[3] & PART, factors[4] & PART, factors[5] & PART
    a0 = a1 = a2 = a3 = a4 = a5 = np.uint64(0)
    b0 = b1 = b2 = b3 = b4 = b5 = np.uint64(0)
    c0 = c1 = c2 = c3 = c4 = c5 = np.uint64(0)
    for i in range(steps):
        p = np.uint64(i) & LIMB
        q = (np.uint64(i) >> np.uint64(1)) & LIMB
        r = (np.uint64(i) >> np.uint64(2)) & LIMB
        a0 += p * f0
        a1 += p * f1
        a2 += p * f2
        a3 += p * f3
        a4 += p * f4
        a5 += p * f5
        b0 += q * f0
        b1 += q * f1
        b2 += q * f2
        b3 += q * f3
        b4 += q * f4
        b5 += q * f5
        c0 += r * f0
        c1 += r * f1
        c2 += r * f2
        c3 += r * f3
        c4 += r * f4
        c5 += r * f5
    one = a0 ^ a1 ^ a2 ^ a3 ^ a4 ^ a5 ^ b0 ^ b1 ^ b2
    return one ^ b3 ^ b4 ^ b5 ^ c0 ^ c1 ^ c2 ^ c3 ^ c4 ^ c5


multiplier_roof: Any = numba.njit(_multiply_adds)


def fused_instructions() -> int:
    """How many fused multiply-adds of 52 bits the compiler put into the loop."""
    return sum(text.count("vpmadd52") for text in multiplier_roof.inspect_asm().values())
