"""A network of an arena played, recorded, judged by the oracle, and compared with the reference."""

import hashlib
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import attrs

from valid_ref.execution import Execution
from valid_ref.lattice import IntVector
from valid_ref.machine import Message, Round, run_agents, run_machine
from valid_ref.oracle.check import Status, Verdict, check
from valid_ref.oracle.divergence import FirstDifference, diff
from valid_ref.oracle.header import header_of
from valid_ref.oracle.log import AgentLine
from valid_ref.oracle.read import open_recording
from valid_ref.oracle.write import PRODUCER, losses_of, pack, recorder, write_recording
from valid_ref.protocols.broadcast import BroadcastState
from valid_ref.protocols.remembered import Remembered
from valid_ref.protocols.valid import Private, Valid, ValidState
from valid_ref.scenario.build import Prepared
from valid_ref.scenario.scenario import Scenario
from valid_ref.testing.arena.network import (
    AgentFailure,
    AskTogether,
    MixedNetwork,
    RemoteAgent,
    in_turn,
)
from valid_ref.testing.conform.peer import ConformError, Peer

Watch = Callable[[int], None]
"""Told each finished round."""

NOT_KEPT = "-o RUN.zip keeps the recording"


@attrs.frozen(eq=False)
class ArenaRun:
    """What was said in an arena and how everybody ended.

    `names` are what the agents that were asked call themselves; `flood_held` those of them that
    send everything held in every flood round.
    """

    prepared: Prepared
    rounds: tuple[Round, ...]
    endings: tuple[AgentLine, ...]
    outputs: Mapping[int, IntVector | None]
    names: Mapping[int, str]
    flood_held: tuple[int, ...]
    faults: tuple[AgentFailure, ...]


@attrs.frozen(eq=False)
class ArenaJudgement:
    """What the oracle says of the recording, and whether the reference alone gives the same.

    `reference` is None where it was not compared; `gap` is the first difference.

    Implements: CF-24.
    """

    played: ArenaRun
    verdict: Verdict
    sha256: str
    reference: str | None = None
    gap: FirstDifference | None = None

    @property
    def same(self) -> bool:
        """Whether the reference gives the same bytes, as far as that was looked at."""
        return self.reference in {None, self.sha256}

    @property
    def conforms(self) -> bool:
        """Whether all is as it must be: the recording, the processes, the bytes."""
        return self.verdict.conforms and not self.played.faults and self.same

    @property
    def status(self) -> str:
        """The verdict of the oracle; what else is wrong makes it "diverges"."""
        status = self.verdict.status
        return (Status.DIVERGES if self.verdict.conforms > self.conforms else status).value

    def as_json(self) -> dict[str, Any]:
        """For machines."""
        findings = self.verdict.findings
        return {
            "verdict": self.status,
            "outcome": None if findings is None else findings.outcome,
            "sha256": self.sha256,
            "reference_sha256": self.reference,
            "first_difference": None if self.gap is None else self.gap.as_json(),
            "faults": [attrs.asdict(fault) for fault in self.played.faults],
            "check": self.verdict.as_json(),
        }


def play(
    prepared: Prepared,
    peers: Mapping[int, Peer],
    together: AskTogether = in_turn,
    watch: Watch | None = None,
) -> ArenaRun:
    """Run a scenario in which the agents that have a peer are asked.

    Implements: CF-20, CF-21.
    """
    parameters = prepared.parameters
    if parameters.reading.turned_off:
        off = ", ".join(parameters.reading.turned_off)
        raise ConformError(
            f"agents of an arena follow the repaired reading; turned off: {off}", clause="CF-20"
        )
    if parameters.lean is not None and parameters.lean.without:
        raise ConformError("agents of an arena have the whole lean validation", clause="CF-20")
    agents = MixedNetwork(
        Valid(parameters, Remembered(parameters)), prepared.private, peers, together
    )
    result = run_agents(
        parameters.graph,
        agents,
        byzantine=prepared.byzantine,
        adversary=prepared.adversary,
        watch=watch,
    )
    states = agents.end(result.states)
    endings = {agent: agents.ending(state) for agent, state in states.items()}
    remote = [state for state in states.values() if isinstance(state, RemoteAgent)]
    fresh = parameters.lean is not None  # floods of lean validation send a value once
    return ArenaRun(
        prepared,
        result.rounds,
        endings=tuple(ending for ending, _model in endings.values()),
        outputs={agent: model for agent, (_ending, model) in endings.items()},
        names={one.agent: one.talk.name for one in remote},
        flood_held=tuple(one.agent for one in remote if one.talk.floods_all and not fresh),
        faults=tuple(one.fault for one in remote if one.fault is not None),
    )


def record(played: ArenaRun, scenario: Scenario, path: Path) -> None:
    """Write the recording, as `valid-ref record` would.

    Implements: CF-23.
    """
    prepared = played.prepared
    header = header_of(
        prepared.parameters,
        PRODUCER,
        prepared.byzantine,
        losses_of(scenario, prepared),
        flood_held=played.flood_held,
    )
    keys = [prepared.private[agent].key for agent in range(header.agents)]
    with recorder(path, header, keys) as writer:
        for spoken in played.rounds:
            writer.append(spoken)
        writer.finish(played.endings, played.outputs)


def judged(
    played: ArenaRun,
    scenario: Scenario,
    output: Path | None,
    *,
    compare: bool = True,
    watch: Watch | None = None,
) -> ArenaJudgement:
    """Record, have it judged, and compare with what the reference alone gives.

    Implements: CF-23, CF-24.
    """
    with _recorded(output) as (path, scratch):
        record(played, scenario, path)
        verdict = check(open_recording(path), watch=watch)
        if output is None:
            verdict = _not_kept(verdict)
        found = ArenaJudgement(played, verdict, digest(path, scratch))
        if not compare:
            return found
        other = scratch / "reference.zip"
        write_recording(
            other,
            reference(played.prepared, frozenset(played.flood_held)),
            PRODUCER,
            losses=losses_of(scenario, played.prepared),
            flood_held=played.flood_held,
        )
        wanted = digest(other, scratch)
        gap = None if wanted == found.sha256 else diff(open_recording(path), open_recording(other))
        return attrs.evolve(found, reference=wanted, gap=gap)


def _not_kept(verdict: Verdict) -> Verdict:
    """The verdict on a recording that is not kept: there is nothing to repeat it on."""
    return attrs.evolve(
        verdict,
        divergences=tuple(attrs.evolve(d, replay=NOT_KEPT) for d in verdict.divergences),
        deviations=tuple(attrs.evolve(d, replay=NOT_KEPT) for d in verdict.deviations),
    )


@contextmanager
def _recorded(output: Path | None) -> Iterator[tuple[Path, Path]]:
    """Where the recording is written, and a directory for what is not kept."""
    with tempfile.TemporaryDirectory(prefix="valid-ref-arena-") as name:
        yield (Path(name) / "run.zip" if output is None else output), Path(name)


def digest(path: Path, scratch: Path) -> str:
    """The SHA-256 of a recording as one zip.

    Implements: CF-23.
    """
    if path.is_dir():
        pack(path, scratch / "packed.zip")
        path = scratch / "packed.zip"
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def reference(prepared: Prepared, flood_held: frozenset[int]) -> Execution:
    """The same scenario by the reference alone, where these agents flood all that they hold.

    Implements: CF-24.
    """
    parameters = prepared.parameters
    machine = _Flooding(Valid(parameters, Remembered(parameters)), flood_held)
    result = run_machine(
        parameters.graph,
        machine,
        prepared.private,
        byzantine=prepared.byzantine,
        adversary=prepared.adversary,
    )
    return Execution(parameters, prepared.byzantine, result.rounds, result.states)


@attrs.frozen
class _Flooding:
    """Valid, with some agents that send everything held in every flood round (VB-4, VB-11)."""

    machine: Valid
    held: frozenset[int]

    @property
    def rounds(self) -> int:
        return self.machine.rounds

    def place(self, round_number: int) -> tuple[str, int]:
        return self.machine.place(round_number)

    def start(self, agent: int, private: Private) -> ValidState:
        return self.machine.start(agent, private)

    def send(self, state: ValidState, round_number: int) -> Message:
        inner: Any = state.inner
        if isinstance(inner, BroadcastState) and state.memory.agent in self.held:
            return inner.held
        return self.machine.send(state, round_number)

    def receive(
        self, state: ValidState, round_number: int, inbox: Mapping[int, Message]
    ) -> ValidState:
        return self.machine.receive(state, round_number, inbox)
