"""Explore everything that the settings name, and count it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import attrs
import numpy as np

from valid_ref.explore import broadcast_kernel as core
from valid_ref.explore.agreement_kernel import unsettled_starts
from valid_ref.explore.agreements import agreement_tallies
from valid_ref.explore.cases import SymmetryClass, broadcast_classes
from valid_ref.explore.kernel import Family, Rows
from valid_ref.explore.parallel import Numbers, run_chunks
from valid_ref.explore.results import Exploration, Tallies, Tally, smallest
from valid_ref.explore.settings import Explored, Settings
from valid_ref.explore.steps import broadcast_steps, fault_free_broadcasts

if TYPE_CHECKING:
    from pathlib import Path

CHUNK = 256
"""How many classes a process gets at a time, and a state file loses at most."""

ENOUGH = 40_000
"""From so many classes on, starting further processes takes less time than it saves."""

BITS = {"V2": core.V2, "V4": core.V4, "V5": core.V5, "VS1": core.VS1}

Watch = Callable[[int, int], None]


@attrs.frozen
class Chunk:
    """Some classes as a process gets them: neighbour lists, source, and numbers of rounds."""

    settings: Settings
    classes: tuple[tuple[Rows, int, tuple[int, ...]], ...]


def explore(
    settings: Settings,
    *,
    jobs: int = 1,
    state_file: Path | None = None,
    watch: Watch | None = None,
) -> Exploration:
    """Explore all graphs, Byzantine sets, sources and strategies; count what is violated.

    The result does not depend on the number of jobs, nor on how often it was stopped.

    Explores: V1, V2, V3, V4, V5, VS1, S1, S2, S3, S4.
    """
    if settings.explored is Explored.AGREEMENT:
        return agreement_tallies(settings, watch)
    classes = broadcast_classes(settings)
    parts = [classes[start : start + CHUNK] for start in range(0, len(classes), CHUNK)]
    chunks = [
        Chunk(settings, tuple((one.rows, one.source, one.rounds) for one in part)) for part in parts
    ]
    processes = jobs if len(classes) >= ENOUGH else 1
    if processes > 1:
        explore_chunk(Chunk(settings, chunks[0].classes[:1]))  # so that one process compiles
    results = run_chunks(
        {"settings": settings.as_json()}, chunks, explore_chunk,
        jobs=processes, state_file=state_file, watch=watch,
    )  # fmt: skip
    return _counted(settings, classes, [numbers for part in results for numbers in part])


def explore_chunk(chunk: Chunk) -> Numbers:
    """The verdict and the number of states of every class of a chunk."""
    found = []
    for rows, source, rounds in chunk.classes:
        rule = _rule(chunk.settings, rounds[0])
        unsettled = Family(0)
        if chunk.settings.explored is Explored.BOTH:
            unsettled = _family(*rounds[1:], rows=rows, persist=chunk.settings.agreement.persist)
        verdict, states = core.explore_broadcast(rows, source, rule, unsettled)
        found.append([int(verdict), int(states)])
    return found


def _rule(settings: Settings, flood: int) -> core.Integers:
    variant = settings.broadcast
    switches = (variant.compare, variant.null_alarm, variant.resend)
    return np.array([flood, *switches, len(settings.values)], np.int64)


def _family(rounds: int, *, rows: Rows, persist: bool) -> Family:
    """The starts from which the agreement can end with a quiet honest agent, as a family."""
    unsettled, _ = unsettled_starts(rows, rounds, persist)
    return Family(sum(1 << int(start) for start in np.flatnonzero(unsettled)))


def _counted(
    settings: Settings, classes: Sequence[SymmetryClass], results: Sequence[Sequence[int]]
) -> Exploration:
    tallies: Tallies = {}
    violating = {}
    for name in settings.properties:
        if name in BITS:
            broken = [bool(verdict & BITS[name]) for verdict, _ in results]
            tallies[name] = _tally(name, classes, broken)
            violating[name] = smallest(
                one.first for one, bad in zip(classes, broken, strict=True) if bad
            )
    if "V1" in settings.properties:
        tallies["V1"] = {"graph and source": fault_free_broadcasts(settings)}
    if "V3" in settings.properties:
        tallies["V3"] = {"step of one agent": broadcast_steps(settings)}
    counts = [states for _, states in results]
    return Exploration(
        settings,
        {name: tallies[name] for name in settings.properties},
        states=sum(counts),
        represented=sum(c * one.members for c, one in zip(counts, classes, strict=True)),
        classes=len(classes),
        violating=violating,
    )


def _tally(
    name: str, classes: Sequence[SymmetryClass], broken: Sequence[bool]
) -> Mapping[str, Tally]:
    """Instances and violations by kind of source; V5 is about honest sources only."""
    kinds = {"Byzantine source": False, "honest source": True}
    if name == "V5":
        del kinds["Byzantine source"]
    return {
        kind: Tally(
            sum(one.members for one in classes if (one.source >= 0) == honest),
            sum(
                one.members
                for one, bad in zip(classes, broken, strict=True)
                if bad and (one.source >= 0) == honest
            ),
        )
        for kind, honest in kinds.items()
    }
