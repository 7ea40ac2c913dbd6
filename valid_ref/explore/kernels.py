"""The compiled core: every strategy against one broadcast or one agreement.

A family is a set of sets of honest agents as one 64-bit mask: bit A stands for the set A, itself
a mask of agents. A neighbour list names honest neighbours by their place among the honest agents.

In a broadcast what the honest agents hold is one number, a configuration: a digit an agent, 0 for
null, x for value x that it will send in the next flood round, values + x for one it has sent. With
every configuration goes the family of the sets of honest agents that may have alarmed by then.
Alarms never change what is held, and the Byzantine messages on different edges do not depend on
each other, so an alarm that the adversary may cause or not is one operation on a family; only
agents that hold null branch.

In the agreement a lie to an honest agent costs nothing, so the successors of an alarm set are all
unions of what honest neighbours force with some of the agents that have a Byzantine neighbour.
"""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba  # type: ignore[import-untyped,unused-ignore]
import numpy as np
from numpy.typing import NDArray

Compiled = TypeVar("Compiled", bound=Callable[..., Any])
compiled = cast("Callable[[Compiled], Compiled]", numba.njit(cache=True))

Family = np.uint64

NeighbourRows = NDArray[np.int8]
"""The neighbours of every honest agent in their order, closed by END."""

Integers = NDArray[np.int64]
Families = NDArray[np.uint64]

V2, V4, V5, VS1 = 1, 2, 4, 8
"""The bits of a verdict; a bit that is set is a violated property."""

FLOOD, COMPARE, NULL_ALARM, RESEND, VALUES = range(5)
"""The places in a rule: how the broadcast goes, as integers."""


BYZANTINE = 14
"""How a neighbour list names a Byzantine neighbour."""
END = 15

_WITH = np.array(
    [
        0xAAAAAAAAAAAAAAAA,
        0xCCCCCCCCCCCCCCCC,
        0xF0F0F0F0F0F0F0F0,
        0xFF00FF00FF00FF00,
        0xFFFF0000FFFF0000,
        0xFFFFFFFF00000000,
    ],
    dtype=np.uint64,
)
"""Entry i: the sets that agent i is in, as a family."""


@compiled
def add_agent(family: Family, agent: int) -> Family:
    """The family with the agent added to every set."""
    member: Family = _WITH[agent]
    return ((family & ~member) << np.uint64(1 << agent)) | (family & member)


@compiled
def add_or_not(family: Family, agent: int) -> Family:
    """The family with the agent added to every set or not, as the adversary chooses."""
    return family | add_agent(family, agent)


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
def local_step(row: NeighbourRows, said: NDArray[np.int64], held: int, values: int) -> int:
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
def canonical_rows(
    rows: NeighbourRows, source: int, orders: NDArray[np.int64]
) -> NDArray[np.int64]:
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


@compiled
def spread(rows: NeighbourRows, alarmed: int, persist: bool) -> int:
    """The honest agents that are alarmed after a round in which no Byzantine agent lies."""
    after = alarmed if persist else 0
    for agent in range(rows.shape[0]):
        for entry in rows[agent]:
            if entry < BYZANTINE and alarmed >> entry & 1:
                after |= 1 << agent
    return after


@compiled
def exposed(rows: NeighbourRows) -> int:
    """The honest agents that have a Byzantine neighbour, as a mask."""
    mask = 0
    for agent in range(rows.shape[0]):
        for entry in rows[agent]:
            if entry == BYZANTINE:
                mask |= 1 << agent
    return mask


@compiled
def reached(rows: NeighbourRows, rounds: int, persist: bool, start: int) -> tuple[Family, int]:
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
                        after = add_or_not(after, agent)
                following |= after
        family = following
        states += count_sets(family)
    return family, states


@compiled
def unsettled_starts(
    rows: NeighbourRows, rounds: int, persist: bool
) -> tuple[NDArray[np.bool_], int]:
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


@compiled
def explore_broadcast(
    rows: NeighbourRows, source: int, rule: Integers, unsettled: Family
) -> tuple[int, int]:
    """The properties that some strategy violates, as bits, and the joint honest states reached.

    `source` is the honest source or -1; `unsettled` is the family of the alarm sets from which
    the agreement can end with an honest agent that is not alarmed. States are counted once for
    every round at whose end they occur, and the start is one. Of states that differ only in the
    names of the values one is kept where the source is Byzantine, and counted for all.

    Explores: V2, V4, V5, VS1.
    """
    honest = rows.shape[0]
    size = (2 * rule[VALUES] + 1) ** honest
    now, following = np.zeros(size, np.uint64), np.zeros(size, np.uint64)
    found, listed = np.empty(size, np.int64), np.empty(size, np.int64)
    found[0] = 0 if source < 0 else (2 * rule[VALUES] + 1) ** source
    now[found[0]] = 1
    count, states = 1, 1
    for number in range(rule[FLOOD] + rule[COMPARE]):
        comparing = number == rule[FLOOD]
        count = advance(
            rows,
            rule,
            comparing,
            now=now,
            found=found[:count],
            following=following,
            listed=listed,
        )
        now, following, found, listed = following, now, listed, found
        if source < 0:
            count = merge_renamed(rule[VALUES], honest, now, found, count)
        for place in range(count):
            copies = renaming(found[place], rule[VALUES], honest)[1] if source < 0 else 1
            states += copies * count_sets(now[found[place]])
    verdict = 0
    held = np.zeros(honest, np.int64)
    for place in range(count):
        unpack(found[place], rule[VALUES], True, held, held)
        family = now[found[place]]
        for agent in range(honest):
            if held[agent] == 0 and rule[NULL_ALARM]:
                family = add_agent(family, agent)
        verdict |= judge(rows, held, family, source, unsettled)
    return verdict, states


@compiled
def unpack(configuration: int, values: int, comparing: bool, held: Integers, said: Integers) -> int:
    """Write what every agent holds, and what it says in a flood or in the compare round."""
    for agent in range(held.shape[0]):
        digit = configuration % (2 * values + 1)
        configuration //= 2 * values + 1
        held[agent] = digit - values if digit > values else digit
        said[agent] = held[agent] if comparing or digit <= values else 0
    return configuration


@compiled
def renaming(configuration: int, values: int, honest: int) -> tuple[int, int]:
    """The configuration with its values named in the order of the agents, and how many it names."""
    base = 2 * values + 1
    names = np.zeros(values + 1, np.int64)
    renamed, weight, used, copies = 0, 1, 0, 1
    for _ in range(honest):
        digit = configuration % base
        configuration //= base
        if digit > 0:
            value = digit - values if digit > values else digit
            if names[value] == 0:
                copies *= values - used
                used += 1
                names[value] = used
            renamed += weight * (names[value] + digit - value)
        weight *= base
    return renamed, copies


@compiled
def merge_renamed(
    values: int, honest: int, families: Families, listed: Integers, count: int
) -> int:
    """Keep one of the configurations that differ in the names of values only; how many are left."""
    kept = 0
    for place in range(count):
        configuration = listed[place]
        renamed = renaming(configuration, values, honest)[0]
        if renamed == configuration or families[renamed] == 0:
            listed[kept] = renamed
            kept += 1
        if renamed != configuration:
            families[renamed] |= families[configuration]
            families[configuration] = 0
    return kept


@compiled
def advance(
    rows: NeighbourRows,
    rule: Integers,
    comparing: bool,
    now: Families,
    found: Integers,
    following: Families,
    listed: Integers,
) -> int:
    """One round for all configurations; lists the new ones, says how many, and clears the old."""
    honest, values = rows.shape[0], rule[VALUES]
    held, said = np.zeros(honest, np.int64), np.zeros(honest, np.int64)
    reach = np.zeros(honest, np.int64)
    count = 0
    for configuration in found:
        family = now[configuration]
        now[configuration] = 0
        unpack(configuration, values, comparing, held, said)
        settled, weight = 0, 1
        for agent in range(honest):
            reach[agent] = 0
            if held[agent] > 0:
                bits = local_step(rows[agent], said, held[agent], values)
                if bits >> held[agent] & 1 == 0:
                    family = add_agent(family, agent)
                elif bits >> (values + held[agent]) & 1:
                    family = add_or_not(family, agent)
                settled += weight * (held[agent] + (0 if rule[RESEND] else values))
            elif not comparing:
                reach[agent] = local_step(rows[agent], said, 0, values)
            weight *= 2 * values + 1
        count = branch(
            reach,
            values,
            settled,
            family,
            following=following,
            listed=listed,
            count=count,
        )
    return count


@compiled
def branch(
    reach: Integers,
    values: int,
    settled: int,
    family: Family,
    following: Families,
    listed: Integers,
    count: int,
) -> int:
    """All combinations of what the agents that hold null can adopt; reach 0 does not branch."""
    honest = reach.shape[0]
    choice = np.zeros(honest, np.int64)
    while True:
        target, outcome, possible, weight = settled, family, True, 1
        for agent in range(honest):
            if reach[agent]:
                quiet = reach[agent] >> choice[agent] & 1
                objects = choice[agent] > 0 and reach[agent] >> (values + choice[agent]) & 1
                possible = possible and (quiet or objects)
                if objects:
                    outcome = add_or_not(outcome, agent) if quiet else add_agent(outcome, agent)
                target += weight * choice[agent]
            weight *= 2 * values + 1
        if possible:
            if following[target] == 0:
                listed[count] = target
                count += 1
            following[target] |= outcome
        agent = 0
        while agent < honest and (reach[agent] == 0 or choice[agent] == values):
            choice[agent] = 0
            agent += 1
        if agent == honest:
            return count
        choice[agent] += 1


@compiled
def judge(
    rows: NeighbourRows, held: Integers, family: Family, source: int, unsettled: Family
) -> int:
    """The properties that a final configuration violates with some alarm set of the family."""
    verdict, honest = 0, rows.shape[0]
    common = held[0] > 0
    for agent in range(honest):
        common = common and held[agent] == held[0]
    if not common and family & unsettled:
        verdict |= VS1
    if family & np.uint64(1) and not (common and (source < 0 or held[0] == 1)):
        verdict |= V2
    for agent in range(honest):
        quiet = without(family, agent)
        if source >= 0 and held[agent] != 1 and quiet:
            verdict |= V5
        for entry in rows[agent]:
            different = entry < BYZANTINE and (held[agent] == 0 or held[agent] != held[entry])
            if different and without(quiet, entry):
                verdict |= V4
    return verdict
