"""Explore everything that the settings name, and count it.

Work is done in chunks over processes and written down on the way, so that it can be stopped and
resumed. The state file has one JSON document a line: first what is being done, then one line a
chunk. A last line that was cut off is dropped.
"""

import json
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, TextIO, TypeVar

import attrs
import numpy as np

from valid_ref.document import DocumentError, read_json, structure
from valid_ref.explore.cases import (
    Agents,
    ExploredCase,
    SymmetryClass,
    agreement_classes,
    broadcast_classes,
)
from valid_ref.explore.kernels import (
    V2,
    V4,
    V5,
    VS1,
    Family,
    Integers,
    NeighbourRows,
    explore_broadcast,
    reached,
    unsettled_starts,
)
from valid_ref.explore.plain import PlainBroadcast, reachable
from valid_ref.explore.results import Exploration, Tallies, Tally, smallest
from valid_ref.explore.settings import Explored, ExploreError, Settings
from valid_ref.explore.steps import (
    agreement_steps,
    broadcast_steps,
    fault_free_broadcasts,
    quiet_agreements,
)
from valid_ref.guarantees.agreement import reachable_splits
from valid_ref.inputs import read_text
from valid_ref.workers import Workers

ChunkT = TypeVar("ChunkT")
Numbers = Sequence[Sequence[int]]
"""The result of a chunk: integers for each of its items."""

FORMAT = "valid-ref explore 1"

CHUNK = 256
"""How many classes a process gets at a time, and a state file loses at most."""

ENOUGH = 40_000
"""From so many classes on, starting further processes takes less time than it saves."""

BITS = {"V2": V2, "V4": V4, "V5": V5, "VS1": VS1}

ONE_ALARM, MORE_ALARMS = "one alarm", "more alarms"

Watch = Callable[[int, int], None]


@attrs.frozen
class Chunk:
    """Some classes as a process gets them: neighbour lists, source, and numbers of rounds."""

    settings: Settings
    classes: tuple[tuple[NeighbourRows, int, tuple[int, ...]], ...]

    @classmethod
    def of(cls, settings: Settings, classes: Sequence[SymmetryClass]) -> "Chunk":
        """The chunk of these classes."""
        return cls(settings, tuple((one.rows, one.source, one.rounds) for one in classes))


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
    chunks = [Chunk.of(settings, part) for part in parts]
    processes = jobs if len(classes) >= ENOUGH else 1
    if processes > 1:
        explore_chunk(Chunk(settings, chunks[0].classes[:1]))  # so that one process compiles
    results = run_chunks(
        {"settings": settings.as_json()},
        chunks,
        explore_chunk,
        jobs=processes,
        state_file=state_file,
        watch=watch,
    )
    return _counted(settings, classes, [numbers for part in results for numbers in part])


def explore_chunk(chunk: Chunk) -> Numbers:
    """The verdict and the number of states of every class of a chunk."""
    found = []
    for rows, source, rounds in chunk.classes:
        rule = _rule(chunk.settings, rounds[0])
        unsettled = Family(0)
        if chunk.settings.explored is Explored.BOTH:
            unsettled = _family(*rounds[1:], rows=rows, persist=chunk.settings.agreement.persist)
        verdict, states = explore_broadcast(rows, source, rule, unsettled)
        found.append([int(verdict), int(states)])
    return found


def _rule(settings: Settings, flood: int) -> Integers:
    variant = settings.broadcast
    switches = (variant.compare, variant.null_alarm, variant.resend)
    return np.array([flood, *switches, len(settings.values)], np.int64)


def _family(rounds: int, *, rows: NeighbourRows, persist: bool) -> Family:
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


def agreement_tallies(settings: Settings, watch: Watch | None = None) -> Exploration:
    """Every pair, every start and every lie; S2 is asked after the last round.

    Explores: S1, S2, S3, S4.
    """
    classes = agreement_classes(settings)
    tallies: Tallies = {}
    notes: dict[str, int] = {}
    violating: dict[str, tuple[ExploredCase, ...]] = {}
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
    watch: Watch | None,
) -> tuple[dict[str, Tally], tuple[ExploredCase, ...]]:
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


def run_chunks(
    header: Mapping[str, object],
    chunks: Sequence[ChunkT],
    work: Callable[[ChunkT], Numbers],
    *,
    jobs: int = 1,
    state_file: Path | None = None,
    watch: Watch | None = None,
) -> list[Numbers]:
    """The results of all chunks in their order; `watch` is told how many of how many are done."""
    expected = {"format": FORMAT, **header, "chunks": len(chunks)}
    done = {} if state_file is None else read_state(state_file, expected)
    missing = [index for index in range(len(chunks)) if index not in done]
    with _appending(state_file, expected) as log:
        results = _results(work, [chunks[index] for index in missing], jobs)
        with closing(results):
            for index, result in zip(missing, results, strict=True):
                done[index] = result
                if log is not None:
                    log.write(json.dumps({"chunk": index, "results": result}) + "\n")
                    log.flush()
                if watch is not None:
                    watch(len(done), len(chunks))
    return [done[index] for index in range(len(chunks))]


def read_state(state_file: Path, expected: Mapping[str, object]) -> dict[int, Numbers]:
    """The chunks that a state file has; refused if it is about something else."""
    if not state_file.exists() or not state_file.stat().st_size:
        return {}
    first, *others = read_text(state_file, ExploreError).splitlines(keepends=True)
    header = _read_line(first)
    if header != expected:
        raise ExploreError(
            f"{state_file} is the state of another exploration: {header}, not {expected}"
        )
    chunks: list[_DoneChunk] = []
    for line in others:
        with suppress(DocumentError):
            chunks.append(structure(_DoneChunk, _read_line(line)))
    return {chunk.chunk: chunk.results for chunk in chunks}


@attrs.frozen
class _DoneChunk:
    """A line of a state file after the first."""

    chunk: int
    results: tuple[tuple[int, ...], ...]


def _read_line(line: str) -> Any:
    """One line of a state file; None for one that was cut off."""
    try:
        return read_json(line) if line.endswith("\n") else None
    except DocumentError:
        return None


@contextmanager
def _appending(state_file: Path | None, header: Mapping[str, object]) -> Iterator[TextIO | None]:
    """The state file, opened behind its last whole line; with a header if it is new."""
    if state_file is None:
        yield None
        return
    text = read_text(state_file, ExploreError) if state_file.exists() else ""
    whole = text[: text.rfind("\n") + 1]
    with state_file.open("w", encoding="utf-8") as log:
        log.write(whole or json.dumps(header) + "\n")
        log.flush()
        yield log


def _results(
    work: Callable[[ChunkT], Numbers], chunks: Sequence[ChunkT], jobs: int
) -> Generator[Numbers, None, None]:
    """The results in order, as they come; a stop ends the processes at once."""
    if jobs <= 1:
        yield from map(work, chunks)
        return
    with Workers(jobs) as pool:
        yield from pool.map(work, chunks)


@attrs.frozen
class Speed:
    """Processor time of both on the same cases, one of each class, and the states they counted."""

    cases: int
    states: int
    compiled_seconds: float
    plain_seconds: float

    @property
    def ratio(self) -> float:
        """How many times as fast the compiled core is."""
        return self.plain_seconds / self.compiled_seconds


def measure_plain(settings: Settings, every: int = 1) -> Speed:
    """Explore every so many classes of a broadcast by both, and compare what they count."""
    sample = broadcast_classes(settings)[::every]
    explore_chunk(Chunk.of(settings, sample[:1]))
    start = time.process_time()
    numbers = explore_chunk(Chunk.of(settings, sample))
    between = time.process_time()
    plain = [
        reachable(PlainBroadcast(one.first, settings.broadcast, len(settings.values)))[1]
        for one in sample
    ]
    end = time.process_time()
    if plain != [states for _, states in numbers]:
        raise ExploreError("the compiled core and the plain twin count different states")
    return Speed(len(sample), sum(plain), between - start, end - between)
