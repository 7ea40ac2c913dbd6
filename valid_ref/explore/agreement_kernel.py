"""Every strategy against the agreement, in product form, compiled.

A lie to an honest agent is free, so the successors of an alarm set are all unions of what honest
neighbours force with some of the agents that have a Byzantine neighbour.
"""

import numpy as np
from numpy.typing import NDArray

from valid_ref.explore.kernel import BYZANTINE, Family, Rows, compiled, count_sets, free


@compiled
def spread(rows: Rows, alarmed: int, persist: bool) -> int:
    """The honest agents that are alarmed after a round in which no Byzantine agent lies."""
    after = alarmed if persist else 0
    for agent in range(rows.shape[0]):
        for entry in rows[agent]:
            if entry < BYZANTINE and alarmed >> entry & 1:
                after |= 1 << agent
    return after


@compiled
def exposed(rows: Rows) -> int:
    """The honest agents that have a Byzantine neighbour, as a mask."""
    mask = 0
    for agent in range(rows.shape[0]):
        for entry in rows[agent]:
            if entry == BYZANTINE:
                mask |= 1 << agent
    return mask


@compiled
def reached(rows: Rows, rounds: int, persist: bool, start: int) -> tuple[Family, int]:
    """The family of alarm sets after the last round from one start, and the states on the way.

    Explores: S2, S4.
    """
    honest, lies = rows.shape[0], exposed(rows)
    family, states = np.uint64(1) << np.uint64(start), 1
    for _ in range(rounds):
        following = np.uint64(0)
        for alarmed in range(1 << honest):
            if family >> np.uint64(alarmed) & np.uint64(1):
                after = np.uint64(1) << np.uint64(spread(rows, alarmed, persist))
                for agent in range(honest):
                    if lies >> agent & 1:
                        after = free(after, agent)
                following |= after
        family = following
        states += count_sets(family)
    return family, states


@compiled
def unsettled_starts(rows: Rows, rounds: int, persist: bool) -> tuple[NDArray[np.bool_], int]:
    """For every start, whether an honest agent can end without an alarm; and the states reached.

    Without a Byzantine neighbour there is one run, so that seven agents can be told apart too.

    Explores: S2.
    """
    honest = rows.shape[0]
    full = (1 << honest) - 1
    unsettled = np.zeros(full + 1, np.bool_)
    states = 0
    for start in range(full + 1):
        if exposed(rows):
            family, seen = reached(rows, rounds, persist, start)
            unsettled[start] = family != np.uint64(1) << np.uint64(full)
            states += seen
        else:
            alarmed = start
            for _ in range(rounds):
                alarmed = spread(rows, alarmed, persist)
            unsettled[start] = alarmed != full
            states += rounds + 1
    return unsettled, states
