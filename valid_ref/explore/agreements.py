"""The agreement from every start, against every way of lying."""

from collections.abc import Callable, Sequence

import numpy as np

from valid_ref.explore.agreement_kernel import reached, unsettled_starts
from valid_ref.explore.cases import Agents, Case, SymmetryClass, agreement_classes
from valid_ref.explore.results import Exploration, Tallies, Tally, smallest
from valid_ref.explore.settings import Settings
from valid_ref.explore.steps import agreement_steps, quiet_agreements
from valid_ref.guarantees.agreement import reachable_splits

ONE_ALARM, MORE_ALARMS = "one alarm", "more alarms"


def agreement_tallies(
    settings: Settings, watch: Callable[[int, int], None] | None = None
) -> Exploration:
    """Every pair, every start and every lie; S2 is asked after the last round.

    Explores: S1, S2, S3, S4.
    """
    classes = agreement_classes(settings)
    tallies: Tallies = {}
    notes: dict[str, int] = {}
    violating: dict[str, tuple[Case, ...]] = {}
    counts = [0] * len(classes)
    if "S1" in settings.properties:
        tallies["S1"] = {"step of one agent": agreement_steps(settings)}
        if tallies["S1"]["step of one agent"].violations:
            violating["S1"] = smallest(one.first for one in classes)
    if "S2" in settings.properties:
        tallies["S2"], violating["S2"] = _starts(settings, classes, counts, watch)
    if "S3" in settings.properties:
        tallies["S3"] = {"graph": quiet_agreements(settings)}
    if "S4" in settings.properties:
        wrong, splits = _splits(settings, classes)
        pairs = sum(one.members for one in classes if one.first.byzantine)
        tallies["S4"] = {"pair": Tally(pairs, sum(one.members for one in wrong))}
        notes["pairs that a late lie can split"] = splits
        violating["S4"] = smallest(one.first for one in wrong)
    return Exploration(
        settings,
        {name: tallies[name] for name in settings.properties},
        states=sum(counts),
        represented=sum(c * one.members for c, one in zip(counts, classes, strict=True)),
        classes=len(classes),
        violating=violating,
        notes=notes,
    )


def reachable_alarm_sets(settings: Settings, one: SymmetryClass) -> frozenset[Agents]:
    """The sets of honest agents that can end alarmed where none starts so.

    Explores: S4.
    """
    family, _ = reached(one.rows, one.rounds[0], settings.agreement.persist, 0)
    honest = one.first.honest
    return frozenset(
        frozenset(agent for place, agent in enumerate(honest) if members >> place & 1)
        for members in range(1 << len(honest))
        if int(family) >> members & 1
    )


def _starts(
    settings: Settings,
    classes: Sequence[SymmetryClass],
    counts: list[int],
    watch: Callable[[int, int], None] | None,
) -> tuple[dict[str, Tally], tuple[Case, ...]]:
    """S2 by the number of alarms at the start; writes the states of every class into `counts`."""
    instances = dict.fromkeys((ONE_ALARM, MORE_ALARMS), 0)
    violations = dict.fromkeys((ONE_ALARM, MORE_ALARMS), 0)
    broken = []
    for index, one in enumerate(classes):
        unsettled, states = unsettled_starts(one.rows, one.rounds[0], settings.agreement.persist)
        counts[index] = int(states)
        for start in range(1, len(unsettled)):
            kind = ONE_ALARM if start & (start - 1) == 0 else MORE_ALARMS
            instances[kind] += one.members
            violations[kind] += one.members * bool(unsettled[start])
        if np.any(unsettled[1:]):
            broken.append(one.first)
        if watch is not None:
            watch(index + 1, len(classes))
    tallies = {kind: Tally(instances[kind], violations[kind]) for kind in instances}
    return tallies, smallest(broken)


def _splits(
    settings: Settings, classes: Sequence[SymmetryClass]
) -> tuple[list[SymmetryClass], int]:
    """The pairs whose reachable alarm sets are not those of S4, and how many can be split."""
    wrong, splits = [], 0
    for one in classes:
        case = one.first
        if case.byzantine:
            sets = reachable_alarm_sets(settings, one)
            if sets != reachable_splits(case.graph, case.byzantine, one.rounds[0]):
                wrong.append(one)
            splits += one.members * any(0 < len(some) < len(case.honest) for some in sets)
    return wrong, splits
