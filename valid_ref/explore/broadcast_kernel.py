"""Every strategy against one broadcast, in product form, compiled.

What the honest agents hold is one number, a configuration: a digit an agent, 0 for null, x for
value x that it will send in the next flood round, values + x for one it has sent. With every
configuration goes the family of the sets of honest agents that may have alarmed by then. Alarms
never change what is held, and the Byzantine messages on different edges do not depend on each
other, so a free alarm is one operation on a family; only agents that hold null branch.
"""

import numpy as np
from numpy.typing import NDArray

from valid_ref.explore.kernel import (
    BYZANTINE,
    Family,
    Rows,
    compiled,
    count_sets,
    free,
    local_step,
    sure,
    without,
)

Integers = NDArray[np.int64]
Families = NDArray[np.uint64]

V2, V4, V5, VS1 = 1, 2, 4, 8
"""The bits of a verdict; a bit that is set is a violated property."""

FLOOD, COMPARE, NULL_ALARM, RESEND, VALUES = range(5)
"""The places in a rule: how the broadcast goes, as integers."""


@compiled
def explore_broadcast(
    rows: Rows, source: int, rule: Integers, unsettled: Family
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
        count = advance(rows, rule, comparing, now, found[:count], following, listed)
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
                family = sure(family, agent)
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
    rows: Rows, rule: Integers, comparing: bool,
    now: Families, found: Integers, following: Families, listed: Integers,
) -> int:  # fmt: skip
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
                    family = sure(family, agent)
                elif bits >> (values + held[agent]) & 1:
                    family = free(family, agent)
                settled += weight * (held[agent] + (0 if rule[RESEND] else values))
            elif not comparing:
                reach[agent] = local_step(rows[agent], said, 0, values)
            weight *= 2 * values + 1
        count = branch(reach, values, settled, family, following, listed, count)
    return count


@compiled
def branch(
    reach: Integers, values: int, settled: int, family: Family,
    following: Families, listed: Integers, count: int,
) -> int:  # fmt: skip
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
                    outcome = free(outcome, agent) if quiet else sure(outcome, agent)
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
def judge(rows: Rows, held: Integers, family: Family, source: int, unsettled: Family) -> int:
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
