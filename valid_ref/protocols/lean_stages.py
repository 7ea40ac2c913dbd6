"""The phases of lean validation: fix, open, report, compare."""

import functools
from collections.abc import Callable
from typing import Any

import attrs

from valid_ref.alarms import Alarms
from valid_ref.protocols import global_validate, lean
from valid_ref.protocols.broadcast import Tag
from valid_ref.protocols.flood import TOTAL, Flood, Flooded, FloodState
from valid_ref.protocols.global_validate import Estimate
from valid_ref.protocols.lean import Compare, CompareState
from valid_ref.protocols.local_validate import Transcript
from valid_ref.protocols.measures import Numbers, Plain
from valid_ref.protocols.memory import Memory, Stage
from valid_ref.protocols.parameters import ValidParameters
from valid_ref.protocols.routes import Routes


@attrs.frozen
class _FloodStage:
    """A flood, after which an agent knows what it held before and what the flood brought."""

    parameters: ValidParameters
    measures: Plain
    machine: Flood

    def known(self, memory: Memory, state: FloodState) -> Memory:
        """The memory with the alarms of the flood and all that it brought but partial sums."""
        kept = {tag: value for tag, value in state.held.items() if tag[1] != "sum"}
        held = {**memory.held, **kept}
        return attrs.evolve(memory, held=held).alarmed_by(state.alarms)

    def once(self, memory: Memory, kind: str, make: Callable[[], Any]) -> Any:
        """What follows from all that is held; for all who hold the same it is computed once."""
        return once(self.measures, self.machine.routes, memory, kind, make)


@attrs.frozen
class FixStage(_FloodStage):
    """Everybody commits to its shares and says its number q; the sum of all estimates is made.

    Implements: LE-7, LE-8.
    """

    def enter(self, memory: Memory) -> Flooded:
        """The commitment and q, and one's own estimate.

        Implements: LE-4, LE-7.
        """
        opening = lean.check_opening(self.parameters, memory.private.key)
        estimate = self.measures.estimate(memory.fixed_transcripts.own)
        committed = lean.commitment(self.parameters, memory.agent, opening.value)
        return Flooded((committed, *numbers(self.measures, estimate)), estimate)

    def leave(self, memory: Memory, state: FloodState) -> Memory:
        """What everybody is bound to from now on."""
        return self.known(memory, state)


@attrs.frozen
class OpenStage(_FloodStage):
    """Everybody opens its shares; their sums are the common keys.

    Implements: LE-10.
    """

    def enter(self, memory: Memory) -> Flooded:
        """The nonce and the shares."""
        return Flooded(lean.check_opening(self.parameters, memory.private.key).value)

    def leave(self, memory: Memory, state: FloodState) -> Memory:
        """Check what was opened, and make the keys."""
        memory = self.known(memory, state)
        parameters, held, rounds = self.parameters, memory.held, self.machine.rounds
        keys, raised = self.once(
            memory,
            "keys",
            lambda: (
                lean.common_keys(parameters, held),
                lean.opening_alarms(parameters, held, rounds),
            ),
        )
        return attrs.evolve(memory, keys=keys).alarmed_by(raised)


@attrs.frozen
class ReportStage(_FloodStage):
    """Everybody says the hashes of its own transcript; then come all checks.

    Implements: LE-11, LE-12.
    """

    def enter(self, memory: Memory) -> Flooded:
        """The report of one's own record; one's estimate where the total comes only now."""
        own = memory.fixed_transcripts.own
        estimate = None if self.machine.adding is None else self.measures.estimate(own)
        return Flooded(self._words(memory.keys, own)[1], estimate)

    def leave(self, memory: Memory, state: FloodState) -> Memory:
        """The neighbours' words against one's record, then all that follows from what is held.

        Implements: LE-12.
        """
        memory = self.known(memory, state)
        common: Alarms = self.once(memory, "checks", lambda: self._of_all(memory))
        return memory.alarmed_by((*self._of_neighbours(memory), *common))

    def _of_neighbours(self, memory: Memory) -> Alarms:
        """The neighbours that say of themselves something else than they sent."""
        if "record" in lean.lean_of(self.parameters).without:
            return ()
        received = memory.fixed_transcripts.received.items()
        expected = {u: self._words(memory.keys, sent) for u, sent in received}
        return lean.record_alarms(memory.held, expected, self.machine.rounds)

    def _words(self, keys: Numbers, transcript: Transcript) -> tuple[Numbers, Numbers]:
        """The numbers q and the report of what an agent sent."""
        measures = self.measures

        def make() -> tuple[Numbers, Numbers]:
            estimate = measures.estimate(transcript)
            vectors = measures.vector_hashes(keys, estimate)
            hashes = measures.report(keys, transcript)
            return numbers(measures, estimate), lean.report_of(self.parameters, hashes, vectors)

        return measures.once(f"words {keys}", transcript, make)

    def _of_all(self, memory: Memory) -> Alarms:
        """Relations, the total under the keys, the thresholds; what did not come is not checked.

        Implements: LE-12, GV-5, GV-6, GV-13.
        """
        parameters, held, rounds = self.parameters, memory.held, self.machine.rounds
        total = held.get((self.machine.routes.root, TOTAL))
        squares = lean.square_sums(parameters, held)
        raised = lean.relation_alarms(parameters, held, rounds)
        if total is not None:
            hashes = self.measures.vector_hashes(memory.keys, total)
            raised += lean.total_alarms(parameters, held, hashes, rounds)
        for index, weighting in enumerate(parameters.weightings):
            found = global_validate.statistic_alarms(
                parameters,
                weighting,
                None if total is None else numbers(self.measures, total)[index],
                None if squares is None else squares[index],
            )
            raised += tuple(attrs.evolve(one, phase=lean.REPORT, round=rounds) for one in found)
        return raised


@attrs.frozen
class CompareStage:
    """Neighbours compare the digests of all they hold.

    Implements: LE-13.
    """

    parameters: ValidParameters
    measures: Plain
    machine: Compare

    def enter(self, memory: Memory) -> int:
        """The digest."""
        make = functools.partial(lean.digest, self.parameters, memory.held)
        digest: int = once(self.measures, self.machine.routes, memory, "digest", make)
        return digest

    def leave(self, memory: Memory, state: CompareState) -> Memory:
        """Only the alarms matter."""
        return memory.alarmed_by(state.alarms)


def once(
    measures: Plain, routes: Routes, memory: Memory, kind: str, make: Callable[[], Any]
) -> Any:
    """What follows from the values held, null or not, of every tag."""
    slots, agents = (lean.FIXED, lean.OPENING, lean.REPORTED), range(routes.graph.agents)
    values = [memory.held.get((v, slot)) for slot in slots for v in agents]
    return measures.once(kind, [*values, memory.held.get((routes.root, TOTAL))], make)


def numbers(measures: Plain, vector: Estimate) -> tuple[int, ...]:
    """|vector|^2 for each weighting: q of an estimate.

    Implements: LE-7.
    """
    indices = range(len(measures.parameters.weightings))
    return tuple(measures.statistics(index, [vector])[1] for index in indices)


def lean_stages(parameters: ValidParameters, measures: Plain) -> tuple[Stage, ...]:
    """Fix, open, report, compare.

    Implements: LE-5.
    """
    routes, without = Routes(parameters.graph), lean.lean_of(parameters).without
    late = "total-first" in without
    last = routes.diameter - 1 if "last-round" in without else routes.diameter

    limits = lean.limits_of(parameters)

    def flood(phase: str, slot: str, *, tree: bool = False) -> Flood:
        def well_formed(tag: Tag, value: object) -> bool:
            if tag[1] == slot:
                return lean.is_flooded(limits[slot], value)
            count = parameters.graph.agents if tag[1] == TOTAL else routes.sizes[tag[0]]
            return measures.is_sum(value, count)

        return Flood(
            routes,
            phase=phase,
            slot=slot,
            well_formed=well_formed,
            last=last,
            adding=measures.added if tree else None,
        )

    return (
        FixStage(parameters, measures, flood(lean.FIX, lean.FIXED, tree=not late)),
        OpenStage(parameters, measures, flood(lean.OPEN, lean.OPENING)),
        ReportStage(parameters, measures, flood(lean.REPORT, lean.REPORTED, tree=late)),
        CompareStage(parameters, measures, Compare(routes)),
    )
