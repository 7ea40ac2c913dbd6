"""The compiled core: sets of alarm sets, one agent's step, and how a case is written canonically.

A family is a set of sets of honest agents as one 64-bit mask: bit A stands for the set A, itself
a mask of agents. A neighbour list names honest neighbours by their place among the honest agents.
"""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba  # type: ignore[import-untyped,unused-ignore]
import numpy as np
from numpy.typing import NDArray

Compiled = TypeVar("Compiled", bound=Callable[..., Any])
compiled = cast("Callable[[Compiled], Compiled]", numba.njit(cache=True))

Family = np.uint64

Rows = NDArray[np.int8]
"""The neighbours of every honest agent in their order, closed by END."""

MAX_HONEST = 6
"""A family of sets of at most six agents fits into 64 bits."""

BYZANTINE = 14
"""How a neighbour list names a Byzantine neighbour."""
END = 15

_WITH = np.array(
    [0xAAAAAAAAAAAAAAAA, 0xCCCCCCCCCCCCCCCC, 0xF0F0F0F0F0F0F0F0, 0xFF00FF00FF00FF00,
     0xFFFF0000FFFF0000, 0xFFFFFFFF00000000],
    dtype=np.uint64,
)  # fmt: skip


@compiled
def sure(family: Family, agent: int) -> Family:
    """The family with the agent added to every set."""
    member: Family = _WITH[agent]
    return ((family & ~member) << np.uint64(1 << agent)) | (family & member)


@compiled
def free(family: Family, agent: int) -> Family:
    """The family with the agent added to every set or not, as the adversary likes."""
    return family | sure(family, agent)


@compiled
def without(family: Family, agent: int) -> Family:
    """The sets of the family that the agent is not in."""
    member: Family = _WITH[agent]
    return family & ~member


@compiled
def count_sets(family: Family) -> int:
    """How many sets a family has."""
    total = 0
    while family != np.uint64(0):
        family &= family - np.uint64(1)
        total += 1
    return total


@compiled
def hear(state: int, word: int, values: int) -> int:
    """The state of an agent after one message of a flood round.

    State 0 is null, x holds value x, values + x holds x and has objected in this round.
    """
    if word == 0 or word == (state - values if state > values else state):
        return state
    if state == 0:
        return word
    return values + (state - values if state > values else state)


@compiled
def local_step(row: Rows, said: NDArray[np.int64], held: int, values: int) -> int:
    """The states that one agent can be in after a flood round, as a set of bits.

    It goes through its neighbours in order; a Byzantine one says null or any of the values.
    """
    reach = 1 << held
    for entry in row:
        if entry == END:
            break
        low = 0 if entry == BYZANTINE else said[entry]
        high = values if entry == BYZANTINE else said[entry]
        after = 0
        for state in range(2 * values + 1):
            if reach >> state & 1:
                for word in range(low, high + 1):
                    after |= 1 << hear(state, word, values)
        reach = after
    return reach


@compiled
def canonical_rows(rows: Rows, source: int, orders: NDArray[np.int64]) -> NDArray[np.int64]:
    """The least way to write the neighbour lists over all numberings of the honest agents.

    `orders` has all permutations, each the old agent of every new number. A list is packed into
    one number, four bits an entry. An honest source gets the number 0; -1 is a Byzantine one.
    """
    honest, width = rows.shape
    best = np.full(honest, np.iinfo(np.int64).max)
    trial = np.empty(honest, np.int64)
    number = np.empty(honest, np.int64)
    for order in orders:
        if source >= 0 and order[0] != source:
            continue
        for new in range(honest):
            number[order[new]] = new
        smaller = False
        for new in range(honest):
            packed = 0
            for place in range(width):
                entry = rows[order[new], place]
                packed = packed * 16 + (number[entry] if entry < BYZANTINE else entry)
            trial[new] = packed
            if not smaller:
                if packed > best[new]:
                    break
                smaller = packed < best[new]
        if smaller:
            best[:] = trial
    return best
